//! Bytes in and out: compression, checksums, varints.

pub mod compression;
pub mod varint;

pub use compression::Compression;

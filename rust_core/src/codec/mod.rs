//! Bytes in and out: compression, checksums, varints.

pub mod compression;
mod packed;
pub mod varint;

pub use compression::Compression;
pub use packed::Packed;

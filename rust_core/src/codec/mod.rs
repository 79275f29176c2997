//! Bytes in and out: compression, checksums, varints.

pub mod compression;
mod packed;
pub mod varint;

pub use compression::{Compression, filled_bytes};
pub use packed::Packed;

//! Bytes in and out: compression, checksums, varints.

mod compression;
mod packed;
pub mod varint;

pub use compression::{Compression, filled_bytes};
pub use packed::Packed;

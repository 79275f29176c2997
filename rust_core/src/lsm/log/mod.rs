//! The log format that the write-ahead log and the manifest share: records framed into blocks, and read back from bytes
//! that a crash may have torn. It knows nothing of what the records say.

pub mod format;
mod framer;
mod reader;
#[cfg(test)]
mod tests;

pub use framer::Framer;
pub use reader::{Break, Reader, Record, read_all};

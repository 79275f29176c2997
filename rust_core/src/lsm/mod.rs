//! The log-structured merge tree, with the option names and the policies of RocksDB.

mod arena;
mod block;
mod bloom;
mod cache;
mod index;
mod key;
mod log;
mod memtable;
pub mod options;
pub mod policy;
mod prefix;
mod skiplist;
mod sorted_keys;
mod table;
mod table_builder;
mod table_cursor;
mod table_format;

pub use options::Options;

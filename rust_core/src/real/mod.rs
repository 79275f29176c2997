//! Real engines behind the traits of our own: RocksDB, from a shared library that is opened at run time.

mod c_api;
pub mod kernel;
pub mod rocksdb;
mod statistics;

pub use rocksdb::{RocksDb, RocksDbOptions};

#[cfg(test)]
pub mod test_library;
#[cfg(test)]
mod tests;

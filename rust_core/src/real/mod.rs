//! Real engines behind the traits of our own: RocksDB, from a shared library that is opened at run time, and SQL
//! servers, which are started for a run.

mod c_api;
mod files;
pub mod kernel;
pub mod rocksdb;
pub mod server;
mod statistics;

pub use rocksdb::{RocksDb, RocksDbOptions};
pub use server::{ServerOptions, SqlServer, StorageEngine};

#[cfg(test)]
pub mod test_library;
#[cfg(test)]
pub mod test_server;
#[cfg(test)]
mod tests;

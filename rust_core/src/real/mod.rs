//! Real engines behind the traits of our own: RocksDB, from a shared library that is opened at run time, and SQL
//! servers, which are started for a run.

/// What a product does not leave to the driver: it delays and stops writers itself, and its work in the background is
/// its own threads'.
macro_rules! keeps_its_own_time {
    () => {
        fn admit(&self, _task: &mut $crate::task::Task, _bytes: u64) -> $crate::error::Result<$crate::task::Admission> {
            Ok($crate::task::Admission::Go)
        }

        fn next_job(&self, _now_ns: u64) -> Option<Box<dyn $crate::task::Job>> {
            None
        }

        fn next_timer(&self, _now_ns: u64) -> Option<u64> {
            None
        }

        fn background_threads(&self) -> usize {
            0
        }
    };
}

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

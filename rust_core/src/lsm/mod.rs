//! The log-structured merge tree, with the option names and the policies of RocksDB.
//!
//! Writes go to the log and the memtable; full memtables become tables of level 0, which are merged downwards as the
//! pure functions of `policy` decide. Readers load a super version and take no lock. The rooms, each of which knows
//! those before it: `keys` and `options`, `log`, `memtable` and `table`, `policy`, `version`, `db`. The file formats
//! are described in `FORMAT.md`.

mod db;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod keys;
mod log;
mod memtable;
pub mod options;
mod policy;
mod prefetch;
mod table;
mod version;

#[cfg(test)]
mod tests;

pub use db::Lsm;
pub use options::Options;

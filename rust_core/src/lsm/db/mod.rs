//! An open database: the write path and its log, reads over memtables and versions, flushes, compactions, recovery. The
//! top of the LSM: it takes the locks and makes files, and what it decides it asks of the policies.

mod background;
mod compaction_job;
mod counters;
mod db_impl;
mod engine;
mod flush_job;
mod ingest;
mod iterator;
mod merge;
mod recovery;
mod replay;
mod stats;
mod super_version;
mod table_output;
mod wal;
mod write;

pub use engine::Lsm;

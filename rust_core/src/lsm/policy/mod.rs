//! RocksDB's decisions, as pure functions of a plain state: how large the levels shall be, which level needs compaction
//! most, which files are taken, where outputs are cut, how they are compressed, and when writers are held back. They
//! know options and descriptions of files, never an open file or a lock.

mod compaction;
mod compression;
mod level;
mod shape;
mod splitting;
mod stalls;

#[cfg(test)]
mod script;

pub use compaction::{Compaction, CompactionInProgress, CompactionInputFiles};
pub use compression::{flush_compression, ingested_compression, level_compression};
pub use level::{LevelTargets, debt_bytes, level_targets, pending_compaction_bytes, pick_compaction};
pub use shape::Shape;
pub use splitting::OutputSplitter;
pub use stalls::{StallCondition, StallInputs, WriteController};

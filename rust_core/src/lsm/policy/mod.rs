//! RocksDB's decisions, as pure functions of a plain state: how large the levels shall be, which level needs compaction
//! most, which files are taken, where outputs are cut, how they are compressed, and when writers are held back.

pub mod compression;
pub mod picking;
pub mod scores;
pub mod shape;
pub mod splitting;
pub mod stalls;
pub mod targets;

#[cfg(test)]
mod script;

pub use compression::LevelCodecs;
pub use picking::{Pick, pick_compaction};
pub use scores::{pending_compaction_bytes, scores};
pub use shape::{FileMeta, Running, Shape};
pub use splitting::OutputSplitter;
pub use stalls::{StallCondition, StallInputs, WriteController};
pub use targets::{LevelTargets, level_targets};

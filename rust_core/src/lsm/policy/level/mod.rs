//! Leveled compaction: how large the levels shall be, which of them needs compaction most, and which of its files are
//! taken. Another style would be a room beside this one.

mod builder;
mod level0;
mod picking;
mod priority;
pub mod scores;
mod sorted_level;
mod targets;

pub use picking::pick_compaction;
pub use scores::{debt_bytes, pending_compaction_bytes};
pub use targets::{LevelTargets, level_targets};

//! What is counted: bytes by purpose, latencies, the engine's own counters, and the intervals that a run is judged by.
//! The room knows no other.

mod engine_stats;
pub mod intervals;
pub mod latencies;
pub mod meters;
mod ratio;
mod shape;
pub mod steady;

pub use engine_stats::EngineStats;
pub use intervals::{Activity, Phase, Snapshot, interval};
pub use latencies::Latencies;
pub use meters::{Meters, MetersSnapshot, Purpose, PurposeCounts};
pub use ratio::{ratio, share};
pub use steady::{Length, Steadiness, Steady};

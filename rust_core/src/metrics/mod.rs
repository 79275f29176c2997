//! What is counted: bytes by purpose, latencies, intervals, and the report made of them.

pub mod meters;

pub use meters::{Meters, MetersSnapshot, Purpose, PurposeCounts};

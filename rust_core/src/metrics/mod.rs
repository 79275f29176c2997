//! What is counted: bytes by purpose, latencies, intervals, and the report made of them.

pub mod intervals;
pub mod latencies;
pub mod meters;
pub mod report;
pub mod steady;

pub use intervals::{Activity, Phase, Snapshot, interval};
pub use latencies::Latencies;
pub use meters::{Meters, MetersSnapshot, Purpose, PurposeCounts};
pub use report::{FlashWear, Header, Loaded, Measured, report};
pub use steady::{Length, Steadiness, Steady};

/// A quotient; `None` where there is nothing to divide by.
fn ratio(amount: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| amount / of)
}

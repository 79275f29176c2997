//! What happens while a run goes on: the difference of two moments, several times per second.

use super::engine_stats::EngineStats;
use super::latencies::Latencies;
use super::meters::MetersSnapshot;
use super::ratio::ratio;
use super::shape::shape;
use serde_json::{Map, Value, json};

/// Part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The data is written.
    Load,
    /// Clients run, unscored.
    Warmup,
    /// Clients run and are measured.
    Run,
}

impl Phase {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Warmup => "warmup",
            Self::Run => "run",
        }
    }
}

/// All counters and gauges at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Nanoseconds since the start of the run.
    pub at_ns: u64,
    /// Bytes by purpose.
    pub meters: MetersSnapshot,
    /// The engine's own counters.
    pub engine: EngineStats,
    /// Bytes that the files take.
    pub disk_bytes: u64,
}

/// What clients did between two snapshots.
#[derive(Debug, Clone, Default)]
pub struct Activity {
    /// Operations with their latencies.
    pub latencies: Latencies,
    /// Nanoseconds that clients waited for admission, summed over clients.
    pub stall_ns: u64,
}

/// One interval as a report shows it: `t_s` is its end. Stalls are seconds of the average client.
pub fn interval(phase: Phase, before: &Snapshot, after: &Snapshot, activity: &Activity, clients: u32) -> Value {
    let seconds = (after.at_ns - before.at_ns) as f64 / 1e9;
    let operations = activity.latencies.count();
    let io = after.meters.since(&before.meters).total();
    let mut map = Map::new();
    map.insert("t_s".to_owned(), json!(after.at_ns as f64 / 1e9));
    map.insert("phase".to_owned(), json!(phase.name()));
    map.insert("seconds".to_owned(), json!(seconds));
    map.insert("operations".to_owned(), json!(operations));
    map.insert("stall_s".to_owned(), json!(stall_s(activity.stall_ns, clients)));
    map.insert("disk_bytes".to_owned(), json!(after.disk_bytes));
    map.insert("memory_bytes".to_owned(), json!(after.engine.memory_bytes));
    let shape = shape(&after.engine.details);
    if !shape.is_empty() {
        map.insert("shape".to_owned(), json!(shape));
    }
    let measured = [
        ("ops_per_s", ratio(operations as f64, seconds)),
        ("p99_us", activity.latencies.quantile_us(0.99)),
        ("read_kb_per_op", ratio(io.read_bytes as f64 / 1024.0, operations as f64)),
        ("write_kb_per_op", ratio(io.written_bytes as f64 / 1024.0, operations as f64)),
        ("cache_hit_ratio", cache_hit_ratio(&before.engine, &after.engine)),
    ];
    map.extend(measured.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))));
    Value::Object(map)
}

/// Seconds that the average client waited for admission.
pub fn stall_s(stall_ns: u64, clients: u32) -> f64 {
    stall_ns as f64 / 1e9 / f64::from(clients.max(1))
}

/// Share of the blocks or pages asked for between two moments that the cache had; `None` if none was asked for.
pub fn cache_hit_ratio(before: &EngineStats, after: &EngineStats) -> Option<f64> {
    let hits = (after.cache_hits - before.cache_hits) as f64;
    let misses = (after.cache_misses - before.cache_misses) as f64;
    ratio(hits, hits + misses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Meters, Purpose};

    #[test]
    fn an_interval_is_the_difference_of_two_moments() {
        let meters = Meters::default();
        meters.wrote(Purpose::Wal, 1000);
        let before = Snapshot { at_ns: 1_000_000_000, meters: meters.snapshot(), ..Snapshot::default() };
        meters.wrote(Purpose::Flush, 40_960);
        meters.read(Purpose::UserRead, 20_480);
        let engine = EngineStats { cache_hits: 3, cache_misses: 1, memory_bytes: 77, ..EngineStats::default() };
        let after = Snapshot { at_ns: 1_500_000_000, meters: meters.snapshot(), engine, disk_bytes: 88 };
        let mut activity = Activity { stall_ns: 200_000_000, ..Activity::default() };
        (0..10).for_each(|_| activity.latencies.record(1000));
        assert_eq!(
            interval(Phase::Run, &before, &after, &activity, 2),
            json!({
                "t_s": 1.5, "phase": "run", "seconds": 0.5, "operations": 10, "ops_per_s": 20.0, "p99_us": 1.0,
                "read_kb_per_op": 2.0, "write_kb_per_op": 4.0, "cache_hit_ratio": 0.75, "stall_s": 0.1,
                "disk_bytes": 88, "memory_bytes": 77,
            })
        );
    }

    #[test]
    fn what_was_not_measured_is_absent() {
        let after = Snapshot { at_ns: 1_000_000_000, ..Snapshot::default() };
        let idle = interval(Phase::Load, &Snapshot::default(), &after, &Activity::default(), 1);
        assert_eq!(
            idle,
            json!({"t_s": 1.0, "phase": "load", "seconds": 1.0, "operations": 0, "ops_per_s": 0.0, "stall_s": 0.0,
                   "disk_bytes": 0, "memory_bytes": 0})
        );
    }
}

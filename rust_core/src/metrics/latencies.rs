//! Latencies of operations: recorded in nanoseconds, shown in microseconds, mergeable over threads.

use hdrhistogram::Histogram;
use serde_json::{Map, Value, json};

/// The longest latency that keeps its precision: one hour. Longer ones count as this.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Percentiles of a report and their names.
const PERCENTILES: [(&str, f64); 4] = [("p50_us", 0.5), ("p95_us", 0.95), ("p99_us", 0.99), ("p999_us", 0.999)];

/// Counts of latencies, precise to three digits.
#[derive(Debug, Clone)]
pub struct Latencies {
    histogram: Histogram<u64>,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { histogram: Histogram::new(3).expect("three digits are within the histogram's bounds") }
    }
}

impl Latencies {
    /// Counts one operation.
    pub fn record(&mut self, nanos: u64) {
        self.record_many(nanos, 1);
    }

    /// Counts `operations` that took so long together (a batch).
    pub fn record_many(&mut self, nanos: u64, operations: u64) {
        let nanos = nanos.clamp(1, LONGEST_NS);
        self.histogram.record_n(nanos, operations).expect("the histogram grows up to the clamped value");
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("the histogram grows up to the values of the other");
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.histogram.clear();
    }

    /// Operations counted.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The latency that a share of all operations does not exceed; `None` if there was none.
    pub fn quantile_us(&self, share: f64) -> Option<f64> {
        (self.count() > 0).then(|| self.histogram.value_at_quantile(share) as f64 / 1e3)
    }

    /// `p50_us` to `max_us`; empty if there was no operation.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut map = Map::new();
        for (name, share) in PERCENTILES {
            map.extend(self.quantile_us(share).map(|us| (name.to_owned(), json!(us))));
        }
        if self.count() > 0 {
            map.insert("max_us".to_owned(), json!(self.histogram.max() as f64 / 1e3));
        }
        map
    }

    /// The same with their `count`.
    pub fn to_counted_json(&self) -> Value {
        let mut map = self.to_json();
        map.insert("count".to_owned(), json!(self.count()));
        Value::Object(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_two_threads_are_those_of_all_their_operations() {
        let (mut fast, mut slow) = (Latencies::default(), Latencies::default());
        (1..=950).for_each(|_| fast.record(10_000));
        (1..=50).for_each(|n| slow.record(n * 1_000_000));
        fast.merge(&slow);
        let map = fast.to_json();
        let near = |name: &str, us: f64| {
            let found = map[name].as_f64().unwrap();
            assert!((found / us - 1.0).abs() < 0.002, "{name}: {found} against {us}");
        };
        near("p50_us", 10.0);
        near("p95_us", 10.0);
        near("p99_us", 40_000.0);
        near("max_us", 50_000.0);
        assert_eq!((fast.count(), map.len()), (1000, 5));
    }

    #[test]
    fn without_operations_nothing_is_said() {
        assert_eq!(Latencies::default().to_json(), Map::new());
    }

    #[test]
    fn an_endless_stall_counts_as_an_hour() {
        let mut latencies = Latencies::default();
        latencies.record(u64::MAX);
        let found = latencies.quantile_us(0.5).unwrap();
        assert!((found / 3.6e9 - 1.0).abs() < 0.002, "{found}");
    }
}

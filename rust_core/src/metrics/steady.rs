//! Whether a phase is steady: a change-point test over several series of its intervals, the same under either clock.
//!
//! A phase is cut into intervals of equal length, in operations under the virtual clock and in time under the wall
//! clock. Whenever there are too many, neighbours are merged and the length doubles, so that a thousand operations and
//! ten million are judged alike. A warm-up is over when the later half of it shows no change point in any series: a
//! window that grows with the run leaves a start-up of any length behind, at the price of as much again.
//!
//! The test is Pettitt's (A. N. Pettitt, A non-parametric approach to the change-point problem, Applied Statistics 28,
//! 1979) on the means of 20 to 39 batches. It looks at ranks only, so that single bursts do not upset it, and it finds
//! ramps as well as steps. The sawtooth of a memtable is a change while about one of its teeth is seen, and none after.
//! Since a test finds ever smaller changes as data grow, a change counts only if it is also large enough to matter.

use super::intervals::Snapshot;
use super::ratio::ratio;
use super::shape::{MEMTABLE, shares};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Neighbours are merged when there are so many intervals.
const MOST_INTERVALS: usize = 80;

/// Fewer intervals are not judged: Pettitt's test could not find a step in the first or last third of them.
const LEAST_INTERVALS: usize = 20;

/// A change that chance brings about less often than this is one.
const SIGNIFICANCE: f64 = 0.01;

/// Rates and sizes that change by less are steady. SNIA's performance test specification for solid-state storage
/// (2.0.1, section 2.1.24) calls a window steady if its best linear fit rises by less than 10% of the average: then its
/// halves lie 5% apart.
const RATE_TOLERANCE: f64 = 0.05;

/// Shares of a whole (of the levels' bytes, of the pool, of the log) that change by less are steady: the same 5%, of
/// the whole.
const SHARE_TOLERANCE: f64 = 0.05;

/// Cache hit ratios that change by less are steady. An assumption: at nine hits in ten this is a tenth of the reads.
const HIT_RATIO_TOLERANCE: f64 = 0.01;

/// A warm-up lasts until the later half of it is at least this long / the measured phase. An assumption: a shorter one
/// says too little about what comes.
const LEAST_COVERED: f64 = 0.25;

/// How long a phase is planned to be: so many seconds or so many operations, whichever is reached first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Length {
    /// Seconds.
    pub seconds: Option<f64>,
    /// Operations of all clients.
    pub operations: Option<u64>,
}

/// What happened in one interval, and how the engine looked at its end.
#[derive(Debug, Clone, Default)]
struct Interval {
    seconds: f64,
    operations: f64,
    written_bytes: f64,
    cache_hits: f64,
    cache_misses: f64,
    disk_bytes: f64,
    shape: BTreeMap<String, f64>,
}

impl Interval {
    /// Every two neighbours as one; an odd one at the end is left out.
    fn pairs(intervals: &[Self]) -> Vec<Self> {
        intervals.chunks_exact(2).map(|pair| pair[0].clone().followed_by(&pair[1])).collect()
    }

    fn followed_by(self, next: &Self) -> Self {
        let shape = self.shape.into_iter().map(|(name, value)| {
            let later = next.shape.get(&name).copied().unwrap_or(value);
            (name, f64::midpoint(value, later))
        });
        Self {
            seconds: self.seconds + next.seconds,
            operations: self.operations + next.operations,
            written_bytes: self.written_bytes + next.written_bytes,
            cache_hits: self.cache_hits + next.cache_hits,
            cache_misses: self.cache_misses + next.cache_misses,
            disk_bytes: f64::midpoint(self.disk_bytes, next.disk_bytes),
            shape: shape.collect(),
        }
    }
}

/// How much of a change in a series does not matter.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Tolerance {
    /// A part of the series' mean.
    Relative(f64),
    /// In units of the series.
    Absolute(f64),
}

/// A series that did not stay where it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// `ops_per_s`, `write_kb_per_op`, `cache_hit_ratio`, `disk_bytes`, `dirty_pages_share`, `level_2_share`, …
    pub series: String,
    /// Mean before the change point.
    pub from: f64,
    /// Mean after it.
    pub to: f64,
}

impl Change {
    /// As a report shows it.
    pub fn to_json(&self) -> Value {
        json!({"series": self.series, "from": self.from, "to": self.to})
    }
}

/// Watches a phase and judges it.
#[derive(Debug, Clone)]
pub struct Steadiness {
    last: Snapshot,
    operations: u64,
    intervals: Vec<Interval>,
    /// How often the length of an interval has doubled.
    doublings: u32,
}

impl Steadiness {
    /// Of a phase that begins now.
    pub fn new(began: Snapshot) -> Self {
        Self { last: began, operations: 0, intervals: Vec::new(), doublings: 0 }
    }

    /// Ends an interval: `operations` of the phase have ended so far.
    pub fn sample(&mut self, now: Snapshot, operations: u64) {
        let (before, after) = (&self.last.engine, &now.engine);
        self.intervals.push(Interval {
            seconds: (now.at_ns - self.last.at_ns) as f64 / 1e9,
            operations: (operations - self.operations) as f64,
            written_bytes: now.meters.since(&self.last.meters).total().written_bytes as f64,
            cache_hits: (after.cache_hits - before.cache_hits) as f64,
            cache_misses: (after.cache_misses - before.cache_misses) as f64,
            disk_bytes: now.disk_bytes as f64,
            shape: shares(&after.details),
        });
        (self.last, self.operations) = (now, operations);
        if self.intervals.len() == MOST_INTERVALS {
            self.intervals = Interval::pairs(&self.intervals);
            self.doublings += 1;
        }
    }

    /// How many times longer than the first intervals the next one shall be.
    pub fn length(&self) -> u64 {
        1 << self.doublings
    }

    /// How full the cache was when the last interval ended, from 0 to 1; `None` where nobody tells.
    pub fn cache_share(&self) -> Option<f64> {
        self.last.engine.cache_share
    }

    /// Whether what comes next, of this length, can be expected to be steady: the later half is long enough, and shows
    /// no change in any series. A change in a half that is shorter than what comes counts as what it would grow to by
    /// then.
    pub fn is_warm_for(&self, planned: Length) -> bool {
        self.covered(planned) >= LEAST_COVERED
            && self.changes_in_tail(planned).is_some_and(|changes| changes.is_empty())
    }

    /// Length of the later half / planned length.
    fn covered(&self, planned: Length) -> f64 {
        let sum = |value: fn(&Interval) -> f64| self.tail().iter().map(value).sum::<f64>();
        let seconds = planned.seconds.map(|seconds| sum(|one| one.seconds) / seconds);
        let operations = planned.operations.map(|operations| sum(|one| one.operations) / operations as f64);
        seconds.into_iter().chain(operations).fold(0.0, f64::max)
    }

    fn tail(&self) -> &[Interval] {
        &self.intervals[self.intervals.len() / 2..]
    }

    /// What changed in the later half; `None` if it is too short to tell. The growth of files is left out: it is no
    /// part of starting up, and may go on as long as the workload adds rows or splits pages.
    fn changes_in_tail(&self, planned: Length) -> Option<Vec<Change>> {
        let mut changes = changes(self.tail(), self.covered(planned).min(1.0))?;
        changes.retain(|change| change.series != DISK);
        Some(changes)
    }

    /// What changed in the whole phase; `None` if it is too short to tell.
    fn changes(&self) -> Option<Vec<Change>> {
        changes(&self.intervals, 1.0)
    }
}

/// The verdict on a run: its warm-up ended in a steady stretch, and nothing changed while it was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Steady {
    is_warm: bool,
    warmup_seconds: f64,
    warmup_operations: u64,
    changed_in_warmup: Option<Vec<Change>>,
    changed_in_run: Option<Vec<Change>>,
}

impl Steady {
    /// Of a run with this measured phase, as long as planned, after this warm-up.
    pub fn judged(warmup: &Steadiness, measured: &Steadiness, planned: Length) -> Self {
        Self {
            is_warm: warmup.is_warm_for(planned),
            warmup_seconds: warmup.intervals.iter().map(|interval| interval.seconds).sum(),
            warmup_operations: warmup.operations,
            changed_in_warmup: warmup.changes_in_tail(planned),
            changed_in_run: measured.changes(),
        }
    }

    /// The same of a run to which what it left to the background adds this part of its length: more than matters is a
    /// change.
    #[must_use]
    pub fn charged(mut self, part: f64, debt_before: f64, debt_after: f64) -> Self {
        if let Some(changed) = &mut self.changed_in_run
            && part > RATE_TOLERANCE
        {
            changed.push(Change { series: "debt_bytes".to_owned(), from: debt_before, to: debt_after });
        }
        self
    }

    /// The verdict in a word. What is too short to tell is not steady.
    pub fn is_steady(&self) -> bool {
        self.is_warm && self.changed_in_run.as_ref().is_some_and(Vec::is_empty)
    }

    /// As a report shows it; `null` stands for changes in a phase that was too short to tell.
    pub fn to_json(&self) -> Value {
        let list = |changes: &Option<Vec<Change>>| {
            let list = |changes: &Vec<Change>| changes.iter().map(Change::to_json).collect::<Vec<_>>();
            changes.as_ref().map(list)
        };
        json!({
            "is_warm": self.is_warm,
            "warmup_seconds": self.warmup_seconds,
            "warmup_operations": self.warmup_operations,
            "changed_in_warmup": list(&self.changed_in_warmup),
            "changed_in_run": list(&self.changed_in_run),
        })
    }
}

const DISK: &str = "disk_bytes";

/// What changed in some intervals by more than this part of what is tolerated; `None` if they are too few.
fn changes(intervals: &[Interval], part: f64) -> Option<Vec<Change>> {
    if intervals.len() < LEAST_INTERVALS {
        return None;
    }
    if intervals.len() >= 2 * LEAST_INTERVALS {
        return changes(&Interval::pairs(intervals), part);
    }
    let series = |value: &dyn Fn(&Interval) -> Option<f64>| intervals.iter().filter_map(value).collect::<Vec<_>>();
    let rate = Tolerance::Relative(RATE_TOLERANCE);
    let mut judged = vec![
        ("ops_per_s".to_owned(), series(&|one| ratio(one.operations, one.seconds)), rate),
        ("write_kb_per_op".to_owned(), series(&|one| ratio(one.written_bytes / 1024.0, one.operations)), rate),
        (DISK.to_owned(), series(&|one| Some(one.disk_bytes)), rate),
        (
            "cache_hit_ratio".to_owned(),
            series(&|one| ratio(one.cache_hits, one.cache_hits + one.cache_misses)),
            Tolerance::Absolute(HIT_RATIO_TOLERANCE),
        ),
    ];
    for name in intervals[intervals.len() - 1].shape.keys() {
        let values = series(&|one| Some(one.shape.get(name).copied().unwrap_or_default()));
        let whole = if name == MEMTABLE { values.iter().copied().fold(0.0, f64::max) } else { 1.0 };
        judged.push((name.clone(), values, Tolerance::Absolute(SHARE_TOLERANCE * whole)));
    }
    let found = judged.into_iter().filter_map(|(name, values, tolerance)| change(name, &values, tolerance, part));
    Some(found.collect())
}

/// The change point of one series, if it has one that matters.
fn change(series: String, values: &[f64], tolerance: Tolerance, part: f64) -> Option<Change> {
    let (first_after, probability) = pettitt(values)?;
    let (from, to) = (mean(&values[..first_after]), mean(&values[first_after..]));
    let tolerated = match tolerance {
        Tolerance::Relative(part) => part * mean(values).abs(),
        Tolerance::Absolute(amount) => amount,
    };
    (probability < SIGNIFICANCE && (to - from).abs() > tolerated * part).then_some(Change { series, from, to })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Where the values before differ most in rank from those after, as the position of the first after, and the
/// probability of a difference as large in a series without a change (Pettitt's approximation). `None` for fewer than
/// [`LEAST_INTERVALS`] values.
fn pettitt(values: &[f64]) -> Option<(usize, f64)> {
    if values.len() < LEAST_INTERVALS {
        return None;
    }
    let sign = |a: f64, b: f64| i64::from(a < b) - i64::from(a > b);
    let (mut statistic, mut largest, mut position) = (0, 0, 1);
    for (n, &value) in values.iter().enumerate().take(values.len() - 1) {
        statistic += values.iter().map(|&other| sign(value, other)).sum::<i64>();
        if statistic.abs() > largest {
            (largest, position) = (statistic.abs(), n + 1);
        }
    }
    let (n, largest) = (values.len() as f64, largest as f64);
    Some((position, (2.0 * libm::exp(-6.0 * largest * largest / (n * n * n + n * n))).min(1.0)))
}

#[cfg(test)]
mod tests;

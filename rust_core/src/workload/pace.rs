//! Rates: when the next operation may start, and since when it is due.

use super::counter::Counter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const NS_PER_S: u128 = 1_000_000_000;

/// How operations come to clients that are held to a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// At fixed times, whether a client is free or not, as users come: lost time is caught up with, and an operation
    /// waits from the time on at which it is due.
    Open,
    /// When a client asks for the next one: lost time stays lost, as under the rate limiters of benchmarks.
    Closed,
}

/// When an operation starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Turn {
    /// Not before.
    pub earliest_ns: u64,
    /// How long ago it was due.
    pub late_ns: u64,
}

/// Hands out starts one after the other, to one client or to several that share a rate.
#[derive(Debug)]
pub struct Pace {
    arrivals: Arrivals,
    per_second: u64,
    next_ns: Counter<AtomicU64>,
}

impl Pace {
    /// So many units per second; `None` where 0 stands for no limit.
    pub fn of(arrivals: Arrivals, per_second: u64) -> Option<Arc<Self>> {
        (per_second > 0).then(|| Arc::new(Self { arrivals, per_second, next_ns: Counter::at(0) }))
    }

    /// The first start is now: nothing is owed from before.
    pub fn begin(&self, now_ns: u64) {
        self.next_ns.store(now_ns, Ordering::Relaxed);
    }

    /// The turn of whoever comes now for so many units.
    pub fn turn(&self, now_ns: u64, units: u64) -> Turn {
        let takes_ns = u128::from(units) * NS_PER_S / u128::from(self.per_second);
        if self.arrivals == Arrivals::Closed {
            self.next_ns.fetch_max(now_ns, Ordering::Relaxed);
        }
        let earliest_ns = self.next_ns.fetch_add(takes_ns as u64, Ordering::Relaxed);
        Turn { earliest_ns, late_ns: now_ns.saturating_sub(earliest_ns) }
    }

    /// How long ago the next operation was due for which nobody has come yet; `None` where nothing is ever due.
    pub fn behind_ns(&self, now_ns: u64) -> Option<u64> {
        (self.arrivals == Arrivals::Open).then(|| now_ns.saturating_sub(self.next_ns.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn pace(arrivals: Arrivals, per_second: u64) -> Arc<Pace> {
        Pace::of(arrivals, per_second).unwrap()
    }

    /// Starts and lateness in milliseconds, of those who come at these.
    fn turns(pace: &Pace, at_ms: impl IntoIterator<Item = u64>) -> Vec<(u64, u64)> {
        let turns = at_ms.into_iter().map(|now_ms| pace.turn(now_ms * MS, 1));
        turns.map(|turn| (turn.earliest_ns / MS, turn.late_ns / MS)).collect()
    }

    #[test]
    fn open_arrivals_are_due_at_fixed_times_and_lost_time_is_caught_up_with() {
        let pace = pace(Arrivals::Open, 100);
        assert_eq!(turns(&pace, [0, 0, 3]), [(0, 0), (10, 0), (20, 0)]);
        assert_eq!(turns(&pace, [95, 95, 95]), [(30, 65), (40, 55), (50, 45)]);
        assert_eq!(pace.behind_ns(95 * MS), Some(35 * MS));
        assert_eq!(turns(&pace, [95; 5]), [(60, 35), (70, 25), (80, 15), (90, 5), (100, 0)]);
        assert_eq!(pace.behind_ns(95 * MS), Some(0));
    }

    #[test]
    fn closed_arrivals_are_apart_and_lost_time_stays_lost() {
        let pace = pace(Arrivals::Closed, 100);
        assert_eq!(turns(&pace, [0, 0, 3]), [(0, 0), (10, 0), (20, 0)]);
        assert_eq!(turns(&pace, [95, 95]), [(95, 0), (105, 0)]);
        assert_eq!(pace.behind_ns(500 * MS), None);
    }

    #[test]
    fn a_beginning_forgets_arrears_and_turns_that_were_given_out() {
        for arrivals in [Arrivals::Open, Arrivals::Closed] {
            let pace = pace(arrivals, 100);
            turns(&pace, [0; 9]);
            pace.begin(50 * MS);
            assert_eq!(turns(&pace, [50, 50]), [(50, 0), (60, 0)], "80 ms were given out");
            pace.begin(900 * MS);
            assert_eq!(turns(&pace, [900, 900]), [(900, 0), (910, 0)]);
        }
    }

    #[test]
    fn a_batch_takes_the_time_of_its_units() {
        let pace = pace(Arrivals::Open, 1000);
        assert_eq!([100, 5, 1].map(|units| pace.turn(0, units).earliest_ns / MS), [0, 100, 105]);
    }

    #[test]
    fn any_rate_is_kept_to_half_a_percent() {
        for rate in [1, 3, 700, 333_333, 9_500_000] {
            let pace = pace(Arrivals::Open, rate);
            let last = (0..=100).map(|_| pace.turn(0, 1).earliest_ns).max().unwrap();
            let found = 100.0 / (last as f64 / 1e9);
            assert!((found / rate as f64 - 1.0).abs() < 0.005, "{rate}: {found}");
        }
    }

    #[test]
    fn clients_that_share_a_rate_get_each_start_once() {
        let pace = pace(Arrivals::Open, 1_000_000);
        let mut starts: Vec<u64> = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| (0..250).map(|_| pace.turn(0, 1).earliest_ns).collect::<Vec<_>>()))
                .collect();
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
        });
        starts.sort_unstable();
        assert!(starts.into_iter().eq((0..1_000_000).step_by(1000)));
    }
}

//! Rate limits: when the next operation may start.

use super::counter::Counter;
use std::sync::atomic::{AtomicU64, Ordering};

/// Hands out starts one after the other, to one client or to several that share a rate. Time in which nobody came is
/// not caught up with.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    next_ns: Counter<AtomicU64>,
}

impl Pace {
    /// When an operation may start that comes now, if the next one may start `takes_ns` later.
    pub fn start(&self, now_ns: u64, takes_ns: u64) -> u64 {
        self.next_ns.fetch_max(now_ns, Ordering::Relaxed);
        self.next_ns.fetch_add(takes_ns, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_apart_and_lost_time_stays_lost() {
        let pace = Pace::default();
        assert_eq!([0, 0, 3].map(|now_ns| pace.start(now_ns, 10)), [0, 10, 20]);
        assert_eq!([95, 95].map(|now_ns| pace.start(now_ns, 10)), [95, 105]);
    }

    #[test]
    fn clients_that_share_a_rate_get_each_start_once() {
        let pace = Pace::default();
        let mut starts: Vec<u64> = std::thread::scope(|scope| {
            let clients: Vec<_> =
                (0..4).map(|_| scope.spawn(|| (0..250).map(|_| pace.start(0, 10)).collect::<Vec<_>>())).collect();
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
        });
        starts.sort_unstable();
        assert!(starts.into_iter().eq((0..10_000).step_by(10)));
    }
}

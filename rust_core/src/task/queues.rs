//! Queues with servers in virtual time. What an operation does at its end executes whole, so requests do not all arrive
//! in the order of their times: a server keeps its busy intervals, and an earlier request fills a gap between later
//! ones.

use std::collections::VecDeque;

/// Intervals that ended this long before the newest request are forgotten. It bounds how far a task can lag.
pub const MEMORY_NS: u64 = 2_000_000_000;

/// Most intervals that one server keeps; beyond, the oldest gaps are given up, and a task that lags behind them waits
/// for nothing real. A lag of 50 ms while a link serves 100,000 requests per second needs some thousands.
const MAX_INTERVALS: usize = 8192;

/// Requests arrive nearly in order: so many intervals are looked at one by one before the place is found by halving.
const NEAR: usize = 16;

/// One server: sorted, disjoint busy intervals.
#[derive(Debug, Clone, Default)]
pub struct Server {
    busy: VecDeque<(u64, u64)>,
    /// No request starts before this: gaps before it are forgotten.
    floor_ns: u64,
    busy_ns: u64,
}

impl Server {
    /// When a request of `service_ns` that arrives at `now_ns` would start.
    pub fn earliest(&self, now_ns: u64, service_ns: u64) -> u64 {
        let mut start = now_ns.max(self.floor_ns);
        if self.busy.back().is_none_or(|last| last.1 <= start) {
            return start;
        }
        let first = self.position(start);
        for &(begin, end) in self.busy.range(first..) {
            if start + service_ns <= begin {
                break;
            }
            start = start.max(end);
        }
        start
    }

    /// The first interval that ends after `at_ns`.
    fn position(&self, at_ns: u64) -> usize {
        let later = self.busy.iter().rev().take(NEAR).take_while(|interval| interval.1 > at_ns).count();
        if later < NEAR {
            return self.busy.len() - later;
        }
        self.busy.partition_point(|interval| interval.1 <= at_ns)
    }

    /// Serves a request that may be interrupted, such as a long transfer on a link: it takes every gap from `now_ns` on
    /// until it is done, and returns when that is.
    pub fn fill(&mut self, now_ns: u64, service_ns: u64) -> u64 {
        let mut at = now_ns.max(self.floor_ns);
        let first = self.position(at);
        let begin = self.busy.get(first).map_or(at, |interval| at.min(interval.0));
        let (mut left, mut next) = (service_ns, first);
        while let Some(&(start, end)) = self.busy.get(next) {
            let gap = start.saturating_sub(at);
            if left < gap {
                break;
            }
            left -= gap;
            at = end;
            next += 1;
        }
        at += left;
        self.busy_ns += service_ns;
        self.busy.drain(first..next);
        self.busy.insert(first, (begin, at));
        self.forget(now_ns);
        at
    }

    /// Drops the intervals that nobody can reach any more, and the oldest where there are too many.
    fn forget(&mut self, now_ns: u64) {
        while self.busy.len() > MAX_INTERVALS || self.busy.front().is_some_and(|first| first.1 + MEMORY_NS < now_ns) {
            let Some((_, end)) = self.busy.pop_front() else { break };
            self.floor_ns = self.floor_ns.max(end);
        }
    }

    /// Serves from `start_ns`, which [`Server::earliest`] gave, and returns when it is done.
    pub fn serve(&mut self, start_ns: u64, service_ns: u64) -> u64 {
        let end_ns = start_ns + service_ns;
        self.busy_ns += service_ns;
        match self.busy.back_mut() {
            Some(last) if last.1 == start_ns => last.1 = end_ns,
            Some(last) if last.1 > start_ns => {
                let at = self.position(start_ns);
                let touches = at > 0 && self.busy[at - 1].1 == start_ns;
                match (touches, &mut self.busy[at]) {
                    (true, _) => self.busy[at - 1].1 = end_ns,
                    (false, next) if next.0 == end_ns => next.0 = start_ns,
                    _ => self.busy.insert(at, (start_ns, end_ns)),
                }
            }
            _ => self.busy.push_back((start_ns, end_ns)),
        }
        self.forget(start_ns);
        end_ns
    }

    /// Time spent serving.
    pub fn busy_ns(&self) -> u64 {
        self.busy_ns
    }
}

/// Servers that share one queue.
#[derive(Debug, Clone)]
pub struct Pool {
    servers: Vec<Server>,
}

impl Pool {
    /// `servers` idle servers, at least one.
    pub fn new(servers: usize) -> Self {
        Self { servers: vec![Server::default(); servers.max(1)] }
    }

    /// Serves a request on the server that can start it first, and returns when it is done.
    pub fn serve(&mut self, now_ns: u64, service_ns: u64) -> u64 {
        let (best, start_ns) = self.first(now_ns, service_ns, |_| 0);
        self.servers[best].serve(start_ns, service_ns)
    }

    /// The server that can start a request first if those ahead of it on each last longer by `turn_ns`, and when it
    /// can.
    pub fn first(&self, now_ns: u64, service_ns: u64, turn_ns: impl Fn(usize) -> u64) -> (usize, u64) {
        let (mut best, mut best_start, mut best_turn) = (0, u64::MAX, u64::MAX);
        for (n, server) in self.servers.iter().enumerate() {
            let start = server.earliest(now_ns, service_ns);
            let turn = start + turn_ns(n);
            if turn < best_turn {
                (best, best_start, best_turn) = (n, start, turn);
                if turn == now_ns {
                    break;
                }
            }
        }
        (best, best_start)
    }

    /// Number of servers.
    pub fn len(&self) -> usize {
        self.servers.len()
    }

    /// Never: a pool has at least one server.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// One server, for requests that are bound to it.
    pub fn server(&mut self, n: usize) -> &mut Server {
        &mut self.servers[n]
    }

    /// Time that all servers spent serving.
    pub fn busy_ns(&self) -> u64 {
        self.servers.iter().map(Server::busy_ns).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_request_fills_a_gap_between_later_ones() {
        let mut pool = Pool::new(1);
        assert_eq!(pool.serve(100, 10), 110);
        assert_eq!(pool.serve(0, 50), 50);
        assert_eq!(pool.serve(0, 60), 170);
        assert_eq!(pool.serve(40, 10), 60);
    }

    #[test]
    fn requests_beyond_the_servers_wait() {
        let mut pool = Pool::new(2);
        assert_eq!([pool.serve(0, 10), pool.serve(0, 10), pool.serve(0, 10)], [10, 10, 20]);
        assert_eq!(pool.busy_ns(), 30);
    }

    #[test]
    fn a_request_that_may_be_interrupted_takes_every_gap() {
        let mut server = Server::default();
        for at in [10, 30, 50] {
            server.serve(at, 10);
        }
        assert_eq!(server.fill(15, 25), 65, "10 before 30, 10 before 50, 5 behind 60");
        assert_eq!((server.fill(0, 4), server.fill(0, 100)), (4, 159));
        assert_eq!(server.busy_ns(), 30 + 25 + 104);
        assert_eq!(server.busy, [(0, 159)]);
    }

    proptest::proptest! {
        #[test]
        fn intervals_stay_apart_in_order_and_hold_all_service(
            requests in proptest::collection::vec((0..500u64, 1..40u64, proptest::bool::ANY), 1..200)
        ) {
            let mut server = Server::default();
            for (now, service, may_stop) in requests {
                let end = if may_stop {
                    server.fill(now, service)
                } else {
                    let start = server.earliest(now, service);
                    server.serve(start, service)
                };
                proptest::prop_assert!(end >= now + service);
                proptest::prop_assert!(server.busy.iter().zip(server.busy.iter().skip(1)).all(|(a, b)| a.1 <= b.0));
                let held: u64 = server.busy.iter().map(|interval| interval.1 - interval.0).sum();
                proptest::prop_assert_eq!(held, server.busy_ns());
            }
        }
    }

    #[test]
    fn busy_time_never_exceeds_what_one_server_can_give() {
        let mut server = Server::default();
        let mut end = 0;
        for n in 0..1000u64 {
            let start = server.earliest(n * 7919 % 5000, 3);
            end = end.max(server.serve(start, 3));
        }
        assert!(server.busy_ns() <= end);
    }
}

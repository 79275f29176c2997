//! Queues with servers in virtual time. A whole operation executes before the next one starts, so requests do not arrive
//! in the order of their times: a server keeps its busy intervals, and an earlier request fills a gap between later ones.

use std::collections::VecDeque;

/// Intervals that ended this long before the newest request are forgotten. It bounds how far a client can lag.
pub const MEMORY_NS: u64 = 2_000_000_000;

/// Most intervals that one server keeps; beyond, the oldest gaps are given up.
const MAX_INTERVALS: usize = 256;

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

    /// The first interval that ends after `at_ns`. Requests arrive nearly in order, so it is one of the last.
    fn position(&self, at_ns: u64) -> usize {
        let later = self.busy.iter().rev().take_while(|interval| interval.1 > at_ns).count();
        self.busy.len() - later
    }

    /// Serves from `start_ns`, which [`Server::earliest`] gave, and returns when it is done.
    pub fn serve(&mut self, start_ns: u64, service_ns: u64) -> u64 {
        let end_ns = start_ns + service_ns;
        self.busy_ns += service_ns;
        match self.busy.back_mut() {
            Some(last) if last.1 == start_ns => last.1 = end_ns,
            Some(last) if last.1 > start_ns => {
                let at = self.position(start_ns);
                self.busy.insert(at, (start_ns, end_ns));
            }
            _ => self.busy.push_back((start_ns, end_ns)),
        }
        while self.busy.len() > MAX_INTERVALS || self.busy.front().is_some_and(|first| first.1 + MEMORY_NS < start_ns) {
            let Some((_, end)) = self.busy.pop_front() else { break };
            self.floor_ns = self.floor_ns.max(end);
        }
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
        let (mut best, mut best_start) = (0, u64::MAX);
        for (n, server) in self.servers.iter().enumerate() {
            let start = server.earliest(now_ns, service_ns);
            if start < best_start {
                (best, best_start) = (n, start);
                if start == now_ns {
                    break;
                }
            }
        }
        self.servers[best].serve(best_start, service_ns)
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

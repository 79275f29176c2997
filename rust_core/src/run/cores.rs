//! The cores of a machine in virtual time, which clients and background jobs share.

use crate::task::queues::Pool;

/// A job holds a core for at most this long at once, as a scheduler's time slice would.
pub const SLICE_NS: u64 = 500_000;

/// A client that leaves a core for less than this keeps it: it takes about as long to put another thread there.
const SWITCH_NS: u64 = 2_000;

/// Cores that share one queue.
#[derive(Debug, Clone)]
pub struct Cores {
    pool: Pool,
    /// From when to when each was last busy with clients, short gaps included.
    held: Vec<(u64, u64)>,
}

impl Cores {
    /// `cores` idle cores, at least one.
    pub fn new(cores: usize) -> Self {
        let pool = Pool::new(cores);
        let held = vec![(0, 0); pool.len()];
        Self { pool, held }
    }

    /// Serves a client on the core that can start first, and returns when it is done.
    pub fn serve(&mut self, now_ns: u64, service_ns: u64) -> u64 {
        let (best, start_ns) = self.pool.first(now_ns, service_ns, |_| 0);
        let end_ns = self.pool.server(best).serve(start_ns, service_ns);
        let held = &mut self.held[best];
        // Work that fills a gap before says nothing of what comes after it.
        if start_ns > held.1 + SWITCH_NS {
            *held = (start_ns, end_ns);
        } else if end_ns + SWITCH_NS >= held.0 {
            *held = (held.0.min(start_ns), held.1.max(end_ns));
        }
        end_ns
    }

    /// Serves a slice of a job, and returns when it is done. Operations of a client that makes one after the other
    /// stand in no queue, but it is due its slice as well: the operating system spreads threads, not what is left of
    /// their slices.
    pub fn serve_slice(&mut self, now_ns: u64, service_ns: u64) -> u64 {
        let is_held = |n: usize| (self.held[n].0..=self.held[n].1).contains(&now_ns);
        let (best, start_ns) = self.pool.first(now_ns, service_ns, |n| if is_held(n) { SLICE_NS + 1 } else { 0 });
        self.pool.server(best).serve(start_ns, service_ns)
    }

    /// Time that all cores spent serving.
    pub fn busy_ns(&self) -> u64 {
        self.pool.busy_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_share_a_core_rather_than_that_of_a_thread_that_goes_on() {
        let mut cores = Cores::new(2);
        let client =
            |cores: &mut Cores, until: u64| (0..until).step_by(1_000).for_each(|at| _ = cores.serve(at, 1_000));
        client(&mut cores, 600_000);
        assert_eq!(cores.serve_slice(500_000, 400_000), 900_000);
        assert_eq!(cores.serve_slice(600_000, 400_000), 1_300_000, "behind the first");
        assert_eq!(cores.serve_slice(600_000, 400_000), 1_000_000, "two are ahead there, and one here");
        let mut cores = Cores::new(2);
        client(&mut cores, 400_000);
        cores.serve(500_000, 1_000);
        cores.serve_slice(450_000, 500_000);
        assert_eq!(cores.serve_slice(460_000, 500_000), 1_001_000, "a thread that pauses leaves its core");
        let mut cores = Cores::new(2);
        cores.serve(500_000, 1_000);
        cores.serve(100, 100);
        cores.serve_slice(250_000, 200_000);
        assert_eq!(cores.held[0], (500_000, 501_000), "the gap before stays one");
    }
}

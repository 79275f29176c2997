//! The cores of a machine in virtual time, which clients and background jobs share.

use crate::task::queues::Pool;

/// A job holds a core for at most this long at once, as a scheduler's time slice would.
pub const SLICE_NS: u64 = 500_000;

/// A client that leaves a core for less than this keeps it: it takes about as long to put another thread there.
const SWITCH_NS: u64 = 2_000;

/// A core takes over a thread that waits for another one at most this often: idle and busy cores balance at the timer's
/// tick, and one that idles for moments does not, as threads that ran lately have what they need in its caches (Linux
/// `task_hot`). `CONFIG_HZ` 250.
const TICK_NS: u64 = 4_000_000;

/// Utilization is of about this time: that of Linux halves in 32 ms.
const WINDOW_NS: u64 = 32_000_000;

/// By how much a group of cores has to be out of balance, and so how fast the search for an idle one gives up while
/// they are busier: Linux `imbalance_pct` of cores that share a cache.
const IMBALANCE: f64 = 1.17;

/// The core that a thread was on last.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seat(Option<usize>);

/// Cores, each with its own queue. A thread that wakes goes to the core that it was on, unless that is busy and an idle
/// one is found.
///
/// Measured: beside a server and its 4 clients on 2 cores, 0.1 to 1% of wakes went to another core, and one core was
/// idle while threads waited for the other for a fifth of the time.
#[derive(Debug, Clone)]
pub struct Cores {
    pool: Pool,
    /// From when to when each was last busy with clients, short gaps included.
    held: Vec<(u64, u64)>,
    /// When each took over a thread last.
    took_ns: Vec<u64>,
    /// Since when utilization is measured anew, and what the cores had served by then.
    since: (u64, u64),
    /// How many cores a search for an idle one looks at.
    looked_at: usize,
}

impl Cores {
    /// `cores` idle cores, at least one.
    pub fn new(cores: usize) -> Self {
        let pool = Pool::new(cores);
        let n = pool.len();
        let (held, took_ns) = (vec![(0, 0); n], vec![0; n]);
        Self { pool, held, took_ns, since: (0, 0), looked_at: n - 1 }
    }

    /// Serves a client, and returns when it is done.
    pub fn serve(&mut self, seat: &mut Seat, now_ns: u64, service_ns: u64) -> u64 {
        let (core, start_ns) = self.core_of(seat, now_ns, service_ns);
        let end_ns = self.pool.server(core).serve(start_ns, service_ns);
        let held = &mut self.held[core];
        // Work that fills a gap before says nothing of what comes after it.
        if start_ns > held.1 + SWITCH_NS {
            *held = (start_ns, end_ns);
        } else if end_ns + SWITCH_NS >= held.0 {
            *held = (held.0.min(start_ns), held.1.max(end_ns));
        }
        end_ns
    }

    /// Where a client is served, and from when on.
    fn core_of(&mut self, seat: &mut Seat, now_ns: u64, service_ns: u64) -> (usize, u64) {
        let cores = self.pool.len();
        let own = *seat.0.get_or_insert_with(|| self.pool.first(now_ns, service_ns, |_| 0).0);
        let start_ns = self.pool.server(own).earliest(now_ns, service_ns);
        if start_ns == now_ns || cores == 1 {
            return (own, start_ns);
        }
        self.look_again(now_ns);
        let mut near = (1..=self.looked_at).map(|step| (own + step) % cores);
        if let Some(idle) = near.find(|&n| self.pool.server(n).earliest(now_ns, service_ns) == now_ns) {
            *seat = Seat(Some(idle));
            return (idle, now_ns);
        }
        let (first, first_ns) = self.pool.first(now_ns, service_ns, |_| 0);
        if first_ns < start_ns && now_ns >= self.took_ns[first] + TICK_NS {
            self.took_ns[first] = now_ns;
            *seat = Seat(Some(first));
            return (first, first_ns);
        }
        (own, start_ns)
    }

    /// Linux `update_idle_cpu_scan`: the busier the cores, the fewer of them a search for an idle one looks at.
    fn look_again(&mut self, now_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.since.0);
        if passed_ns < WINDOW_NS {
            return;
        }
        let cores = self.pool.len() as f64;
        let served_ns = self.pool.busy_ns();
        let busy = ((served_ns - self.since.1) as f64 / (passed_ns as f64 * cores)).min(1.0);
        let out_of_balance = IMBALANCE * busy;
        let looked_at = (cores * (1.0 - out_of_balance * out_of_balance).max(0.0)) as usize;
        self.looked_at = looked_at.min(self.pool.len() - 1);
        self.since = (now_ns, served_ns);
    }

    /// Serves a slice of a job, and returns when it is done. Operations of a client that makes one after the other
    /// stand in no queue, but it is due its slice as well: the operating system spreads threads, not what is left of
    /// their slices.
    pub fn serve_slice(&mut self, _: &mut Seat, now_ns: u64, service_ns: u64) -> u64 {
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

    const MS: u64 = 1_000_000;

    #[test]
    fn slices_share_a_core_rather_than_that_of_a_thread_that_goes_on() {
        let mut seat = Seat::default();
        let mut client = |cores: &mut Cores, until: u64| {
            (0..until).step_by(1_000).for_each(|at| _ = cores.serve(&mut seat, at, 1_000));
        };
        let slice = |cores: &mut Cores, at, service| cores.serve_slice(&mut Seat::default(), at, service);
        let mut cores = Cores::new(2);
        client(&mut cores, 600_000);
        assert_eq!(slice(&mut cores, 500_000, 400_000), 900_000);
        assert_eq!(slice(&mut cores, 600_000, 400_000), 1_300_000, "behind the first");
        assert_eq!(slice(&mut cores, 600_000, 400_000), 1_000_000, "two are ahead there, and one here");
        let mut cores = Cores::new(2);
        client(&mut cores, 400_000);
        cores.serve(&mut Seat::default(), 500_000, 1_000);
        slice(&mut cores, 450_000, 500_000);
        assert_eq!(slice(&mut cores, 460_000, 500_000), 1_001_000, "a thread that pauses leaves its core");
        let mut cores = Cores::new(2);
        cores.serve(&mut Seat::default(), 500_000, 1_000);
        cores.serve(&mut Seat::default(), 100, 100);
        slice(&mut cores, 250_000, 200_000);
        assert_eq!(cores.held[0], (500_000, 501_000), "the gap before stays one");
    }

    #[test]
    fn a_thread_of_busy_cores_waits_for_its_own_between_two_ticks() {
        let mut cores = Cores::new(2);
        let [mut a, mut b, mut c] = [Seat::default(); 3];
        assert_eq!([cores.serve(&mut a, 0, 32 * MS), cores.serve(&mut b, 0, 32 * MS)], [32 * MS; 2]);
        assert_eq!(cores.serve(&mut c, 40 * MS, 100), 40 * MS + 100);
        assert_eq!((a.0, b.0, c.0), (Some(0), Some(1), Some(0)));
        assert_eq!(cores.serve(&mut a, 40 * MS + 50, 100), 40 * MS + 150, "the idle one takes it over");
        assert_eq!((a.0, cores.looked_at), (Some(1), 0));
        cores.serve(&mut b, 41 * MS, 100);
        assert_eq!(cores.serve(&mut a, 41 * MS + 50, 100), 41 * MS + 150, "the other has taken none yet");
        cores.serve(&mut c, 42 * MS, 100);
        assert_eq!(cores.serve(&mut a, 42 * MS + 50, 100), 42 * MS + 200, "behind c, beside an idle core");
        cores.serve(&mut c, 45 * MS, 100);
        assert_eq!(cores.serve(&mut a, 45 * MS + 50, 100), 45 * MS + 150, "a tick later");
    }

    #[test]
    fn a_thread_finds_an_idle_core_where_few_are_busy() {
        let mut cores = Cores::new(4);
        let mut seats = [Seat::default(); 2];
        for at in (0..40).map(|n| n * MS) {
            for seat in &mut seats {
                *seat = Seat(Some(0));
                cores.serve(seat, at, MS / 2);
            }
            assert_ne!(seats[0].0, seats[1].0, "at {at}");
        }
        assert_eq!(cores.looked_at, 3, "a quarter of the time is served");
    }

    #[test]
    fn the_busier_the_cores_the_fewer_are_looked_at() {
        let looked_at = |busy_of_hundred: u64| {
            let mut cores = Cores::new(8);
            cores.pool.server(0).serve(0, 8 * busy_of_hundred * MS);
            cores.look_again(100 * MS);
            cores.looked_at
        };
        assert_eq!([0, 30, 50, 70, 80, 90].map(looked_at), [7, 7, 5, 2, 0, 0]);
    }
}

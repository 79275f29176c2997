//! The cores of a machine in virtual time, which clients and background jobs share: one thread at a time holds each,
//! others wait in its queue, and the rules are those of Linux (EEVDF, 6.12 and later) where it is not busy with
//! fairness between programs.

use crate::scale::Scale;
use crate::task::queues::Server;
use std::collections::VecDeque;

/// A job computes for so long before it asks for its core again; who takes that from it meanwhile waits for the rest.
const PIECE_NS: u64 = 100_000;

/// As many times as long where nobody asks how long a client waited: still five to a tick. With pieces of full size in
/// a load, what YCSB A wrote afterwards at 1/8 of 64 MiB went from 1.05 to 1.15 of that at full size, means of five
/// seeds; with these it is 1.06.
const UNWATCHED: u64 = 8;

/// A thread that was given a core keeps it for so long though others wake that are owed nothing: Linux
/// `sysctl_sched_base_slice`, 0.7 ms, doubled on two cores (`sched_proportional_scaling`), where it was measured.
const PROTECTED_NS: u64 = 1_400_000;

/// At the timer's tick a thread whose protection is over makes room for those that wait, and idle cores look for some
/// that wait for others: `CONFIG_HZ` 250.
const TICK_NS: u64 = 4_000_000;

/// A thread is owed no more than this, and owes no more: Linux `update_entity_lag`, at least a tick.
const MOST_LAG_NS: i64 = 4_000_000;

/// A thread that leaves a core for less than this keeps it: it takes about as long to put another one there.
const SWITCH_NS: u64 = 2_000;

/// A thread that ran this lately has what it needs in its core's caches: Linux `sysctl_sched_migration_cost`.
const HOT_NS: u64 = 500_000;

/// An idle core takes over such a thread only after it found no other at so many ticks: Linux `cache_nice_tries` of
/// cores that share a cache, and the one more that its comparison asks for.
const NICE_TRIES: u32 = 2;

/// A busy core looks for threads to take over once in this time for each of all cores: Linux `busy_factor` times
/// `min_interval`, which is a millisecond a core.
const BUSY_INTERVAL_NS: u64 = 16_000_000;

/// A job shares a core in so many ticks at least, where it does so at full size: that of a copy of the data is as many
/// times shorter as the copy is smaller, and would be over before a client that it meets has gone to another core.
const TICKS_OF_JOB: u64 = 32;

/// Utilization is of about this time: that of Linux halves in 32 ms.
const WINDOW_NS: u64 = 32_000_000;

/// By how much a group of cores has to be out of balance, and so how fast the search for an idle one gives up while
/// they are busier: Linux `imbalance_pct` of cores that share a cache.
const IMBALANCE: f64 = 1.17;

/// A thread, and the core that it was on last.
#[derive(Debug, Clone, Copy)]
pub struct Seat {
    who: Runnable,
    core: Option<usize>,
    /// Until when it was served last.
    ran_ns: u64,
    /// Since when it waits for a core.
    queued_ns: u64,
    /// What it is short of its part of the cores where others wanted them too; negative for what it had beyond that.
    lag_ns: i64,
    /// For how long it computes before it asks for its core again.
    piece_ns: u64,
}

impl Default for Seat {
    fn default() -> Self {
        Self::of_client(0)
    }
}

impl Seat {
    /// That of a client.
    pub fn of_client(n: usize) -> Self {
        let who = Runnable { thread: Thread::Client(n), grain: 1.0 };
        Self { who, core: None, ran_ns: 0, queued_ns: 0, lag_ns: 0, piece_ns: PIECE_NS }
    }

    /// That of a job that computes for so long on data at this scale.
    pub fn of_job(n: usize, cpu_ns: u64, scale: Scale) -> Self {
        let ticks = (TICKS_OF_JOB * TICK_NS) as f64;
        let grain = (cpu_ns as f64 / ticks).max(scale.least_latency_share()).min(1.0);
        let who = Runnable { thread: Thread::Job(n), grain };
        Self { who, piece_ns: in_grains(PIECE_NS, grain), ..Self::of_client(n) }
    }

    /// The same for a job of a load, or of an engine that settles.
    #[must_use]
    pub fn unwatched(self) -> Self {
        Self { piece_ns: (UNWATCHED * self.piece_ns).min(PIECE_NS), ..self }
    }

    fn add_lag(&mut self, ns: i64) {
        let most = (MOST_LAG_NS as f64 * self.who.grain) as i64;
        self.lag_ns = (self.lag_ns + ns).clamp(-most, most);
    }

    /// What a thread had beyond its part is made up for by as long a sleep: Linux `DELAY_DEQUEUE`.
    fn forget_debt(&mut self, now_ns: u64) {
        if self.lag_ns < 0 {
            self.lag_ns = (self.lag_ns + now_ns.saturating_sub(self.ran_ns) as i64).min(0);
        }
    }

    /// Whether it is that of a job.
    pub fn is_job(&self) -> bool {
        matches!(self.who.thread, Thread::Job(_))
    }

    /// For how long it computes before it asks for its core again.
    pub fn piece_ns(&self) -> u64 {
        self.piece_ns
    }
}

/// Who may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thread {
    /// A client.
    Client(usize),
    /// A job.
    Job(usize),
}

/// What a thread that asks for a core gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Time of a core until then.
    Done(u64),
    /// Nothing: it is the first of those that wait for a core, and asks again then.
    Later(u64),
    /// Nothing: it waits behind others until it is among [`Cores::take_woken`].
    Waits,
}

impl Turn {
    /// Whether it got what it asked for.
    pub fn is_done(self) -> bool {
        matches!(self, Self::Done(_))
    }
}

fn in_grains(ns: u64, grain: f64) -> u64 {
    ((ns as f64 * grain) as u64).max(1)
}

/// A thread that a core serves or will serve.
#[derive(Debug, Clone, Copy)]
struct Runnable {
    thread: Thread,
    /// What part of a tick, and of all that is reckoned in ticks, it shares a core for; 1 for a client.
    grain: f64,
}

#[derive(Debug, Clone, Default)]
struct Core {
    server: Server,
    /// Who holds it.
    owner: Option<Runnable>,
    /// Whether it had been another's, who was not done.
    has_displaced: bool,
    /// Since when its protection lasts.
    began_ns: u64,
    /// Until when nobody else waited.
    alone_ns: u64,
    /// Whether who holds it would rather not.
    is_offered: bool,
    /// Until when it has something to do.
    busy_until_ns: u64,
    /// Who waits for it, the first one first.
    waiting: VecDeque<Runnable>,
    /// When it took over a thread last while it was busy.
    took_ns: u64,
    /// The ticks at which it was idle and found but hot threads: how many, and the last.
    failed: (u32, u64),
}

impl Core {
    /// Whether who held it has gone.
    fn is_left(&self, now_ns: u64) -> bool {
        self.owner.is_none() || self.busy_until_ns + SWITCH_NS < now_ns
    }

    /// When who holds it will have gone, if it asks for nothing more.
    fn left_ns(&self, now_ns: u64, service_ns: u64) -> u64 {
        self.server.earliest(now_ns, service_ns).max(self.busy_until_ns + SWITCH_NS) + 1
    }

    fn is_free(&self, now_ns: u64, service_ns: u64) -> bool {
        self.is_left(now_ns) && self.server.earliest(now_ns, service_ns) == now_ns
    }

    fn is_idle(&self, now_ns: u64, service_ns: u64) -> bool {
        self.waiting.is_empty() && self.is_free(now_ns, service_ns)
    }

    /// How many threads it has to serve.
    fn threads(&self, now_ns: u64) -> usize {
        self.waiting.len() + usize::from(!self.is_left(now_ns))
    }

    /// How many threads wait before one that waits.
    fn place_of(&self, seat: &Seat) -> Option<usize> {
        self.waiting.iter().position(|one| one.thread == seat.who.thread)
    }

    fn is_held_by(&self, seat: &Seat) -> bool {
        self.owner.is_some_and(|one| one.thread == seat.who.thread)
    }

    /// What part of a tick its threads share it for: the least that one of them does.
    fn grain(&self) -> f64 {
        self.owner.iter().chain(&self.waiting).map(|one| one.grain).fold(1.0, f64::min)
    }

    /// Until when it is held though others wake.
    fn protected_ns(&self, grain: f64) -> u64 {
        self.began_ns + in_grains(PROTECTED_NS, grain)
    }

    /// Until when it is held though others wait: the tick after that.
    fn slice_end_ns(&self) -> u64 {
        if self.is_offered {
            return 0;
        }
        let grain = self.grain();
        self.protected_ns(grain).max(self.alone_ns).next_multiple_of(in_grains(TICK_NS, grain))
    }

    /// Whether a thread that wakes takes the place of who holds it: Linux `check_preempt_wakeup_fair`, where one that
    /// had more than its part is not protected from one that had less.
    fn gives_way(&self, seat: &Seat, now_ns: u64) -> bool {
        !self.is_left(now_ns) && (seat.lag_ns > 0 || now_ns >= self.protected_ns(self.grain().min(seat.who.grain)))
    }

    fn begin_slice(&mut self, seat: &Seat, now_ns: u64) {
        self.has_displaced = !self.is_left(now_ns);
        self.owner = Some(seat.who);
        (self.began_ns, self.alone_ns, self.is_offered) = (now_ns, now_ns, false);
    }

    /// Serves who holds it, or has it wait for its next slice.
    fn go_on(&mut self, seat: &mut Seat, now_ns: u64, service_ns: u64) -> Turn {
        if self.waiting.is_empty() {
            (self.alone_ns, self.is_offered) = (now_ns + 1, false);
        } else if now_ns >= self.slice_end_ns() {
            self.queue(seat.who);
            seat.queued_ns = now_ns;
            return Turn::Waits;
        }
        seat.ran_ns = self.serve(now_ns, service_ns);
        let others = self.waiting.len() as i64 + i64::from(self.has_displaced);
        seat.add_lag(-(service_ns as i64) * others / (others + 1));
        Turn::Done(seat.ran_ns)
    }

    /// Has a thread wait behind the others. It does not hold the core any more, even if nobody took that over since.
    fn queue(&mut self, who: Runnable) {
        self.owner.take_if(|owner| owner.thread == who.thread);
        self.waiting.push_back(who);
    }

    fn serve(&mut self, now_ns: u64, service_ns: u64) -> u64 {
        let end_ns = self.server.serve(self.server.earliest(now_ns, service_ns), service_ns);
        self.busy_until_ns = self.busy_until_ns.max(end_ns);
        end_ns
    }

    /// Whether it has been idle since the tick, and at enough ticks to take over a thread that is hot.
    fn finds_hot_at(&mut self, tick_ns: u64) -> bool {
        let (ticks, last_ns) = self.failed;
        if self.busy_until_ns > tick_ns || last_ns >= tick_ns {
            return false;
        }
        let takes = ticks >= NICE_TRIES;
        self.failed = (if takes { 0 } else { ticks + 1 }, tick_ns);
        takes
    }
}

/// Cores, each with its own queue. A thread that wakes goes to the core that it was on, unless that is busy and an idle
/// one is found. There it takes the place of who holds it if it is owed time or that one's protection is over, and
/// waits otherwise, until it is its turn or another core takes it over.
///
/// Measured: beside a server and its 4 clients on 2 cores, 0.1 to 1% of wakes went to another core, and one core was
/// idle while threads waited for the other for a fifth of the time.
#[derive(Debug, Clone)]
pub struct Cores {
    all: Vec<Core>,
    /// Since when utilization is measured anew, and what the cores had served by then.
    since: (u64, u64),
    /// How many cores a search for an idle one looks at.
    looked_at: usize,
    /// Who has become the first of those that wait for a core, and when.
    woken: Vec<(Thread, u64)>,
}

impl Cores {
    /// `cores` idle cores, at least one.
    pub fn new(cores: usize) -> Self {
        let all = vec![Core::default(); cores.max(1)];
        Self { looked_at: all.len() - 1, all, since: (0, 0), woken: Vec::new() }
    }

    /// Serves a thread that does not wait for its turn: in the next gap of its core, or on an idle one that it finds.
    pub fn serve_at_once(&mut self, seat: &mut Seat, now_ns: u64, service_ns: u64) -> u64 {
        self.leave(seat, now_ns);
        let mut own = self.own(seat, now_ns, service_ns);
        if self.all[own].server.earliest(now_ns, service_ns) > now_ns
            && let Some(idle) = self.idle_beside(own, now_ns, service_ns)
        {
            own = idle;
            seat.core = Some(idle);
        }
        self.all[own].serve(now_ns, service_ns)
    }

    /// Serves a thread, or has it wait.
    pub fn serve(&mut self, seat: &mut Seat, now_ns: u64, service_ns: u64) -> Turn {
        let own = self.own(seat, now_ns, service_ns);
        let core = &mut self.all[own];
        if !core.is_left(now_ns) && core.is_held_by(seat) {
            return core.go_on(seat, now_ns, service_ns);
        }
        let place = core.place_of(seat);
        if place.is_none() {
            seat.forget_debt(now_ns);
        }
        let is_next = place == Some(0) || core.waiting.is_empty();
        if is_next && core.is_free(now_ns, service_ns) {
            return self.take(seat, own, now_ns, service_ns);
        }
        if place.is_none() {
            let wakes = seat.ran_ns < now_ns;
            let gives_way = core.gives_way(seat, now_ns);
            if wakes && let Some(idle) = self.idle_beside(own, now_ns, service_ns) {
                return self.take(seat, idle, now_ns, service_ns);
            }
            if wakes && gives_way {
                return self.take(seat, own, now_ns, service_ns);
            }
            // Who was interrupted goes on before those that had to wait in any case.
            let core = &mut self.all[own];
            core.queue(seat.who);
            if !wakes {
                core.waiting.rotate_right(1);
            }
            seat.queued_ns = now_ns;
        } else if !is_next {
            return Turn::Waits;
        }
        if let Some(idle) = self.idle_that_takes(own, seat, now_ns, service_ns) {
            return self.take(seat, idle, now_ns, service_ns);
        }
        let own = self.less_busy_one(own, now_ns).map_or(own, |other| {
            self.leave(seat, now_ns);
            self.all[other].queue(seat.who);
            seat.core = Some(other);
            other
        });
        let core = &self.all[own];
        if core.place_of(seat) == Some(0) { Turn::Later(core.left_ns(now_ns, service_ns)) } else { Turn::Waits }
    }

    /// Gives a thread a core, and the end of its wait for one.
    fn take(&mut self, seat: &mut Seat, taken: usize, now_ns: u64, service_ns: u64) -> Turn {
        if let Some(own) = seat.core.filter(|own| self.all[*own].place_of(seat).is_some()) {
            let threads = self.all[own].waiting.len() as u64 + 1;
            seat.add_lag((now_ns - seat.queued_ns) as i64 / threads as i64);
            self.leave(seat, now_ns);
        }
        seat.core = Some(taken);
        let core = &mut self.all[taken];
        core.begin_slice(seat, now_ns);
        core.go_on(seat, now_ns, service_ns)
    }

    /// The core that a thread was on, or where it begins: on an idle one, or behind the fewest.
    fn own(&self, seat: &mut Seat, now_ns: u64, service_ns: u64) -> usize {
        *seat.core.get_or_insert_with(|| {
            let idle = self.all.iter().position(|core| core.is_idle(now_ns, service_ns));
            let threads = |n: &usize| self.all[*n].threads(now_ns);
            idle.or_else(|| (0..self.all.len()).min_by_key(threads)).unwrap_or(0)
        })
    }

    /// The idle core that a thread finds which wakes: Linux `select_idle_sibling`.
    fn idle_beside(&mut self, own: usize, now_ns: u64, service_ns: u64) -> Option<usize> {
        self.look_again(now_ns);
        self.idle_among(own, self.looked_at, now_ns, service_ns)
    }

    fn idle_among(&self, own: usize, most: usize, now_ns: u64, service_ns: u64) -> Option<usize> {
        let mut others = (1..=most).map(|step| (own + step) % self.all.len());
        others.find(|&n| self.all[n].is_idle(now_ns, service_ns))
    }

    /// The idle core that takes over a thread which waits: one that becomes idle a thread that is no longer hot (Linux
    /// `sched_balance_newidle`), one that is idle at the tick a hot one too if it found no other before.
    fn idle_that_takes(&mut self, own: usize, seat: &Seat, now_ns: u64, service_ns: u64) -> Option<usize> {
        let idle = self.idle_among(own, self.all.len() - 1, now_ns, service_ns)?;
        let grain = self.all[own].grain();
        let tick_ns = in_grains(TICK_NS, grain);
        let tick_ns = now_ns / tick_ns * tick_ns;
        let is_cold = now_ns >= seat.ran_ns + in_grains(HOT_NS, grain);
        (is_cold || seat.ran_ns < tick_ns && self.all[idle].finds_hot_at(tick_ns)).then_some(idle)
    }

    /// The busy core that takes over a thread which waits: at long intervals, one that has two fewer.
    fn less_busy_one(&mut self, own: usize, now_ns: u64) -> Option<usize> {
        let threads = |n: &usize| self.all[*n].threads(now_ns);
        let other = (0..self.all.len()).min_by_key(threads)?;
        let interval_ns = in_grains(BUSY_INTERVAL_NS * self.all.len() as u64, self.all[own].grain());
        let is_due = now_ns >= self.all[other].took_ns + interval_ns;
        if !is_due || threads(&own) < threads(&other) + 2 {
            return None;
        }
        self.all[other].took_ns = now_ns;
        Some(other)
    }

    /// Linux `update_idle_cpu_scan`: the busier the cores, the fewer of them a search for an idle one looks at.
    fn look_again(&mut self, now_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.since.0);
        if passed_ns < WINDOW_NS {
            return;
        }
        let cores = self.all.len() as f64;
        let served_ns = self.busy_ns();
        let busy = ((served_ns - self.since.1) as f64 / (passed_ns as f64 * cores)).min(1.0);
        let out_of_balance = IMBALANCE * busy;
        let looked_at = (cores * (1.0 - out_of_balance * out_of_balance).max(0.0)) as usize;
        self.looked_at = looked_at.min(self.all.len() - 1);
        self.since = (now_ns, served_ns);
    }

    /// A thread that may wait for a core needs none any more.
    pub fn leave(&mut self, seat: &Seat, now_ns: u64) {
        let Some(core) = seat.core.map(|own| &mut self.all[own]) else { return };
        if let Some(place) = core.place_of(seat) {
            core.waiting.remove(place);
            let next = core.waiting.front().filter(|_| place == 0);
            self.woken.extend(next.map(|next| (next.thread, now_ns + 1)));
        }
    }

    /// A thread offers its core to whoever waits for it, and what is left of its slice: Linux `yield_task_fair`.
    pub fn offer(&mut self, seat: &mut Seat, now_ns: u64) {
        if let Some(core) = seat.core.map(|own| &mut self.all[own])
            && core.is_held_by(seat)
            && !core.waiting.is_empty()
        {
            (core.began_ns, core.is_offered) = (now_ns.saturating_sub(PROTECTED_NS), true);
            seat.add_lag(-(PROTECTED_NS as i64));
        }
    }

    /// Threads that have become the first of those that wait for a core, and when.
    pub fn take_woken(&mut self) -> Vec<(Thread, u64)> {
        std::mem::take(&mut self.woken)
    }

    /// Nobody waits any more: those that still need a core ask again.
    pub fn forget_waiting(&mut self) {
        self.all.iter_mut().for_each(|core| core.waiting.clear());
        self.woken.clear();
    }

    /// Time that all cores spent serving.
    pub fn busy_ns(&self) -> u64 {
        self.all.iter().map(|core| core.server.busy_ns()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;
    const MS: u64 = 1_000_000;

    /// So many clients that were on the first core.
    fn on_first<const N: usize>() -> [Seat; N] {
        std::array::from_fn(|n| Seat { core: Some(0), ..Seat::of_client(n) })
    }

    /// Cores of which none searches for an idle one, as busy ones do.
    fn busy_cores(n: usize) -> Cores {
        let mut cores = Cores::new(n);
        (cores.looked_at, cores.since) = (0, (u64::MAX, 0));
        cores
    }

    /// What a thread gets that asks for a core again and again until it has one.
    fn served(cores: &mut Cores, seat: &mut Seat, mut now_ns: u64, service_ns: u64) -> u64 {
        loop {
            match cores.serve(seat, now_ns, service_ns) {
                Turn::Done(end_ns) => return end_ns,
                Turn::Later(at_ns) => now_ns = at_ns,
                Turn::Waits => panic!("others wait before it"),
            }
        }
    }

    #[test]
    fn a_thread_that_goes_on_keeps_its_core_until_a_tick_after_its_protection() {
        let mut cores = Cores::new(1);
        let [mut a, mut b] = on_first();
        let mut now_ns = served(&mut cores, &mut a, 0, 10 * US);
        assert_eq!(cores.serve(&mut b, 5 * US, US), Turn::Later(12 * US + 1), "if nothing more is asked for");
        while let Turn::Done(end_ns) = cores.serve(&mut a, now_ns, 10 * US) {
            now_ns = end_ns;
        }
        assert_eq!(now_ns, 4 * MS);
        assert_eq!(served(&mut cores, &mut b, now_ns, US), 4 * MS + US);
        assert_eq!(cores.serve(&mut a, 4 * MS + US, US), Turn::Later(4 * MS + 3 * US + 1), "a switch later");
    }

    #[test]
    fn a_short_job_of_a_copy_shares_its_core_in_shorter_slices() {
        let slice_of = |cpu_ns: u64, stands_for: f64| {
            let mut cores = Cores::new(1);
            let [mut client] = on_first();
            let mut job = Seat { core: Some(0), ..Seat::of_job(0, cpu_ns, Scale::standing_for(stands_for)) };
            let mut now_ns = served(&mut cores, &mut job, 0, 10 * US);
            assert_ne!(cores.serve(&mut client, 5 * US, US), Turn::Waits);
            while let Turn::Done(end_ns) = cores.serve(&mut job, now_ns, 10 * US) {
                now_ns = end_ns;
            }
            now_ns
        };
        assert_eq!([1, 1_000].map(|ms| slice_of(ms * MS, 1.0)), [4 * MS; 2], "at full size");
        assert_eq!([1, 64, 1_000].map(|ms| slice_of(ms * MS, 4.0)), [MS, 2 * MS, 4 * MS]);
    }

    #[test]
    fn a_thread_that_wakes_is_served_at_once_if_it_is_owed_time() {
        let mut cores = Cores::new(1);
        let [mut holds, mut wakes, mut later] = on_first();
        served(&mut cores, &mut holds, 0, 100 * US);
        wakes.lag_ns = 1;
        assert_eq!(cores.serve(&mut wakes, 50 * US, 10 * US), Turn::Done(110 * US), "what was begun is finished");
        assert_eq!(wakes.lag_ns, 1 - 5_000, "half of its time was the other's");
        assert_eq!(cores.serve(&mut holds, 100 * US, US), Turn::Later(112 * US + 1), "behind it");
        assert_eq!(cores.serve(&mut later, 105 * US, US), Turn::Waits, "it is owed nothing");
        assert_eq!(served(&mut cores, &mut holds, 112 * US + 1, 100 * US), 212 * US + 1);
        assert_eq!(holds.lag_ns, 12 * US as i64 / 3 - 50 * US as i64, "it waited with another, and held it before one");
    }

    #[test]
    fn a_thread_is_not_protected_for_longer_than_a_slice() {
        let wakes_at = |at: u64| {
            let mut cores = Cores::new(1);
            let [mut holds, mut wakes] = on_first();
            let mut now_ns = 0;
            while now_ns < at + 100 * US {
                now_ns = served(&mut cores, &mut holds, now_ns, 100 * US);
            }
            cores.serve(&mut wakes, at, US)
        };
        assert_eq!(wakes_at(1_390 * US), Turn::Later(1_502 * US + 1));
        assert_eq!(wakes_at(1_410 * US), Turn::Done(1_601 * US));
        assert_eq!(wakes_at(9 * MS), Turn::Done(9_101 * US), "nor by a later tick, as nobody waited");
    }

    #[test]
    fn who_offers_a_core_loses_it_and_what_it_was_owed() {
        let mut cores = Cores::new(1);
        let [mut a, mut b] = on_first();
        served(&mut cores, &mut a, 0, US);
        cores.offer(&mut a, US);
        assert_eq!((cores.serve(&mut a, US, US), a.lag_ns), (Turn::Done(2 * US), 0), "nobody wants it");
        cores.serve(&mut b, US, US);
        cores.offer(&mut a, 2 * US);
        assert_eq!((cores.serve(&mut a, 2 * US, US), a.lag_ns), (Turn::Waits, -1_400_000));
        served(&mut cores, &mut b, 2 * US, US);
        assert_eq!(cores.take_woken(), [(Thread::Client(0), 2 * US + 1)]);
    }

    #[test]
    fn what_a_thread_had_too_much_is_made_up_for_by_sleep() {
        let mut seat = Seat { lag_ns: -700, ran_ns: 1_000, ..Seat::of_client(0) };
        seat.forget_debt(1_300);
        assert_eq!(seat.lag_ns, -400);
        seat.forget_debt(9_000);
        assert_eq!(seat.lag_ns, 0);
    }

    #[test]
    fn an_idle_core_takes_over_a_thread_that_is_no_longer_hot() {
        let mut cores = busy_cores(2);
        let [mut holds, mut waits] = on_first();
        served(&mut cores, &mut holds, 0, 900 * US);
        waits.ran_ns = 300 * US;
        assert_eq!(cores.serve(&mut waits, 310 * US, US), Turn::Later(902 * US + 1));
        assert_eq!(cores.serve(&mut waits, 799 * US, US), Turn::Later(902 * US + 1));
        assert_eq!((cores.serve(&mut waits, 800 * US, US), waits.core), (Turn::Done(801 * US), Some(1)));
        assert_eq!(waits.lag_ns, 490 * US as i64 / 2, "there were two");
    }

    #[test]
    fn a_core_that_is_idle_at_the_third_tick_takes_over_a_hot_thread() {
        let mut cores = busy_cores(2);
        cores.all[1].took_ns = u64::MAX / 2;
        let mut core_after = |tick: u64| {
            let at = tick * TICK_NS;
            let [mut holds, mut waits] = on_first();
            served(&mut cores, &mut holds, at - 50 * US, 200 * US);
            waits.ran_ns = at - 10 * US;
            cores.serve(&mut waits, at - 5 * US, US);
            cores.serve(&mut waits, at + 5 * US, US);
            cores.leave(&waits, at + 5 * US);
            waits.core
        };
        assert_eq!([1, 2, 3, 4].map(&mut core_after), [0, 0, 1, 0].map(Some));
    }

    #[test]
    fn a_busy_core_takes_over_one_of_two_more_at_long_intervals() {
        let mut cores = busy_cores(2);
        let mut waits_for = |at: u64, others: usize| {
            let [mut holds, mut first, mut second] = on_first();
            let mut other = Seat { core: Some(1), ..Seat::of_client(3) };
            served(&mut cores, &mut other, at, 100 * US);
            served(&mut cores, &mut holds, at, 100 * US);
            let waiting = [&mut first, &mut second];
            waiting.into_iter().take(others).for_each(|seat| {
                seat.ran_ns = at;
                cores.serve(seat, at + 1, US);
            });
            cores.forget_waiting();
            [first.core, second.core]
        };
        assert_eq!(waits_for(31 * MS, 2), [Some(0); 2], "too early");
        assert_eq!(waits_for(33 * MS, 1), [Some(0); 2], "two there, one here");
        assert_eq!(waits_for(34 * MS, 2), [Some(0), Some(1)]);
        assert_eq!(waits_for(60 * MS, 2), [Some(0); 2]);
        assert_eq!(waits_for(67 * MS, 2), [Some(0), Some(1)]);
    }

    #[test]
    fn threads_begin_on_idle_cores_and_then_behind_the_fewest() {
        let mut cores = busy_cores(2);
        let mut seats = [0, 1, 2, 3].map(Seat::of_client);
        for seat in &mut seats {
            cores.serve(seat, 10, 100 * US);
        }
        assert_eq!(seats.map(|seat| seat.core), [0, 1, 0, 1].map(Some));
        let mut job = Seat::of_job(0, 100 * US, Scale::FULL);
        assert_eq!(cores.serve_at_once(&mut job, 10, US), 101 * US + 10, "in the next gap of its own");
    }

    #[test]
    fn who_left_a_core_and_waits_for_it_again_waits_no_more_once_served() {
        let mut cores = Cores::new(1);
        let [mut first, mut second, mut third] = on_first();
        assert_eq!(cores.serve(&mut first, 0, 10 * US), Turn::Done(10 * US));
        assert!(matches!(cores.serve(&mut second, 5 * US, US), Turn::Later(_)));
        assert_eq!(cores.serve(&mut first, 13 * US, 10 * US), Turn::Waits);
        assert_eq!(cores.serve_at_once(&mut third, 13 * US, 20 * US), 33 * US);
        cores.leave(&second, 13 * US);
        assert_eq!(cores.take_woken(), [(Thread::Client(0), 13 * US + 1)]);
        assert!(matches!(cores.serve(&mut first, 14 * US, 10 * US), Turn::Later(_)), "it gave the core away");
        assert_eq!(cores.serve(&mut first, 36 * US, 10 * US), Turn::Done(46 * US));
        assert!(matches!(cores.serve(&mut second, 40 * US, US), Turn::Later(_)), "nobody is before it");
    }

    #[test]
    fn who_waits_for_a_core_and_is_served_at_once_waits_no_more() {
        let mut cores = busy_cores(2);
        let [mut first, mut second, mut third] = on_first();
        cores.serve(&mut first, 0, 10 * US);
        assert!(matches!(cores.serve(&mut second, 5 * US, US), Turn::Later(_)));
        assert_eq!(cores.serve(&mut third, 6 * US, US), Turn::Waits);
        cores.serve_at_once(&mut second, 6 * US, US);
        assert_eq!(cores.take_woken(), [(Thread::Client(2), 6 * US + 1)]);
    }

    #[test]
    fn what_is_done_at_once_finds_an_idle_core_too() {
        let mut cores = Cores::new(2);
        let [mut first, mut second, mut third] = on_first();
        assert_eq!(cores.serve_at_once(&mut first, 0, 100 * US), 100 * US);
        assert_eq!((cores.serve_at_once(&mut second, 10, US), second.core), (US + 10, Some(1)));
        assert_eq!((cores.serve_at_once(&mut third, 20, US), third.core), (101 * US, Some(0)), "none is idle");
    }

    #[test]
    fn a_thread_finds_an_idle_core_where_few_are_busy() {
        let mut cores = Cores::new(4);
        for at in (1..41).map(|n| n * MS) {
            let mut seats: [Seat; 2] = on_first();
            let ends = seats.each_mut().map(|seat| cores.serve(seat, at, MS / 2));
            assert_eq!(ends, [Turn::Done(at + MS / 2); 2], "at {at}");
            assert_ne!(seats[0].core, seats[1].core, "at {at}");
        }
        assert_eq!(cores.looked_at, 3, "a quarter of the time is served");
    }

    #[test]
    fn the_busier_the_cores_the_fewer_are_looked_at() {
        let looked_at = |busy_of_hundred: u64| {
            let mut cores = Cores::new(8);
            cores.all[0].server.serve(0, 8 * busy_of_hundred * MS);
            cores.look_again(100 * MS);
            cores.looked_at
        };
        assert_eq!([0, 30, 50, 70, 80, 90].map(looked_at), [7, 7, 5, 2, 0, 0]);
    }
}

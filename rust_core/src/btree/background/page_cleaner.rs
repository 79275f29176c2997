//! The page cleaner: its rounds, sync flushing when the log is nearly full, how many pages its jobs write at a time,
//! and the refill of the free list.

use super::adaptive_flush::{AdaptiveFlush, Sight};
use super::state::{Background, JOB_PAGES, SECOND_NS, Slot, State, Worker};
use crate::btree::options::REGION_PAGES;
use crate::btree::pool::{FlushBatch, PassLimits};
use crate::error::Result;
use crate::task::{Job, JobKind, Task};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Background {
    /// Whether pages that are to come in have to wait for a job that frees frames, which runs or may begin.
    pub fn has_to_supply_frames(&self) -> bool {
        if self.pool.has_frame_at_hand() {
            return false;
        }
        let mut state = self.state.lock();
        if !state.refill_runs && !state.refill_failed && self.is_short_of(self.pool.options.scan_depth()) {
            state.refill_due = true;
            self.pool.signal.wake();
            return true;
        }
        state.flush_jobs > 0
    }

    /// A round of the page cleaner.
    pub(super) fn tick(&self, state: &mut State, now_ns: u64) {
        if now_ns < state.cleaner_at_ns {
            return;
        }
        let pool = &self.pool;
        state.cleaner_at_ns = now_ns + pool.options.round_ns();
        pool.unzip_lru.lock().end_interval();
        let (lsn, flushed) = (pool.redo.lsn(), pool.counters.pages_flushed.load(Ordering::Relaxed));
        state.adaptive_flush.observe(&pool.options, now_ns, lsn, flushed - state.flushed_before);
        if lsn != state.lsn_before {
            state.grew_at_ns = now_ns;
        }
        let limits = &pool.redo.thresholds;
        let sight = Sight {
            dirty_pages: pool.flush_list.len() as u64,
            pool_pages: pool.pages_to_hold() as u64,
            age: self.age(),
            pages_before_target: self.pages_before_target(&state.adaptive_flush),
            idle: now_ns >= state.grew_at_ns + SECOND_NS,
            asks_for_most: limits.async_flush.is_some_and(|age| pool.redo.checkpoint_age() > age),
        };
        (state.flushed_before, state.lsn_before) = (flushed, lsn);
        let (lwm_of, dirty_age) = (limits.adaptive_flushing_of, limits.limit_for_dirty_page_age);
        let mut pages = state.adaptive_flush.pages(&pool.options, &sight, lwm_of, dirty_age);
        if self.hurries() {
            pages = pages.max(pool.options.innodb_io_capacity);
        }
        let due = pages as f64 / pool.options.rounds_per_second() + state.part_due;
        // What a slow device leaves over is due in the next round, but it does not pile up.
        let most = pages + JOB_PAGES;
        (state.pages_due, state.part_due) = ((state.pages_due + due as u64).min(most), due.fract());
        state.worth_a_burst = pages.min(JOB_PAGES);
        if pages == 0 {
            state.pages_due = 0;
        }
        // MariaDB's cleaner sleeps on while nothing is to be flushed, unless frames run short.
        state.refill_due |= pages > 0 || pool.options.is_mysql();
        state.refill_failed = false;
        state.purge_failed = false;
        state.purge_woken = true;
        self.note_merges(state, now_ns);
    }

    /// Flush jobs at a time: no more than can write, and one that has its pages ready.
    fn most_flush_jobs(&self) -> u64 {
        let options = &self.pool.options;
        let cleaners = options.innodb_page_cleaners;
        if options.innodb_doublewrite { cleaners.min(options.innodb_doublewrite_files + 1) } else { cleaners }
    }

    /// Whether fewer frames than these are free though the list has pages to spare.
    fn is_short_of(&self, frames: usize) -> bool {
        let lru = self.pool.lru.lock();
        lru.len() > self.pool.options.least_lru_len() && self.pool.frames_left(lru.free_len()) < frames
    }

    /// Pages that a pass which begins may write, and in MySQL look at.
    fn pages_of_a_pass(&self) -> usize {
        let options = &self.pool.options;
        if options.is_mysql() { options.scan_depth().min(self.pool.lru.lock().len()) } else { options.most_of_a_pass() }
    }

    /// Pages of those that are due, for a batch that has room for so many more.
    fn take_due(&self, most: usize) -> usize {
        let mut state = self.state.lock();
        let pages = state.pages_due.min(self.idle_dirty()).min(most as u64);
        state.pages_due -= pages;
        pages as usize
    }

    /// The next job of the cleaner, if it has enough to do.
    pub(super) fn next_flush(self: &Arc<Self>, state: &mut State) -> Option<FlushJob> {
        let options = &self.pool.options;
        let idle = self.idle_dirty();
        let settles = state.settling && !self.purges(state);
        // Whoever has a batch to write already need not ask.
        let hurries = state.pages_due < JOB_PAGES && options.innodb_flush_sync && self.hurries();
        if settles {
            state.pages_due = idle;
        } else if hurries {
            let pages = AdaptiveFlush::pages_in_a_hurry(options, self.pages_before_target(&state.adaptive_flush));
            state.pages_due = pages.max(JOB_PAGES);
        }
        state.pages_due = state.pages_due.min(idle);
        let begins = settles || hurries || state.pages_due >= state.worth_a_burst.min(idle);
        state.bursting = state.pages_due > 0 && (state.bursting || begins);
        let is_short = self.pool.short_of_frames.swap(false, Ordering::AcqRel);
        self.pool.wakes_cleaner.store(false, Ordering::Release);
        state.refill_due |= is_short || (!state.refill_failed && self.pool.needs_eviction(&self.pool.lru.lock()));
        if state.flush_jobs >= self.most_flush_jobs() {
            return None;
        }
        let begins = state.refill_due && state.pass_left.is_none() && !state.refill_runs;
        if begins {
            state.refill_due = false;
            state.pass_left = self.is_short_of(options.scan_depth()).then(|| self.pages_of_a_pass());
        }
        let pass =
            state.pass_left.filter(|_| !state.refill_runs).map(|left| Pass { begins, left, written: Vec::new() });
        let pages = if pass.is_none() && state.bursting { state.pages_due.min(JOB_PAGES) } else { 0 };
        if pass.is_none() && pages == 0 {
            return None;
        }
        state.pages_due -= pages;
        state.flush_jobs += 1;
        state.refill_runs |= pass.is_some();
        let slot = self.slot(Worker::PageCleaner { refill: pass.is_some() });
        Some(FlushJob { slot, pages: pages as usize, pass, lent: 0, batches: Vec::new() })
    }
}

/// A pass over the cold end of the pool, as far as it has come.
struct Pass {
    begins: bool,
    /// Pages that it may still write, and in MySQL look at.
    left: usize,
    /// Frames that the job wrote for it.
    written: Vec<u32>,
}

/// One batch: makes room at the cold end of the pool, and writes the oldest dirty pages.
pub struct FlushJob {
    slot: Slot,
    pages: usize,
    pass: Option<Pass>,
    /// Frames that stand in for those of the pass until they are written.
    lent: usize,
    batches: Vec<Arc<FlushBatch>>,
}

impl FlushJob {
    /// Goes on with the pass, by a batch of dirty pages at most.
    fn pass_cold_end(background: &Background, pass: &mut Pass, task: &mut Task) {
        let (pool, options) = (&background.pool, &background.pool.options);
        let limits = PassLimits {
            free: options.scan_depth(),
            least_len: options.least_lru_len(),
            dirty: pass.left.min(REGION_PAGES),
            pages: if options.is_mysql() { pass.left } else { usize::MAX },
        };
        let passed = pool.pass_cold_end(task, pass.begins, limits);
        let gone = passed.dirty.len() + if options.is_mysql() { passed.freed } else { 0 };
        pass.left -= gone.min(pass.left);
        let ends = passed.ends || pass.left == 0;
        let mut state = background.state.lock();
        state.pass_left = (!ends).then_some(pass.left);
        state.refill_failed = pass.begins && passed.freed == 0 && passed.dirty.is_empty();
        drop(state);
        pass.written = passed.dirty;
    }
}

impl Job for FlushJob {
    fn kind(&self) -> JobKind {
        JobKind::PageFlush
    }

    fn run(&mut self, task: &mut Task) -> Result<()> {
        let background = &self.slot.background;
        let pool = &background.pool;
        let mut frames = Vec::new();
        if let Some(pass) = &mut self.pass {
            Self::pass_cold_end(background, pass, task);
            frames.extend(&pass.written);
            self.lent = pool.lru.lock().lend(pass.written.len());
            self.pages = background.take_due(REGION_PAGES - frames.len());
        }
        let oldest = pool.flush_list.reserve_oldest(self.pages);
        self.pages = 0;
        frames.extend(&oldest.frames);
        pool.write_frames_into(&mut self.batches, task, &frames, true)
    }

    fn install(self: Box<Self>, task: &mut Task) -> Result<()> {
        let background = &self.slot.background;
        let pool = &background.pool;
        pool.complete_all(&self.batches);
        // In MariaDB the next pass finds them clean.
        if let Some(pass) = &self.pass
            && pool.options.is_mysql()
        {
            pool.free_written(task, &pass.written);
        }
        Ok(())
    }
}

/// However it ends, a job gives back what it was lent, and the pages that it was to write and did not, and counts those
/// that it has written as clean.
impl Drop for FlushJob {
    fn drop(&mut self) {
        let background = &self.slot.background;
        background.pool.complete_all(&self.batches);
        background.pool.lru.lock().take_back(self.lent);
        background.state.lock().pages_due += self.pages as u64;
    }
}

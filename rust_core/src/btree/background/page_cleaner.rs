//! The page cleaner: its rounds, sync flushing when the log is nearly full, how many pages its jobs write at a time,
//! and the refill of the free list.

use super::adaptive_flush::{AdaptiveFlush, Sight};
use super::state::{Background, JOB_PAGES, SECOND_NS, Slot, State, Worker};
use crate::btree::pool::FlushBatch;
use crate::error::Result;
use crate::task::{Job, JobKind, Task};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Assumption: pages that one flush job writes at least, when there is so much to do: a sync should serve several.
const FEWEST_JOB_PAGES: u64 = 8;
/// Assumption: a burst of the cleaners is at most this part of the pool, as it comes out of its cold end and its log.
const BURST_SHARE: u64 = 64;
/// Shorter LRU lists are not emptied for the free list (`BUF_LRU_MIN_LEN`), except in small pools.
const LRU_MIN_LEN: usize = 256;

impl Background {
    /// Whether pages that are to come in have to wait for a job that frees frames, which runs or may begin.
    pub fn has_to_supply_frames(&self) -> bool {
        if self.pool.has_frame_at_hand() {
            return false;
        }
        let mut state = self.state.lock();
        if !state.refill_runs && !state.refill_failed && self.frames_to_free() > 0 {
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
        let sight = Sight {
            dirty_pages: pool.flush_list.len() as u64,
            pool_pages: pool.pages_to_hold() as u64,
            age: self.age(),
            pages_before_target: self.pages_before_target(&state.adaptive_flush),
            idle: now_ns >= state.grew_at_ns + SECOND_NS,
        };
        (state.flushed_before, state.lsn_before) = (flushed, lsn);
        let limits = &pool.redo.thresholds;
        let (free_check, dirty_age) = (limits.limit_for_free_check, limits.limit_for_dirty_page_age);
        let mut pages = state.adaptive_flush.pages(&pool.options, &sight, free_check, dirty_age);
        if self.hurries() {
            pages = pages.max(pool.options.innodb_io_capacity);
        }
        let due = pages as f64 / pool.options.rounds_per_second() + state.part_due;
        // What a slow device leaves over is due in the next round, but it does not pile up.
        let most = pages + self.job_pages();
        (state.pages_due, state.part_due) = ((state.pages_due + due as u64).min(most), due.fract());
        state.worth_a_burst = pages.min(self.burst_pages());
        if pages == 0 {
            state.pages_due = 0;
        }
        (state.refill_due, state.refill_failed) = (true, false);
        self.note_merges(state, now_ns);
    }

    /// Frames that the cleaner keeps free: the scan depth of a round, but no more than a 16th of the pool.
    fn free_target(&self) -> usize {
        self.pool.options.scan_depth().min(self.pool.options.pool_pages() / 16)
    }

    fn job_pages(&self) -> u64 {
        // All jobs together may have a quarter of the pool in flight.
        let cleaners = self.pool.options.innodb_page_cleaners;
        (self.pool.frames() as u64 / 4 / cleaners).clamp(FEWEST_JOB_PAGES, JOB_PAGES)
    }

    /// Pages that the cleaners should have to write at a time. InnoDB's write what a second asks for as fast as they
    /// can, each a batch, and reads and commits wait behind that. Where the second is a few milliseconds it asks for a
    /// few pages, behind which nobody waits, so here several of them are written together.
    fn burst_pages(&self) -> u64 {
        let one = self.job_pages();
        (self.pool.frames() as u64 / BURST_SHARE).clamp(one, one * self.pool.options.innodb_page_cleaners)
    }

    /// Flush jobs at a time: no more than can write, and one that has its pages ready.
    fn most_flush_jobs(&self) -> u64 {
        let options = &self.pool.options;
        let cleaners = options.innodb_page_cleaners;
        if options.innodb_doublewrite { cleaners.min(options.innodb_doublewrite_files + 1) } else { cleaners }
    }

    fn frames_to_free(&self) -> usize {
        let lru = self.pool.lru.lock();
        let spare = lru.len().saturating_sub(LRU_MIN_LEN.min(self.pool.frames() / 2));
        self.free_target().saturating_sub(self.pool.frames_left(lru.free_len())).min(spare)
    }

    /// Frames that a refill frees, no more than a batch. In a round that is shorter than a second few are missing, but
    /// as a batch of InnoDB's this one should be full.
    fn frames_worth_a_refill(&self, is_short: bool) -> usize {
        let batch = self.pool.batch_pages();
        let most = self.frames_to_free().min(batch);
        if is_short || most >= batch.min(self.free_target() / 2) { most } else { 0 }
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
        // Whoever has a burst to write already need not ask.
        let hurries = state.pages_due < self.burst_pages() && options.innodb_flush_sync && self.hurries();
        if state.settling {
            state.pages_due = idle;
        } else if hurries && state.pages_due < self.job_pages() {
            let pages = AdaptiveFlush::pages_in_a_hurry(options, self.pages_before_target(&state.adaptive_flush));
            state.pages_due = pages.max(self.job_pages());
        }
        state.pages_due = state.pages_due.min(idle);
        let begins = state.settling || hurries || state.pages_due >= state.worth_a_burst.min(idle);
        state.bursting = state.pages_due > 0 && (state.bursting || begins);
        let is_short = self.pool.short_of_frames.swap(false, Ordering::AcqRel);
        state.refill_due |= is_short;
        if state.flush_jobs >= self.most_flush_jobs() {
            return None;
        }
        let refill = if state.refill_due && !state.refill_runs { self.frames_worth_a_refill(is_short) } else { 0 };
        state.refill_due &= state.refill_runs;
        let pages = if refill == 0 && state.bursting { state.pages_due.min(self.job_pages()) } else { 0 };
        if refill == 0 && (pages == 0 || self.pool.is_full_in_flight()) {
            return None;
        }
        state.pages_due -= pages;
        state.flush_jobs += 1;
        state.refill_runs |= refill > 0;
        let slot = self.slot(Worker::PageCleaner { refill: refill > 0 });
        Some(FlushJob { slot, pages: pages as usize, refill, freed: 0, batches: Vec::new() })
    }
}

/// Makes room at the cold end of the pool, and writes the oldest dirty pages.
pub struct FlushJob {
    slot: Slot,
    pages: usize,
    /// Frames to free.
    refill: usize,
    freed: usize,
    batches: Vec<Arc<FlushBatch>>,
}

impl Job for FlushJob {
    fn kind(&self) -> JobKind {
        JobKind::PageFlush
    }

    fn run(&mut self, task: &mut Task) -> Result<()> {
        let background = &self.slot.background;
        let pool = &background.pool;
        // In the order of the list: a clean page does not go because the colder ones behind it are dirty.
        self.freed = pool.free_clean_pages(task, self.refill);
        self.refill -= self.freed;
        let mut frames = pool.coldest_dirty(self.refill, self.refill);
        if self.slot.is_refill() {
            self.pages = background.take_due(pool.batch_pages().saturating_sub(frames.len()));
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
        // Batch by batch, until there are as many as there should be.
        if self.slot.is_refill() {
            let freed = self.freed + pool.free_clean_pages(task, self.refill);
            let mut state = background.state.lock();
            state.refill_due |= freed > 0;
            state.refill_failed = freed == 0;
        }
        Ok(())
    }
}

/// A job that is not installed gives back the pages that it was to write, and counts those that it has written as
/// clean.
impl Drop for FlushJob {
    fn drop(&mut self) {
        let background = &self.slot.background;
        background.pool.complete_all(&self.batches);
        background.state.lock().pages_due += self.pages as u64;
    }
}

//! What runs in the background and when: the page cleaner's rounds, sync flushing when the log is nearly full, the
//! refill of the free list, checkpoints, the log's second, read-ahead, merges of buffered changes, and settling.

use super::change_buffer::{ChangeBuffer, PAGES_AT_ONCE};
use super::flush::FlushBatch;
use super::pace::{Pace, Sight};
use super::pool::BufferPool;
use super::read_ahead::ReadAheadJob;
use super::space::Spaces;
use crate::error::Result;
use crate::metrics::Purpose;
use crate::task::{Job, JobKind, Task};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const SECOND_NS: u64 = 1_000_000_000;
/// Pages that one flush job writes at most: few enough that they soon count as clean.
const JOB_PAGES: u64 = 128;
/// Assumption: pages that one flush job writes at least, when there is so much to do: a sync should serve several.
const FEWEST_JOB_PAGES: u64 = 8;
/// Assumption: a burst of the cleaners is at most this part of the pool, as it comes out of its cold end and its log.
const BURST_SHARE: u64 = 64;
/// Shorter LRU lists are not emptied for the free list (`BUF_LRU_MIN_LEN`), except in small pools.
const LRU_MIN_LEN: usize = 256;

#[derive(Debug, Default)]
struct State {
    cleaner_at_ns: u64,
    log_at_ns: u64,
    checkpoint_at_ns: u64,
    /// Pages that the cleaner still has to hand out.
    pages_due: u64,
    /// Part of a page that earlier rounds left over.
    part_due: f64,
    /// Pages due from which jobs begin: short rounds bring a few pages each, but a sync should serve many.
    worth_a_burst: u64,
    /// Jobs take pages until none are due.
    bursting: bool,
    /// The free list is to be refilled.
    refill_due: bool,
    flush_jobs: u64,
    refill_runs: bool,
    /// The last refill found no frame that it could free: all were in use, or being written.
    refill_failed: bool,
    log_runs: bool,
    checkpoint_runs: bool,
    read_ahead_runs: bool,
    merge_runs: bool,
    /// Pages that the master thread still has to merge buffered changes into.
    merges_due: f64,
    /// Batches that had been written when that was last looked at, and when there were fewer.
    batches_before: u64,
    wrote_at_ns: u64,
    settling: bool,
    pace: Pace,
    flushed_before: u64,
    lsn_before: u64,
    /// When the log was last seen to have grown.
    grew_at_ns: u64,
}

/// The state of background work.
pub struct Background {
    pool: Arc<BufferPool>,
    spaces: Arc<Mutex<Spaces>>,
    changes: Arc<ChangeBuffer>,
    state: Mutex<State>,
    /// A writer was told to wait for room in the log since the last checkpoint.
    writer_waits: AtomicBool,
}

#[derive(Debug, Clone, Copy)]
enum Running {
    Flush { refill: bool },
    Log,
    Checkpoint,
    ReadAhead,
    Merge,
}

/// Counts a job as running until it is dropped, installed or not.
struct Slot {
    background: Arc<Background>,
    running: Running,
}

impl Slot {
    fn is_refill(&self) -> bool {
        matches!(self.running, Running::Flush { refill: true })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.background.state.lock();
        match self.running {
            Running::Flush { refill } => {
                state.flush_jobs -= 1;
                if refill {
                    state.refill_runs = false;
                } else {
                    state.refill_failed = false;
                }
            }
            Running::Log => state.log_runs = false,
            Running::Checkpoint => state.checkpoint_runs = false,
            Running::ReadAhead => state.read_ahead_runs = false,
            Running::Merge => state.merge_runs = false,
        }
    }
}

impl Background {
    pub fn new(pool: Arc<BufferPool>, spaces: Arc<Mutex<Spaces>>, changes: Arc<ChangeBuffer>, now_ns: u64) -> Self {
        let next = now_ns + SECOND_NS;
        let state = State {
            cleaner_at_ns: now_ns + pool.options.round_ns(),
            log_at_ns: next,
            checkpoint_at_ns: next,
            lsn_before: pool.redo.lsn(),
            grew_at_ns: now_ns,
            wrote_at_ns: now_ns,
            ..State::default()
        };
        Self { pool, spaces, changes, state: Mutex::new(state), writer_waits: AtomicBool::new(false) }
    }

    /// The next job that is due.
    pub fn next_job(self: &Arc<Self>, now_ns: u64) -> Option<Box<dyn Job>> {
        if self.pool.poison.check().is_err() {
            return None;
        }
        let mut state = self.state.lock();
        self.tick(&mut state, now_ns);
        if self.checkpoint_is_due(&state, now_ns) {
            state.checkpoint_runs = true;
            state.checkpoint_at_ns = now_ns + SECOND_NS;
            return Some(Box::new(CheckpointJob { slot: self.slot(Running::Checkpoint) }));
        }
        if self.log_is_due(&mut state, now_ns) {
            state.log_runs = true;
            return Some(Box::new(LogJob { slot: self.slot(Running::Log) }));
        }
        if let Some(job) = self.next_flush(&mut state) {
            return Some(Box::new(job));
        }
        if !state.read_ahead_runs
            && let Some(extent) = self.pool.next_wanted_extent(&self.spaces)
        {
            state.read_ahead_runs = true;
            let job = ReadAheadJob::new(self.pool.clone(), extent);
            return Some(Box::new(WithSlot { slot: self.slot(Running::ReadAhead), job: Box::new(job) }));
        }
        self.next_merge(&mut state).map(|job| Box::new(job) as Box<dyn Job>)
    }

    fn slot(self: &Arc<Self>, running: Running) -> Slot {
        Slot { background: self.clone(), running }
    }

    /// When something is due by time alone.
    pub fn next_timer(&self) -> u64 {
        let state = self.state.lock();
        if self.pool.options.innodb_flush_log_at_trx_commit == 1 {
            state.cleaner_at_ns
        } else {
            state.cleaner_at_ns.min(state.log_at_ns)
        }
    }

    /// A writer waits for room in the log: flushing and a checkpoint do not wait for their second.
    pub fn note_waiting_writer(&self) {
        self.writer_waits.store(true, Ordering::Release);
        self.pool.signal.wake();
    }

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

    fn hurries(&self) -> bool {
        self.writer_waits.load(Ordering::Acquire) || self.age() >= self.pool.redo.thresholds.cleaner_hurries()
    }

    /// Everything dirty is to be written.
    pub fn begin_settle(&self) {
        self.state.lock().settling = true;
    }

    /// Whether nothing is ready or running.
    pub fn is_settled(&self) -> bool {
        let mut state = self.state.lock();
        if state.settling && self.idle_dirty() == 0 && state.flush_jobs == 0 && !self.checkpoint_lags() {
            state.settling = false;
        }
        let flushes = state.flush_jobs > 0 || state.log_runs || state.checkpoint_runs;
        let runs = flushes || state.read_ahead_runs || state.merge_runs;
        !state.settling && !runs && state.pages_due.min(self.idle_dirty()) == 0
    }

    fn idle_dirty(&self) -> u64 {
        self.pool.dirty.len().saturating_sub(self.pool.dirty.writing()) as u64
    }

    fn checkpoint_lags(&self) -> bool {
        self.pool.checkpoint_target() > self.pool.redo.checkpoint_lsn()
    }

    /// Redo bytes since the oldest change that is not in the page file.
    fn age(&self) -> u64 {
        let lsn = self.pool.redo.lsn();
        lsn - self.pool.dirty.oldest().unwrap_or(lsn).min(lsn)
    }

    fn pages_before_target(&self, pace: &Pace) -> u64 {
        let Some(oldest) = self.pool.dirty.oldest() else { return 0 };
        let most = 2 * 3 * self.pool.options.innodb_io_capacity_max;
        self.pool.dirty.count_before(pace.target_lsn(oldest) + 1, most.min(u64::from(u32::MAX)) as usize) as u64
    }

    /// A round of the page cleaner.
    fn tick(&self, state: &mut State, now_ns: u64) {
        if now_ns < state.cleaner_at_ns {
            return;
        }
        let pool = &self.pool;
        state.cleaner_at_ns = now_ns + pool.options.round_ns();
        pool.unzipped.lock().end_interval();
        let (lsn, flushed) = (pool.redo.lsn(), pool.counters.pages_flushed.load(Ordering::Relaxed));
        state.pace.observe(&pool.options, now_ns, lsn, flushed - state.flushed_before);
        if lsn != state.lsn_before {
            state.grew_at_ns = now_ns;
        }
        let sight = Sight {
            dirty_pages: pool.dirty.len() as u64,
            pool_pages: pool.pages_to_hold() as u64,
            age: self.age(),
            pages_before_target: self.pages_before_target(&state.pace),
            idle: now_ns >= state.grew_at_ns + SECOND_NS,
        };
        (state.flushed_before, state.lsn_before) = (flushed, lsn);
        let limits = &pool.redo.thresholds;
        let (free_check, dirty_age) = (limits.limit_for_free_check, limits.limit_for_dirty_page_age);
        let mut pages = state.pace.pages(&pool.options, &sight, free_check, dirty_age);
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

    /// Buffered changes that the master thread merges until the next round.
    fn note_merges(&self, state: &mut State, now_ns: u64) {
        if self.changes.is_empty() {
            state.merges_due = 0.0;
            return;
        }
        let batches = self.changes.batches.load(Ordering::Relaxed);
        if batches != state.batches_before {
            (state.batches_before, state.wrote_at_ns) = (batches, now_ns);
        }
        let options = &self.pool.options;
        let rate = self.changes.merge_rate(options.innodb_io_capacity, now_ns >= state.wrote_at_ns + SECOND_NS);
        let due = rate / options.rounds_per_second();
        // Like the pages of the cleaner, they do not pile up.
        state.merges_due = (state.merges_due + due).min(due + JOB_PAGES as f64);
    }

    fn next_merge(self: &Arc<Self>, state: &mut State) -> Option<MergeJob> {
        if state.merge_runs || state.merges_due < 1.0 {
            return None;
        }
        let pages = self.changes.next_pages((state.merges_due as usize).min(PAGES_AT_ONCE));
        if pages.is_empty() {
            return None;
        }
        state.merges_due -= pages.len() as f64;
        state.merge_runs = true;
        Some(MergeJob { slot: self.slot(Running::Merge), pages })
    }

    fn checkpoint_is_due(&self, state: &State, now_ns: u64) -> bool {
        if state.checkpoint_runs {
            return false;
        }
        let redo = &self.pool.redo;
        let (target, limits) = (self.pool.checkpoint_target(), &redo.thresholds);
        let gain = target.saturating_sub(redo.checkpoint_lsn());
        let pressed = redo.checkpoint_age() >= limits.limit_for_dirty_page_age;
        let worth = gain >= limits.soft / 64 || (gain > 0 && target == redo.lsn());
        let asked = self.writer_waits.load(Ordering::Acquire) || (state.settling && self.pool.dirty.len() == 0);
        gain > 0 && (now_ns >= state.checkpoint_at_ns || asked || (pressed && worth))
    }

    fn log_is_due(&self, state: &mut State, now_ns: u64) -> bool {
        if self.pool.options.innodb_flush_log_at_trx_commit == 1 || now_ns < state.log_at_ns {
            return false;
        }
        state.log_at_ns = now_ns + SECOND_NS;
        !state.log_runs && self.pool.redo.durable_lsn() < self.pool.redo.lsn()
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

    /// Pages that the cleaners should have to write at a time. InnoDB's write what a second asks for as fast as they can,
    /// each a batch, and reads and commits wait behind that. Where the second is a few milliseconds it asks for a few
    /// pages, behind which nobody waits, so here several of them are written together.
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

    /// Frames that a refill frees, no more than a batch. In a round that is shorter than a second few are missing, but as a
    /// batch of InnoDB's this one should be full.
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

    fn next_flush(self: &Arc<Self>, state: &mut State) -> Option<FlushJob> {
        let options = &self.pool.options;
        let idle = self.idle_dirty();
        // Whoever has a burst to write already need not ask.
        let hurries = state.pages_due < self.burst_pages() && options.innodb_flush_sync && self.hurries();
        if state.settling {
            state.pages_due = idle;
        } else if hurries && state.pages_due < self.job_pages() {
            let pages = Pace::pages_in_a_hurry(options, self.pages_before_target(&state.pace));
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
        let slot = self.slot(Running::Flush { refill: refill > 0 });
        Some(FlushJob { slot, pages: pages as usize, refill, freed: 0, batches: Vec::new() })
    }
}

/// Makes room at the cold end of the pool, and writes the oldest dirty pages.
struct FlushJob {
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
        let oldest = pool.dirty.reserve_oldest(self.pages);
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

/// A job that is not installed gives back the pages that it was to write, and counts those that it has written as clean.
impl Drop for FlushJob {
    fn drop(&mut self) {
        let background = &self.slot.background;
        background.pool.complete_all(&self.batches);
        background.state.lock().pages_due += self.pages as u64;
    }
}

/// Brings pages in, and with it buffered changes to them.
struct MergeJob {
    slot: Slot,
    pages: Vec<u32>,
}

impl Job for MergeJob {
    fn kind(&self) -> JobKind {
        JobKind::PageFlush
    }

    fn run(&mut self, task: &mut Task) -> Result<()> {
        let pool = &self.slot.background.pool;
        self.pages.iter().try_for_each(|page_no| pool.load(task, *page_no, Purpose::ReadAhead))
    }

    fn install(self: Box<Self>, _task: &mut Task) -> Result<()> {
        Ok(())
    }
}

/// Moves the checkpoint forward.
struct CheckpointJob {
    slot: Slot,
}

impl Job for CheckpointJob {
    fn kind(&self) -> JobKind {
        JobKind::LogSync
    }

    fn run(&mut self, task: &mut Task) -> Result<()> {
        let pool = &self.slot.background.pool;
        pool.write_checkpoint(task)
    }

    fn install(self: Box<Self>, _task: &mut Task) -> Result<()> {
        self.slot.background.pool.redo.adopt_checkpoint();
        self.slot.background.writer_waits.store(false, Ordering::Release);
        Ok(())
    }
}

/// Writes and syncs the log once a second, for the settings of `innodb_flush_log_at_trx_commit` that wait for it.
struct LogJob {
    slot: Slot,
}

impl Job for LogJob {
    fn kind(&self) -> JobKind {
        JobKind::LogSync
    }

    fn run(&mut self, task: &mut Task) -> Result<()> {
        let redo = &self.slot.background.pool.redo;
        redo.ensure_durable(task, redo.lsn())
    }

    fn install(self: Box<Self>, _task: &mut Task) -> Result<()> {
        Ok(())
    }
}

/// A job that keeps its slot until it is installed.
struct WithSlot {
    slot: Slot,
    job: Box<dyn Job>,
}

impl Job for WithSlot {
    fn kind(&self) -> JobKind {
        self.job.kind()
    }

    fn run(&mut self, task: &mut Task) -> Result<()> {
        self.job.run(task)
    }

    fn install(self: Box<Self>, task: &mut Task) -> Result<()> {
        let Self { slot, job } = *self;
        let installed = job.install(task);
        drop(slot);
        installed
    }
}

//! The state of background work: when what is due, and which jobs run.

use super::adaptive_flush::AdaptiveFlush;
use super::purge_batch::Batch;
use crate::btree::options::REGION_PAGES;
use crate::btree::pool::BufferPool;
use crate::btree::tree::Forest;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A second of the clock: what InnoDB does once in one, however long a round of the cleaner is.
pub const SECOND_NS: u64 = 1_000_000_000;
/// Pages that one flush job writes at most: a doublewrite batch.
pub const JOB_PAGES: u64 = REGION_PAGES as u64;

/// When what is due, what of it runs, and what earlier rounds have seen.
#[derive(Debug, Default)]
pub struct State {
    pub(super) cleaner_at_ns: u64,
    pub(super) log_at_ns: u64,
    pub(super) checkpoint_at_ns: u64,
    /// Pages that the cleaner still has to hand out.
    pub(super) pages_due: u64,
    /// Part of a page that earlier rounds left over.
    pub(super) part_due: f64,
    /// Pages due from which jobs begin: short rounds bring a few pages each, but a sync should serve many.
    pub(super) worth_a_burst: u64,
    /// Jobs take pages until none are due.
    pub(super) bursting: bool,
    /// The free list is to be refilled.
    pub(super) refill_due: bool,
    pub(super) flush_jobs: u64,
    pub(super) refill_runs: bool,
    /// What a pass over the cold end that has begun may still write; none if none has.
    pub(super) pass_left: Option<usize>,
    /// The last refill found no frame that it could free: all were in use, or being written.
    pub(super) refill_failed: bool,
    pub(super) log_runs: bool,
    pub(super) checkpoint_runs: bool,
    pub(super) read_ahead_runs: bool,
    pub(super) merge_runs: bool,
    /// Pages that the master thread still has to merge buffered changes into.
    pub(super) merges_due: f64,
    /// Batches that had been written when that was last looked at, and when there were fewer.
    pub(super) batches_before: u64,
    pub(super) wrote_at_ns: u64,
    pub(super) purge: Batch,
    /// MariaDB's coordinator is awake: until it finds nothing to purge.
    pub(super) purge_woken: bool,
    /// The log had no room for purge since the last round.
    pub(super) purge_failed: bool,
    pub(super) settling: bool,
    pub(super) adaptive_flush: AdaptiveFlush,
    pub(super) flushed_before: u64,
    pub(super) lsn_before: u64,
    /// When the log was last seen to have grown.
    pub(super) grew_at_ns: u64,
}

/// Background work: its state, and what it works on.
pub struct Background {
    pub(super) pool: Arc<BufferPool>,
    pub(super) forest: Arc<Forest>,
    pub(super) state: Mutex<State>,
    /// A writer was told to wait for room in the log since the last checkpoint.
    pub(super) writer_waits: AtomicBool,
}

/// Whose job it is, by InnoDB's threads.
#[derive(Debug, Clone, Copy)]
pub enum Worker {
    /// Writes pages; with `refill`, those of a pass over the cold end first.
    PageCleaner {
        refill: bool,
    },
    LogFlusher,
    LogCheckpointer,
    ReadAhead,
    IbufMerge,
    /// Goes on with a batch, or takes logs off the history list.
    Purge {
        truncates: bool,
    },
}

/// Counts a job as running until it is dropped, installed or not.
pub struct Slot {
    pub(super) background: Arc<Background>,
    worker: Worker,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.background.state.lock();
        match self.worker {
            Worker::PageCleaner { refill } => {
                state.flush_jobs -= 1;
                if refill {
                    state.refill_runs = false;
                } else {
                    state.refill_failed = false;
                }
            }
            Worker::LogFlusher => state.log_runs = false,
            Worker::LogCheckpointer => state.checkpoint_runs = false,
            Worker::ReadAhead => state.read_ahead_runs = false,
            Worker::IbufMerge => state.merge_runs = false,
            Worker::Purge { truncates } => state.purge.end(truncates),
        }
    }
}

impl Background {
    /// Nothing runs, and the first rounds are due a round from now.
    pub fn new(forest: Arc<Forest>, now_ns: u64) -> Self {
        let pool = forest.store.pool.clone();
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
        Self { pool, forest, state: Mutex::new(state), writer_waits: AtomicBool::new(false) }
    }

    /// Counts a job as one that runs.
    pub(super) fn slot(self: &Arc<Self>, worker: Worker) -> Slot {
        Slot { background: self.clone(), worker }
    }

    /// Whether the log is so full that the cleaner leaves its pace.
    pub(super) fn hurries(&self) -> bool {
        self.writer_waits.load(Ordering::Acquire) || self.age() >= self.pool.redo.thresholds.cleaner_hurries()
    }

    /// Dirty pages that are not on their way to storage.
    pub(super) fn idle_dirty(&self) -> u64 {
        self.pool.flush_list.len().saturating_sub(self.pool.flush_list.writing()) as u64
    }

    /// Redo bytes since the oldest change that is not in the page file.
    pub(super) fn age(&self) -> u64 {
        let lsn = self.pool.redo.lsn();
        lsn - self.pool.flush_list.oldest().unwrap_or(lsn).min(lsn)
    }

    /// Dirty pages that are due by their age.
    pub(super) fn pages_before_target(&self, adaptive_flush: &AdaptiveFlush) -> u64 {
        let Some(oldest) = self.pool.flush_list.oldest() else { return 0 };
        let most = 2 * 3 * self.pool.options.innodb_io_capacity_max;
        self.pool.flush_list.count_before(adaptive_flush.target_lsn(oldest) + 1, most.min(u64::from(u32::MAX)) as usize)
            as u64
    }
}

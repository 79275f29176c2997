//! Purge: jobs that go through the undo logs which nobody needs any more, the oldest first.

use super::state::{Background, Slot, State, Worker};
use crate::btree::tree::LogAt;
use crate::error::Result;
use crate::task::{Job, JobKind, Task};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// `innodb_purge_threads`.
pub const PURGE_THREADS: usize = 4;
/// A job ends behind the log with which it has brought in so many pages, so that purge takes its frames as others do,
const JOB_PAGES: u64 = 8;
/// or gone through so many records.
const JOB_RECORDS: usize = 256;

impl Background {
    fn is_log_full(&self) -> bool {
        let redo = &self.pool.redo;
        redo.checkpoint_age() >= redo.thresholds.limit_for_free_check
    }

    /// Whether there is something to purge, and purge has not given up until the next round.
    fn can_purge(&self, state: &State) -> bool {
        !state.purge_failed && self.forest.undo.trx_sys.has_purgeable()
    }

    /// Whether purge is about to dirty pages, so that there is no end of writing them yet.
    pub(super) fn purges(&self, state: &State) -> bool {
        state.purge_jobs > 0 || (self.can_purge(state) && !self.is_log_full())
    }

    /// The next undo logs to purge. It waits for frames and for room in the redo log as clients do
    /// (`buf_LRU_get_free_block`, `log_free_check`).
    pub(super) fn next_purge(self: &Arc<Self>, state: &mut State) -> Option<PurgeJob> {
        if !self.can_purge(state) || state.purge_jobs >= self.forest.undo.tables().clamp(1, PURGE_THREADS) {
            return None;
        }
        if state.flush_jobs > 0 && !self.pool.has_frame_at_hand() {
            return None;
        }
        if self.is_log_full() {
            self.writer_waits.store(true, Ordering::Release);
            return None;
        }
        state.purge_jobs += 1;
        Some(PurgeJob { slot: self.slot(Worker::Purge), log: None })
    }
}

/// Purges some undo logs.
pub struct PurgeJob {
    slot: Slot,
    /// The one that it is in the middle of.
    log: Option<LogAt>,
}

impl Job for PurgeJob {
    fn kind(&self) -> JobKind {
        JobKind::PageFlush
    }

    fn run(&mut self, task: &mut Task) -> Result<()> {
        let background = &self.slot.background;
        let misses = || background.pool.counters.misses.load(Ordering::Relaxed);
        let (before, mut records) = (misses(), 0);
        while records < JOB_RECORDS && misses() < before + JOB_PAGES {
            self.log = background.forest.undo.trx_sys.take_purgeable();
            let Some(log) = self.log else { break };
            let Some(purged) = background.forest.purge(task, log)? else {
                background.state.lock().purge_failed = true;
                break;
            };
            self.log = None;
            records += purged;
        }
        Ok(())
    }

    fn install(self: Box<Self>, _task: &mut Task) -> Result<()> {
        Ok(())
    }
}

/// A log that the job is not through with is to be purged again: what is done of it stays done.
impl Drop for PurgeJob {
    fn drop(&mut self) {
        if let Some(log) = self.log {
            self.slot.background.forest.undo.trx_sys.put_back(log);
        }
    }
}

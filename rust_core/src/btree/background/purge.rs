//! Purge: jobs that go through the undo logs which nobody needs any more, the oldest first and in batches, as InnoDB's
//! threads do (`trx_purge`). A coordinator reads the undo pages of a batch (`trx_purge_attach_undo_recs`), workers go
//! through their records, and when all have, the logs are taken off the history list (`trx_purge_truncate_history`),
//! while the next batch begins. So a log that came first waits for the last of its batch, and pages that were in the
//! pool when its transaction wrote them may have left it.

use super::purge_batch::Batch;
use super::state::{Background, Slot, State, Worker};
use crate::btree::tree::{LogAt, ReadLog};
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

    /// Whether there is something to purge, or what is purged is still on the history list.
    pub(super) fn has_to_purge(&self, state: &State) -> bool {
        !state.purge.is_idle() || self.forest.undo.trx_sys.has_purgeable()
    }

    /// Whether purge is about to dirty pages, so that there is no end of writing them yet.
    pub(super) fn purges(&self, state: &State) -> bool {
        state.purge.runs() || (self.has_to_purge(state) && !state.purge_failed && !self.is_log_full())
    }

    /// The next job of purge. It waits for frames and for room in the redo log as clients do (`buf_LRU_get_free_block`,
    /// `log_free_check`).
    pub(super) fn next_purge(self: &Arc<Self>, state: &mut State) -> Option<PurgeJob> {
        if state.purge_failed || (state.flush_jobs > 0 && !self.pool.has_frame_at_hand()) {
            return None;
        }
        let sleeps = !self.pool.options.is_mysql() && !state.purge_woken && !state.settling;
        let part = self.next_part(&mut state.purge, sleeps);
        state.purge_woken &= part.is_some() || state.purge.runs();
        let part = part?;
        if self.is_log_full() {
            self.writer_waits.store(true, Ordering::Release);
            return None;
        }
        match part {
            Part::Truncate => state.purge.truncates = true,
            Part::Read | Part::Records => state.purge.jobs += 1,
        }
        let slot = self.slot(Worker::Purge { truncates: part == Part::Truncate });
        Some(PurgeJob { slot, part, held: None })
    }

    /// What a job that begins now does; no other batch begins while the coordinator `sleeps`.
    fn next_part(&self, batch: &mut Batch, sleeps: bool) -> Option<Part> {
        if batch.is_over() {
            batch.leaving.extend(batch.done.drain(..));
            if !sleeps {
                batch.unread = self.forest.undo.trx_sys.take_purgeable(self.pool.options.purge_batch());
            }
        }
        let workers = self.forest.undo.tables().clamp(1, PURGE_THREADS);
        if !batch.unread.is_empty() {
            // The coordinator is one thread, and workers begin when it is through.
            if batch.jobs == 0 {
                return Some(Part::Read);
            }
        } else if !batch.read.is_empty() && batch.jobs < workers {
            return Some(Part::Records);
        }
        (!batch.leaving.is_empty() && !batch.truncates).then_some(Part::Truncate)
    }
}

/// What a job does with its logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Read,
    Records,
    Truncate,
}

/// A log that a job is in the middle of: what is done of it stays done, and all of it is done again.
#[derive(Debug)]
enum Held {
    Unread(LogAt),
    Read(ReadLog),
    Leaving(LogAt),
}

/// Takes some undo logs a part further.
pub struct PurgeJob {
    slot: Slot,
    part: Part,
    held: Option<Held>,
}

impl PurgeJob {
    /// Takes the next log.
    fn take(&mut self) -> bool {
        let batch = &mut self.slot.background.state.lock().purge;
        self.held = match self.part {
            Part::Read => batch.unread.pop_front().map(Held::Unread),
            Part::Records => batch.read.pop_front().map(Held::Read),
            Part::Truncate => batch.leaving.pop_front().map(Held::Leaving),
        };
        self.held.is_some()
    }

    /// Takes the log that is held a part further, and returns how many records that were; none if the redo log has no
    /// room, and it is to be done again.
    fn advance(&mut self, task: &mut Task) -> Result<Option<usize>> {
        let background = &self.slot.background;
        let forest = &background.forest;
        let (read, done, records) = match &self.held {
            None => return Ok(None),
            Some(Held::Unread(log)) => (Some(forest.read_undo_log(task, *log)?), None, Some(1)),
            Some(Held::Read(log)) => (None, Some(log.at), forest.purge_records(task, log)?),
            Some(Held::Leaving(log)) => (None, None, forest.take_off_history(task, *log)?.then_some(1)),
        };
        if records.is_some() {
            let batch = &mut background.state.lock().purge;
            batch.read.extend(read);
            batch.done.extend(done);
            self.held = None;
        }
        Ok(records)
    }
}

impl Job for PurgeJob {
    fn kind(&self) -> JobKind {
        JobKind::PageFlush
    }

    fn run(&mut self, task: &mut Task) -> Result<()> {
        let background = self.slot.background.clone();
        let misses = || background.pool.counters.misses.load(Ordering::Relaxed);
        let (before, mut records) = (misses(), 0);
        while records < JOB_RECORDS && misses() < before + JOB_PAGES && self.take() {
            let Some(more) = self.advance(task)? else {
                background.state.lock().purge_failed = true;
                break;
            };
            records += more;
        }
        Ok(())
    }

    fn install(self: Box<Self>, _task: &mut Task) -> Result<()> {
        Ok(())
    }
}

impl Drop for PurgeJob {
    fn drop(&mut self) {
        let batch = &mut self.slot.background.state.lock().purge;
        match self.held.take() {
            None => {}
            Some(Held::Unread(log)) => batch.unread.push_front(log),
            Some(Held::Read(log)) => batch.read.push_front(log),
            Some(Held::Leaving(log)) => batch.leaving.push_front(log),
        }
    }
}

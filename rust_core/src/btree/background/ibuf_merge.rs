//! Merges of buffered changes that no client waits for, as InnoDB's master thread makes them.

use super::state::{Background, JOB_PAGES, SECOND_NS, Slot, State, Worker};
use crate::btree::tree::PAGES_AT_ONCE;
use crate::error::Result;
use crate::metrics::Purpose;
use crate::task::{Job, JobKind, Task};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Background {
    /// Buffered changes that the master thread merges until the next round.
    pub(super) fn note_merges(&self, state: &mut State, now_ns: u64) {
        if self.forest.store.changes.is_empty() {
            state.merges_due = 0.0;
            return;
        }
        let batches = self.forest.store.changes.batches.load(Ordering::Relaxed);
        if batches != state.batches_before {
            (state.batches_before, state.wrote_at_ns) = (batches, now_ns);
        }
        let options = &self.pool.options;
        let rate =
            self.forest.store.changes.merge_rate(options.innodb_io_capacity, now_ns >= state.wrote_at_ns + SECOND_NS);
        let due = rate / options.rounds_per_second();
        // Like the pages of the cleaner, they do not pile up.
        state.merges_due = (state.merges_due + due).min(due + JOB_PAGES as f64);
    }

    /// The next pages to merge, if some are due.
    pub(super) fn next_merge(self: &Arc<Self>, state: &mut State) -> Option<MergeJob> {
        if state.merge_runs || state.merges_due < 1.0 {
            return None;
        }
        let pages = self.forest.store.changes.next_pages((state.merges_due as usize).min(PAGES_AT_ONCE));
        if pages.is_empty() {
            return None;
        }
        state.merges_due -= pages.len() as f64;
        state.merge_runs = true;
        Some(MergeJob { slot: self.slot(Worker::IbufMerge), pages })
    }
}

/// Brings pages in, and with it buffered changes to them.
pub struct MergeJob {
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

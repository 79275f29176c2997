//! The jobs of the log: checkpoints, and the log's second.

use super::state::{Background, SECOND_NS, Slot, State};
use crate::error::Result;
use crate::task::{Job, JobKind, Task};
use std::sync::atomic::Ordering;

impl Background {
    /// Whether a checkpoint could go further than the last one.
    pub(super) fn checkpoint_lags(&self) -> bool {
        self.pool.checkpoint_target() > self.pool.redo.checkpoint_lsn()
    }

    /// Whether a checkpoint is to be written: for its second, for a writer that waits, or for the age of the log.
    pub(super) fn checkpoint_is_due(&self, state: &State, now_ns: u64) -> bool {
        if state.checkpoint_runs {
            return false;
        }
        let redo = &self.pool.redo;
        let (target, limits) = (self.pool.checkpoint_target(), &redo.thresholds);
        let gain = target.saturating_sub(redo.checkpoint_lsn());
        let pressed = redo.checkpoint_age() >= limits.limit_for_dirty_page_age;
        let worth = gain >= limits.soft / 64 || (gain > 0 && target == redo.lsn());
        let asked = self.writer_waits.load(Ordering::Acquire) || (state.settling && self.pool.flush_list.len() == 0);
        gain > 0 && (now_ns >= state.checkpoint_at_ns || asked || (pressed && worth))
    }

    /// Whether the log's second has passed, and it has something that is not durable: commits that do not wait for it,
    /// or purge, for which nobody waits (`srv_sync_log_buffer_in_background`).
    pub(super) fn log_is_due(&self, state: &mut State, now_ns: u64) -> bool {
        if now_ns < state.log_at_ns {
            return false;
        }
        state.log_at_ns = now_ns + SECOND_NS;
        !state.log_runs && self.pool.redo.durable_lsn() < self.pool.redo.lsn()
    }
}

/// Moves the checkpoint forward.
pub struct CheckpointJob {
    pub(super) slot: Slot,
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

/// Writes and syncs the log once a second.
pub struct LogJob {
    pub(super) slot: Slot,
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

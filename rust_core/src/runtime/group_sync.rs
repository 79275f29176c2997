//! Group commit: tasks that need a log position durable share the syncs of the log.

use super::Task;
use crate::error::Result;
use parking_lot::Mutex;

#[derive(Debug, Default)]
struct State {
    durable: u64,
    /// Virtual clock: when the sync that is under way ends.
    ends_ns: u64,
    /// Virtual clock: when the next sync, which is not yet started, will be done; 0 when none is planned.
    next_ends_ns: u64,
}

/// Shares log syncs. A follower whose position was covered by another task's sync does not sync again.
#[derive(Debug, Default)]
pub struct GroupSync {
    state: Mutex<State>,
}

impl GroupSync {
    /// Makes the log durable up to `position`. `written` tells how far the log is written when a sync begins; `sync`
    /// performs one.
    pub fn sync_to(
        &self,
        task: &mut Task,
        position: u64,
        written: impl FnOnce() -> u64,
        sync: impl FnOnce(&mut Task) -> Result<()>,
    ) -> Result<()> {
        let mut state = self.state.lock();
        if task.is_simulated() {
            return Self::sync_simulated(&mut state, task, written, sync);
        }
        if state.durable >= position {
            return Ok(());
        }
        let covers = written();
        sync(task)?;
        state.durable = state.durable.max(covers);
        Ok(())
    }

    /// A task joins the next sync if that has not begun by its time; else it plans one behind the sync under way.
    fn sync_simulated(
        state: &mut State,
        task: &mut Task,
        written: impl FnOnce() -> u64,
        sync: impl FnOnce(&mut Task) -> Result<()>,
    ) -> Result<()> {
        task.settle();
        if state.next_ends_ns != 0 && task.now_ns <= state.ends_ns {
            task.now_ns = state.next_ends_ns;
            return Ok(());
        }
        if state.next_ends_ns != 0 {
            state.ends_ns = std::mem::take(&mut state.next_ends_ns);
            if task.now_ns < state.ends_ns {
                return Self::sync_simulated(state, task, written, sync);
            }
        }
        let covers = written();
        let queued = task.now_ns < state.ends_ns;
        task.now_ns = task.now_ns.max(state.ends_ns);
        sync(task)?;
        if queued {
            state.next_ends_ns = task.now_ns;
        } else {
            state.ends_ns = task.now_ns;
        }
        state.durable = state.durable.max(covers);
        Ok(())
    }

    /// The log position known to be durable.
    pub fn durable(&self) -> u64 {
        self.state.lock().durable
    }

    /// Notes that the log is durable up to `position` by other means (a new log file, a checkpoint).
    pub fn advance(&self, position: u64) {
        let mut state = self.state.lock();
        state.durable = state.durable.max(position);
    }
}

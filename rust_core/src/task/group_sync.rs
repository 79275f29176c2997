//! Group commit: tasks that need a log position durable share the syncs of the log.

use super::queues::MEMORY_NS;
use super::task::Task;
use crate::error::Result;
use parking_lot::Mutex;
use std::collections::VecDeque;

#[derive(Debug, Default)]
struct State {
    durable: u64,
    /// Virtual clock: begin and end of the syncs, in order. What an operation does at its end executes whole, so some
    /// lie ahead of the task that asks.
    syncs: VecDeque<(u64, u64)>,
}

/// Shares log syncs. A follower whose position was covered by another task's sync does not sync again.
#[derive(Debug, Default)]
pub struct GroupSync {
    state: Mutex<State>,
}

impl GroupSync {
    /// Makes the log durable up to `position`. `sync` performs a sync and tells how far the log is durable then.
    pub fn sync_to(&self, task: &mut Task, position: u64, sync: impl FnOnce(&mut Task) -> Result<u64>) -> Result<()> {
        let mut state = self.state.lock();
        if task.is_simulated() {
            return Self::sync_simulated(&mut state, task, position, sync);
        }
        if state.durable >= position {
            return Ok(());
        }
        state.durable = state.durable.max(sync(task)?);
        Ok(())
    }

    /// A task needs a sync that begins when it comes, or later. It waits for the one under way, and joins the next one,
    /// unless its own would be done before that begins.
    fn sync_simulated(
        state: &mut State,
        task: &mut Task,
        position: u64,
        sync: impl FnOnce(&mut Task) -> Result<u64>,
    ) -> Result<()> {
        task.settle();
        let next = state.syncs.partition_point(|(begin, _)| *begin < task.now_ns);
        let under_way = next.checked_sub(1).map_or(0, |last| state.syncs[last].1);
        let start_ns = task.now_ns.max(under_way);
        if let Some(&(begin, end)) = state.syncs.get(next)
            && start_ns + (end - begin) > begin
        {
            task.now_ns = end;
            state.durable = state.durable.max(position);
            return Ok(());
        }
        task.now_ns = start_ns;
        state.durable = state.durable.max(sync(task)?);
        state.syncs.insert(next, (start_ns, task.now_ns));
        while state.syncs.front().is_some_and(|(_, end)| end + MEMORY_NS < start_ns) {
            state.syncs.pop_front();
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::WorkCounts;
    use crate::task::Access;
    use crate::task::Charge;

    struct HundredPerSync;

    impl Charge for HundredPerSync {
        fn cpu(&mut self, now_ns: u64, _work: &WorkCounts) -> u64 {
            now_ns
        }
        fn io(&mut self, now_ns: u64, _access: Access) -> u64 {
            now_ns + 100
        }
    }

    #[test]
    fn simulated_tasks_share_the_syncs_of_their_time() {
        let (group, syncs) = (GroupSync::default(), std::cell::Cell::new(0));
        let durable_at = |now_ns| {
            let mut task = Task::simulated(0, now_ns, Box::new(HundredPerSync));
            let sync = |task: &mut Task| {
                syncs.set(syncs.get() + 1);
                task.access(Access::Sync);
                Ok(1)
            };
            group.sync_to(&mut task, 1, sync).unwrap();
            task.now_ns
        };
        assert_eq!(durable_at(1000), 1100);
        assert_eq!(durable_at(1050), 1200, "behind the one under way");
        assert_eq!(durable_at(1060), 1200, "joins the next");
        assert_eq!(durable_at(10), 110, "earlier in time, with time enough");
        assert_eq!(durable_at(950), 1100, "its own would not be done before the next begins");
        assert_eq!(syncs.get(), 3);
    }
}

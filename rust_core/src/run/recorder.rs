//! What one client measured. Both clocks record the same way.

use crate::metrics::{Activity, Latencies};
use crate::workload::Plan;

/// Latencies by operation since the phase began, and activity since the last interval.
#[derive(Debug, Clone)]
pub struct Recorder {
    /// By the operation's position in the workload's list.
    pub by_kind: Vec<Latencies>,
    /// Nanoseconds that the client waited for admission.
    pub stall_ns: u64,
    operations: u64,
    recent: Activity,
}

impl Recorder {
    /// For a workload with so many kinds of operations.
    pub fn new(kinds: usize) -> Self {
        Self { by_kind: vec![Latencies::default(); kinds], stall_ns: 0, operations: 0, recent: Activity::default() }
    }

    /// Counts an operation that ended `took_ns` after it started. The time from its being due on counts too.
    pub fn record(&mut self, plan: &Plan, took_ns: u64) {
        let took_ns = plan.turn.late_ns + took_ns;
        self.by_kind[plan.kind].record_many(took_ns, plan.operations);
        self.recent.latencies.record_many(took_ns, plan.operations);
        self.operations += plan.operations;
    }

    /// Operations recorded so far.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Counts time spent waiting for admission.
    pub fn stalled(&mut self, ns: u64) {
        self.stall_ns += ns;
        self.recent.stall_ns += ns;
    }

    /// Moves the activity since the last call into `sum`.
    pub fn drain(&mut self, sum: &mut Activity) {
        sum.latencies.merge(&self.recent.latencies);
        sum.stall_ns += self.recent.stall_ns;
        self.recent.latencies.clear();
        self.recent.stall_ns = 0;
    }

    /// Adds what another client measured in the whole phase.
    pub fn merge(&mut self, other: &Self) {
        self.by_kind.iter_mut().zip(&other.by_kind).for_each(|(mine, theirs)| mine.merge(theirs));
        self.stall_ns += other.stall_ns;
        self.operations += other.operations;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_add_up_to_the_phase() {
        let mut recorder = Recorder::new(2);
        let (mut first, mut second) = (Activity::default(), Activity::default());
        recorder.record(&Plan::read(0), 1000);
        recorder.stalled(7);
        recorder.drain(&mut first);
        recorder.record(&Plan { operations: 10, ..Plan::write(1, 5) }, 2000);
        recorder.stalled(5);
        recorder.drain(&mut second);
        assert_eq!((first.latencies.count(), first.stall_ns), (1, 7));
        assert_eq!((second.latencies.count(), second.stall_ns), (10, 5));
        let mut all = Recorder::new(2);
        all.merge(&recorder);
        all.merge(&recorder);
        assert_eq!(all.by_kind.iter().map(Latencies::count).collect::<Vec<_>>(), [2, 20]);
        assert_eq!((all.stall_ns, all.operations()), (24, 22));
    }
}

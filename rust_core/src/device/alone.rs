//! A command that runs alone. SATA queues reads and writes (NCQ) but not FLUSH CACHE EXT: a flush is given to the drive
//! when all commands before it are done, and none is given to it before the flush is (Linux, `ata_std_qc_defer`).

use crate::task::queues::MEMORY_NS;
use std::collections::VecDeque;

/// Commands that a SATA drive has at once, one of the 32 tags being Linux's own.
const QUEUE_DEPTH: usize = 31;
/// Commands that are remembered: those of a few tens of milliseconds, more than any task runs ahead of another.
const REMEMBERED: usize = 8192;

/// Intervals in the order of their beginnings. What an operation does at its end executes whole, so they do not quite
/// arrive in this order.
type Intervals = VecDeque<(u64, u64)>;

/// The commands of a link on which syncs run alone.
#[derive(Debug, Clone, Default)]
pub struct AloneSyncs {
    /// When queued commands began and ended.
    commands: Intervals,
    /// From when a sync waits until when it is done; disjoint.
    holds: Intervals,
}

impl AloneSyncs {
    /// When a command that comes at `now_ns` is given to the drive.
    pub fn earliest(&self, now_ns: u64) -> u64 {
        let first = before(&self.holds, now_ns).saturating_sub(1);
        let holds = self.holds.range(first..);
        holds.fold(now_ns, |at, (begin, end)| if *begin <= at { at.max(*end) } else { at })
    }

    /// Notes a command that the drive had from `begin_ns` to `end_ns`.
    pub fn note(&mut self, begin_ns: u64, end_ns: u64) {
        self.commands.insert(before(&self.commands, begin_ns), (begin_ns, end_ns));
        if self.commands.len() > REMEMBERED {
            self.commands.pop_front();
        }
    }

    /// A sync of `service_ns` that comes at `now_ns`, and when it is done. `share` is the part of it, and of the wait
    /// before it, that this one stands for. Linux has one flush under way: those that come meanwhile are one that
    /// follows (`blk-flush.c`).
    pub fn sync(&mut self, now_ns: u64, service_ns: u64, share: f64) -> u64 {
        let next = before(&self.holds, now_ns);
        let running = next.checked_sub(1).map(|last| self.holds[last].1).filter(|end| *end > now_ns);
        let begin_ns = running.unwrap_or(now_ns);
        let idle_ns = if running.is_some() { begin_ns } else { self.drained_ns(now_ns) };
        let end_ns = begin_ns + ((idle_ns + service_ns - begin_ns) as f64 * share) as u64;
        if let Some(later) = self.holds.get_mut(next).filter(|later| later.0 < end_ns.max(begin_ns + 1)) {
            // A part of a sync is not enough for a whole one.
            *later = (begin_ns, later.1.max(end_ns));
            return later.1;
        }
        self.holds.insert(next, (begin_ns, end_ns));
        while self.holds.front().is_some_and(|first| first.1 + MEMORY_NS < now_ns) {
            self.holds.pop_front();
        }
        end_ns
    }

    /// When all is done that the drive has at `now_ns`.
    fn drained_ns(&self, now_ns: u64) -> u64 {
        let begun = before(&self.commands, now_ns);
        let last = self.commands.range(begun.saturating_sub(QUEUE_DEPTH)..begun);
        last.map(|(_, end)| *end).fold(now_ns, u64::max)
    }
}

/// Intervals that begin at `at_ns` or before.
fn before(intervals: &Intervals, at_ns: u64) -> usize {
    intervals.partition_point(|(begin, _)| *begin <= at_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy() -> AloneSyncs {
        let mut link = AloneSyncs::default();
        link.note(50, 150);
        link.note(80, 120);
        link
    }

    #[test]
    fn a_sync_waits_for_what_the_drive_has_and_holds_what_follows() {
        let mut link = busy();
        assert_eq!(link.sync(100, 40, 1.0), 190);
        assert_eq!(
            (link.earliest(99), link.earliest(100), link.earliest(189), link.earliest(190)),
            (99, 190, 190, 190)
        );
    }

    #[test]
    fn what_begins_later_is_not_waited_for() {
        let mut link = busy();
        assert_eq!(link.sync(60, 40, 1.0), 190);
        assert_eq!(AloneSyncs::sync(&mut busy(), 40, 5, 1.0), 45);
    }

    #[test]
    fn syncs_that_come_during_one_are_one_that_follows() {
        let mut link = busy();
        link.sync(100, 40, 1.0);
        assert_eq!((link.sync(110, 40, 1.0), link.sync(180, 40, 1.0)), (230, 230));
        assert_eq!(link.sync(195, 40, 1.0), 270);
        assert_eq!(link.earliest(101), 270);
    }

    #[test]
    fn a_part_of_a_sync_takes_a_part_of_the_time() {
        let mut link = busy();
        assert_eq!(link.sync(100, 40, 0.5), 145);
        assert_eq!(link.earliest(100), 145);
    }

    #[test]
    fn a_whole_sync_that_follows_a_part_of_one_takes_its_whole_time() {
        let mut link = busy();
        link.sync(100, 40, 1.0);
        assert_eq!((link.sync(110, 40, 0.1), link.sync(120, 40, 1.0)), (194, 230));
    }

    #[test]
    fn one_that_comes_before_a_known_one_joins_it_where_they_meet() {
        let mut link = busy();
        link.sync(130, 40, 1.0);
        assert_eq!(link.sync(100, 40, 1.0), 190);
        assert_eq!((link.earliest(100), link.earliest(20)), (190, 20));
    }

    #[test]
    fn a_drive_has_so_many_commands_at_once() {
        let mut link = AloneSyncs::default();
        link.note(0, 1_000_000);
        (1..=QUEUE_DEPTH as u64).for_each(|n| link.note(n, 500));
        assert_eq!(link.sync(100, 40, 1.0), 540);
    }
}

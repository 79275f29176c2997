//! Transactions that write, and the history list: the undo logs of those that have committed, the oldest first. Purge
//! may go through a log when all transactions that are under way began after it was committed; here the read view of a
//! transaction that writes is as old as itself, and who only reads has none (see `btree/FORMAT.md`).

use super::undo_page::LogAt;
use parking_lot::Mutex;
use std::collections::{BTreeSet, VecDeque};

#[derive(Debug, Default)]
struct State {
    /// Number of the next event, be it a begin or a commit.
    next: u64,
    /// Begins of the transactions under way.
    active: BTreeSet<u64>,
    /// Commits and their logs.
    history: VecDeque<(u64, LogAt)>,
    /// Logs on the list, with those that purge has taken and not taken off it.
    on_list: usize,
    /// Somebody was told that there is something to purge, and has not come yet.
    is_announced: bool,
}

impl State {
    fn has_purgeable(&self) -> bool {
        let view = self.active.first().copied().unwrap_or(self.next);
        self.history.front().is_some_and(|(number, _)| *number < view)
    }
}

/// Transactions under way and the history list.
#[derive(Debug, Default)]
pub struct TrxSys {
    state: Mutex<State>,
}

impl TrxSys {
    /// A transaction begins to write.
    pub fn begin(&self) -> u64 {
        let mut state = self.state.lock();
        let number = state.next;
        state.next += 1;
        state.active.insert(number);
        number
    }

    /// A transaction ends, and its logs join the history list. Returns whether purge should be woken.
    pub fn commit(&self, began: u64, logs: &[LogAt]) -> bool {
        let mut state = self.state.lock();
        state.active.remove(&began);
        let number = state.next;
        state.next += 1;
        state.history.extend(logs.iter().map(|log| (number, *log)));
        state.on_list += logs.len();
        let wakes = !state.is_announced && state.has_purgeable();
        state.is_announced |= wakes;
        wakes
    }

    /// The oldest logs that nobody needs any more, at most so many, which are the caller's to purge.
    pub fn take_purgeable(&self, most: usize) -> VecDeque<LogAt> {
        let mut state = self.state.lock();
        state.is_announced = false;
        let mut taken = VecDeque::new();
        while taken.len() < most && state.has_purgeable() {
            taken.extend(state.history.pop_front().map(|(_, log)| log));
        }
        taken
    }

    /// A log is taken off the history list.
    pub fn leave_history(&self) {
        self.state.lock().on_list -= 1;
    }

    /// Whether there is something to purge.
    pub fn has_purgeable(&self) -> bool {
        self.state.lock().has_purgeable()
    }

    /// Logs in the history list.
    pub fn history_len(&self) -> usize {
        self.state.lock().on_list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_purged_when_all_that_are_under_way_began_after_its_commit() {
        let sys = TrxSys::default();
        let log = |page_no| LogAt { page_no, start: 128 };
        let (one, two) = (sys.begin(), sys.begin());
        assert!(!sys.commit(one, &[log(1)]), "the other began before");
        assert!(sys.take_purgeable(9).is_empty());
        let three = sys.begin();
        assert!(sys.commit(two, &[log(2)]));
        assert_eq!(sys.take_purgeable(1), [log(1)]);
        assert_eq!((sys.take_purgeable(9), sys.history_len()), (VecDeque::new(), 2), "the third began before");
        assert!(sys.commit(three, &[log(3)]));
        assert_eq!(sys.take_purgeable(9), [log(2), log(3)]);
        sys.leave_history();
        assert_eq!((sys.history_len(), sys.has_purgeable()), (2, false));
    }
}

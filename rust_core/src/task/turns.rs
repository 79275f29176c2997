//! Who stands in line for what, in virtual time.

use parking_lot::Mutex;
use std::collections::VecDeque;

/// A line in virtual time, of jobs and clients that have numbers.
#[derive(Debug)]
pub struct Turns {
    /// As many of the first have their turns at once; `None` for groups.
    places: Option<usize>,
    line: Mutex<Line>,
}

#[derive(Debug, Default)]
struct Line {
    jobs: VecDeque<usize>,
    /// How many of the first go together and have not had their turns yet.
    group: usize,
    /// Those of the group that have had their turns.
    done: Vec<usize>,
}

impl PartialEq for Turns {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Turns {}

impl Turns {
    /// A line with so many places at its head.
    pub fn new(places: usize) -> Self {
        Self { places: Some(places), line: Mutex::default() }
    }

    /// A line of which all that stand in it when the first ends its turn have theirs next, and go on when all of them
    /// have had them: writers of RocksDB, who join the group of the first (`WriteThread::EnterAsBatchGroupLeader`,
    /// `CompleteParallelMemTableWriter`). That they write to the memtable side by side gains nothing: measured on two
    /// cores, buffered puts of four clients came at no higher rate than those of one.
    pub fn of_groups() -> Self {
        Self { places: None, line: Mutex::default() }
    }

    /// A job or client wants its turn, for the first time or again. False if one before it will wake it.
    pub fn enter(&self, job: usize) -> bool {
        let line = &mut *self.line.lock();
        let place = line.jobs.iter().position(|other| *other == job).unwrap_or_else(|| {
            line.jobs.push_back(job);
            line.jobs.len() - 1
        });
        place < self.places.unwrap_or(1)
    }

    /// It has had its turn. Who may go on now.
    pub fn leave(&self, job: usize) -> Vec<usize> {
        let line = &mut *self.line.lock();
        line.jobs.retain(|other| *other != job);
        if let Some(places) = self.places {
            return line.jobs.get(places - 1).copied().into_iter().collect();
        }
        let leads = line.group == 0;
        line.group = if leads { line.jobs.len() } else { line.group - 1 };
        if line.group > 0 {
            line.done.push(job);
            return line.jobs.front().copied().into_iter().collect();
        }
        let mut next = std::mem::take(&mut line.done);
        next.extend(line.jobs.front());
        next
    }

    /// Whether those that stand in it go together.
    pub fn is_of_groups(&self) -> bool {
        self.places.is_none()
    }

    /// Whether all that went together with it have had their turns.
    pub fn is_over(&self, job: usize) -> bool {
        !self.line.lock().done.contains(&job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_have_their_turns_in_the_order_in_which_they_came() {
        let line = Turns::new(2);
        assert_eq!([7, 5, 6, 4].map(|job| line.enter(job)), [true, true, false, false]);
        assert!(!line.enter(6), "it asked before");
        assert_eq!([5, 7, 6, 4].map(|job| line.leave(job)), [vec![6], vec![4], vec![], vec![]]);
        assert!(line.enter(5));
    }

    #[test]
    fn a_group_goes_together_and_waits_for_its_last() {
        let line = Turns::of_groups();
        assert_eq!([4, 5, 6].map(|job| line.enter(job)), [true, false, false]);
        assert_eq!(line.leave(4), [5]);
        assert!(!line.enter(7) && !line.enter(4), "they came later, one of them again");
        assert!(line.enter(5) && !line.enter(6));
        assert_eq!(line.leave(5), [6]);
        assert_eq!([4, 5, 6, 7].map(|job| line.is_over(job)), [false, false, true, true]);
        assert_eq!(line.leave(6), [4, 5, 7], "all go on, and the next begins");
        assert!(line.is_over(4) && line.enter(7));
        assert_eq!(line.leave(7), [4]);
    }
}

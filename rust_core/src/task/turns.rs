//! Who stands in line for what, in virtual time.

use parking_lot::Mutex;
use std::collections::VecDeque;

/// A line in virtual time, of jobs and clients that have numbers. As many of the first as there are places have their
/// turns.
#[derive(Debug)]
pub struct Turns {
    places: usize,
    jobs: Mutex<VecDeque<usize>>,
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
        Self { places, jobs: Mutex::default() }
    }

    /// A job or client wants its turn, for the first time or again. False if one before it will wake it.
    pub fn enter(&self, job: usize) -> bool {
        let mut jobs = self.jobs.lock();
        let place = jobs.iter().position(|other| *other == job).unwrap_or_else(|| {
            jobs.push_back(job);
            jobs.len() - 1
        });
        place < self.places
    }

    /// It has had its turn. Whose turn it is now.
    pub fn leave(&self, job: usize) -> Option<usize> {
        let mut jobs = self.jobs.lock();
        jobs.retain(|other| *other != job);
        jobs.get(self.places - 1).copied()
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
        assert_eq!([5, 7, 6, 4].map(|job| line.leave(job)), [Some(6), Some(4), None, None]);
        assert!(line.enter(5));
    }
}

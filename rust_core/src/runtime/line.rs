//! A line for what only so many jobs and operations at a time may do, for as long as its storage accesses take. Under the wall
//! clock they wait for one another. Under the virtual clock they execute at once and their steps are replayed, so their turns
//! come in the replay.

use super::Task;
use super::task::Step;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;

/// What so many jobs at a time may do.
#[derive(Debug)]
pub struct Line {
    free: Mutex<usize>,
    freed: Condvar,
    turns: Arc<Turns>,
}

impl Line {
    /// A line with so many places at its head.
    pub fn new(places: usize) -> Self {
        let turns = Arc::new(Turns::new(places));
        Self { free: Mutex::new(places), freed: Condvar::new(), turns }
    }

    /// Does it when it is this job's turn, or this operation's. A simulated task that executes whole does it at once: when those
    /// before it will be through is not known yet.
    pub fn with<R>(&self, task: &mut Task, f: impl FnOnce(&mut Task) -> R) -> R {
        if task.is_wall() {
            let _place = self.take_place();
            return f(task);
        }
        self.turns.around(task, f)
    }

    fn take_place(&self) -> Place<'_> {
        let mut free = self.free.lock();
        self.freed.wait_while(&mut free, |free| *free == 0);
        *free -= 1;
        Place(self)
    }
}

/// A place of a thread, which is free again when the thread is through, or panics.
struct Place<'a>(&'a Line);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.freed.notify_one();
    }
}

/// A line in virtual time, of jobs and clients that have numbers. As many of the first as there are places have their turns.
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
    pub(super) fn new(places: usize) -> Self {
        Self { places, jobs: Mutex::default() }
    }

    /// Does it, and has a task that records stand in line for it in the replay.
    pub(super) fn around<R>(self: &Arc<Self>, task: &mut Task, f: impl FnOnce(&mut Task) -> R) -> R {
        task.record(|| Step::Enter(self.clone()));
        let result = f(task);
        task.record(|| Step::Leave(self.clone()));
        result
    }

    /// A job or client wants its turn, for the first time or again. False if one before it will wake it.
    pub(super) fn enter(&self, job: usize) -> bool {
        let mut jobs = self.jobs.lock();
        let place = jobs.iter().position(|other| *other == job).unwrap_or_else(|| {
            jobs.push_back(job);
            jobs.len() - 1
        });
        place < self.places
    }

    /// It has had its turn. Whose turn it is now.
    pub(super) fn leave(&self, job: usize) -> Option<usize> {
        let mut jobs = self.jobs.lock();
        jobs.retain(|other| *other != job);
        jobs.get(self.places - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::runtime::panics;
    use crate::runtime::threads::spawn;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn jobs_have_their_turns_in_the_order_in_which_they_came() {
        let line = Line::new(2).turns;
        assert_eq!([7, 5, 6, 4].map(|job| line.enter(job)), [true, true, false, false]);
        assert!(!line.enter(6), "it asked before");
        assert_eq!([5, 7, 6, 4].map(|job| line.leave(job)), [Some(6), Some(4), None, None]);
        assert!(line.enter(5));
    }

    #[test]
    fn a_recorded_job_enters_and_leaves_around_what_it_does() {
        let line = Line::new(1);
        let mut task = Task::recording(0, 0);
        line.with(&mut task, |task| task.access(crate::runtime::task::Access::Sync));
        let steps = task.into_steps();
        let [Step::Enter(entered), Step::Io(_), Step::Leave(left)] = &steps[..] else { panic!("{steps:?}") };
        assert_eq!((&line.turns, &line.turns), (entered, left));
    }

    #[test]
    fn a_panic_leaves_no_place_taken() {
        let line = Line::new(1);
        let result = panics::caught("a job", || line.with(&mut Task::wall(0), |_| -> Result<()> { panic!("meant") }));
        assert!(result.is_err());
        assert_eq!(*line.free.lock(), 1);
    }

    #[test]
    fn threads_wait_for_a_place() {
        const THREADS: usize = 8;
        let (line, inside, most) = (Line::new(3), AtomicUsize::new(0), AtomicUsize::new(0));
        let shared = Arc::new((line, inside, most, Barrier::new(THREADS)));
        let threads = (0..THREADS).map(|n| {
            let shared = shared.clone();
            spawn(format!("job-{n}"), move || {
                let (line, inside, most, start) = &*shared;
                start.wait();
                for _ in 0..200 {
                    line.with(&mut Task::wall(n as u32), |_| {
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    });
                }
            })
        });
        threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
        assert!((1..=3).contains(&shared.2.load(Ordering::SeqCst)));
    }
}

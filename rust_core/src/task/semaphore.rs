//! A semaphore: only so many jobs and operations at a time may pass, for as long as their storage accesses take. Under
//! the wall clock they wait for one another. Under the virtual clock they execute at once and their steps are replayed,
//! so their turns come in the replay.

use super::task::Task;
use super::turns::Turns;
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;

/// What so many jobs at a time may do.
#[derive(Debug)]
pub struct Semaphore {
    free: Mutex<usize>,
    freed: Condvar,
    turns: Arc<Turns>,
}

impl Semaphore {
    /// With so many places.
    pub fn new(places: usize) -> Self {
        let turns = Arc::new(Turns::new(places));
        Self { free: Mutex::new(places), freed: Condvar::new(), turns }
    }

    /// Does it when it is this job's turn, or this operation's. A simulated task that executes whole does it at once:
    /// when those before it will be through is not known yet.
    pub fn with<R>(&self, task: &mut Task, f: impl FnOnce(&mut Task) -> R) -> R {
        if task.is_wall() {
            let _place = self.take_place();
            return f(task);
        }
        task.in_turn(&self.turns, f)
    }

    #[expect(clippy::disallowed_methods, reason = "here threads wait")]
    fn take_place(&self) -> Place<'_> {
        let mut free = self.free.lock();
        self.freed.wait_while(&mut free, |free| *free == 0);
        *free -= 1;
        Place(self)
    }
}

/// A place of a thread, which is free again when the thread is through, or panics.
struct Place<'a>(&'a Semaphore);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::task::task::Step;
    use crate::task::wall::spawn;
    use crate::task::{Access, panics};
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_recorded_job_enters_and_leaves_around_what_it_does() {
        let line = Semaphore::new(1);
        let mut task = Task::recording(0, 0);
        line.with(&mut task, |task| task.access(Access::Sync));
        let steps = task.into_steps();
        let [Step::Enter(entered), Step::Io(_), Step::Leave(left)] = &steps[..] else { panic!("{steps:?}") };
        assert_eq!((&line.turns, &line.turns), (entered, left));
    }

    #[test]
    fn a_panic_leaves_no_place_taken() {
        let line = Semaphore::new(1);
        let result = panics::caught("a job", || line.with(&mut Task::wall(0), |_| -> Result<()> { panic!("meant") }));
        assert!(result.is_err());
        assert_eq!(*line.free.lock(), 1);
    }

    #[test]
    fn threads_wait_for_a_place() {
        const THREADS: usize = 8;
        let (line, inside, most) = (Semaphore::new(3), AtomicUsize::new(0), AtomicUsize::new(0));
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

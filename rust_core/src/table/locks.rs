//! Row locks for operations that read before they write. Rows share a fixed number of stripes; an operation names all
//! its rows up front and takes their stripes in ascending order, so that no two operations wait for each other.

use crate::scale::Scale;
use crate::task::{Serial, Task};
use xxhash_rust::xxh3::xxh3_64;

const STRIPES: usize = 4096;

/// Exclusive locks on rows, by the hash of their primary keys.
#[derive(Debug)]
pub struct RowLocks {
    stripes: Vec<Serial<()>>,
    is_instant: bool,
}

impl Default for RowLocks {
    fn default() -> Self {
        Self { stripes: (0..STRIPES).map(|_| Serial::default()).collect(), is_instant: false }
    }
}

/// Locks of the same kind that nobody holds.
impl Clone for RowLocks {
    fn clone(&self) -> Self {
        if self.is_instant { Self::instant() } else { Self::default() }
    }
}

impl RowLocks {
    /// Locks of data at this scale: no simulated task waits for those of a copy, which stands for so many more rows
    /// that clients seldom meet. Threads still wait for each other.
    pub fn at_scale(scale: Scale) -> Self {
        if scale.clients_meet_on_rows() { Self::default() } else { Self::instant() }
    }

    fn instant() -> Self {
        Self { stripes: (0..STRIPES).map(|_| Serial::instant(())).collect(), is_instant: true }
    }

    /// Runs `f` while no other task holds one of the rows. `f` must not lock rows itself.
    pub fn with<R>(&self, task: &mut Task, rows: &[&[u8]], f: impl FnOnce(&mut Task) -> R) -> R {
        let mut stripes: Vec<usize> = rows.iter().map(|row| xxh3_64(row) as usize % STRIPES).collect();
        stripes.sort_unstable();
        stripes.dedup();
        let (mut f, mut result) = (Some(f), None);
        self.hold(task, &stripes, &mut |task| result = f.take().map(|f| f(task)));
        result.expect("the innermost lock runs the closure once")
    }

    fn hold(&self, task: &mut Task, stripes: &[usize], f: &mut dyn FnMut(&mut Task)) {
        match stripes.split_first() {
            None => f(task),
            Some((&first, rest)) => self.stripes[first].with(task, |task, ()| self.hold(task, rest, f)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Work;
    use crate::task::serial::tests::OneNanosecondPerCall;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn a_simulated_task_queues_behind_the_holder_of_its_row() {
        let locks = RowLocks::default();
        let mut tasks = [0, 1, 2].map(|id| Task::simulated(id, 0, Box::new(OneNanosecondPerCall)));
        let [holder, same_row, other_row] = &mut tasks;
        locks.with(holder, &[b"a", b"b"], |task| task.charge(Work::Call, 100));
        locks.with(same_row, &[b"b", b"c"], |task| task.charge(Work::Call, 10));
        locks.with(other_row, &[b"d"], |task| task.charge(Work::Call, 10));
        assert_eq!(tasks.map(|task| task.now_ns), [100, 110, 10]);
    }

    #[test]
    fn a_simulated_task_does_not_wait_for_instant_locks() {
        let locks = RowLocks::instant();
        let mut tasks = [0, 1].map(|id| Task::simulated(id, 0, Box::new(OneNanosecondPerCall)));
        for task in &mut tasks {
            locks.with(task, &[b"a"], |task| {
                task.charge(Work::Call, 100);
                task.settle();
            });
        }
        assert_eq!(tasks.map(|task| task.now_ns), [100, 100]);
    }

    #[test]
    fn threads_that_lock_the_same_rows_in_any_order_neither_race_nor_deadlock() {
        let (locks, counter) = (RowLocks::default(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for id in 0..4_u32 {
                let (locks, counter) = (&locks, &counter);
                scope.spawn(move || {
                    let mut task = Task::wall(id);
                    let rows: [&[u8]; 3] = if id % 2 == 0 { [b"x", b"y", b"z"] } else { [b"z", b"y", b"x"] };
                    for _ in 0..1000 {
                        locks.with(&mut task, &rows, |_| {
                            let seen = counter.load(Ordering::Relaxed);
                            counter.store(seen + 1, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(counter.into_inner(), 4000);
    }
}

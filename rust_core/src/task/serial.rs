//! A serial resource: lock contention that matters. Under the wall clock a real lock, under the virtual clock a queue
//! with one server.

use super::queues::Server;
use super::task::Task;
use super::turns::Turns;
use parking_lot::Mutex;
use std::sync::Arc;

/// A value that one task at a time may use.
#[derive(Debug)]
pub struct Serial<T> {
    inner: Mutex<Inner<T>>,
    turns: Arc<Turns>,
    is_instant: bool,
}

#[derive(Debug, Default)]
struct Inner<T> {
    line: Server,
    value: T,
}

impl<T: Default> Default for Serial<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Serial<T> {
    /// Guards `value`.
    pub fn new(value: T) -> Self {
        Self::in_line(value, Turns::new(1))
    }

    /// Guards `value`; operations that stand in line go together: see [`Turns::of_groups`].
    pub fn of_groups(value: T) -> Self {
        Self::in_line(value, Turns::of_groups())
    }

    fn in_line(value: T, turns: Turns) -> Self {
        let inner = Mutex::new(Inner { line: Server::default(), value });
        Self { inner, turns: Arc::new(turns), is_instant: false }
    }

    /// Guards `value` from other threads, and lets no simulated task wait: its operation executes at once in any case.
    pub fn instant(value: T) -> Self {
        Self { is_instant: true, ..Self::new(value) }
    }

    /// Uses the value alone. An operation under the virtual clock stands in line when it is replayed. A task that
    /// executes whole takes the first gap between other such holders that is long enough: one that executed earlier may
    /// hold it later.
    pub fn with<R>(&self, task: &mut Task, f: impl FnOnce(&mut Task, &mut T) -> R) -> R {
        let mut inner = self.inner.lock();
        if task.is_operation() && !self.is_instant {
            return task.in_turn(&self.turns, |task| f(task, &mut inner.value));
        }
        if self.is_instant || !task.is_simulated() {
            return f(task, &mut inner.value);
        }
        task.settle();
        let began_ns = task.now_ns;
        let result = f(task, &mut inner.value);
        task.settle();
        let service_ns = task.now_ns - began_ns;
        if service_ns > 0 {
            let start_ns = inner.line.earliest(began_ns, service_ns);
            task.now_ns = inner.line.serve(start_ns, service_ns);
        }
        result
    }

    /// Uses the value alone unless another task did already what this one wants (`is_done`).
    ///
    /// A thread asks before it queues, too. A simulated task does it in any case: operations that others have executed
    /// by now may end later than this one in virtual time.
    pub fn unless<E>(
        &self,
        task: &mut Task,
        is_done: impl Fn() -> bool,
        f: impl FnOnce(&mut Task, &mut T) -> Result<(), E>,
    ) -> Result<(), E> {
        if task.is_simulated() {
            return self.with(task, f);
        }
        if is_done() {
            return Ok(());
        }
        self.with(task, |task, value| if is_done() { Ok(()) } else { f(task, value) })
    }

    /// Looks at the value outside any task's time (statistics, tests, background installs).
    pub fn peek<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.inner.lock().value)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::cost::{Work, WorkCounts};
    use crate::task::Access;
    use crate::task::Charge;

    /// The simplest clock: only calls take time.
    pub struct OneNanosecondPerCall;

    impl Charge for OneNanosecondPerCall {
        fn cpu(&mut self, now_ns: u64, work: &WorkCounts) -> u64 {
            now_ns + work.get(Work::Call)
        }
        fn io(&mut self, now_ns: u64, _access: Access) -> u64 {
            now_ns
        }
    }

    #[test]
    fn a_task_that_comes_later_in_the_program_but_earlier_in_time_does_not_wait() {
        let serial = Serial::new(());
        let hold = |at_ns, calls| {
            let mut task = Task::simulated(0, at_ns, Box::new(OneNanosecondPerCall));
            serial.with(&mut task, |task, ()| task.charge(Work::Call, calls));
            task.now_ns
        };
        assert_eq!(hold(1000, 100), 1100);
        assert_eq!(hold(10, 100), 110, "the resource is free then");
        assert_eq!(hold(50, 900), 2000, "no gap before is long enough");
        assert_eq!(hold(1050, 10), 2010);
    }
}

//! A serial resource: lock contention that matters. Under the wall clock a real lock, under the virtual clock a queue
//! with one server.

use super::Task;
use parking_lot::Mutex;

/// A value that one task at a time may use.
#[derive(Debug, Default)]
pub struct Serial<T> {
    inner: Mutex<Inner<T>>,
}

#[derive(Debug, Default)]
struct Inner<T> {
    free_at_ns: u64,
    value: T,
}

impl<T> Serial<T> {
    /// Guards `value`.
    pub fn new(value: T) -> Self {
        Self { inner: Mutex::new(Inner { free_at_ns: 0, value }) }
    }

    /// Uses the value alone. Under the virtual clock the task first waits until the earlier holder is done.
    pub fn with<R>(&self, task: &mut Task, f: impl FnOnce(&mut Task, &mut T) -> R) -> R {
        let mut inner = self.inner.lock();
        if !task.is_simulated() {
            return f(task, &mut inner.value);
        }
        task.settle();
        task.now_ns = task.now_ns.max(inner.free_at_ns);
        let result = f(task, &mut inner.value);
        task.settle();
        inner.free_at_ns = task.now_ns;
        result
    }

    /// Looks at the value outside any task's time (statistics, tests, background installs).
    pub fn peek<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.inner.lock().value)
    }
}

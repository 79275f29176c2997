//! How an engine tells its runtime that background work is ready, and how clients learn that some completed.

use parking_lot::{Condvar, Mutex};
use std::time::Duration;

#[derive(Debug, Default)]
struct State {
    ready: u64,
    completed: u64,
    stopped: bool,
}

/// Two generation counters behind one lock: work that became ready, and work that completed.
#[derive(Debug, Default)]
pub struct Signal {
    state: Mutex<State>,
    ready: Condvar,
    completed: Condvar,
}

impl Signal {
    /// Background work may be ready: workers ask the engine again.
    pub fn wake(&self) {
        self.state.lock().ready += 1;
        self.ready.notify_all();
    }

    /// Background work completed: waiting clients ask for admission again, and workers look for follow-up work.
    pub fn complete(&self) {
        let mut state = self.state.lock();
        state.completed += 1;
        state.ready += 1;
        drop(state);
        self.completed.notify_all();
        self.ready.notify_all();
    }

    /// Tells workers and waiting clients to give up.
    pub fn stop(&self) {
        self.state.lock().stopped = true;
        self.ready.notify_all();
        self.completed.notify_all();
    }

    /// Whether [`Signal::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.state.lock().stopped
    }

    /// Generation of ready work, to be passed to [`Signal::wait_ready`].
    pub fn ready_generation(&self) -> u64 {
        self.state.lock().ready
    }

    /// Generation of completed work, to be passed to [`Signal::wait_completed`].
    pub fn completed_generation(&self) -> u64 {
        self.state.lock().completed
    }

    /// Blocks until more work became ready than `seen`, the timeout passes, or the signal stops.
    #[expect(clippy::disallowed_methods, reason = "here threads wait")]
    pub fn wait_ready(&self, seen: u64, timeout: Duration) {
        let mut state = self.state.lock();
        if state.ready == seen && !state.stopped {
            self.ready.wait_for(&mut state, timeout);
        }
    }

    /// Blocks until more work completed than `seen`, the timeout passes, or the signal stops.
    #[expect(clippy::disallowed_methods, reason = "here threads wait")]
    pub fn wait_completed(&self, seen: u64, timeout: Duration) {
        let mut state = self.state.lock();
        if state.completed == seen && !state.stopped {
            self.completed.wait_for(&mut state, timeout);
        }
    }
}

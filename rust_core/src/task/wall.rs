//! The wall clock: time, sleep and threads of the operating system. Nothing else reads a clock, sleeps or starts a
//! thread.

#![allow(clippy::disallowed_methods)]

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The start of a run, from which every task counts its time.
#[derive(Debug, Clone, Copy)]
pub struct WallClock {
    start: Instant,
}

impl Default for WallClock {
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl WallClock {
    /// Nanoseconds since the start of the run.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}

/// CPU nanoseconds that the calling thread has used.
pub fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Blocks the calling thread.
pub fn sleep(duration: Duration) {
    thread::sleep(duration);
}

/// Starts a named thread.
pub fn spawn<T: Send + 'static>(name: String, f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    thread::Builder::new().name(name).spawn(f).expect("the operating system refused a thread")
}

//! The wall clock: OS threads run the background jobs of an engine, and clients wait for admission on real time.

#![allow(clippy::disallowed_methods)]

use super::{Admission, Signal, Task, panics};
use crate::engine::Engine;
use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a worker or a waiting client sleeps before it looks again without being woken.
const PATIENCE: Duration = Duration::from_millis(50);

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

/// The pool that runs an engine's background jobs.
pub struct Workers {
    signal: Arc<Signal>,
    threads: Vec<JoinHandle<()>>,
    cpu_ns: Arc<AtomicU64>,
}

impl Workers {
    /// Starts `engine.background_threads()` workers.
    pub fn start(engine: &Arc<dyn Engine>, signal: &Arc<Signal>, clock: WallClock) -> Self {
        let cpu_ns = Arc::new(AtomicU64::new(0));
        let threads = (0..engine.background_threads().max(1))
            .map(|n| {
                let (engine, signal, cpu_ns) = (engine.clone(), signal.clone(), cpu_ns.clone());
                spawn(format!("worker-{n}"), move || work(&*engine, &signal, clock, n as u32, &cpu_ns))
            })
            .collect();
        Self { signal: signal.clone(), threads, cpu_ns }
    }

    /// CPU nanoseconds used by completed jobs.
    pub fn cpu_ns(&self) -> u64 {
        self.cpu_ns.load(Ordering::Relaxed)
    }

    /// Stops the workers after their current jobs.
    pub fn stop(self) {
        self.signal.stop();
        for thread in self.threads {
            thread.join().expect("a worker panicked");
        }
    }
}

fn work(engine: &dyn Engine, signal: &Signal, clock: WallClock, n: u32, cpu_ns: &AtomicU64) {
    let mut task = Task::wall(1_000_000 + n);
    while !signal.is_stopped() {
        let seen = signal.ready_generation();
        task.now_ns = clock.now_ns();
        let Some(mut job) = engine.next_job(task.now_ns) else {
            let timer = engine.next_timer(task.now_ns);
            let until = timer.map_or(PATIENCE, |at| Duration::from_nanos(at.saturating_sub(task.now_ns)));
            signal.wait_ready(seen, until.min(PATIENCE));
            continue;
        };
        let before = thread_cpu_ns();
        // A panic must not leave clients waiting for work that no longer happens.
        let result = panics::caught("a background job", || {
            job.run(&mut task)?;
            task.now_ns = clock.now_ns();
            job.install(&mut task)
        });
        if let Err(error) = result {
            engine.poison(&error);
        }
        cpu_ns.fetch_add(thread_cpu_ns() - before, Ordering::Relaxed);
        signal.complete();
    }
}

/// Waits until the engine admits a write of `bytes`, and returns the nanoseconds waited: 0 if it was admitted at once.
/// `give_up` is asked at least every 50 ms.
pub fn admit(
    engine: &dyn Engine,
    signal: &Signal,
    clock: WallClock,
    task: &mut Task,
    bytes: u64,
    give_up: &dyn Fn() -> bool,
) -> Result<u64> {
    let began = task.now_ns;
    loop {
        let seen = signal.completed_generation();
        match engine.admit(task, bytes)? {
            Admission::Go => break,
            Admission::Delay { micros } => {
                delay(micros, give_up)?;
                task.now_ns = clock.now_ns();
                break;
            }
            Admission::Wait => signal.wait_completed(seen, PATIENCE),
        }
        if give_up() || signal.is_stopped() {
            return Err(Error::Cancelled);
        }
        task.now_ns = clock.now_ns();
    }
    Ok(task.now_ns - began)
}

fn delay(micros: u64, give_up: &dyn Fn() -> bool) -> Result<()> {
    let mut left = Duration::from_micros(micros);
    while !left.is_zero() {
        let nap = left.min(PATIENCE);
        sleep(nap);
        left -= nap;
        if give_up() {
            return Err(Error::Cancelled);
        }
    }
    Ok(())
}

/// Runs background jobs until the engine has none ready and none running, or `give_up` says so.
pub fn settle(engine: &dyn Engine, signal: &Signal, give_up: &dyn Fn() -> bool) -> Result<()> {
    while !engine.is_settled() {
        if give_up() {
            return Err(Error::Cancelled);
        }
        engine.check()?;
        let seen = signal.completed_generation();
        signal.wake();
        signal.wait_completed(seen, Duration::from_millis(5));
    }
    Ok(())
}

//! The background workers of an engine under the wall clock, and how its clients wait for admission.

use crate::cost::CpuUse;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::task::wall::{WallClock, sleep, spawn, thread_cpu_ns};
use crate::task::{Admission, Signal, Task, panics};
use parking_lot::Mutex;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a worker or a waiting client sleeps before it looks again without being woken.
const PATIENCE: Duration = Duration::from_millis(50);

/// The pool that runs an engine's background jobs.
pub struct Workers {
    signal: Arc<Signal>,
    threads: Vec<JoinHandle<()>>,
    used: Arc<Mutex<CpuUse>>,
}

impl Workers {
    /// Starts `engine.background_threads()` workers.
    pub fn start(engine: &Arc<dyn Engine>, signal: &Arc<Signal>, clock: WallClock) -> Self {
        let used = Arc::<Mutex<CpuUse>>::default();
        let threads = (0..engine.background_threads().max(1))
            .map(|n| {
                let (engine, signal, used) = (engine.clone(), signal.clone(), used.clone());
                spawn(format!("worker-{n}"), move || work(&*engine, &signal, clock, n as u32, &used))
            })
            .collect();
        Self { signal: signal.clone(), threads, used }
    }

    /// What completed jobs used.
    pub fn used(&self) -> CpuUse {
        self.used.lock().clone()
    }

    /// Stops the workers after their current jobs.
    pub fn stop(self) {
        self.signal.stop();
        for thread in self.threads {
            thread.join().expect("a worker panicked");
        }
    }
}

fn work(engine: &dyn Engine, signal: &Signal, clock: WallClock, n: u32, used: &Mutex<CpuUse>) {
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
        let before = CpuUse { ns: thread_cpu_ns(), clients_ns: 0, work: task.work() };
        // A panic must not leave clients waiting for work that no longer happens.
        let result = panics::caught("a background job", || {
            job.run(&mut task)?;
            task.now_ns = clock.now_ns();
            job.install(&mut task)
        });
        if let Err(error) = result {
            engine.poison(&error);
        }
        used.lock().add(&CpuUse { ns: thread_cpu_ns(), clients_ns: 0, work: task.work() }.since(&before));
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
            Admission::Delay { micros } => sleep(Duration::from_micros(micros)),
            Admission::Wait => signal.wait_completed(seen, PATIENCE),
        }
        if give_up() || signal.is_stopped() {
            return Err(Error::Cancelled);
        }
        task.now_ns = clock.now_ns();
    }
    Ok(task.now_ns - began)
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

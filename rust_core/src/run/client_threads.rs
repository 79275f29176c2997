//! The driver under the wall clock: one OS thread for each client, and a watcher that samples intervals, keeps the
//! limits, and ends the phase.

use super::halt::Halt;
use super::phase::{Counted, Limits, Outcome, snapshot};
use super::recorder::Recorder;
use super::workers;
use crate::cost::{CpuUse, Work};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::metrics::{Activity, Phase, Snapshot, Steadiness, interval};
use crate::task::wall::{WallClock, sleep, spawn, thread_cpu_ns};
use crate::task::{Signal, Task, panics};
use crate::workload::{Client, Plan};
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

/// A client with a rate limit naps at most this long before it looks whether to stop.
const NAP: Duration = Duration::from_millis(20);

/// The first intervals that a phase is judged by; they grow with it.
const SHORTEST_JUDGED_NS: u64 = 10_000_000;

/// What a phase runs on.
#[derive(Clone)]
pub struct Stage {
    /// The engine.
    pub engine: Arc<dyn Engine>,
    /// The engine's signal.
    pub signal: Arc<Signal>,
    /// Who counts the engine's bytes.
    pub counted: Arc<dyn Counted>,
    /// The run's clock.
    pub clock: WallClock,
    /// The run's cancellation.
    pub halt: Arc<Halt>,
}

impl Stage {
    /// All counters now.
    pub fn snapshot(&self) -> Result<Snapshot> {
        snapshot(&*self.engine, &*self.counted, self.clock.now_ns())
    }
}

/// What the threads of a phase share.
struct PhaseThreads {
    stage: Stage,
    stop: AtomicBool,
    /// Operations left, where they are limited.
    left: Option<AtomicI64>,
    running: AtomicU32,
    error: Mutex<Option<Error>>,
}

impl PhaseThreads {
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Acquire) || self.stage.halt.is_asked()
    }

    /// Takes a planned operation off those that are left.
    fn take(&self, plan: &Plan) -> bool {
        self.left.as_ref().is_none_or(|left| left.fetch_sub(plan.operations as i64, Ordering::Relaxed) > 0)
    }
}

/// Tells the watcher that a thread ended, however it did.
struct EndsThread<'a>(&'a PhaseThreads);

impl Drop for EndsThread<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
        self.0.stage.halt.ring();
    }
}

/// What one client thread hands back.
struct Done {
    client: Box<dyn Client>,
    blocks_asked: u64,
    cpu: CpuUse,
}

/// Runs a phase. Each interval goes to `on_interval`; the last one may be shorter.
pub fn run_phase(
    stage: &Stage,
    phase: Phase,
    kinds: usize,
    mut clients: Vec<Box<dyn Client>>,
    limits: Limits,
    on_interval: &mut dyn FnMut(Value),
) -> Result<Outcome> {
    let count = clients.len() as u32;
    let shared = Arc::new(PhaseThreads {
        stage: stage.clone(),
        stop: AtomicBool::new(false),
        left: limits.operations.map(|operations| AtomicI64::new(operations as i64)),
        running: AtomicU32::new(count),
        error: Mutex::new(None),
    });
    let recorders: Vec<_> = clients.iter().map(|_| Arc::new(Mutex::new(Recorder::new(kinds)))).collect();
    let before = stage.snapshot()?;
    let began_ns = stage.clock.now_ns();
    for client in &mut clients {
        client.begin(began_ns);
    }
    let threads: Vec<_> = (0..)
        .zip(clients)
        .zip(&recorders)
        .map(|((id, client), recorder)| {
            let (shared, recorder) = (shared.clone(), recorder.clone());
            spawn(format!("client-{id}"), move || run_client(&shared, id, client, &recorder))
        })
        .collect();
    let mut watcher = Watcher {
        phase,
        clients: count,
        recorders: &recorders,
        last: before.clone(),
        memory_bytes: before.engine.memory_bytes,
        judge: limits.watch.judge(&before),
        on_interval,
    };
    let watched = watcher.watch(&shared, &limits);
    shared.stop.store(true, Ordering::Release);
    wait_for_clients(&shared);
    let done: Vec<_> = threads.into_iter().map(std::thread::JoinHandle::join).collect();
    stage.halt.check()?;
    if let Some(error) = shared.error.lock().take() {
        return Err(error);
    }
    watched?;
    let done = done.into_iter().collect::<std::thread::Result<Vec<_>>>();
    let done = done.map_err(|_| Error::poisoned("a client thread panicked"))?;
    let after = watcher.sample(stage, &limits)?;
    let mut recorder = Recorder::new(kinds);
    for one in &recorders {
        recorder.merge(&one.lock());
    }
    let mut cpu = CpuUse::default();
    for done in &done {
        cpu.add(&done.cpu);
    }
    Ok(Outcome {
        before,
        after,
        recorder,
        blocks_asked: done.iter().map(|done| done.blocks_asked).sum(),
        cpu,
        memory_bytes: watcher.memory_bytes,
        busy_ns: None,
        steadiness: watcher.judge,
        clients: done.into_iter().map(|done| done.client).collect(),
    })
}

/// Waits until all clients have ended. A real engine may hold a writer up for long: a cancelled run poisons it.
fn wait_for_clients(shared: &PhaseThreads) {
    let Stage { engine, halt, .. } = &shared.stage;
    let mut is_poisoned = false;
    loop {
        let heard = halt.rings();
        if shared.running.load(Ordering::Acquire) == 0 {
            return;
        }
        if halt.is_asked() && !std::mem::replace(&mut is_poisoned, true) {
            engine.poison(&Error::Cancelled);
        }
        halt.listen(heard, NAP);
    }
}

/// Samples a phase from outside.
struct Watcher<'a> {
    phase: Phase,
    clients: u32,
    recorders: &'a [Arc<Mutex<Recorder>>],
    last: Snapshot,
    memory_bytes: u64,
    judge: Option<Steadiness>,
    on_interval: &'a mut dyn FnMut(Value),
}

impl Watcher<'_> {
    /// Returns when the phase is over.
    fn watch(&mut self, shared: &PhaseThreads, limits: &Limits) -> Result<()> {
        let (stage, halt) = (&shared.stage, &shared.stage.halt);
        let began_ns = self.last.at_ns;
        let interval_ns = limits.interval.as_nanos() as u64;
        let deadline_ns = limits.seconds.map_or(u64::MAX, |seconds| began_ns + (seconds * 1e9) as u64);
        let mut tick_ns = began_ns + interval_ns;
        let mut judge_ns = if self.judge.is_some() { began_ns + SHORTEST_JUDGED_NS } else { u64::MAX };
        loop {
            let heard = halt.rings();
            let now_ns = stage.clock.now_ns();
            let has_ended = shared.running.load(Ordering::Acquire) == 0 || shared.error.lock().is_some();
            if has_ended || halt.is_asked() || now_ns >= deadline_ns {
                return Ok(());
            }
            if now_ns >= judge_ns
                && let Some(judge) = &mut self.judge
            {
                let operations = self.recorders.iter().map(|recorder| recorder.lock().operations()).sum();
                judge.sample(stage.snapshot()?, operations);
                if limits.watch.is_content(judge) {
                    return Ok(());
                }
                judge_ns = now_ns + SHORTEST_JUDGED_NS * judge.length();
            }
            if now_ns >= tick_ns {
                stage.engine.check()?;
                self.sample(stage, limits)?;
                tick_ns += (now_ns - tick_ns) / interval_ns * interval_ns + interval_ns;
                continue;
            }
            halt.listen(heard, Duration::from_nanos(tick_ns.min(judge_ns).min(deadline_ns) - now_ns));
        }
    }

    /// Ends an interval.
    fn sample(&mut self, stage: &Stage, limits: &Limits) -> Result<Snapshot> {
        let mut activity = Activity::default();
        for recorder in self.recorders {
            recorder.lock().drain(&mut activity);
        }
        let now = stage.snapshot()?;
        (self.on_interval)(interval(self.phase, &self.last, &now, &activity, self.clients));
        self.last = now.clone();
        let used = now.engine.memory_bytes;
        self.memory_bytes = self.memory_bytes.max(used);
        match limits.memory_bytes {
            Some(limit) if used > limit => Err(Error::MemoryLimit { used, limit }),
            _ => Ok(now),
        }
    }
}

fn run_client(shared: &PhaseThreads, id: u32, mut client: Box<dyn Client>, recorder: &Mutex<Recorder>) -> Done {
    let _running = EndsThread(shared);
    let mut task = Task::wall(id);
    let operated = panics::caught("a client", || operate(shared, &mut *client, &mut task, recorder));
    if let Err(error) = operated {
        shared.error.lock().get_or_insert(error);
    }
    let cpu = CpuUse { ns: thread_cpu_ns(), clients_ns: 0, work: task.work() };
    Done { client, blocks_asked: task.blocks_asked, cpu }
}

/// One operation after the other until the phase or the client ends.
fn operate(shared: &PhaseThreads, client: &mut dyn Client, task: &mut Task, recorder: &Mutex<Recorder>) -> Result<()> {
    let Stage { engine, signal, clock, .. } = &shared.stage;
    let is_over = || shared.is_over();
    while !shared.is_over() {
        task.now_ns = clock.now_ns();
        let Some(plan) = client.plan(task.now_ns) else { break };
        if !shared.take(&plan) || !pause_until(plan.turn.earliest_ns, *clock, &is_over) {
            break;
        }
        let began_ns = clock.now_ns();
        task.now_ns = began_ns;
        if task.has_to_ask() || plan.write_bytes > 0 {
            match workers::admit(&**engine, signal, *clock, task, plan.write_bytes, &is_over) {
                Ok(0) => {}
                Ok(waited_ns) => recorder.lock().stalled(waited_ns),
                Err(Error::Cancelled) => {
                    recorder.lock().stalled(clock.now_ns() - began_ns);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        task.charge(Work::Operation, 1);
        client.execute(&**engine, task)?;
        recorder.lock().record(&plan, clock.now_ns() - began_ns);
    }
    Ok(())
}

/// Waits for a client's rate limit and says whether the phase still goes on.
fn pause_until(earliest_ns: u64, clock: WallClock, is_over: &dyn Fn() -> bool) -> bool {
    if earliest_ns == 0 {
        return true;
    }
    loop {
        let left = Duration::from_nanos(earliest_ns.saturating_sub(clock.now_ns()));
        if left.is_zero() || is_over() {
            return !is_over();
        }
        sleep(left.min(NAP));
    }
}

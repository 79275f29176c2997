//! One run under the wall clock: real files, OS threads, real time.

use super::Plan;
use crate::error::{Error, Result};
use crate::metrics::{Header, Loaded, Measured, Phase, report};
use crate::runtime::threads::{self, WallClock, Workers};
use crate::runtime::{Signal, Task};
use crate::storage::{FileStorage, RunDirectory};
use crate::workload::Client;
use crate::workload::driver::{Limits, Outcome, Stage, run_phase};
use crate::workload::halt::{Halt, HaltingStorage};
use serde_json::Value;
use std::sync::Arc;

/// The driver's own task, apart from clients and workers.
const DRIVER_TASK: u32 = 2_000_000;

/// Runs the plan to its report. Intervals go to `on_interval` as they end.
pub fn run(plan: &Plan, halt: &Arc<Halt>, on_interval: &mut dyn FnMut(Value)) -> Result<Value> {
    let directory = RunDirectory::claim(&plan.spec.directory)?;
    let result = run_in(&directory, plan, halt, on_interval);
    if plan.spec.keep {
        return result;
    }
    // A run's own error says more than what it leaves behind.
    let removed = directory.remove();
    result.and_then(|report| removed.map(|()| report))
}

fn run_in(
    directory: &RunDirectory,
    plan: &Plan,
    halt: &Arc<Halt>,
    on_interval: &mut dyn FnMut(Value),
) -> Result<Value> {
    let files = FileStorage::new(directory.path(), Arc::default())?;
    let storage = Arc::new(HaltingStorage::new(Arc::new(files), halt.clone()));
    let (signal, clock, mut task) = (Arc::new(Signal::default()), WallClock::default(), Task::wall(DRIVER_TASK));
    let layout = plan.workload.layout();
    let engine = plan.opener.open(plan.spec.engine, &plan.options, layout, storage.clone(), signal.clone(), &mut task);
    let engine = engine.map_err(|error| if halt.is_asked() { Error::Cancelled } else { error })?;
    let workers = Workers::start(&engine, &signal, clock);
    let stage = Stage { engine, signal, storage, clock, halt: halt.clone() };
    let mut run = WallRun { plan, stage, workers: &workers, task, intervals: Vec::new(), on_interval };
    let result = run.phases();
    let WallRun { stage, mut task, .. } = run;
    workers.stop();
    let report = result?;
    halt.check()?;
    task.now_ns = stage.clock.now_ns();
    stage.engine.close(&mut task)?;
    Ok(report)
}

struct WallRun<'a> {
    plan: &'a Plan,
    stage: Stage,
    workers: &'a Workers,
    task: Task,
    intervals: Vec<Value>,
    on_interval: &'a mut dyn FnMut(Value),
}

impl WallRun<'_> {
    fn phases(&mut self) -> Result<Value> {
        let loaded = self.load()?;
        let clients = (0..self.plan.spec.clients).map(|index| self.plan.workload.client(index)).collect();
        let clients = self.warm_up(clients)?;
        let measured = self.measure(clients)?;
        let header = Header {
            clock: "measured",
            engine: self.plan.spec.engine.name(),
            workload: self.plan.workload.parameters(),
            options: self.plan.options.clone(),
            seed: self.plan.spec.seed,
            steady: None,
        };
        Ok(report(header, loaded, &measured, std::mem::take(&mut self.intervals)))
    }

    /// Loads, and lets background work drain, so that every run starts from the same state.
    fn load(&mut self) -> Result<Loaded> {
        let loaders = (0..self.plan.spec.clients).map(|index| self.plan.workload.loader(index)).collect();
        let outcome = self.phase(Phase::Load, loaders, self.limits(None, None))?;
        self.settle()?;
        let settled = self.stage.snapshot()?;
        Ok(Loaded {
            seconds: (settled.at_ns - outcome.before.at_ns) as f64 / 1e9,
            operations: outcome.recorder.by_kind.iter().map(crate::metrics::Latencies::count).sum(),
            user_bytes: settled.engine.user_bytes_written - outcome.before.engine.user_bytes_written,
            written_bytes: settled.meters.since(&outcome.before.meters).total().written_bytes,
            live_bytes: self.plan.workload.live_bytes(),
        })
    }

    fn settle(&mut self) -> Result<()> {
        let Stage { engine, signal, clock, halt, .. } = &self.stage;
        self.task.now_ns = clock.now_ns();
        let settled =
            engine.begin_settle(&mut self.task).and_then(|()| threads::settle(&**engine, signal, &|| halt.is_asked()));
        halt.check()?;
        settled
    }

    fn warm_up(&mut self, clients: Vec<Box<dyn Client>>) -> Result<Vec<Box<dyn Client>>> {
        let seconds = self.plan.spec.warmup_seconds;
        if seconds == 0.0 {
            return Ok(clients);
        }
        let limits = self.limits(Some(seconds), None);
        Ok(self.phase(Phase::Warmup, clients, limits)?.clients)
    }

    fn measure(&mut self, clients: Vec<Box<dyn Client>>) -> Result<Measured> {
        let limits = self.limits(self.plan.spec.seconds, self.plan.spec.operations);
        let workers_cpu_ns = self.workers.cpu_ns();
        let outcome = self.phase(Phase::Run, clients, limits)?;
        let cpu_ns = outcome.cpu_ns + self.workers.cpu_ns() - workers_cpu_ns;
        let names = self.plan.workload.operations().iter().copied();
        Ok(Measured {
            before: outcome.before,
            after: outcome.after,
            by_operation: names.zip(outcome.recorder.by_kind).collect(),
            clients: self.plan.spec.clients,
            stall_ns: outcome.recorder.stall_ns,
            blocks_asked: outcome.blocks_asked,
            cpu_ns: Some(cpu_ns),
            live_bytes: self.plan.workload.live_bytes(),
            memory_bytes: outcome.memory_bytes,
            flash_waf: None,
        })
    }

    fn limits(&self, seconds: Option<f64>, operations: Option<u64>) -> Limits {
        let spec = &self.plan.spec;
        Limits { seconds, operations, interval: spec.interval, memory_bytes: spec.memory_limit }
    }

    fn phase(&mut self, phase: Phase, clients: Vec<Box<dyn Client>>, limits: Limits) -> Result<Outcome> {
        let Self { intervals, on_interval, stage, .. } = self;
        let kinds = self.plan.workload.operations().len();
        run_phase(stage, phase, kinds, clients, limits, &mut |interval| {
            intervals.push(interval.clone());
            on_interval(interval);
        })
    }
}

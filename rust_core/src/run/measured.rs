//! One run under the wall clock: real files, OS threads, real time.

use super::Plan;
use super::phases::{self, Driver};
use crate::device::DeviceStats;
use crate::error::{Error, Result};
use crate::metrics::{Phase, Snapshot};
use crate::runtime::threads::{self, WallClock, Workers};
use crate::runtime::{CpuUse, Signal, Task};
use crate::storage::{FileStorage, RunDirectory, Storage};
use crate::workload::Client;
use crate::workload::driver::{Limits, Outcome, Stage, run_phase};
use crate::workload::halt::{Halt, HaltingStorage};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// The driver's own task, apart from clients and workers.
const DRIVER_TASK: u32 = 2_000_000;

/// Runs the plan in `directory` to its report. Intervals go to `on_interval` as they end.
pub fn run(plan: &Plan, directory: &Path, halt: &Arc<Halt>, on_interval: &mut dyn FnMut(Value)) -> Result<Value> {
    let directory = RunDirectory::claim(directory)?;
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
    let files = Arc::new(FileStorage::new(directory.path(), Arc::default())?);
    let storage = Arc::new(HaltingStorage::new(files.clone(), halt.clone()));
    let (signal, clock, mut task) = (Arc::new(Signal::default()), WallClock::default(), Task::wall(DRIVER_TASK));
    let engine = plan.open(&(storage.clone() as Arc<dyn Storage>), &signal, &mut task);
    let engine = engine.map_err(|error| if halt.is_asked() { Error::Cancelled } else { error })?;
    let workers = Workers::start(&engine, &signal, clock);
    let stage = Stage { engine, signal, storage: storage.clone(), clock, halt: halt.clone() };
    let kinds = plan.workload.operations().len();
    let mut driver = WallDriver { stage, files, storage, workers, task, kinds };
    let result = phases::run(plan, &mut driver, on_interval);
    let WallDriver { stage, workers, mut task, .. } = driver;
    workers.stop();
    let (report, _) = result?;
    halt.check()?;
    task.now_ns = stage.clock.now_ns();
    stage.engine.close(&mut task)?;
    Ok(report)
}

struct WallDriver {
    stage: Stage,
    files: Arc<FileStorage>,
    storage: Arc<HaltingStorage>,
    workers: Workers,
    task: Task,
    kinds: usize,
}

impl Driver for WallDriver {
    fn clock(&self) -> &'static str {
        "measured"
    }

    fn phase(
        &mut self,
        phase: Phase,
        clients: Vec<Box<dyn Client>>,
        limits: Limits,
        on_interval: &mut dyn FnMut(Value),
    ) -> Result<Outcome> {
        // What is loaded becomes durable at once, when it has settled.
        self.storage.skip_syncs(phase == Phase::Load);
        run_phase(&self.stage, phase, self.kinds, clients, limits, on_interval)
    }

    fn settle(&mut self) -> Result<()> {
        let Stage { engine, signal, clock, halt, .. } = &self.stage;
        self.task.now_ns = clock.now_ns();
        let settled =
            engine.begin_settle(&mut self.task).and_then(|()| threads::settle(&**engine, signal, &|| halt.is_asked()));
        halt.check()?;
        settled?;
        self.storage.skip_syncs(false);
        self.files.sync_everything(|| halt.check())
    }

    fn snapshot(&self) -> Result<Snapshot> {
        self.stage.snapshot()
    }

    fn background_cpu(&self) -> Option<CpuUse> {
        Some(self.workers.used())
    }

    fn device(&self) -> Option<DeviceStats> {
        None
    }
}

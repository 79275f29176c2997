//! One run under the wall clock: real files, OS threads, real time.

use super::checked_spec::CheckedSpec;
use super::client_threads::{Stage, run_phase};
use super::halt::{Halt, HaltingStorage};
use super::phase::{Limits, Outcome};
use super::phases::{self, Driver};
use super::workers::{self, Workers};
use crate::cost::CpuUse;
use crate::device::DeviceStats;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::metrics::{Phase, Snapshot};
use crate::storage::{FileStorage, RunDirectory, Storage};
use crate::task::wall::WallClock;
use crate::task::{Signal, Task};
use crate::workload::Client;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// The driver's own task, apart from clients and workers.
const DRIVER_TASK: u32 = 2_000_000;

/// Runs the spec in `directory` to its report. Intervals go to `on_interval` as they end.
pub fn run(run: &CheckedSpec, directory: &Path, halt: &Arc<Halt>, on_interval: &mut dyn FnMut(Value)) -> Result<Value> {
    in_directory(run, directory, |directory| run_in(directory, run, halt, on_interval))
}

/// Runs in a directory of its own, which is removed afterwards unless the spec keeps it.
pub fn in_directory(
    run: &CheckedSpec,
    directory: &Path,
    carry_out: impl FnOnce(&RunDirectory) -> Result<Value>,
) -> Result<Value> {
    let directory = RunDirectory::claim(directory)?;
    let result = carry_out(&directory);
    if run.spec.keep {
        return result;
    }
    // A run's own error says more than what it leaves behind.
    let removed = directory.remove();
    result.and_then(|report| removed.map(|()| report))
}

fn run_in(
    directory: &RunDirectory,
    run: &CheckedSpec,
    halt: &Arc<Halt>,
    on_interval: &mut dyn FnMut(Value),
) -> Result<Value> {
    let files = Arc::new(FileStorage::new(directory.path(), Arc::default())?);
    let storage = Arc::new(HaltingStorage::new(files.clone(), halt.clone()));
    let (signal, clock, mut task) = (Arc::new(Signal::default()), WallClock::default(), Task::wall(DRIVER_TASK));
    let engine = run.open(&(storage.clone() as Arc<dyn Storage>), &signal, &mut task);
    let engine = engine.map_err(|error| if halt.is_asked() { Error::Cancelled } else { error })?;
    let workers = Workers::start(&engine, &signal, clock);
    let stage = Stage { engine, signal, counted: storage.clone(), clock, halt: halt.clone() };
    let kinds = run.workload.operations().len();
    let mut driver = WallDriver { stage, files, storage, workers, task, kinds };
    let result = phases::run(run, &mut driver, on_interval);
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

    fn settle(&mut self) -> Result<u64> {
        let Stage { engine, signal, clock, halt, .. } = &self.stage;
        self.task.now_ns = clock.now_ns();
        let settled =
            engine.begin_settle(&mut self.task).and_then(|()| workers::settle(&**engine, signal, &|| halt.is_asked()));
        halt.check()?;
        settled?;
        self.storage.skip_syncs(false);
        self.files.sync_everything(|| halt.check()).map(|()| 0)
    }

    fn engine(&self) -> &dyn Engine {
        &*self.stage.engine
    }

    fn snapshot(&self) -> Result<Snapshot> {
        self.stage.snapshot()
    }

    fn background_cpu(&self) -> Option<CpuUse> {
        Some(self.workers.used())
    }

    fn used_cpu(&self) -> Result<CpuUse> {
        Ok(self.workers.used())
    }

    fn device(&self) -> Option<DeviceStats> {
        None
    }
}

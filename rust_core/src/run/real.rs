//! One run of a real engine: its own files, threads and stalls, under the wall clock.

use super::checked_spec::CheckedSpec;
use super::client_threads::{Stage, run_phase};
use super::halt::Halt;
use super::measured::in_directory;
use super::phase::{Limits, Outcome};
use super::phases::{self, Driver};
use super::workers;
use crate::cost::{CpuUse, WorkCounts};
use crate::device::DeviceStats;
use crate::error::Result;
use crate::metrics::{Phase, Snapshot};
use crate::real::kernel::Kernel;
use crate::real::{RocksDb, RocksDbOptions};
use crate::storage::RunDirectory;
use crate::task::wall::WallClock;
use crate::task::{Signal, Task};
use crate::workload::Client;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// The driver's own task, apart from those of clients.
const DRIVER_TASK: u32 = 2_000_000;

/// Runs the spec in `directory` to its report. Intervals go to `on_interval` as they end.
pub fn run(run: &CheckedSpec, directory: &Path, halt: &Arc<Halt>, on_interval: &mut dyn FnMut(Value)) -> Result<Value> {
    in_directory(run, directory, |directory| run_in(directory, run, halt, on_interval))
}

fn run_in(
    directory: &RunDirectory,
    run: &CheckedSpec,
    halt: &Arc<Halt>,
    on_interval: &mut dyn FnMut(Value),
) -> Result<Value> {
    let engine = Arc::new(RocksDb::open(directory.path(), &RocksDbOptions::from_json(&run.options)?)?);
    let stage = Stage {
        engine: engine.clone(),
        signal: Arc::new(Signal::default()),
        counted: engine.clone(),
        clock: WallClock::default(),
        halt: halt.clone(),
    };
    let mut driver = RealDriver {
        stage,
        engine,
        task: Task::wall(DRIVER_TASK),
        kinds: run.workload.operations().len(),
        clients_cpu_ns: 0,
        kernel: Value::Null,
    };
    let (mut report, _) = phases::run(run, &mut driver, on_interval)?;
    halt.check()?;
    report["product"] = json!({"name": "RocksDB", "version": driver.engine.version()});
    report["kernel"] = driver.kernel;
    Ok(report)
}

struct RealDriver {
    stage: Stage,
    engine: Arc<RocksDb>,
    task: Task,
    kinds: usize,
    /// What the threads of clients have used.
    clients_cpu_ns: u64,
    /// What the kernel counted in the measured phase.
    kernel: Value,
}

impl Driver for RealDriver {
    fn clock(&self) -> &'static str {
        "real"
    }

    fn phase(
        &mut self,
        phase: Phase,
        clients: Vec<Box<dyn Client>>,
        limits: Limits,
        on_interval: &mut dyn FnMut(Value),
    ) -> Result<Outcome> {
        let (kernel, stalled_ns, count) = (Kernel::now()?, self.engine.stalled_ns(), clients.len() as u64);
        let mut outcome = run_phase(&self.stage, phase, self.kinds, clients, limits, on_interval)?;
        self.kernel = counted_since(&kernel)?;
        self.clients_cpu_ns += outcome.cpu.ns;
        // RocksDB holds all writers up at once.
        outcome.recorder.stall_ns = (self.engine.stalled_ns() - stalled_ns) * count;
        let asked = |snapshot: &Snapshot| snapshot.engine.cache_hits + snapshot.engine.cache_misses;
        outcome.blocks_asked = asked(&outcome.after) - asked(&outcome.before);
        Ok(outcome)
    }

    fn settle(&mut self) -> Result<()> {
        let Stage { engine, signal, halt, .. } = &self.stage;
        let settled =
            engine.begin_settle(&mut self.task).and_then(|()| workers::settle(&**engine, signal, &|| halt.is_asked()));
        halt.check()?;
        settled
    }

    fn snapshot(&self) -> Result<Snapshot> {
        self.stage.snapshot()
    }

    /// All of the process's but its clients': the threads of RocksDB, and next to nothing of who watches.
    fn background_cpu(&self) -> Option<CpuUse> {
        let used = Kernel::now().ok()?.cpu_ns;
        Some(CpuUse { ns: used.saturating_sub(self.clients_cpu_ns), work: WorkCounts::default() })
    }

    fn device(&self) -> Option<DeviceStats> {
        None
    }
}

/// What the kernel counted since then, as a report shows it.
fn counted_since(before: &Kernel) -> Result<Value> {
    let now = Kernel::now()?;
    Ok(json!({
        "read_bytes": now.read_bytes - before.read_bytes,
        "written_bytes": now.written_bytes - before.written_bytes,
        "cancelled_bytes": now.cancelled_bytes - before.cancelled_bytes,
        "cpu_us": (now.cpu_ns - before.cpu_ns) as f64 / 1e3,
        "resident_bytes": now.resident_bytes,
    }))
}

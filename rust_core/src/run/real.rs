//! One run of a real engine: its own files, threads and stalls, under the wall clock.

use super::checked_spec::CheckedSpec;
use super::client_threads::{Stage, run_phase};
use super::halt::Halt;
use super::measured::in_directory;
use super::phase::{Limits, Outcome};
use super::phases::{self, Driver};
use super::workers;
use crate::cost::CpuUse;
use crate::device::DeviceStats;
use crate::engine::Engine;
use crate::error::Result;
use crate::metrics::{Latencies, Phase, Snapshot, ratio};
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
        kernel: Vec::new(),
    };
    let (mut report, _) = phases::run(run, &mut driver, on_interval)?;
    halt.check()?;
    leave_out_uncounted(&mut report["bytes"]);
    report["product"] = json!({"name": "RocksDB", "version": driver.engine.version()});
    for (name, value) in driver.kernel {
        report["metrics"][name] = json!(value);
    }
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
    kernel: Vec<(&'static str, f64)>,
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
        let mut outcome = run_real_phase(&self.stage, phase, self.kinds, clients, limits, on_interval)?;
        self.kernel = kernel_metrics(&kernel, &Kernel::now()?, &outcome);
        self.clients_cpu_ns += outcome.cpu.ns;
        // The report divides by the clients: what is left is the time in which writers were held up.
        outcome.recorder.stall_ns = self.engine.stalled_ns().saturating_sub(stalled_ns) * count;
        Ok(outcome)
    }

    fn settle(&mut self) -> Result<u64> {
        let Stage { engine, signal, halt, .. } = &self.stage;
        let settled =
            engine.begin_settle(&mut self.task).and_then(|()| workers::settle(&**engine, signal, &|| halt.is_asked()));
        halt.check()?;
        settled.map(|()| 0)
    }

    fn engine(&self) -> &dyn Engine {
        &*self.stage.engine
    }

    fn snapshot(&self) -> Result<Snapshot> {
        self.stage.snapshot()
    }

    /// All of the process's but its clients': the threads of RocksDB, and next to nothing of who watches.
    fn background_cpu(&self) -> Option<CpuUse> {
        self.used_cpu().ok()
    }

    fn used_cpu(&self) -> Result<CpuUse> {
        let used = Kernel::now()?.cpu_ns;
        Ok(CpuUse { ns: used.saturating_sub(self.clients_cpu_ns), ..CpuUse::default() })
    }

    fn device(&self) -> Option<DeviceStats> {
        None
    }
}

/// RocksDB counts bytes by purpose, but not the calls of every purpose: what it does not count is absent, not zero.
fn leave_out_uncounted(bytes: &mut Value) {
    for (purpose, counts) in bytes.as_object_mut().into_iter().flatten() {
        let counted: &[&str] = match purpose.as_str() {
            "wal" => &["written_bytes", "syncs"],
            "read" => &["read_bytes", "reads"],
            _ => &["written_bytes"],
        };
        counts.as_object_mut().into_iter().for_each(|counts| counts.retain(|name, _| counted.contains(&name.as_str())));
    }
}

/// Runs a phase on a real engine, which counts itself what it asks its cache for. Intervals do not say how long it held
/// writers up: if anything, it tells that of whole phases.
pub fn run_real_phase(
    stage: &Stage,
    phase: Phase,
    kinds: usize,
    clients: Vec<Box<dyn Client>>,
    limits: Limits,
    on_interval: &mut dyn FnMut(Value),
) -> Result<Outcome> {
    let mut without_stalls = |mut interval: Value| {
        interval.as_object_mut().into_iter().for_each(|interval| drop(interval.remove("stall_s")));
        on_interval(interval);
    };
    let mut outcome = run_phase(stage, phase, kinds, clients, limits, &mut without_stalls)?;
    let asked = |snapshot: &Snapshot| snapshot.engine.cache_hits + snapshot.engine.cache_misses;
    outcome.blocks_asked = asked(&outcome.after) - asked(&outcome.before);
    Ok(outcome)
}

/// What the kernel counted between two moments, per operation of the phase between them.
pub fn kernel_metrics(before: &Kernel, after: &Kernel, phase: &Outcome) -> Vec<(&'static str, f64)> {
    let operations: u64 = phase.recorder.by_kind.iter().map(Latencies::count).sum();
    let kb_per_op = |after: u64, before: u64| ratio(after.saturating_sub(before) as f64 / 1024.0, operations as f64);
    [
        ("kernel_read_kb_per_op", kb_per_op(after.read_bytes, before.read_bytes)),
        ("kernel_write_kb_per_op", kb_per_op(after.written_bytes, before.written_bytes)),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

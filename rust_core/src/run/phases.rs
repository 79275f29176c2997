//! The phases of a run, the same under either clock: load and settle, warm up, measure, report.

use super::checked_spec::CheckedSpec;
use super::phase::{Limits, Outcome, Watch};
use super::report::{FlashWear, Header, Loaded, Measured, report};
use super::spec::{Clock, Warmup};
use crate::cost::CpuUse;
use crate::device::DeviceStats;
use crate::error::Result;
use crate::metrics::{Latencies, Length, Phase, Snapshot, Steadiness, Steady};
use crate::workload::Client;
use serde_json::Value;

type Clients = Vec<Box<dyn Client>>;

/// Carries phases out under one clock.
pub trait Driver {
    /// `measured`, `real` or `simulated`.
    fn clock(&self) -> &'static str;

    /// Runs clients until the limits end the phase. Each interval goes to `on_interval`.
    fn phase(
        &mut self,
        phase: Phase,
        clients: Clients,
        limits: Limits,
        on_interval: &mut dyn FnMut(Value),
    ) -> Result<Outcome>;

    /// Lets background work drain.
    fn settle(&mut self) -> Result<()>;

    /// All counters now.
    fn snapshot(&self) -> Result<Snapshot>;

    /// What background work has used; `None` where [`Outcome::cpu`] holds that too.
    fn background_cpu(&self) -> Option<CpuUse>;

    /// What a simulated device has counted; `None` for a real one.
    fn device(&self) -> Option<DeviceStats>;
}

/// Runs all phases of `run` and reports them. The clients come back as the measured phase left them.
pub fn run(run: &CheckedSpec, driver: &mut dyn Driver, on_interval: &mut dyn FnMut(Value)) -> Result<(Value, Clients)> {
    let mut intervals = Vec::new();
    let mut keep = |interval: Value| {
        intervals.push(interval.clone());
        on_interval(interval);
    };
    let loaded = load(run, driver, &mut keep)?;
    let clients = (0..run.spec.clients).map(|index| run.workload.client(index)).collect();
    let (clients, warmup) = warm_up(run, driver, clients, &mut keep)?;
    let (measured, scored, clients) = measure(run, driver, clients, &mut keep)?;
    let header = Header {
        clock: driver.clock(),
        engine: run.spec.engine.name(),
        workload: run.workload.parameters(),
        options: run.options.clone(),
        scale: run.spec.scale,
        seed: run.spec.seed,
        steady: warmup.zip(scored).map(|(warmup, scored)| Steady::judged(&warmup, &scored, planned(run))),
    };
    Ok((report(header, loaded, &measured, intervals), clients))
}

/// Loads, and lets background work drain, so that every run starts from the same state.
fn load(run: &CheckedSpec, driver: &mut dyn Driver, on_interval: &mut dyn FnMut(Value)) -> Result<Loaded> {
    let loaders = (0..run.spec.clients).map(|index| run.workload.loader(index)).collect();
    let outcome = driver.phase(Phase::Load, loaders, limits(run, None, None, Watch::Unwatched), on_interval)?;
    driver.settle()?;
    let settled = driver.snapshot()?;
    Ok(Loaded {
        seconds: (settled.at_ns - outcome.before.at_ns) as f64 / 1e9,
        operations: outcome.recorder.by_kind.iter().map(Latencies::count).sum(),
        user_bytes: settled.engine.user_bytes_written - outcome.before.engine.user_bytes_written,
        written_bytes: settled.meters.since(&outcome.before.meters).total().written_bytes,
        live_bytes: run.workload.live_bytes(),
    })
}

/// Lets clients run unscored, and hands back what was seen if the warm-up was to last until nothing changes any more.
fn warm_up(
    run: &CheckedSpec,
    driver: &mut dyn Driver,
    clients: Clients,
    on_interval: &mut dyn FnMut(Value),
) -> Result<(Clients, Option<Steadiness>)> {
    let limits = match run.spec.warmup {
        Warmup::Seconds(0.0) => return Ok((clients, None)),
        Warmup::Seconds(seconds) => limits(run, Some(seconds), None, Watch::Unwatched),
        Warmup::UntilSteady { most_seconds, most_operations } => {
            limits(run, most_seconds, most_operations, Watch::UntilWarmFor(planned(run)))
        }
    };
    let outcome = driver.phase(Phase::Warmup, clients, limits, on_interval)?;
    Ok((outcome.clients, outcome.steadiness))
}

fn measure(
    run: &CheckedSpec,
    driver: &mut dyn Driver,
    clients: Clients,
    on_interval: &mut dyn FnMut(Value),
) -> Result<(Measured, Option<Steadiness>, Clients)> {
    let watch = match run.spec.warmup {
        Warmup::Seconds(_) => Watch::Unwatched,
        Warmup::UntilSteady { .. } => Watch::Judged,
    };
    let limits = limits(run, run.spec.seconds, run.spec.operations, watch);
    let (background, device) = (driver.background_cpu(), driver.device());
    let outcome = driver.phase(Phase::Run, clients, limits, on_interval)?;
    let background = driver.background_cpu().zip(background).map(|(after, before)| after.since(&before));
    let mut cpu = outcome.cpu;
    if let Some(used) = &background {
        cpu.add(used);
    }
    let names = run.workload.operations().iter().copied();
    let wear = device.zip(driver.device()).zip(endurance_bytes(run));
    let flash = wear.map(|((before, after), endurance_bytes)| FlashWear {
        device_bytes: after.written_bytes - before.written_bytes,
        trimmed_bytes: after.trimmed_bytes - before.trimmed_bytes,
        nand_bytes: after.nand_bytes - before.nand_bytes,
        erases: after.erases - before.erases,
        endurance_bytes,
    });
    let measured = Measured {
        before: outcome.before,
        after: outcome.after,
        by_operation: names.zip(outcome.recorder.by_kind).collect(),
        clients: run.spec.clients,
        stall_ns: outcome.recorder.stall_ns,
        blocks_asked: outcome.blocks_asked,
        cpu: Some(cpu),
        background,
        live_bytes: run.workload.live_bytes(),
        memory_bytes: outcome.memory_bytes,
        flash,
    };
    Ok((measured, outcome.steadiness, outcome.clients))
}

/// What the flash of the simulated machine is rated to take; `None` without flash.
fn endurance_bytes(run: &CheckedSpec) -> Option<f64> {
    match &run.spec.clock {
        Clock::Simulated(hardware) => hardware.device.endurance_bytes(),
        Clock::Measured { .. } | Clock::Real { .. } => None,
    }
}

fn planned(run: &CheckedSpec) -> Length {
    Length { seconds: run.spec.seconds, operations: run.spec.operations }
}

fn limits(run: &CheckedSpec, seconds: Option<f64>, operations: Option<u64>, watch: Watch) -> Limits {
    let spec = &run.spec;
    Limits { seconds, operations, interval: spec.interval, memory_bytes: spec.memory_limit, watch }
}

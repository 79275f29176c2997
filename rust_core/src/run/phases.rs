//! The phases of a run, the same under either clock: load and settle, warm up, measure, report.

use super::Plan;
use crate::error::Result;
use crate::metrics::{Header, Latencies, Loaded, Measured, Phase, Snapshot, report};
use crate::workload::Client;
use crate::workload::driver::{Limits, Outcome};
use serde_json::Value;

/// Carries phases out under one clock.
pub trait Driver {
    /// `measured` or `simulated`.
    fn clock(&self) -> &'static str;

    /// Runs clients until the limits end the phase. Each interval goes to `on_interval`.
    fn phase(
        &mut self,
        phase: Phase,
        clients: Vec<Box<dyn Client>>,
        limits: Limits,
        on_interval: &mut dyn FnMut(Value),
    ) -> Result<Outcome>;

    /// Lets background work drain.
    fn settle(&mut self) -> Result<()>;

    /// All counters now.
    fn snapshot(&self) -> Result<Snapshot>;

    /// CPU nanoseconds that background work has used.
    fn background_cpu_ns(&self) -> u64;

    /// Bytes that the host and the flash of a simulated device have written; `None` without flash.
    fn flash_bytes(&self) -> Option<(u64, u64)>;
}

/// Runs all phases of `plan` and reports them. The clients come back as the measured phase left them.
pub fn run(
    plan: &Plan,
    driver: &mut dyn Driver,
    on_interval: &mut dyn FnMut(Value),
) -> Result<(Value, Vec<Box<dyn Client>>)> {
    let mut intervals = Vec::new();
    let mut keep = |interval: Value| {
        intervals.push(interval.clone());
        on_interval(interval);
    };
    let loaded = load(plan, driver, &mut keep)?;
    let clients = (0..plan.spec.clients).map(|index| plan.workload.client(index)).collect();
    let clients = warm_up(plan, driver, clients, &mut keep)?;
    let (measured, clients) = measure(plan, driver, clients, &mut keep)?;
    let header = Header {
        clock: driver.clock(),
        engine: plan.spec.engine.name(),
        workload: plan.workload.parameters(),
        options: plan.options.clone(),
        seed: plan.spec.seed,
        steady: None,
    };
    Ok((report(header, loaded, &measured, intervals), clients))
}

/// Loads, and lets background work drain, so that every run starts from the same state.
fn load(plan: &Plan, driver: &mut dyn Driver, on_interval: &mut dyn FnMut(Value)) -> Result<Loaded> {
    let loaders = (0..plan.spec.clients).map(|index| plan.workload.loader(index)).collect();
    let outcome = driver.phase(Phase::Load, loaders, limits(plan, None, None), on_interval)?;
    driver.settle()?;
    let settled = driver.snapshot()?;
    Ok(Loaded {
        seconds: (settled.at_ns - outcome.before.at_ns) as f64 / 1e9,
        operations: outcome.recorder.by_kind.iter().map(Latencies::count).sum(),
        user_bytes: settled.engine.user_bytes_written - outcome.before.engine.user_bytes_written,
        written_bytes: settled.meters.since(&outcome.before.meters).total().written_bytes,
        live_bytes: plan.workload.live_bytes(),
    })
}

fn warm_up(
    plan: &Plan,
    driver: &mut dyn Driver,
    clients: Vec<Box<dyn Client>>,
    on_interval: &mut dyn FnMut(Value),
) -> Result<Vec<Box<dyn Client>>> {
    let seconds = plan.spec.warmup_seconds;
    if seconds == 0.0 {
        return Ok(clients);
    }
    Ok(driver.phase(Phase::Warmup, clients, limits(plan, Some(seconds), None), on_interval)?.clients)
}

fn measure(
    plan: &Plan,
    driver: &mut dyn Driver,
    clients: Vec<Box<dyn Client>>,
    on_interval: &mut dyn FnMut(Value),
) -> Result<(Measured, Vec<Box<dyn Client>>)> {
    let limits = limits(plan, plan.spec.seconds, plan.spec.operations);
    let (background_cpu_ns, flash) = (driver.background_cpu_ns(), driver.flash_bytes());
    let outcome = driver.phase(Phase::Run, clients, limits, on_interval)?;
    let names = plan.workload.operations().iter().copied();
    let flash_waf = flash.zip(driver.flash_bytes()).and_then(|(before, after)| {
        let host = after.0 - before.0;
        (host > 0).then(|| (after.1 - before.1) as f64 / host as f64)
    });
    let measured = Measured {
        before: outcome.before,
        after: outcome.after,
        by_operation: names.zip(outcome.recorder.by_kind).collect(),
        clients: plan.spec.clients,
        stall_ns: outcome.recorder.stall_ns,
        blocks_asked: outcome.blocks_asked,
        cpu_ns: Some(outcome.cpu_ns + driver.background_cpu_ns() - background_cpu_ns),
        live_bytes: plan.workload.live_bytes(),
        memory_bytes: outcome.memory_bytes,
        flash_waf,
    };
    Ok((measured, outcome.clients))
}

fn limits(plan: &Plan, seconds: Option<f64>, operations: Option<u64>) -> Limits {
    let spec = &plan.spec;
    Limits { seconds, operations, interval: spec.interval, memory_bytes: spec.memory_limit }
}

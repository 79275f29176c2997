//! The phases of a run, the same under either clock: load and settle, warm up, measure, report.

use super::checked_spec::CheckedSpec;
use super::debt::{Debt, Payment, Terms};
use super::phase::{Limits, Outcome, Watch};
use super::report::{Header, Loaded, Measured, report};
use super::spec::{Clock, Ends, Warmup};
use super::wear::FlashWear;
use crate::cost::CpuUse;
use crate::device::DeviceStats;
use crate::engine::Engine;
use crate::error::Result;
use crate::metrics::{Latencies, Length, Phase, Snapshot, Steadiness};
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

    /// Lets background work drain, and says for how many nanoseconds it waited to be sure that nothing came any more.
    fn settle(&mut self) -> Result<u64>;

    /// Completes a load: what is written once all rows are there, and background work.
    fn settle_load(&mut self) -> Result<()> {
        self.settle().map(drop)
    }

    /// Merges what the load left in level 0, and lets background work drain.
    fn empty_level0(&mut self) -> Result<()> {
        self.engine().empty_level0(true)?;
        self.settle()?;
        self.engine().empty_level0(false)
    }

    /// The engine.
    fn engine(&self) -> &dyn Engine;

    /// All counters now.
    fn snapshot(&self) -> Result<Snapshot>;

    /// What background work has used; `None` where [`Outcome::cpu`] holds that too.
    fn background_cpu(&self) -> Option<CpuUse>;

    /// What was used by all that goes on while clients are stopped.
    fn used_cpu(&self) -> Result<CpuUse>;

    /// What a simulated device has counted; `None` for a real one.
    fn device(&self) -> Option<DeviceStats>;

    /// Has the background work on until it owes no more than so many bytes, and gives the cores of the machine. `None`
    /// where it would take real time.
    fn pay_down_to(&mut self, _debt_bytes: u64) -> Result<Option<u32>> {
        Ok(None)
    }
}

/// Data that was loaded and has settled.
#[derive(Debug, Clone)]
pub struct Load {
    /// What it took.
    pub loaded: Loaded,
    /// Its intervals.
    pub intervals: Vec<Value>,
}

/// Runs all phases of `run` and reports them. The clients come back as the measured phase left them.
pub fn run(run: &CheckedSpec, driver: &mut dyn Driver, on_interval: &mut dyn FnMut(Value)) -> Result<(Value, Clients)> {
    let load = load(run, driver, on_interval)?;
    run_loaded(run, driver, load, on_interval)
}

/// Runs the phases behind the load of `run` and reports all of them.
pub fn run_loaded(
    run: &CheckedSpec,
    driver: &mut dyn Driver,
    Load { loaded, mut intervals }: Load,
    on_interval: &mut dyn FnMut(Value),
) -> Result<(Value, Clients)> {
    let mut keep = |interval: Value| {
        intervals.push(interval.clone());
        on_interval(interval);
    };
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
        steady: warmup.zip(scored).map(|(warmup, scored)| measured.judged(&warmup, &scored, planned(run))),
    };
    Ok((report(header, loaded, &measured, intervals), clients))
}

/// Loads, and lets background work drain, so that every run starts from the same state.
pub fn load(run: &CheckedSpec, driver: &mut dyn Driver, on_interval: &mut dyn FnMut(Value)) -> Result<Load> {
    let mut intervals = Vec::new();
    let mut keep = |interval: Value| {
        intervals.push(interval.clone());
        on_interval(interval);
    };
    let loaders = (0..run.spec.clients).map(|index| run.workload.loader(index)).collect();
    let outcome = driver.phase(Phase::Load, loaders, limits(run, None, None, Watch::Unwatched), &mut keep)?;
    driver.settle_load()?;
    if !run.workload.writes() {
        // How many files a load leaves there is chance, and nothing that follows would change it.
        driver.empty_level0()?;
    }
    let settled = driver.snapshot()?;
    let loaded = Loaded {
        seconds: (settled.at_ns - outcome.before.at_ns) as f64 / 1e9,
        operations: outcome.recorder.by_kind.iter().map(Latencies::count).sum(),
        user_bytes: settled.engine.user_bytes_written - outcome.before.engine.user_bytes_written,
        written_bytes: settled.meters.since(&outcome.before.meters).total().written_bytes,
        live_bytes: run.workload.live_bytes(),
    };
    Ok(Load { loaded, intervals })
}

/// Lets clients run unscored, and hands back what was seen if the warm-up was to last until nothing changes any more.
fn warm_up(
    run: &CheckedSpec,
    driver: &mut dyn Driver,
    clients: Clients,
    on_interval: &mut dyn FnMut(Value),
) -> Result<(Clients, Option<Steadiness>)> {
    let limits = match run.spec.warmup {
        Warmup::Fixed { seconds: None | Some(0.0), operations: None } => return Ok((clients, None)),
        Warmup::Fixed { seconds, operations } => limits(run, seconds, operations, Watch::Unwatched),
        Warmup::UntilSteady { most_seconds, most_operations } => {
            limits(run, most_seconds, most_operations, Watch::UntilWarmFor(planned(run)))
        }
        Warmup::UntilFull { cache_share, most_seconds, most_operations } => {
            limits(run, most_seconds, most_operations, Watch::UntilFull { cache_share })
        }
    };
    let outcome = driver.phase(Phase::Warmup, clients, limits, on_interval)?;
    let seen = outcome.steadiness.filter(|_| matches!(limits.watch, Watch::UntilWarmFor(_)));
    Ok((outcome.clients, seen))
}

fn measure(
    run: &CheckedSpec,
    driver: &mut dyn Driver,
    clients: Clients,
    on_interval: &mut dyn FnMut(Value),
) -> Result<(Measured, Option<Steadiness>, Clients)> {
    let watch = match run.spec.warmup {
        Warmup::Fixed { .. } | Warmup::UntilFull { .. } => Watch::Unwatched,
        Warmup::UntilSteady { .. } => Watch::Judged,
    };
    let limits = limits(run, run.spec.seconds, run.spec.operations, watch);
    if run.spec.empties_level0 {
        driver.empty_level0()?;
    }
    if run.spec.ends == Ends::Settled {
        driver.settle()?;
    }
    let (background, device) = (driver.background_cpu(), driver.device());
    let mut outcome = driver.phase(Phase::Run, clients, limits, on_interval)?;
    let device_after = driver.device();
    let background = driver.background_cpu().zip(background).map(|(after, before)| after.since(&before));
    let debt = match (run.spec.ends, watch) {
        (Ends::Settled, _) => {
            let payment = paid_by(driver, |driver| driver.settle())?;
            outcome.after.disk_bytes = driver.snapshot()?.disk_bytes;
            let terms = if run.spec.engine.merges() { Terms::Whole } else { Terms::WholeButTime };
            Some(Debt { terms, payment })
        }
        (Ends::Running, Watch::Judged) => added_by(driver, &outcome)?,
        (Ends::Running, _) => None,
    };
    let mut cpu = outcome.cpu;
    if let Some(used) = &background {
        cpu.add(used);
    }
    let names = run.workload.operations().iter().copied();
    let wear = device.zip(device_after).zip(endurance_bytes(run));
    let flash =
        wear.map(|((before, after), endurance_bytes)| FlashWear { device: after.since(&before), endurance_bytes });
    let backlog_ns = outcome.clients.iter().filter_map(|client| client.behind_ns(outcome.after.at_ns)).max();
    let measured = Measured {
        before: outcome.before,
        after: outcome.after,
        by_operation: names.zip(outcome.recorder.by_kind).collect(),
        clients: run.spec.clients,
        stall_ns: outcome.recorder.stall_ns,
        backlog_ns,
        blocks_asked: outcome.blocks_asked,
        cpu: Some(cpu),
        background,
        live_bytes: run.workload.live_bytes(),
        memory_bytes: outcome.memory_bytes,
        flash,
        debt,
    };
    Ok((measured, outcome.steadiness, outcome.clients))
}

/// What a phase that goes on adds to the debt of the background, which pays that now, in virtual time.
fn added_by(driver: &mut dyn Driver, outcome: &Outcome) -> Result<Option<Debt>> {
    let Some(busy_ns) = outcome.busy_ns else { return Ok(None) };
    let (before_bytes, after_bytes) = (outcome.before.engine.debt_bytes, outcome.after.engine.debt_bytes);
    let mut cores = None;
    let payment = paid_by(driver, |driver| {
        cores = driver.pay_down_to(before_bytes)?;
        Ok(0)
    })?;
    let Some(cores) = cores else { return Ok(None) };
    let terms = Terms::Added { before_bytes, after_bytes, busy_seconds: busy_ns as f64 / 1e9, cores };
    Ok(Some(Debt { terms, payment }))
}

/// What background work took that `work` has done, less the nanoseconds that this says it did nothing.
fn paid_by(driver: &mut dyn Driver, work: impl FnOnce(&mut dyn Driver) -> Result<u64>) -> Result<Payment> {
    let (before, cpu, device) = (driver.snapshot()?, driver.used_cpu()?, driver.device());
    let idle_ns = work(driver)?;
    let after = driver.snapshot()?;
    let device = driver.device().zip(device).map(|(after, before)| after.since(&before));
    Ok(Payment {
        left_bytes: after.engine.debt_bytes,
        seconds: (after.at_ns - before.at_ns).saturating_sub(idle_ns) as f64 / 1e9,
        io: after.meters.since(&before.meters).total(),
        cpu: driver.used_cpu()?.since(&cpu),
        device: device.unwrap_or_default(),
    })
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

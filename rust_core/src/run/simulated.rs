//! One run under the virtual clock: files in memory over a modelled device, one thread, the same report every time.

use super::checked_spec::CheckedSpec;
use super::halt::{Halt, HaltingStorage};
use super::machine::HardwareSpec;
use super::phase::{Limits, Outcome, Watch, snapshot};
use super::phases::{self, Driver};
use super::product::{Called, product_of};
use super::recorder::Recorder;
use super::simulation::{self, Arrival, Observer, Simulation};
use super::world::World;
use crate::cost::{CpuUse, Work};
use crate::device::DeviceStats;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::metrics::{Activity, Phase, Snapshot, Steadiness, interval};
use crate::storage::{SimulatedStorage, Storage};
use crate::task::{Signal, Task};
use crate::workload::{self, Client};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The driver's own task, apart from clients and jobs.
const DRIVER_TASK: u32 = 2_000_000;

/// After so many intervals of one length a phase samples half as often: virtual hours need no more points than seconds.
const INTERVALS_OF_ONE_LENGTH: u32 = 400;

/// The first intervals that a phase is judged by, in operations; they grow with it.
const SHORTEST_JUDGED: u64 = 16;

/// How a run ended: what the same spec must give again, all of it.
pub struct End {
    /// The report.
    pub report: Value,
    /// The virtual clock when the engine was closed.
    pub now_ns: u64,
    /// The clients as the measured phase left them.
    pub clients: Vec<Box<dyn Client>>,
}

/// Runs the spec on `hardware` to its end. Intervals go to `on_interval` as they end.
pub fn run(
    run: &CheckedSpec,
    hardware: &HardwareSpec,
    halt: &Arc<Halt>,
    on_interval: &mut dyn FnMut(Value),
) -> Result<End> {
    let (product, scale) = (product_of(run.spec.engine, run.workload.layout()), run.spec.scale);
    let world = Arc::new(Mutex::new(hardware.world(product, scale)?));
    let (free, page_cache) = (hardware.device.free_bytes(), hardware.page_cache_bytes);
    let files = Arc::new(SimulatedStorage::new(Arc::default(), free, page_cache, scale));
    let storage: Arc<dyn Storage> = Arc::new(HaltingStorage::new(files.clone(), halt.clone()));
    let signal = Arc::<Signal>::default();
    let mut task = Simulation::task(&world, DRIVER_TASK, 0);
    let engine = run.open(&storage, &signal, &mut task);
    let mut engine = engine.map_err(|error| if halt.is_asked() { Error::Cancelled } else { error })?;
    if hardware.cost.speaks_for(product) {
        engine = Arc::new(Called::new(engine));
    }
    let simulation = Simulation::new(world.clone(), engine.clone(), signal, task.now_ns);
    let kinds = run.workload.operations().len();
    let mut driver = VirtualDriver { simulation, world, engine, storage, halt: halt.clone(), kinds };
    let result = phases::run(run, &mut driver, on_interval);
    halt.check()?;
    let (mut report, clients) = result?;
    report["hardware"] = json!(hardware);
    report["device"] = driver.device_json();
    if page_cache > 0 {
        let pages = files.page_counts();
        report["page_cache"] = json!({"hits": pages.hits, "misses": pages.misses});
    }
    let mut task = Simulation::task(&driver.world, DRIVER_TASK, driver.simulation.now_ns());
    driver.engine.close(&mut task)?;
    Ok(End { report, now_ns: task.now_ns, clients })
}

struct VirtualDriver {
    simulation: Simulation,
    world: Arc<Mutex<World>>,
    engine: Arc<dyn Engine>,
    storage: Arc<dyn Storage>,
    halt: Arc<Halt>,
    kinds: usize,
}

impl VirtualDriver {
    /// What the device counted since the run began.
    fn device_json(&self) -> Value {
        let stats = self.world.lock().device_stats();
        json!({
            "read_bytes": stats.read_bytes,
            "written_bytes": stats.written_bytes,
            "trimmed_bytes": stats.trimmed_bytes,
            "nand_bytes": stats.nand_bytes,
            "erases": stats.erases,
            "busy_s": stats.busy_ns as f64 / 1e9,
        })
    }
}

impl Driver for VirtualDriver {
    fn clock(&self) -> &'static str {
        "simulated"
    }

    fn phase(
        &mut self,
        phase: Phase,
        clients: Vec<Box<dyn Client>>,
        limits: Limits,
        on_interval: &mut dyn FnMut(Value),
    ) -> Result<Outcome> {
        let before = self.snapshot()?;
        let cpu = self.world.lock().cpu_use();
        let shared = SharedPhase {
            world: self.world.clone(),
            engine: self.engine.clone(),
            halt: self.halt.clone(),
            left: Cell::new(limits.operations),
            blocks_asked: Cell::new(0),
            judge: limits.watch.judge(&before).map(|steadiness| RefCell::new(Judge::new(steadiness, limits.watch))),
            storage: self.storage.clone(),
            recorder: RefCell::new(Recorder::new(self.kinds)),
        };
        let mut seats: Vec<SimulatedClient<'_>> =
            clients.into_iter().map(|client| SimulatedClient { client, shared: &shared, plan: None }).collect();
        let period_ns = limits.interval.as_nanos() as u64;
        let mut sampler = Sampler {
            phase,
            shared: &shared,
            clients: seats.len() as u32,
            last: before.clone(),
            period_ns,
            emitted: 0,
            memory_bytes: before.engine.memory_bytes,
            memory_limit: limits.memory_bytes,
            on_interval,
        };
        let until_ns = limits.seconds.map_or(u64::MAX, |seconds| before.at_ns + (seconds * 1e9) as u64);
        {
            let mut clients: Vec<&mut dyn simulation::Process> =
                seats.iter_mut().map(|seat| seat as &mut dyn simulation::Process).collect();
            self.simulation.run(&mut clients, until_ns, period_ns, &mut sampler)?;
        }
        self.halt.check()?;
        let after = sampler.sample(self.simulation.now_ns())?;
        let memory_bytes = sampler.memory_bytes;
        let clients = seats.into_iter().map(|seat| seat.client).collect();
        let cpu = self.world.lock().cpu_use().since(&cpu);
        let blocks_asked = shared.blocks_asked.get();
        let steadiness = shared.judge.map(|judge| judge.into_inner().steadiness);
        let recorder = shared.recorder.into_inner();
        Ok(Outcome { clients, before, after, recorder, blocks_asked, cpu, memory_bytes, steadiness })
    }

    fn settle(&mut self) -> Result<()> {
        struct Halting<'a>(&'a Halt);
        impl Observer for Halting<'_> {
            fn check(&self) -> Result<()> {
                self.0.check()
            }

            fn tick(&mut self, _now_ns: u64) -> Result<()> {
                Ok(())
            }
        }
        let halt = self.halt.clone();
        let settled = self.simulation.settle(100_000_000, &mut Halting(&halt));
        halt.check()?;
        settled
    }

    fn snapshot(&self) -> Result<Snapshot> {
        snapshot_of(&self.world, &*self.engine, &*self.storage, self.simulation.now_ns())
    }

    /// The cores do not tell clients from jobs.
    fn background_cpu(&self) -> Option<CpuUse> {
        None
    }

    fn device(&self) -> Option<DeviceStats> {
        Some(self.world.lock().device_stats())
    }
}

/// All counters. Files take the space that has been written by now, in whole blocks, which may be a little more than
/// what they hold.
fn snapshot_of(world: &Mutex<World>, engine: &dyn Engine, storage: &dyn Storage, at_ns: u64) -> Result<Snapshot> {
    let all = snapshot(engine, storage, at_ns)?;
    Ok(Snapshot { disk_bytes: all.disk_bytes.saturating_sub(world.lock().unwritten_bytes()), ..all })
}

/// What the clients of a phase share.
struct SharedPhase {
    world: Arc<Mutex<World>>,
    engine: Arc<dyn Engine>,
    halt: Arc<Halt>,
    /// Operations left, where they are limited.
    left: Cell<Option<u64>>,
    blocks_asked: Cell<u64>,
    judge: Option<RefCell<Judge>>,
    storage: Arc<dyn Storage>,
    /// One for all of them: there is one thread, and one histogram stays in the processor's cache.
    recorder: RefCell<Recorder>,
}

impl SharedPhase {
    /// Takes an operation off those that are left.
    fn take(&self, operations: u64) -> bool {
        let Some(left) = self.left.get() else { return true };
        self.left.set(Some(left.saturating_sub(operations)));
        left > 0
    }

    fn snapshot_at(&self, at_ns: u64) -> Result<Snapshot> {
        snapshot_of(&self.world, &*self.engine, &*self.storage, at_ns)
    }

    /// Ends an interval of the judge if one is due before an operation that starts now. Operations start in the order
    /// of virtual time, but do not end in it.
    fn judge(&self, now_ns: u64) -> Result<()> {
        let Some(judge) = &self.judge else { return Ok(()) };
        let mut judge = judge.borrow_mut();
        if judge.ended >= judge.next {
            judge.sample(self.snapshot_at(now_ns)?);
        }
        Ok(())
    }
}

/// Judges a phase while it runs, in intervals of equal numbers of operations.
struct Judge {
    steadiness: Steadiness,
    watch: Watch,
    ended: u64,
    /// The interval ends after so many operations.
    next: u64,
    /// Whether the phase shall end.
    is_content: bool,
}

impl Judge {
    fn new(steadiness: Steadiness, watch: Watch) -> Self {
        Self { steadiness, watch, ended: 0, next: SHORTEST_JUDGED, is_content: false }
    }

    fn sample(&mut self, now: Snapshot) {
        self.steadiness.sample(now, self.ended);
        self.is_content = self.watch.is_content(&self.steadiness);
        self.next = self.ended + SHORTEST_JUDGED * self.steadiness.length();
    }
}

struct SimulatedClient<'a> {
    client: Box<dyn Client>,
    shared: &'a SharedPhase,
    plan: Option<workload::Plan>,
}

impl simulation::Process for SimulatedClient<'_> {
    fn plan(&mut self, now_ns: u64) -> Option<Arrival> {
        let is_content = |judge: &RefCell<Judge>| judge.borrow().is_content;
        if self.shared.judge.as_ref().is_some_and(is_content) {
            return None;
        }
        let plan = self.client.plan(now_ns)?;
        if !self.shared.take(plan.operations) {
            return None;
        }
        self.plan = Some(plan);
        Some(Arrival { write_bytes: plan.write_bytes, earliest_ns: plan.earliest_ns })
    }

    fn execute(&mut self, task: &mut Task, _began_ns: u64) -> Result<()> {
        self.shared.judge(task.now_ns)?;
        let asked = task.blocks_asked;
        task.charge(Work::Operation, 1);
        self.client.execute(&*self.shared.engine, task)?;
        self.shared.blocks_asked.set(self.shared.blocks_asked.get() + task.blocks_asked - asked);
        Ok(())
    }

    fn ended(&mut self, began_ns: u64, ended_ns: u64, stalled_ns: u64) {
        let Some(plan) = self.plan.take() else { return };
        let mut recorder = self.shared.recorder.borrow_mut();
        recorder.record(&plan, ended_ns - began_ns);
        if let Some(judge) = &self.shared.judge {
            judge.borrow_mut().ended += plan.operations;
        }
        if stalled_ns > 0 {
            recorder.stalled(stalled_ns);
        }
    }
}

struct Sampler<'a> {
    phase: Phase,
    shared: &'a SharedPhase,
    clients: u32,
    last: Snapshot,
    period_ns: u64,
    emitted: u32,
    memory_bytes: u64,
    memory_limit: Option<u64>,
    on_interval: &'a mut dyn FnMut(Value),
}

impl Sampler<'_> {
    /// Ends an interval.
    fn sample(&mut self, now_ns: u64) -> Result<Snapshot> {
        let mut activity = Activity::default();
        self.shared.recorder.borrow_mut().drain(&mut activity);
        let now = self.shared.snapshot_at(now_ns)?;
        (self.on_interval)(interval(self.phase, &self.last, &now, &activity, self.clients));
        self.last = now.clone();
        let used = now.engine.memory_bytes;
        self.memory_bytes = self.memory_bytes.max(used);
        match self.memory_limit {
            Some(limit) if used > limit => Err(Error::MemoryLimit { used, limit }),
            _ => Ok(now),
        }
    }
}

impl Observer for Sampler<'_> {
    fn check(&self) -> Result<()> {
        self.shared.halt.check()
    }

    fn tick(&mut self, now_ns: u64) -> Result<()> {
        self.shared.engine.check()?;
        if now_ns < self.last.at_ns + self.period_ns {
            return Ok(());
        }
        self.emitted += 1;
        if self.emitted.is_multiple_of(INTERVALS_OF_ONE_LENGTH) {
            self.period_ns *= 2;
        }
        self.sample(now_ns).map(drop)
    }
}

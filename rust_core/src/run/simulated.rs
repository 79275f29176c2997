//! One run under the virtual clock: files in memory over a modelled device, one thread, the same report every time.

use super::checked_spec::CheckedSpec;
use super::halt::{Halt, HaltingStorage};
use super::machine::HardwareSpec;
use super::phase::{Limits, Outcome, Watch, snapshot};
use super::phase_end::PhaseEnd;
use super::phases::{self, Driver, Load};
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

/// A machine at rest, with files that no engine has open.
pub struct Resting {
    world: World,
    files: SimulatedStorage,
    now_ns: u64,
}

impl Resting {
    /// A new one, without files.
    fn new(run: &CheckedSpec, hardware: &HardwareSpec) -> Result<Self> {
        let scale = run.spec.scale.of_what_runs();
        let world = hardware.world(product_of(run.spec.engine, run.workload.layout()), scale)?;
        let (free, page_cache) = (hardware.device.free_bytes(), hardware.page_cache_bytes);
        let files = SimulatedStorage::new(Arc::default(), free, page_cache, scale).on_device(hardware.device.rotates());
        Ok(Self { world, files, now_ns: 0 })
    }

    /// Another one in the same state, with so much memory for a page cache, which is empty.
    #[must_use]
    pub fn fork(&self, page_cache_bytes: u64) -> Self {
        let Self { world, files, now_ns } = self;
        Self { world: world.fork(), files: files.fork(page_cache_bytes), now_ns: *now_ns }
    }

    /// Bytes of memory that the files take, with what is kept decoded of them. The maps of a device come to some
    /// percent of that.
    pub fn memory_bytes(&self) -> u64 {
        self.files.memory_bytes()
    }
}

/// Loads the data of `run` on `hardware` and closes the engine: the machine as it is then. Intervals go to
/// `on_interval` as they end.
pub fn load(
    run: &CheckedSpec,
    hardware: &HardwareSpec,
    halt: &Arc<Halt>,
    on_interval: &mut dyn FnMut(Value),
) -> Result<(Resting, Load)> {
    let mut driver = VirtualDriver::start(run, hardware, Resting::new(run, hardware)?, halt)?;
    let load = phases::load(run, &mut driver, on_interval);
    halt.check()?;
    let load = load?;
    let now_ns = driver.close()?;
    let world = driver.world.lock().fork();
    Ok((Resting { world, files: driver.files.fork(0), now_ns }, load))
}

/// Runs the spec on `hardware` to its end, and loads the data itself. Intervals go to `on_interval` as they end.
pub fn run(
    run: &CheckedSpec,
    hardware: &HardwareSpec,
    halt: &Arc<Halt>,
    on_interval: &mut dyn FnMut(Value),
) -> Result<End> {
    let mut driver = VirtualDriver::start(run, hardware, Resting::new(run, hardware)?, halt)?;
    let result = phases::run(run, &mut driver, on_interval);
    driver.end(hardware, result)
}

/// Runs the spec on `hardware` to its end, on a machine that has the data already. Intervals of the phases behind the
/// load go to `on_interval` as they end.
pub fn run_loaded(
    run: &CheckedSpec,
    hardware: &HardwareSpec,
    (machine, load): (Resting, Load),
    halt: &Arc<Halt>,
    on_interval: &mut dyn FnMut(Value),
) -> Result<End> {
    let mut driver = VirtualDriver::start(run, hardware, machine, halt)?;
    let result = phases::run_loaded(run, &mut driver, load, on_interval);
    driver.end(hardware, result)
}

struct VirtualDriver {
    simulation: Simulation,
    world: Arc<Mutex<World>>,
    engine: Arc<dyn Engine>,
    files: Arc<SimulatedStorage>,
    storage: Arc<dyn Storage>,
    halt: Arc<Halt>,
    kinds: usize,
    cores: u32,
}

impl VirtualDriver {
    /// Opens the engine of `run` on a machine.
    fn start(run: &CheckedSpec, hardware: &HardwareSpec, machine: Resting, halt: &Arc<Halt>) -> Result<Self> {
        let Resting { world, files, now_ns } = machine;
        let (world, files) = (Arc::new(Mutex::new(world)), Arc::new(files));
        let storage: Arc<dyn Storage> = Arc::new(HaltingStorage::new(files.clone(), halt.clone()));
        let signal = Arc::<Signal>::default();
        let mut task = Simulation::task(&world, DRIVER_TASK, now_ns);
        let engine = run.open(&storage, &signal, &mut task);
        let mut engine = engine.map_err(|error| if halt.is_asked() { Error::Cancelled } else { error })?;
        let product = product_of(run.spec.engine, run.workload.layout());
        if hardware.cost.speaks_for(product) {
            engine = Arc::new(Called::new(engine, product));
        }
        let simulation = Simulation::new(world.clone(), engine.clone(), signal, task.now_ns);
        let kinds = run.workload.operations().len();
        let cores = hardware.cores as u32;
        Ok(Self { simulation, world, engine, files, storage, halt: halt.clone(), kinds, cores })
    }

    /// Completes the report of the phases, and closes the engine.
    fn end(&self, hardware: &HardwareSpec, result: Result<(Value, Vec<Box<dyn Client>>)>) -> Result<End> {
        self.halt.check()?;
        let (mut report, clients) = result?;
        report["hardware"] = json!(hardware);
        report["device"] = self.device_json();
        if hardware.page_cache_bytes > 0 {
            let pages = self.files.page_counts();
            report["page_cache"] = json!({"hits": pages.hits, "misses": pages.misses});
        }
        Ok(End { report, now_ns: self.close()?, clients })
    }

    /// Closes the engine, and says when that is done.
    fn close(&self) -> Result<u64> {
        let mut task = Simulation::task(&self.world, DRIVER_TASK, self.simulation.now_ns());
        self.engine.close(&mut task)?;
        Ok(task.now_ns)
    }

    /// Runs background work alone, until it owes no more than this.
    fn settle_to(&mut self, debt_bytes: u64) -> Result<()> {
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
        self.simulation.watch(false);
        let settled = self.simulation.settle(debt_bytes, 100_000_000, &mut Halting(&halt));
        halt.check()?;
        settled
    }

    fn cpu_use(&self) -> CpuUse {
        self.world.lock().cpu_use()
    }

    fn device_stats(&self) -> DeviceStats {
        self.world.lock().device_stats()
    }

    /// What the device counted since the run began.
    fn device_json(&self) -> Value {
        let stats = self.device_stats();
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
        let cpu = self.cpu_use();
        let shared = SharedPhase {
            world: self.world.clone(),
            engine: self.engine.clone(),
            halt: self.halt.clone(),
            end: PhaseEnd::new(&*self.engine, &limits, before.at_ns),
            blocks_asked: Cell::new(0),
            judge: limits.watch.judge(&before).map(|steadiness| RefCell::new(Judge::new(steadiness, limits.watch))),
            storage: self.storage.clone(),
            recorder: RefCell::new(Recorder::new(self.kinds)),
        };
        let mut seats: Vec<SimulatedClient<'_>> =
            clients.into_iter().map(|client| SimulatedClient { client, shared: &shared, plan: None }).collect();
        for seat in &mut seats {
            seat.client.begin(before.at_ns);
        }
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
        let until_ns = shared.end.latest_ns();
        self.simulation.watch(phase != Phase::Load);
        let busy_ns = self.simulation.busy_ns();
        {
            let mut clients: Vec<&mut dyn simulation::Process> =
                seats.iter_mut().map(|seat| seat as &mut dyn simulation::Process).collect();
            self.simulation.run(&mut clients, until_ns, period_ns, &mut sampler)?;
        }
        self.halt.check()?;
        let after = sampler.sample(self.simulation.now_ns())?;
        let memory_bytes = sampler.memory_bytes;
        let clients = seats.into_iter().map(|seat| seat.client).collect();
        let cpu = self.cpu_use().since(&cpu);
        let blocks_asked = shared.blocks_asked.get();
        let steadiness = shared.judge.map(|judge| judge.into_inner().steadiness);
        let recorder = shared.recorder.into_inner();
        let busy_ns = Some(self.simulation.busy_ns() - busy_ns);
        Ok(Outcome { clients, before, after, recorder, blocks_asked, cpu, memory_bytes, busy_ns, steadiness })
    }

    fn settle(&mut self) -> Result<u64> {
        self.settle_to(0).map(|()| 0)
    }

    fn pay_down_to(&mut self, debt_bytes: u64) -> Result<Option<u32>> {
        if self.engine.stats().debt_bytes > debt_bytes {
            self.settle_to(debt_bytes)?;
        }
        Ok(Some(self.cores))
    }

    fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    fn snapshot(&self) -> Result<Snapshot> {
        snapshot_of(&self.world, &*self.engine, &*self.storage, self.simulation.now_ns())
    }

    /// The cores do not tell clients from jobs.
    fn background_cpu(&self) -> Option<CpuUse> {
        None
    }

    fn used_cpu(&self) -> Result<CpuUse> {
        Ok(self.cpu_use())
    }

    fn device(&self) -> Option<DeviceStats> {
        Some(self.device_stats())
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
    end: PhaseEnd,
    blocks_asked: Cell<u64>,
    judge: Option<RefCell<Judge>>,
    storage: Arc<dyn Storage>,
    /// One for all of them: there is one thread, and one histogram stays in the processor's cache.
    recorder: RefCell<Recorder>,
}

impl SharedPhase {
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
        let shared = self.shared;
        let is_content = shared.judge.as_ref().is_some_and(|judge| judge.borrow().is_content);
        if shared.end.is_over(&*shared.engine, now_ns, is_content) {
            return None;
        }
        let plan = self.client.plan(now_ns)?;
        if !shared.end.take(&*shared.engine, plan.operations) {
            return None;
        }
        self.plan = Some(plan);
        Some(Arrival { write_bytes: plan.write_bytes, earliest_ns: plan.turn.earliest_ns })
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

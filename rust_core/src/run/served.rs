//! One run of a SQL server: a private one, whose tables the workload reaches by the statements of its own script.

use super::checked_spec::CheckedSpec;
use super::client_threads::Stage;
use super::halt::Halt;
use super::measured::in_directory;
use super::phase::{Limits, Outcome};
use super::phases::{self, Driver};
use super::real::{kernel_metrics, run_real_phase};
use crate::cost::{CpuUse, WorkCounts};
use crate::device::DeviceStats;
use crate::engine::{Engine, EngineKind, KeyLayout};
use crate::error::Result;
use crate::metrics::{Phase, Snapshot};
use crate::real::server::LatenciesByName;
use crate::real::{ServerOptions, SqlServer, StorageEngine};
use crate::session::{Session, Tables, no_statements};
use crate::storage::RunDirectory;
use crate::task::wall::{WallClock, sleep};
use crate::task::{Signal, Task};
use crate::workload::{Client, Plan, Workload};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

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
    let tables = run.workload.tables().ok_or_else(no_statements)?;
    let engine = if run.spec.engine == EngineKind::Myrocks { StorageEngine::MyRocks } else { StorageEngine::InnoDb };
    let options = ServerOptions::from_json(&run.options)?;
    let server = SqlServer::start(directory.path(), engine, &options, run.spec.clients, &|| halt.is_asked());
    let server = Arc::new(server.or_else(|error| halt.check().and(Err(error)))?);
    let create = tables.create.iter().map(|statement| {
        let is_table = statement.starts_with("CREATE TABLE");
        if is_table { format!("{statement} {}", options.table_options) } else { statement.clone() }
    });
    server.run(&create.collect::<Vec<_>>())?;
    let workload = Arc::new(Served { workload: run.workload.clone(), server: server.clone() });
    let served = CheckedSpec { workload, ..run.clone() };
    let stage = Stage {
        engine: server.clone(),
        signal: Arc::new(Signal::default()),
        counted: server.clone(),
        clock: WallClock::default(),
        halt: halt.clone(),
    };
    let kinds = run.workload.operations().len();
    let mut driver = ServerDriver { stage, server, tables, kinds, kernel: Vec::new() };
    let result = phases::run(&served, &mut driver, on_interval);
    halt.check()?;
    let (mut report, _) = result?;
    report["product"] = json!({"name": driver.server.product(), "version": driver.server.version()});
    report["statements"] = by_statement(&driver.server.take_latencies());
    for (name, value) in driver.kernel {
        report["metrics"][name] = json!(value);
    }
    leave_out_unmeasured(&mut report, driver.tables.knows_growth);
    Ok(report)
}

struct ServerDriver {
    stage: Stage,
    server: Arc<SqlServer>,
    tables: Tables,
    kinds: usize,
    /// What the kernel counted in the measured phase.
    kernel: Vec<(&'static str, f64)>,
}

impl Driver for ServerDriver {
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
        self.server.take_latencies();
        if phase == Phase::Run {
            self.server.forget_peak_memory()?;
        }
        let before = self.server.kernel()?;
        let mut outcome = run_real_phase(&self.stage, phase, self.kinds, clients, limits, on_interval)?;
        let after = self.server.kernel()?;
        self.kernel = kernel_metrics(&before, &after, &outcome);
        self.kernel.push(("process_memory_bytes", after.peak_bytes as f64));
        let (server_ns, clients_ns) = (after.cpu_ns.saturating_sub(before.cpu_ns), outcome.cpu.ns);
        outcome.cpu = CpuUse { ns: server_ns + clients_ns, clients_ns, work: WorkCounts::default() };
        Ok(outcome)
    }

    fn settle(&mut self) -> Result<u64> {
        let halt = &self.stage.halt;
        let settled = self.server.settle(&|| halt.is_asked());
        halt.check()?;
        settled
    }

    /// Lets the planner see what the tables hold, too.
    fn settle_load(&mut self) -> Result<()> {
        let halt = &self.stage.halt;
        let finished = self.server.run(&self.tables.finish).and_then(|()| self.server.settle(&|| halt.is_asked()));
        let analyzed = finished.and_then(|_| self.server.analyze());
        halt.check()?;
        analyzed
    }

    fn engine(&self) -> &dyn Engine {
        &*self.stage.engine
    }

    fn empty_level0(&mut self) -> Result<()> {
        let halt = &self.stage.halt;
        let emptied = self.server.empty_level0(&|| halt.is_asked());
        halt.check()?;
        emptied
    }

    fn snapshot(&self) -> Result<Snapshot> {
        self.stage.snapshot()
    }

    /// A server's threads are not told apart: all its time stands with the clients'.
    fn background_cpu(&self) -> Option<CpuUse> {
        None
    }

    fn used_cpu(&self) -> Result<CpuUse> {
        Ok(CpuUse { ns: self.server.kernel()?.cpu_ns, ..CpuUse::default() })
    }

    fn device(&self) -> Option<DeviceStats> {
        None
    }
}

fn by_statement(latencies: &LatenciesByName) -> Value {
    latencies.iter().map(|(name, latencies)| ((*name).to_owned(), latencies.to_counted_json())).collect()
}

/// A server counts no bytes of its users, nor how long it held them up; what it does not count is absent, not zero.
fn leave_out_unmeasured(report: &mut Value, knows_growth: bool) {
    let mut leave_out = |section: &str, name: &str| {
        report[section].as_object_mut().into_iter().for_each(|section| drop(section.remove(name)));
    };
    leave_out("metrics", "stall_s");
    leave_out("load", "user_bytes");
    if !knows_growth {
        leave_out("metrics", "space_amp");
    }
}

/// A workload whose clients speak to a server.
struct Served {
    workload: Arc<dyn Workload>,
    server: Arc<SqlServer>,
}

impl Served {
    fn spoken(&self, client: Box<dyn Client>, index: u32) -> Box<dyn Client> {
        Box::new(Spoken { client, index, server: self.server.clone(), session: None })
    }
}

impl Workload for Served {
    fn layout(&self) -> KeyLayout {
        self.workload.layout()
    }

    fn operations(&self) -> &'static [&'static str] {
        self.workload.operations()
    }

    fn parameters(&self) -> Map<String, Value> {
        self.workload.parameters()
    }

    fn loader(&self, index: u32) -> Box<dyn Client> {
        self.spoken(self.workload.loader(index), index)
    }

    fn client(&self, index: u32) -> Box<dyn Client> {
        self.spoken(self.workload.client(index), index)
    }

    fn writes(&self) -> bool {
        self.workload.writes()
    }

    fn fork(&self, seed: u64) -> Arc<dyn Workload> {
        Arc::new(Self { workload: self.workload.fork(seed), server: self.server.clone() })
    }

    fn live_bytes(&self) -> u64 {
        self.workload.live_bytes()
    }
}

/// By so much two clients with neighbouring indexes are apart at their third try, twice at their fourth: a choice of
/// ours, about as long as a transaction.
const APART: Duration = Duration::from_millis(2);

/// How long a client waits before it tries a transaction again. MyRocks does not look for deadlocks: two clients wait
/// for each other as long as `rocksdb_lock_wait_timeout`, and give up together. If both begin anew at once they may do
/// so again, and were seen to for 72 seconds.
fn pause(index: u32, tries: u32) -> Duration {
    APART * index * tries
}

/// A client with its connection, which its own thread opens.
struct Spoken {
    client: Box<dyn Client>,
    index: u32,
    server: Arc<SqlServer>,
    session: Option<Box<dyn Session>>,
}

impl Client for Spoken {
    fn begin(&mut self, now_ns: u64) {
        self.client.begin(now_ns);
    }

    fn behind_ns(&self, now_ns: u64) -> Option<u64> {
        self.client.behind_ns(now_ns)
    }

    fn plan(&mut self, now_ns: u64) -> Option<Plan> {
        self.client.plan(now_ns)
    }

    /// A transaction that the server gave up for another one's sake is tried again, as the scripts do.
    fn execute(&mut self, _engine: &dyn Engine, _task: &mut Task) -> Result<()> {
        let session = match &mut self.session {
            Some(session) => session,
            none => none.insert(self.server.session()?),
        };
        let mut tries = 0;
        loop {
            match self.client.speak(&mut **session) {
                Err(_) if session.take_conflict() => session.rollback()?,
                done => return done,
            }
            sleep(pause(self.index, tries));
            tries += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_that_met_begin_anew_at_once_and_then_farther_and_farther_apart() {
        for (one, other) in [(0, 1), (2, 3), (0, 63)] {
            assert_eq!((pause(one, 0), pause(other, 0)), (Duration::ZERO, Duration::ZERO));
            let apart = |tries| pause(other, tries).checked_sub(pause(one, tries)).unwrap();
            assert!((1..10).all(|tries| apart(tries) >= APART * tries && apart(tries + 1) > apart(tries)));
        }
    }
}

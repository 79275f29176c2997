//! A run from spec to report: checked when it is made, started in the background, watched, and cancelled, from any thread.

pub mod engines;
pub mod measured;
pub mod phases;
pub mod simulated;
pub mod spec;

use crate::engine::{Engine, KeyLayout};
use crate::error::{Error, Result};
use crate::runtime::{Signal, Task, panics, threads};
use crate::server::Server;
use crate::storage::Storage;
use crate::workload::halt::Halt;
use crate::workload::{self, Workload};
use parking_lot::{Condvar, Mutex};
use serde_json::{Map, Value};
use std::io;
use std::sync::Arc;
use std::time::Duration;

pub use engines::Engines;
pub use spec::{Clock, EngineKind, Spec};

/// Checks options and opens engines.
pub trait Opener: Send + Sync {
    /// Checks the given options and fills in the defaults.
    fn options(&self, kind: EngineKind, given: &Map<String, Value>) -> Result<Map<String, Value>>;

    /// Opens an engine on an empty storage, with all its options.
    fn open(
        &self,
        kind: EngineKind,
        options: &Map<String, Value>,
        layout: KeyLayout,
        storage: Arc<dyn Storage>,
        signal: Arc<Signal>,
        task: &mut Task,
    ) -> Result<Arc<dyn Engine>>;
}

/// A spec whose every part is checked.
pub struct Plan {
    /// What was asked for.
    pub spec: Spec,
    /// All options of the engine.
    pub options: Map<String, Value>,
    /// The workload.
    pub workload: Arc<dyn Workload>,
    /// Who opens the engine.
    pub opener: Arc<dyn Opener>,
}

/// Options under the virtual clock alone. Real files are read and written through the page cache: direct I/O wants aligned
/// buffers and lengths, which no engine here keeps.
const DIRECT_IO: [&str; 2] = ["use_direct_reads", "use_direct_io_for_flush_and_compaction"];

fn refuse_direct_io(options: &Map<String, Value>) -> Result<()> {
    match DIRECT_IO.into_iter().find(|name| options.get(*name) == Some(&Value::Bool(true))) {
        None => Ok(()),
        Some(name) => Err(Error::invalid(format!("options.{name}"), true, "false under the measured clock")),
    }
}

impl Plan {
    fn new(spec: Value, opener: Arc<dyn Opener>) -> Result<Self> {
        let spec = Spec::from_json(spec)?;
        let options = opener.options(spec.engine, &spec.options)?;
        if matches!(spec.clock, Clock::Measured { .. }) {
            refuse_direct_io(&options)?;
        }
        let workload = workload::build(&spec.workload, spec.clients, spec.seed)?;
        Ok(Self { spec, options, workload, opener })
    }

    /// Opens the engine on an empty storage, with a server's log around it if the spec says so.
    fn open(&self, storage: &Arc<dyn Storage>, signal: &Arc<Signal>, task: &mut Task) -> Result<Arc<dyn Engine>> {
        let Self { spec, options, workload, opener } = self;
        let engine = opener.open(spec.engine, options, workload.layout(), storage.clone(), signal.clone(), task)?;
        Ok(match spec.binary_log {
            None => engine,
            Some(log) => Arc::new(Server::new(engine, storage.clone(), log, task)?),
        })
    }

    fn run(&self, halt: &Arc<Halt>, on_interval: &mut dyn FnMut(Value)) -> Result<Value> {
        match &self.spec.clock {
            Clock::Measured { directory } => measured::run(self, directory, halt, on_interval),
            Clock::Simulated(hardware) => simulated::run(self, hardware, halt, on_interval).map(|end| end.report),
        }
    }
}

#[derive(Default)]
struct Progress {
    is_started: bool,
    /// Intervals that nobody polled yet.
    intervals: Vec<Value>,
    result: Option<Result<Value>>,
}

#[derive(Default)]
struct State {
    halt: Arc<Halt>,
    progress: Mutex<Progress>,
    finished: Condvar,
}

/// One run. Dropping it cancels it.
pub struct Run {
    plan: Arc<Plan>,
    state: Arc<State>,
}

impl Run {
    /// Checks `spec`.
    pub fn new(spec: Value) -> Result<Self> {
        Self::with_opener(spec, Arc::new(Engines))
    }

    /// Checks `spec` with the engines that `opener` opens.
    pub fn with_opener(spec: Value, opener: Arc<dyn Opener>) -> Result<Self> {
        Ok(Self { plan: Arc::new(Plan::new(spec, opener)?), state: Arc::default() })
    }

    /// Starts the run in the background. A run that was started goes on.
    pub fn start(&self) {
        if std::mem::replace(&mut self.state.progress.lock().is_started, true) {
            return;
        }
        let (plan, state) = (self.plan.clone(), self.state.clone());
        threads::spawn("run".to_owned(), move || {
            let mut on_interval = |interval| state.progress.lock().intervals.push(interval);
            let result = panics::caught("the run", || plan.run(&state.halt, &mut on_interval));
            state.progress.lock().result = Some(result);
            state.finished.notify_all();
        });
    }

    /// Intervals that ended since the last poll.
    pub fn poll(&self) -> Vec<Value> {
        std::mem::take(&mut self.state.progress.lock().intervals)
    }

    /// Asks the run to end; it does within 100 ms.
    pub fn cancel(&self) {
        self.state.halt.ask();
    }

    /// Whether the run ended, well or not.
    pub fn is_finished(&self) -> bool {
        self.state.progress.lock().result.is_some()
    }

    /// Waits until the run ends or the timeout passes, and says whether it ended. A run that was not started does not end.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        let mut progress = self.state.progress.lock();
        let goes_on = |progress: &mut Progress| progress.is_started && progress.result.is_none();
        match timeout {
            None => self.state.finished.wait_while(&mut progress, goes_on),
            Some(timeout) => drop(self.state.finished.wait_while_for(&mut progress, goes_on, timeout)),
        }
        progress.result.is_some()
    }

    /// The report, once the run ended; waits for it.
    pub fn report(&self) -> Result<Value> {
        self.wait(None);
        match &self.state.progress.lock().result {
            None => Err(Error::invalid("run", "a run that was not started", "a started run")),
            Some(Ok(report)) => Ok(report.clone()),
            Some(Err(error)) => Err(again(error)),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// The same error once more: an operating-system error has no copy of its own.
fn again(error: &Error) -> Error {
    match error {
        Error::Io { file, action, source } => {
            let copy = match source.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(source.kind(), source.to_string()),
            };
            Error::io(file, action, copy)
        }
        Error::Corruption { file, offset, what } => Error::corruption(file, *offset, what),
        Error::Invalid { field, found, accepted } => Error::invalid(field, found, accepted),
        Error::Poisoned { why, disk_full } => Error::Poisoned { why: why.clone(), disk_full: *disk_full },
        Error::MemoryLimit { used, limit } => Error::MemoryLimit { used: *used, limit: *limit },
        Error::Cancelled => Error::Cancelled,
    }
}

#[cfg(test)]
mod same_again;
#[cfg(test)]
mod tests;

//! A run from spec to report: checked when it is made, started in the background, watched, and cancelled, from any
//! thread.

use super::checked_spec::{CheckedSpec, Opener};
use super::engines::Engines;
use super::halt::Halt;
use super::spec::Clock;
use super::{load_snapshots, measured, real, served};
use crate::engine::EngineKind;
use crate::error::{Error, Result};
use crate::task::panics;
use crate::task::wall::spawn;
use parking_lot::{Condvar, Mutex};
use serde_json::Value;
use std::io;
use std::sync::Arc;
use std::time::Duration;

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
    spec: Arc<CheckedSpec>,
    state: Arc<State>,
}

impl Run {
    /// Checks `spec`.
    pub fn new(spec: Value) -> Result<Self> {
        Self::with_opener(spec, Arc::new(Engines))
    }

    /// Checks `spec` with the engines that `opener` opens.
    pub fn with_opener(spec: Value, opener: Arc<dyn Opener>) -> Result<Self> {
        Ok(Self { spec: Arc::new(CheckedSpec::new(spec, opener)?), state: Arc::default() })
    }

    /// Starts the run in the background. A run that was started goes on.
    pub fn start(&self) {
        if std::mem::replace(&mut self.state.progress.lock().is_started, true) {
            return;
        }
        let (spec, state) = (self.spec.clone(), self.state.clone());
        spawn("run".to_owned(), move || {
            let mut on_interval = |interval| state.progress.lock().intervals.push(interval);
            let result = panics::caught("the run", || run(&spec, &state.halt, &mut on_interval));
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

    /// Waits until the run ends or the timeout passes, and says whether it ended. A run that was not started does not
    /// end.
    #[expect(clippy::disallowed_methods, reason = "who asked for the run waits outside its time")]
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

/// From spec to report under its clock.
fn run(spec: &CheckedSpec, halt: &Arc<Halt>, on_interval: &mut dyn FnMut(Value)) -> Result<Value> {
    match &spec.spec.clock {
        Clock::Measured { directory } => measured::run(spec, directory, halt, on_interval),
        Clock::Real { directory } if spec.spec.engine == EngineKind::Rocksdb => {
            real::run(spec, directory, halt, on_interval)
        }
        Clock::Real { directory } => served::run(spec, directory, halt, on_interval),
        Clock::Simulated(hardware) => load_snapshots::run(spec, hardware, halt, on_interval).map(|end| end.report),
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

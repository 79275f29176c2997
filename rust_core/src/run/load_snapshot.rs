//! What a load leaves, in memory: files, device, and what the workload knows of its data. A run that starts from it
//! finds what it would have found behind its own load, for that it would have made in the same way.

use super::checked_spec::CheckedSpec;
use super::halt::Halt;
use super::phases::Load;
use super::simulated::{self, Resting};
use super::spec::Clock;
use crate::error::{Error, Result};
use crate::workload::Workload;
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;

/// The state behind a load. The engine is closed, and the page cache of the machine is empty.
pub struct LoadSnapshot {
    /// What the load took.
    pub load: Load,
    workload: Arc<dyn Workload>,
    machine: Mutex<Resting>,
}

impl LoadSnapshot {
    /// Loads as `run` says. Intervals go to `on_interval` as they end.
    pub fn make(run: &CheckedSpec, halt: &Arc<Halt>, on_interval: &mut dyn FnMut(Value)) -> Result<Self> {
        let Clock::Simulated(hardware) = &run.spec.clock else {
            return Err(Error::invalid("load", "a value", "nothing: it is for the simulated clock"));
        };
        let (machine, load) = simulated::load(run, hardware, halt, on_interval)?;
        Ok(Self { load, workload: run.workload.clone(), machine: Mutex::new(machine) })
    }

    /// [`Resting::memory_bytes`]: runs that start here decode what they read of its files for all of them.
    pub fn bytes(&self) -> u64 {
        self.machine.lock().memory_bytes()
    }

    /// The machine, for a run of its own, with so much memory for a page cache.
    pub fn machine(&self, page_cache_bytes: u64) -> Resting {
        self.machine.lock().fork(page_cache_bytes)
    }

    /// The workload, for a run of its own with clients of this seed.
    pub fn workload(&self, seed: u64) -> Arc<dyn Workload> {
        self.workload.fork(seed)
    }
}

//! Loads that this process keeps: as many as a number of bytes allows, those that were used last. Runs in several
//! threads share them, and a load that one thread is making is waited for by the others.

use super::checked_spec::CheckedSpec;
use super::halt::Halt;
use super::load_snapshot::LoadSnapshot;
use super::machine::HardwareSpec;
use super::simulated::{self, End};
use super::spec::Spec;
use crate::error::Result;
use parking_lot::{Condvar, Mutex, MutexGuard};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of loads that a process keeps unless it is told otherwise: some thirty of the size of a study's trials.
const USUAL_LIMIT_BYTES: u64 = 1 << 30;

/// A thread that waits for another one's load looks this often whether its own run is to end.
const LOOK: Duration = Duration::from_millis(20);

/// The loads of this process.
pub static LOADS: LoadSnapshots = LoadSnapshots::new(USUAL_LIMIT_BYTES);

/// Runs the spec on `hardware` to its end, from a load that is kept if the spec has one of its own. Intervals go to
/// `on_interval` as they end, those of a load that was made before at once.
pub fn run(
    run: &CheckedSpec,
    hardware: &HardwareSpec,
    halt: &Arc<Halt>,
    on_interval: &mut dyn FnMut(Value),
) -> Result<End> {
    run_from(&LOADS, run, hardware, halt, on_interval)
}

fn run_from(
    loads: &LoadSnapshots,
    run: &CheckedSpec,
    hardware: &HardwareSpec,
    halt: &Arc<Halt>,
    on_interval: &mut dyn FnMut(Value),
) -> Result<End> {
    let Some(load) = &run.load else { return simulated::run(run, hardware, halt, on_interval) };
    let mut is_new = false;
    let snapshot = loads.get(load, halt, || {
        is_new = true;
        LoadSnapshot::make(&run.of_load(load)?, halt, on_interval)
    })?;
    if !is_new {
        snapshot.load.intervals.iter().cloned().for_each(&mut *on_interval);
    }
    let run = CheckedSpec { workload: snapshot.workload(run.spec.seed), ..run.clone() };
    let start = (snapshot.machine(hardware.page_cache_bytes), snapshot.load.clone());
    // Unless it is kept, it goes now, and the run has the files for itself.
    drop(snapshot);
    simulated::run_loaded(&run, hardware, start, halt, on_interval)
}

/// Loads by the spec of the run that makes them.
pub struct LoadSnapshots {
    kept: Mutex<Kept>,
    changed: Condvar,
}

/// What is kept, and how often it served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadCounts {
    /// Loads that are kept.
    pub loads: u64,
    /// Bytes of their files, and of what runs decoded of these.
    pub bytes: u64,
    /// Bytes that may be kept.
    pub limit_bytes: u64,
    /// Runs that found their load.
    pub hits: u64,
    /// Runs that loaded.
    pub misses: u64,
}

struct Kept {
    limit_bytes: u64,
    /// The one that was used last is the last.
    entries: Vec<Entry>,
    hits: u64,
    misses: u64,
}

struct Entry {
    spec: Spec,
    /// None while a thread is making it.
    snapshot: Option<Arc<LoadSnapshot>>,
}

impl Kept {
    fn position(&self, spec: &Spec) -> Option<usize> {
        self.entries.iter().position(|entry| entry.spec == *spec)
    }

    fn bytes(&self) -> u64 {
        self.entries.iter().filter_map(|entry| entry.snapshot.as_ref()).map(|snapshot| snapshot.bytes()).sum()
    }

    /// Gives the oldest up until the others fit.
    fn shrink(&mut self) {
        while self.bytes() > self.limit_bytes {
            let Some(oldest) = self.entries.iter().position(|entry| entry.snapshot.is_some()) else { return };
            self.entries.remove(oldest);
        }
    }
}

impl LoadSnapshots {
    const fn new(limit_bytes: u64) -> Self {
        let kept = Kept { limit_bytes, entries: Vec::new(), hits: 0, misses: 0 };
        Self { kept: Mutex::new(kept), changed: Condvar::new() }
    }

    /// Keeps so many bytes from now on. 0 keeps nothing, so that every run loads for itself.
    pub fn limit(&self, bytes: u64) {
        let mut kept = self.kept.lock();
        kept.limit_bytes = bytes;
        kept.shrink();
    }

    /// What is kept now.
    pub fn counts(&self) -> LoadCounts {
        let kept = self.kept.lock();
        let loads = kept.entries.iter().filter(|entry| entry.snapshot.is_some()).count() as u64;
        let Kept { limit_bytes, hits, misses, .. } = *kept;
        LoadCounts { loads, bytes: kept.bytes(), limit_bytes, hits, misses }
    }

    /// The load of `spec`, which `make` makes if nobody has, nor is about to.
    pub(super) fn get(
        &self,
        spec: &Spec,
        halt: &Halt,
        make: impl FnOnce() -> Result<LoadSnapshot>,
    ) -> Result<Arc<LoadSnapshot>> {
        let mut kept = self.kept.lock();
        while let Some(at) = kept.position(spec) {
            if let Some(found) = kept.entries[at].snapshot.clone() {
                let entry = kept.entries.remove(at);
                kept.entries.push(entry);
                kept.hits += 1;
                // Others have grown by what their runs decoded.
                kept.shrink();
                return Ok(found);
            }
            self.wait(&mut kept);
            halt.check()?;
        }
        kept.misses += 1;
        if kept.limit_bytes == 0 {
            drop(kept);
            return make().map(Arc::new);
        }
        kept.entries.push(Entry { spec: spec.clone(), snapshot: None });
        drop(kept);
        let making = Making { loads: self, spec };
        let made = Arc::new(make()?);
        making.keep(made.clone());
        Ok(made)
    }

    #[expect(clippy::disallowed_methods, reason = "a run waits for another one outside its time")]
    fn wait(&self, kept: &mut MutexGuard<'_, Kept>) {
        self.changed.wait_for(kept, LOOK);
    }
}

/// A load under way. However it ends, those who wait for it go on: they find it, or the first of them loads.
struct Making<'a> {
    loads: &'a LoadSnapshots,
    spec: &'a Spec,
}

impl Making<'_> {
    fn keep(&self, snapshot: Arc<LoadSnapshot>) {
        let mut kept = self.loads.kept.lock();
        let Some(at) = kept.position(self.spec) else { return };
        kept.entries[at].snapshot = Some(snapshot);
        kept.shrink();
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        let mut kept = self.loads.kept.lock();
        if let Some(at) = kept.position(self.spec).filter(|at| kept.entries[*at].snapshot.is_none()) {
            kept.entries.remove(at);
        }
        drop(kept);
        self.loads.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;

//! How a run is cancelled at once: clients and waits look at a flag, and so does every access to storage, so that a
//! long background job ends at its next block.

use crate::error::{Error, Result};
use crate::storage::Storage;
use crate::storage::gated::{Gate, GatedStorage, Operation, Pass};
use crate::task::Signal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A request to stop, and a bell for whoever watches the run.
#[derive(Debug, Default)]
pub struct Halt {
    asked: AtomicBool,
    bell: Signal,
}

impl Halt {
    /// Asks everybody to stop.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Release);
        self.bell.complete();
    }

    /// Whether somebody asked.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// Fails once somebody asked.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.is_asked() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Wakes the watcher.
    pub fn ring(&self) {
        self.bell.complete();
    }

    /// How often the bell rang, to be passed to [`Halt::listen`].
    pub fn rings(&self) -> u64 {
        self.bell.completed_generation()
    }

    /// Waits for the next ring after `heard`, or until the timeout passes.
    pub fn listen(&self, heard: u64, timeout: Duration) {
        self.bell.wait_completed(heard, timeout);
    }
}

/// Refuses reads, writes and syncs once the run is to stop; what tidies up may go on.
pub struct HaltGate {
    halt: Arc<Halt>,
    skips_syncs: AtomicBool,
}

/// A storage that refuses reads, writes and syncs once the run is to stop. While data is loaded it may leave syncs out:
/// a load that a crash interrupts is thrown away, and nothing of it is scored.
pub type HaltingStorage = GatedStorage<HaltGate>;

impl HaltingStorage {
    /// Stands in front of `inner`.
    pub fn new(inner: Arc<dyn Storage>, halt: Arc<Halt>) -> Self {
        Self::behind(HaltGate { halt, skips_syncs: AtomicBool::new(false) }, inner)
    }

    /// From now on syncs are left out, or not any more. Who leaves them out syncs everything afterwards.
    pub fn skip_syncs(&self, skip: bool) {
        self.gate().skips_syncs.store(skip, Ordering::Release);
    }
}

impl Gate for HaltGate {
    fn before(&self, operation: Operation, _name: &str) -> Result<Pass> {
        let tidies =
            matches!(operation, Operation::Remove | Operation::Rename | Operation::Resize | Operation::PunchHole);
        if !tidies {
            self.halt.check()?;
        }
        let leaves_out = operation == Operation::Sync && self.skips_syncs.load(Ordering::Acquire);
        Ok(if leaves_out { Pass::LeftOut } else { Pass::Through })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Meters, Purpose};
    use crate::storage::FileOptions;
    use crate::storage::MemoryStorage;
    use crate::task::Task;

    #[test]
    fn syncs_are_left_out_only_while_that_is_asked() {
        let (meters, mut task) = (Arc::<Meters>::default(), Task::wall(0));
        let storage = HaltingStorage::new(Arc::new(MemoryStorage::new(meters.clone())), Arc::default());
        let file = storage.create(&mut task, "redo.log", FileOptions::DIRECT).unwrap();
        storage.skip_syncs(true);
        file.sync(&mut task, Purpose::Redo).unwrap();
        assert_eq!(meters.snapshot().total().syncs, 0);
        storage.skip_syncs(false);
        file.sync(&mut task, Purpose::Redo).unwrap();
        assert_eq!(meters.snapshot().total().syncs, 1);
    }

    #[test]
    fn a_job_that_is_under_way_ends_at_its_next_access() {
        let (halt, mut task) = (Arc::new(Halt::default()), Task::wall(0));
        let storage = HaltingStorage::new(Arc::new(MemoryStorage::new(Arc::default())), halt.clone());
        let file = storage.create(&mut task, "000001.sst", FileOptions::DIRECT).unwrap();
        file.write_at(&mut task, Purpose::Flush, 0, b"block").unwrap();
        halt.ask();
        let result = file.write_at(&mut task, Purpose::Flush, 5, b"block");
        assert!(matches!(result, Err(Error::Cancelled)));
        assert!(matches!(storage.create(&mut task, "000002.sst", FileOptions::DIRECT), Err(Error::Cancelled)));
        storage.remove(&mut task, "000001.sst").unwrap();
    }
}

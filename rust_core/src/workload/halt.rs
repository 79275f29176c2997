//! How a run is cancelled at once: clients and waits look at a flag, and so does every access to storage, so that a long
//! background job ends at its next block.

use crate::error::{Error, Result};
use crate::metrics::{Meters, Purpose};
use crate::runtime::{Signal, Task};
use crate::storage::{Storage, StorageFile};
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

/// A storage that refuses reads, writes and syncs once the run is to stop. While data is loaded it may leave syncs out: a
/// load that a crash interrupts is thrown away, and nothing of it is scored.
pub struct HaltingStorage {
    inner: Arc<dyn Storage>,
    halt: Arc<Halt>,
    skips_syncs: Arc<AtomicBool>,
}

impl HaltingStorage {
    /// Stands in front of `inner`.
    pub fn new(inner: Arc<dyn Storage>, halt: Arc<Halt>) -> Self {
        Self { inner, halt, skips_syncs: Arc::default() }
    }

    /// From now on syncs are left out, or not any more. Who leaves them out syncs everything afterwards.
    pub fn skip_syncs(&self, skip: bool) {
        self.skips_syncs.store(skip, Ordering::Release);
    }

    fn wrap(&self, file: Arc<dyn StorageFile>) -> Arc<dyn StorageFile> {
        Arc::new(HaltingFile { inner: file, halt: self.halt.clone(), skips_syncs: self.skips_syncs.clone() })
    }
}

impl Storage for HaltingStorage {
    fn create(&self, task: &mut Task, name: &str) -> Result<Arc<dyn StorageFile>> {
        self.halt.check()?;
        Ok(self.wrap(self.inner.create(task, name)?))
    }

    fn open(&self, task: &mut Task, name: &str) -> Result<Arc<dyn StorageFile>> {
        self.halt.check()?;
        Ok(self.wrap(self.inner.open(task, name)?))
    }

    fn remove(&self, task: &mut Task, name: &str) -> Result<()> {
        self.inner.remove(task, name)
    }

    fn rename(&self, task: &mut Task, from: &str, to: &str) -> Result<()> {
        self.inner.rename(task, from, to)
    }

    fn list(&self) -> Result<Vec<String>> {
        self.inner.list()
    }

    fn sync_directory(&self, task: &mut Task) -> Result<()> {
        self.halt.check()?;
        if self.skips_syncs.load(Ordering::Acquire) {
            return Ok(());
        }
        self.inner.sync_directory(task)
    }

    fn meters(&self) -> &Arc<Meters> {
        self.inner.meters()
    }

    fn used_bytes(&self) -> Result<u64> {
        self.inner.used_bytes()
    }

    fn written_bytes(&self) -> u64 {
        self.inner.written_bytes()
    }

    fn read_bytes(&self) -> u64 {
        self.inner.read_bytes()
    }
}

struct HaltingFile {
    inner: Arc<dyn StorageFile>,
    halt: Arc<Halt>,
    skips_syncs: Arc<AtomicBool>,
}

impl StorageFile for HaltingFile {
    fn read_at(&self, task: &mut Task, purpose: Purpose, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.halt.check()?;
        self.inner.read_at(task, purpose, offset, buffer)
    }

    fn write_at(&self, task: &mut Task, purpose: Purpose, offset: u64, data: &[u8]) -> Result<()> {
        self.halt.check()?;
        self.inner.write_at(task, purpose, offset, data)
    }

    fn sync(&self, task: &mut Task, purpose: Purpose) -> Result<()> {
        self.halt.check()?;
        if self.skips_syncs.load(Ordering::Acquire) {
            return Ok(());
        }
        self.inner.sync(task, purpose)
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn set_len(&self, task: &mut Task, bytes: u64) -> Result<()> {
        self.inner.set_len(task, bytes)
    }

    fn punch_hole(&self, task: &mut Task, offset: u64, bytes: u64) -> Result<()> {
        self.inner.punch_hole(task, offset, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryStorage;

    #[test]
    fn syncs_are_left_out_only_while_that_is_asked() {
        let (meters, mut task) = (Arc::<Meters>::default(), Task::wall(0));
        let storage = HaltingStorage::new(Arc::new(MemoryStorage::new(meters.clone())), Arc::default());
        let file = storage.create(&mut task, "redo.log").unwrap();
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
        let file = storage.create(&mut task, "000001.sst").unwrap();
        file.write_at(&mut task, Purpose::Flush, 0, b"block").unwrap();
        halt.ask();
        let result = file.write_at(&mut task, Purpose::Flush, 5, b"block");
        assert!(matches!(result, Err(Error::Cancelled)));
        assert!(matches!(storage.create(&mut task, "000002.sst"), Err(Error::Cancelled)));
        storage.remove(&mut task, "000001.sst").unwrap();
    }
}

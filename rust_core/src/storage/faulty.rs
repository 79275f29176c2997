//! Injected faults over any storage: after a countdown of operations, an error; or a disk of limited size.

use super::{Storage, StorageFile};
use crate::error::{Error, Result};
use crate::metrics::{Meters, Purpose};
use crate::runtime::Task;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Never fails.
const NEVER: i64 = i64::MAX;

#[derive(Debug)]
struct Plan {
    /// Writes and syncs left before all of them fail.
    writes_left: AtomicI64,
    /// Reads left before all of them fail.
    reads_left: AtomicI64,
    /// Bytes that may still be written before the disk is full.
    space_left: AtomicI64,
    /// Writes and syncs seen so far.
    writes_seen: AtomicU64,
}

/// A storage whose operations fail on command.
pub struct FaultyStorage {
    inner: Arc<dyn Storage>,
    plan: Arc<Plan>,
}

impl FaultyStorage {
    /// Wraps `inner` without any fault yet.
    pub fn new(inner: Arc<dyn Storage>) -> Self {
        let plan = Plan {
            writes_left: AtomicI64::new(NEVER),
            reads_left: AtomicI64::new(NEVER),
            space_left: AtomicI64::new(NEVER),
            writes_seen: AtomicU64::new(0),
        };
        Self { inner, plan: Arc::new(plan) }
    }

    /// Lets `count` more writes and syncs succeed, and fails all later ones.
    pub fn fail_writes_after(&self, count: u64) {
        self.plan.writes_left.store(count as i64, Ordering::SeqCst);
    }

    /// Lets `count` more reads succeed, and fails all later ones.
    pub fn fail_reads_after(&self, count: u64) {
        self.plan.reads_left.store(count as i64, Ordering::SeqCst);
    }

    /// Lets `bytes` more be written, and answers `no space left` to all later writes.
    pub fn limit_space(&self, bytes: u64) {
        self.plan.space_left.store(bytes as i64, Ordering::SeqCst);
    }

    /// Lifts all faults.
    pub fn heal(&self) {
        for left in [&self.plan.writes_left, &self.plan.reads_left, &self.plan.space_left] {
            left.store(NEVER, Ordering::SeqCst);
        }
    }

    /// Writes and syncs seen so far: the range of interesting countdowns.
    pub fn writes_seen(&self) -> u64 {
        self.plan.writes_seen.load(Ordering::SeqCst)
    }
}

impl Plan {
    fn take(left: &AtomicI64, amount: i64) -> bool {
        left.load(Ordering::SeqCst) == NEVER || left.fetch_sub(amount, Ordering::SeqCst) >= amount
    }

    fn write(&self, name: &str, action: &'static str, bytes: u64) -> Result<()> {
        self.writes_seen.fetch_add(1, Ordering::SeqCst);
        if !Self::take(&self.writes_left, 1) {
            return Err(Error::io(name, action, io::Error::other("injected fault")));
        }
        if !Self::take(&self.space_left, bytes as i64) {
            return Err(Error::io(name, action, io::Error::from(io::ErrorKind::StorageFull)));
        }
        Ok(())
    }
}

impl Storage for FaultyStorage {
    fn create(&self, task: &mut Task, name: &str) -> Result<Arc<dyn StorageFile>> {
        self.plan.write(name, "create", 0)?;
        let inner = self.inner.create(task, name)?;
        Ok(Arc::new(FaultyFile { name: name.to_owned(), inner, plan: self.plan.clone() }))
    }

    fn open(&self, task: &mut Task, name: &str) -> Result<Arc<dyn StorageFile>> {
        let inner = self.inner.open(task, name)?;
        Ok(Arc::new(FaultyFile { name: name.to_owned(), inner, plan: self.plan.clone() }))
    }

    fn remove(&self, task: &mut Task, name: &str) -> Result<()> {
        self.plan.write(name, "remove", 0)?;
        self.inner.remove(task, name)
    }

    fn rename(&self, task: &mut Task, from: &str, to: &str) -> Result<()> {
        self.plan.write(from, "rename", 0)?;
        self.inner.rename(task, from, to)
    }

    fn list(&self) -> Result<Vec<String>> {
        self.inner.list()
    }

    fn sync_directory(&self, task: &mut Task) -> Result<()> {
        self.plan.write(".", "sync", 0)?;
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

struct FaultyFile {
    name: String,
    inner: Arc<dyn StorageFile>,
    plan: Arc<Plan>,
}

impl StorageFile for FaultyFile {
    fn read_at(&self, task: &mut Task, purpose: Purpose, offset: u64, buffer: &mut [u8]) -> Result<()> {
        if !Plan::take(&self.plan.reads_left, 1) {
            return Err(Error::io(&*self.name, "read", io::Error::other("injected fault")));
        }
        self.inner.read_at(task, purpose, offset, buffer)
    }

    fn write_at(&self, task: &mut Task, purpose: Purpose, offset: u64, data: &[u8]) -> Result<()> {
        self.plan.write(&self.name, "write", data.len() as u64)?;
        self.inner.write_at(task, purpose, offset, data)
    }

    fn sync(&self, task: &mut Task, purpose: Purpose) -> Result<()> {
        self.plan.write(&self.name, "sync", 0)?;
        self.inner.sync(task, purpose)
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn set_len(&self, task: &mut Task, bytes: u64) -> Result<()> {
        self.plan.write(&self.name, "resize", 0)?;
        self.inner.set_len(task, bytes)
    }

    fn punch_hole(&self, task: &mut Task, offset: u64, bytes: u64) -> Result<()> {
        self.plan.write(&self.name, "punch a hole in", 0)?;
        self.inner.punch_hole(task, offset, bytes)
    }
}

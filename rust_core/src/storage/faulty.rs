//! Injected faults over any storage: after a countdown of operations, an error; or a disk of limited size.

use super::Storage;
use super::gated::{Gate, GatedStorage, Operation, Pass};
use crate::error::{Error, Result};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Never fails.
const NEVER: i64 = i64::MAX;

/// The faults that are still to come.
#[derive(Debug)]
pub struct Faults {
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
pub type FaultyStorage = GatedStorage<Faults>;

impl FaultyStorage {
    /// Wraps `inner` without any fault yet.
    pub fn new(inner: Arc<dyn Storage>) -> Self {
        let faults = Faults {
            writes_left: AtomicI64::new(NEVER),
            reads_left: AtomicI64::new(NEVER),
            space_left: AtomicI64::new(NEVER),
            writes_seen: AtomicU64::new(0),
        };
        Self::behind(faults, inner)
    }

    /// Lets `count` more writes and syncs succeed, and fails all later ones.
    pub fn fail_writes_after(&self, count: u64) {
        self.gate().writes_left.store(count as i64, Ordering::SeqCst);
    }

    /// Lets `count` more reads succeed, and fails all later ones.
    pub fn fail_reads_after(&self, count: u64) {
        self.gate().reads_left.store(count as i64, Ordering::SeqCst);
    }

    /// Lets `bytes` more be written, and answers `no space left` to all later writes.
    pub fn limit_space(&self, bytes: u64) {
        self.gate().space_left.store(bytes as i64, Ordering::SeqCst);
    }

    /// Lifts all faults.
    pub fn heal(&self) {
        let faults = self.gate();
        for left in [&faults.writes_left, &faults.reads_left, &faults.space_left] {
            left.store(NEVER, Ordering::SeqCst);
        }
    }

    /// Writes and syncs seen so far: the range of interesting countdowns.
    pub fn writes_seen(&self) -> u64 {
        self.gate().writes_seen.load(Ordering::SeqCst)
    }
}

impl Faults {
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

    fn read(&self, name: &str) -> Result<()> {
        if Self::take(&self.reads_left, 1) {
            return Ok(());
        }
        Err(Error::io(name, "read", io::Error::other("injected fault")))
    }
}

impl Gate for Faults {
    fn before(&self, operation: Operation, name: &str) -> Result<Pass> {
        match operation {
            Operation::Open => Ok(()),
            Operation::Read => self.read(name),
            Operation::Create => self.write(name, "create", 0),
            Operation::Remove => self.write(name, "remove", 0),
            Operation::Rename => self.write(name, "rename", 0),
            Operation::Write { bytes } => self.write(name, "write", bytes),
            Operation::Sync => self.write(name, "sync", 0),
            Operation::Resize => self.write(name, "resize", 0),
            Operation::PunchHole => self.write(name, "punch a hole in", 0),
        }?;
        Ok(Pass::Through)
    }
}

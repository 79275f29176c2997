//! Injected faults over storage in memory: errors from some operation on, as after a power cut; the error of one
//! operation alone; or a disk of limited size.

use super::gated::{Gate, GatedStorage, Operation, Pass};
use super::memory::{MemoryStorage, SECTOR_BYTES};
use crate::error::{Error, Result};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Never fails.
const NEVER: i64 = i64::MAX;

/// The faults that are still to come.
#[derive(Debug)]
pub struct Faults {
    memory: Arc<MemoryStorage>,
    /// Writes and syncs left before all of them fail.
    writes_left: AtomicI64,
    /// Reads left before all of them fail.
    reads_left: AtomicI64,
    /// Bytes that may still be written before the disk is full.
    space_left: AtomicI64,
    /// Writes and syncs seen so far.
    writes_seen: AtomicU64,
    /// Operations of all kinds seen so far.
    operations_seen: AtomicU64,
    /// The number of the one operation that fails.
    fails_once: AtomicU64,
}

/// A storage whose operations fail on command.
pub type FaultyStorage = GatedStorage<Faults>;

impl FaultyStorage {
    /// Wraps `inner` without any fault yet.
    pub fn new(inner: Arc<MemoryStorage>) -> Self {
        let faults = Faults {
            memory: inner.clone(),
            writes_left: AtomicI64::new(NEVER),
            reads_left: AtomicI64::new(NEVER),
            space_left: AtomicI64::new(NEVER),
            writes_seen: AtomicU64::new(0),
            operations_seen: AtomicU64::new(0),
            fails_once: AtomicU64::new(u64::MAX),
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

    /// Fails the operation with this number, counted from 0 over all kinds, and none after it. A write that fails may
    /// have been done in part or whole; bytes whose sync fails count as clean, so that no later sync writes them.
    pub fn fail_once_at(&self, number: u64) {
        self.gate().fails_once.store(number, Ordering::SeqCst);
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
        faults.fails_once.store(u64::MAX, Ordering::SeqCst);
    }

    /// Operations of all kinds seen so far: the numbers that may fail once.
    pub fn operations_seen(&self) -> u64 {
        self.gate().operations_seen.load(Ordering::SeqCst)
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
            return Err(injected(name, action));
        }
        if !Self::take(&self.space_left, bytes as i64) {
            return Err(Error::io(name, action, io::Error::from(io::ErrorKind::StorageFull)));
        }
        Ok(())
    }

    fn read(&self, name: &str) -> Result<()> {
        if Self::take(&self.reads_left, 1) { Ok(()) } else { Err(injected(name, "read")) }
    }

    /// The one operation that fails: a write after nothing, some sectors or all of its bytes.
    fn fail_once(&self, number: u64, operation: Operation, name: &str) -> Result<Pass> {
        match operation {
            Operation::Write { bytes } => {
                let sectors = bytes.div_ceil(SECTOR_BYTES as u64);
                let done = [0, sectors / 2, sectors][(number % 3) as usize] * SECTOR_BYTES as u64;
                return Ok(Pass::Short { bytes: done.min(bytes) });
            }
            Operation::Sync => self.memory.lose_unsynced(name),
            _ => {}
        }
        Err(injected(name, action(operation)))
    }
}

fn injected(name: &str, action: &'static str) -> Error {
    Error::io(name, action, io::Error::other("injected fault"))
}

fn action(operation: Operation) -> &'static str {
    match operation {
        Operation::Open => "open",
        Operation::Read => "read",
        Operation::Create => "create",
        Operation::Remove => "remove",
        Operation::Rename => "rename",
        Operation::Write { .. } => "write",
        Operation::Sync => "sync",
        Operation::Resize => "resize",
        Operation::PunchHole => "punch a hole in",
    }
}

impl Gate for Faults {
    fn before(&self, operation: Operation, name: &str) -> Result<Pass> {
        let number = self.operations_seen.fetch_add(1, Ordering::SeqCst);
        if number == self.fails_once.load(Ordering::SeqCst) {
            return self.fail_once(number, operation, name);
        }
        match operation {
            Operation::Open => Ok(()),
            Operation::Read => self.read(name),
            Operation::Write { bytes } => self.write(name, "write", bytes),
            other => self.write(name, action(other), 0),
        }?;
        Ok(Pass::Through)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Purpose;
    use crate::storage::FileOptions;
    use crate::storage::Storage;
    use crate::task::Task;

    /// What the third operation, a write, leaves if the operation with this number fails, and how all of them end.
    fn after_one_fault(number: u64) -> (Vec<bool>, u64, u64) {
        let (memory, mut task) = (Arc::new(MemoryStorage::new(Arc::default())), Task::wall(0));
        let storage = FaultyStorage::new(memory.clone());
        storage.fail_once_at(number);
        let created = storage.create(&mut task, "f", FileOptions::DIRECT).is_ok();
        let file = storage
            .create(&mut task, "g", FileOptions::DIRECT)
            .unwrap_or_else(|_| storage.create(&mut task, "g", FileOptions::DIRECT).unwrap());
        let wrote = file.write_at(&mut task, Purpose::Wal, 0, &[7; 1000]).is_ok();
        let synced = [file.sync(&mut task, Purpose::Wal).is_ok(), file.sync(&mut task, Purpose::Wal).is_ok()];
        storage.sync_directory(&mut task).unwrap();
        let left = memory
            .crash_clone(crate::storage::memory::CrashKeeps::Synced)
            .open(&mut task, "g", FileOptions::DIRECT)
            .unwrap()
            .len();
        ([vec![created, wrote], synced.to_vec()].concat(), file.len(), left)
    }

    #[test]
    fn one_operation_fails_and_those_after_it_do_not() {
        assert_eq!(after_one_fault(0), (vec![false, true, true, true], 1000, 1000));
        assert_eq!(after_one_fault(2), (vec![true, false, true, true], 1000, 1000));
        assert_eq!(after_one_fault(9), (vec![true, true, true, true], 1000, 1000));
    }

    #[test]
    fn what_a_failed_sync_covered_is_lost_though_the_next_one_succeeds() {
        assert_eq!(after_one_fault(3), (vec![true, true, false, true], 1000, 0));
    }

    #[test]
    fn a_failed_write_is_done_in_part() {
        let (memory, mut task) = (Arc::new(MemoryStorage::new(Arc::default())), Task::wall(0));
        let storage = FaultyStorage::new(memory);
        let file = storage.create(&mut task, "f", FileOptions::DIRECT).unwrap();
        let mut lens = [1, 2, 3].map(|number| {
            storage.fail_once_at(number);
            let at = file.len();
            file.write_at(&mut task, Purpose::Wal, at, &[7; 1000]).unwrap_err();
            file.len() - at
        });
        lens.sort_unstable();
        assert_eq!(lens, [0, 512, 1000]);
    }
}

//! The log-structured merge tree, with the option names and the policies of RocksDB.
//!
//! Writes go to the log and the memtable (`writing`); full memtables become tables of level 0 (`flush`), which are
//! merged downwards (`compaction`) as the pure functions of [`policy`] decide. Readers load a view (`core`) and take
//! no lock. The file formats are described in `FORMAT.md`.

mod arena;
mod block;
mod bloom;
mod cache;
mod compaction;
mod core;
mod flush;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod index;
mod iterator;
mod key;
mod log;
mod manifest;
mod memtable;
mod merge;
pub mod options;
pub mod policy;
mod prefetch;
mod prefix;
mod recovery;
mod replay;
mod skiplist;
mod sorted_keys;
mod table;
mod table_builder;
mod table_cursor;
mod table_format;
mod version;
mod version_edit;
mod wal;
mod writing;

#[cfg(test)]
mod tests;

pub use options::Options;

use self::core::Core;
use self::iterator::LsmIterator;
use crate::cost::Work;
use crate::engine::{Commit, Engine, EngineIterator, EngineStats, WriteBatch};
use crate::error::{Error, Result};
use crate::storage::Storage;
use crate::task::{Admission, Job, Signal, Task};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// An LSM engine.
pub struct Lsm {
    core: Arc<Core>,
}

impl Lsm {
    /// Opens the engine whose files are in `storage`, or a new one if there are none. Entries that were only in the log
    /// are put into tables. `signal` is told when background work becomes ready.
    pub fn open(
        storage: Arc<dyn Storage>,
        options: Options,
        signal: Arc<Signal>,
        task: &mut Task,
    ) -> Result<Arc<Self>> {
        Ok(Arc::new(Self { core: recovery::open(storage, &options, signal, task)? }))
    }

    /// Makes the memtable immutable if it holds anything, and has all of them flushed.
    fn begin_flush(&self, task: &mut Task) -> Result<()> {
        let core = &self.core;
        core.writer.with(task, |task, memtable| {
            if memtable.entries() == 0 {
                return Ok(());
            }
            let switched = core.switch_memtable(task, memtable);
            core.poisoned(switched)
        })?;
        let mut control = core.control.lock();
        control.flush_all = !core.view.load().immutables.is_empty();
        control.may_have_work = true;
        Ok(())
    }
}

impl Engine for Lsm {
    fn get(&self, task: &mut Task, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        self.core.get(task, key, value)
    }

    fn write(&self, task: &mut Task, batch: &mut WriteBatch, commit: Commit) -> Result<()> {
        self.core.write(task, batch, commit)
    }

    fn iterator<'a>(&'a self, task: &mut Task) -> Result<Box<dyn EngineIterator + 'a>> {
        self.core.poison.check()?;
        task.charge(Work::Call, 1);
        let view = self.core.view.load();
        let sequence = self.core.sequence.load(Ordering::Acquire);
        Ok(Box::new(LsmIterator::new(&view, sequence, self.core.parsed.prefix)))
    }

    fn admit(&self, task: &mut Task, bytes: u64) -> Result<Admission> {
        self.core.admit(task, bytes)
    }

    fn next_job(&self, _now_ns: u64) -> Option<Box<dyn Job>> {
        self.core.poison.check().ok()?;
        let mut control = self.core.control.lock();
        if !control.may_have_work {
            return None;
        }
        if let Some(flush) = self.core.next_flush(&mut control) {
            return Some(Box::new(flush));
        }
        if let Some(compaction) = self.core.next_compaction(&mut control) {
            return Some(Box::new(compaction));
        }
        control.may_have_work = false;
        None
    }

    fn next_timer(&self, _now_ns: u64) -> Option<u64> {
        None
    }

    fn background_threads(&self) -> usize {
        self.core.options.max_flushes() + self.core.options.max_compactions()
    }

    fn begin_settle(&self, task: &mut Task) -> Result<()> {
        self.core.poison.check()?;
        self.begin_flush(task)?;
        self.core.signal.wake();
        Ok(())
    }

    fn is_settled(&self) -> bool {
        let control = self.core.control.lock();
        let idle = control.running_flushes == 0 && control.flushing.is_empty() && control.running.is_empty();
        idle && !self.core.flush_is_due(&control) && !self.core.compaction_is_due(&control)
    }

    fn close(&self, task: &mut Task) -> Result<()> {
        let core = &self.core;
        core.poison.check()?;
        if core.options.disable_wal {
            self.begin_flush(task)?;
            loop {
                let job = core.next_flush(&mut core.control.lock());
                let Some(mut job) = job else { break };
                let result = job.run(task).and_then(|()| Box::new(job).install(task));
                core.poisoned(result)?;
            }
            return Ok(());
        }
        let flushed = core.log.lock().as_mut().map_or(Ok(()), |log| log.flush(task));
        let synced = flushed.and_then(|()| core.logs.sync(task, &*core.storage));
        core.poisoned(synced)
    }

    fn poison(&self, error: &Error) {
        self.core.poison.set(error);
    }

    fn check(&self) -> Result<()> {
        self.core.poison.check()
    }

    fn stats(&self) -> EngineStats {
        self.core.stats()
    }
}

//! The engine trait on an open database.

use super::db_impl::DbImpl;
use super::iterator::DbIterator;
use super::recovery;
use crate::cost::Work;
use crate::engine::{Commit, Engine, EngineIterator, EngineStats, WriteBatch};
use crate::error::{Error, Result};
use crate::lsm::options::Options;
use crate::storage::Storage;
use crate::task::{Admission, Job, Signal, Task};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// An LSM engine.
pub struct Lsm {
    pub(in crate::lsm) db: Arc<DbImpl>,
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
        Ok(Arc::new(Self { db: recovery::open(storage, &options, signal, task)? }))
    }

    /// Makes the memtable immutable if it holds anything, and has all of them flushed.
    fn begin_flush(&self, task: &mut Task) -> Result<()> {
        let db = &self.db;
        db.write_thread.with(task, |task, memtable| {
            if memtable.entries() == 0 {
                return Ok(());
            }
            let switched = db.switch_memtable(task, memtable);
            db.poisoned(switched)
        })?;
        let mut background = db.background.lock();
        background.flush_all = !db.super_version.load().immutables.is_empty();
        background.may_have_work = true;
        Ok(())
    }
}

impl Engine for Lsm {
    fn get(&self, task: &mut Task, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        self.db.get(task, key, value)
    }

    fn write(&self, task: &mut Task, batch: &mut WriteBatch, commit: Commit) -> Result<()> {
        self.db.write(task, batch, commit)
    }

    fn adds_indexes(&self) -> bool {
        true
    }

    fn add_index(&self, task: &mut Task, entries: &mut WriteBatch) -> Result<()> {
        self.db.ingest(task, entries)
    }

    fn iterator<'a>(&'a self, task: &mut Task) -> Result<Box<dyn EngineIterator + 'a>> {
        self.db.poison.check()?;
        task.charge(Work::Call, 1);
        let super_version = self.db.super_version.load();
        let sequence = self.db.sequence.load(Ordering::Acquire);
        Ok(Box::new(DbIterator::new(&super_version, sequence, self.db.parsed.prefix)))
    }

    fn admit(&self, task: &mut Task, bytes: u64) -> Result<Admission> {
        self.db.admit(task, bytes)
    }

    fn next_job(&self, _now_ns: u64) -> Option<Box<dyn Job>> {
        self.db.poison.check().ok()?;
        let mut background = self.db.background.lock();
        if !background.may_have_work {
            return None;
        }
        if let Some(flush) = self.db.next_flush(&mut background) {
            return Some(Box::new(flush));
        }
        if let Some(compaction) = self.db.next_compaction(&mut background) {
            return Some(Box::new(compaction));
        }
        background.may_have_work = false;
        None
    }

    fn next_timer(&self, _now_ns: u64) -> Option<u64> {
        None
    }

    fn background_threads(&self) -> usize {
        self.db.options.max_flushes() + self.db.options.max_compactions()
    }

    fn begin_settle(&self, task: &mut Task) -> Result<()> {
        self.db.poison.check()?;
        self.begin_flush(task)?;
        self.db.signal.wake();
        Ok(())
    }

    fn is_settled(&self) -> bool {
        let background = self.db.background.lock();
        let idle =
            background.running_flushes == 0 && background.flushing.is_empty() && background.compactions.is_empty();
        idle && !self.db.flush_is_due(&background) && !self.db.compaction_is_due(&background)
    }

    fn empty_level0(&self, is_asked: bool) -> Result<()> {
        self.db.poison.check()?;
        let mut background = self.db.background.lock();
        background.empties_level0 = is_asked;
        background.may_have_work = true;
        drop(background);
        self.db.signal.wake();
        Ok(())
    }

    fn cycles(&self) -> Option<u64> {
        Some(self.db.counters.level0_merges.load(Ordering::Relaxed))
    }

    fn close(&self, task: &mut Task) -> Result<()> {
        let db = &self.db;
        db.poison.check()?;
        if db.options.disable_wal {
            self.begin_flush(task)?;
            loop {
                let job = db.next_flush(&mut db.background.lock());
                let Some(mut job) = job else { break };
                let result = job.run(task).and_then(|()| Box::new(job).install(task));
                db.poisoned(result)?;
            }
            return Ok(());
        }
        let flushed = db.log.lock().as_mut().map_or(Ok(()), |log| log.flush(task));
        let synced = flushed.and_then(|()| db.logs.sync(task, &*db.storage));
        db.poisoned(synced)
    }

    fn poison(&self, error: &Error) {
        self.db.poison.set(error);
    }

    fn check(&self) -> Result<()> {
        self.db.poison.check()
    }

    fn stats(&self) -> EngineStats {
        self.db.stats()
    }
}

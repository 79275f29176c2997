//! The write path: log, memtable, visibility; and where writers are held back.

use super::db_impl::DbImpl;
use super::super_version::SuperVersion;
use crate::cost::Work;
use crate::engine::{Commit, WriteBatch};
use crate::error::{Error, Result};
use crate::lsm::memtable::MemTable;
use crate::lsm::policy::StallCondition;
use crate::task::{Admission, Task};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How often a delayed write looks whether it still has to wait (`kDelayInterval`).
const DELAY_INTERVAL_US: u64 = 1001;

impl DbImpl {
    /// Applies a batch. An error leaves the engine poisoned: the batch may or may not be found after a restart.
    pub fn write(self: &Arc<Self>, task: &mut Task, batch: &mut WriteBatch, commit: Commit) -> Result<()> {
        self.poison.check()?;
        let synced = (self.options.sync && commit != Commit::Open) || commit == Commit::Synced;
        if synced && self.options.disable_wal {
            return Err(Error::invalid("commit", "a synced write", "writes without sync while disable_wal is true"));
        }
        if batch.is_empty() {
            return Ok(());
        }
        task.charge(Work::Call, 1);
        let position = synced.then(Arc::<AtomicU64>::default);
        // Poisoned before the lock is released: a record must not follow one that failed.
        self.write_thread.with(task, |task, memtable| {
            if batch.calls_in_line() {
                batch.charge_calls(task, commit);
            }
            let written = self.write_alone(task, memtable, batch, position.clone());
            self.poisoned(written)
        })?;
        if let Some(position) = position {
            let db = self.clone();
            task.then(move |task| {
                db.group_commit.sync_to(task, position.load(Ordering::Relaxed), |task| {
                    // After a sync that failed, the next one says nothing about the bytes that were to be synced then.
                    db.poison.check()?;
                    let covers = db.logs.written();
                    let synced = db.logs.sync(task, &*db.storage);
                    db.poisoned(synced.map(|()| covers))
                })
            })?;
        }
        self.counters.user_bytes.fetch_add(batch.user_bytes(), Ordering::Relaxed);
        Ok(())
    }

    /// Leaves where the log has the batch in `synced`, if it is to be synced.
    fn write_alone(
        self: &Arc<Self>,
        task: &mut Task,
        memtable: &mut Arc<MemTable>,
        batch: &mut WriteBatch,
        synced: Option<Arc<AtomicU64>>,
    ) -> Result<()> {
        self.poison.check()?;
        let first = self.sequence.load(Ordering::Relaxed) + 1;
        if !self.options.disable_wal {
            let db = self.clone();
            let keep_back = self.options.manual_wal_flush && synced.is_none();
            task.then_with(batch.encode(first), move |task, record| {
                if let Some(log) = &mut *db.log.lock() {
                    let appended = log.append(task, record, keep_back);
                    db.poisoned(appended)?;
                }
                let position = db.logs.note_written();
                if let Some(synced) = synced {
                    synced.store(position, Ordering::Relaxed);
                }
                Ok(())
            })?;
        }
        let (arena_block, limit) = (self.options.arena_block_bytes(), self.options.write_buffer_size);
        let full = memtable.insert(task, batch, first, arena_block, limit);
        self.sequence.store(first + batch.len() as u64 - 1, Ordering::Release);
        if full {
            self.switch_memtable(task, memtable)?;
        }
        Ok(())
    }

    /// Makes the memtable immutable and begins a new one with a new log.
    pub fn switch_memtable(&self, task: &mut Task, current: &mut Arc<MemTable>) -> Result<()> {
        task.charge(Work::MemtableSwitch, 1);
        let wal_number = self.new_file_number();
        if let Some(log) = &mut *self.log.lock() {
            log.flush(task)?;
            *log = self.logs.create(task, &*self.storage, wal_number)?;
        }
        let number = current.number + 1;
        let memtable = Arc::new(MemTable::new(number, wal_number, self.options.arena_block_bytes()));
        current.clone_from(&memtable);
        let mut background = self.background.lock();
        let old = self.super_version.load_full();
        let immutables = std::iter::once(&old.memtable).chain(&old.immutables).cloned().collect();
        self.install_super_version(
            &mut background,
            SuperVersion { memtable, immutables, version: old.version.clone() },
        );
        drop(background);
        self.signal.wake();
        Ok(())
    }

    /// Whether a client may write now. A delay is over when its time is, or when what it is for has ended, which is
    /// looked at every millisecond (`DBImpl::DelayWrite`).
    pub fn admit(&self, task: &mut Task, bytes: u64) -> Result<Admission> {
        self.poison.check()?;
        let now_us = task.now_us();
        let delayed_until = task.delayed_until_us().take();
        if !self.holds_back.load(Ordering::Acquire) {
            return Ok(Admission::Go);
        }
        let write_controller = &mut self.background.lock().write_controller;
        let until_us = match (write_controller.condition(), delayed_until) {
            (StallCondition::Stopped, _) => return Ok(Admission::Wait),
            (StallCondition::Normal, _) => return Ok(Admission::Go),
            (StallCondition::Delayed { .. }, Some(until_us)) => until_us,
            (StallCondition::Delayed { .. }, None) => now_us + write_controller.delay_us(now_us, bytes),
        };
        if until_us <= now_us {
            return Ok(Admission::Go);
        }
        *task.delayed_until_us() = Some(until_us);
        Ok(Admission::Delay { micros: DELAY_INTERVAL_US })
    }
}

//! The write path: log, memtable, visibility; and where writers are held back.

use super::core::{Core, View};
use super::memtable::Memtable;
use super::policy::StallCondition;
use crate::cost::Work;
use crate::engine::{Commit, WriteBatch};
use crate::error::{Error, Result};
use crate::task::{Admission, Task};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

impl Core {
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
        self.writer.with(task, |task, memtable| {
            let written = self.write_alone(task, memtable, batch, position.clone());
            self.poisoned(written)
        })?;
        if let Some(position) = position {
            let core = self.clone();
            task.then(move |task| {
                core.group.sync_to(task, position.load(Ordering::Relaxed), |task| {
                    // After a sync that failed, the next one says nothing about the bytes that were to be synced then.
                    core.poison.check()?;
                    let covers = core.logs.written();
                    let synced = core.logs.sync(task, &*core.storage);
                    core.poisoned(synced.map(|()| covers))
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
        memtable: &mut Arc<Memtable>,
        batch: &mut WriteBatch,
        synced: Option<Arc<AtomicU64>>,
    ) -> Result<()> {
        self.poison.check()?;
        let first = self.sequence.load(Ordering::Relaxed) + 1;
        if !self.options.disable_wal {
            let core = self.clone();
            let keep_back = self.options.manual_wal_flush && synced.is_none();
            task.then_with(batch.encode(first), move |task, record| {
                if let Some(log) = &mut *core.log.lock() {
                    let appended = log.append(task, record, keep_back);
                    core.poisoned(appended)?;
                }
                let position = core.logs.note_written();
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
    pub fn switch_memtable(&self, task: &mut Task, current: &mut Arc<Memtable>) -> Result<()> {
        task.charge(Work::MemtableSwitch, 1);
        let wal_number = self.new_file_number();
        if let Some(log) = &mut *self.log.lock() {
            log.flush(task)?;
            *log = self.logs.create(task, &*self.storage, wal_number)?;
        }
        let number = current.number + 1;
        let memtable = Arc::new(Memtable::new(number, wal_number, self.options.arena_block_bytes()));
        current.clone_from(&memtable);
        let mut control = self.control.lock();
        let old = self.view.load_full();
        let immutables = std::iter::once(&old.memtable).chain(&old.immutables).cloned().collect();
        self.show(&mut control, View { memtable, immutables, version: old.version.clone() });
        drop(control);
        self.signal.wake();
        Ok(())
    }

    /// Whether a client may write now.
    pub fn admit(&self, task: &Task, bytes: u64) -> Result<Admission> {
        self.poison.check()?;
        if !self.holds_back.load(Ordering::Acquire) {
            return Ok(Admission::Go);
        }
        let controller = &mut self.control.lock().controller;
        if controller.condition() == StallCondition::Stopped {
            return Ok(Admission::Wait);
        }
        match controller.delay_us(task.now_us(), bytes) {
            0 => Ok(Admission::Go),
            micros => Ok(Admission::Delay { micros }),
        }
    }
}

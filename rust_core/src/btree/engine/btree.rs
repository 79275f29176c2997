//! The engine: the face that workloads see.

use super::recovery::{Recovered, open_files};
use crate::btree::background::{Background, PURGE_THREADS};
use crate::btree::options::Options;
use crate::btree::tree::{Cursor, Forest, Toward, Tree, split_key};
use crate::cost::Work;
use crate::engine::{
    Change, Commit, Engine, EngineIterator, EngineStats, INDEX_NUMBER_BYTES, KeyLayout, Poison, WriteBatch,
};
use crate::error::{Error, Result};
use crate::storage::Storage;
use crate::task::{Admission, Job, Signal, Task};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// A B-tree engine: one tree, or one tree for each index number.
pub struct Btree {
    pub(super) options: Options,
    pub(super) layout: KeyLayout,
    pub(super) forest: Arc<Forest>,
    background: Arc<Background>,
    pub(super) poison: Arc<Poison>,
    pub(super) signal: Arc<Signal>,
    user_bytes: AtomicU64,
    /// Clients that wait for room in the log.
    pub(super) room_waiters: AtomicUsize,
}

impl Btree {
    /// Opens the files in `storage`, or makes them, and recovers what a crash left. Fails on options that do not go
    /// together, on files of another page size or key layout, and on corruption.
    #[expect(clippy::needless_pass_by_value, reason = "an engine takes its storage, whichever it is")]
    pub fn open(
        storage: Arc<dyn Storage>,
        options: Options,
        layout: KeyLayout,
        signal: Arc<Signal>,
        task: &mut Task,
    ) -> Result<Arc<Self>> {
        options.check()?;
        let options = options.on_device(storage.rotates());
        let poison = Arc::new(Poison::default());
        let recovered = open_files(&*storage, &options, layout, &signal, &poison, task)?;
        let Recovered { pool, redo, spaces, pending } = recovered;
        let forest = Arc::new(Forest::new(&options, pool.clone(), redo, spaces));
        forest.load_directory(task)?;
        forest.load_undo(task)?;
        forest.open_change_buffer(task)?;
        if forest.store.changes.tree.get().is_some() {
            let arrivals: Weak<Forest> = Arc::downgrade(&forest);
            let _ = pool.arrivals.set(arrivals);
        }
        let background = Arc::new(Background::new(forest.clone(), task.now_ns));
        let (user_bytes, room_waiters) = (AtomicU64::new(0), AtomicUsize::new(0));
        let engine = Self { options, layout, forest, background, poison, signal, user_bytes, room_waiters };
        engine.roll_forward(task, pending)?;
        if layout == KeyLayout::Plain {
            engine.forest.tree_or_create(task, 0)?;
        }
        Ok(Arc::new(engine))
    }

    /// Fails if a change is more than a page or the pool can take.
    pub(super) fn check_change(&self, change: &Change) -> Result<()> {
        let (key, value) = match change {
            Change::Put { key, value } => (*key, value.len()),
            Change::Delete { key } => (*key, 0),
        };
        if self.layout == KeyLayout::Indexed && key.len() < INDEX_NUMBER_BYTES {
            let accepted = format!("at least the {INDEX_NUMBER_BYTES} bytes of an index number");
            return Err(Error::invalid("key length", key.len(), accepted));
        }
        let (number, rest) = split_key(self.layout, key);
        let longest = self.forest.max_key_bytes(number);
        if rest.len() > longest {
            let accepted = format!("at most {longest} bytes in pages of this size");
            return Err(Error::invalid("key length", rest.len(), accepted));
        }
        let longest = self.forest.max_value_bytes(number);
        if value > longest {
            let accepted = format!("at most {longest} bytes in a buffer pool of this size");
            return Err(Error::invalid("value length", value, accepted));
        }
        Ok(())
    }

    fn make_durable(&self, task: &mut Task, end: u64, commit: Commit) -> Result<()> {
        let is_synced = match (commit, self.options.innodb_flush_log_at_trx_commit) {
            (Commit::Open, _) => return Ok(()),
            (Commit::Synced, _) | (_, 1) => true,
            (_, 2) => false,
            _ => return Ok(()),
        };
        let (redo, poison) = (self.forest.store.redo.clone(), self.poison.clone());
        task.then(move |task| {
            let done = if is_synced { redo.sync_to(task, end) } else { redo.write_to(task, end) };
            done.inspect_err(|error| poison.set(error))
        })
    }

    fn leaf(&self, key: &[u8]) -> Option<(Tree, usize)> {
        let (number, rest) = split_key(self.layout, key);
        Some((self.forest.tree(number)?, key.len() - rest.len()))
    }

    #[cfg(test)]
    pub(in crate::btree) fn forest(&self) -> &Forest {
        &self.forest
    }
}

impl Engine for Btree {
    fn get(&self, task: &mut Task, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        self.poison.check()?;
        task.charge(Work::Call, 1);
        value.clear();
        let Some((tree, prefix)) = self.leaf(key) else { return Ok(false) };
        let key = &key[prefix..];
        let before = task.units(Work::Compare);
        let leaf = self.forest.leaf_for_read(task, tree, Toward::At(key), None)?;
        let (slot, found) = leaf.view().search(task, key);
        let found = found && !leaf.view().is_delete_marked(slot);
        if found {
            self.forest.read_value(task, leaf.view().value(slot), value)?;
        }
        self.forest.store.pool.charge_misses(task, before);
        Ok(found)
    }

    fn count_in_range(&self, task: &mut Task, from: &[u8], to: &[u8]) -> Result<Option<u64>> {
        self.poison.check()?;
        task.charge(Work::Call, 1);
        let Some((tree, prefix)) = self.leaf(from) else { return Ok(Some(0)) };
        let before = task.units(Work::Compare);
        let keys = self.forest.count_in_range(task, tree, &from[prefix..], &to[prefix..])?;
        self.forest.store.pool.charge_misses(task, before);
        Ok(keys)
    }

    fn write(&self, task: &mut Task, batch: &mut WriteBatch, commit: Commit) -> Result<()> {
        self.poison.check()?;
        task.charge(Work::Call, 1);
        for change in batch.changes() {
            self.check_change(&change)?;
        }
        let trx_sys = self.forest.undo.trx_sys.clone();
        let (began, end, logs) = if batch.is_empty() {
            (None, self.forest.store.redo.lsn(), Vec::new())
        } else {
            task.charge(Work::TreeTransaction, u64::from(commit != Commit::Open));
            let need = self.estimate(batch.encoded_bytes() as u64, batch.len());
            self.reserve(task, need)?;
            // A batch that stops half way goes on at recovery; until then nobody may see it.
            let before = task.units(Work::Compare);
            let began = trx_sys.begin();
            let applied = self.apply(task, batch, need).inspect_err(|error| self.poison.set(error));
            self.forest.store.pool.charge_misses(task, before);
            self.give_back(need);
            self.forest.store.changes.batches.fetch_add(1, Ordering::Relaxed);
            let (end, logs) = applied?;
            (Some(began), end, logs)
        };
        self.make_durable(task, end, commit)?;
        if let Some(began) = began {
            let signal = self.signal.clone();
            task.then(move |_| {
                if trx_sys.commit(began, &logs) {
                    signal.wake();
                }
                Ok(())
            })?;
        }
        self.user_bytes.fetch_add(batch.user_bytes(), Ordering::Relaxed);
        Ok(())
    }

    /// A batch is in the log as a whole before its first change is made. InnoDB logs each change by itself, so its
    /// transactions may be larger than its log.
    fn takes_in_pieces(&self, changes: &WriteBatch) -> bool {
        self.estimate(changes.encoded_bytes() as u64, changes.len()) > self.forest.store.redo.usable_bytes() / 2
    }

    fn iterator<'a>(&'a self, _task: &mut Task) -> Result<Box<dyn EngineIterator + 'a>> {
        self.poison.check()?;
        Ok(Box::new(Cursor::new(&self.forest, self.layout)))
    }

    /// The limit leaves room for what all threads may still write, as InnoDB's free check does; the size of this write
    /// does not matter.
    fn admit(&self, task: &mut Task, bytes: u64) -> Result<Admission> {
        self.poison.check()?;
        let redo = &self.forest.store.redo;
        if bytes > 0 && redo.checkpoint_age() >= redo.thresholds.limit_for_free_check {
            self.background.note_waiting_writer();
            return Ok(Admission::Wait);
        }
        if task.has_to_ask() && self.background.has_to_supply_frames() {
            return Ok(Admission::Wait);
        }
        task.has_asked();
        Ok(Admission::Go)
    }

    fn next_job(&self, now_ns: u64) -> Option<Box<dyn Job>> {
        self.background.next_job(now_ns)
    }

    fn next_timer(&self, _now_ns: u64) -> Option<u64> {
        Some(self.background.next_timer())
    }

    fn background_threads(&self) -> usize {
        // One more for the log, checkpoints and read-ahead.
        self.options.innodb_page_cleaners as usize + 1 + PURGE_THREADS
    }

    fn begin_settle(&self, _task: &mut Task) -> Result<()> {
        self.poison.check()?;
        self.background.begin_settle();
        self.signal.wake();
        Ok(())
    }

    fn is_settled(&self) -> bool {
        self.background.is_settled()
    }

    fn close(&self, task: &mut Task) -> Result<()> {
        self.poison.check()?;
        self.forest.store.pool.flush_all(task)?;
        self.forest.store.pool.checkpoint_now(task)
    }

    fn poison(&self, error: &Error) {
        self.poison.set(error);
    }

    fn check(&self) -> Result<()> {
        self.poison.check()
    }

    fn stats(&self) -> EngineStats {
        let (pool, redo) = (&self.forest.store.pool, &self.forest.store.redo);
        let space_bytes = self.forest.store.spaces.lock().memory_bytes();
        EngineStats {
            user_bytes_written: self.user_bytes.load(Ordering::Relaxed),
            cache_hits: self.forest.counters.hits.load(Ordering::Relaxed),
            cache_misses: pool.counters.misses.load(Ordering::Relaxed),
            cache_share: pool.filled(),
            memory_bytes: pool.memory_bytes() + redo.memory_bytes() + space_bytes,
            circular_bytes: redo.file_bytes() + pool.doublewrite_bytes(),
            debt_bytes: pool.flush_list.len() as u64 * self.options.innodb_page_size,
            details: self.details(),
            ..EngineStats::default()
        }
    }
}

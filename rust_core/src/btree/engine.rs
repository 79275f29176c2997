//! The engine: the face that workloads see.

use super::background::Background;
use super::cursor::Cursor;
use super::forest::{Forest, Toward, Tree};
use super::insert::Origin;
use super::intent::{Intent, Planned, Span, base_of};
use super::options::Options;
use super::page::{Kind, View};
use super::recovery::{self, Pending, Recovered};
use super::redo;
use super::redo_op::RedoOp;
use super::split_key;
use super::undo::{UndoLog, changed};
use crate::cost::Work;
use crate::engine::{
    Change, Commit, Engine, EngineIterator, EngineStats, INDEX_NUMBER_BYTES, KeyLayout, Poison, WriteBatch,
};
use crate::error::{Error, Result};
use crate::storage::Storage;
use crate::task::{Admission, Job, Signal, Task};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// Redo bytes that a change may take beside its key and value.
const CHANGE_OVERHEAD: u64 = 160;
/// Assumption: changes of a compressed table for one page that is compressed again.
const CHANGES_PER_REPACK: u64 = 8;
/// Rounds after which a client gives up waiting for room that others hold.
const ROOM_ROUNDS: usize = 100_000;
/// Leaves that an estimate of the fill looks at.
const FILL_SAMPLE: usize = 1024;

/// A B-tree engine: one tree, or one tree for each index number.
pub struct Btree {
    storage: Arc<dyn Storage>,
    options: Options,
    layout: KeyLayout,
    forest: Arc<Forest>,
    background: Arc<Background>,
    poison: Arc<Poison>,
    signal: Arc<Signal>,
    user_bytes: AtomicU64,
}

impl Btree {
    /// Opens the files in `storage`, or makes them, and recovers what a crash left. Fails on options that do not go
    /// together, on files of another page size or key layout, and on corruption.
    pub fn open(
        storage: Arc<dyn Storage>,
        options: Options,
        layout: KeyLayout,
        signal: Arc<Signal>,
        task: &mut Task,
    ) -> Result<Arc<Self>> {
        options.check()?;
        let poison = Arc::new(Poison::default());
        let recovered = recovery::open(&*storage, &options, layout, &signal, &poison, task)?;
        let Recovered { pool, redo, spaces, pending } = recovered;
        let forest = Arc::new(Forest::new(&options, pool.clone(), redo, spaces.clone()));
        forest.load_directory(task)?;
        forest.open_change_buffer(task)?;
        if forest.changes.tree.get().is_some() {
            let arrivals: Weak<Forest> = Arc::downgrade(&forest);
            let _ = pool.arrivals.set(arrivals);
        }
        let background = Arc::new(Background::new(pool, spaces, forest.changes.clone(), task.now_ns));
        let user_bytes = AtomicU64::new(0);
        let engine = Self { storage, options, layout, forest, background, poison, signal, user_bytes };
        engine.roll_forward(task, pending)?;
        if layout == KeyLayout::Plain {
            engine.forest.tree_or_create(task, 0)?;
        }
        Ok(Arc::new(engine))
    }

    /// Applies what is left of batches that a crash interrupted.
    fn roll_forward(&self, task: &mut Task, pending: Vec<Pending>) -> Result<()> {
        for Pending { batch, applied, intent, floor } in pending {
            let mut undo = UndoLog::new(&self.forest);
            let planned = batch.changes().zip(&batch.spans).enumerate().skip(applied as usize);
            for (index, (planned, span)) in planned {
                self.check_change(&planned.change()).map_err(|error| {
                    Error::corruption(redo::FILE, intent, format!("the batch with this LSN cannot be: {error}"))
                })?;
                let origin = Origin::Batch { intent, floor, index: index as u32, span: *span };
                self.complete(task, planned, origin, &mut undo)?;
            }
            undo.commit(task)?;
            self.forest.redo.end_batch(floor);
        }
        Ok(())
    }

    fn complete<'a>(
        &'a self,
        task: &mut Task,
        planned: Planned,
        origin: Origin,
        undo: &mut UndoLog<'a>,
    ) -> Result<Option<u64>> {
        match planned {
            Planned::Put { key, value } => self.apply_change(task, &Change::Put { key, value }, origin, undo),
            Planned::Delete { key } => self.apply_change(task, &Change::Delete { key }, origin, undo),
            Planned::Patch { key, base, at, bytes } => {
                let (mut value, at) = (Vec::new(), at as usize);
                let is_base = self.get(task, key, &mut value)? && base_of(&value) == base;
                let Some(old) = value.get_mut(at..at + bytes.len()).filter(|_| is_base) else {
                    return self.forest.note_applied(task, origin);
                };
                old.copy_from_slice(bytes);
                self.apply_change(task, &Change::Put { key, value: &value }, origin, undo)
            }
        }
    }

    /// What of a row differs from its new value, which has the same length, and the checksum of what it is now.
    fn patch(&self, key: &[u8], value: &[u8]) -> Option<(u32, Span)> {
        let (number, key) = split_key(self.layout, key);
        let of = |old: &[u8]| {
            let range = (old.len() == value.len()).then(|| changed(old, value))?;
            Some((base_of(old), Span { at: range.start, len: range.len() }))
        };
        if value.is_empty() { None } else { self.forest.peek(self.forest.tree(number)?, key, of)? }
    }

    fn check_change(&self, change: &Change) -> Result<()> {
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

    /// Redo bytes that a batch is counted for: itself, its changes and their undo, images of the two pages of a split for
    /// every half page that it adds, and for one more, and a long old value. In compressed tables, some changes log a page
    /// that is compressed again; when there is no room for it, they do not.
    fn estimate(&self, batch: &WriteBatch) -> u64 {
        6 * batch.encoded_bytes() as u64
            + CHANGE_OVERHEAD * batch.len() as u64
            + 2 * self.options.innodb_page_size
            + self.forest.max_inline_bytes_of_all() as u64
            + self.options.key_block_size * (batch.len() as u64).div_ceil(CHANGES_PER_REPACK)
    }

    /// Reserves room in the log for a batch, beside what other clients have reserved. Usually admission has seen to it; if
    /// not, the client flushes pages itself, and waits while others use the room.
    fn reserve(&self, task: &mut Task, need: u64) -> Result<()> {
        let redo = &self.forest.redo;
        let mut rounds = 0;
        while need <= redo.usable_bytes() && rounds < ROOM_ROUNDS {
            let others = self.forest.reserved.load(Ordering::Acquire);
            let usable = redo.usable_bytes();
            let limit = if others == 0 { usable } else { redo.thresholds.hard.min(usable) };
            if redo.checkpoint_age() + others + need <= limit {
                let reserved = &self.forest.reserved;
                let swap = reserved.compare_exchange(others, others + need, Ordering::AcqRel, Ordering::Acquire);
                if swap.is_ok() {
                    return Ok(());
                }
                continue;
            }
            let before = redo.checkpoint_lsn();
            self.forest.pool.make_log_room(task)?;
            if redo.checkpoint_lsn() == before {
                self.poison.check()?;
                rounds += usize::from(others == 0);
                std::thread::yield_now();
            }
        }
        let accepted = format!("a batch whose redo fits into innodb_redo_log_capacity, {}", redo.header().capacity);
        Err(Error::invalid("batch bytes", need, accepted))
    }

    fn apply(&self, task: &mut Task, batch: &mut WriteBatch) -> Result<u64> {
        let redo = &self.forest.redo;
        if batch.len() == 1 {
            let change = batch.changes().next();
            let Some(change) = change else { return Ok(redo.lsn()) };
            let mut undo = UndoLog::new(&self.forest);
            let end = self.apply_change(task, &change, Origin::Alone, &mut undo)?;
            return Ok(undo.commit(task)?.or(end).unwrap_or_else(|| redo.lsn()));
        }
        let floor = redo.begin_batch();
        let plan = Intent::of(batch, |key, value| self.patch(key, value));
        let (intent, _) = redo.append(task, |out| RedoOp::Intent { applied: 0, batch: plan.encoded() }.encode(out))?;
        let mut end = redo.lsn();
        let mut undo = UndoLog::new(&self.forest);
        for (index, (change, span)) in batch.changes().zip(&plan.spans).enumerate() {
            let origin = Origin::Batch { intent, floor, index: index as u32, span: *span };
            end = self.apply_change(task, &change, origin, &mut undo)?.unwrap_or(end);
        }
        end = undo.commit(task)?.unwrap_or(end);
        redo.end_batch(floor);
        Ok(end)
    }

    #[inline]
    fn apply_change<'a>(
        &'a self,
        task: &mut Task,
        change: &Change,
        origin: Origin,
        undo: &mut UndoLog<'a>,
    ) -> Result<Option<u64>> {
        task.charge(Work::TreeChange, 1);
        match *change {
            Change::Put { key, value } => {
                let (number, key) = split_key(self.layout, key);
                let tree = match self.forest.tree(number) {
                    Some(tree) => tree,
                    None => self.forest.tree_or_create(task, number)?,
                };
                self.forest.put(task, tree, key, value, origin, undo).map(Some)
            }
            Change::Delete { key } => {
                let (number, key) = split_key(self.layout, key);
                match self.forest.tree(number) {
                    Some(tree) => self.forest.remove(task, tree, key, origin, undo),
                    None => self.forest.note_applied(task, origin),
                }
            }
        }
    }

    fn make_durable(&self, task: &mut Task, end: u64, commit: Commit) -> Result<()> {
        let is_synced = match (commit, self.options.innodb_flush_log_at_trx_commit) {
            (Commit::Open, _) => return Ok(()),
            (Commit::Synced, _) | (_, 1) => true,
            (_, 2) => false,
            _ => return Ok(()),
        };
        let (redo, poison) = (self.forest.redo.clone(), self.poison.clone());
        task.then(move |task| {
            let done = if is_synced { redo.sync_to(task, end) } else { redo.write_to(task, end) };
            done.inspect_err(|error| poison.set(error))
        })
    }

    fn leaf(&self, key: &[u8]) -> Option<(Tree, usize)> {
        let (number, rest) = split_key(self.layout, key);
        Some((self.forest.tree(number)?, key.len() - rest.len()))
    }

    /// Average share of their capacity that leaves in the pool use, over a sample.
    fn leaf_fill(&self) -> Option<f64> {
        let pool = &self.forest.pool;
        let step = (pool.frames() / FILL_SAMPLE).max(1);
        let (mut leaves, mut used, mut capacity) = (0, 0, 0);
        for frame in (0..pool.frames()).step_by(step) {
            pool.with_frame(frame as u32, |bytes| {
                let view = View(bytes);
                if view.kind() == Kind::Tree && view.is_leaf() {
                    leaves += 1;
                    used += view.used();
                    capacity += view.capacity();
                }
            });
        }
        (leaves > 0).then(|| used as f64 / capacity as f64)
    }

    fn details(&self) -> BTreeMap<String, f64> {
        let (pool, redo, forest) = (&self.forest.pool, &self.forest.redo, &self.forest);
        let free_pages = pool.frames_left(pool.lru.lock().free_len());
        let undo_pages = forest.undo.pages().len();
        let tree_pages = forest.spaces.lock().used_pages() - undo_pages as u64;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        let mut details = BTreeMap::from(
            [
                ("checkpoint_age", redo.checkpoint_age() as f64),
                ("redo_file_bytes", redo.file_bytes() as f64),
                ("checkpoint_max_age", redo.thresholds.limit_for_free_check as f64),
                ("dirty_pages", pool.dirty.len() as f64),
                ("pool_pages", pool.frames() as f64),
                ("free_pages", free_pages as f64),
                ("pages_flushed", count(&pool.counters.pages_flushed)),
                ("client_flushes", count(&pool.counters.client_flushes)),
                ("pages_read", count(&pool.counters.misses)),
                ("pages_read_ahead", count(&pool.counters.pages_read_ahead)),
                ("pages_evicted", count(&pool.counters.evictions)),
                ("splits", count(&forest.counters.splits)),
                ("merges", count(&forest.counters.merges)),
                ("tree_pages", tree_pages as f64),
                ("undo_pages", undo_pages as f64),
                ("lsn", redo.lsn() as f64),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        if self.options.is_packed() {
            let packed = [
                ("packs", count(&forest.counters.packs)),
                ("pack_failures", count(&forest.counters.pack_failures)),
                ("pack_padding", forest.paddings.largest() as f64),
                ("pages_unzipped", count(&pool.counters.unzips)),
            ];
            details.extend(packed.map(|(name, value)| (name.to_owned(), value)));
        }
        if forest.changes.tree.get().is_some() {
            let changes = [
                ("changes_buffered", count(&forest.changes.buffered)),
                ("changes_merged", count(&forest.changes.merged)),
                ("change_buffer_pages", count(&forest.changes.tree_pages)),
            ];
            details.extend(changes.map(|(name, value)| (name.to_owned(), value)));
        }
        if let Some(fill) = self.leaf_fill() {
            details.insert("leaf_fill".to_owned(), fill);
        }
        details
    }

    #[cfg(test)]
    pub(super) fn forest(&self) -> &Forest {
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
        if found {
            self.forest.read_value(task, leaf.view().value(slot), value)?;
        }
        self.forest.pool.charge_misses(task, before);
        Ok(found)
    }

    fn count_in_range(&self, task: &mut Task, from: &[u8], to: &[u8]) -> Result<Option<u64>> {
        self.poison.check()?;
        task.charge(Work::Call, 1);
        let Some((tree, prefix)) = self.leaf(from) else { return Ok(Some(0)) };
        let before = task.units(Work::Compare);
        let keys = self.forest.count_in_range(task, tree, &from[prefix..], &to[prefix..])?;
        self.forest.pool.charge_misses(task, before);
        Ok(keys)
    }

    fn write(&self, task: &mut Task, batch: &mut WriteBatch, commit: Commit) -> Result<()> {
        self.poison.check()?;
        task.charge(Work::Call, 1);
        for change in batch.changes() {
            self.check_change(&change)?;
        }
        let end = if batch.is_empty() {
            self.forest.redo.lsn()
        } else {
            task.charge(Work::TreeTransaction, u64::from(commit != Commit::Open));
            let need = self.estimate(batch);
            self.reserve(task, need)?;
            // A batch that stops half way goes on at recovery; until then nobody may see it.
            let before = task.units(Work::Compare);
            let applied = self.apply(task, batch).inspect_err(|error| self.poison.set(error));
            self.forest.pool.charge_misses(task, before);
            self.forest.reserved.fetch_sub(need, Ordering::AcqRel);
            self.forest.changes.batches.fetch_add(1, Ordering::Relaxed);
            applied?
        };
        self.make_durable(task, end, commit)?;
        self.user_bytes.fetch_add(batch.user_bytes(), Ordering::Relaxed);
        Ok(())
    }

    /// A batch is in the log as a whole before its first change is made. InnoDB logs each change by itself, so its
    /// transactions may be larger than its log.
    fn takes_in_pieces(&self, changes: &WriteBatch) -> bool {
        self.estimate(changes) > self.forest.redo.usable_bytes() / 2
    }

    fn iterator<'a>(&'a self, _task: &mut Task) -> Result<Box<dyn EngineIterator + 'a>> {
        self.poison.check()?;
        Ok(Box::new(Cursor::new(&self.forest, self.layout)))
    }

    /// The limit leaves room for what all threads may still write, as InnoDB's free check does; the size of this write does
    /// not matter.
    fn admit(&self, task: &mut Task, bytes: u64) -> Result<Admission> {
        self.poison.check()?;
        let redo = &self.forest.redo;
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
        self.options.innodb_page_cleaners as usize + 1
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
        self.forest.pool.flush_all(task)?;
        self.forest.pool.checkpoint_now(task)
    }

    fn poison(&self, error: &Error) {
        self.poison.set(error);
    }

    fn check(&self) -> Result<()> {
        self.poison.check()
    }

    fn stats(&self) -> EngineStats {
        let (pool, redo) = (&self.forest.pool, &self.forest.redo);
        let space_bytes = self.forest.spaces.lock().memory_bytes();
        EngineStats {
            user_bytes_written: self.user_bytes.load(Ordering::Relaxed),
            cache_hits: self.forest.counters.hits.load(Ordering::Relaxed),
            cache_misses: pool.counters.misses.load(Ordering::Relaxed),
            memory_bytes: pool.memory_bytes() + redo.memory_bytes() + space_bytes,
            disk_bytes: self.storage.used_bytes().unwrap_or(0),
            details: self.details(),
            ..EngineStats::default()
        }
    }
}

//! A batch of changes: the room that it reserves in the log, its intent, its changes, and how recovery completes it.

use super::btree::Btree;
use super::recovery::Pending;
use crate::btree::log::RedoOp;
use crate::btree::page::changed;
use crate::btree::space::REDO_FILE;
use crate::btree::tree::{Intent, Origin, Planned, Span, UndoLog, base_of, split_key};
use crate::engine::{Change, Engine, WriteBatch};
use crate::error::{Error, Result};
use crate::runtime::{Task, Work};
use std::sync::atomic::Ordering;

/// Redo bytes that a change may take beside its key and value.
const CHANGE_OVERHEAD: u64 = 160;
/// Assumption: changes of a compressed table for one page that is compressed again.
const CHANGES_PER_REPACK: u64 = 8;
/// Rounds after which a client gives up waiting for room that others hold.
const ROOM_ROUNDS: usize = 100_000;

impl Btree {
    /// Applies what is left of batches that a crash interrupted.
    pub(super) fn roll_forward(&self, task: &mut Task, pending: Vec<Pending>) -> Result<()> {
        for Pending { batch, applied, intent, floor } in pending {
            let mut undo = self.forest.undo_log();
            let planned = batch.changes().zip(&batch.spans).enumerate().skip(applied as usize);
            for (index, (planned, span)) in planned {
                self.check_change(&planned.change()).map_err(|error| {
                    Error::corruption(REDO_FILE, intent, format!("the batch with this LSN cannot be: {error}"))
                })?;
                let origin = Origin::Batch { intent, floor, index: index as u32, span: *span };
                self.complete(task, planned, origin, &mut undo)?;
            }
            undo.commit(task)?;
            self.forest.store.redo.end_batch(floor);
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
                    return self.forest.store.note_applied(task, origin);
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

    /// Redo bytes that a batch is counted for: itself, its changes and their undo, images of the two pages of a split for
    /// every half page that it adds, and for one more, and a long old value. In compressed tables, some changes log a page
    /// that is compressed again; when there is no room for it, they do not.
    pub(super) fn estimate(&self, batch: &WriteBatch) -> u64 {
        6 * batch.encoded_bytes() as u64
            + CHANGE_OVERHEAD * batch.len() as u64
            + 2 * self.options.innodb_page_size
            + self.forest.max_inline_bytes_of_all() as u64
            + self.options.key_block_size * (batch.len() as u64).div_ceil(CHANGES_PER_REPACK)
    }

    /// Reserves room in the log for a batch, beside what other clients have reserved. Usually admission has seen to it; if
    /// not, the client flushes pages itself, and waits while others use the room.
    pub(super) fn reserve(&self, task: &mut Task, need: u64) -> Result<()> {
        let redo = &self.forest.store.redo;
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
            self.forest.store.pool.make_log_room(task)?;
            if redo.checkpoint_lsn() == before {
                self.poison.check()?;
                rounds += usize::from(others == 0);
                std::thread::yield_now();
            }
        }
        let accepted = format!("a batch whose redo fits into innodb_redo_log_capacity, {}", redo.header().capacity);
        Err(Error::invalid("batch bytes", need, accepted))
    }

    pub(super) fn apply(&self, task: &mut Task, batch: &mut WriteBatch) -> Result<u64> {
        let redo = &self.forest.store.redo;
        if batch.len() == 1 {
            let change = batch.changes().next();
            let Some(change) = change else { return Ok(redo.lsn()) };
            let mut undo = self.forest.undo_log();
            let end = self.apply_change(task, &change, Origin::Alone, &mut undo)?;
            return Ok(undo.commit(task)?.or(end).unwrap_or_else(|| redo.lsn()));
        }
        let floor = redo.begin_batch();
        let plan = Intent::of(batch, |key, value| self.patch(key, value));
        let (intent, _) = redo.append(task, |out| RedoOp::Intent { applied: 0, batch: plan.encoded() }.encode(out))?;
        let mut end = redo.lsn();
        let mut undo = self.forest.undo_log();
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
                    None => self.forest.store.note_applied(task, origin),
                }
            }
        }
    }
}

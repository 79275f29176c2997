//! A batch of changes: its intent, its changes, and how recovery completes it.

use super::btree::Btree;
use super::log_room::Logged;
use super::recovery::Pending;
use crate::btree::log::RedoOp;
use crate::btree::page::changed;
use crate::btree::space::REDO_FILE;
use crate::btree::tree::{Intent, LogAt, Origin, Planned, Span, UndoLog, base_of, split_key};
use crate::cost::Work;
use crate::engine::{Change, Engine, WriteBatch};
use crate::error::{Error, Result};
use crate::task::Task;
use std::sync::atomic::Ordering;

impl Btree {
    /// Applies what is left of batches that a crash interrupted.
    pub(super) fn roll_forward(&self, task: &mut Task, pending: Vec<Pending>) -> Result<()> {
        for Pending { batch, applied, intent, floor } in pending {
            // Nobody else is there yet. A log that was made smaller since may have no room for it as a whole.
            let redo = &self.forest.store.redo;
            let need = self.estimate(batch.encoded().len() as u64, batch.len()).min(redo.usable_bytes() / 2);
            self.forest.reserved.fetch_add(need, Ordering::SeqCst);
            let mut logged = Logged { intent, floor, need, counted_from: redo.lsn(), room: need };
            let mut undo = self.forest.undo_log();
            self.count_anew(task, &mut logged, &batch, applied, &mut undo)?;
            let planned = batch.changes().zip(&batch.spans).enumerate().skip(applied as usize);
            for (index, (planned, span)) in planned {
                let (index, change) = (index as u32, planned.change());
                self.check_change(&change).map_err(|error| {
                    Error::corruption(REDO_FILE, intent, format!("the batch with this LSN cannot be: {error}"))
                })?;
                self.keep_room(task, &mut logged, &batch, (index, &change), &mut undo)?;
                self.complete(task, planned, logged.origin(index, *span), &mut undo)?;
            }
            let committed = undo.commit(task)?;
            self.forest.store.redo.end_batch(logged.floor);
            self.give_back(need);
            let trx_sys = &self.forest.undo.trx_sys;
            trx_sys.commit(trx_sys.begin(), &committed.logs);
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

    /// Makes the changes of a batch that has `need` bytes of room in the log, and returns the LSN of the end of its
    /// last frame and what it leaves to purge.
    pub(super) fn apply(&self, task: &mut Task, batch: &mut WriteBatch, need: u64) -> Result<(u64, Vec<LogAt>)> {
        let redo = &self.forest.store.redo;
        if let Some(change) = batch.changes().next().filter(|_| batch.len() == 1) {
            let mut undo = self.forest.undo_log();
            let end = self.apply_change(task, &change, Origin::Alone, &mut undo)?;
            let committed = undo.commit(task)?;
            return Ok((committed.end.or(end).unwrap_or_else(|| redo.lsn()), committed.logs));
        }
        let floor = redo.begin_batch();
        let plan = Intent::of(batch, |key, value| self.patch(key, value));
        let op = RedoOp::Intent { applied: 0, replaces: 0, batch: plan.encoded() };
        let (intent, mut end) = redo.append(task, |out| op.encode(out))?;
        let mut logged = Logged { intent, floor, need, counted_from: intent, room: need };
        let mut undo = self.forest.undo_log();
        for (index, (change, span)) in batch.changes().zip(&plan.spans).enumerate() {
            let index = index as u32;
            self.keep_room(task, &mut logged, &plan, (index, &change), &mut undo)?;
            end = self.apply_change(task, &change, logged.origin(index, *span), &mut undo)?.unwrap_or(end);
        }
        let committed = undo.commit(task)?;
        end = committed.end.unwrap_or(end);
        redo.end_batch(logged.floor);
        Ok((end, committed.logs))
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

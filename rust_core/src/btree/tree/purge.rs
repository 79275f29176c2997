//! Purge: what InnoDB does with an undo log once nobody needs it (`row0purge.cc`, `trx0purge.cc`). Records that the
//! transaction delete-marked are taken off their pages, unless their key was put again; of an entry of a secondary
//! index the row is looked at first (`row_purge_poss_sec`). Then the log leaves the history list. So purge reads the
//! undo page and the leaves again, if they are not in the pool any more, and dirties what it changes again, if it was
//! written meanwhile.

use super::descent::{Reached, Toward};
use super::forest::Forest;
use super::mtr::Mtr;
use super::origin::Origin;
use super::root::Tree;
use super::undo::Undo;
use super::undo_page::{
    AT_NEEDS_PURGE, LogAt, PURGED_BYTES, UndoKind, UndoRecord, needs_purge, records_of, take_record,
};
use crate::btree::log::RedoOp;
use crate::btree::page::HEADER_BYTES;
use crate::btree::pool::WritePage;
use crate::cost::Work;
use crate::error::Result;
use crate::metrics::Purpose;
use crate::task::Task;
use std::sync::atomic::{AtomicU64, Ordering};

/// Pages of redo that the purge of a record may take: those that a merge logs, and the record.
const RECORD_PAGES: u64 = 3;
/// Rounds in which purge makes room in the log.
const ROOM_ROUNDS: usize = 8;

/// Room in the log, which is given back when it goes.
struct Room<'a> {
    reserved: &'a AtomicU64,
    need: u64,
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.reserved.fetch_sub(self.need, Ordering::SeqCst);
    }
}

/// The records of an undo log, apart from their page.
#[derive(Debug)]
pub struct ReadLog {
    /// Where the log is.
    pub at: LogAt,
    /// Where on the page the records begin.
    first: usize,
    records: Vec<u8>,
}

impl Forest {
    /// Does something that writes a little redo, with room reserved for it; false if the log has none.
    fn with_room(&self, task: &mut Task, purge: impl FnOnce(&mut Task) -> Result<()>) -> Result<bool> {
        let (redo, need) = (&self.store.redo, RECORD_PAGES * self.store.pool.page_bytes() as u64);
        for _ in 0..ROOM_ROUNDS {
            let others = self.reserved.load(Ordering::SeqCst);
            if redo.checkpoint_age() + others + need > redo.thresholds.hard {
                self.store.pool.make_log_room(task)?;
                continue;
            }
            let reserved = &self.reserved;
            if reserved.compare_exchange(others, others + need, Ordering::SeqCst, Ordering::Acquire).is_ok() {
                let _room = Room { reserved, need };
                return purge(task).map(|()| true);
            }
        }
        Ok(false)
    }

    /// Reads the records of an undo log that is to be purged.
    pub fn read_undo_log(&self, task: &mut Task, at: LogAt) -> Result<ReadLog> {
        let page = self.store.pool.read(task, at.page_no)?;
        let records = records_of(page.view(), at).ok_or_else(|| self.store.misplaced(at.page_no))?;
        if !needs_purge(page.view(), at) {
            return Err(self.store.misplaced(at.page_no));
        }
        task.charge(Work::CopyByte, records.len() as u64);
        Ok(ReadLog { at, first: records.start, records: page.view().0[records].to_vec() })
    }

    /// Goes through the records of an undo log, and returns how many it had; none if the redo log has no room, and it
    /// is to be done again.
    pub fn purge_records(&self, task: &mut Task, log: &ReadLog) -> Result<Option<usize>> {
        let (mut at, mut records, mut row) = (0, 0, None);
        while at < log.records.len() {
            let Some((record, next)) = take_record(&log.records, log.first, at) else {
                return Err(self.store.misplaced(log.at.page_no));
            };
            if let Some(tree) = self.tree(record.tree)
                && !self.with_room(task, |task| self.purge_record(task, tree, record, row))?
            {
                return Ok(None);
            }
            if record.kind != UndoKind::EntryDelMark {
                row = Some(record);
            }
            task.charge(Work::Record, 1);
            (at, records) = (next, records + 1);
        }
        Ok(Some(records))
    }

    /// Takes a log that was gone through off the history list of its segment (`trx_purge_truncate_rseg_history`);
    /// false if the redo log has no room.
    pub fn take_off_history(&self, task: &mut Task, log: LogAt) -> Result<bool> {
        let has_left = self.with_room(task, |task| self.write_off_history(task, log))?;
        if has_left {
            self.undo.trx_sys.leave_history();
            self.counters.purged.fetch_add(1, Ordering::Relaxed);
        }
        Ok(has_left)
    }

    /// Purges a record of a row, or of an entry of the index of `row`, whose record came before.
    fn purge_record(
        &self,
        task: &mut Task,
        tree: Tree,
        record: UndoRecord<'_>,
        row: Option<UndoRecord<'_>>,
    ) -> Result<()> {
        match record.kind {
            UndoKind::Insert | UndoKind::Update => Ok(()),
            UndoKind::DelMark => self.purge_marked(task, tree, record.key),
            UndoKind::EntryDelMark => {
                if let Some(row) = row
                    && let Some(rows) = self.tree(row.tree)
                {
                    let leaf = self.leaf_for_read(task, rows, Toward::At(row.key), None)?;
                    leaf.view().search(task, row.key);
                }
                self.purge_marked(task, tree, record.key)
            }
        }
    }

    fn leaf_to_purge(&self, task: &mut Task, tree: Tree, key: &[u8]) -> Result<WritePage<'_>> {
        match self.leaf_for_write(task, tree, key, (None, Origin::Alone))? {
            Reached::Leaf(leaf) => Ok(leaf),
            Reached::Buffered(_) => unreachable!("no change was named that could be buffered"),
        }
    }

    /// Takes a delete-marked record off its page.
    fn purge_marked(&self, task: &mut Task, tree: Tree, key: &[u8]) -> Result<()> {
        let leaf = self.leaf_to_purge(task, tree, key)?;
        let (slot, found) = leaf.view().search(task, key);
        if found && leaf.view().is_delete_marked(slot) {
            self.erase(task, tree, leaf, (slot, key), Origin::Alone, |page| RedoOp::Purge { page, slot: slot as u32 })?;
        }
        Ok(())
    }

    fn write_off_history(&self, task: &mut Task, log: LogAt) -> Result<()> {
        let (store, segments) = (&self.store, &self.undo.segments);
        let segment = segments.segment_of(log.page_no);
        let page = store.pool.write(task, log.page_no, Purpose::UserRead)?;
        let header = self.undo.header_page(task, store, segment)?;
        let mut mtr = Mtr::new(store, vec![page, header]);
        if segments.has_one_log(log.page_no) {
            // What is read later than the first change has to succeed.
            mtr.latch_map_of(task, log.page_no)?;
        }
        let base = Undo::base_node(segments.lengthen_history(segment, false), log);
        mtr.write(1, HEADER_BYTES, &base);
        if segments.note_purged(log.page_no) {
            mtr.free_held(0);
        } else {
            mtr.write(0, log.start + AT_NEEDS_PURGE, &[0; PURGED_BYTES]);
        }
        mtr.commit(task, None).map(drop)
    }
}

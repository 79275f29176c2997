//! Purge: what InnoDB does with an undo log once nobody needs it (`row0purge.cc`, `trx0purge.cc`). Records that the
//! transaction delete-marked are taken off their pages, unless their key was put again. MariaDB also resets the
//! transaction fields of each row that the transaction inserted or updated (`row_purge_reset_trx_id`), MySQL not. Then
//! the log leaves the history list. So purge reads the undo page and the leaves again, if they are not in the pool any
//! more, and dirties them again, if they were written meanwhile.

use super::descent::Reached;
use super::forest::Forest;
use super::mtr::Mtr;
use super::origin::Origin;
use super::root::Tree;
use super::undo::Undo;
use super::undo_page::{AT_NEEDS_PURGE, LogAt, PURGED_BYTES, UndoKind, needs_purge, records_of, take_record};
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

    /// Purges one undo log, and returns how many records it had; none if the redo log has no room, and it is to be
    /// purged again.
    pub fn purge(&self, task: &mut Task, log: LogAt) -> Result<Option<usize>> {
        let (bytes, first) = self.read_log(task, log)?;
        let (mut at, mut records) = (0, 0);
        while at < bytes.len() {
            let Some((record, next)) = take_record(&bytes, first, at) else {
                return Err(self.store.misplaced(log.page_no));
            };
            if let Some(tree) = self.tree(record.tree)
                && !self.with_room(task, |task| self.purge_record(task, tree, record.kind, record.key))?
            {
                return Ok(None);
            }
            task.charge(Work::Record, 1);
            (at, records) = (next, records + 1);
        }
        if !self.with_room(task, |task| self.take_off_history(task, log))? {
            return Ok(None);
        }
        self.counters.purged.fetch_add(1, Ordering::Relaxed);
        Ok(Some(records))
    }

    fn purge_record(&self, task: &mut Task, tree: Tree, kind: UndoKind, key: &[u8]) -> Result<()> {
        match kind {
            UndoKind::Insert | UndoKind::Update if self.store.pool.options.is_mysql() => Ok(()),
            UndoKind::Insert | UndoKind::Update => self.reset_trx_id(task, tree, key),
            UndoKind::DelMark | UndoKind::EntryDelMark => self.purge_marked(task, tree, key),
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

    /// Resets the transaction fields of a row, unless they are. InnoDB leaves those of a version that came later to
    /// that version's purge; here it is the first to come that resets them.
    fn reset_trx_id(&self, task: &mut Task, tree: Tree, key: &[u8]) -> Result<()> {
        let mut leaf = self.leaf_to_purge(task, tree, key)?;
        let view = leaf.view();
        let (slot, found) = view.search(task, key);
        if !found || view.is_delete_marked(slot) || view.is_bare(slot) || view.is_reset(slot) {
            return Ok(());
        }
        leaf.reset_trx_id(slot);
        let page = leaf.page_no();
        let reset = RedoOp::ResetTrxId { page, slot: slot as u32 };
        self.store.log_single(task, leaf, None, |out| reset.encode(out)).map(drop)
    }

    /// The records of a log that is to be purged, and where on the page they begin.
    fn read_log(&self, task: &mut Task, log: LogAt) -> Result<(Vec<u8>, usize)> {
        let page = self.store.pool.read(task, log.page_no)?;
        let records = records_of(page.view(), log).ok_or_else(|| self.store.misplaced(log.page_no))?;
        if !needs_purge(page.view(), log) {
            return Err(self.store.misplaced(log.page_no));
        }
        task.charge(Work::CopyByte, records.len() as u64);
        Ok((page.view().0[records.clone()].to_vec(), records.start))
    }

    /// Takes a log off the history list of its segment (`trx_purge_truncate_rseg_history`).
    fn take_off_history(&self, task: &mut Task, log: LogAt) -> Result<()> {
        let (store, segments) = (&self.store, &self.undo.segments);
        let segment = segments.segment_of(log.page_no);
        let page = store.pool.write(task, log.page_no, Purpose::UserRead)?;
        let header = self.undo.header_page(task, store, segment)?;
        let base = Undo::base_node(segments.lengthen_history(segment, false), log);
        let mut mtr = Mtr::new(store, vec![page, header]);
        mtr.write(1, HEADER_BYTES, &base);
        if segments.note_purged(log.page_no) {
            mtr.free_held(0);
        } else {
            mtr.write(0, log.start + AT_NEEDS_PURGE, &[0; PURGED_BYTES]);
        }
        mtr.commit(task, None).map(drop)
    }
}

//! Undo logs: what each batch leaves behind so that its changes could be taken back. An insert leaves the key; an
//! update the key and the old bytes where the value differs, which stand for the changed columns; a delete the key.
//! Entries of secondary indexes leave nothing, since in InnoDB those of the row say it all. Nor does the change buffer.
//!
//! Nobody reads them here. A batch that a crash interrupts is completed by the redo log, and readers see the newest
//! version, so there is neither rollback nor MVCC: undo is modelled for what it costs, which is its redo (each record
//! and header is logged before its change, in a frame of its own) and its pages (dirtied, flushed and doublewritten as
//! all).
//!
//! A batch appends to a page of its own, under the page's latch until it commits. The pages go round as InnoDB's cached
//! undo segments do: one that is less than three quarters full when its batch commits waits for another batch; the
//! others are history, and come back when purge is through with them.

use super::mtr::Mtr;
use super::page_store::PageStore;
use crate::btree::log::RedoOp;
use crate::btree::options::Options;
use crate::btree::page::{
    AT_TREE, CHANGE_TREE, HEADER_BYTES, Kind, Payload, Stored, UNDO_TREE, View, changed, put_u16, put_u64,
};
use crate::btree::pool::WritePage;
use crate::codec::varint::push_u32;
use crate::cost::Work;
use crate::error::Result;
use crate::metrics::Purpose;
use crate::task::Task;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

/// `innodb_rollback_segments`, among which InnoDB deals its transactions in turn.
const SEGMENTS: u64 = 128;
/// `innodb_purge_batch_size` of MySQL: pages of undo after which purge gives back what it is through with.
const PURGE_BATCH_PAGES: u64 = 300;
/// Bytes of the header of an undo log (`TRX_UNDO_LOG_OLD_HDR_SIZE`): transaction id and number, flags, offsets of the
/// log and of its neighbours on the page, and the node of the history list.
const UNDO_HEADER_BYTES: usize = 46;
/// What commit fills in of it: number, delete marks and state, node.
const COMMIT_BYTES: usize = 8 + 4 + HISTORY_NODE_BYTES;
/// `FLST_NODE_SIZE`: page and offset of the logs before and behind.
const HISTORY_NODE_BYTES: usize = 12;
/// What a version before carries of its transaction: id and roll pointer, compressed, and info bits.
const OLD_VERSION_BYTES: usize = 13;

const INSERT: u8 = 11;
const UPDATE: u8 = 12;
const DELETE: u8 = 14;

/// The undo pages and who has them.
#[derive(Debug)]
pub struct Undo {
    pages: Mutex<Pages>,
    /// Pages to which batches append in turn.
    segments: usize,
    /// Pages of history that purge may be behind.
    lag: usize,
    transactions: AtomicU64,
}

#[derive(Debug, Default)]
struct Pages {
    /// All, in the order of their making.
    all: Vec<u32>,
    /// With room for another log, and where their last log begins.
    cached: VecDeque<(u32, Option<usize>)>,
    /// Full; the oldest in front.
    history: VecDeque<u32>,
    /// Purged.
    free: Vec<u32>,
    /// Those of batches under way.
    in_use: usize,
}

impl Undo {
    /// Over the pages that earlier runs have left. A smaller copy of a server has fewer segments and a shorter history,
    /// as it has a shorter second, and a small pool has no more than a few pages in a hundred for them.
    pub fn new(options: &Options, pages: Vec<u32>) -> Self {
        let scaled = |full: u64| {
            let scaled = options.scale.per_second(full) as usize;
            scaled.min(options.pool_pages() / 64).max(1)
        };
        let pages = Pages { free: pages.iter().rev().copied().collect(), all: pages, ..Pages::default() };
        Self {
            pages: Mutex::new(pages),
            segments: scaled(SEGMENTS),
            lag: scaled(PURGE_BATCH_PAGES),
            transactions: AtomicU64::new(0),
        }
    }

    /// Undo pages.
    pub fn pages(&self) -> Vec<u32> {
        self.pages.lock().all.clone()
    }

    /// A page with room for another log.
    fn cached(&self) -> Option<(u32, Option<usize>)> {
        let mut pages = self.pages.lock();
        let cached = if pages.cached.len() + pages.in_use < self.segments { None } else { pages.cached.pop_front() };
        pages.in_use += 1;
        cached
    }

    /// A page whose logs are purged.
    fn purged(&self) -> Option<u32> {
        let mut pages = self.pages.lock();
        pages.free.pop().or_else(|| if pages.history.len() > self.lag { pages.history.pop_front() } else { None })
    }

    /// A page whose logs have no room is history at once; its batch goes on with another.
    fn retire(&self, page_no: u32) {
        self.pages.lock().history.push_back(page_no);
    }

    /// A batch is through with its page, which waits for another one if it tells where its last log has its history
    /// node.
    fn leave(&self, page_no: u32, reused_at: Option<usize>) {
        let mut pages = self.pages.lock();
        pages.in_use -= 1;
        match reused_at {
            None => pages.history.push_back(page_no),
            last_log => pages.cached.push_back((page_no, last_log)),
        }
    }
}

/// The undo log of one batch; it takes a page when there is something to log.
pub struct UndoLog<'a> {
    store: &'a PageStore,
    undo: &'a Undo,
    page: Option<WritePage<'a>>,
    /// Where the log begins on the page.
    start: usize,
    records: u32,
    record: Vec<u8>,
}

impl<'a> UndoLog<'a> {
    /// Of a batch that begins; without a page until there is something to log.
    pub fn new(store: &'a PageStore, undo: &'a Undo) -> Self {
        Self { store, undo, page: None, start: 0, records: 0, record: Vec::new() }
    }

    /// Logs that a leaf record is about to be put at `slot`.
    pub fn note_put(
        &mut self,
        task: &mut Task,
        tree: u32,
        view: View,
        (slot, found): (usize, bool),
        key: &[u8],
        payload: Payload,
    ) -> Result<()> {
        let Payload::Value(new) = payload else { return Ok(()) };
        if tree == CHANGE_TREE {
            return Ok(());
        }
        let old = found.then(|| view.value(slot));
        match old {
            None if payload.is_bare() => Ok(()),
            None => self.note(task, INSERT, tree, key, &[]),
            Some(old) if old == new => Ok(()),
            Some(Stored::Inline(old)) => self.note(task, UPDATE, tree, key, &old[changed(old, new.bytes())]),
            Some(Stored::Overflow(pointer)) => self.note(task, UPDATE, tree, key, pointer),
        }
    }

    /// Logs that the leaf record at `slot` is about to go.
    pub fn note_remove(&mut self, task: &mut Task, tree: u32, view: View, slot: usize) -> Result<()> {
        if tree == CHANGE_TREE || view.value(slot) == Stored::Inline(&[]) {
            return Ok(());
        }
        self.note(task, DELETE, tree, view.key(slot), &[])
    }

    /// The fields of `trx_undo_page_report_insert` and `trx_undo_page_report_modify`.
    fn note(&mut self, task: &mut Task, kind: u8, tree: u32, key: &[u8], old: &[u8]) -> Result<()> {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        record.extend_from_slice(&[0, 0, kind]);
        push_u32(&mut record, self.records);
        push_u32(&mut record, tree);
        if kind != INSERT {
            record.extend_from_slice(&[0; OLD_VERSION_BYTES]);
        }
        push_u32(&mut record, key.len() as u32);
        record.extend_from_slice(key);
        if kind == UPDATE {
            record.extend_from_slice(&[1, 0]);
            push_u32(&mut record, old.len() as u32);
            record.extend_from_slice(old);
        }
        record.extend_from_slice(&[0, 0]);
        self.records += 1;
        let appended = self.append(task, &mut record);
        self.record = record;
        appended
    }

    /// Where an undo page ends: where all tables are compressed, it has the bytes of its slot only.
    fn page_end(&self) -> usize {
        self.store.pool.files.of_tree(UNDO_TREE).slot_bytes()
    }

    fn has_room(&self, view: View, bytes: usize) -> bool {
        view.kind() == Kind::Undo && self.page_end().saturating_sub(view.heap_top()) >= bytes
    }

    /// Appends a record, behind a header if it is the first of the log on its page.
    fn append(&mut self, task: &mut Task, record: &mut [u8]) -> Result<()> {
        let needed = UNDO_HEADER_BYTES + record.len();
        if self.page.as_ref().is_some_and(|page| !self.has_room(page.view(), needed)) {
            self.leave_full_page();
        }
        let (page, header, before) = if let Some(page) = self.page.take() {
            (page, None, None)
        } else {
            let (page, before) = self.take_page(task, needed)?;
            let header = self.begin(page.view());
            (page, Some(header), before)
        };
        let at = page.view().heap_top() + header.map_or(0, |header| header.len());
        put_u16(record, 0, (at + record.len()) as u16);
        let tail = record.len() - 2;
        put_u16(record, tail, at as u16);
        let page_no = page.page_no();
        let pieces: [&[u8]; 2] = [header.as_ref().map_or(&[], |header| &header[..]), record];
        task.charge(Work::Record, 1);
        task.charge(Work::CopyByte, record.len() as u64);
        let mut page = self.log(task, page, |out| {
            if let Some(at) = before {
                // Purge takes the log before from the history list.
                RedoOp::Write { page: page_no, at: at as u32, bytes: &[0; HISTORY_NODE_BYTES] }.encode(out);
            }
            pieces.iter().filter(|piece| !piece.is_empty()).for_each(|piece| {
                RedoOp::Append { page: page_no, bytes: piece }.encode(out);
            });
        })?;
        if let Some(at) = before {
            page.edit().0[at..at + HISTORY_NODE_BYTES].fill(0);
        }
        for piece in pieces {
            page.edit().append_bytes(piece);
        }
        self.page = Some(page);
        Ok(())
    }

    fn begin(&mut self, view: View) -> [u8; UNDO_HEADER_BYTES] {
        self.start = view.heap_top();
        let mut header = [0; UNDO_HEADER_BYTES];
        put_u64(&mut header, 0, self.undo.transactions.fetch_add(1, Ordering::Relaxed));
        put_u16(&mut header, 18, (self.start + UNDO_HEADER_BYTES) as u16);
        header
    }

    /// Logs a change of the undo page, and gives the page its LSN.
    fn log(&self, task: &mut Task, mut page: WritePage<'a>, fill: impl FnOnce(&mut Vec<u8>)) -> Result<WritePage<'a>> {
        let store = self.store;
        store.pool.flush_list.mark(page.frame, store.redo.lsn());
        let (_, end) = store.redo.append(task, fill).inspect_err(|error| store.pool.poison.set(error))?;
        page.edit().set_lsn(end);
        Ok(page)
    }

    /// A page for a log with a record of so many bytes, and where its last log has its history node.
    fn take_page(&self, task: &mut Task, needed: usize) -> Result<(WritePage<'a>, Option<usize>)> {
        let (store, undo) = (self.store, self.undo);
        if let Some((page_no, before)) = undo.cached() {
            let page = store.pool.write(task, page_no, Purpose::UserRead)?;
            if self.has_room(page.view(), needed) {
                return Ok((page, before));
            }
            undo.retire(page_no);
        }
        if let Some(page_no) = undo.purged() {
            let page = store.pool.create_fresh(task, page_no)?;
            return Ok((self.format(task, page)?, None));
        }
        let mut mtr = Mtr::new(store, Vec::new());
        let index = mtr.take_page(task, UNDO_TREE)?;
        let page_no = mtr.page_no(index);
        mtr.reshape(index, |page| page.edit().format(page_no, UNDO_TREE, Kind::Undo, 0));
        mtr.log_image(index);
        mtr.commit(task, None)?;
        undo.pages.lock().all.push(page_no);
        Ok((store.pool.write(task, page_no, Purpose::UserRead)?, None))
    }

    fn format(&self, task: &mut Task, mut page: WritePage<'a>) -> Result<WritePage<'a>> {
        let page_no = page.page_no();
        page.edit().format(page_no, UNDO_TREE, Kind::Undo, 0);
        let image = page.view().0[..HEADER_BYTES].to_vec();
        self.log(task, page, |out| {
            RedoOp::Image { page: page_no, heap: &image[AT_TREE..], directory: &[] }.encode(out);
        })
    }

    fn leave_full_page(&mut self) {
        if let Some(page) = self.page.take() {
            self.undo.leave(page.page_no(), None);
        }
    }

    /// Puts the log into the history list. Returns the LSN of the end of its frame, if there is a log.
    pub fn commit(mut self, task: &mut Task) -> Result<Option<u64>> {
        let Some(page) = self.page.take() else { return Ok(None) };
        let (page_no, at) = (page.page_no(), self.start + UNDO_HEADER_BYTES - COMMIT_BYTES);
        let mut filled = [0; COMMIT_BYTES];
        put_u64(&mut filled, 0, self.store.redo.lsn());
        let mut page = self.log(task, page, |out| {
            RedoOp::Write { page: page_no, at: at as u32, bytes: &filled }.encode(out);
        })?;
        page.edit().0[at..at + COMMIT_BYTES].copy_from_slice(&filled);
        let (end, is_reused) = (page.view().lsn(), page.view().heap_top() < self.page_end() / 4 * 3);
        drop(page);
        let history_node = self.start + UNDO_HEADER_BYTES - HISTORY_NODE_BYTES;
        self.undo.leave(page_no, is_reused.then_some(history_node));
        Ok(Some(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::Scale;

    #[test]
    fn segments_and_history_shrink_with_the_second_and_the_pool() {
        let undo = |second_us: u64, pages: u64| {
            let options = Options { scale: Scale::FULL.with_second_us(second_us), ..Options::default() };
            let innodb_buffer_pool_size = pages * options.innodb_page_size;
            let undo = Undo::new(&Options { innodb_buffer_pool_size, ..options }, Vec::new());
            (undo.segments, undo.lag)
        };
        assert_eq!(undo(1_000_000, 1 << 20), (128, 300));
        assert_eq!(undo(100_000, 1 << 20), (12, 30));
        assert_eq!(undo(1_000_000, 8192), (128, 128));
        assert_eq!(undo(1_000, 64), (1, 1));
    }
}

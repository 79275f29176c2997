//! Undo logs: what each batch leaves behind, so that purge knows what to remove and what its changes could be taken
//! back with. An insert leaves the key; an update the key and the old bytes where the value differs, which stand for
//! the changed columns; a delete the key; an entry of a secondary index that is delete-marked its key, which InnoDB has
//! in the record of its row. The change buffer leaves nothing.
//!
//! Nobody reads old versions here: a batch that a crash interrupts is completed by the redo log, and readers see the
//! newest version. Purge reads undo, and what undo costs is its redo (each record and header is logged before its
//! change, in a frame of its own) and its pages, which are dirtied, evicted and read as all.
//!
//! A batch has a rollback segment, in turn. It appends to a page of that segment, under the page's latch until it
//! commits; the commit puts its logs into the segment's history list, whose base is on the segment's header page. A
//! page that is less than three quarters full then waits for another batch of the segment; others wait for purge.

use super::mtr::Mtr;
use super::origin::Origin;
use super::page_store::PageStore;
use super::rollback_segments::RollbackSegments;
use super::trx_sys::TrxSys;
use super::undo_page::{
    AT_COMMIT, LOG_HEADER_BYTES, LogAt, UndoKind, UndoRecord, commit_fields, encode_record, link_record, log_header,
    logs_to_purge,
};
use crate::btree::log::RedoOp;
use crate::btree::options::Options;
use crate::btree::page::{
    AT_TREE, CHANGE_TREE, HEADER_BYTES, Kind, Payload, Stored, UNDO_TREE, View, changed, put_u16, put_u32,
};
use crate::btree::pool::WritePage;
use crate::cost::Work;
use crate::error::Result;
use crate::metrics::Purpose;
use crate::task::Task;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The level of a page that is the header of a rollback segment; undo pages have 0.
const HEADER_LEVEL: u8 = 1;
/// `FLST_BASE_NODE_SIZE`: length of the history list, page and offset of its first and of its last log.
const BASE_NODE_BYTES: usize = 16;
/// The part of it that a commit changes: length and first log.
const FIRST_BYTES: usize = 10;

/// The undo pages, who has them, and the history list.
pub struct Undo {
    pub segments: RollbackSegments,
    pub trx_sys: Arc<TrxSys>,
    /// Held while the header of a segment is made.
    making_header: Mutex<()>,
    transactions: AtomicU64,
    /// Trees of rows that undo has told of, by their numbers modulo 64.
    row_trees: AtomicU64,
}

impl Undo {
    /// Without pages.
    pub fn new(options: &Options) -> Self {
        let segments = RollbackSegments::new(options);
        Self {
            segments,
            trx_sys: Arc::default(),
            making_header: Mutex::default(),
            transactions: AtomicU64::new(0),
            row_trees: AtomicU64::new(0),
        }
    }

    /// Finds what earlier runs have left on their undo pages: headers of segments, and logs that purge was not through
    /// with. Those of batches that a crash interrupted are among them, since such batches are completed.
    pub fn load(&self, task: &mut Task, store: &PageStore, pages: Vec<u32>) -> Result<()> {
        for page_no in pages {
            let page = store.pool.read(task, page_no)?;
            if page.view().kind() == Kind::Undo && page.view().level() == HEADER_LEVEL {
                self.segments.adopt(page_no, None);
                continue;
            }
            let logs = Some(page.view()).filter(|view| view.kind() == Kind::Undo).and_then(logs_to_purge);
            let logs = logs.ok_or_else(|| store.misplaced(page_no))?;
            self.segments.adopt(page_no, Some(logs.len() as u32));
            let began = self.trx_sys.begin();
            self.trx_sys.commit(began, &logs);
        }
        Ok(())
    }

    /// Tables at most that undo is about. InnoDB gives all records of a table to one thread of purge.
    pub fn tables(&self) -> usize {
        self.row_trees.load(Ordering::Relaxed).count_ones() as usize
    }

    fn note_table(&self, tree: u32) {
        let bit = 1 << (tree % 64);
        if self.row_trees.load(Ordering::Relaxed) & bit == 0 {
            self.row_trees.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// The base of a segment's history list, of a length, with a log at one of its ends.
    pub fn base_node(len: u32, log: LogAt) -> [u8; BASE_NODE_BYTES] {
        let mut base = [0; BASE_NODE_BYTES];
        put_u32(&mut base, 0, len);
        for at in [4, FIRST_BYTES] {
            put_u32(&mut base, at, log.page_no);
            put_u16(&mut base, at + 4, log.start as u16);
        }
        base
    }

    /// The header page of a segment, under its exclusive latch. Who holds a latch of an undo page may wait for it.
    pub fn header_page<'a>(&self, task: &mut Task, store: &'a PageStore, segment: usize) -> Result<WritePage<'a>> {
        let page_no = match self.segments.header(segment) {
            Some(page_no) => page_no,
            None => self.make_header(task, store, segment)?,
        };
        store.pool.write(task, page_no, Purpose::UserRead)
    }

    fn make_header(&self, task: &mut Task, store: &PageStore, segment: usize) -> Result<u32> {
        let _making = self.making_header.lock();
        if let Some(page_no) = self.segments.header(segment) {
            return Ok(page_no);
        }
        let page_no = new_page(task, store, HEADER_LEVEL)?;
        self.segments.set_header(segment, page_no);
        Ok(page_no)
    }
}

/// Takes a page that no undo has been on.
fn new_page(task: &mut Task, store: &PageStore, level: u8) -> Result<u32> {
    let mut mtr = Mtr::new(store, Vec::new());
    let index = mtr.take_page(task, UNDO_TREE)?;
    let page_no = mtr.page_no(index);
    mtr.reshape(index, |page| page.edit().format(page_no, UNDO_TREE, Kind::Undo, level));
    mtr.log_image(index);
    mtr.commit(task, None)?;
    Ok(page_no)
}

/// Logs changes of undo pages and of headers as one frame, and gives the pages its LSN. `floor` is where the batch
/// began whose intent the frame names.
fn log_pages(
    task: &mut Task,
    store: &PageStore,
    pages: &mut [&mut WritePage],
    floor: Option<u64>,
    fill: impl FnOnce(&mut Vec<u8>),
) -> Result<u64> {
    let bound = floor.unwrap_or_else(|| store.redo.lsn());
    for page in pages.iter() {
        store.pool.flush_list.mark(page.frame, bound);
    }
    let (_, end) = store.redo.append(task, fill).inspect_err(|error| store.pool.poison.set(error))?;
    for page in pages.iter_mut() {
        page.edit().set_lsn(end);
    }
    Ok(end)
}

/// Overwrites bytes of a page, as the record that [`RedoOp::Write`] makes of it says.
fn overwrite(page: &mut WritePage, at: usize, bytes: &[u8]) {
    page.edit().0[at..at + bytes.len()].copy_from_slice(bytes);
}

/// A change of a batch, and where the batch began.
#[derive(Debug, Clone, Copy)]
struct OfBatch {
    intent: u64,
    index: u32,
    floor: u64,
}

/// The undo log of one batch; it takes a page when there is something to log.
pub struct UndoLog<'a> {
    store: &'a PageStore,
    undo: &'a Undo,
    segment: Option<usize>,
    page: Option<WritePage<'a>>,
    /// The page, while nobody holds it.
    let_go: Option<u32>,
    /// What has been begun, one on each page; the last one is on `page`.
    logs: Vec<LogAt>,
    records: u32,
    record: Vec<u8>,
}

/// What a batch leaves to purge, and the LSN of the end of its last frame if it left anything.
#[derive(Debug, Default)]
pub struct Committed {
    pub logs: Vec<LogAt>,
    pub end: Option<u64>,
}

impl<'a> UndoLog<'a> {
    /// Of a batch that begins; without a page until there is something to log.
    pub fn new(store: &'a PageStore, undo: &'a Undo) -> Self {
        Self { store, undo, segment: None, page: None, let_go: None, logs: Vec::new(), records: 0, record: Vec::new() }
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
        let record = |kind| UndoRecord { kind, tree, key };
        let is_marked = found && view.is_delete_marked(slot);
        match found.then(|| view.value(slot)) {
            // An entry, be it new or one whose mark goes.
            None if payload.is_bare() => Ok(()),
            Some(_) if is_marked && payload.is_bare() => Ok(()),
            None => self.note(task, record(UndoKind::Insert), &[]),
            Some(old) if old == new && !is_marked => Ok(()),
            Some(Stored::Inline(old)) => self.note(task, record(UndoKind::Update), &old[changed(old, new.bytes())]),
            Some(Stored::Overflow(pointer)) => self.note(task, record(UndoKind::Update), pointer),
        }
    }

    /// Logs that the leaf record at `slot` is about to be delete-marked, or to go where nothing is marked.
    pub fn note_remove(
        &mut self,
        task: &mut Task,
        tree: u32,
        view: View,
        (slot, is_marked): (usize, bool),
        origin: Origin,
    ) -> Result<()> {
        let kind = if view.is_bare(slot) { UndoKind::EntryDelMark } else { UndoKind::DelMark };
        if tree == CHANGE_TREE || (kind == UndoKind::EntryDelMark && !is_marked) {
            return Ok(());
        }
        let of = match origin {
            Origin::Batch { intent, index, floor, .. } if kind == UndoKind::EntryDelMark => {
                Some(OfBatch { intent, index, floor })
            }
            _ => None,
        };
        self.note_of(task, UndoRecord { kind, tree, key: view.key(slot) }, &[], of)
    }

    fn note(&mut self, task: &mut Task, undo: UndoRecord, old: &[u8]) -> Result<()> {
        self.note_of(task, undo, old, None)
    }

    /// Logs a record; `of` names the change of a batch whose intent tells all that is in it.
    fn note_of(&mut self, task: &mut Task, undo: UndoRecord, old: &[u8], of: Option<OfBatch>) -> Result<()> {
        let mut record = std::mem::take(&mut self.record);
        if undo.kind != UndoKind::EntryDelMark {
            self.undo.note_table(undo.tree);
        }
        encode_record(&mut record, undo, self.records, old);
        self.records += 1;
        let appended = self.append(task, &mut record, of);
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
    fn append(&mut self, task: &mut Task, record: &mut [u8], of: Option<OfBatch>) -> Result<()> {
        let needed = LOG_HEADER_BYTES + record.len();
        let (mut page, header) = match self.take_held(task)? {
            Some(page) if self.has_room(page.view(), needed) => (page, None),
            full => {
                // The log goes on with another page.
                if let Some(page) = full {
                    self.undo.segments.retire(page.page_no());
                }
                let page = self.take_page(task, needed)?;
                let header = self.begin(page.view());
                (page, Some(header))
            }
        };
        let at = page.view().heap_top() + header.map_or(0, |header| header.len());
        link_record(record, at);
        let page_no = page.page_no();
        task.charge(Work::Record, 1);
        task.charge(Work::CopyByte, record.len() as u64);
        let floor = of.map(|of| of.floor);
        log_pages(task, self.store, &mut [&mut page], floor, |out| {
            header.inspect(|bytes| RedoOp::Append { page: page_no, bytes }.encode(out));
            match of {
                Some(OfBatch { intent, index, .. }) => RedoOp::UndoOf { page: page_no, intent, index },
                None => RedoOp::Append { page: page_no, bytes: record },
            }
            .encode(out);
        })?;
        header.inspect(|bytes| page.edit().append_bytes(bytes));
        page.edit().append_bytes(record);
        self.page = Some(page);
        Ok(())
    }

    /// Lets go of the page, so that it can be written before the log goes on.
    pub fn let_go(&mut self) {
        if let Some(page) = self.page.take() {
            self.let_go = Some(page.page_no());
        }
    }

    fn take_held(&mut self, task: &mut Task) -> Result<Option<WritePage<'a>>> {
        match (self.page.take(), self.let_go.take()) {
            (None, Some(page_no)) => self.store.pool.write(task, page_no, Purpose::UserRead).map(Some),
            (page, _) => Ok(page),
        }
    }

    fn begin(&mut self, view: View) -> [u8; LOG_HEADER_BYTES] {
        let log = LogAt { page_no: view.page_no(), start: view.heap_top() };
        self.logs.push(log);
        self.undo.segments.begin_log(self.segment.unwrap_or_default(), log.page_no);
        log_header(log.start, self.undo.transactions.fetch_add(1, Ordering::Relaxed))
    }

    /// A page for a log with a record of so many bytes.
    fn take_page(&mut self, task: &mut Task, needed: usize) -> Result<WritePage<'a>> {
        let (store, segments) = (self.store, &self.undo.segments);
        let segment = *self.segment.get_or_insert_with(|| segments.assign());
        if let Some(page_no) = segments.take_cached(segment) {
            let page = store.pool.write(task, page_no, Purpose::UserRead)?;
            if self.has_room(page.view(), needed) {
                return Ok(page);
            }
            segments.retire(page_no);
        }
        if let Some(page_no) = segments.take_free() {
            let page = store.pool.create_fresh(task, page_no)?;
            return self.format(task, page);
        }
        let page_no = new_page(task, store, 0)?;
        store.pool.write(task, page_no, Purpose::UserRead)
    }

    fn format(&self, task: &mut Task, mut page: WritePage<'a>) -> Result<WritePage<'a>> {
        let page_no = page.page_no();
        page.edit().format(page_no, UNDO_TREE, Kind::Undo, 0);
        let image = page.view().0[..HEADER_BYTES].to_vec();
        log_pages(task, self.store, &mut [&mut page], None, |out| {
            RedoOp::Image { page: page_no, heap: &image[AT_TREE..], directory: &[] }.encode(out);
        })?;
        Ok(page)
    }

    /// Puts the log into the history list of its segment (`trx_purge_add_undo_to_history`).
    pub fn commit(mut self, task: &mut Task) -> Result<Committed> {
        let (Some(mut page), Some(segment)) = (self.take_held(task)?, self.segment) else {
            return Ok(Committed::default());
        };
        let (page_no, log) = (page.page_no(), self.logs[self.logs.len() - 1]);
        let mut header = self.undo.header_page(task, self.store, segment)?;
        let header_no = header.page_no();
        let filled = commit_fields(self.store.redo.lsn(), page.view().heap_top());
        let mut len = 0;
        self.logs.iter().for_each(|_| len = self.undo.segments.lengthen_history(segment, true));
        let base = Undo::base_node(len, log);
        let at = log.start + AT_COMMIT;
        let end = log_pages(task, self.store, &mut [&mut page, &mut header], None, |out| {
            RedoOp::Write { page: page_no, at: at as u32, bytes: &filled }.encode(out);
            RedoOp::Write { page: header_no, at: HEADER_BYTES as u32, bytes: &base[..FIRST_BYTES] }.encode(out);
        })?;
        overwrite(&mut page, at, &filled);
        overwrite(&mut header, HEADER_BYTES, &base[..FIRST_BYTES]);
        let is_reused = page.view().heap_top() < self.page_end() / 4 * 3;
        drop((page, header));
        if is_reused {
            self.undo.segments.cache(segment, page_no);
        } else {
            self.undo.segments.retire(page_no);
        }
        Ok(Committed { logs: self.logs, end: Some(end) })
    }
}

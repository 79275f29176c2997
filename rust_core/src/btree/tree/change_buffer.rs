//! What is in the change buffer: changes of leaves of secondary indexes that were not in the pool, as InnoDB's
//! `ibuf0ibuf.cc` keeps them. `change_merge` puts them here and brings them to their pages.
//!
//! The changes are in a tree of their own, from page number and sequence to what is to be done with which key, and once
//! more in memory, by page. A page that has changes here is in no frame: whoever brings it into one merges them before
//! anyone else sees the page.

use super::root::Tree;
use crate::btree::options::{MIN_POOL_PAGES, Options};
use crate::btree::page::{AT_TREE, BARE, CHANGE_TREE, IbufBits, ROOM_UNITS, SLOT_BYTES, View, get_u32};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Pages that are merged at a time (`IBUF_MAX_N_PAGES_MERGED`).
pub const PAGES_AT_ONCE: usize = 8;
/// Records that a leaf must keep: it never becomes empty by what is buffered.
const LEAST_RECORDS: usize = 2;
const KEY_BYTES: usize = 8;
const PUT: u8 = 0;
const REMOVE: u8 = 2;

/// What is to be done with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferedOp {
    Put,
    Remove,
}

/// One buffered change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BufferedChange {
    pub sequence: u32,
    pub op: BufferedOp,
    pub key: Box<[u8]>,
}

impl BufferedChange {
    /// Its key in the tree.
    pub fn tree_key(&self, page_no: u32) -> [u8; KEY_BYTES] {
        let mut key = [0; KEY_BYTES];
        key[..4].copy_from_slice(&page_no.to_be_bytes());
        key[4..].copy_from_slice(&self.sequence.to_be_bytes());
        key
    }

    /// Its value in the tree.
    pub fn tree_value(&self) -> Vec<u8> {
        let op = if self.op == BufferedOp::Put { PUT } else { REMOVE };
        [&[op], &self.key[..]].concat()
    }

    /// The page and the change that a record of the tree tells of.
    pub fn decode(key: &[u8], value: &[u8]) -> Option<(u32, Self)> {
        let (page_no, rest) = key.split_first_chunk()?;
        let (op, key) = value.split_first()?;
        let op = match *op {
            PUT => BufferedOp::Put,
            REMOVE => BufferedOp::Remove,
            _ => return None,
        };
        let sequence = u32::from_be_bytes(rest.try_into().ok()?);
        Some((u32::from_be_bytes(*page_no), Self { sequence, op, key: key.into() }))
    }
}

/// What is buffered for one page, in the order in which it came.
#[derive(Debug, Default)]
pub struct PageChanges {
    pub changes: Vec<BufferedChange>,
    /// Bytes that the puts may take in the page.
    put_bytes: usize,
    removals: usize,
}

impl PageChanges {
    /// Of each key the last change, in the order of the keys.
    pub fn last_of_each_key(&self) -> impl Iterator<Item = &BufferedChange> {
        let last = self.changes.iter().map(|change| (&change.key, change)).collect::<BTreeMap<_, _>>();
        last.into_values()
    }

    fn add(&mut self, change: BufferedChange) {
        match change.op {
            BufferedOp::Put => self.put_bytes += need(&change.key),
            BufferedOp::Remove => self.removals += 1,
        }
        self.changes.push(change);
    }
}

/// Bytes that an entry takes in a page, or at most in the modification log of a compressed one.
fn need(key: &[u8]) -> usize {
    BARE.record_len(key) + SLOT_BYTES
}

/// The state behind the lock. It is locked after the latches of all pages but those of the buffer's own tree, and
/// before those.
#[derive(Debug, Default)]
pub struct Buffered {
    pages: BTreeMap<u32, PageChanges>,
    /// Where the next merges go on.
    next: u32,
}

/// The change buffer.
#[derive(Debug)]
pub struct ChangeBuffer {
    puts: bool,
    removals: bool,
    page_bytes: usize,
    /// Pages that its tree may have.
    most_pages: u64,
    /// Set when the buffer is in use.
    pub tree: OnceLock<Tree>,
    pub state: Mutex<Buffered>,
    /// Pages of its tree.
    pub tree_pages: AtomicU64,
    /// Pages with buffered changes; a hint without the lock.
    waiting: AtomicUsize,
    /// A change was not buffered because there were too many.
    over: AtomicBool,
    pub buffered: AtomicU64,
    pub merged: AtomicU64,
    /// Batches that clients have written.
    pub batches: AtomicU64,
}

impl ChangeBuffer {
    /// Without changes, whatever earlier runs have left.
    pub fn new(options: &Options) -> Self {
        let pages = (options.innodb_buffer_pool_size / options.innodb_page_size).max(MIN_POOL_PAGES);
        Self {
            puts: options.buffers_puts(),
            removals: options.buffers_removals(),
            page_bytes: options.innodb_page_size as usize,
            most_pages: pages * options.innodb_change_buffer_max_size / 100,
            tree: OnceLock::new(),
            state: Mutex::default(),
            tree_pages: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            buffered: AtomicU64::new(0),
            merged: AtomicU64::new(0),
            batches: AtomicU64::new(0),
        }
    }

    /// Whether changes are buffered at all.
    pub fn is_on(&self) -> bool {
        self.puts
    }

    /// Whether changes of this kind are buffered.
    pub fn takes(&self, op: BufferedOp) -> bool {
        if op == BufferedOp::Put { self.puts } else { self.removals }
    }

    /// Whether its tree has reached its limit. The next contraction is due then.
    pub fn is_full(&self) -> bool {
        let full = self.tree_pages.load(Ordering::Relaxed) >= self.most_pages;
        if full {
            self.over.store(true, Ordering::Relaxed);
        }
        full
    }

    /// Pages to merge because the buffer was found full since the last call.
    pub fn to_contract(&self) -> Vec<u32> {
        let over = self.over.load(Ordering::Relaxed) && self.over.swap(false, Ordering::Relaxed);
        if over { self.next_pages(PAGES_AT_ONCE) } else { Vec::new() }
    }

    /// The next pages in the order of their numbers, round and round. (InnoDB begins at a random page each time.)
    pub fn next_pages(&self, count: usize) -> Vec<u32> {
        let mut state = self.state.lock();
        let behind = state.pages.range(state.next..);
        let before = state.pages.range((Bound::Unbounded, Bound::Excluded(state.next)));
        let pages = behind.chain(before).take(count).map(|(page_no, _)| *page_no).collect::<Vec<_>>();
        state.next = pages.last().map_or(0, |page_no| page_no + 1);
        pages
    }

    /// Whether nothing is buffered; a hint.
    pub fn is_empty(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) == 0
    }

    /// Pages per second that the master thread merges: a twentieth of `io_capacity`, more from half of the limit on,
    /// all of it when nobody writes (`ibuf_merge_in_background`).
    pub fn merge_rate(&self, io_capacity: u64, idle: bool) -> f64 {
        if idle {
            return io_capacity as f64;
        }
        let size = self.tree_pages.load(Ordering::Relaxed);
        let beyond_half = size.saturating_sub(self.most_pages / 2);
        io_capacity as f64 * (0.05 + beyond_half as f64 / (self.most_pages + 1) as f64)
    }

    /// The change that `op` of `key` is for this page, if the page surely has room for it and does not become empty.
    pub fn plan(
        &self,
        state: &Buffered,
        page_no: u32,
        leaf: IbufBits,
        op: BufferedOp,
        key: &[u8],
    ) -> Option<BufferedChange> {
        let waiting = state.pages.get(&page_no);
        let (put_bytes, removals) = waiting.map_or((0, 0), |page| (page.put_bytes, page.removals));
        let fits = match op {
            BufferedOp::Put => put_bytes + need(key) <= usize::from(leaf.room) * (self.page_bytes / ROOM_UNITS),
            BufferedOp::Remove => removals + 1 + LEAST_RECORDS <= usize::from(leaf.records),
        };
        let last = waiting.and_then(|page| page.changes.last());
        let sequence = last.map_or(Some(0), |last| last.sequence.checked_add(1))?;
        fits.then(|| BufferedChange { sequence, op, key: key.into() })
    }

    /// Adds a change that is in the tree.
    pub fn add(&self, state: &mut Buffered, page_no: u32, change: BufferedChange) {
        state.pages.entry(page_no).or_default().add(change);
        self.waiting.store(state.pages.len(), Ordering::Relaxed);
    }

    /// Takes what is buffered for a page.
    pub fn take(&self, state: &mut Buffered, page_no: u32) -> Option<PageChanges> {
        let changes = state.pages.remove(&page_no)?;
        self.waiting.store(state.pages.len(), Ordering::Relaxed);
        Some(changes)
    }

    /// Whether there is something for a page.
    pub fn has(&self, page_no: u32) -> bool {
        self.state.lock().pages.contains_key(&page_no)
    }

    /// Pages of the tree were taken, or given back.
    pub fn note_pages(&self, tree: u32, taken: bool) {
        if tree != CHANGE_TREE {
            return;
        }
        if taken {
            self.tree_pages.fetch_add(1, Ordering::Relaxed);
        } else {
            self.tree_pages.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether a page belongs to its tree.
    pub fn owns(view: View) -> bool {
        get_u32(view.0, AT_TREE) == CHANGE_TREE
    }
}

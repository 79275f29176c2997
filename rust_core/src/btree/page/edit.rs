//! The slotted page, write side: insert, overwrite, remove, reorganise, and rebuilding from the records of other pages.

use super::bytes::{common_prefix, get_u16, head_of, put_u16, put_u32, put_u64};
use super::layout::{
    AT_CHUNK, AT_COUNT, AT_GARBAGE, AT_HEAP_TOP, AT_KIND, AT_LAST_INSERT, AT_LEVEL, AT_LSN, AT_NEXT, AT_PAGE_NO,
    AT_PREFIX, AT_PREFIX_LEN, AT_TREE, BARE_FLAG, BARE_RECORD_HEADER, DELETED_FLAG, HEADER_BYTES, Kind,
    LEAF_RECORD_HEADER, MAX_PREFIX, NO_PAGE, NO_SLOT, NODE_RECORD_HEADER, SLOT_BYTES, Stored, View,
};
use std::cell::RefCell;
use std::ops::Range;

thread_local! {
    /// A copy of the page that is being rebuilt.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What a record carries behind its key.
#[derive(Debug, Clone, Copy)]
pub enum Payload<'a> {
    /// A leaf's value.
    Value(Stored<'a>),
    /// An internal page's child.
    Child(u32),
}

/// The payload of an entry of a secondary index.
pub const BARE: Payload = Payload::Value(Stored::Inline(&[]));

impl Payload<'_> {
    /// Whether the record is that of a secondary index: one without a value. No other record is without one, but for
    /// rows that are all key.
    pub fn is_bare(self) -> bool {
        matches!(self, Self::Value(Stored::Inline([])))
    }

    /// Bytes of the record without its slot.
    pub fn record_len(self, key: &[u8]) -> usize {
        match self {
            _ if self.is_bare() => BARE_RECORD_HEADER + key.len(),
            Self::Value(value) => LEAF_RECORD_HEADER + key.len() + value.bytes().len(),
            Self::Child(_) => NODE_RECORD_HEADER + key.len(),
        }
    }
}

/// A page to change. Callers hold its exclusive latch.
pub struct Edit<'a>(pub &'a mut [u8]);

impl Edit<'_> {
    /// The page as it is now.
    pub fn view(&self) -> View<'_> {
        View(self.0)
    }

    /// Notes the end of the frame that changed the page last.
    pub fn set_lsn(&mut self, lsn: u64) {
        put_u64(self.0, AT_LSN, lsn);
    }

    /// Makes an empty page of the whole buffer.
    pub fn format(&mut self, page_no: u32, tree: u32, kind: Kind, level: u8) {
        self.0[..HEADER_BYTES].fill(0);
        put_u32(self.0, AT_PAGE_NO, page_no);
        put_u32(self.0, AT_TREE, tree);
        self.0[AT_KIND] = kind as u8;
        self.0[AT_LEVEL] = level;
        put_u32(self.0, AT_HEAP_TOP, HEADER_BYTES as u32);
        put_u16(self.0, AT_LAST_INSERT, NO_SLOT);
        put_u32(self.0, AT_NEXT, NO_PAGE);
        if kind != Kind::Tree {
            self.0[HEADER_BYTES..].fill(0);
        }
    }

    /// Fills an overflow page with one chunk of a value.
    pub fn fill_chunk(&mut self, chunk: &[u8], next: u32) {
        put_u32(self.0, AT_NEXT, next);
        put_u32(self.0, AT_CHUNK, chunk.len() as u32);
        self.0[HEADER_BYTES..HEADER_BYTES + chunk.len()].copy_from_slice(chunk);
        put_u32(self.0, AT_HEAP_TOP, (HEADER_BYTES + chunk.len()) as u32);
    }

    /// Adds bytes at the end of the heap of a page without slots; there must be room.
    pub fn append_bytes(&mut self, bytes: &[u8]) {
        let at = self.view().heap_top();
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        put_u32(self.0, AT_HEAP_TOP, (at + bytes.len()) as u32);
    }

    /// Inserts a record at `slot`; [`View::free`] must suffice.
    pub fn insert(&mut self, slot: usize, key: &[u8], payload: Payload) {
        let len = payload.record_len(key);
        if self.view().contiguous_free() < len + SLOT_BYTES {
            self.reorganize();
        }
        let (count, at) = (self.view().count(), self.view().heap_top());
        self.write_record(at, key, payload);
        put_u32(self.0, AT_HEAP_TOP, (at + len) as u32);
        let low = self.0.len() - SLOT_BYTES * count;
        let slot_end = self.0.len() - SLOT_BYTES * slot;
        self.0.copy_within(low..slot_end, low - SLOT_BYTES);
        put_u16(self.0, slot_end - 2, at as u16);
        put_u16(self.0, AT_COUNT, (count + 1) as u16);
        put_u16(self.0, AT_LAST_INSERT, slot as u16);
        self.set_head_of_new(slot, key);
    }

    fn write_record(&mut self, at: usize, key: &[u8], payload: Payload) {
        put_u16(self.0, at, key.len() as u16);
        match payload {
            _ if payload.is_bare() => {
                put_u16(self.0, at, key.len() as u16 | BARE_FLAG);
                let key_at = at + BARE_RECORD_HEADER;
                self.0[key_at..key_at + key.len()].copy_from_slice(key);
            }
            Payload::Value(value) => {
                put_u16(self.0, at + 2, value.length_field());
                self.0[at + 4..at + LEAF_RECORD_HEADER].fill(0);
                let value_at = at + LEAF_RECORD_HEADER + key.len();
                self.0[at + LEAF_RECORD_HEADER..value_at].copy_from_slice(key);
                self.0[value_at..value_at + value.bytes().len()].copy_from_slice(value.bytes());
            }
            Payload::Child(child) => {
                put_u32(self.0, at + 2, child);
                let key_at = at + NODE_RECORD_HEADER;
                self.0[key_at..key_at + key.len()].copy_from_slice(key);
            }
        }
    }

    /// Keeps the shared prefix true after `key` came in at `slot`, and writes its head.
    fn set_head_of_new(&mut self, slot: usize, key: &[u8]) {
        let view = self.view();
        let first = view.first_compared();
        if slot < first {
            // The record that was first is compared from now on.
            return self.refresh_prefix();
        }
        if view.count() == first + 1 {
            let len = key.len().min(MAX_PREFIX);
            self.0[AT_PREFIX..AT_PREFIX + len].copy_from_slice(&key[..len]);
            self.0[AT_PREFIX_LEN] = len as u8;
        }
        let prefix = self.view().prefix();
        let common = common_prefix(key, prefix);
        if common < prefix.len() {
            self.0[AT_PREFIX_LEN] = common as u8;
            self.write_all_heads();
        } else {
            self.write_head(slot, head_of(&key[common..]));
        }
    }

    fn write_head(&mut self, slot: usize, head: u32) {
        let at = self.0.len() - SLOT_BYTES * (slot + 1);
        self.0[at..at + 4].copy_from_slice(&head.to_be_bytes());
    }

    fn write_all_heads(&mut self) {
        let first = self.view().first_compared();
        for slot in 0..self.view().count() {
            let view = self.view();
            let head = if slot < first { 0 } else { head_of(view.suffix(slot, view.prefix().len())) };
            self.write_head(slot, head);
        }
    }

    /// Removes the record at `slot`.
    pub fn remove(&mut self, slot: usize) {
        let view = self.view();
        let (count, at) = (view.count(), view.offset(slot));
        let len = view.record_len_at(at);
        if at + len == view.heap_top() {
            put_u32(self.0, AT_HEAP_TOP, at as u32);
        } else {
            let garbage = view.garbage() + len;
            put_u32(self.0, AT_GARBAGE, garbage as u32);
        }
        let low = self.0.len() - SLOT_BYTES * count;
        let slot_start = self.0.len() - SLOT_BYTES * (slot + 1);
        self.0.copy_within(low..slot_start, low + SLOT_BYTES);
        put_u16(self.0, AT_COUNT, (count - 1) as u16);
        put_u16(self.0, AT_LAST_INSERT, NO_SLOT);
    }

    /// Gives the record at `slot` a new payload; [`has_room_to_replace`] must have said that it fits.
    pub fn replace(&mut self, slot: usize, key: &[u8], payload: Payload) {
        let at = self.view().offset(slot);
        if self.view().record_len_at(at) == payload.record_len(key) {
            return self.write_record(at, key, payload);
        }
        let last_insert = self.view().last_insert();
        self.remove(slot);
        self.insert(slot, key, payload);
        put_u16(self.0, AT_LAST_INSERT, last_insert);
    }

    /// Marks the leaf record at `slot` as deleted; a put of its key takes the mark off again.
    pub fn delete_mark(&mut self, slot: usize) {
        let at = self.view().offset(slot);
        let field = get_u16(self.0, at) | DELETED_FLAG;
        put_u16(self.0, at, field);
    }

    /// Overwrites bytes of the inline value at `slot`; `None` if they are not inside it.
    pub fn patch(&mut self, slot: usize, at: usize, bytes: &[u8]) -> Option<()> {
        let view = self.view();
        let Stored::Inline(value) = view.value(slot) else { return None };
        let record = view.offset(slot);
        let end = record + view.record_len_at(record);
        let start = end - value.len() + at;
        (!value.is_empty() && start + bytes.len() <= end)
            .then(|| self.0[start..start + bytes.len()].copy_from_slice(bytes))
    }

    /// Puts a record by key, as replay does.
    pub fn put(&mut self, slot: usize, found: bool, key: &[u8], payload: Payload) {
        if found { self.replace(slot, key, payload) } else { self.insert(slot, key, payload) }
    }

    /// Compacts the records.
    pub fn reorganize(&mut self) {
        let (count, last_insert) = (self.view().count(), self.view().last_insert());
        self.keep(0..count);
        put_u16(self.0, AT_LAST_INSERT, last_insert);
    }

    /// Keeps a range of slots and compacts.
    pub fn keep(&mut self, range: Range<usize>) {
        SCRATCH.with_borrow_mut(|copy| {
            copy.clear();
            copy.extend_from_slice(self.0);
            self.rebuild(&[(View(copy), range)]);
        });
    }

    /// Appends all records of `right`, whose keys are greater.
    pub fn append(&mut self, right: View) {
        SCRATCH.with_borrow_mut(|copy| {
            copy.clear();
            copy.extend_from_slice(self.0);
            let left = View(copy);
            self.rebuild(&[(left, 0..left.count()), (right, 0..right.count())]);
        });
    }

    /// Replaces all records by ranges of slots of other pages of the same level.
    pub fn rebuild(&mut self, parts: &[(View, Range<usize>)]) {
        let (mut at, mut count) = (HEADER_BYTES, 0);
        for (source, range) in parts {
            for slot in range.clone() {
                let from = source.offset(slot);
                let len = source.record_len_at(from);
                self.0[at..at + len].copy_from_slice(&source.0[from..from + len]);
                count += 1;
                let slot_end = self.0.len() - SLOT_BYTES * (count - 1);
                put_u16(self.0, slot_end - 2, at as u16);
                at += len;
            }
        }
        put_u16(self.0, AT_COUNT, count as u16);
        put_u32(self.0, AT_HEAP_TOP, at as u32);
        put_u32(self.0, AT_GARBAGE, 0);
        put_u16(self.0, AT_LAST_INSERT, NO_SLOT);
        self.refresh_prefix();
    }

    /// Derives the shared prefix and all heads from the keys.
    pub fn refresh_prefix(&mut self) {
        let view = self.view();
        let (first, count) = (view.first_compared(), view.count());
        if count > first {
            let (low, high) = (view.key(first), view.key(count - 1));
            let len = common_prefix(low, high).min(MAX_PREFIX);
            let start = view.key_start(view.offset(first));
            self.0.copy_within(start..start + len, AT_PREFIX);
            self.0[AT_PREFIX_LEN] = len as u8;
        } else {
            self.0[AT_PREFIX_LEN] = 0;
        }
        self.write_all_heads();
    }
}

/// Whether a record fits beside the others. A page is reorganised only if that gives back a 32nd of it.
pub fn has_room(view: View, need: usize) -> bool {
    view.contiguous_free() >= need || (view.free() >= need && view.garbage() >= view.size() / 32)
}

/// Whether the record at `slot` can be replaced by one of `need` bytes with its slot.
pub fn has_room_to_replace(view: View, slot: usize, need: usize) -> bool {
    view.free() + view.record_bytes(slot) >= need
}

/// Whether a leaf must be split early so that an ascending or descending load leaves a 16th of each page free.
pub fn splits_early(view: View, slot: usize, need: usize) -> bool {
    view.count() >= 2
        && view.size() / 16 + need > view.free()
        && (follows_last_insert(view, slot) || precedes_last_insert(view, slot))
}

/// Whether an insert at `slot` continues an ascending run.
pub fn follows_last_insert(view: View, slot: usize) -> bool {
    slot > 0 && usize::from(view.last_insert()) == slot - 1
}

/// Whether an insert at `slot` continues a descending run.
pub fn precedes_last_insert(view: View, slot: usize) -> bool {
    usize::from(view.last_insert()) == slot
}

/// Where to split a page into which a record of `need` bytes goes at `slot`: the first slot of the upper page, counted
/// with the new record in place. Both sides are not empty.
pub fn split_point(view: View, slot: usize, need: usize) -> usize {
    let count = view.count();
    let limit = view.capacity();
    let chosen = if follows_last_insert(view, slot) {
        Some(if count - slot >= 2 { slot + 2 } else { slot })
    } else if precedes_last_insert(view, slot) {
        Some(if slot >= 2 { slot - 1 } else { slot + 1 })
    } else {
        None
    };
    chosen
        .filter(|at| (1..=count).contains(at) && side_bytes(view, slot, need, *at).is_some_and(|s| s <= limit))
        .unwrap_or_else(|| middle(view, slot, need))
}

fn bytes_at(view: View, slot: usize, need: usize, index: usize) -> usize {
    match index.cmp(&slot) {
        std::cmp::Ordering::Less => view.record_bytes(index),
        std::cmp::Ordering::Equal => need,
        std::cmp::Ordering::Greater => view.record_bytes(index - 1),
    }
}

/// Bytes of the fuller side of a split at `at`.
fn side_bytes(view: View, slot: usize, need: usize, at: usize) -> Option<usize> {
    let left = (0..at).map(|n| bytes_at(view, slot, need, n)).sum::<usize>();
    let total = view.used() + need;
    total.checked_sub(left).map(|right| left.max(right))
}

/// The split whose fuller side is least full.
fn middle(view: View, slot: usize, need: usize) -> usize {
    let total = view.used() + need;
    let mut left = 0;
    let mut best = (usize::MAX, 1);
    for at in 1..=view.count() {
        left += bytes_at(view, slot, need, at - 1);
        best = best.min((left.max(total - left), at));
        if left * 2 >= total {
            break;
        }
    }
    best.1
}

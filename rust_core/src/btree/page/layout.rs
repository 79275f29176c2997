//! The slotted page, read side: layout, header fields, records, and the search for a key.
//!
//! Records grow upwards from the header, the slot directory grows downwards from the end of the page. A slot holds the
//! first four bytes of its key behind the prefix that all keys of the page share, so that most comparisons of a search
//! touch only the directory. Prefixes are not cut from the stored keys.

use super::bytes::{get_u16, get_u32, get_u64, head_of};
use crate::btree::options::MAX_INDEX_NUMBER;
use crate::cost::Work;
use crate::task::Task;
use std::cmp::Ordering;

/// The tree of buffered changes.
pub const CHANGE_TREE: u32 = MAX_INDEX_NUMBER + 1;
/// The tree number that stands for undo in the extents' descriptors.
pub const UNDO_TREE: u32 = CHANGE_TREE + 1;

/// Bytes in front of the records: InnoDB spends 128 on headers, trailer, infimum and supremum.
pub const HEADER_BYTES: usize = 128;
/// Bytes of one directory entry: a key head and an offset.
pub const SLOT_BYTES: usize = 6;
/// Bytes in front of the key in a leaf record. With its slot a row costs 20 bytes beside key and value, as a compact
/// row of a clustered index does (5 of header, 13 of transaction fields, 2 of lengths and directory).
pub const LEAF_RECORD_HEADER: usize = 14;
/// Bytes in front of the key in a leaf record without a value: an entry of a secondary index, which has no transaction
/// fields. With its slot it costs 8 bytes, where InnoDB has 5 of header and 1 to 3 of lengths, nulls and directory.
pub const BARE_RECORD_HEADER: usize = 2;
/// Bytes in front of the key in a record of an internal page.
pub const NODE_RECORD_HEADER: usize = 6;
/// More levels than any tree has: two children for each page make as many pages as there can be numbers.
pub const MAX_LEVEL: u8 = 32;
/// Most pages that all tablespaces have together.
pub const MAX_PAGES: u32 = 1 << 26;
/// Pages of one extent.
pub const EXTENT_PAGES: u32 = 64;
/// No page.
pub const NO_PAGE: u32 = u32::MAX;
/// No slot.
pub const NO_SLOT: u16 = u16::MAX;
/// Stored bytes of a value that lives on overflow pages: total length and first page.
pub const OVERFLOW_POINTER_BYTES: usize = 8;

pub const AT_CHECKSUM: usize = 0;
pub const AT_PAGE_NO: usize = 4;
pub const AT_LSN: usize = 8;
pub const AT_TREE: usize = 16;
pub const AT_KIND: usize = 20;
pub const AT_LEVEL: usize = 21;
pub const AT_COUNT: usize = 22;
pub const AT_HEAP_TOP: usize = 24;
pub const AT_GARBAGE: usize = 28;
pub const AT_LAST_INSERT: usize = 32;
pub const AT_PREFIX_LEN: usize = 34;
pub const AT_NEXT: usize = 40;
pub const AT_CHUNK: usize = 44;
pub const AT_ALGORITHM: usize = 48;
pub const AT_STORED: usize = 52;
pub const AT_PREFIX: usize = 64;
/// Longest shared prefix that the header has room for.
pub const MAX_PREFIX: usize = HEADER_BYTES - AT_PREFIX;

const OVERFLOW_FLAG: u16 = 0x8000;
/// In the key length of a leaf record: the record is bare. Keys are shorter than a quarter of the largest page.
pub const BARE_FLAG: u16 = 0x8000;
/// In the key length of a leaf record: it is delete-marked (`REC_INFO_DELETED_FLAG`) and waits for purge.
pub const DELETED_FLAG: u16 = 0x4000;
/// The bits of that field which are the length of the key.
const KEY_LENGTH: u16 = !(BARE_FLAG | DELETED_FLAG);

/// What a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Never written.
    Empty = 0,
    /// Page 0: the tree directory.
    Meta = 1,
    /// Extent descriptors.
    Map = 2,
    /// A page of a tree; its level says whether it is a leaf.
    Tree = 3,
    /// A piece of a long value.
    Overflow = 4,
    /// Undo logs.
    Undo = 5,
}

impl Kind {
    fn from_byte(byte: u8) -> Self {
        match byte {
            1 => Self::Meta,
            2 => Self::Map,
            3 => Self::Tree,
            4 => Self::Overflow,
            5 => Self::Undo,
            _ => Self::Empty,
        }
    }
}

/// A stored value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored<'a> {
    /// The bytes themselves.
    Inline(&'a [u8]),
    /// An overflow pointer.
    Overflow(&'a [u8]),
}

impl<'a> Stored<'a> {
    /// The bytes that the record holds.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Inline(bytes) | Self::Overflow(bytes) => bytes,
        }
    }

    /// Length field of the record.
    pub fn length_field(self) -> u16 {
        match self {
            Self::Inline(bytes) => bytes.len() as u16,
            Self::Overflow(bytes) => bytes.len() as u16 | OVERFLOW_FLAG,
        }
    }

    /// From a record's length field and bytes.
    pub fn from_field(field: u16, bytes: &'a [u8]) -> Self {
        if field & OVERFLOW_FLAG == 0 { Self::Inline(bytes) } else { Self::Overflow(bytes) }
    }

    /// Bytes of a record whose length field is `field`.
    pub fn field_bytes(field: u16) -> usize {
        usize::from(field & !OVERFLOW_FLAG)
    }
}

/// A page to read.
#[derive(Clone, Copy)]
pub struct View<'a>(pub &'a [u8]);

impl<'a> View<'a> {
    /// Bytes of the page.
    pub fn size(self) -> usize {
        self.0.len()
    }

    /// Its number.
    pub fn page_no(self) -> u32 {
        get_u32(self.0, AT_PAGE_NO)
    }

    /// End of the frame that changed the page last.
    pub fn lsn(self) -> u64 {
        get_u64(self.0, AT_LSN)
    }

    /// Number of the tree that the page belongs to.
    pub fn tree(self) -> u32 {
        get_u32(self.0, AT_TREE)
    }

    /// What the page is.
    pub fn kind(self) -> Kind {
        Kind::from_byte(self.0[AT_KIND])
    }

    /// Levels below the page; 0 for a leaf.
    #[inline]
    pub fn level(self) -> u8 {
        self.0[AT_LEVEL]
    }

    /// Whether it is a leaf, if it is a page of a tree.
    pub fn is_leaf(self) -> bool {
        self.level() == 0
    }

    /// Records.
    #[inline]
    pub fn count(self) -> usize {
        usize::from(get_u16(self.0, AT_COUNT))
    }

    /// Where the heap ends.
    pub fn heap_top(self) -> usize {
        get_u32(self.0, AT_HEAP_TOP) as usize
    }

    /// Bytes of removed records inside the heap.
    pub fn garbage(self) -> usize {
        get_u32(self.0, AT_GARBAGE) as usize
    }

    /// The slot of the record that came last.
    pub fn last_insert(self) -> u16 {
        get_u16(self.0, AT_LAST_INSERT)
    }

    #[inline]
    fn prefix_len(self) -> usize {
        usize::from(self.0[AT_PREFIX_LEN])
    }

    /// What all keys that are compared begin with.
    #[inline]
    pub fn prefix(self) -> &'a [u8] {
        &self.0[AT_PREFIX..AT_PREFIX + self.prefix_len().min(MAX_PREFIX)]
    }

    /// The slot where comparisons begin: the first record of an internal page stands for minus infinity.
    #[inline]
    pub fn first_compared(self) -> usize {
        usize::from(self.level() > 0)
    }

    #[inline]
    fn slot_at(self, slot: usize) -> usize {
        self.0.len() - SLOT_BYTES * (slot + 1)
    }

    #[inline]
    fn head(self, slot: usize) -> u32 {
        let at = self.slot_at(slot);
        u32::from_be_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }

    /// Offset of a record.
    #[inline]
    pub fn offset(self, slot: usize) -> usize {
        usize::from(get_u16(self.0, self.slot_at(slot) + 4))
    }

    /// Bytes in front of the key of a record whose key length field is `field`.
    #[inline]
    fn header_of(self, field: u16) -> usize {
        match self.level() {
            0 if field & BARE_FLAG != 0 => BARE_RECORD_HEADER,
            0 => LEAF_RECORD_HEADER,
            _ => NODE_RECORD_HEADER,
        }
    }

    /// Where the key of the record at `offset` begins.
    #[inline]
    pub fn key_start(self, offset: usize) -> usize {
        offset + self.header_of(get_u16(self.0, offset))
    }

    /// The key of a record.
    #[inline]
    pub fn key(self, slot: usize) -> &'a [u8] {
        let at = self.offset(slot);
        let field = get_u16(self.0, at);
        let start = at + self.header_of(field);
        &self.0[start..start + usize::from(field & KEY_LENGTH)]
    }

    /// The key behind the shared prefix. Keys that are out of order, as only damage makes them, may lack the prefix.
    #[inline]
    pub fn suffix(self, slot: usize, prefix_len: usize) -> &'a [u8] {
        self.key(slot).get(prefix_len..).unwrap_or(&[])
    }

    /// The value of a leaf record.
    #[inline]
    pub fn value(self, slot: usize) -> Stored<'a> {
        let at = self.offset(slot);
        let key = get_u16(self.0, at);
        if key & BARE_FLAG != 0 {
            return Stored::Inline(&[]);
        }
        let start = at + LEAF_RECORD_HEADER + usize::from(key & KEY_LENGTH);
        let field = get_u16(self.0, at + 2);
        Stored::from_field(field, &self.0[start..start + Stored::field_bytes(field)])
    }

    /// Whether a leaf record is delete-marked: nobody but purge, and who puts its key again, should see it.
    #[inline]
    pub fn is_delete_marked(self, slot: usize) -> bool {
        get_u16(self.0, self.offset(slot)) & DELETED_FLAG != 0
    }

    /// Whether a leaf record has no value.
    #[inline]
    pub fn is_bare(self, slot: usize) -> bool {
        get_u16(self.0, self.offset(slot)) & BARE_FLAG != 0
    }

    /// The first slot from `slot` on, or down from it, whose leaf record is not delete-marked.
    #[inline]
    pub fn unmarked(self, slot: usize, is_forward: bool) -> Option<usize> {
        let (count, mut slot) = (self.count(), slot);
        while slot < count {
            if !self.is_delete_marked(slot) {
                return Some(slot);
            }
            slot = if is_forward { slot + 1 } else { slot.checked_sub(1)? };
        }
        None
    }

    /// The child of a record of an internal page.
    #[inline]
    pub fn child(self, slot: usize) -> u32 {
        get_u32(self.0, self.offset(slot) + 2)
    }

    /// Bytes of the record at `offset`, without its slot.
    pub fn record_len_at(self, offset: usize) -> usize {
        let field = get_u16(self.0, offset);
        let with_key = self.header_of(field) + usize::from(field & KEY_LENGTH);
        if self.is_leaf() && field & BARE_FLAG == 0 {
            with_key + Stored::field_bytes(get_u16(self.0, offset + 2))
        } else {
            with_key
        }
    }

    /// Bytes of a record with its slot.
    pub fn record_bytes(self, slot: usize) -> usize {
        self.record_len_at(self.offset(slot)) + SLOT_BYTES
    }

    /// Bytes between the heap and the directory.
    #[inline]
    pub fn contiguous_free(self) -> usize {
        self.size() - SLOT_BYTES * self.count() - self.heap_top()
    }

    /// Bytes free after a reorganisation.
    #[inline]
    pub fn free(self) -> usize {
        self.contiguous_free() + self.garbage()
    }

    /// Bytes for records and their slots in an empty page.
    pub fn capacity(self) -> usize {
        self.size() - HEADER_BYTES
    }

    /// Bytes of live records and their slots.
    pub fn used(self) -> usize {
        self.capacity() - self.free()
    }

    /// Where `key` is or would be: the slot, and whether its record is there. In an internal page the first record
    /// counts as less than every key.
    #[inline]
    pub fn search(self, task: &mut Task, key: &[u8]) -> (usize, bool) {
        let count = self.count();
        let mut low = self.first_compared();
        if count <= low {
            return (count.min(low), false);
        }
        let prefix = self.prefix();
        let shared = key.len().min(prefix.len());
        match key[..shared].cmp(&prefix[..shared]) {
            Ordering::Less => return (low, false),
            Ordering::Greater => return (count, false),
            Ordering::Equal if key.len() < prefix.len() => return (low, false),
            Ordering::Equal => {}
        }
        let suffix = &key[prefix.len()..];
        let head = head_of(suffix);
        let mut high = count;
        let mut steps = 1;
        while low < high {
            let middle = low.midpoint(high);
            steps += 1;
            let order = self.head(middle).cmp(&head).then_with(|| self.suffix(middle, prefix.len()).cmp(suffix));
            match order {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => {
                    task.charge(Work::Compare, steps);
                    return (middle, true);
                }
            }
        }
        task.charge(Work::Compare, steps);
        (low, false)
    }

    /// The slot of the child whose range holds `key`.
    #[inline]
    pub fn child_slot(self, task: &mut Task, key: &[u8]) -> usize {
        let (slot, found) = self.search(task, key);
        if found { slot } else { slot.saturating_sub(1) }
    }

    /// The slot of the last child whose range begins before `key`.
    pub fn child_slot_before(self, task: &mut Task, key: &[u8]) -> usize {
        self.search(task, key).0.saturating_sub(1)
    }

    /// Whether a record has the shared prefix, the head that its slot says, and a greater key than the one before.
    fn is_in_order(self, slot: usize) -> bool {
        let (key, prefix) = (self.key(slot), self.prefix());
        let Some(suffix) = key.strip_prefix(prefix) else { return false };
        let follows = || match (self.head(slot), self.head(slot - 1)) {
            (head, before) if head == before => key > self.key(slot - 1),
            (head, before) => head > before,
        };
        self.head(slot) == head_of(suffix) && (slot == self.first_compared() || follows())
    }

    /// What a page must satisfy before its records are trusted; the first violation in words.
    pub fn defect(self) -> Option<String> {
        let (count, top) = (self.count(), self.heap_top());
        let slots = match self.kind() {
            Kind::Tree => count,
            Kind::Overflow | Kind::Undo => 0,
            Kind::Empty | Kind::Meta | Kind::Map => return None,
        };
        if top < HEADER_BYTES || top + SLOT_BYTES * slots > self.size() || self.prefix_len() > MAX_PREFIX {
            return Some(format!("{slots} slots and a heap of {top} bytes do not fit"));
        }
        if self.kind() != Kind::Tree {
            return None;
        }
        if self.level() > MAX_LEVEL || (count == 0 && !self.is_leaf()) {
            return Some(format!("a page of level {} with {count} children", self.level()));
        }
        let mut live = 0;
        for slot in 0..count {
            let at = self.offset(slot);
            let within = |bytes: usize| at + bytes <= top;
            let whole = at >= HEADER_BYTES
                && within(BARE_RECORD_HEADER)
                && within(self.header_of(get_u16(self.0, at)))
                && within(self.record_len_at(at));
            if !whole {
                return Some(format!("record {slot} is not inside the page"));
            }
            if self.is_leaf() && matches!(self.value(slot), Stored::Overflow(p) if p.len() != OVERFLOW_POINTER_BYTES) {
                return Some(format!("record {slot} has no pointer where its value should be"));
            }
            live += self.record_len_at(at);
            if slot >= self.first_compared() && !self.is_in_order(slot) {
                return Some(format!("record {slot} is out of order"));
            }
        }
        let heap = HEADER_BYTES + live + self.garbage();
        (heap != top).then(|| format!("records and garbage end at {heap}, the heap at {top}"))
    }
}

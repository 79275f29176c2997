//! The sorted list of a memtable: one writer at a time, any number of readers that take no lock. Nodes live in the arena,
//! are never removed and never move; a node is complete before a link to it is published.
//!
//! A node is `[links to higher levels][link of level 0][varint key length][internal key][varint value length][value]` and
//! is addressed by its level-0 link, so that a pointer is enough to compare keys whatever the node's height.

use super::arena::Arena;
use super::key::{TRAILER_BYTES, compare_bytes, split};
use super::prefetch::prefetch;
use crate::codec::varint;
use parking_lot::{Mutex, MutexGuard};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Ordering;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering as Memory};

const MAX_HEIGHT: usize = 12;
const BRANCHING_BITS: u32 = 2;
const LINK_BYTES: usize = 8;
/// Bytes of a key that a search asks the processor for ahead of time.
const KEY_AHEAD_BYTES: usize = 32;

/// Bytes of an entry behind its links.
fn entry_bytes(key_len: usize, value_len: usize) -> usize {
    let internal = key_len + TRAILER_BYTES;
    varint::len_u64(internal as u64) + internal + varint::len_u64(value_len as u64) + value_len
}

/// A node of some list that is still alive: whoever holds one keeps the list.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Node(NonNull<u8>);

// SAFETY: a node is an address; what it points at is immutable but for its links, which are atomic.
unsafe impl Send for Node {}

impl Node {
    /// # Safety
    /// The node has more than `level` links and its list is alive.
    #[inline]
    #[allow(clippy::cast_ptr_alignment)]
    unsafe fn link<'a>(self, level: usize) -> &'a AtomicPtr<u8> {
        // SAFETY: the caller promises that the link exists; links are aligned since nodes and their sizes are.
        unsafe { &*self.0.as_ptr().sub(level * LINK_BYTES).cast::<AtomicPtr<u8>>() }
    }

    /// # Safety
    /// As for [`Node::link`].
    #[inline]
    unsafe fn next(self, level: usize) -> Option<Self> {
        // SAFETY: passed on to the caller.
        NonNull::new(unsafe { self.link(level) }.load(Memory::Acquire)).map(Self)
    }

    /// # Safety
    /// `at` is the start of a length written by the inserter.
    #[inline]
    unsafe fn read_len(mut at: *const u8) -> (usize, *const u8) {
        let (mut len, mut shift) = (0, 0);
        loop {
            // SAFETY: the inserter wrote a whole varint here.
            let byte = unsafe { at.read() };
            // SAFETY: the length is followed by at least one byte or by the end of the entry.
            at = unsafe { at.add(1) };
            len |= ((byte & 0x7f) as usize) << shift;
            if byte < 0x80 {
                return (len, at);
            }
            shift += 7;
        }
    }

    /// # Safety
    /// The node is not the head, and its list lives for `'a`.
    #[inline]
    unsafe fn key<'a>(self) -> &'a [u8] {
        // SAFETY: the entry starts behind the level-0 link and was complete before the node was published.
        unsafe {
            let (len, at) = Self::read_len(self.0.as_ptr().add(LINK_BYTES));
            std::slice::from_raw_parts(at, len)
        }
    }

    /// # Safety
    /// As for [`Node::key`].
    #[inline]
    unsafe fn value<'a>(self) -> &'a [u8] {
        // SAFETY: the value follows the key.
        unsafe {
            let (len, at) = Self::read_len(self.0.as_ptr().add(LINK_BYTES));
            let (len, at) = Self::read_len(at.add(len));
            std::slice::from_raw_parts(at, len)
        }
    }

    /// Asks for the node ahead on `level`, which a search may visit next.
    ///
    /// # Safety
    /// As for [`Node::link`].
    #[inline]
    unsafe fn prefetch_next(self, level: usize) {
        // SAFETY: passed on to the caller.
        let next = unsafe { self.link(level) }.load(Memory::Relaxed);
        prefetch(next);
        // A short key ends within the next line at the latest.
        prefetch(next.wrapping_add(LINK_BYTES + KEY_AHEAD_BYTES));
    }

    /// Compares this node's key with a user key and trailer.
    ///
    /// # Safety
    /// As for [`Node::key`].
    #[inline]
    unsafe fn compare(self, user_key: &[u8], trailer: u64) -> Ordering {
        // SAFETY: passed on to the caller.
        let (own_key, own_trailer) = split(unsafe { self.key() });
        compare_bytes(own_key, user_key).then_with(|| trailer.cmp(&own_trailer))
    }
}

/// What the writer keeps between inserts.
struct Writer {
    arena: Arena,
    heights: Xoshiro256PlusPlus,
    /// Neighbours of the last insert on each level, so that ascending keys are inserted without a search. From the list's
    /// height on they are the head and the end.
    before: [Node; MAX_HEIGHT + 1],
    after: [Option<Node>; MAX_HEIGHT + 1],
    /// Levels for which the neighbours are known.
    known: usize,
}

/// An internal key and its value.
pub type Entry<'a> = (&'a [u8], &'a [u8]);

/// A sorted list of entries.
pub struct SkipList {
    head: Node,
    height: AtomicUsize,
    allocated: AtomicUsize,
    writer: Mutex<Writer>,
}

// SAFETY: readers only follow atomic links to complete, immutable nodes; everything else is behind the mutex.
unsafe impl Sync for SkipList {}
// SAFETY: the list owns its memory.
unsafe impl Send for SkipList {}

impl SkipList {
    /// An empty list. Equal seeds give equal towers.
    pub fn new(block_bytes: usize, seed: u64) -> Self {
        let mut arena = Arena::new(block_bytes);
        let start = arena.allocate(MAX_HEIGHT * LINK_BYTES);
        for level in 0..MAX_HEIGHT {
            // SAFETY: the allocation holds `MAX_HEIGHT` aligned links.
            unsafe { start.add(level * LINK_BYTES).cast::<AtomicPtr<u8>>().write(AtomicPtr::new(null_mut())) };
        }
        // SAFETY: the level-0 link is the last one of the allocation.
        let head = Node(unsafe { start.add((MAX_HEIGHT - 1) * LINK_BYTES) });
        let writer = Writer {
            heights: Xoshiro256PlusPlus::seed_from_u64(seed),
            before: [head; MAX_HEIGHT + 1],
            after: [None; MAX_HEIGHT + 1],
            known: 0,
            arena,
        };
        let allocated = AtomicUsize::new(writer.arena.allocated_bytes());
        Self { head, height: AtomicUsize::new(1), allocated, writer: Mutex::new(writer) }
    }

    /// The right to insert.
    pub fn inserter(&self) -> Inserter<'_> {
        Inserter { list: self, writer: self.writer.lock() }
    }

    /// Bytes of memory in use.
    pub fn allocated_bytes(&self) -> usize {
        self.allocated.load(Memory::Relaxed)
    }

    /// The first node at or after a key, and the nodes that were looked at.
    #[inline]
    fn seek(&self, user_key: &[u8], trailer: u64) -> (Option<Node>, u64) {
        let mut level = self.height.load(Memory::Relaxed) - 1;
        let (mut at, mut after, mut steps) = (self.head, None, 0);
        loop {
            // SAFETY: the walk stays on nodes that are linked on `level` or above, and `self` is alive.
            let next = unsafe { at.next(level) };
            let ahead = match next {
                Some(node) if next != after => {
                    steps += 1;
                    // SAFETY: both are linked on `level`, and a linked node is not the head.
                    unsafe {
                        node.prefetch_next(level);
                        at.prefetch_next(level.saturating_sub(1));
                        node.compare(user_key, trailer) == Ordering::Less
                    }
                }
                _ => false,
            };
            match next {
                Some(node) if ahead => at = node,
                _ if level == 0 => return (next, steps),
                _ => {
                    after = next;
                    level -= 1;
                }
            }
        }
    }

    /// The last node before a key, and the nodes that were looked at.
    fn seek_before(&self, user_key: &[u8], trailer: u64) -> (Option<Node>, u64) {
        let (mut at, mut steps) = (self.head, 0);
        for level in (0..self.height.load(Memory::Relaxed)).rev() {
            // SAFETY: the walk stays on nodes that are linked on `level` or above.
            while let Some(node) = unsafe { at.next(level) } {
                steps += 1;
                // SAFETY: a linked node is not the head, and `self` is alive.
                if unsafe { node.compare(user_key, trailer) } != Ordering::Less {
                    break;
                }
                at = node;
            }
        }
        ((at != self.head).then_some(at), steps)
    }

    /// The first entry at or after a key: its internal key and value, and the nodes that were looked at.
    #[inline]
    pub fn find(&self, user_key: &[u8], trailer: u64) -> (Option<Entry<'_>>, u64) {
        let (node, steps) = self.seek(user_key, trailer);
        // SAFETY: the node belongs to this list, whose memory lives as long as the borrow of `self`.
        (node.map(|node| unsafe { (node.key(), node.value()) }), steps)
    }
}

/// A position in a list. Moves return the nodes that were looked at.
pub struct Cursor {
    list: Arc<SkipList>,
    /// A node of `list`.
    at: Option<Node>,
}

impl Cursor {
    /// A cursor that is not positioned.
    pub fn new(list: Arc<SkipList>) -> Self {
        Self { list, at: None }
    }

    /// Moves to the first entry.
    pub fn seek_to_first(&mut self) {
        // SAFETY: the head has all links.
        self.at = unsafe { self.list.head.next(0) };
    }

    /// Moves to the first entry at or after a key.
    pub fn seek(&mut self, user_key: &[u8], trailer: u64) -> u64 {
        let (node, steps) = self.list.seek(user_key, trailer);
        self.at = node;
        steps
    }

    /// Moves to the last entry before a key.
    pub fn seek_before(&mut self, user_key: &[u8], trailer: u64) -> u64 {
        let (node, steps) = self.list.seek_before(user_key, trailer);
        self.at = node;
        steps
    }

    /// Moves to the next entry.
    pub fn next(&mut self) -> u64 {
        // SAFETY: `at` is a node of `list`, and every node has a link of level 0.
        self.at = self.at.and_then(|node| unsafe { node.next(0) });
        1
    }

    /// Moves to the previous entry.
    pub fn prev(&mut self) -> u64 {
        let Some(node) = self.at else { return 0 };
        // SAFETY: `at` is a node of `list`.
        let (user_key, trailer) = split(unsafe { node.key() });
        let (node, steps) = self.list.seek_before(user_key, trailer);
        self.at = node;
        steps
    }

    /// Whether there is a current entry.
    pub fn valid(&self) -> bool {
        self.at.is_some()
    }

    /// The current internal key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        // SAFETY: `at` is a node of `list`, which lives as long as the borrow of `self`.
        self.at.map_or(&[], |node| unsafe { node.key() })
    }

    /// The current value.
    #[inline]
    pub fn value(&self) -> &[u8] {
        // SAFETY: as for `key`.
        self.at.map_or(&[], |node| unsafe { node.value() })
    }
}

/// The right to insert, held by one task at a time.
pub struct Inserter<'a> {
    list: &'a SkipList,
    writer: MutexGuard<'a, Writer>,
}

impl Inserter<'_> {
    /// Adds an entry. No entry has the same key and trailer. Returns the nodes that were looked at.
    pub fn insert(&mut self, user_key: &[u8], trailer: u64, value: &[u8]) -> u64 {
        let steps = self.find_neighbours(user_key, trailer);
        let height = self.random_height();
        if height > self.writer.known {
            self.writer.known = height;
            self.list.height.store(height, Memory::Relaxed);
        }
        let node = self.allocate(height, user_key, trailer, value);
        for level in 0..height {
            let after = self.writer.after[level].map_or(null_mut(), |node| node.0.as_ptr());
            // SAFETY: the new node has `height` links and is not shared yet; the neighbour before it is linked on
            // `level`. The release publishes the whole node.
            unsafe {
                node.link(level).store(after, Memory::Relaxed);
                self.writer.before[level].link(level).store(node.0.as_ptr(), Memory::Release);
            }
            self.writer.before[level] = node;
        }
        steps
    }

    fn random_height(&mut self) -> usize {
        let bits = self.writer.heights.next_u64();
        let quarters = (bits.trailing_zeros() / BRANCHING_BITS) as usize;
        (1 + quarters).min(MAX_HEIGHT)
    }

    /// Finds the neighbours of a key on every level: first by those of the last insert, then from the top.
    fn find_neighbours(&mut self, user_key: &[u8], trailer: u64) -> u64 {
        let writer = &mut *self.writer;
        if writer.known > 0 {
            let (before, after) = (writer.before[0], writer.after[0]);
            // SAFETY: the neighbours are nodes of this list; the head is not asked for its key.
            let fits = unsafe {
                before.next(0) == after
                    && (before == self.list.head || before.compare(user_key, trailer) == Ordering::Less)
                    && after.is_none_or(|node| node.compare(user_key, trailer) == Ordering::Greater)
            };
            if fits {
                return 2;
            }
        }
        let mut steps = 0;
        let mut at = self.list.head;
        for level in (0..writer.known).rev() {
            let known_after = writer.after[level + 1];
            // SAFETY: the walk stays on nodes that are linked on `level` or above.
            let mut next = unsafe { at.next(level) };
            while let Some(node) = next {
                if next == known_after {
                    break;
                }
                steps += 1;
                // SAFETY: both are linked on `level`, and a linked node is not the head.
                let order = unsafe {
                    node.prefetch_next(level);
                    at.prefetch_next(level.saturating_sub(1));
                    node.compare(user_key, trailer)
                };
                if order != Ordering::Less {
                    break;
                }
                at = node;
                // SAFETY: `node` was reached on `level`.
                next = unsafe { node.next(level) };
            }
            writer.before[level] = at;
            writer.after[level] = next;
        }
        steps
    }

    fn allocate(&mut self, height: usize, user_key: &[u8], trailer: u64, value: &[u8]) -> Node {
        let links = height * LINK_BYTES;
        let start = self.writer.arena.allocate(links + entry_bytes(user_key.len(), value.len()));
        self.list.allocated.store(self.writer.arena.allocated_bytes(), Memory::Relaxed);
        // SAFETY: the allocation holds the links and `entry_bytes` of entry, written here from front to back; links are
        // written before they are read, by `insert`.
        unsafe {
            for level in 0..height {
                start.add(level * LINK_BYTES).cast::<AtomicPtr<u8>>().write(AtomicPtr::new(null_mut()));
            }
            let mut at = write_len(start.add(links).as_ptr(), user_key.len() + TRAILER_BYTES);
            at = write_bytes(at, user_key);
            at = write_bytes(at, &trailer.to_le_bytes());
            at = write_len(at, value.len());
            write_bytes(at, value);
            Node(start.add(links - LINK_BYTES))
        }
    }

    /// Bytes of the arena's blocks and the bytes of its last block that are free.
    pub fn arena_bytes(&self) -> (usize, usize) {
        (self.writer.arena.allocated_bytes(), self.writer.arena.unused_bytes())
    }
}

/// Writes a varint and returns the address behind it.
///
/// # Safety
/// The bytes of the varint at `at` are the caller's.
unsafe fn write_len(mut at: *mut u8, mut len: usize) -> *mut u8 {
    // SAFETY: passed on to the caller.
    unsafe {
        while len >= 0x80 {
            at.write(len as u8 | 0x80);
            at = at.add(1);
            len >>= 7;
        }
        at.write(len as u8);
        at.add(1)
    }
}

/// Copies bytes and returns the address behind them.
///
/// # Safety
/// `bytes.len()` bytes at `at` are the caller's and do not overlap `bytes`.
unsafe fn write_bytes(at: *mut u8, bytes: &[u8]) -> *mut u8 {
    // SAFETY: passed on to the caller.
    unsafe {
        at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        at.add(bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn contents(list: &Arc<SkipList>) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut all = Vec::new();
        let mut cursor = Cursor::new(list.clone());
        cursor.seek_to_first();
        while cursor.valid() {
            all.push((split(cursor.key()).0.to_vec(), cursor.value().to_vec()));
            cursor.next();
        }
        all
    }

    proptest! {
        #[test]
        fn entries_come_out_sorted_whatever_the_order_of_inserts(
            keys in proptest::collection::vec(proptest::collection::vec(0u8..4, 0..6), 0..200),
            sorted: bool,
        ) {
            let mut keys = keys;
            if sorted { keys.sort(); }
            let list = Arc::new(SkipList::new(4096, 7));
            let mut model = BTreeMap::new();
            for (n, key) in keys.iter().enumerate() {
                let trailer = n as u64 + 1;
                list.inserter().insert(key, trailer, &trailer.to_le_bytes());
                model.insert((key.clone(), u64::MAX - trailer), trailer.to_le_bytes().to_vec());
            }
            let expected = model.iter().map(|((key, _), value)| (key.clone(), value.clone())).collect::<Vec<_>>();
            prop_assert_eq!(contents(&list), expected);
            for key in &keys {
                let found = list.find(key, u64::MAX).0.map(|(found, _)| split(found).0);
                prop_assert_eq!(found, Some(&key[..]));
                let mut cursor = Cursor::new(list.clone());
                cursor.seek_before(key, u64::MAX);
                let before = cursor.valid().then(|| split(cursor.key()).0.to_vec());
                prop_assert_eq!(before.as_ref(), keys.iter().filter(|other| *other < key).max());
            }
        }
    }

    #[test]
    #[allow(clippy::disallowed_methods)]
    fn readers_see_only_whole_entries_while_a_writer_inserts() {
        let list = Arc::new(SkipList::new(1 << 16, 7));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..3000u64 {
                    let key = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes();
                    list.inserter().insert(&key, n, &key);
                }
            });
            scope.spawn(|| {
                while contents(&list).len() < 3000 {
                    assert!(contents(&list).iter().all(|(key, value)| key == value));
                }
            });
        });
        assert_eq!(contents(&list).len(), 3000);
    }
}

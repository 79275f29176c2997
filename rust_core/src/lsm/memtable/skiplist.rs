//! The sorted list of a memtable: one writer at a time (`inserter`), any number of readers that take no lock. Nodes
//! live in the arena, are never removed and never move; a node is complete before a link to it is published.

use super::arena::Arena;
use super::node::Node;
use parking_lot::Mutex;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Ordering;
use std::sync::atomic::{AtomicUsize, Ordering as Memory};

/// Levels at most.
pub const MAX_HEIGHT: usize = 12;

/// What the writer keeps between inserts.
pub(super) struct Writer {
    pub(super) arena: Arena,
    pub(super) heights: Xoshiro256PlusPlus,
    /// Neighbours of the last insert on each level, so that ascending keys are inserted without a search. From the
    /// list's height on they are the head and the end.
    pub(super) before: [Node; MAX_HEIGHT + 1],
    pub(super) after: [Option<Node>; MAX_HEIGHT + 1],
    /// Levels for which the neighbours are known.
    pub(super) known: usize,
}

/// An internal key and its value.
pub type Entry<'a> = (&'a [u8], &'a [u8]);

/// A sorted list of entries.
pub struct SkipList {
    pub(super) head: Node,
    pub(super) height: AtomicUsize,
    pub(super) allocated: AtomicUsize,
    pub(super) writer: Mutex<Writer>,
}

// SAFETY: readers only follow atomic links to complete, immutable nodes; everything else is behind the mutex.
unsafe impl Sync for SkipList {}
// SAFETY: the list owns its memory.
unsafe impl Send for SkipList {}

impl SkipList {
    /// An empty list. Equal seeds give equal towers.
    pub fn new(block_bytes: usize, seed: u64) -> Self {
        let mut arena = Arena::new(block_bytes);
        let head = Node::head(&mut arena, MAX_HEIGHT);
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

    /// Bytes of memory in use.
    pub fn allocated_bytes(&self) -> usize {
        self.allocated.load(Memory::Relaxed)
    }

    /// The first node at or after a key, and the nodes that were looked at.
    #[inline]
    pub(super) fn seek(&self, user_key: &[u8], trailer: u64) -> (Option<Node>, u64) {
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
    pub(super) fn seek_before(&self, user_key: &[u8], trailer: u64) -> (Option<Node>, u64) {
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

//! Inserts into a skip list: finds the neighbours of a key on every level, first by those of the last insert, and links
//! the new node between them from level 0 up.

use super::node::Node;
use super::skiplist::{MAX_HEIGHT, SkipList, Writer};
use parking_lot::MutexGuard;
use rand::Rng;
use std::cmp::Ordering;
use std::ptr::null_mut;
use std::sync::atomic::Ordering as Memory;

const BRANCHING_BITS: u32 = 2;

/// The right to insert, held by one task at a time.
pub struct Inserter<'a> {
    list: &'a SkipList,
    writer: MutexGuard<'a, Writer>,
}

impl<'a> Inserter<'a> {
    /// Waits for the right to insert.
    pub fn new(list: &'a SkipList) -> Self {
        Self { list, writer: list.writer.lock() }
    }

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
            let after = self.writer.after[level].map_or(null_mut(), Node::address);
            // SAFETY: the new node has `height` links and is not shared yet; the neighbour before it is linked on
            // `level`. The release publishes the whole node.
            unsafe {
                node.link(level).store(after, Memory::Relaxed);
                self.writer.before[level].link(level).store(node.address(), Memory::Release);
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
        let node = Node::new(&mut self.writer.arena, height, user_key, trailer, value);
        self.list.allocated.store(self.writer.arena.allocated_bytes(), Memory::Relaxed);
        node
    }

    /// Bytes of the arena's blocks and the bytes of its last block that are free.
    pub fn arena_bytes(&self) -> (usize, usize) {
        (self.writer.arena.allocated_bytes(), self.writer.arena.unused_bytes())
    }
}

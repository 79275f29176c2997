//! A shard of the block cache: RocksDB's LRU with midpoint insertion. Its list has a low and a high end; blocks enter
//! low, and go high when they are asked for again or when they are index or filter blocks. The high part holds
//! `high_pri_pool_ratio` of the capacity; what it sheds becomes the newest of the low part, whose oldest is evicted
//! first. Without a high part a shard is one list.

use super::block::Block;
use super::bloom::Filter;
use super::index::Index;
use crate::lsm::prefetch::prefetch;
use std::collections::VecDeque;
use std::sync::Arc;

const NONE: u32 = u32::MAX;
const MIN_SHARD_BYTES: u64 = 512 << 10;
const MAX_SHARD_BITS: u32 = 6;
const LOW: usize = 0;
const HIGH: usize = 1;

/// What the cache holds.
#[derive(Debug, Clone)]
pub enum Cached {
    /// A data block.
    Data(Arc<Block>),
    /// An index.
    Index(Arc<Index>),
    /// A filter.
    Filter(Arc<Filter>),
}

impl Cached {
    /// Bytes of the block with what describes it.
    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Self::Data(block) => block.memory_bytes(),
            Self::Index(index) => index.memory_bytes(),
            Self::Filter(filter) => filter.memory_bytes(),
        }
    }

    /// Bytes of the block alone.
    pub(super) fn block_bytes(&self) -> usize {
        let beside = match self {
            Self::Data(_) => size_of::<Block>(),
            Self::Index(_) => size_of::<Index>(),
            Self::Filter(_) => size_of::<Filter>(),
        };
        self.memory_bytes() - beside
    }

    fn begins_at(&self) -> [usize; 2] {
        match self {
            Self::Data(block) => block.search_begins_at(),
            _ => [0; 2],
        }
    }

    fn enters_high(&self) -> bool {
        !matches!(self, Self::Data(_))
    }
}

/// A block of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockKey {
    /// Number of the file.
    pub file: u64,
    /// Offset of the block.
    pub offset: u64,
}

impl BlockKey {
    #[inline]
    fn hash(self) -> u64 {
        let mixed = (self.file.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.offset).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ mixed >> 32
    }

    /// The one of so many shards that it falls into.
    #[inline]
    pub(super) fn shard(self, shards: usize) -> usize {
        (self.hash() >> 58) as usize & (shards - 1)
    }
}

/// One cache line.
#[derive(Debug)]
#[repr(align(64))]
struct Entry {
    key: BlockKey,
    value: Option<Cached>,
    charge: u32,
    chained: u32,
    /// Counts the moves of the entry: only the newest of its places in a queue is its place.
    moves: u32,
    part: u8,
    /// Addresses where a search of the block begins.
    begins_at: [usize; 2],
}

/// Entries from the oldest on. A block that is asked for again joins at the end without being taken out of its old
/// place, which is recognised by its count of moves: so a hit touches no other entry.
#[derive(Debug, Default)]
struct Queue {
    places: VecDeque<(u32, u32)>,
    /// Places that count.
    len: usize,
    bytes: usize,
}

/// A part of the keys, with room of its own.
#[derive(Debug)]
pub(super) struct Shard {
    buckets: Vec<u32>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    parts: [Queue; 2],
    pub(super) capacity: usize,
    high_capacity: usize,
    pub(super) hits: u64,
    pub(super) misses: u64,
}

/// Shards of a cache of so many bytes: up to 64, each of 512 KiB at least (`GetDefaultCacheShardBits`).
pub(super) fn shards_of(capacity: u64) -> usize {
    1 << (capacity / MIN_SHARD_BYTES).max(1).ilog2().min(MAX_SHARD_BITS)
}

impl Shard {
    pub(super) fn new(capacity: usize, high_pri_pool_ratio: f64) -> Self {
        Self {
            buckets: vec![NONE; 64],
            entries: Vec::new(),
            free: Vec::new(),
            parts: Default::default(),
            capacity,
            high_capacity: (capacity as f64 * high_pri_pool_ratio) as usize,
            hits: 0,
            misses: 0,
        }
    }

    /// Bytes that are charged for what it holds.
    pub(super) fn bytes(&self) -> usize {
        self.parts[LOW].bytes + self.parts[HIGH].bytes
    }

    #[inline]
    fn bucket(&self, hash: u64) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    #[inline]
    fn position(&self, key: BlockKey, hash: u64) -> u32 {
        let mut at = self.buckets[self.bucket(hash)];
        while at != NONE && self.entries[at as usize].key != key {
            at = self.entries[at as usize].chained;
        }
        at
    }

    pub(super) fn get(&mut self, key: BlockKey) -> Option<Cached> {
        let at = self.position(key, key.hash());
        if at == NONE {
            self.misses += 1;
            return None;
        }
        self.hits += 1;
        let Entry { charge, moves, part, begins_at, .. } = self.entries[at as usize];
        for address in begins_at {
            prefetch(address as *const u8);
        }
        if self.parts[HIGH].places.back() != Some(&(at, moves)) {
            self.parts[part as usize].len -= 1;
            self.parts[part as usize].bytes -= charge as usize;
            self.append(at, HIGH);
            self.shed_high();
        }
        self.entries[at as usize].value.clone()
    }

    /// Takes a block in that takes `charge` bytes of `capacity`, for which it evicts others.
    pub(super) fn insert(&mut self, key: BlockKey, value: Cached, charge: usize, capacity: usize) {
        let hash = key.hash();
        if self.position(key, hash) != NONE {
            return;
        }
        while self.bytes() + charge > capacity && self.evict_oldest() {}
        if charge > capacity {
            return;
        }
        let part = if value.enters_high() { HIGH } else { LOW };
        let bucket = self.bucket(hash);
        let chained = self.buckets[bucket];
        let begins_at = value.begins_at();
        let (charge, value) = (charge as u32, Some(value));
        let entry = Entry { key, value, charge, chained, moves: 0, part: part as u8, begins_at };
        let at = if let Some(at) = self.free.pop() {
            let moves = self.entries[at as usize].moves;
            self.entries[at as usize] = Entry { moves, ..entry };
            at
        } else {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        };
        self.buckets[bucket] = at;
        self.append(at, part);
        self.shed_high();
        if self.entries.len() > self.buckets.len() {
            self.grow();
        }
    }

    /// Makes an entry the newest of a part. It counts in no other part.
    fn append(&mut self, at: u32, part: usize) {
        let entry = &mut self.entries[at as usize];
        entry.moves = entry.moves.wrapping_add(1);
        entry.part = part as u8;
        let queue = &mut self.parts[part];
        queue.places.push_back((at, entry.moves));
        queue.len += 1;
        queue.bytes += entry.charge as usize;
        if queue.places.len() > 4 * queue.len + 64 {
            let entries = &self.entries;
            queue.places.retain(|(at, moves)| entries[*at as usize].moves == *moves);
        }
    }

    /// Takes the oldest entry out of a part.
    fn take_oldest(&mut self, part: usize) -> Option<u32> {
        let queue = &mut self.parts[part];
        while let Some((at, moves)) = queue.places.pop_front() {
            let entry = &self.entries[at as usize];
            if entry.moves == moves {
                queue.len -= 1;
                queue.bytes -= entry.charge as usize;
                return Some(at);
            }
        }
        None
    }

    fn shed_high(&mut self) {
        while self.parts[HIGH].bytes > self.high_capacity {
            let Some(at) = self.take_oldest(HIGH) else { break };
            self.append(at, LOW);
        }
    }

    /// Whether a block is here, without touching the order.
    #[cfg(test)]
    pub(super) fn holds(&self, key: BlockKey) -> bool {
        self.position(key, key.hash()) != NONE
    }

    /// The bytes of all entries, one by one.
    #[cfg(test)]
    pub(super) fn counted_bytes(&self) -> usize {
        let held = self.entries.iter().filter(|entry| entry.value.is_some());
        held.map(|entry| entry.charge as usize).sum()
    }

    /// `false` if there is nothing left to evict.
    fn evict_oldest(&mut self) -> bool {
        let Some(at) = self.take_oldest(LOW).or_else(|| self.take_oldest(HIGH)) else { return false };
        let (key, chained) = (self.entries[at as usize].key, self.entries[at as usize].chained);
        let bucket = self.bucket(key.hash());
        let mut link = self.buckets[bucket];
        if link == at {
            self.buckets[bucket] = chained;
        } else {
            while self.entries[link as usize].chained != at {
                link = self.entries[link as usize].chained;
            }
            self.entries[link as usize].chained = chained;
        }
        self.entries[at as usize].value = None;
        self.free.push(at);
        true
    }

    fn grow(&mut self) {
        self.buckets = vec![NONE; self.buckets.len() * 2];
        for at in 0..self.entries.len() {
            if self.entries[at].value.is_some() {
                let bucket = self.bucket(self.entries[at].key.hash());
                self.entries[at].chained = self.buckets[bucket];
                self.buckets[bucket] = at as u32;
            }
        }
    }
}

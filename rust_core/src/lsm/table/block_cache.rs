//! The block cache: RocksDB's sharded LRU with midpoint insertion. A shard's list has a low and a high end; blocks
//! enter low, and go high when they are asked for again or when they are index or filter blocks. The high part holds
//! `high_pri_pool_ratio` of the capacity; what it sheds becomes the newest of the low part, whose oldest is evicted
//! first. Without a high part the cache is one list.

use super::block::Block;
use super::bloom::Filter;
use super::index::Index;
use super::part_shards::PartShards;
use crate::lsm::prefetch::prefetch;
use crate::scale::Scale;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

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
    fn memory_bytes(&self) -> usize {
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

/// Bytes that an entry is charged for beside its block: what a cache of linked lists keeps of one, as RocksDB's is. Its
/// line, its bucket and its places in a queue take some more here.
const ENTRY_BYTES: usize = 60;

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
    capacity: usize,
    high_capacity: usize,
    hits: u64,
    misses: u64,
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

    fn bytes(&self) -> usize {
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

/// Counters and gauges of a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Blocks found.
    pub hits: u64,
    /// Blocks not found.
    pub misses: u64,
    /// Bytes held, with what the cache itself needs for them, and without index and filter blocks of a copy.
    pub bytes: u64,
}

/// A cache of blocks.
#[derive(Debug)]
pub struct BlockCache {
    shards: Vec<Mutex<Shard>>,
    /// Bytes held by all shards.
    bytes: AtomicU64,
    /// Index and filter blocks of a copy.
    parts: Option<PartShards>,
}

impl BlockCache {
    /// A cache of `capacity` bytes at this scale, whose shards hold `high_pri_pool_ratio` of theirs in high parts.
    pub fn new(capacity: u64, high_pri_pool_ratio: f64, scale: Scale) -> Self {
        let count = shards_of(capacity);
        let shard = || Shard::new((capacity as usize).div_ceil(count), high_pri_pool_ratio);
        Self {
            shards: (0..count).map(|_| Mutex::new(shard())).collect(),
            bytes: AtomicU64::new(0),
            parts: (!scale.evicts_index_and_filter_blocks()).then(|| PartShards::new(capacity, scale)),
        }
    }

    /// Where index and filter blocks of a copy are: beside the others, to which they leave the room that they do not
    /// take. `None` at full size, where they are blocks as any.
    #[inline]
    pub fn parts(&self) -> Option<&PartShards> {
        self.parts.as_ref()
    }

    /// Bytes of [`Self::parts`].
    #[inline]
    pub fn part_bytes(&self) -> u64 {
        self.parts.as_ref().map_or(0, PartShards::held)
    }

    #[inline]
    fn shard(&self, key: BlockKey) -> &Mutex<Shard> {
        &self.shards[key.shard(self.shards.len())]
    }

    /// A block, if it is here.
    #[inline]
    pub fn get(&self, key: BlockKey) -> Option<Cached> {
        self.shard(key).lock().get(key)
    }

    /// Adds a block and evicts others to make room. A block that is larger than its shard evicts all others there and
    /// does not stay: RocksDB takes it in for as long as its reader holds it, above the capacity, and erases it then
    /// (`LRUCacheShard::InsertItem`, `Release`).
    pub fn insert(&self, key: BlockKey, value: Cached) {
        let mut shard = self.shard(key).lock();
        let before = shard.bytes();
        let (charge, reserved) = (value.memory_bytes() + ENTRY_BYTES, self.part_bytes() as usize / self.shards.len());
        let capacity = shard.capacity.saturating_sub(reserved);
        shard.insert(key, value, charge, capacity);
        // Wraps where more is evicted than added, and the sum wraps back.
        self.bytes.fetch_add((shard.bytes() as u64).wrapping_sub(before as u64), Relaxed);
    }

    /// Bytes held, with what the cache itself needs for them, and without [`Self::part_bytes`].
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Counters and gauges.
    pub fn stats(&self) -> CacheStats {
        let (hits, misses) = self.parts.as_ref().map_or((0, 0), PartShards::looked_up);
        self.shards.iter().fold(CacheStats { hits, misses, bytes: 0 }, |sum, shard| {
            let shard = shard.lock();
            CacheStats {
                hits: sum.hits + shard.hits,
                misses: sum.misses + shard.misses,
                bytes: sum.bytes + shard.bytes() as u64,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(bytes: usize) -> Cached {
        let mut data = vec![0; bytes];
        data[bytes - 4..].copy_from_slice(&1u32.to_le_bytes());
        Cached::Data(Arc::new(Block::decode(data).unwrap()))
    }

    fn key(offset: u64) -> BlockKey {
        BlockKey { file: 1, offset }
    }

    /// Offsets that are in the cache, without touching their order.
    fn present(cache: &BlockCache, offsets: std::ops::Range<u64>) -> Vec<u64> {
        let shard = cache.shards[0].lock();
        offsets.filter(|offset| shard.position(key(*offset), key(*offset).hash()) != NONE).collect()
    }

    #[test]
    fn the_oldest_block_that_was_asked_for_once_goes_first() {
        let cache = BlockCache::new(10 * 4500, 0.5, Scale::FULL);
        (0..8).for_each(|n| cache.insert(key(n), block(4096)));
        assert!(cache.get(key(0)).is_some() && cache.get(key(1)).is_some());
        (8..16).for_each(|n| cache.insert(key(n), block(4096)));
        let left = present(&cache, 0..16);
        assert!(left.contains(&0) && left.contains(&1), "{left:?}");
        assert!(!left.contains(&2) && left.contains(&15), "{left:?}");
    }

    #[test]
    fn a_scan_does_not_push_out_what_was_asked_for_twice() {
        let cache = BlockCache::new(20 * 4500, 0.5, Scale::FULL);
        (0..5).for_each(|n| cache.insert(key(n), block(4096)));
        (0..5).for_each(|n| assert!(cache.get(key(n)).is_some()));
        (100..400).for_each(|n| cache.insert(key(n), block(4096)));
        assert_eq!(present(&cache, 0..5), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn without_a_high_part_a_scan_pushes_out_what_was_asked_for_twice() {
        let cache = BlockCache::new(20 * 4500, 0.0, Scale::FULL);
        (0..5).for_each(|n| cache.insert(key(n), block(4096)));
        (0..5).for_each(|n| assert!(cache.get(key(n)).is_some()));
        (100..114).for_each(|n| cache.insert(key(n), block(4096)));
        assert!(cache.get(key(0)).is_some(), "room for twenty");
        (114..120).for_each(|n| cache.insert(key(n), block(4096)));
        assert_eq!(present(&cache, 0..5), [0], "the one that was asked for last");
    }

    #[test]
    fn index_and_filter_blocks_of_a_copy_leave_less_room_for_others() {
        let cache = BlockCache::new(10 * 4500, 0.5, Scale::standing_for(16.0));
        let fits = |offsets: std::ops::Range<u64>| {
            offsets.clone().for_each(|n| cache.insert(key(n), block(4096)));
            present(&cache, offsets).len()
        };
        assert_eq!(fits(0..20), 10);
        let parts = cache.parts().unwrap();
        parts.add(key(0), &block(4 * 4500));
        assert_eq!(fits(20..40), 6);
        parts.add(key(1), &block(4 * 4500));
        assert_eq!(fits(40..60), 2);
        parts.remove(key(0), &block(4 * 4500));
        assert_eq!(fits(60..80), 6);
    }

    #[test]
    fn a_block_larger_than_its_shard_empties_the_shard_and_does_not_stay() {
        let cache = BlockCache::new(10 * 4500, 0.5, Scale::FULL);
        (0..8).for_each(|n| cache.insert(key(n), block(4096)));
        cache.insert(key(100), block(10 * 4500));
        assert!(present(&cache, 0..200).is_empty());
        assert_eq!((cache.bytes(), cache.stats().bytes), (0, 0));
        cache.insert(key(1), block(4096));
        assert_eq!(present(&cache, 0..200), [1]);
    }

    #[test]
    fn a_cache_without_room_keeps_nothing() {
        let cache = BlockCache::new(0, 0.5, Scale::FULL);
        cache.insert(key(1), block(4096));
        assert!(cache.get(key(1)).is_none());
        assert_eq!(cache.stats(), CacheStats { hits: 0, misses: 1, bytes: 0 });
    }

    proptest! {
        #[test]
        fn usage_stays_within_capacity_and_what_is_found_is_what_was_put(
            operations in proptest::collection::vec((any::<bool>(), 0u64..60, 8usize..3000), 1..400),
        ) {
            let cache = BlockCache::new(40_000, 0.5, Scale::FULL);
            let mut sizes = std::collections::BTreeMap::new();
            for (insert, offset, bytes) in operations {
                if insert {
                    if present(&cache, offset..offset + 1).is_empty() { sizes.insert(offset, bytes); }
                    cache.insert(key(offset), block(bytes));
                } else if let Some(Cached::Data(found)) = cache.get(key(offset)) {
                    prop_assert_eq!(found.memory_bytes(), sizes[&offset] + size_of::<Block>());
                }
                prop_assert!(cache.stats().bytes <= 40_000);
                let shard = cache.shards[0].lock();
                let held = shard.entries.iter().filter(|entry| entry.value.is_some());
                let charged = held.map(|entry| entry.charge as usize).sum::<usize>();
                prop_assert_eq!(charged, shard.parts[LOW].bytes + shard.parts[HIGH].bytes);
            }
        }
    }
}

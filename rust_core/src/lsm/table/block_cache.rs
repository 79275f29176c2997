//! The block cache, as RocksDB's is: shards by the hash of a block, each with lists of its own.

use super::cache_shard::{BlockKey, Cached, Shard, shards_of};
use super::part_shards::PartShards;
use crate::scale::Scale;
use parking_lot::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes that an entry is charged for beside its block: what a cache of linked lists keeps of one, as RocksDB's is. Its
/// line, its bucket and its places in a queue take some more here.
const ENTRY_BYTES: usize = 60;

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
    use super::super::block::Block;
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;

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
        offsets.filter(|offset| shard.holds(key(*offset))).collect()
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
                prop_assert_eq!(shard.counted_bytes(), shard.bytes());
            }
        }
    }
}

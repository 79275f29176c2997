//! Index and filter blocks in the cache of a copy. That of a file of full size covers thousands of blocks and is hardly
//! ever pushed out by data; that of a shrunk one covers few. So here data do not push them out: they do it among
//! themselves, where a shard of the cache of full size has no room for those that fall into it. Such a shard may be
//! smaller than the filter of one file, or than the indexes of two.

use super::cache_shard::{BlockKey, Cached, Shard, shards_of};
use crate::scale::Scale;
use parking_lot::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The shards of full size, shrunk.
#[derive(Debug)]
pub struct PartShards {
    shards: Vec<PartShard>,
    shard_bytes: u64,
    /// Bytes that are in memory.
    held: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug)]
struct PartShard {
    /// Of all that fall into it.
    bytes: AtomicU64,
    /// What is in memory once that is more than has room. Who finds all in it asks nobody what is there.
    list: Mutex<Shard>,
}

impl PartShards {
    /// For a cache of `capacity` bytes at this scale.
    pub fn new(capacity: u64, scale: Scale) -> Self {
        let count = shards_of(scale.full_bytes(capacity));
        let shard_bytes = capacity.div_ceil(count as u64);
        let shard = || PartShard { bytes: AtomicU64::new(0), list: Mutex::new(Shard::new(shard_bytes as usize, 0.0)) };
        Self {
            shards: (0..count).map(|_| shard()).collect(),
            shard_bytes,
            held: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    #[inline]
    fn shard(&self, key: BlockKey) -> &PartShard {
        &self.shards[key.shard(self.shards.len())]
    }

    fn held_of(&self, bytes: u64) -> u64 {
        bytes.min(self.shard_bytes)
    }

    /// Takes in a part of a file that was opened.
    pub fn add(&self, key: BlockKey, part: &Cached) {
        let (shard, bytes) = (self.shard(key), part.block_bytes() as u64);
        let before = shard.bytes.fetch_add(bytes, Relaxed);
        self.held.fetch_add(self.held_of(before + bytes) - self.held_of(before), Relaxed);
        if before + bytes > self.shard_bytes {
            self.put_back(key, part.clone());
        }
    }

    /// Forgets a part of a file that is closed.
    pub fn remove(&self, key: BlockKey, part: &Cached) {
        let (shard, bytes) = (self.shard(key), part.block_bytes() as u64);
        let before = shard.bytes.fetch_sub(bytes, Relaxed);
        self.held.fetch_sub(self.held_of(before) - self.held_of(before - bytes), Relaxed);
    }

    /// Whether a part is in memory. One that is not comes back by [`Self::put_back`].
    #[inline]
    pub fn finds(&self, key: BlockKey) -> bool {
        let shard = self.shard(key);
        let has_room = shard.bytes.load(Relaxed) <= self.shard_bytes;
        let found = has_room || shard.list.lock().get(key).is_some();
        let counter = if found { &self.hits } else { &self.misses };
        counter.fetch_add(1, Relaxed);
        found
    }

    /// Takes a part in that was read again.
    pub fn put_back(&self, key: BlockKey, part: Cached) {
        let charge = part.block_bytes();
        self.shard(key).list.lock().insert(key, part, charge, self.shard_bytes as usize);
    }

    /// Bytes in memory.
    #[inline]
    pub fn held(&self) -> u64 {
        self.held.load(Relaxed)
    }

    /// How often parts were found, and were not.
    pub fn looked_up(&self) -> (u64, u64) {
        (self.hits.load(Relaxed), self.misses.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsm::table::block::Block;
    use std::sync::Arc;

    const MIB: u64 = 1 << 20;
    /// A cache of 64 MiB has 64 shards of a mebibyte.
    const TIMES: u64 = 16;

    fn part(full_bytes: u64) -> Cached {
        let mut data = vec![0; (full_bytes / TIMES) as usize];
        let len = data.len();
        data[len - 4..].copy_from_slice(&1u32.to_le_bytes());
        Cached::Data(Arc::new(Block::decode(data).unwrap()))
    }

    fn key(file: u64) -> BlockKey {
        BlockKey { file, offset: 0 }
    }

    fn shards() -> PartShards {
        PartShards::new(64 * MIB / TIMES, Scale::standing_for(TIMES as f64))
    }

    /// Two files whose parts fall into one shard.
    fn neighbours(shards: &PartShards) -> [BlockKey; 2] {
        let first = key(1);
        let same = |other: &BlockKey| std::ptr::eq(shards.shard(first), shards.shard(*other));
        [first, (2..10_000).map(key).find(same).unwrap()]
    }

    #[test]
    fn parts_stay_where_the_shards_of_full_size_have_room() {
        let shards = shards();
        let both = neighbours(&shards);
        for key in both {
            shards.add(key, &part(MIB * 2 / 5));
        }
        assert!((0..9).all(|n| shards.finds(both[n % 2])));
        assert!(shards.held() >= 4 * MIB / 5 / TIMES);
        shards.remove(both[0], &part(MIB * 2 / 5));
        shards.remove(both[1], &part(MIB * 2 / 5));
        assert_eq!((shards.held(), shards.looked_up()), (0, (9, 0)));
    }

    #[test]
    fn two_of_one_shard_push_each_other_out_where_it_has_room_for_one() {
        let shards = shards();
        let both = neighbours(&shards);
        for key in both {
            shards.add(key, &part(MIB * 3 / 5));
        }
        assert_eq!(shards.held(), MIB / TIMES);
        let look = |key| {
            let found = shards.finds(key);
            if !found {
                shards.put_back(key, part(MIB * 3 / 5));
            }
            found
        };
        look(both[1]);
        assert!(look(both[1]), "the last one is there");
        assert!((0..8).all(|n| !look(both[n % 2])));
        shards.remove(both[1], &part(MIB * 3 / 5));
        assert!((0..8).all(|_| look(both[0])));
    }

    #[test]
    fn a_part_larger_than_its_shard_never_stays() {
        let shards = shards();
        shards.add(key(1), &part(MIB * 6 / 5));
        for _ in 0..3 {
            assert!(!shards.finds(key(1)));
            shards.put_back(key(1), part(MIB * 6 / 5));
        }
        assert_eq!((shards.held(), shards.looked_up()), (MIB / TIMES, (0, 3)));
    }
}

//! Orders that scatter: LinkBench's permutation of popularity ranks over ids, a permutation for loads in random order,
//! and the hash by which YCSB spreads its keys.

use crate::random::Random;

/// LinkBench's `InvertibleShuffler`: ids are dealt into interleaved groups, and each group is rotated by its own
/// amount, so that neighbours in rank lie far apart in id.
#[derive(Debug, Clone)]
pub struct GroupShuffle {
    n: u64,
    rotations: Vec<u64>,
}

/// Groups, as LinkBench has them for all its distributions.
const GROUPS: u64 = 1024;

impl GroupShuffle {
    /// A permutation of 0..n.
    pub fn new(seed: u64, n: u64) -> Self {
        let groups = GROUPS.min(n).max(1);
        let mut random = Random::from_seed(seed);
        Self { n, rotations: (0..groups).map(|_| random.below(n / groups)).collect() }
    }

    /// Where `rank` goes.
    pub fn permute(&self, rank: u64) -> u64 {
        self.rotate(rank, |position, by, size| (position + by) % size)
    }

    /// What went to `id`.
    pub fn invert(&self, id: u64) -> u64 {
        self.rotate(id, |position, by, size| (position + size - by) % size)
    }

    fn rotate(&self, i: u64, turn: impl FnOnce(u64, u64, u64) -> u64) -> u64 {
        let groups = self.rotations.len() as u64;
        let (group, position) = (i % groups, i / groups);
        let size = self.n / groups + u64::from(group < self.n % groups);
        turn(position, self.rotations[group as usize], size) * groups + group
    }
}

/// A pseudo-random permutation of 0..n in constant memory: a Feistel network over the next even power of two, walked
/// until it lands inside.
#[derive(Debug, Clone)]
pub struct RandomOrder {
    n: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl RandomOrder {
    /// A permutation of 0..n.
    pub fn new(random: &mut Random, n: u64) -> Self {
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        Self { n, half_bits: bits.div_ceil(2).max(1), keys: std::array::from_fn(|_| random.bits()) }
    }

    /// The item at position `i`.
    pub fn at(&self, i: u64) -> u64 {
        let mut item = self.pass(i);
        while item >= self.n {
            item = self.pass(item);
        }
        item
    }

    fn pass(&self, i: u64) -> u64 {
        let mask = (1_u64 << self.half_bits) - 1;
        let (mut left, mut right) = (i >> self.half_bits, i & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (fnv_hash(right ^ key) & mask));
        }
        (left << self.half_bits) | right
    }
}

/// The 64-bit FNV-1a hash of the bytes of `value` from low to high, as YCSB's `Utils.fnvhash64` computes it.
pub fn fnv_hash(value: u64) -> u64 {
    let hash = value
        .to_le_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (hash as i64).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_shuffle_is_a_permutation_with_its_inverse() {
        for n in [1, 2, 1000, 1024, 5000, 100_003] {
            let shuffle = GroupShuffle::new(53238253823453, n);
            let mut seen = vec![false; n as usize];
            for rank in 0..n {
                let id = shuffle.permute(rank);
                assert_eq!(shuffle.invert(id), rank);
                assert!(!std::mem::replace(&mut seen[id as usize], true), "{id} twice of {n}");
            }
        }
    }

    #[test]
    fn hot_ranks_do_not_share_pages() {
        const N: u64 = 1_000_000;
        let shuffle = GroupShuffle::new(53238253823453, N);
        let mut ids: Vec<u64> = (0..1000).map(|rank| shuffle.permute(rank)).collect();
        ids.sort_unstable();
        let near = ids.windows(2).filter(|pair| pair[1] - pair[0] < 20).count();
        // 1000 of 1,000,000 at random: about 2% have a neighbour within 20 ids.
        assert!(near < 60, "{near} of 1000 hot ids have a hot neighbour on their page");
    }

    #[test]
    fn a_random_order_visits_each_item_once() {
        for n in [1, 2, 3, 1000, 4096, 4097] {
            let order = RandomOrder::new(&mut Random::from_seed(n), n);
            let mut items: Vec<u64> = (0..n).map(|i| order.at(i)).collect();
            items.sort_unstable();
            assert!(items.into_iter().eq(0..n), "{n}");
        }
    }

    #[test]
    fn the_hash_is_that_of_ycsb() {
        // user6284781860667377211 is the first record of every YCSB database loaded in hashed order.
        assert_eq!(fnv_hash(0), 6284781860667377211);
    }
}

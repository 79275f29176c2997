//! Bloom filters in the layout of RocksDB's `FastLocalBloom`: all probes of a key fall into one cache line, so that a
//! question costs one memory access.

use crate::lsm::options::BloomPolicy;
use xxhash_rust::xxh3::xxh3_64;

const LINE_BYTES: u64 = 64;
const GOLDEN: u32 = 0x9e37_79b9;
/// Bytes behind the lines: two markers, the number of probes, and two bytes of nothing.
const METADATA_BYTES: usize = 5;

/// The bytes of the lines of so many keys.
fn line_bytes(policy: BloomPolicy, keys: usize) -> u64 {
    (keys as u64 * policy.millibits_per_key).div_ceil(8000).next_multiple_of(LINE_BYTES).max(LINE_BYTES)
}

/// The number of probes with the fewest false positives at a number of bits (RocksDB's `ChooseNumProbes`).
fn choose_probes(millibits: u64) -> u8 {
    const LIMITS: [u64; 12] = [2080, 3580, 5100, 6640, 8300, 10070, 11720, 14001, 16050, 18300, 22001, 25501];
    match LIMITS.iter().position(|limit| millibits <= *limit) {
        Some(n) => n as u8 + 1,
        None if millibits > 50_000 => 24,
        None => ((millibits - 1) / 2000 - 1) as u8,
    }
}

/// The hash that filters are made of.
#[inline]
pub fn hash(key: &[u8]) -> u64 {
    xxh3_64(key)
}

/// Where the line of a hash begins.
#[inline]
fn line_of(hash: u64, lines: u64) -> usize {
    (((hash & 0xffff_ffff) * lines) >> 32) as usize * LINE_BYTES as usize
}

/// The bits of a hash within its line.
#[inline]
fn bits_of(hash: u64, probes: u8) -> impl Iterator<Item = usize> {
    let mut h = (hash >> 32) as u32;
    (0..probes).map(move |_| {
        let bit = (h >> (32 - 9)) as usize;
        h = h.wrapping_mul(GOLDEN);
        bit
    })
}

/// Collects the keys of a table.
#[derive(Debug)]
pub struct FilterBuilder {
    policy: BloomPolicy,
    hashes: Vec<u64>,
    last_prefix: Option<u64>,
}

impl FilterBuilder {
    /// An empty filter.
    pub fn new(policy: BloomPolicy) -> Self {
        Self { policy, hashes: Vec::new(), last_prefix: None }
    }

    /// Adds the hash of a key. The same hash twice in a row counts once.
    #[inline]
    pub fn add(&mut self, hash: u64) {
        if self.hashes.last() != Some(&hash) {
            self.hashes.push(hash);
        }
    }

    /// Adds the hash of a key's prefix. A run of keys with the same prefix counts once.
    #[inline]
    pub fn add_prefix(&mut self, hash: u64) {
        if self.last_prefix != Some(hash) {
            self.last_prefix = Some(hash);
            self.add(hash);
        }
    }

    /// The filter block.
    pub fn finish(self) -> Vec<u8> {
        let bytes = line_bytes(self.policy, self.hashes.len());
        let probes = choose_probes(self.policy.millibits_per_key);
        // As large as it will be: what is kept of a filter that was just written counts.
        let mut block = Vec::with_capacity(bytes as usize + METADATA_BYTES);
        block.resize(bytes as usize, 0);
        for hash in &self.hashes {
            let line = line_of(*hash, bytes / LINE_BYTES);
            for bit in bits_of(*hash, probes) {
                block[line + bit / 8] |= 1 << (bit % 8);
            }
        }
        block.extend_from_slice(&[0xff, 0, probes, 0, 0]);
        block
    }
}

/// A filter block that was read.
#[derive(Debug)]
pub struct Filter {
    block: Vec<u8>,
    lines: u64,
    probes: u8,
}

impl Filter {
    /// Checks the form of a filter block; `None` if it is not one.
    pub fn decode(block: Vec<u8>) -> Option<Self> {
        let bytes = block.len().checked_sub(METADATA_BYTES)? as u64;
        let [0xff, 0, probes @ 1..=24, 0, 0] = block[bytes as usize..] else { return None };
        (bytes > 0 && bytes.is_multiple_of(LINE_BYTES)).then_some(Self { block, lines: bytes / LINE_BYTES, probes })
    }

    /// Whether a key of this hash may be in the table.
    #[inline]
    pub fn may_contain(&self, hash: u64) -> bool {
        let start = line_of(hash, self.lines);
        let Some(line) = self.block[start..].first_chunk::<64>() else { return true };
        bits_of(hash, self.probes).all(|bit| line[bit / 8] & (1 << (bit % 8)) != 0)
    }

    /// Bytes of memory in use.
    pub fn memory_bytes(&self) -> usize {
        self.block.capacity() + size_of::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter_of(keys: u64, bits: f64) -> Filter {
        let mut builder = FilterBuilder::new(BloomPolicy::new(bits).unwrap());
        (0..keys).for_each(|n| builder.add(hash(&n.to_be_bytes())));
        Filter::decode(builder.finish()).unwrap()
    }

    #[test]
    fn a_filter_that_was_written_takes_no_more_memory_than_one_that_was_read() {
        let written = filter_of(10_000, 10.0);
        let read = Filter::decode(written.block.as_slice().to_vec()).unwrap();
        assert_eq!(written.memory_bytes(), read.memory_bytes());
    }

    #[test]
    fn every_key_that_was_added_may_be_there() {
        let filter = filter_of(10_000, 10.0);
        assert!((0..10_000u64).all(|n| filter.may_contain(hash(&n.to_be_bytes()))));
    }

    #[test]
    fn false_positives_are_as_rare_as_rocksdbs() {
        for (bits, low, high) in [(10.0, 0.0085, 0.0106), (16.0, 0.0006, 0.0013), (5.0, 0.08, 0.12)] {
            let filter = filter_of(100_000, bits);
            let hits = (100_000..400_000u64).filter(|n| filter.may_contain(hash(&n.to_be_bytes()))).count();
            let ratio = hits as f64 / 300_000.0;
            assert!((low..high).contains(&ratio), "{bits} bits per key: {ratio}");
        }
    }

    #[test]
    fn the_filter_of_200_000_keys_has_rocksdbs_size() {
        let mut builder = FilterBuilder::new(BloomPolicy::parse("bloomfilter:10:false").unwrap());
        (0..200_000u64).for_each(|n| builder.add(hash(&n.to_be_bytes())));
        assert_eq!(builder.finish().len(), 250_053);
    }

    #[test]
    fn probes_follow_rocksdbs_table() {
        let probes = [1.0, 5.0, 8.0, 10.0, 16.0, 30.0]
            .map(|bits| choose_probes(BloomPolicy::new(bits).unwrap().millibits_per_key));
        assert_eq!(probes, [1, 3, 5, 6, 9, 13]);
    }

    #[test]
    fn bytes_that_are_no_filter_are_refused() {
        for block in [vec![], vec![0; 69], vec![0xff, 0, 6, 0, 0], [vec![0; 60], vec![0xff, 0, 6, 0, 0]].concat()] {
            assert!(Filter::decode(block).is_none());
        }
    }
}

//! Writes blocks of sorted entries with prefix compression, as RocksDB does:
//! `[varint shared][varint unshared][varint value length][unshared key bytes][value]…`
//! `[restart offsets, 4 bytes each][restart count, 4 bytes]`.

use crate::codec::varint;
use crate::lsm::keys::key::common_prefix;

/// Writes a block.
#[derive(Debug)]
pub struct BlockBuilder {
    buffer: Vec<u8>,
    restarts: Vec<u32>,
    since_restart: usize,
    interval: usize,
    last_key: Vec<u8>,
}

impl BlockBuilder {
    /// An empty block with a restart point every `interval` keys.
    pub fn new(interval: usize) -> Self {
        Self { buffer: Vec::new(), restarts: vec![0], since_restart: 0, interval, last_key: Vec::new() }
    }

    /// Adds an entry behind all others.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        let mut shared = 0;
        if self.since_restart >= self.interval {
            self.restarts.push(self.buffer.len() as u32);
            self.since_restart = 0;
        } else if !self.buffer.is_empty() {
            shared = common_prefix(&self.last_key, key);
        }
        varint::push_u32(&mut self.buffer, shared as u32);
        varint::push_u32(&mut self.buffer, (key.len() - shared) as u32);
        varint::push_u32(&mut self.buffer, value.len() as u32);
        self.buffer.extend_from_slice(&key[shared..]);
        self.buffer.extend_from_slice(value);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(&key[shared..]);
        self.since_restart += 1;
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Bytes of the block if it were finished now.
    pub fn bytes(&self) -> usize {
        self.buffer.len() + 4 * self.restarts.len() + 4
    }

    /// Whether the block is to be cut before this entry: it has reached `target`, or it lacks less than `deviation`
    /// percent of it and RocksDB's estimate of the block with the entry, which counts the whole key, exceeds the target
    /// (`FlushBlockBySizePolicy`).
    pub fn is_full_before(&self, key: &[u8], value: &[u8], target: usize, deviation: usize) -> bool {
        if self.is_empty() {
            return false;
        }
        let now = self.bytes();
        if now >= target {
            return true;
        }
        let restart = if self.since_restart >= self.interval { 4 } else { 0 };
        let lengths = varint::len_u64(key.len() as u64) + varint::len_u64(value.len() as u64);
        let after = now + key.len() + value.len() + restart + 4 + lengths;
        deviation > 0 && after > target && now > (target * (100 - deviation)).div_ceil(100)
    }

    /// Completes the block and gives its bytes to `use_bytes`; the builder is empty afterwards.
    pub fn finish<R>(&mut self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        for restart in &self.restarts {
            self.buffer.extend_from_slice(&restart.to_le_bytes());
        }
        self.buffer.extend_from_slice(&(self.restarts.len() as u32).to_le_bytes());
        let result = use_bytes(&self.buffer);
        self.buffer.clear();
        self.restarts.truncate(1);
        self.since_restart = 0;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_lacks_less_than_the_deviation_is_cut_before_what_would_exceed_it() {
        let mut block = BlockBuilder::new(16);
        (0..20u8).for_each(|n| block.add(&[n; 8], &[7; 36]));
        let cut = |target: usize, deviation: usize| block.is_full_before(&[20; 8], &[7; 36], target, deviation);
        let now = block.bytes();
        let target = now + 40;
        assert!((950..1000).contains(&now), "{now}");
        assert!(cut(target, 10), "it lacks 4%, and the next entry takes more");
        assert!(!cut(target, 3), "it lacks 4%");
        assert!(!cut(target, 0), "nothing is left empty");
        assert!(!cut(target + 60, 10), "the next entry fits");
        assert!(cut(now, 0), "it is full");
    }
}

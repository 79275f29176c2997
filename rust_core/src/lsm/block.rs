//! Blocks of sorted entries with prefix compression: `[varint shared][varint unshared][varint value length][unshared key
//! bytes][value]…[restart offsets, 4 bytes each][restart count, 4 bytes]`, as RocksDB writes them.

use super::key::{TRAILER_BYTES, compare, compare_bytes, split};
use super::prefetch::prefetch_byte;
use crate::codec::varint;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a cache line, and the lines that a lookup asks for ahead of the entry that it looks at.
const LINE_BYTES: usize = 64;
const AHEAD_LINES: usize = 8;

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

    /// Whether the block is to be cut before this entry: it has reached `target`, or it is over 90% full and RocksDB's
    /// estimate of the block with the entry, which counts the whole key, exceeds the target.
    pub fn is_full_before(&self, key: &[u8], value: &[u8], target: usize) -> bool {
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
        after > target && now > (target * 90).div_ceil(100)
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

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let (chunks_a, chunks_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let equal = chunks_a.zip(chunks_b).take_while(|(a, b)| a == b).count() * 8;
    equal + a[equal..].iter().zip(&b[equal..]).take_while(|(a, b)| a == b).count()
}

/// A block that was read and checked.
#[derive(Debug)]
pub struct Block {
    data: Vec<u8>,
    /// End of the entries.
    end: usize,
    restarts: usize,
}

/// One entry, still prefix-compressed.
#[derive(Debug, Clone, Copy)]
struct Entry {
    shared: usize,
    key_start: usize,
    value_start: usize,
    value_end: usize,
}

impl Block {
    /// Checks the form of a block; `None` if it is not one.
    pub fn decode(data: Vec<u8>) -> Option<Self> {
        let count = u32::from_le_bytes(*data.last_chunk::<4>()?) as usize;
        let end = data.len().checked_sub(4)?.checked_sub(count.checked_mul(4)?)?;
        (count > 0).then_some(Self { data, end, restarts: count })
    }

    /// Bytes of memory in use.
    pub fn memory_bytes(&self) -> usize {
        self.data.capacity() + size_of::<Self>()
    }

    /// Addresses of the restart points and of the entry that a search looks at first, to be prefetched.
    pub fn search_begins_at(&self) -> [usize; 2] {
        let address = |at: usize| self.data.as_ptr().wrapping_add(at).addr();
        [address(self.end), address(self.restart(self.restarts / 2))]
    }

    #[inline]
    fn restart(&self, n: usize) -> usize {
        let at = self.end + 4 * n;
        self.data
            .get(at..)
            .and_then(|rest| rest.first_chunk::<4>())
            .map_or(self.end, |at| u32::from_le_bytes(*at) as usize)
    }

    /// The entry at an offset; `None` at the end, or where the bytes are no entry.
    #[inline]
    fn entry(&self, at: usize) -> Option<Entry> {
        let entries = self.data.get(..self.end)?;
        let (shared, unshared, value_len, key_start) = match entries.get(at..)? {
            [shared, unshared, value_len, ..] if (shared | unshared | value_len) < 0x80 => {
                (*shared as usize, *unshared as usize, *value_len as usize, at + 3)
            }
            rest => {
                let (shared, rest) = varint::take_u32(rest)?;
                let (unshared, rest) = varint::take_u32(rest)?;
                let (value_len, rest) = varint::take_u32(rest)?;
                (shared as usize, unshared as usize, value_len as usize, self.end - rest.len())
            }
        };
        let value_start = key_start + unshared;
        let value_end = value_start + value_len;
        (value_end <= self.end).then_some(Entry { shared, key_start, value_start, value_end })
    }

    /// The internal key at a restart point, which is stored whole.
    #[inline]
    fn restart_key(&self, n: usize) -> &[u8] {
        self.entry(self.restart(n)).map_or(&[], |entry| &self.data[entry.key_start..entry.value_start])
    }

    /// The last restart point whose key is before an internal key, or the first one.
    #[inline]
    fn restart_before(&self, user_key: &[u8], trailer: u64) -> usize {
        let (mut low, mut high) = (0, self.restarts);
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            let (found, found_trailer) = split(self.restart_key(middle));
            let order = compare_bytes(found, user_key).then_with(|| trailer.cmp(&found_trailer));
            if order == Ordering::Less {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Finds the newest entry of a user key that is at or behind `trailer` in the order of internal keys: its own trailer
    /// and its value. `steps` counts the entries that were looked at.
    ///
    /// Keys are not put together on the way. While the entries are before the wanted key, only the number of bytes that
    /// the last one has in common with it is kept: an entry that shares more with its predecessor than that is before the
    /// wanted key too, one that shares less is behind it, and only one that shares exactly as much must be compared.
    #[inline]
    pub fn find(&self, user_key: &[u8], trailer: u64, steps: &mut u64) -> Option<(u64, &[u8])> {
        let mut at = self.restart(self.restart_before(user_key, trailer));
        (1..AHEAD_LINES).for_each(|line| prefetch_byte(&self.data, at + line * LINE_BYTES));
        let (mut matched, mut before_len) = (0, usize::MAX);
        loop {
            let entry = self.entry(at)?;
            prefetch_byte(&self.data, entry.value_end + (AHEAD_LINES - 1) * LINE_BYTES);
            prefetch_byte(&self.data, entry.value_end + AHEAD_LINES * LINE_BYTES);
            *steps += 1;
            let len = entry.shared + (entry.value_start - entry.key_start);
            let user_len = len.checked_sub(TRAILER_BYTES)?;
            if entry.shared > before_len || entry.shared > user_len {
                return self.find_slowly(user_key, trailer, steps);
            }
            if entry.shared == 0 {
                // A restart point stores its key whole, whatever it has in common with the one before.
                matched = 0;
            }
            if entry.shared < matched {
                return None;
            }
            if entry.shared == matched {
                let own = &self.data[entry.key_start..entry.value_start - TRAILER_BYTES];
                let wanted = &user_key[matched..];
                let common = common_prefix(own, wanted);
                match (own.get(common), wanted.get(common)) {
                    (None, None) => {
                        let (_, found) = split(&self.data[entry.key_start..entry.value_start]);
                        if found > trailer {
                            return self.find_slowly(user_key, trailer, steps);
                        }
                        return Some((found, &self.data[entry.value_start..entry.value_end]));
                    }
                    (None, Some(_)) => {}
                    (Some(own), Some(wanted)) if own < wanted => {}
                    _ => return None,
                }
                matched += common;
            }
            before_len = user_len;
            at = entry.value_end;
        }
    }

    /// As [`Block::find`], for blocks in which a key shares bytes with the trailer of another one, or a user key has more
    /// than one entry.
    #[cold]
    fn find_slowly(&self, user_key: &[u8], trailer: u64, steps: &mut u64) -> Option<(u64, &[u8])> {
        let mut at = self.restart(self.restart_before(user_key, trailer));
        let mut key = Vec::new();
        loop {
            let entry = self.entry(at)?;
            *steps += 1;
            key.truncate(entry.shared);
            key.extend_from_slice(&self.data[entry.key_start..entry.value_start]);
            let (found, found_trailer) = split(&key);
            match compare_bytes(found, user_key).then_with(|| trailer.cmp(&found_trailer)) {
                Ordering::Less => at = entry.value_end,
                _ if found == user_key => return Some((found_trailer, &self.data[entry.value_start..entry.value_end])),
                _ => return None,
            }
        }
    }
}

/// A position in a block. Its key buffer is reused from block to block.
#[derive(Debug, Default)]
pub struct BlockCursor {
    block: Option<Arc<Block>>,
    key: Vec<u8>,
    value: Range<usize>,
    /// Offset of the current entry; only meaningful while `valid`.
    at: usize,
    /// The restart point at or before the current entry.
    restart: usize,
    valid: bool,
}

impl BlockCursor {
    /// Goes over to another block, unpositioned.
    pub fn set_block(&mut self, block: Arc<Block>) {
        self.block = Some(block);
        self.valid = false;
    }

    /// Gives up the block.
    pub fn clear(&mut self) {
        self.block = None;
        self.valid = false;
    }

    /// Reads the entry at `at` onto the key of the entry before it.
    #[inline]
    fn read(&mut self, at: usize) {
        self.valid = false;
        let Some(block) = &self.block else { return };
        let Some(entry) = block.entry(at) else { return };
        self.key.truncate(entry.shared);
        self.key.extend_from_slice(&block.data[entry.key_start..entry.value_start]);
        self.value = entry.value_start..entry.value_end;
        self.at = at;
        self.valid = true;
    }

    fn read_restart(&mut self, n: usize) {
        let Some(block) = &self.block else { return };
        let at = block.restart(n);
        self.restart = n;
        self.key.clear();
        self.read(at);
    }

    /// Moves to the first entry.
    pub fn seek_to_first(&mut self) {
        self.read_restart(0);
    }

    /// Moves to the last entry.
    pub fn seek_to_last(&mut self) {
        let Some(block) = &self.block else { return };
        let (restarts, end) = (block.restarts, block.end);
        self.read_restart(restarts - 1);
        while self.valid && self.value.end < end {
            self.read(self.value.end);
        }
    }

    /// Moves to the first entry at or behind an internal key; invalid if there is none. Returns the entries looked at.
    pub fn seek(&mut self, internal: &[u8]) -> u64 {
        let Some(block) = &self.block else { return 0 };
        let (user_key, trailer) = split(internal);
        let restart = block.restart_before(user_key, trailer);
        self.read_restart(restart);
        let mut steps = 1;
        while self.valid && compare(&self.key, internal) == Ordering::Less {
            self.read(self.value.end);
            steps += 1;
        }
        steps
    }

    /// Moves to the next entry.
    #[inline]
    pub fn next(&mut self) {
        self.read(self.value.end);
    }

    /// Moves to the previous entry: forward from the restart point before it.
    pub fn prev(&mut self) -> u64 {
        let (Some(block), stop) = (&self.block, self.at) else { return 0 };
        let mut restart = self.restart;
        // `next` does not keep `restart` up to date, so look for the last restart point before the entry.
        while restart + 1 < block.restarts && block.restart(restart + 1) < stop {
            restart += 1;
        }
        while restart > 0 && block.restart(restart) >= stop {
            restart -= 1;
        }
        if block.restart(restart) >= stop {
            self.valid = false;
            return 0;
        }
        self.read_restart(restart);
        let mut steps = 1;
        while self.valid && self.value.end < stop {
            self.read(self.value.end);
            steps += 1;
        }
        steps
    }

    /// Whether there is a current entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.valid
    }

    /// The current internal key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The current value.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.block.as_ref().map_or(&[], |block| &block.data[self.value.clone()])
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::{Kind, encode, trailer};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Model = BTreeMap<(Vec<u8>, u64), Vec<u8>>;

    /// User keys and sequences, newest first, with values.
    fn model() -> impl Strategy<Value = Model> {
        let key = proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(2)], 0..12);
        let value = proptest::collection::vec(any::<u8>(), 0..200);
        proptest::collection::btree_map((key, (0u64..4).prop_map(|n| u64::MAX - n)), value, 1..60)
    }

    fn internal(user_key: &[u8], reversed: u64) -> Vec<u8> {
        let mut out = Vec::new();
        encode(user_key, trailer(u64::MAX - reversed, Kind::Put), &mut out);
        out
    }

    fn block_of(model: &Model, interval: usize) -> Arc<Block> {
        let mut builder = BlockBuilder::new(interval);
        for ((user_key, reversed), value) in model {
            builder.add(&internal(user_key, *reversed), value);
        }
        let expected = builder.bytes();
        builder.finish(|bytes| {
            assert_eq!(bytes.len(), expected);
            Arc::new(Block::decode(bytes.to_vec()).unwrap())
        })
    }

    // Within a user key the model is keyed by `u64::MAX - sequence`, so its order is that of internal keys.
    proptest! {
        #[test]
        fn lookups_agree_with_a_map(model in model(), interval in 1usize..6, sequence in 0u64..5) {
            let block = block_of(&model, interval);
            let wanted = model.keys().map(|(key, _)| key.clone()).chain([vec![], vec![1, 1], vec![9]]);
            for key in wanted {
                let expected = model
                    .range((key.clone(), u64::MAX - sequence)..)
                    .next()
                    .filter(|((found, _), _)| *found == key)
                    .map(|((_, reversed), value)| (trailer(u64::MAX - reversed, Kind::Put), &value[..]));
                let found = block.find(&key, trailer(sequence, Kind::Put), &mut 0);
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn cursors_walk_both_ways(model in model(), interval in 1usize..6) {
            let mut cursor = BlockCursor::default();
            cursor.set_block(block_of(&model, interval));
            let entries = model
                .iter()
                .map(|((key, reversed), value)| (internal(key, *reversed), value.clone()))
                .collect::<Vec<_>>();
            cursor.seek_to_first();
            for (key, value) in &entries {
                prop_assert!(cursor.valid());
                prop_assert_eq!((cursor.key(), cursor.value()), (&key[..], &value[..]));
                cursor.next();
            }
            prop_assert!(!cursor.valid());
            cursor.seek_to_last();
            for (key, value) in entries.iter().rev() {
                prop_assert!(cursor.valid());
                prop_assert_eq!((cursor.key(), cursor.value()), (&key[..], &value[..]));
                cursor.prev();
            }
            prop_assert!(!cursor.valid());
            for (n, (key, _)) in entries.iter().enumerate() {
                cursor.seek(key);
                prop_assert_eq!(cursor.key(), &key[..]);
                cursor.prev();
                prop_assert_eq!(cursor.valid().then(|| cursor.key()), n.checked_sub(1).map(|n| &entries[n].0[..]));
            }
        }
    }

    #[test]
    fn bytes_that_are_no_block_are_refused_or_read_as_empty() {
        assert!(Block::decode(vec![]).is_none());
        assert!(Block::decode(vec![0; 4]).is_none());
        assert!(Block::decode(vec![0xff; 8]).is_none());
        let block = Block::decode([vec![0xff; 20], vec![0; 4], vec![1, 0, 0, 0]].concat()).unwrap();
        assert_eq!(block.find(b"k", u64::MAX, &mut 0), None);
    }
}

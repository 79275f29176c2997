//! A position in a block.

use super::block::Block;
use crate::lsm::keys::key::{compare, split};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

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

    /// Comparisons that the search among the restart points of the current block takes.
    #[inline]
    pub fn search_steps(&self) -> u64 {
        self.block.as_ref().map_or(0, |block| block.search_steps())
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
    use super::super::block_builder::BlockBuilder;
    use super::*;
    use crate::lsm::keys::key::{Kind, encode, trailer};
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

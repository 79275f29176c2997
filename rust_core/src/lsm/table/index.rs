//! The index of a table: for each data block a key that is at least its last and below the next block's first. On
//! storage it has RocksDB's form (user keys, restart interval 1, handles as two varints); in memory it is an array that
//! is searched by number.

use super::format::{BLOCK_TRAILER_BYTES, Handle};
use crate::codec::varint;
use crate::lsm::keys::SortedKeys;

/// Writes the index block.
#[derive(Debug, Default)]
pub struct IndexBuilder {
    block: Vec<u8>,
    restarts: Vec<u32>,
}

impl IndexBuilder {
    /// Adds a data block behind all others.
    pub fn add(&mut self, separator: &[u8], handle: Handle) {
        self.restarts.push(self.block.len() as u32);
        self.block.push(0);
        varint::push_u32(&mut self.block, separator.len() as u32);
        self.block.extend_from_slice(separator);
        varint::push_u64(&mut self.block, handle.offset);
        varint::push_u64(&mut self.block, handle.bytes);
    }

    /// The index block.
    pub fn finish(mut self) -> Vec<u8> {
        for restart in &self.restarts {
            self.block.extend_from_slice(&restart.to_le_bytes());
        }
        self.block.extend_from_slice(&(self.restarts.len() as u32).to_le_bytes());
        self.block
    }
}

/// An index that was read.
#[derive(Debug)]
pub struct Index {
    separators: SortedKeys,
    /// Where each block begins, and the end of the last one's trailer.
    offsets: Vec<u64>,
    stored_bytes: usize,
}

impl Index {
    /// Reads an index block; `None` if it is not one, or if its blocks do not lie back to back from the start of the
    /// file.
    pub fn decode(block: &[u8]) -> Option<Self> {
        let (rest, count) = block.split_last_chunk::<4>()?;
        let stored_bytes = block.len();
        let count = u32::from_le_bytes(*count) as usize;
        let mut rest = rest.get(..rest.len().checked_sub(count.checked_mul(4)?)?)?;
        let mut separators = Vec::new();
        let mut offsets = vec![0];
        for _ in 0..count {
            let [0, tail @ ..] = rest else { return None };
            let (separator, tail) = varint::take_slice(tail)?;
            let (offset, tail) = varint::take_u64(tail)?;
            let (bytes, tail) = varint::take_u64(tail)?;
            if offsets.last() != Some(&offset) || separators.last().is_some_and(|last| *last > separator) {
                return None;
            }
            separators.push(separator);
            offsets.push(offset.checked_add(bytes)?.checked_add(BLOCK_TRAILER_BYTES)?);
            rest = tail;
        }
        offsets.shrink_to_fit();
        let separators = SortedKeys::from_sorted(separators.into_iter());
        rest.is_empty().then_some(Self { separators, offsets, stored_bytes })
    }

    /// Number of data blocks.
    #[inline]
    pub fn blocks(&self) -> usize {
        self.separators.len()
    }

    /// The first block that may hold keys at or after a user key; `blocks()` if there is none.
    #[inline]
    pub fn find(&self, user_key: &[u8]) -> usize {
        self.separators.lower_bound(user_key)
    }

    /// The separator behind a block.
    pub fn separator(&self, block: usize) -> &[u8] {
        self.separators.key(block)
    }

    /// Where a block lies.
    #[inline]
    pub fn handle(&self, block: usize) -> Handle {
        let (offset, end) = (self.offsets[block], self.offsets[block + 1]);
        Handle { offset, bytes: end - offset - BLOCK_TRAILER_BYTES }
    }

    /// End of the data blocks.
    pub fn data_end(&self) -> u64 {
        self.offsets.last().copied().unwrap_or(0)
    }

    /// Bytes of memory that RocksDB takes for it, which keeps the block as it is stored
    /// (`Block::ApproximateMemoryUsage`). The arrays here take up to twice as many.
    pub fn memory_bytes(&self) -> usize {
        self.stored_bytes + size_of::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_comes_back_as_it_was_written() {
        let mut builder = IndexBuilder::default();
        let handles = [(0, 100), (105, 4000), (4110, 7)].map(|(offset, bytes)| Handle { offset, bytes });
        for (separator, handle) in [&b"b"[..], b"cc", b"x"].into_iter().zip(handles) {
            builder.add(separator, handle);
        }
        let block = builder.finish();
        assert_eq!(block.len(), [1, 2, 1].map(|key| 2 + key + 4).iter().sum::<usize>() + 1 + 1 + 1 + 2 + 2 + 1 + 4);
        let index = Index::decode(&block).unwrap();
        assert_eq!(handles.map(|handle| handle.bytes), [0, 1, 2].map(|n| index.handle(n).bytes));
        let found = [&b"a"[..], b"b", b"ba", b"cc", b"d", b"y"].map(|key| index.find(key));
        assert_eq!(found, [0, 0, 1, 1, 2, 3]);
    }

    #[test]
    fn an_index_takes_the_memory_of_its_block() {
        let mut builder = IndexBuilder::default();
        let key = |n: u64| [&b"user"[..], &n.to_be_bytes()].concat();
        (0..10_000).for_each(|n| builder.add(&key(n), Handle { offset: n * 4096, bytes: 4091 }));
        let block = builder.finish();
        let beside = Index::decode(&block).unwrap().memory_bytes() - block.len();
        assert!(beside <= 256, "{beside}");
    }

    #[test]
    fn blocks_that_leave_gaps_are_refused() {
        let mut builder = IndexBuilder::default();
        builder.add(b"a", Handle { offset: 0, bytes: 10 });
        builder.add(b"b", Handle { offset: 16, bytes: 10 });
        assert!(Index::decode(&builder.finish()).is_none());
    }
}

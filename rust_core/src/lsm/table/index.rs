//! The index of a table: for each data block a key that is at least its last and below the next block's first. On
//! storage it has RocksDB's form (restart interval 1, handles as two varints; whether keys have their trailers and
//! entries the lengths of their handles depends on `format_version`); in memory it is an array that is searched by
//! number.

use super::format::{BLOCK_TRAILER_BYTES, Handle};
use crate::codec::varint;
use crate::lsm::keys::{SortedKeys, key};

/// What the entries of an index block have beside a user key and a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexForm {
    /// Each key has its trailer.
    has_trailers: bool,
    /// Each handle has its length before it.
    has_lengths: bool,
}

impl IndexForm {
    /// That of a table with this `format_version` (RocksDB's `BlockBasedTableOptions`: "3 -- ... changes the way we
    /// encode the keys in index blocks", "4 -- ... the values").
    pub fn of(format_version: u32) -> Self {
        Self { has_trailers: format_version < 3, has_lengths: format_version < 4 }
    }
}

/// Writes the index block.
#[derive(Debug)]
pub struct IndexBuilder {
    form: IndexForm,
    block: Vec<u8>,
    restarts: Vec<u32>,
}

impl IndexBuilder {
    /// Begins an index of this form.
    pub fn new(form: IndexForm) -> Self {
        Self { form, block: Vec::new(), restarts: Vec::new() }
    }

    /// Adds a data block behind all others. `trailer` belongs to the separator.
    pub fn add(&mut self, separator: &[u8], trailer: u64, handle: Handle) {
        self.restarts.push(self.block.len() as u32);
        self.block.push(0);
        let trailer_bytes = if self.form.has_trailers { key::TRAILER_BYTES } else { 0 };
        varint::push_u32(&mut self.block, (separator.len() + trailer_bytes) as u32);
        if self.form.has_lengths {
            self.block.push((varint::len_u64(handle.offset) + varint::len_u64(handle.bytes)) as u8);
        }
        self.block.extend_from_slice(separator);
        self.block.extend_from_slice(&trailer.to_le_bytes()[..trailer_bytes]);
        handle.push(&mut self.block);
    }

    /// The index block, after which it is empty.
    pub fn finish(&mut self) -> Vec<u8> {
        let (mut block, restarts) = (std::mem::take(&mut self.block), std::mem::take(&mut self.restarts));
        for restart in &restarts {
            block.extend_from_slice(&restart.to_le_bytes());
        }
        block.extend_from_slice(&(restarts.len() as u32).to_le_bytes());
        block
    }
}

/// An index that was read.
#[derive(Debug)]
pub struct Index {
    separators: SortedKeys,
    /// Where each block begins, and the end of the last one's trailer.
    offsets: Vec<u64>,
    stored_bytes: usize,
    /// How its block is written.
    pub form: IndexForm,
}

impl Index {
    /// Reads an index block of this form; `None` if it is not one, or if its blocks do not lie back to back from the
    /// start of the file.
    pub fn decode(block: &[u8], form: IndexForm) -> Option<Self> {
        let (rest, count) = block.split_last_chunk::<4>()?;
        let stored_bytes = block.len();
        let count = u32::from_le_bytes(*count) as usize;
        let mut rest = rest.get(..rest.len().checked_sub(count.checked_mul(4)?)?)?;
        let mut separators = Vec::new();
        let mut offsets = vec![0];
        for _ in 0..count {
            let [0, tail @ ..] = rest else { return None };
            let (key_bytes, tail) = varint::take_u32(tail)?;
            let (handle_bytes, tail) = if form.has_lengths { tail.split_first()? } else { (&0, tail) };
            let (separator, tail) = tail.split_at_checked(key_bytes as usize)?;
            let separator =
                if form.has_trailers { separator.split_last_chunk::<{ key::TRAILER_BYTES }>()?.0 } else { separator };
            let (handle, behind) = Handle::take(tail)?;
            let has_length = !form.has_lengths || tail.len() - behind.len() == usize::from(*handle_bytes);
            let follows = offsets.last() == Some(&handle.offset);
            if !has_length || !follows || separators.last().is_some_and(|last| *last > separator) {
                return None;
            }
            separators.push(separator);
            offsets.push(handle.offset.checked_add(handle.bytes)?.checked_add(BLOCK_TRAILER_BYTES)?);
            rest = behind;
        }
        offsets.shrink_to_fit();
        let separators = SortedKeys::from_sorted(separators.into_iter());
        rest.is_empty().then_some(Self { separators, offsets, stored_bytes, form })
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
        let handles = [(0, 100), (105, 4000), (4110, 7)].map(|(offset, bytes)| Handle { offset, bytes });
        for (format_version, beside) in [(2, 9), (3, 1), (4, 0)] {
            let form = IndexForm::of(format_version);
            let mut builder = IndexBuilder::new(form);
            for (separator, handle) in [&b"b"[..], b"cc", b"x"].into_iter().zip(handles) {
                builder.add(separator, key::seek_trailer(7), handle);
            }
            let block = builder.finish();
            let handles_bytes = 1 + 1 + 1 + 2 + 2 + 1;
            let expected = [1, 2, 1].map(|key| 2 + key + 4 + beside).iter().sum::<usize>() + handles_bytes + 4;
            assert_eq!(block.len(), expected);
            let index = Index::decode(&block, form).unwrap();
            assert_eq!(handles.map(|handle| handle.bytes), [0, 1, 2].map(|n| index.handle(n).bytes));
            let found = [&b"a"[..], b"b", b"ba", b"cc", b"d", b"y"].map(|key| index.find(key));
            assert_eq!(found, [0, 0, 1, 1, 2, 3]);
        }
    }

    #[test]
    fn an_index_takes_the_memory_of_its_block() {
        let form = IndexForm::of(6);
        let mut builder = IndexBuilder::new(form);
        let key = |n: u64| [&b"user"[..], &n.to_be_bytes()].concat();
        (0..10_000).for_each(|n| builder.add(&key(n), 0, Handle { offset: n * 4096, bytes: 4091 }));
        let block = builder.finish();
        let beside = Index::decode(&block, form).unwrap().memory_bytes() - block.len();
        assert!(beside <= 256, "{beside}");
    }

    #[test]
    fn blocks_that_leave_gaps_are_refused() {
        let mut builder = IndexBuilder::new(IndexForm::of(6));
        builder.add(b"a", 0, Handle { offset: 0, bytes: 10 });
        builder.add(b"b", 0, Handle { offset: 16, bytes: 10 });
        assert!(Index::decode(&builder.finish(), IndexForm::of(6)).is_none());
    }
}

//! Blocks of one table that are read ahead, in one piece, once they follow one another: RocksDB's `FilePrefetchBuffer`.

use super::block::Block;
use super::format::{BLOCK_TRAILER_BYTES, Handle};
use super::reader::TableReader;
use crate::cost::Work;
use crate::error::Result;
use crate::metrics::Purpose;
use crate::task::Task;
use std::sync::Arc;

/// First and largest read ahead of a scan, and the blocks in a row that start it (RocksDB's automatic readahead).
const FIRST_READAHEAD: u64 = 8 << 10;
const MAX_READAHEAD: u64 = 256 << 10;
const READS_BEFORE_READAHEAD: u32 = 2;

/// Stored bytes that were read in one piece.
#[derive(Debug, Default)]
pub struct FilePrefetchBuffer {
    bytes: Vec<u8>,
    start: u64,
    /// Where the block behind the last one begins.
    next: u64,
    in_a_row: u32,
    size: u64,
}

impl FilePrefetchBuffer {
    /// Forgets what was read, and that blocks followed one another.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.in_a_row = 0;
        self.next = u64::MAX;
    }

    /// Takes note of a block that is asked for, which follows the last one or begins another row.
    pub fn note(&mut self, handle: Handle) {
        if handle.offset == self.next {
            self.in_a_row += 1;
        } else {
            self.in_a_row = 1;
            self.size = FIRST_READAHEAD;
        }
        self.next = handle.end();
    }

    fn holds(&self, handle: Handle) -> bool {
        handle.offset >= self.start && handle.end() <= self.start + self.bytes.len() as u64
    }

    /// Reads a block that the cache lacks, and more behind it when the last blocks followed one another.
    pub fn client_block(
        &mut self,
        task: &mut Task,
        table: &TableReader,
        handle: Handle,
        end: u64,
    ) -> Result<Arc<Block>> {
        if self.in_a_row <= READS_BEFORE_READAHEAD && !self.holds(handle) {
            return table.read_data_block(task, Purpose::UserRead, handle);
        }
        let size = self.size;
        if !self.holds(handle) {
            self.size = (size * 2).min(MAX_READAHEAD);
        }
        self.fetch(task, table, handle, Purpose::ReadAhead, size, end)
    }

    /// A block from the bytes that were read ahead, which are read anew if they lack it.
    pub fn fetch(
        &mut self,
        task: &mut Task,
        table: &TableReader,
        handle: Handle,
        purpose: Purpose,
        size: u64,
        end: u64,
    ) -> Result<Arc<Block>> {
        let len = (handle.bytes + BLOCK_TRAILER_BYTES) as usize;
        if !self.holds(handle) {
            let bytes = size.max(len as u64).min(end.saturating_sub(handle.offset)).max(len as u64);
            self.bytes.resize(bytes as usize, 0);
            self.start = handle.offset;
            if let Err(error) = table.read_stored(task, purpose, handle.offset, &mut self.bytes) {
                self.bytes.clear();
                return Err(error);
            }
        }
        let from = (handle.offset - self.start) as usize;
        task.charge(Work::CopyByte, len as u64);
        table.data_block_in(task, handle, &self.bytes[from..from + len])
    }
}

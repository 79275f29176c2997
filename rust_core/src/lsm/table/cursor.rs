//! A position in a table: an index position and a position in the data block there. Blocks that follow one another are
//! read ahead.

use super::block_cursor::BlockCursor;
use super::index::Index;
use super::prefetch_buffer::FilePrefetchBuffer;
use super::reader::TableReader;
use crate::cost::Work;
use crate::error::Result;
use crate::lsm::keys::key;
use crate::metrics::Purpose;
use crate::task::Task;
use std::sync::Arc;

/// How the blocks of a table are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// For a client: through the cache, reading ahead once the blocks follow one another.
    Client,
    /// For a compaction into `level`: past the cache, `bytes` at a time.
    Compaction {
        /// Output level.
        level: u8,
        /// Bytes of one read.
        bytes: u64,
    },
}

/// A position in a table.
pub struct TableCursor {
    access: Access,
    table: Option<Arc<TableReader>>,
    index: Option<Arc<Index>>,
    at: usize,
    /// Offset of the block that the block cursor holds; a seek into the same block does not fetch it again.
    loaded: Option<usize>,
    block: BlockCursor,
    prefetched: FilePrefetchBuffer,
}

impl TableCursor {
    /// A cursor without a table.
    pub fn new(access: Access) -> Self {
        Self {
            access,
            table: None,
            index: None,
            at: 0,
            loaded: None,
            block: BlockCursor::default(),
            prefetched: FilePrefetchBuffer::default(),
        }
    }

    /// Goes over to a table, unpositioned.
    pub fn set_table(&mut self, task: &mut Task, table: &Arc<TableReader>) -> Result<()> {
        if self.table.as_ref().is_some_and(|own| Arc::ptr_eq(own, table)) {
            return Ok(());
        }
        self.clear();
        let purpose = match self.access {
            Access::Client => Purpose::UserRead,
            Access::Compaction { level, .. } => Purpose::Compaction { level },
        };
        self.index = Some(table.shared_index(task, purpose)?);
        self.table = Some(table.clone());
        Ok(())
    }

    /// Gives up the table.
    pub fn clear(&mut self) {
        self.table = None;
        self.index = None;
        self.loaded = None;
        self.block.clear();
        self.prefetched.clear();
    }

    fn blocks(&self) -> usize {
        self.index.as_ref().map_or(0, |index| index.blocks())
    }

    /// Makes block `at` the current one; past the last block the cursor is invalid.
    fn load(&mut self, task: &mut Task, at: usize) -> Result<bool> {
        self.at = at;
        if self.loaded == Some(at) {
            return Ok(true);
        }
        self.loaded = None;
        self.block.clear();
        let (Some(table), Some(index)) = (&self.table, &self.index) else { return Ok(false) };
        if at >= index.blocks() {
            return Ok(false);
        }
        let handle = index.handle(at);
        let block = match self.access {
            Access::Client => {
                self.prefetched.note(handle);
                if let Some(block) = table.cached_block(task, handle) {
                    block
                } else {
                    let block = self.prefetched.client_block(task, table, handle, index.data_end())?;
                    table.cache_block(task, handle, &block);
                    block
                }
            }
            Access::Compaction { level, bytes } => {
                task.blocks_asked += 1;
                let purpose = Purpose::Compaction { level };
                self.prefetched.fetch(task, table, handle, purpose, bytes, index.data_end())?
            }
        };
        self.block.set_block(block);
        self.loaded = Some(at);
        Ok(true)
    }

    /// Moves to the first entry.
    pub fn seek_to_first(&mut self, task: &mut Task) -> Result<()> {
        if self.load(task, 0)? {
            self.block.seek_to_first();
        }
        Ok(())
    }

    /// Moves to the last entry.
    pub fn seek_to_last(&mut self, task: &mut Task) -> Result<()> {
        if let Some(last) = self.blocks().checked_sub(1)
            && self.load(task, last)?
        {
            self.block.seek_to_last();
        }
        Ok(())
    }

    /// Moves to the first entry at or behind an internal key.
    pub fn seek(&mut self, task: &mut Task, internal: &[u8]) -> Result<()> {
        let at = self.find(task, internal);
        if !self.load(task, at)? {
            return Ok(());
        }
        self.search(task, internal);
        if !self.block.valid() && self.load(task, at + 1)? {
            self.block.seek_to_first();
        }
        Ok(())
    }

    /// Moves to the last entry before an internal key.
    pub fn seek_before(&mut self, task: &mut Task, internal: &[u8]) -> Result<()> {
        let at = self.find(task, internal);
        if at >= self.blocks() {
            return self.seek_to_last(task);
        }
        if !self.load(task, at)? {
            return Ok(());
        }
        self.search(task, internal);
        if self.block.valid() {
            return self.prev(task);
        }
        self.block.seek_to_last();
        Ok(())
    }

    /// Finds the first entry of the current block at or behind an internal key.
    fn search(&mut self, task: &mut Task, internal: &[u8]) {
        let entries = self.block.seek(internal);
        task.charge(Work::Record, entries);
        if let Some(table) = &self.table {
            table.charge_search(task, self.block.search_steps(), entries);
        }
    }

    fn find(&self, task: &mut Task, internal: &[u8]) -> usize {
        let Some(index) = &self.index else { return 0 };
        let steps = u64::from(index.blocks().max(2).ilog2());
        task.charge(Work::Compare, steps);
        if let Some(table) = &self.table {
            table.charge_misses(task, steps);
        }
        index.find(key::user_key(internal))
    }

    /// Moves to the next entry.
    #[inline]
    pub fn next(&mut self, task: &mut Task) -> Result<()> {
        self.block.next();
        if !self.block.valid() && self.load(task, self.at + 1)? {
            self.block.seek_to_first();
        }
        Ok(())
    }

    /// Moves to the previous entry.
    pub fn prev(&mut self, task: &mut Task) -> Result<()> {
        let steps = self.block.prev();
        task.charge(Work::Record, steps);
        if !self.block.valid()
            && let Some(before) = self.at.checked_sub(1)
            && self.load(task, before)?
        {
            self.block.seek_to_last();
        }
        Ok(())
    }

    /// Whether there is a current entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.block.valid()
    }

    /// The current internal key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.block.key()
    }

    /// The current value.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.block.value()
    }
}

//! Reads a table file. Its index and filter are in memory, or in the block cache if the options say so; data blocks
//! come from the cache.

use super::block::Block;
use super::block_cache::BlockCache;
use super::bloom::Filter;
use super::builder::BuiltTable;
use super::cache_shard::{BlockKey, Cached};
use super::format::{BLOCK_TRAILER_BYTES, FOOTER_BYTES, Footer, Handle, open_block, open_stored_block};
use super::index::{Index, IndexForm};
use super::kept_block::KeptBlock;
use super::properties::{Layout, Properties};
use crate::cost::Work;
use crate::error::{Error, Result};
use crate::lsm::keys::PrefixExtractor;
use crate::metrics::Purpose;
use crate::storage::StorageFile;
use crate::task::Task;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// What a lookup in a block cache of linked lists, such as RocksDB's, looks at: the lock of a shard, its lists, a
/// bucket, the entry on two lines, its two neighbours and the newest entry, the block's count of references, and the
/// number of restart points at its end. (The queues of `block_cache` look at four places less; that they cost as much
/// is an assumption.)
const LOOKUP_LINES: u64 = 10;

/// What all tables of an engine share.
pub struct TableContext {
    /// The block cache.
    pub cache: BlockCache,
    /// Prefix extractor of the options.
    pub prefix: Option<PrefixExtractor>,
    /// Its text, to be held against that of a table.
    pub prefix_text: String,
    /// Whether index and filter blocks live in the cache.
    pub cache_index_and_filter: bool,
    /// Whether those of level-0 files are kept in memory even then.
    pub pin_level0: bool,
    /// Filter questions answered `absent`.
    pub bloom_useful: AtomicU64,
    /// Filter questions answered `maybe present`.
    pub bloom_positive: AtomicU64,
    /// Filter questions answered `maybe present` for a key that was there.
    pub bloom_true_positive: AtomicU64,
}

/// A part of a table that is in memory for good, or is looked up in the cache, which may have evicted it. That of a
/// copy is at hand even then, for who pays for reading it.
pub(super) enum Part<T> {
    Resident(Arc<T>),
    OfCopy(Arc<T>, Handle),
    Cached(Handle),
}

impl<T> Part<T> {
    fn new(part: Arc<T>, handle: Handle, is_resident: bool, is_copy: bool) -> Self {
        match (is_resident, is_copy) {
            (true, _) => Self::Resident(part),
            (false, true) => Self::OfCopy(part, handle),
            (false, false) => Self::Cached(handle),
        }
    }

    fn resident(&self) -> Option<&T> {
        match self {
            Self::Resident(part) => Some(part),
            Self::OfCopy(..) | Self::Cached(_) => None,
        }
    }

    fn of_copy(&self) -> Option<(&Arc<T>, Handle)> {
        match self {
            Self::OfCopy(part, handle) => Some((part, *handle)),
            Self::Resident(_) | Self::Cached(_) => None,
        }
    }
}

/// A part while it is used.
pub enum CachableEntry<'a, T> {
    /// In memory for good.
    Resident(&'a T),
    /// Shared with the cache.
    Cached(Arc<T>),
}

impl<T> Deref for CachableEntry<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match self {
            Self::Resident(part) => part,
            Self::Cached(part) => part,
        }
    }
}

/// What enters the filter of a table and can be asked of it under the options of now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    WholeKey,
    Prefix,
    Nothing,
}

/// An open table file.
pub struct TableReader {
    pub(super) context: Arc<TableContext>,
    number: u64,
    name: String,
    pub(super) file: Arc<dyn StorageFile>,
    index: Part<Index>,
    index_form: IndexForm,
    pub(super) filter: Option<Part<Filter>>,
    pub(super) asks: Asks,
    pub(super) has_prefixes: bool,
}

impl Drop for TableReader {
    fn drop(&mut self) {
        let Some(parts) = self.context.cache.parts() else { return };
        if let Some((index, handle)) = self.index.of_copy() {
            parts.remove(self.key(handle), &Cached::Index(index.clone()));
        }
        if let Some((filter, handle)) = self.filter.as_ref().and_then(Part::of_copy) {
            parts.remove(self.key(handle), &Cached::Filter(filter.clone()));
        }
    }
}

/// The name of a table file.
pub fn table_name(number: u64) -> String {
    format!("{number:06}.sst")
}

impl TableReader {
    /// Takes over a table that was just written. Its index and filter are still in memory and are not read again, as
    /// RocksDB finds them in the page cache.
    pub fn from_built(context: Arc<TableContext>, number: u64, level: usize, built: BuiltTable) -> Self {
        let filter = built.filter.zip(built.layout.filter);
        Self::assemble(context, number, level, built.file, &built.properties, (built.index, built.layout.index), filter)
    }

    /// Opens a table file: its tail, from the end of the data blocks on, is read in one piece and checked.
    pub fn open(
        task: &mut Task,
        context: Arc<TableContext>,
        number: u64,
        level: usize,
        file: Arc<dyn StorageFile>,
        data_bytes: u64,
    ) -> Result<Self> {
        let name = table_name(number);
        let corrupt = |offset: u64, what: &str| Error::corruption(&*name, offset, what);
        let bytes = file.len();
        if data_bytes.checked_add(FOOTER_BYTES as u64).is_none_or(|least| least > bytes) {
            return Err(corrupt(bytes, "the file is too short"));
        }
        let mut tail = vec![0; (bytes - data_bytes) as usize];
        file.read_at(task, Purpose::Recovery, data_bytes, &mut tail)?;
        let read = |task: &mut Task, handle: Handle| {
            let stored = (handle.offset.checked_sub(data_bytes))
                .zip(handle.bytes.checked_add(BLOCK_TRAILER_BYTES))
                .and_then(|(start, len)| tail.get(start as usize..start.checked_add(len)? as usize))
                .ok_or_else(|| corrupt(handle.offset, "a handle points outside of the tail"))?;
            open_block(task, &name, handle.offset, stored.to_vec())
        };
        let (_, footer) = tail.split_at(tail.len() - FOOTER_BYTES);
        let Footer { metaindex, index, format_version } =
            Footer::decode(footer).ok_or_else(|| corrupt(bytes - FOOTER_BYTES as u64, "not a table footer"))?;
        let layout = Layout::decode_metaindex(read(task, metaindex)?, index)
            .ok_or_else(|| corrupt(metaindex.offset, "not a metaindex block"))?;
        let properties = Properties::decode(read(task, layout.properties)?)
            .ok_or_else(|| corrupt(layout.properties.offset, "not a properties block"))?;
        let index = Index::decode(&read(task, layout.index)?, IndexForm::of(format_version))
            .filter(|index| index.data_end() == data_bytes)
            .ok_or_else(|| corrupt(layout.index.offset, "not an index of the data blocks"))?;
        let filter = match layout.filter {
            Some(handle) => {
                let filter =
                    Filter::decode(read(task, handle)?).ok_or_else(|| corrupt(handle.offset, "not a filter"))?;
                Some((filter, handle))
            }
            None => None,
        };
        Ok(Self::assemble(context, number, level, file, &properties, (index, layout.index), filter))
    }

    fn assemble(
        context: Arc<TableContext>,
        number: u64,
        level: usize,
        file: Arc<dyn StorageFile>,
        properties: &Properties,
        (index, index_handle): (Index, Handle),
        filter: Option<(Filter, Handle)>,
    ) -> Self {
        let resident = !context.cache_index_and_filter || (level == 0 && context.pin_level0);
        let place = |handle: Handle, part: Cached| match (resident, context.cache.parts()) {
            (true, _) => {}
            (false, Some(parts)) => parts.add(BlockKey { file: number, offset: handle.offset }, &part),
            (false, None) => context.cache.insert(BlockKey { file: number, offset: handle.offset }, part),
        };
        let (index_form, index) = (index.form, Arc::new(index));
        place(index_handle, Cached::Index(index.clone()));
        let filter = filter.map(|(filter, handle)| {
            let filter = Arc::new(filter);
            place(handle, Cached::Filter(filter.clone()));
            (filter, handle)
        });
        let is_copy = context.cache.parts().is_some();
        let has_prefixes = context.prefix.is_some() && properties.prefix_extractor == context.prefix_text;
        Self {
            number,
            name: table_name(number),
            file,
            index: Part::new(index, index_handle, resident, is_copy),
            index_form,
            asks: match (properties.whole_key_filtering, has_prefixes) {
                (true, _) => Asks::WholeKey,
                (false, true) => Asks::Prefix,
                (false, false) => Asks::Nothing,
            },
            filter: filter.map(|(filter, handle)| Part::new(filter, handle, resident, is_copy)),
            has_prefixes,
            context,
        }
    }

    /// Bytes of the index and the filter beside the cache.
    pub fn resident_bytes(&self) -> u64 {
        let index = self.index.resident().map_or(0, Index::memory_bytes);
        let filter = self.filter.as_ref().and_then(Part::resident).map_or(0, Filter::memory_bytes);
        (index + filter) as u64
    }

    fn key(&self, handle: Handle) -> BlockKey {
        BlockKey { file: self.number, offset: handle.offset }
    }

    /// Pays for a lookup of a part of a copy, and for reading it where the cache of full size would not have it.
    fn look_up(&self, task: &mut Task, handle: Handle, purpose: Purpose, part: impl FnOnce() -> Cached) -> Result<()> {
        task.charge(Work::CacheLookup, 1);
        let (key, Some(parts)) = (self.key(handle), self.context.cache.parts()) else { return Ok(()) };
        if !parts.finds(key) {
            self.read_growing_block(task, handle, purpose)?;
            task.charge(Work::PageTouch, 1);
            parts.put_back(key, part());
        }
        Ok(())
    }

    /// The index.
    #[inline]
    pub fn index(&self, task: &mut Task, purpose: Purpose) -> Result<CachableEntry<'_, Index>> {
        match &self.index {
            Part::Resident(index) => Ok(CachableEntry::Resident(index)),
            Part::OfCopy(index, handle) => {
                self.look_up(task, *handle, purpose, || Cached::Index(index.clone()))?;
                Ok(CachableEntry::Resident(index))
            }
            Part::Cached(handle) => self.cached_index(task, *handle, purpose).map(CachableEntry::Cached),
        }
    }

    /// The index, to be kept while a cursor moves.
    pub fn shared_index(&self, task: &mut Task, purpose: Purpose) -> Result<Arc<Index>> {
        match &self.index {
            Part::Resident(index) => Ok(index.clone()),
            Part::OfCopy(index, handle) => {
                self.look_up(task, *handle, purpose, || Cached::Index(index.clone()))?;
                Ok(index.clone())
            }
            Part::Cached(handle) => self.cached_index(task, *handle, purpose),
        }
    }

    fn cached_index(&self, task: &mut Task, handle: Handle, purpose: Purpose) -> Result<Arc<Index>> {
        task.charge(Work::CacheLookup, 1);
        let key = self.key(handle);
        if let Some(Cached::Index(index)) = self.context.cache.get(key) {
            return Ok(index);
        }
        let block = self.read_growing_block(task, handle, purpose)?;
        let index = Index::decode(&block, self.index_form)
            .ok_or_else(|| Error::corruption(&*self.name, handle.offset, "not an index block"))?;
        let index = Arc::new(index);
        task.charge(Work::PageTouch, 1);
        self.context.cache.insert(key, Cached::Index(index.clone()));
        Ok(index)
    }

    #[inline]
    pub(super) fn filter(&self, task: &mut Task, purpose: Purpose) -> Result<Option<CachableEntry<'_, Filter>>> {
        match &self.filter {
            None => Ok(None),
            Some(Part::Resident(filter)) => Ok(Some(CachableEntry::Resident(filter))),
            Some(Part::OfCopy(filter, handle)) => {
                self.look_up(task, *handle, purpose, || Cached::Filter(filter.clone()))?;
                Ok(Some(CachableEntry::Resident(filter)))
            }
            Some(Part::Cached(handle)) => {
                self.cached_filter(task, *handle, purpose).map(|filter| Some(CachableEntry::Cached(filter)))
            }
        }
    }

    fn cached_filter(&self, task: &mut Task, handle: Handle, purpose: Purpose) -> Result<Arc<Filter>> {
        task.charge(Work::CacheLookup, 1);
        let key = self.key(handle);
        if let Some(Cached::Filter(filter)) = self.context.cache.get(key) {
            return Ok(filter);
        }
        let block = self.read_growing_block(task, handle, purpose)?;
        let filter =
            Filter::decode(block).ok_or_else(|| Error::corruption(&*self.name, handle.offset, "not a filter block"))?;
        let filter = Arc::new(filter);
        task.charge(Work::PageTouch, 1);
        self.context.cache.insert(key, Cached::Filter(filter.clone()));
        Ok(filter)
    }

    /// Reads, checks and decompresses a block that is the larger, the larger its file is. In a copy a client makes as
    /// many operations with each as at full size, and pays for one of full size; a job pays for what it reads.
    fn read_growing_block(&self, task: &mut Task, handle: Handle, purpose: Purpose) -> Result<Vec<u8>> {
        let mut stored = vec![0; (handle.bytes + BLOCK_TRAILER_BYTES) as usize];
        if purpose != Purpose::UserRead {
            self.file.read_at(task, purpose, handle.offset, &mut stored)?;
            return open_block(task, &self.name, handle.offset, stored);
        }
        self.file.read_growing(task, purpose, handle.offset, &mut stored)?;
        task.at_full_size(|task| open_block(task, &self.name, handle.offset, stored))
    }

    /// Reads a data block.
    pub fn read_data_block(&self, task: &mut Task, purpose: Purpose, handle: Handle) -> Result<Arc<Block>> {
        let stored_bytes = (handle.bytes + BLOCK_TRAILER_BYTES) as usize;
        if let Some(known) = KeptBlock::of(&*self.file, handle) {
            self.file.read_again(task, purpose, handle.offset, stored_bytes)?;
            return Ok(known.charged(task, stored_bytes));
        }
        let mut stored = vec![0; stored_bytes];
        self.file.read_at(task, purpose, handle.offset, &mut stored)?;
        self.decode_block(task, handle, stored)
    }

    /// A data block whose stored bytes, trailer included, were read before with others.
    pub fn data_block_in(&self, task: &mut Task, handle: Handle, stored: &[u8]) -> Result<Arc<Block>> {
        match KeptBlock::of(&*self.file, handle) {
            Some(known) => Ok(known.charged(task, stored.len())),
            None => self.decode_block(task, handle, stored.to_vec()),
        }
    }

    /// Reads stored bytes of data blocks, unchecked.
    pub fn read_stored(&self, task: &mut Task, purpose: Purpose, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.file.read_at(task, purpose, offset, buffer)
    }

    /// Checks and decodes a data block from its stored bytes, trailer included.
    fn decode_block(&self, task: &mut Task, handle: Handle, stored: Vec<u8>) -> Result<Arc<Block>> {
        let (contents, compression) = open_stored_block(task, &self.name, handle.offset, stored)?;
        let block =
            Block::decode(contents).ok_or_else(|| Error::corruption(&*self.name, handle.offset, "not a data block"))?;
        let block = Arc::new(block);
        KeptBlock::keep(&*self.file, handle, compression, &block);
        Ok(block)
    }

    /// A data block from the cache.
    #[inline]
    pub fn cached_block(&self, task: &mut Task, handle: Handle) -> Option<Arc<Block>> {
        task.blocks_asked += 1;
        task.charge(Work::CacheLookup, 1);
        self.charge_misses(task, LOOKUP_LINES);
        match self.context.cache.get(self.key(handle)) {
            Some(Cached::Data(block)) => Some(block),
            _ => None,
        }
    }

    /// Charges a search for a restart point in `steps`, and what it and the `entries` read from there miss of the
    /// caches.
    #[inline]
    pub fn charge_search(&self, task: &mut Task, steps: u64, entries: u64) {
        task.charge(Work::Compare, steps);
        // Each step looks at the number of an entry and at the entry; an entry of a hundred bytes lies on two lines.
        self.charge_misses(task, 2 * steps + 2 * entries);
    }

    /// Charges what a look at `lines` places among the cached blocks, or at what leads to them, misses of the
    /// processor's caches.
    #[inline]
    pub fn charge_misses(&self, task: &mut Task, lines: u64) {
        task.charge_misses(lines, self.context.cache.bytes());
    }

    /// Puts a data block into the cache.
    pub fn cache_block(&self, task: &mut Task, handle: Handle, block: &Arc<Block>) {
        task.charge(Work::PageTouch, 1);
        task.charge(Work::BlockFetch, 1);
        self.context.cache.insert(self.key(handle), Cached::Data(block.clone()));
    }
}

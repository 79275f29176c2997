//! Reads a table file. Its index and filter are in memory, or in the block cache if the options say so; data blocks come
//! from the cache.

use super::block::Block;
use super::bloom::{self, Filter};
use super::cache::{BlockCache, BlockKey, Cached};
use super::index::Index;
use super::key;
use super::memtable::Lookup;
use super::prefix::PrefixExtractor;
use super::table_builder::BuiltTable;
use super::table_format::{BLOCK_TRAILER_BYTES, FOOTER_BYTES, Handle, Layout, Properties, decode_footer, open_block};
use crate::cost::Work;
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::storage::StorageFile;
use crate::task::Task;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a lookup in a block cache of linked lists, such as RocksDB's, looks at: the lock of a shard, its lists, a bucket, the
/// entry on two lines, its two neighbours and the newest entry, the block's count of references, and the number of restart
/// points at its end. (The queues of [`super::cache`] look at four places less; that they cost as much is an assumption.)
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
    /// Whether the cache may evict them.
    pub evict_index_and_filter: bool,
    /// Filter questions answered `absent`.
    pub bloom_useful: AtomicU64,
    /// Filter questions answered `maybe present`.
    pub bloom_positive: AtomicU64,
    /// Filter questions answered `maybe present` for a key that was there.
    pub bloom_true_positive: AtomicU64,
}

/// A part of a table that is in memory for good, or is looked up in the cache, which may or may not evict it.
enum Part<T> {
    Resident(Arc<T>),
    Kept(Arc<T>),
    Cached(Handle),
}

impl<T> Part<T> {
    fn new(part: Arc<T>, handle: Handle, resident: bool, kept: bool) -> Self {
        match (resident, kept) {
            (true, _) => Self::Resident(part),
            (false, true) => Self::Kept(part),
            (false, false) => Self::Cached(handle),
        }
    }

    fn in_memory(&self) -> Option<&T> {
        match self {
            Self::Resident(part) | Self::Kept(part) => Some(part),
            Self::Cached(_) => None,
        }
    }
}

/// A part while it is used.
pub enum Held<'a, T> {
    /// In memory for good.
    Resident(&'a T),
    /// Shared with the cache.
    Shared(Arc<T>),
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match self {
            Self::Resident(part) => part,
            Self::Shared(part) => part,
        }
    }
}

/// What enters the filter of a table and can be asked of it under the options of now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    WholeKey,
    Prefix,
    Nothing,
}

/// A key that is looked up, with its filter hash once it is known.
pub struct LookupKey<'a> {
    /// The user key.
    pub user_key: &'a [u8],
    /// The trailer that sorts just before the newest visible entry.
    pub trailer: u64,
    whole_hash: Option<u64>,
}

impl<'a> LookupKey<'a> {
    /// The newest entry of a key at `sequence` is wanted.
    pub fn new(user_key: &'a [u8], sequence: u64) -> Self {
        Self { user_key, trailer: key::seek_trailer(sequence), whole_hash: None }
    }

    #[inline]
    fn whole_hash(&mut self) -> u64 {
        *self.whole_hash.get_or_insert_with(|| bloom::hash(self.user_key))
    }
}

/// An open table file.
pub struct Table {
    context: Arc<TableContext>,
    number: u64,
    name: String,
    file: Arc<dyn StorageFile>,
    index: Part<Index>,
    filter: Option<Part<Filter>>,
    asks: Asks,
    has_prefixes: bool,
}

impl Drop for Table {
    fn drop(&mut self) {
        if matches!(self.index, Part::Kept(_)) {
            self.context.cache.release(self.resident_bytes());
        }
    }
}

/// The name of a table file.
pub fn table_name(number: u64) -> String {
    format!("{number:06}.sst")
}

impl Table {
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
        let (metaindex, index) =
            decode_footer(footer).ok_or_else(|| corrupt(bytes - FOOTER_BYTES as u64, "not a table footer"))?;
        let layout = Layout::decode_metaindex(read(task, metaindex)?, index)
            .ok_or_else(|| corrupt(metaindex.offset, "not a metaindex block"))?;
        let properties = Properties::decode(read(task, layout.properties)?)
            .ok_or_else(|| corrupt(layout.properties.offset, "not a properties block"))?;
        let index = Index::decode(&read(task, layout.index)?)
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
        let kept = !resident && !context.evict_index_and_filter;
        let index = Arc::new(index);
        let filter = filter.map(|(filter, handle)| (Arc::new(filter), handle));
        if !resident && !kept {
            let key = |handle: Handle| BlockKey { file: number, offset: handle.offset };
            context.cache.insert(key(index_handle), Cached::Index(index.clone()));
            if let Some((filter, handle)) = &filter {
                context.cache.insert(key(*handle), Cached::Filter(filter.clone()));
            }
        }
        let has_prefixes = context.prefix.is_some() && properties.prefix_extractor == context.prefix_text;
        let table = Self {
            number,
            name: table_name(number),
            file,
            index: Part::new(index, index_handle, resident, kept),
            asks: match (properties.whole_key_filtering, has_prefixes) {
                (true, _) => Asks::WholeKey,
                (false, true) => Asks::Prefix,
                (false, false) => Asks::Nothing,
            },
            filter: filter.map(|(filter, handle)| Part::new(filter, handle, resident, kept)),
            has_prefixes,
            context,
        };
        if kept {
            table.context.cache.reserve(table.resident_bytes());
        }
        table
    }

    /// Bytes of the index and the filter, unless the cache may evict them.
    pub fn resident_bytes(&self) -> u64 {
        let index = self.index.in_memory().map_or(0, Index::memory_bytes);
        let filter = self.filter.as_ref().and_then(Part::in_memory).map_or(0, Filter::memory_bytes);
        (index + filter) as u64
    }

    /// What a lookup in the cache costs that always finds something.
    fn find_kept(&self, task: &mut Task) {
        task.charge(Work::CacheLookup, 1);
        self.context.cache.found_reserved();
    }

    /// The index.
    #[inline]
    pub fn index(&self, task: &mut Task, purpose: Purpose) -> Result<Held<'_, Index>> {
        match &self.index {
            Part::Resident(index) => Ok(Held::Resident(index)),
            Part::Kept(index) => {
                self.find_kept(task);
                Ok(Held::Resident(index))
            }
            Part::Cached(handle) => self.cached_index(task, *handle, purpose).map(Held::Shared),
        }
    }

    /// The index, to be kept while a cursor moves.
    pub fn shared_index(&self, task: &mut Task, purpose: Purpose) -> Result<Arc<Index>> {
        match &self.index {
            Part::Resident(index) => Ok(index.clone()),
            Part::Kept(index) => {
                self.find_kept(task);
                Ok(index.clone())
            }
            Part::Cached(handle) => self.cached_index(task, *handle, purpose),
        }
    }

    fn cached_index(&self, task: &mut Task, handle: Handle, purpose: Purpose) -> Result<Arc<Index>> {
        task.charge(Work::CacheLookup, 1);
        let key = BlockKey { file: self.number, offset: handle.offset };
        if let Some(Cached::Index(index)) = self.context.cache.get(key) {
            return Ok(index);
        }
        let block = self.read_block(task, handle, purpose)?;
        let index =
            Index::decode(&block).ok_or_else(|| Error::corruption(&*self.name, handle.offset, "not an index block"))?;
        let index = Arc::new(index);
        task.charge(Work::PageTouch, 1);
        self.context.cache.insert(key, Cached::Index(index.clone()));
        Ok(index)
    }

    #[inline]
    fn filter(&self, task: &mut Task, purpose: Purpose) -> Result<Option<Held<'_, Filter>>> {
        match &self.filter {
            None => Ok(None),
            Some(Part::Resident(filter)) => Ok(Some(Held::Resident(filter))),
            Some(Part::Kept(filter)) => {
                self.find_kept(task);
                Ok(Some(Held::Resident(filter)))
            }
            Some(Part::Cached(handle)) => self.cached_filter(task, *handle, purpose).map(|f| Some(Held::Shared(f))),
        }
    }

    fn cached_filter(&self, task: &mut Task, handle: Handle, purpose: Purpose) -> Result<Arc<Filter>> {
        task.charge(Work::CacheLookup, 1);
        let key = BlockKey { file: self.number, offset: handle.offset };
        if let Some(Cached::Filter(filter)) = self.context.cache.get(key) {
            return Ok(filter);
        }
        let block = self.read_block(task, handle, purpose)?;
        let filter =
            Filter::decode(block).ok_or_else(|| Error::corruption(&*self.name, handle.offset, "not a filter block"))?;
        let filter = Arc::new(filter);
        task.charge(Work::PageTouch, 1);
        self.context.cache.insert(key, Cached::Filter(filter.clone()));
        Ok(filter)
    }

    /// Reads, checks and decompresses a block.
    fn read_block(&self, task: &mut Task, handle: Handle, purpose: Purpose) -> Result<Vec<u8>> {
        let mut stored = vec![0; (handle.bytes + BLOCK_TRAILER_BYTES) as usize];
        self.file.read_at(task, purpose, handle.offset, &mut stored)?;
        open_block(task, &self.name, handle.offset, stored)
    }

    /// Reads stored bytes of data blocks, unchecked.
    pub fn read_stored(&self, task: &mut Task, purpose: Purpose, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.file.read_at(task, purpose, offset, buffer)
    }

    /// Checks and decodes a data block from its stored bytes, trailer included.
    pub fn decode_block(&self, task: &mut Task, offset: u64, stored: Vec<u8>) -> Result<Arc<Block>> {
        let contents = open_block(task, &self.name, offset, stored)?;
        let block =
            Block::decode(contents).ok_or_else(|| Error::corruption(&*self.name, offset, "not a data block"))?;
        Ok(Arc::new(block))
    }

    /// A data block from the cache.
    #[inline]
    pub fn cached_block(&self, task: &mut Task, handle: Handle) -> Option<Arc<Block>> {
        task.blocks_asked += 1;
        task.charge(Work::CacheLookup, 1);
        self.charge_misses(task, LOOKUP_LINES);
        match self.context.cache.get(BlockKey { file: self.number, offset: handle.offset }) {
            Some(Cached::Data(block)) => Some(block),
            _ => None,
        }
    }

    /// Charges a search for a restart point in `steps`, and what it and the `entries` read from there miss of the caches.
    #[inline]
    pub fn charge_search(&self, task: &mut Task, steps: u64, entries: u64) {
        task.charge(Work::Compare, steps);
        // Each step looks at the number of an entry and at the entry; an entry of a hundred bytes lies on two lines.
        self.charge_misses(task, 2 * steps + 2 * entries);
    }

    /// Charges what a look at `lines` places among the cached blocks, or at what leads to them, misses of the processor's
    /// caches.
    #[inline]
    pub fn charge_misses(&self, task: &mut Task, lines: u64) {
        task.charge_misses(lines, self.context.cache.bytes());
    }

    /// Puts a data block into the cache.
    pub fn cache_block(&self, task: &mut Task, handle: Handle, block: &Arc<Block>) {
        task.charge(Work::PageTouch, 1);
        self.context.cache.insert(BlockKey { file: self.number, offset: handle.offset }, Cached::Data(block.clone()));
    }

    #[inline]
    fn data_block(&self, task: &mut Task, handle: Handle) -> Result<Arc<Block>> {
        if let Some(block) = self.cached_block(task, handle) {
            return Ok(block);
        }
        let mut stored = vec![0; (handle.bytes + BLOCK_TRAILER_BYTES) as usize];
        self.file.read_at(task, Purpose::UserRead, handle.offset, &mut stored)?;
        let block = self.decode_block(task, handle.offset, stored)?;
        self.cache_block(task, handle, &block);
        Ok(block)
    }

    /// Asks the filter; `None` if it cannot be asked for this key.
    #[inline]
    fn may_contain(&self, task: &mut Task, wanted: &mut LookupKey) -> Result<Option<bool>> {
        let hash = match self.asks {
            Asks::WholeKey if self.filter.is_some() => wanted.whole_hash(),
            Asks::Prefix => match self.context.prefix.and_then(|prefix| prefix.of(wanted.user_key)) {
                Some(prefix) => bloom::hash(prefix),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        let Some(filter) = self.filter(task, Purpose::UserRead)? else { return Ok(None) };
        task.charge(Work::FilterProbe, 1);
        let maybe = filter.may_contain(hash);
        let counter = if maybe { &self.context.bloom_positive } else { &self.context.bloom_useful };
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(Some(maybe))
    }

    /// Whether a key that starts with `prefix` may be in the table, as far as its filter knows.
    pub fn may_contain_prefix(&self, task: &mut Task, prefix: &[u8]) -> Result<bool> {
        if !self.has_prefixes {
            return Ok(true);
        }
        let Some(filter) = self.filter(task, Purpose::UserRead)? else { return Ok(true) };
        task.charge(Work::FilterProbe, 1);
        let maybe = filter.may_contain(bloom::hash(prefix));
        let counter = if maybe { &self.context.bloom_positive } else { &self.context.bloom_useful };
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(maybe)
    }

    /// Looks for the newest visible entry of a key and appends its value.
    pub fn get(&self, task: &mut Task, wanted: &mut LookupKey, value: &mut Vec<u8>) -> Result<Lookup> {
        let filtered = self.may_contain(task, wanted)?;
        if filtered == Some(false) {
            return Ok(Lookup::Absent);
        }
        let index = self.index(task, Purpose::UserRead)?;
        let index_steps = u64::from(index.blocks().max(2).ilog2());
        task.charge(Work::Compare, index_steps);
        self.charge_misses(task, index_steps);
        let mut at = index.find(wanted.user_key);
        let mut found = Lookup::Absent;
        // The versions of one key may go on in the next block; with one version each, the first block decides.
        while at < index.blocks() {
            let handle = index.handle(at);
            let block = self.data_block(task, handle)?;
            let mut steps = 0;
            if let Some((trailer, stored)) = block.find(wanted.user_key, wanted.trailer, &mut steps) {
                found = if key::is_delete(trailer) { Lookup::Deleted } else { Lookup::Found };
                if found == Lookup::Found {
                    value.extend_from_slice(stored);
                    task.charge(Work::CopyByte, stored.len() as u64);
                }
            }
            task.charge(Work::Record, steps);
            self.charge_search(task, block.search_steps(), steps);
            at += 1;
            if found != Lookup::Absent || index.separator(at - 1) != wanted.user_key {
                break;
            }
        }
        if filtered == Some(true) && found != Lookup::Absent {
            self.context.bloom_true_positive.fetch_add(1, Ordering::Relaxed);
        }
        Ok(found)
    }
}

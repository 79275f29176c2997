//! Writes a table file: data blocks, filter, index, properties, metaindex, footer.

use super::block_builder::BlockBuilder;
use super::bloom::{self, Filter, FilterBuilder};
use super::format::{Footer, Handle, push_block, push_like};
use super::index::{Index, IndexBuilder, IndexForm};
use super::kept_block::KeptBlock;
use super::properties::{Layout, Properties};
use crate::codec::{Compression, Packed};
use crate::cost::Work;
use crate::error::{Error, Result};
use crate::lsm::keys::{PrefixExtractor, key};
use crate::lsm::options::BloomPolicy;
use crate::metrics::Purpose;
use crate::storage::StorageFile;
use crate::task::Task;
use std::sync::Arc;

/// Bytes collected before they are written (`writable_file_max_buffer_size`).
pub const WRITE_BYTES: usize = 1 << 20;

/// How a table is written.
#[derive(Debug, Clone)]
pub struct TableBuilderOptions {
    /// Compression of its blocks.
    pub compression: Compression,
    /// Level of that codec; `None` is its default.
    pub compression_level: Option<i32>,
    /// Target bytes of a data block.
    pub block_bytes: usize,
    /// A block that lacks less of that, in percent, is closed before an entry that would exceed it.
    pub block_deviation_percent: usize,
    /// Keys between restart points.
    pub restart_interval: usize,
    /// How its index is written.
    pub format_version: u32,
    /// Its filter, if it gets one.
    pub bloom: Option<BloomPolicy>,
    /// Whether whole keys enter the filter.
    pub whole_key_filtering: bool,
    /// The prefix that enters the filter.
    pub prefix: Option<PrefixExtractor>,
    /// The text of the prefix option, for the properties.
    pub prefix_text: String,
}

/// A finished table.
pub struct BuiltTable {
    /// The file, written and synced.
    pub file: Arc<dyn StorageFile>,
    /// Bytes of the file.
    pub bytes: u64,
    /// What it says about itself.
    pub properties: Properties,
    /// Where its parts are.
    pub layout: Layout,
    /// Its index.
    pub index: Index,
    /// Its filter.
    pub filter: Option<Filter>,
    /// First user key.
    pub smallest: Vec<u8>,
    /// Last user key.
    pub largest: Vec<u8>,
    /// Smallest sequence number.
    pub smallest_sequence: u64,
    /// Largest sequence number.
    pub largest_sequence: u64,
}

/// Writes one table.
pub struct TableBuilder {
    options: TableBuilderOptions,
    file: Arc<dyn StorageFile>,
    name: String,
    purpose: Purpose,
    block: BlockBuilder,
    index: IndexBuilder,
    filter: Option<FilterBuilder>,
    /// The last data block, whose separator needs the next key.
    waiting: Option<Handle>,
    last_user_key: Vec<u8>,
    last_trailer: u64,
    smallest: Vec<u8>,
    smallest_sequence: u64,
    largest_sequence: u64,
    properties: Properties,
    /// Bytes not yet written, and where they go.
    pending: Vec<u8>,
    written: u64,
    scratch: Vec<u8>,
    /// Data blocks as they will be found, where the file keeps them.
    kept: Vec<(Handle, Arc<KeptBlock>)>,
    /// The last data block that was compressed. Where the file keeps them decoded nobody reads what is stored, and the
    /// next ones, of neighbouring keys, are taken to be as compressible.
    like: Option<Packed>,
}

impl TableBuilder {
    /// Begins a table in an empty file.
    pub fn new(options: TableBuilderOptions, file: Arc<dyn StorageFile>, name: String, purpose: Purpose) -> Self {
        let filters = options.whole_key_filtering || options.prefix.is_some();
        Self {
            block: BlockBuilder::new(options.restart_interval),
            index: IndexBuilder::new(IndexForm::of(options.format_version)),
            filter: options.bloom.filter(|_| filters).map(FilterBuilder::new),
            waiting: None,
            last_user_key: Vec::new(),
            last_trailer: 0,
            smallest: Vec::new(),
            smallest_sequence: key::MAX_SEQUENCE,
            largest_sequence: 0,
            properties: Properties {
                whole_key_filtering: options.whole_key_filtering,
                prefix_extractor: options.prefix_text.clone(),
                ..Properties::default()
            },
            pending: Vec::new(),
            written: 0,
            scratch: Vec::new(),
            kept: Vec::new(),
            like: None,
            options,
            file,
            name,
            purpose,
        }
    }

    /// Adds an entry behind all others.
    pub fn add(&mut self, task: &mut Task, internal: &[u8], value: &[u8]) -> Result<()> {
        let (user_key, trailer) = key::split(internal);
        if self.block.is_full_before(internal, value, self.options.block_bytes, self.options.block_deviation_percent) {
            self.cut_block(task)?;
        }
        if let Some(handle) = self.waiting.take() {
            let mut separator = std::mem::take(&mut self.last_user_key);
            // A key that is not there lies before all entries that it could have.
            let is_new = key::shorten_separator(&mut separator, user_key);
            self.index.add(&separator, if is_new { key::FIRST_TRAILER } else { self.last_trailer }, handle);
            self.last_user_key = separator;
        }
        if self.properties.entries == 0 {
            self.smallest.extend_from_slice(user_key);
        }
        if let Some(filter) = &mut self.filter {
            // Keys with a common prefix follow one another, so each prefix is hashed anew but kept once.
            if let Some(prefix) = self.options.prefix.and_then(|prefix| prefix.of(user_key)) {
                filter.add_prefix(bloom::hash(prefix));
            }
            if self.options.whole_key_filtering {
                filter.add(bloom::hash(user_key));
            }
        }
        self.block.add(internal, value);
        self.last_user_key.clear();
        self.last_user_key.extend_from_slice(user_key);
        self.last_trailer = trailer;
        let sequence = key::sequence_of(trailer);
        self.smallest_sequence = self.smallest_sequence.min(sequence);
        self.largest_sequence = self.largest_sequence.max(sequence);
        self.properties.entries += 1;
        self.properties.deletions += u64::from(key::is_delete(trailer));
        self.properties.raw_key_bytes += internal.len() as u64;
        self.properties.raw_value_bytes += value.len() as u64;
        task.charge(Work::Record, 1);
        task.charge(Work::CopyByte, (internal.len() + value.len()) as u64);
        Ok(())
    }

    /// Bytes of the file so far, the unfinished block not counted (RocksDB's `EstimatedFileSize`).
    pub fn file_bytes(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    fn cut_block(&mut self, task: &mut Task) -> Result<()> {
        let (compression, level) = (self.options.compression, self.options.compression_level);
        let (scratch, pending) = (&mut self.scratch, &mut self.pending);
        let (keeps, mut kept, like) = (self.file.keeps_decoded(), None, &mut self.like);
        let mut handle = self.block.finish(|raw| {
            if !keeps {
                return push_block(task, compression, level, raw, scratch, pending);
            }
            let handle = match like {
                Some(like) if like.stands_for_more() => push_like(task, like, raw, pending),
                _ => {
                    scratch.clear();
                    let level = compression.level_of_products(level);
                    let handle = push_block(task, compression, level, raw, scratch, pending)?;
                    // Empty where nothing was compressed at all.
                    *like = (!scratch.is_empty()).then(|| Packed::of(compression, raw.len(), scratch));
                    handle
                }
            };
            kept = KeptBlock::written(raw, handle, compression);
            debug_assert!(kept.is_some(), "what is not stored has to be kept");
            Ok::<_, Error>(handle)
        })?;
        handle.offset += self.written;
        self.kept.extend(kept.map(|block| (handle, block)));
        self.properties.data_blocks += 1;
        self.properties.data_bytes = handle.end();
        self.waiting = Some(handle);
        if self.pending.len() >= WRITE_BYTES { self.write_pending(task) } else { Ok(()) }
    }

    fn push(&mut self, task: &mut Task, compression: Compression, raw: &[u8]) -> Result<Handle> {
        let level = self.options.compression_level;
        let mut handle = push_block(task, compression, level, raw, &mut self.scratch, &mut self.pending)?;
        handle.offset += self.written;
        Ok(handle)
    }

    fn write_pending(&mut self, task: &mut Task) -> Result<()> {
        for piece in self.pending.chunks(WRITE_BYTES) {
            self.file.write_at(task, self.purpose, self.written, piece)?;
            self.written += piece.len() as u64;
        }
        self.pending.clear();
        Ok(())
    }

    /// Completes, writes and syncs the file. There is at least one entry.
    pub fn finish(mut self, task: &mut Task) -> Result<BuiltTable> {
        if !self.block.is_empty() {
            // It is shorter than the others, and less compressible for it.
            self.like = None;
            self.cut_block(task)?;
        }
        if let Some(handle) = self.waiting.take() {
            self.index.add(&self.last_user_key, self.last_trailer, handle);
        }
        let mut layout = Layout::default();
        let mut filter = None;
        if let Some(builder) = self.filter.take() {
            let raw = builder.finish();
            layout.filter = Some(self.push(task, Compression::None, &raw)?);
            self.properties.filter_bytes = raw.len() as u64;
            filter = Filter::decode(raw);
        }
        let raw = self.index.finish();
        layout.index = self.push(task, self.options.compression, &raw)?;
        self.properties.index_bytes = layout.index.end() - layout.index.offset;
        let index = Index::decode(&raw, IndexForm::of(self.options.format_version))
            .ok_or_else(|| Error::corruption(&*self.name, 0, "keys out of order"))?;
        layout.properties = self.push(task, Compression::None, &self.properties.encode())?;
        let metaindex = self.push(task, Compression::None, &layout.encode_metaindex())?;
        let footer = Footer { metaindex, index: layout.index, format_version: self.options.format_version };
        self.pending.extend_from_slice(&footer.encode());
        self.write_pending(task)?;
        self.file.sync(task, self.purpose)?;
        for (handle, block) in &self.kept {
            block.keep_written(&*self.file, *handle);
        }
        Ok(BuiltTable {
            file: self.file,
            bytes: self.written,
            properties: self.properties,
            layout,
            index,
            filter,
            smallest: self.smallest,
            largest: self.last_user_key,
            smallest_sequence: self.smallest_sequence,
            largest_sequence: self.largest_sequence,
        })
    }
}

//! The state of an open engine, shared by clients and jobs.
//!
//! Locks are taken in this order: the write lock (`writer`), `manifest`, `control`. Readers take none of them: they load
//! the view and read.

use super::manifest::Manifest;
use super::memtable::{Lookup, Memtable};
use super::options::{Options, Parsed};
use super::policy::{Running, WriteController};
use super::table::{LookupKey, TableContext};
use super::table_builder::TableShape;
use super::version::{TableFile, Version};
use super::version_edit::VersionEdit;
use super::wal::{LogWriter, Logs, log_name};
use crate::codec::Compression;
use crate::cost::Work;
use crate::engine::{EngineStats, Poison};
use crate::error::{Error, Result};
use crate::storage::{Storage, StorageFile};
use crate::task::{GroupSync, Serial, Signal, Task};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Everything that a reader looks at.
pub struct View {
    /// The memtable that takes writes.
    pub memtable: Arc<Memtable>,
    /// Full memtables, newest first.
    pub immutables: Vec<Arc<Memtable>>,
    /// The table files.
    pub version: Arc<Version>,
}

/// Memtables that one job flushes together.
pub struct FlushGroup {
    /// Their numbers, oldest first.
    pub memtables: Vec<u64>,
    /// The finished table. Groups are installed in order, so it may have to wait.
    pub done: Option<Arc<TableFile>>,
}

/// Background work: what runs, what waits, what holds writers back.
pub struct Control {
    /// Groups being flushed or waiting for older ones, oldest first.
    pub flushing: VecDeque<FlushGroup>,
    /// Flush jobs under way.
    pub running_flushes: usize,
    /// Files that are inputs of running compactions.
    pub busy: BTreeSet<u64>,
    /// Compactions under way.
    pub running: Vec<Running>,
    /// Whether all immutable memtables are to be flushed, however few they are.
    pub flush_all: bool,
    /// Whether something changed since no work was found.
    pub may_have_work: bool,
    /// The rate of delayed writers.
    pub controller: WriteController,
}

/// Counters since open.
#[derive(Default)]
pub struct Counters {
    /// Key and value bytes written by clients.
    pub user_bytes: AtomicU64,
    /// Flushes installed.
    pub flushes: AtomicU64,
    /// Compactions installed, moves not counted.
    pub compactions: AtomicU64,
    /// Compactions that only moved files.
    pub trivial_moves: AtomicU64,
    /// Bytes of logs that the replay left out.
    pub wal_dropped_bytes: AtomicU64,
    /// Records among them that begin intact.
    pub wal_dropped_records: AtomicU64,
}

/// The state of an open engine.
pub struct Core {
    /// Where the files are.
    pub storage: Arc<dyn Storage>,
    /// Settings, adjusted to each other.
    pub options: Options,
    /// Words and texts of the settings.
    pub parsed: Parsed,
    /// Wakes background workers.
    pub signal: Arc<Signal>,
    /// What all tables share.
    pub tables: Arc<TableContext>,
    /// What readers look at.
    pub view: ArcSwap<View>,
    /// Sequence number of the newest visible entry.
    pub sequence: AtomicU64,
    /// The write lock, and the memtable that takes writes.
    pub writer: Serial<Arc<Memtable>>,
    /// The log of the memtable, unless writes are not logged. Taken after the write lock, if that is held.
    pub log: Mutex<Option<LogWriter>>,
    /// Shared syncs of the logs.
    pub group: GroupSync,
    /// Logs that may be needed after a crash.
    pub logs: Logs,
    /// The manifest; held while an edit is written and applied.
    pub manifest: Mutex<Manifest>,
    /// Background work.
    pub control: Mutex<Control>,
    /// Whether writers have to ask the controller.
    pub holds_back: AtomicBool,
    /// The next file number.
    pub next_file: AtomicU64,
    /// The first background error.
    pub poison: Poison,
    /// Counters since open.
    pub counters: Counters,
}

impl Core {
    /// A new file number.
    pub fn new_file_number(&self) -> u64 {
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    /// Reads a key.
    pub fn get(&self, task: &mut Task, user_key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        self.poison.check()?;
        task.charge(Work::Call, 1);
        value.clear();
        let view = self.view.load();
        // After the view: a flush or compaction in between drops only what is hidden at a later number.
        let sequence = self.sequence.load(Ordering::Acquire);
        for memtable in std::iter::once(&view.memtable).chain(&view.immutables) {
            match memtable.get(task, user_key, sequence, value) {
                Lookup::Found => return Ok(true),
                Lookup::Deleted => return Ok(false),
                Lookup::Absent => {}
            }
        }
        let found = view.version.get(task, &mut LookupKey::new(user_key, sequence), value)?;
        Ok(found == Lookup::Found)
    }

    /// An empty file for a table.
    pub fn create_table(&self, task: &mut Task, name: &str) -> Result<Arc<dyn StorageFile>> {
        let file = self.storage.create(task, name)?;
        file.use_page_cache(self.options.page_cached());
        Ok(file)
    }

    /// How a table with this codec is written. `bottommost`: no deeper level holds its keys.
    pub fn table_shape(&self, compression: Compression, bottommost: bool) -> TableShape {
        TableShape {
            compression,
            compression_level: self.parsed.compression_level,
            block_bytes: self.options.block_size as usize,
            restart_interval: self.options.block_restart_interval as usize,
            bloom: self.parsed.bloom.filter(|_| !(bottommost && self.options.optimize_filters_for_hits)),
            whole_key_filtering: self.options.whole_key_filtering,
            prefix: self.parsed.prefix,
            prefix_text: self.options.prefix_extractor.clone(),
        }
    }

    /// Writes an edit to the manifest, then makes it visible. `flushed` are memtables whose entries the added files hold.
    /// The caller holds the manifest and has synced the files.
    pub fn apply(
        &self,
        task: &mut Task,
        manifest: &mut Manifest,
        mut edit: VersionEdit,
        added: &[(usize, Arc<TableFile>)],
        flushed: &[u64],
    ) -> Result<()> {
        self.poison.check()?;
        edit.added = added.iter().map(|(level, file)| (*level, (*file.meta).clone())).collect();
        let recorded = self.record(task, manifest, &mut edit);
        // Poisoned before the lock is released: an edit must not follow one that failed, nor go into a manifest that CURRENT
        // may name no more.
        self.poisoned(recorded)?;
        let mut control = self.control.lock();
        let view = self.view.load_full();
        let immutables = view.immutables.iter().filter(|memtable| !flushed.contains(&memtable.number));
        let view = View {
            memtable: view.memtable.clone(),
            immutables: immutables.cloned().collect(),
            version: Arc::new(view.version.apply(&edit, added, &self.options)),
        };
        self.show(&mut control, view);
        Ok(())
    }

    /// Adds an edit to the manifest, which is begun anew before if it is full.
    fn record(&self, task: &mut Task, manifest: &mut Manifest, edit: &mut VersionEdit) -> Result<()> {
        if manifest.is_full(self.options.max_manifest_file_size) {
            manifest.roll(task, &*self.storage, self.new_file_number(), &self.view.load().version)?;
        }
        edit.next_file = Some(self.next_file.load(Ordering::Relaxed));
        manifest.append(task, edit)
    }

    /// Makes a view current and follows its consequences for writers and jobs.
    pub fn show(&self, control: &mut Control, view: View) {
        let inputs = view.version.stall_inputs(view.immutables.len() as u64);
        control.controller.update(&inputs, &self.options);
        self.holds_back
            .store(control.controller.condition() != super::policy::StallCondition::Normal, Ordering::Release);
        control.may_have_work = true;
        if view.immutables.is_empty() {
            control.flush_all = false;
        }
        self.view.store(Arc::new(view));
    }

    /// Removes the logs that no memtable needs any more.
    pub fn remove_logs_below(&self, task: &mut Task, number: u64) -> Result<()> {
        self.logs.take_below(number).into_iter().try_for_each(|old| self.storage.remove(task, &log_name(old)))
    }

    /// Keeps an error for all later callers, and passes it on.
    pub fn poisoned<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result
            && !matches!(error, Error::Poisoned { .. })
        {
            self.poison.set(error);
        }
        result
    }

    /// Counters and gauges.
    pub fn stats(&self) -> EngineStats {
        let view = self.view.load_full();
        let cache = self.tables.cache.stats();
        let memtables = std::iter::once(&view.memtable).chain(&view.immutables);
        let memtable_bytes = memtables.map(|memtable| memtable.memory_bytes()).sum::<u64>();
        let resident = view.version.all_files().map(|file| file.table.resident_bytes()).sum::<u64>();
        let buffered = self.log.lock().as_ref().map_or(0, LogWriter::buffered_bytes) as u64;
        let level_bytes = view.version.level_bytes();
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (control, counters) = (self.control.lock(), &self.counters);
        let mut details = vec![
            ("level0_files".to_owned(), view.version.level0.len() as f64),
            ("base_level".to_owned(), view.version.targets.base_level as f64),
            ("table_files".to_owned(), view.version.all_files().count() as f64),
            ("compaction_pending_bytes".to_owned(), view.version.pending_bytes as f64),
            ("memtable_bytes".to_owned(), memtable_bytes as f64),
            ("immutable_memtables".to_owned(), view.immutables.len() as f64),
            ("index_and_filter_bytes".to_owned(), resident as f64),
            ("block_cache_bytes".to_owned(), cache.bytes as f64),
            ("wal_bytes".to_owned(), self.logs.bytes() as f64),
            ("running_flushes".to_owned(), control.running_flushes as f64),
            ("running_compactions".to_owned(), control.running.len() as f64),
            ("delayed_write_rate".to_owned(), control.controller.rate() as f64),
            ("flushes".to_owned(), load(&counters.flushes) as f64),
            ("compactions".to_owned(), load(&counters.compactions) as f64),
            ("trivial_moves".to_owned(), load(&counters.trivial_moves) as f64),
            ("wal_dropped_bytes".to_owned(), load(&counters.wal_dropped_bytes) as f64),
            ("wal_dropped_records".to_owned(), load(&counters.wal_dropped_records) as f64),
        ];
        let levels = level_bytes.iter().enumerate();
        details.extend(levels.map(|(level, bytes)| (format!("level_{level}_bytes"), *bytes as f64)));
        EngineStats {
            user_bytes_written: load(&counters.user_bytes),
            cache_hits: cache.hits,
            cache_misses: cache.misses,
            bloom_useful: load(&self.tables.bloom_useful),
            bloom_positive: load(&self.tables.bloom_positive),
            bloom_true_positive: load(&self.tables.bloom_true_positive),
            memory_bytes: cache.bytes + memtable_bytes + resident + buffered,
            disk_bytes: self
                .storage
                .used_bytes()
                .unwrap_or_else(|_| level_bytes.iter().sum::<u64>() + self.logs.bytes()),
            details: details.into_iter().collect(),
        }
    }
}

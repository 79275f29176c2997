//! Opening: the manifest gives the table files, the logs give what was not yet in one, and what neither names is
//! removed.

use super::background::BackgroundWork;
use super::counters::Counters;
use super::db_impl::DbImpl;
use super::super_version::SuperVersion;
use super::wal::{Logs, log_name};
use crate::error::{Error, Result};
use crate::lsm::memtable::MemTable;
use crate::lsm::options::Options;
use crate::lsm::policy::WriteController;
use crate::lsm::table::{BlockCache, FileMetaData, TableContext, TableReader, average_value_bytes, table_name};
use crate::lsm::version::{CURRENT, Manifest, TableFile, Version, VersionEdit, manifest_name, read_manifest};
use crate::storage::FileOptions;
use crate::storage::Storage;
use crate::task::{GroupSync, Serial, Signal, Task};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What the manifest says.
#[derive(Default)]
struct RecoveredState {
    levels: BTreeMap<u64, (usize, FileMetaData)>,
    log_number: u64,
    last_sequence: u64,
    next_file: u64,
}

fn read_recovered(task: &mut Task, storage: &dyn Storage, names: &[String]) -> Result<RecoveredState> {
    let mut recovered = RecoveredState::default();
    if !names.iter().any(|name| name == CURRENT) {
        // Tables come after the first CURRENT, so without it there can be none.
        return match names.iter().find(|name| name.strip_suffix(".sst").is_some()) {
            Some(table) => Err(Error::corruption(CURRENT, 0, format!("missing, though there is {table}"))),
            None => Ok(recovered),
        };
    }
    for edit in read_manifest(task, storage)? {
        for (_, number) in &edit.removed {
            recovered.levels.remove(number);
        }
        for (level, file) in edit.added {
            recovered.levels.insert(file.number, (level, file));
        }
        recovered.log_number = edit.log_number.unwrap_or(recovered.log_number);
        recovered.last_sequence = edit.last_sequence.unwrap_or(recovered.last_sequence);
        recovered.next_file = edit.next_file.unwrap_or(recovered.next_file);
    }
    Ok(recovered)
}

/// Numbers of the files of one kind.
fn numbers(names: &[String], kind: impl Fn(u64) -> String) -> Vec<u64> {
    let number_in = |name: &String| {
        let digits = name.chars().filter(char::is_ascii_digit).collect::<String>();
        digits.parse().ok().filter(|number| kind(*number) == *name)
    };
    names.iter().filter_map(number_in).collect()
}

/// Opens the tables that the manifest names.
fn open_tables(
    task: &mut Task,
    storage: &dyn Storage,
    context: &Arc<TableContext>,
    options: &Options,
    files: BTreeMap<u64, (usize, FileMetaData)>,
) -> Result<Vec<Vec<Arc<TableFile>>>> {
    let average = average_value_bytes(files.values().map(|(_, file)| file));
    let mut levels = vec![Vec::new(); options.num_levels as usize];
    for (number, (level, mut meta)) in files {
        let name = table_name(number);
        if level >= levels.len() {
            let accepted = format!("at least {}, since level {level} has files", level + 1);
            return Err(Error::invalid("options.num_levels", options.num_levels, accepted));
        }
        let file = storage
            .open(task, &name, FileOptions::table(options.page_cached()))
            .map_err(|_| Error::corruption(&*name, 0, "the file is missing"))?;
        if file.len() != meta.bytes {
            return Err(Error::corruption(name, file.len(), format!("the file should have {} bytes", meta.bytes)));
        }
        meta.compensate(average);
        let table = TableReader::open(task, context.clone(), number, level, file, meta.data_bytes)?;
        levels[level].push(Arc::new(TableFile { meta: Arc::new(meta), table: Arc::new(table) }));
    }
    for files in levels.iter_mut().skip(1) {
        files.sort_by(|a, b| a.meta.smallest.cmp(&b.meta.smallest));
        if let Some(pair) = files.windows(2).find(|pair| pair[0].meta.largest > pair[1].meta.smallest) {
            let (name, before) = (table_name(pair[1].meta.number), table_name(pair[0].meta.number));
            return Err(Error::corruption(name, 0, format!("its keys overlap those of {before} on the same level")));
        }
    }
    Ok(levels)
}

/// Opens an engine.
pub fn open(storage: Arc<dyn Storage>, options: &Options, signal: Arc<Signal>, task: &mut Task) -> Result<Arc<DbImpl>> {
    let (parsed, options) = (options.parse()?, options.sanitized());
    let names = storage.list()?;
    let recovered = read_recovered(task, &*storage, &names)?;
    let kinds: [&dyn Fn(u64) -> String; 3] = [&table_name, &log_name, &manifest_name];
    let largest = kinds.iter().flat_map(|kind| numbers(&names, kind)).max().unwrap_or(0);
    let tables = Arc::new(TableContext {
        cache: BlockCache::new(options.block_cache, options.high_pri_pool_ratio, options.scale),
        prefix: parsed.prefix,
        prefix_text: options.prefix_extractor.clone(),
        cache_index_and_filter: options.cache_index_and_filter_blocks,
        pin_level0: options.pin_l0_filter_and_index_blocks_in_cache,
        bloom_useful: AtomicU64::new(0),
        bloom_positive: AtomicU64::new(0),
        bloom_true_positive: AtomicU64::new(0),
    });
    let levels = open_tables(task, &*storage, &tables, &options, recovered.levels)?;
    let version = Arc::new(Version::new(levels, &options));
    let next_file = AtomicU64::new(recovered.next_file.max(largest + 1).max(1));
    let manifest_number = next_file.fetch_add(1, Ordering::Relaxed);
    let wal_number = next_file.fetch_add(1, Ordering::Relaxed);
    let memtable = Arc::new(MemTable::new(1, wal_number, options.arena_block_bytes()));
    let snapshot = VersionEdit {
        log_number: Some(recovered.log_number),
        last_sequence: Some(recovered.last_sequence),
        next_file: Some(next_file.load(Ordering::Relaxed)),
        ..version.to_edit()
    };
    let manifest = Manifest::create(task, &*storage, manifest_number, &snapshot)?;
    let mut background = BackgroundWork {
        flushing: VecDeque::new(),
        running_flushes: 0,
        being_compacted: BTreeSet::new(),
        compactions: Vec::new(),
        flush_all: false,
        empties_level0: false,
        may_have_work: true,
        write_controller: WriteController::new(options.delayed_write_rate),
    };
    background.write_controller.update(&version.stall_inputs(0), &options);
    let super_version = SuperVersion { memtable: memtable.clone(), immutables: Vec::new(), version };
    let db = Arc::new(DbImpl {
        storage,
        options,
        parsed,
        signal,
        tables,
        sequence: AtomicU64::new(recovered.last_sequence),
        write_thread: Serial::of_groups(memtable),
        log: Mutex::default(),
        group_commit: GroupSync::default(),
        logs: Logs::default(),
        manifest: Mutex::new(manifest),
        background: Mutex::new(background),
        holds_back: AtomicBool::new(false),
        next_file,
        poison: crate::engine::Poison::default(),
        counters: Counters::default(),
        super_version: ArcSwap::from_pointee(super_version),
    });
    let old_logs = numbers(&names, log_name);
    let live_logs = old_logs.iter().copied().filter(|number| *number >= recovered.log_number).collect();
    db.replay_logs(task, live_logs)?;
    db.begin_log(task, wal_number)?;
    db.remove_orphans(task)?;
    Ok(db)
}

impl DbImpl {
    /// Begins the log of the first memtable; from here on older logs are not needed.
    fn begin_log(&self, task: &mut Task, number: u64) -> Result<()> {
        let edit = VersionEdit { log_number: Some(number), ..VersionEdit::default() };
        self.log_and_apply(task, &mut self.manifest.lock(), edit, &[], &[])?;
        if self.options.disable_wal {
            return Ok(());
        }
        let log = self.logs.create(task, &*self.storage, number)?;
        self.storage.sync_directory(task)?;
        *self.log.lock() = Some(log);
        Ok(())
    }

    /// Removes files that a crash left behind, and logs that were replayed.
    fn remove_orphans(&self, task: &mut Task) -> Result<()> {
        let super_version = self.super_version.load_full();
        // The replay may have rolled the manifest.
        let manifest = manifest_name(self.manifest.lock().number());
        let mut live =
            super_version.version.all_files().map(|file| table_name(file.meta.number)).collect::<BTreeSet<_>>();
        live.extend([CURRENT.to_owned(), manifest, log_name(super_version.memtable.wal_number)]);
        let is_ours = |name: &str| {
            [".sst", ".log", ".tmp"].iter().any(|end| name.ends_with(end)) || name.starts_with("MANIFEST-")
        };
        for name in self.storage.list()? {
            if is_ours(&name) && !live.contains(&name) {
                self.storage.remove(task, &name)?;
            }
        }
        Ok(())
    }
}

//! RocksDB itself as an engine: opened in a directory with the options of an OPTIONS file, which it reads itself.
//! Threads, stalls and files are its own, so that nothing here is admitted, delayed or run as a job.

use super::c_api::{self, Api, ErrorText, c_string};
use super::files::bytes_below;
use super::kernel::Kernel;
use super::statistics::Tickers;
use crate::engine::{Commit, Engine, EngineIterator, EngineStats, Poison, WriteBatch};
use crate::engine_options;
use crate::error::{Error, Result};
use crate::metrics::{MetersSnapshot, Purpose, PurposeCounts, share};
use crate::options::Accepts;
use crate::task::Task;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

engine_options! {
    /// How RocksDB is opened. What an OPTIONS file can say stands there; what a program says beside it is named as in
    /// our own engine.
    RocksDbOptions {
        library: String = "", Accepts::Text("the path of a shared library with RocksDB's C API", ".+"),
            "The RocksDB to run.";
        options_file: String = "", Accepts::Text("the text of an OPTIONS file", "[\\s\\S]*"),
            "Its options; RocksDB's defaults if empty.";
        block_cache: u64 = 32u64 << 20, Accepts::Bytes(0, 1 << 50),
            "Capacity of the LRU cache for blocks, in place of what the file says.";
        sync: bool = false, Accepts::Switch,
            "Waits for the write-ahead log to reach the device before a write is acknowledged (WriteOptions::sync).";
        disable_wal: bool = false, Accepts::Switch,
            "Writes no write-ahead log (WriteOptions::disableWAL).";
    }
}

/// An OPTIONS file that says nothing.
const NO_OPTIONS: &str = "[Version]\n  rocksdb_version=7.0.0\n  options_file_version=1.1\n[DBOptions]\n\
                          [CFOptions \"default\"]\n[TableOptions/BlockBasedTable \"default\"]\n";
/// The name that makes RocksDB take a file for the latest options of a directory.
const OPTIONS_FILE: &str = "OPTIONS-000001";
/// `StatsLevel::kExceptHistogramOrTimers`: nothing that takes the time.
const TICKERS_ONLY: i32 = 1;
const FAMILY: &CStr = c"default";
const FILE: &str = "options.options_file";

/// An open RocksDB. Its library is leaked, its own threads outlive it in RocksDB's pools.
pub struct RocksDb {
    api: &'static Api,
    db: *mut c_api::Db,
    family: *mut c_api::ColumnFamily,
    loaded: Loaded,
    reads: *mut c_api::ReadOptions,
    configured: *mut c_api::WriteOptions,
    synced: *mut c_api::WriteOptions,
    open: *mut c_api::WriteOptions,
    directory: PathBuf,
    version: String,
    compacts: bool,
    level0_trigger: i32,
    user_bytes: AtomicU64,
    poison: Poison,
}

// SAFETY: a DB may be used by any number of threads at once; options and handles are only read after `open`.
unsafe impl Send for RocksDb {}
// SAFETY: as above.
unsafe impl Sync for RocksDb {}

/// Options as RocksDB read them from a file, with the cache that stands behind them.
struct Loaded {
    api: &'static Api,
    options: *mut c_api::Options,
    names: *mut *mut c_char,
    families: *mut *mut c_api::Options,
    count: usize,
    cache: *mut c_api::Cache,
}

impl Loaded {
    /// Has RocksDB read the options in `directory`.
    fn read(api: &'static Api, directory: &CStr, block_cache: u64) -> Result<Self> {
        let mut loaded = Self {
            api,
            options: ptr::null_mut(),
            names: ptr::null_mut(),
            families: ptr::null_mut(),
            count: 0,
            // SAFETY: takes no pointer.
            cache: unsafe { (api.cache_create_lru)(block_cache as usize) },
        };
        // SAFETY: all pointers are of live values; RocksDB fills in what `drop` gives back.
        let read = unsafe {
            let env = (api.create_default_env)();
            let read = api.call(|error| {
                (api.load_latest_options)(
                    directory.as_ptr(),
                    env,
                    false,
                    loaded.cache,
                    &raw mut loaded.options,
                    &raw mut loaded.count,
                    &raw mut loaded.names,
                    &raw mut loaded.families,
                    error,
                );
            });
            (api.env_destroy)(env);
            read
        };
        read.map_err(|words| Error::invalid(FILE, words, "an OPTIONS file that this RocksDB takes"))?;
        if loaded.count == 1 {
            return Ok(loaded);
        }
        Err(Error::invalid(FILE, format!("{} column families", loaded.count), "options of the default column family"))
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: what `load_latest_options` gave, once, and the cache, of which the options hold a share.
        unsafe {
            if !self.options.is_null() {
                (self.api.load_latest_options_destroy)(self.options, self.names, self.families, self.count);
            }
            (self.api.cache_destroy)(self.cache);
        }
    }
}

impl RocksDb {
    /// Opens RocksDB in an empty directory.
    pub fn open(directory: &Path, options: &RocksDbOptions) -> Result<Self> {
        if options.library.is_empty() {
            return Err(Error::invalid("options.library", "nothing", "the path of a shared library of RocksDB"));
        }
        let api = Api::open(Path::new(&options.library))?;
        let shown = directory.display().to_string();
        let text = if options.options_file.is_empty() { NO_OPTIONS } else { &options.options_file };
        write_file(&directory.join(OPTIONS_FILE), text)?;
        let path = c_string(&shown)?;
        let loaded = Loaded::read(api, &path, options.block_cache)?;
        let mut family = ptr::null_mut();
        // SAFETY: options and names are live; the single family's options and handle are arrays of one.
        let (db, compacts, level0_trigger) = unsafe {
            (api.options_set_create_if_missing)(loaded.options, 1);
            // Files of a run stay in its directory, wherever those of the user's program are.
            (api.options_set_wal_dir)(loaded.options, c"".as_ptr());
            (api.options_set_db_log_dir)(loaded.options, c"".as_ptr());
            (api.options_enable_statistics)(loaded.options);
            if let Some(set_level) = api.options_set_statistics_level {
                set_level(loaded.options, TICKERS_ONLY);
            }
            let families = loaded.families.cast_const().cast::<*const c_api::Options>();
            let names = FAMILY.as_ptr();
            let opened = api.call(|error| {
                let path = path.as_ptr();
                (api.open_column_families)(loaded.options, path, 1, &raw const names, families, &raw mut family, error)
            });
            let db = opened.map_err(|words| Error::invalid(FILE, words, "options that this RocksDB opens with"))?;
            let family = *loaded.families;
            let compacts = (api.options_get_disable_auto_compactions)(family) == 0;
            (db, compacts, (api.options_get_level0_file_num_compaction_trigger)(family))
        };
        // SAFETY: creates and sets objects of its own.
        let write_options = |sync: bool| unsafe {
            let made = (api.writeoptions_create)();
            (api.writeoptions_set_sync)(made, sync.into());
            (api.writeoptions_disable_WAL)(made, options.disable_wal.into());
            made
        };
        let mut opened = Self {
            api,
            db,
            family,
            loaded,
            // SAFETY: takes no pointer.
            reads: unsafe { (api.readoptions_create)() },
            configured: write_options(options.sync),
            synced: write_options(true),
            open: write_options(false),
            directory: directory.to_owned(),
            version: String::new(),
            compacts,
            level0_trigger,
            user_bytes: AtomicU64::new(0),
            poison: Poison::default(),
        };
        opened.version = version_in(directory)?;
        Ok(opened)
    }

    /// RocksDB's own word on its version, such as `10.4.2`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Tickers now.
    fn tickers(&self) -> Tickers {
        // SAFETY: the text is the caller's to free.
        let text = unsafe { self.api.take_text((self.api.options_statistics_get_string)(self.loaded.options)) };
        Tickers::parse(&text.unwrap_or_default())
    }

    /// A property that is a number; `None` if this version has none of that name.
    fn property(&self, name: &CStr) -> Option<u64> {
        let mut value = 0;
        // SAFETY: the name is a C string, the value is written before 0 is returned.
        let found = unsafe { (self.api.property_int)(self.db, name.as_ptr(), &raw mut value) == 0 };
        found.then_some(value)
    }

    /// Table files and their bytes, by level.
    fn levels(&self) -> BTreeMap<i32, (u64, u64)> {
        let mut levels = BTreeMap::<_, (u64, u64)>::new();
        // SAFETY: positions are below the count, and the list is given back.
        unsafe {
            let files = (self.api.livefiles)(self.db);
            for n in 0..(self.api.livefiles_count)(files) {
                let level = levels.entry((self.api.livefiles_level)(files, n)).or_default();
                level.0 += 1;
                level.1 += (self.api.livefiles_size)(files, n) as u64;
            }
            (self.api.livefiles_destroy)(files);
        }
        levels
    }

    /// Runs a call of the library's. What it refuses is what the program must stop for.
    fn call<T>(&self, call: impl FnOnce(ErrorText) -> T) -> Result<T> {
        self.api.call(call).map_err(|words| Error::Poisoned {
            disk_full: words.contains("No space left on device"),
            why: format!("RocksDB: {words}"),
        })
    }

    /// Nanoseconds that RocksDB held writers up.
    pub fn stalled_ns(&self) -> u64 {
        self.tickers().get("stall.micros") * 1000
    }

    /// Bytes by purpose, by RocksDB's own counters; those of reads are all that the kernel counts of this process.
    pub fn meters(&self) -> MetersSnapshot {
        let tickers = self.tickers();
        // The tickers leave out what a direct read takes beside the bytes that were asked for, to whole sectors.
        let asked = tickers.get("last.level.read.bytes") + tickers.get("non.last.level.read.bytes");
        let read_bytes = Kernel::now().map_or(asked, |kernel| kernel.asked_bytes);
        let reads = tickers.get("last.level.read.count") + tickers.get("non.last.level.read.count");
        let written = |written_bytes| PurposeCounts { written_bytes, ..PurposeCounts::default() };
        MetersSnapshot::of_counts([
            (Purpose::Wal, PurposeCounts { syncs: tickers.get("wal.synced"), ..written(tickers.get("wal.bytes")) }),
            (Purpose::Flush, written(tickers.get("flush.write.bytes"))),
            (Purpose::AllCompactions, written(tickers.get("compact.write.bytes"))),
            // What compactions read is known only when they end, too late to be told from the rest.
            (Purpose::AllReads, PurposeCounts { read_bytes, reads, ..PurposeCounts::default() }),
        ])
    }

    /// Bytes of its files.
    pub fn used_bytes(&self) -> Result<u64> {
        bytes_below(&self.directory)
    }
}

#[expect(clippy::disallowed_methods, reason = "RocksDB reads its options itself, past our storage")]
fn write_file(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|e| Error::io(path.display().to_string(), "write", e))
}

/// Bytes that RocksDB shows.
///
/// # Safety
/// There are so many at `start`, and they stay as long as the result.
unsafe fn bytes_at<'a>(start: *const c_char, bytes: usize) -> &'a [u8] {
    // SAFETY: as the caller says; a pointer to nothing may be null.
    if bytes == 0 { &[] } else { unsafe { std::slice::from_raw_parts(start.cast(), bytes) } }
}

/// What the options file that RocksDB wrote when it opened says about its version.
#[expect(clippy::disallowed_methods, reason = "RocksDB writes its files itself, past our storage")]
fn version_in(directory: &Path) -> Result<String> {
    let failed = |e| Error::io(directory.display().to_string(), "list", e);
    let entries = std::fs::read_dir(directory).map_err(failed)?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let newest = names.filter(|name| name.strip_prefix("OPTIONS-").is_some_and(|n| n.parse::<u64>().is_ok())).max();
    let name = newest.unwrap_or_else(|| OPTIONS_FILE.to_owned());
    let text = std::fs::read_to_string(directory.join(&name)).map_err(|e| Error::io(name, "read", e))?;
    let version = text.lines().find_map(|line| line.trim().strip_prefix("rocksdb_version="));
    Ok(version.unwrap_or("unknown").trim().to_owned())
}

impl Drop for RocksDb {
    fn drop(&mut self) {
        // SAFETY: everything was created by `open`, nobody uses it any more, and each goes once. Waiting for running
        // compactions first keeps them from an options object that is gone.
        unsafe {
            (self.api.cancel_all_background_work)(self.db, 1);
            (self.api.column_family_handle_destroy)(self.family);
            (self.api.close)(self.db);
            (self.api.readoptions_destroy)(self.reads);
            for options in [self.configured, self.synced, self.open] {
                (self.api.writeoptions_destroy)(options);
            }
        }
    }
}

impl Engine for RocksDb {
    fn get(&self, _task: &mut Task, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        self.poison.check()?;
        value.clear();
        // SAFETY: the key lives through the call; the slice is read before it is given back.
        unsafe {
            let slice =
                self.call(|error| (self.api.get_pinned)(self.db, self.reads, key.as_ptr().cast(), key.len(), error))?;
            if slice.is_null() {
                return Ok(false);
            }
            let mut bytes = 0;
            let start = (self.api.pinnableslice_value)(slice, &raw mut bytes);
            value.extend_from_slice(bytes_at(start, bytes));
            (self.api.pinnableslice_destroy)(slice);
        }
        Ok(true)
    }

    fn write(&self, _task: &mut Task, batch: &mut WriteBatch, commit: Commit) -> Result<()> {
        self.poison.check()?;
        let options = match commit {
            Commit::Configured => self.configured,
            Commit::Synced => self.synced,
            Commit::Open => self.open,
        };
        let bytes = batch.user_bytes();
        let rep = batch.encode(0);
        // SAFETY: a batch of ours has the bytes of a batch of RocksDB's, which copies them.
        unsafe {
            let copy = (self.api.writebatch_create_from)(rep.as_ptr().cast(), rep.len());
            let written = self.call(|error| (self.api.write)(self.db, options, copy, error));
            (self.api.writebatch_destroy)(copy);
            written?;
        }
        self.user_bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn iterator<'a>(&'a self, _task: &mut Task) -> Result<Box<dyn EngineIterator + 'a>> {
        self.poison.check()?;
        // SAFETY: the database outlives the iterator, which borrows it.
        let cursor = unsafe { (self.api.create_iterator)(self.db, self.reads) };
        Ok(Box::new(Iter { engine: self, cursor }))
    }

    keeps_its_own_time!();

    /// Begins to flush the memtable; compactions go on.
    fn begin_settle(&self, _task: &mut Task) -> Result<()> {
        // SAFETY: creates and gives back an object of its own.
        unsafe {
            let options = (self.api.flushoptions_create)();
            (self.api.flushoptions_set_wait)(options, 0);
            let flushed = self.call(|error| (self.api.flush)(self.db, options, error));
            (self.api.flushoptions_destroy)(options);
            flushed
        }
    }

    fn empty_level0(&self, is_asked: bool) -> Result<()> {
        let trigger = if is_asked { 1 } else { self.level0_trigger };
        let (name, value) = (c"level0_file_num_compaction_trigger".as_ptr(), c_string(&trigger.to_string())?);
        // SAFETY: one name and one value, of live strings.
        unsafe { self.call(|error| (self.api.set_options)(self.db, 1, &raw const name, &value.as_ptr(), error)) }
    }

    fn is_settled(&self) -> bool {
        let is_zero = |name: &CStr| self.property(name).unwrap_or_default() == 0;
        is_zero(c"rocksdb.mem-table-flush-pending")
            && is_zero(c"rocksdb.num-running-flushes")
            && is_zero(c"rocksdb.num-running-compactions")
            && (!self.compacts || is_zero(c"rocksdb.compaction-pending"))
    }

    /// What was acknowledged is as durable as the options say; `drop` closes.
    fn close(&self, task: &mut Task) -> Result<()> {
        self.begin_settle(task)
    }

    /// Ends what RocksDB does, so that a stalled writer does not wait for it.
    fn poison(&self, error: &Error) {
        self.poison.set(error);
        // SAFETY: may be called at any time. Without a log it flushes first.
        unsafe { (self.api.cancel_all_background_work)(self.db, 0) };
    }

    fn check(&self) -> Result<()> {
        self.poison.check()?;
        match self.property(c"rocksdb.background-errors") {
            Some(errors) if errors > 0 => Err(Error::poisoned("RocksDB: a flush or a compaction failed")),
            _ => Ok(()),
        }
    }

    fn stats(&self) -> EngineStats {
        let tickers = self.tickers();
        let levels = self.levels();
        let property = |name: &CStr| self.property(name).map(|value| value as f64);
        // SAFETY: takes the cache that `Loaded` holds.
        let cache_bytes = unsafe { (self.api.cache_get_usage)(self.loaded.cache) };
        // SAFETY: as above.
        let capacity = unsafe { (self.api.cache_get_capacity)(self.loaded.cache) };
        let mut details: BTreeMap<String, f64> = [
            ("level0_files", Some(levels.get(&0).map_or(0.0, |(files, _)| *files as f64))),
            ("compaction_pending_bytes", property(c"rocksdb.estimate-pending-compaction-bytes")),
            ("memtable_bytes", property(c"rocksdb.cur-size-all-mem-tables")),
            ("immutable_memtables", property(c"rocksdb.num-immutable-mem-table")),
            ("index_and_filter_bytes", property(c"rocksdb.estimate-table-readers-mem")),
            ("block_cache_bytes", Some(cache_bytes as f64)),
            ("running_flushes", property(c"rocksdb.num-running-flushes")),
            ("running_compactions", property(c"rocksdb.num-running-compactions")),
            ("delayed_write_rate", property(c"rocksdb.actual-delayed-write-rate")),
            ("table_files", Some(levels.values().map(|(files, _)| *files).sum::<u64>() as f64)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect();
        details.extend(levels.iter().map(|(level, (_, bytes))| (format!("level_{level}_bytes"), *bytes as f64)));
        let memory = ["block_cache_bytes", "memtable_bytes", "index_and_filter_bytes"];
        let memory_bytes = memory.iter().filter_map(|name| details.get(*name)).sum::<f64>() as u64;
        EngineStats {
            user_bytes_written: self.user_bytes.load(Ordering::Relaxed),
            cache_hits: tickers.get("block.cache.hit"),
            cache_misses: tickers.get("block.cache.miss"),
            bloom_useful: tickers.get("bloom.filter.useful"),
            bloom_positive: tickers.get("bloom.filter.full.positive"),
            bloom_true_positive: tickers.get("bloom.filter.full.true.positive"),
            cache_share: share(cache_bytes as u64, capacity as u64),
            memory_bytes,
            details,
            ..EngineStats::default()
        }
    }
}

/// A cursor of RocksDB's.
struct Iter<'a> {
    engine: &'a RocksDb,
    cursor: *mut c_api::Cursor,
}

impl Iter<'_> {
    /// Why the cursor stopped, if it is not the end.
    fn check(&self) -> Result<()> {
        // SAFETY: the cursor is live.
        self.engine.call(|error| unsafe { (self.engine.api.iter_get_error)(self.cursor, error) })
    }

    fn slice(&self, part: unsafe extern "C" fn(*const c_api::Cursor, *mut usize) -> *const c_char) -> &[u8] {
        let mut bytes = 0;
        // SAFETY: the caller checked that the cursor is valid; what it shows stays until it moves, which takes `&mut`.
        unsafe { bytes_at(part(self.cursor, &raw mut bytes), bytes) }
    }
}

impl Drop for Iter<'_> {
    fn drop(&mut self) {
        // SAFETY: created once, gone once.
        unsafe { (self.engine.api.iter_destroy)(self.cursor) };
    }
}

impl EngineIterator for Iter<'_> {
    fn seek(&mut self, _task: &mut Task, key: &[u8]) -> Result<()> {
        // SAFETY: the key lives through the call.
        unsafe { (self.engine.api.iter_seek)(self.cursor, key.as_ptr().cast(), key.len()) };
        self.check()
    }

    fn seek_for_prev(&mut self, _task: &mut Task, key: &[u8]) -> Result<()> {
        // SAFETY: the key lives through the call.
        unsafe { (self.engine.api.iter_seek_for_prev)(self.cursor, key.as_ptr().cast(), key.len()) };
        self.check()
    }

    fn next(&mut self, _task: &mut Task) -> Result<()> {
        // SAFETY: the trait's caller saw that the cursor is valid.
        unsafe { (self.engine.api.iter_next)(self.cursor) };
        if self.valid() { Ok(()) } else { self.check() }
    }

    fn prev(&mut self, _task: &mut Task) -> Result<()> {
        // SAFETY: the trait's caller saw that the cursor is valid.
        unsafe { (self.engine.api.iter_prev)(self.cursor) };
        if self.valid() { Ok(()) } else { self.check() }
    }

    fn valid(&self) -> bool {
        // SAFETY: the cursor is live.
        unsafe { (self.engine.api.iter_valid)(self.cursor) != 0 }
    }

    fn key(&self) -> &[u8] {
        self.slice(self.engine.api.iter_key)
    }

    fn value(&self) -> &[u8] {
        self.slice(self.engine.api.iter_value)
    }
}

//! The options of the B-tree: InnoDB's names, MariaDB 10.11's defaults where that server has the option.

use crate::codec::Compression;
use crate::engine_options;
use crate::error::{Error, Result};
use crate::options::Accepts;
use crate::storage::FileOptions;

/// `innodb_purge_batch_size` by default, in undo pages: each transaction has one of its own.
const MARIADB_PURGE_BATCH: u64 = 127;
const MYSQL_PURGE_BATCH: u64 = 300;
const LEAST_PURGE_BATCH: u64 = 16;
/// `BUF_LRU_OLD_MIN_LEN`, and how short a list with an old part is in the smallest copies.
const LRU_OLD_MIN_LEN: u64 = 512;
const LEAST_OLD_MIN_LEN: u64 = 32;
/// Fewest frames of a buffer pool, whatever its size in bytes.
pub const MIN_POOL_PAGES: u64 = 64;

/// The largest number that an index may have. The engine's own trees have those behind it.
pub const MAX_INDEX_NUMBER: u32 = u32::MAX - 2;

/// Pages that are written together, and go through the doublewrite area as one batch.
pub const REGION_PAGES: usize = 128;

/// Pages, of the default pool as of any other.
const LRU_OLD_TOLERANCE: usize = 20;
/// `BUF_LRU_MIN_LEN`: shorter LRU lists need no eviction.
const LRU_MIN_LEN: u64 = 256;

/// Least pages at the cold end of the pool that a round may be told to look at.
const LEAST_SCAN_DEPTH: u64 = 8;

/// InnoDB has no compressed tables with larger pages.
const LARGEST_ZIP_PAGE: u64 = 16384;

/// Least bytes of a page of a compressed table: the unit in which the files are written.
const LEAST_KEY_BLOCK: u64 = 4096;

const ALL_INDEXES: &str = "all";
const COMPRESSED_INDEXES: &str = "all, or index numbers with colons between them, such as 1:2:3";

const PAGE_SIZES: &[u64] = &[4096, 8192, 16384, 32768, 65536];
const LOG_BLOCKS: &[u64] = &[512, 1024, 2048, 4096, 8192, 16384];

const KIB: u64 = 1 << 10;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

engine_options! {
    /// Settings of a B-tree engine.
    Options {
        innodb_buffer_pool_size: u64 = 134_217_728u64, Accepts::Bytes(256 * KIB, 16 * TIB),
            "Size of the cache of pages, clean and dirty; never fewer than 64 pages.";
        innodb_page_size: u64 = 16384u64, Accepts::Sizes(PAGE_SIZES),
            "Size of a page, the unit of reading, caching and writing; fixed when the files are created.";
        innodb_redo_log_capacity: u64 = 100_663_296u64, Accepts::Bytes(256 * KIB, TIB),
            "Size of the redo log; a larger one lets dirty pages gather more changes before they are written.";
        innodb_log_buffer_size: u64 = 16_777_216u64, Accepts::Bytes(16 * KIB, 4 * GIB),
            "Buffer of redo that is not yet written; a writer that fills it writes it out.";
        innodb_log_write_ahead_size: u64 = 512u64, Accepts::Sizes(LOG_BLOCKS),
            "Redo writes are padded to this size, so that the system need not read a block before writing part of it.";
        innodb_flush_log_at_trx_commit: u64 = 1u64, Accepts::Range(0.0, 2.0),
            "When redo reaches the device: 0 each second, 1 at every commit, 2 written at commit and synced each \
             second.";
        innodb_doublewrite: bool = true, Accepts::Switch,
            "Writes every page twice, so that a torn page can be repaired after a crash.";
        innodb_doublewrite_files: u64 = 1u64, Accepts::Range(1.0, 256.0), unit "files",
            "Batches of pages that may be on their way through the doublewrite area at once; until MySQL 8.0.20, and \
             in MariaDB, it is one.";
        innodb_server: String = "mariadb", Accepts::Words(&["mariadb", "mysql"]),
            "Whose InnoDB this is, where they differ: MariaDB writes a fresh page without the doublewrite area and has \
             clients wait for its page cleaner, MySQL does neither.";
        innodb_use_fdatasync: bool = true, Accepts::Switch,
            "Syncs without the times of files, which fsync commits to the journal of the file system.";
        innodb_io_capacity: u64 = 200u64, Accepts::Range(1.0, 4_294_967_295.0), unit "pages/s",
            "Pages per second that background flushing writes in normal times.";
        innodb_io_capacity_max: u64 = 2000u64, Accepts::Range(1.0, 4_294_967_295.0),
            unit "pages/s", at_least innodb_io_capacity,
            "Pages per second that background flushing writes at most.";
        innodb_max_dirty_pages_pct: f64 = 90.0, Accepts::Range(0.0, 99.999),
            unit "percent", at_least innodb_max_dirty_pages_pct_lwm,
            "Part of the pool that may be dirty before flushing runs at full capacity.";
        innodb_max_dirty_pages_pct_lwm: f64 = 0.0, Accepts::Range(0.0, 99.999), unit "percent",
            "Part of the pool that may be dirty before flushing begins ahead of need; 0 switches this off.";
        innodb_adaptive_flushing: bool = true, Accepts::Switch,
            "Flushes by the age of the redo log and the rate at which it fills, besides the number of dirty pages.";
        innodb_adaptive_flushing_lwm: f64 = 10.0, Accepts::Range(0.0, 70.0), unit "percent",
            "Part of the redo log that may be in use before adaptive flushing begins.";
        innodb_flushing_avg_loops: u64 = 30u64, Accepts::Range(1.0, 1000.0), unit "rounds",
            "Rounds over which the flushing rate is averaged; more make it smoother and slower to follow the load.";
        innodb_flush_sync: bool = true, Accepts::Switch,
            "Ignores innodb_io_capacity when the redo log is nearly full.";
        innodb_lru_scan_depth: u64 = 1536u64, Accepts::Range(LEAST_SCAN_DEPTH as f64, 1_048_576.0), unit "pages",
            "Pages at the cold end of the pool that the page cleaner looks at in one pass, to keep free pages at \
             hand.";
        innodb_old_blocks_pct: u64 = 37u64, Accepts::Range(5.0, 95.0), unit "percent",
            "Part of the pool for pages that were read once and not asked for again.";
        innodb_old_blocks_time: u64 = 1000u64, Accepts::Range(0.0, 4_294_967_295.0), unit "ms",
            "Time after the first access before another one makes a page count as hot.";
        innodb_flush_neighbors: u64 = 0u64, Accepts::Range(0.0, 2.0),
            "Also writes dirty neighbours of a page: 0 none, 1 those next to it, 2 all of its extent; it pays on \
             spinning disks.";
        innodb_page_cleaners: u64 = 4u64, Accepts::Range(1.0, 64.0), unit "workers",
            "Background workers that write dirty pages: with doublewrite no more at once than its files, and one that \
             gets ready.";
        innodb_compression_algorithm: String = "none", Accepts::Words(&["none", "zlib", "lz4", "snappy", "zstd"]),
            "Codec of page compression; a page is compressed when it is written and saves whole blocks of the file \
             system.";
        innodb_compression_level: u64 = 6u64, Accepts::Range(1.0, 9.0),
            "Effort of zlib and zstd, in page compression and in compressed tables: 1 is fastest, 9 is smallest.";
        key_block_size: u64 = 0u64, Accepts::Sizes(&[0, 4096, 8192, 16384]),
            "Bytes on storage of every page of compressed tables (ROW_FORMAT=COMPRESSED, KEY_BLOCK_SIZE); 0 leaves \
             tables uncompressed.";
        compressed_indexes: String = ALL_INDEXES, Accepts::Text(COMPRESSED_INDEXES, "all|[0-9]{1,9}(:[0-9]{1,9})*"),
            "Indexes that key_block_size compresses: all, or the numbers of those of some tables, with colons between \
             them; the files in profiles/workloads name them.";
        innodb_read_ahead_threshold: u64 = 56u64, Accepts::Range(0.0, 64.0), unit "pages",
            "Pages of an extent that must be read in order before the next extent is read ahead; 0 switches it off.";
        innodb_change_buffering: String = "none", Accepts::Words(&["none", "inserts", "all"]),
            "Changes of secondary indexes that wait for their leaf to be read if it is not in the pool: none, \
             inserts, or deletes as well.";
        innodb_change_buffer_max_size: u64 = 25u64, Accepts::Range(0.0, 50.0), unit "percent",
            "Share of the pool that the change buffer may take.";
        merge_threshold: u64 = 50u64, Accepts::Range(1.0, 50.0), unit "percent",
            "Fill of a page below which it is merged with a neighbour.";
    }
}

impl Options {
    /// Frames of the buffer pool: pages that it can hold, those of compressed tables in their compressed form alone.
    pub fn pool_frames(&self) -> usize {
        let pages = self.pool_pages() as u64;
        match self.key_block_size {
            0 => pages as usize,
            slot => (pages * (self.innodb_page_size + slot) / slot) as usize,
        }
    }

    /// Pages that the buffer pool can hold, those of compressed tables in both forms.
    pub fn pool_pages(&self) -> usize {
        (self.innodb_buffer_pool_size / (self.innodb_page_size + self.key_block_size)).max(MIN_POOL_PAGES) as usize
    }

    /// Whether tables are compressed into slots of `key_block_size`.
    pub fn has_zip_tables(&self) -> bool {
        self.key_block_size > 0
    }

    /// Whether some tables are compressed and others are not, and each kind has a tablespace of its own.
    pub fn is_mixed(&self) -> bool {
        self.has_zip_tables() && self.compressed_indexes != ALL_INDEXES
    }

    /// The numbers in `compressed_indexes`, in order; none if it is no list of numbers.
    pub fn compressed_numbers(&self) -> Option<Vec<u32>> {
        let number = |text: &str| text.parse().ok().filter(|number| *number <= MAX_INDEX_NUMBER);
        let mut numbers = self.compressed_indexes.split(':').map(number).collect::<Option<Vec<u32>>>()?;
        numbers.sort_unstable();
        Some(numbers)
    }

    /// Whether inserts into leaves of secondary indexes are buffered, as they are wherever anything is.
    pub fn buffers_puts(&self) -> bool {
        self.innodb_change_buffering != "none"
    }

    /// Whether deletes are.
    pub fn buffers_removals(&self) -> bool {
        self.innodb_change_buffering == "all"
    }

    /// Nanoseconds between rounds of the page cleaner.
    pub fn round_ns(&self) -> u64 {
        self.scale.second_us() * 1000
    }

    /// Rounds of the page cleaner in a second of the clock.
    pub fn rounds_per_second(&self) -> f64 {
        1e6 / self.scale.second_us() as f64
    }

    /// How long a page stays old after its first access, whatever follows.
    pub fn old_time_ns(&self) -> u64 {
        self.innodb_old_blocks_time.saturating_mul(self.scale.second_us())
    }

    /// Pages at the cold end of the pool, of which InnoDB counts so many. The pool of a copy is smaller, so is this;
    /// but clients take frames while a batch is written, which takes as long in a copy: so never less than two batches
    /// or a 16th of the pool.
    pub fn at_cold_end(&self, pages: u64) -> usize {
        let least = pages.min(2 * REGION_PAGES as u64).min(self.pool_pages() as u64 / 16);
        self.scale.per_second(pages).max(least) as usize
    }

    /// Frames that the page cleaner frees pages up to.
    pub fn scan_depth(&self) -> usize {
        let depth = self.innodb_lru_scan_depth;
        if !self.has_frames_of_full_size() {
            return self.at_cold_end(depth);
        }
        self.scale.per_second(depth).max(depth.min(2 * REGION_PAGES as u64)) as usize
    }

    fn has_frames_of_full_size(&self) -> bool {
        !self.scale.is_full() && !self.has_zip_tables()
    }

    /// Frames that a copy has beyond its part of the pool, because they do not shrink with it: those that are kept
    /// free beyond its part of them, and, while they are written to make room, those of a batch. At full size both are
    /// a part of the pool that nobody sees; of a pool of 300 frames they would be most. None in pools of compressed
    /// tables, of which not all frames have the same size.
    pub fn frames_of_full_size(&self) -> (usize, usize) {
        if !self.has_frames_of_full_size() {
            return (0, 0);
        }
        let share = self.scale.per_second(self.innodb_lru_scan_depth) as usize;
        (self.scan_depth() - share, REGION_PAGES - self.scale.standing_in(REGION_PAGES as u64) as usize)
    }

    /// Pages that one pass over the cold end writes at most in MariaDB, where passes follow one another.
    pub fn most_of_a_pass(&self) -> usize {
        self.scale.per_second(self.innodb_io_capacity_max).max(REGION_PAGES as u64) as usize
    }

    /// Undo logs that purge goes through at a time: `innodb_purge_batch_size`, of which as many come by while the pool
    /// turns over once in a copy; jobs for fewer than [`LEAST_PURGE_BATCH`] cost more events than they show.
    pub fn purge_batch(&self) -> usize {
        let full = if self.is_mysql() { MYSQL_PURGE_BATCH } else { MARIADB_PURGE_BATCH };
        self.scale.per_second(full).max(LEAST_PURGE_BATCH).min(self.pool_pages() as u64 * 3 / 4).max(1) as usize
    }

    /// `BUF_LRU_OLD_MIN_LEN`: pages from which on the LRU list has an old part.
    pub fn old_min_len(&self) -> usize {
        self.scale.per_second(LRU_OLD_MIN_LEN).max(LEAST_OLD_MIN_LEN) as usize
    }

    /// `BUF_LRU_OLD_TOLERANCE`: pages by which the old part may be off its share. A copy has as much of it as of the
    /// pages that the cleaner frees at once: what is beyond it makes pages young that come in.
    pub fn lru_old_tolerance(&self) -> usize {
        LRU_OLD_TOLERANCE * self.scan_depth() / self.innodb_lru_scan_depth as usize
    }

    /// `BUF_LRU_MIN_LEN`: length of the LRU list from which on pages are evicted before anybody asks.
    pub fn lru_min_len(&self) -> usize {
        self.scale.per_second(LRU_MIN_LEN) as usize
    }

    /// Pages that a pass leaves in the LRU list: MariaDB's `buf_lru_min_len`; MySQL's is larger than its smallest
    /// pools, and half of one that is smaller still.
    pub fn least_lru_len(&self) -> usize {
        let of_pool = if self.is_mysql() { self.pool_frames() / 2 } else { self.pool_frames() / 20 - 1 };
        self.lru_min_len().min(of_pool)
    }

    /// Whether this is MySQL's InnoDB, and not MariaDB's.
    pub fn is_mysql(&self) -> bool {
        self.innodb_server == "mysql"
    }

    /// As they count on a device that rotates, or does not: MariaDB then writes no neighbours, whatever it was told
    /// (`buf_flush_LRU_list_batch`, `fil_space_t::is_rotational`).
    #[must_use]
    pub fn on_device(self, rotates: bool) -> Self {
        let told = self.innodb_flush_neighbors;
        let innodb_flush_neighbors = if rotates || self.is_mysql() { told } else { 0 };
        Self { innodb_flush_neighbors, ..self }
    }

    /// How a file of the engine is opened: synced as they say.
    pub fn opened(&self, how: FileOptions) -> FileOptions {
        how.with_times(!self.innodb_use_fdatasync)
    }

    /// The page compression.
    pub fn compression(&self) -> Compression {
        match self.innodb_compression_algorithm.as_str() {
            "zlib" => Compression::Zlib,
            "lz4" => Compression::Lz4,
            "snappy" => Compression::Snappy,
            "zstd" => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// Checks that span options.
    pub fn check(&self) -> Result<()> {
        if self.innodb_io_capacity_max < self.innodb_io_capacity {
            let least = format!("at least innodb_io_capacity, {}", self.innodb_io_capacity);
            return Err(Error::invalid("options.innodb_io_capacity_max", self.innodb_io_capacity_max, least));
        }
        if self.innodb_max_dirty_pages_pct_lwm > self.innodb_max_dirty_pages_pct {
            let most = format!("at most innodb_max_dirty_pages_pct, {}", self.innodb_max_dirty_pages_pct);
            let field = "options.innodb_max_dirty_pages_pct_lwm";
            return Err(Error::invalid(field, self.innodb_max_dirty_pages_pct_lwm, most));
        }
        self.check_key_block_size()?;
        let least = 8 * self.innodb_page_size.max(self.innodb_log_write_ahead_size);
        if self.innodb_redo_log_capacity < least {
            let accepted = format!("at least 8 pages, {least}");
            return Err(Error::invalid("options.innodb_redo_log_capacity", self.innodb_redo_log_capacity, accepted));
        }
        Ok(())
    }

    fn check_key_block_size(&self) -> Result<()> {
        if self.compressed_indexes != ALL_INDEXES && self.compressed_numbers().is_none() {
            return Err(Error::invalid("options.compressed_indexes", &self.compressed_indexes, COMPRESSED_INDEXES));
        }
        if !self.has_zip_tables() {
            return Ok(());
        }
        let size = self.key_block_size;
        let wrong = |accepted: String| Err(Error::invalid("options.key_block_size", size, accepted));
        if !size.is_power_of_two() || size < LEAST_KEY_BLOCK || size > self.innodb_page_size {
            return wrong(format!("0, or a power of two from 4096 to innodb_page_size, {}", self.innodb_page_size));
        }
        if self.innodb_page_size > LARGEST_ZIP_PAGE {
            return wrong(format!("0 with an innodb_page_size of more than {LARGEST_ZIP_PAGE}"));
        }
        if self.compression() != Compression::None {
            return wrong(
                "0 with innodb_compression_algorithm: a table has compressed pages or page compression".into(),
            );
        }
        Ok(())
    }
}

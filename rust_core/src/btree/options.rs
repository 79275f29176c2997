//! The options of the B-tree: InnoDB's names, MariaDB 10.11's defaults where that server has the option.

use super::change_buffer::CHANGE_TREE;
use super::doublewrite::REGION_PAGES;
use super::page_file::BLOCK_BYTES;
use super::tablespaces::Tablespace;
use crate::codec::Compression;
use crate::engine_options;
use crate::error::{Error, Result};
use crate::options::Accepts;
use crate::storage::StorageFile;

/// Fewest frames of a buffer pool, whatever its size in bytes.
pub const MIN_POOL_PAGES: u64 = 64;

/// Least pages at the cold end of the pool that a round may be told to look at.
const LEAST_SCAN_DEPTH: u64 = 8;

/// InnoDB has no compressed tables with larger pages.
const LARGEST_PACKED_PAGE: u64 = 16384;

const ALL_INDEXES: &str = "all";
const COMPRESSED_INDEXES: &str = "all, or index numbers with colons between them";

const KIB: f64 = 1024.0;
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
const TIB: f64 = 1024.0 * GIB;

engine_options! {
    /// Settings of a B-tree engine.
    Options {
        innodb_buffer_pool_size: u64 = 134_217_728u64, Accepts::Range(256.0 * KIB, 16.0 * TIB),
            "Bytes of page frames; never fewer than 64 pages.";
        innodb_page_size: u64 = 16384u64, Accepts::PowerOfTwo(4096, 65536),
            "Bytes of a page, fixed when the files are created.";
        innodb_redo_log_capacity: u64 = 100_663_296u64, Accepts::Range(256.0 * KIB, TIB),
            "Bytes of the whole redo log; limits how far the checkpoint may fall behind.";
        innodb_log_buffer_size: u64 = 16_777_216u64, Accepts::Range(16.0 * KIB, 4.0 * GIB),
            "Bytes of redo that are held in memory before a writer must write them out.";
        innodb_log_write_ahead_size: u64 = 512u64, Accepts::PowerOfTwo(512, 16384),
            "A redo write that enters a new block of this size is padded to its end.";
        innodb_flush_log_at_trx_commit: u64 = 1u64, Accepts::Range(0.0, 2.0),
            "1 writes and syncs redo at commit, 2 writes at commit and syncs once a second, 0 does both once a second.";
        innodb_doublewrite: bool = true, Accepts::Switch,
            "Write pages to the doublewrite area before their place, so that torn pages can be repaired.";
        innodb_doublewrite_files: u64 = 1u64, Accepts::Range(1.0, 256.0),
            "Batches of pages that may be on their way through the doublewrite area at once.";
        innodb_use_fdatasync: bool = true, Accepts::Switch,
            "Sync with fdatasync, which leaves out the times of files that fsync commits to the file system's journal.";
        innodb_io_capacity: u64 = 200u64, Accepts::Range(1.0, 4_294_967_295.0),
            "Pages per second that background flushing aims at.";
        innodb_io_capacity_max: u64 = 2000u64, Accepts::Range(1.0, 4_294_967_295.0),
            "Pages per second that background flushing may reach under pressure.";
        innodb_max_dirty_pages_pct: f64 = 90.0, Accepts::Range(0.0, 99.999),
            "Percent of dirty pages at which flushing runs at full io_capacity.";
        innodb_max_dirty_pages_pct_lwm: f64 = 0.0, Accepts::Range(0.0, 99.999),
            "Percent of dirty pages at which flushing begins; 0 leaves it to the maximum.";
        innodb_adaptive_flushing: bool = true, Accepts::Switch,
            "Flush ahead by the age of the redo log and the rate at which it fills.";
        innodb_adaptive_flushing_lwm: f64 = 10.0, Accepts::Range(0.0, 70.0),
            "Percent of the redo log's usable size below which its age does not matter.";
        innodb_flushing_avg_loops: u64 = 30u64, Accepts::Range(1.0, 1000.0),
            "Seconds over which flush and redo rates are averaged.";
        innodb_flush_sync: bool = true, Accepts::Switch,
            "Exceed io_capacity when the redo log is nearly full.";
        innodb_lru_scan_depth: u64 = 1536u64, Accepts::Range(LEAST_SCAN_DEPTH as f64, 1_048_576.0),
            "Pages at the cold end of the pool that one pass of the cleaner looks at and keeps free.";
        innodb_old_blocks_pct: u64 = 37u64, Accepts::Range(5.0, 95.0),
            "Percent of the pool that holds pages not yet proven hot.";
        innodb_old_blocks_time: u64 = 1000u64, Accepts::Range(0.0, 4_294_967_295.0),
            "Milliseconds that a page stays old after its first access, whatever follows.";
        innodb_flush_neighbors: u64 = 0u64, Accepts::Range(0.0, 2.0),
            "Also flush dirty pages beside a flushed one: 0 none, 1 adjacent, 2 in the extent. MariaDB ignores it on flash.";
        innodb_page_cleaners: u64 = 4u64, Accepts::Range(1.0, 64.0),
            "Page flush jobs that may run at once: with doublewrite no more than its files, and one that gets ready.";
        innodb_compression_algorithm: String = "none", Accepts::Words(&["none", "zlib", "lz4", "snappy", "zstd"]),
            "Compress pages when they are written, and punch a hole for what is saved.";
        innodb_compression_level: u64 = 6u64, Accepts::Range(1.0, 9.0),
            "Effort of zlib and zstd page compression, and of compressed tables.";
        key_block_size: u64 = 0u64, Accepts::Range(0.0, 16384.0),
            "Bytes on storage of every page of compressed tables (ROW_FORMAT=COMPRESSED): 4096, 8192 or 16384; 0 is off.";
        compressed_indexes: String = ALL_INDEXES, Accepts::Text(COMPRESSED_INDEXES),
            "Indexes that key_block_size compresses: all, or their numbers with colons between them, such as 1:2:3.";
        innodb_read_ahead_threshold: u64 = 56u64, Accepts::Range(0.0, 64.0),
            "Pages of an extent read in order that trigger reading the next extent; 0 is off.";
        innodb_change_buffering: String = "none", Accepts::Words(&["none", "inserts", "all"]),
            "Buffer changes of leaves of secondary indexes that are not in the pool: none, inserts, or deletes as well.";
        innodb_change_buffer_max_size: u64 = 25u64, Accepts::Range(0.0, 50.0),
            "Percent of the pool that the change buffer may take.";
        merge_threshold: u64 = 50u64, Accepts::Range(1.0, 50.0),
            "Percent of fill below which a page is merged with a neighbour.";
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
    pub fn is_packed(&self) -> bool {
        self.key_block_size > 0
    }

    /// Whether some tables are compressed and others are not, and each kind has a tablespace of its own.
    pub fn is_mixed(&self) -> bool {
        self.is_packed() && self.compressed_indexes != ALL_INDEXES
    }

    /// Whether the tables in a tablespace are compressed.
    pub fn is_packed_in(&self, tablespace: Tablespace) -> bool {
        self.is_packed() && (tablespace == Tablespace::Compressed || !self.is_mixed())
    }

    /// The numbers in `compressed_indexes`, in order; none if it is no list of numbers.
    pub fn compressed_numbers(&self) -> Option<Vec<u32>> {
        let number = |text: &str| text.parse().ok().filter(|number| *number < CHANGE_TREE);
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

    /// Bytes of a page in the file of a tablespace.
    pub fn slot_bytes(&self, tablespace: Tablespace) -> usize {
        if self.is_packed_in(tablespace) { self.key_block_size as usize } else { self.innodb_page_size as usize }
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

    /// Pages at the cold end that a round looks at. A round that is shorter than a second is one of a smaller pool, of which
    /// the full depth would be a large part. But clients take frames while a batch is written, which takes as long in a small
    /// pool as in a large one: never less than two batches free.
    pub fn scan_depth(&self) -> usize {
        let of_round = self.scale.per_second(self.innodb_lru_scan_depth);
        of_round.max(self.innodb_lru_scan_depth.min(2 * REGION_PAGES as u64)) as usize
    }

    /// Has a file of the engine synced as they say.
    pub fn set_syncs(&self, file: &dyn StorageFile) {
        if !self.innodb_use_fdatasync {
            file.sync_times();
        }
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
        if !self.is_packed() {
            return Ok(());
        }
        let size = self.key_block_size;
        let wrong = |accepted: String| Err(Error::invalid("options.key_block_size", size, accepted));
        if !size.is_power_of_two() || size < BLOCK_BYTES as u64 || size > self.innodb_page_size {
            return wrong(format!("0, or a power of two from 4096 to innodb_page_size, {}", self.innodb_page_size));
        }
        if self.innodb_page_size > LARGEST_PACKED_PAGE {
            return wrong(format!("0 with an innodb_page_size of more than {LARGEST_PACKED_PAGE}"));
        }
        if self.compression() != Compression::None {
            return wrong(
                "0 with innodb_compression_algorithm: a table has compressed pages or page compression".into(),
            );
        }
        Ok(())
    }
}

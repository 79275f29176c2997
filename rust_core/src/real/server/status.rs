//! What a server counts of its engine, in the vocabulary of our own.

use super::StorageEngine;
use crate::metrics::{EngineStats, MetersSnapshot, Purpose, PurposeCounts, share};
use crate::real::kernel::Kernel;
use std::collections::BTreeMap;

/// The status variables at one moment, names in lower case, and what the kernel counted.
#[derive(Debug, Clone, Default)]
pub struct Status {
    variables: BTreeMap<String, u64>,
    /// Bytes that the engine itself says it has in memory.
    memory_bytes: u64,
    /// Bytes in MyRocks' block cache, and those that fit in.
    block_cache: (u64, u64),
    kernel: Kernel,
}

/// What MyRocks calls the bytes in its block cache, and what the query beside it calls those that fit in.
const BLOCK_CACHE_USAGE: &str = "DB_BLOCK_CACHE_USAGE";
const BLOCK_CACHE_CAPACITY: &str = "BLOCK_CACHE_CAPACITY";

/// Gauges and counters that reports show as they are.
const DETAILS: [&str; 18] = [
    "innodb_checkpoint_age",
    "innodb_history_list_length",
    "innodb_buffer_pool_pages_dirty",
    "innodb_buffer_pool_pages_data",
    "innodb_buffer_pool_pages_total",
    "innodb_buffer_pool_wait_free",
    "innodb_log_waits",
    "innodb_pages_created",
    "innodb_pages_read",
    "innodb_pages_written",
    "innodb_row_lock_waits",
    "innodb_deadlocks",
    "rocksdb_memtable_total",
    "rocksdb_memtable_unflushed",
    "rocksdb_number_keys_read",
    "rocksdb_number_keys_written",
    "rocksdb_row_lock_deadlocks",
    "rocksdb_stall_micros",
];

impl Status {
    /// From the rows of `SHOW GLOBAL STATUS`, of which those that are no whole number are left out, and of what the
    /// engine says about its memory elsewhere, each a name and bytes: what is in memory, and how much its cache takes.
    pub fn new(
        rows: impl IntoIterator<Item = (String, String)>,
        memory: impl IntoIterator<Item = (String, String)>,
        kernel: Kernel,
    ) -> Self {
        let numbers = rows.into_iter().filter_map(|(name, value)| Some((name.to_lowercase(), value.parse().ok()?)));
        let variables: BTreeMap<String, u64> = numbers.collect();
        let in_pool = variables.get("innodb_buffer_pool_bytes_data").copied().unwrap_or_default();
        let told = memory.into_iter().filter_map(|(name, bytes)| Some((name, bytes.parse::<u64>().ok()?)));
        let (capacity, held): (Vec<_>, Vec<_>) = told.partition(|(name, _)| name == BLOCK_CACHE_CAPACITY);
        let bytes_of = |rows: &[(String, u64)]| rows.iter().map(|(_, bytes)| bytes).sum::<u64>();
        let cached = held.iter().find(|(name, _)| name == BLOCK_CACHE_USAGE).map_or(0, |(_, bytes)| *bytes);
        let memory_bytes = if held.is_empty() { in_pool } else { bytes_of(&held) };
        Self { variables, memory_bytes, block_cache: (cached, bytes_of(&capacity)), kernel }
    }

    /// A variable; 0 where this server has none of that name.
    pub fn get(&self, name: &str) -> u64 {
        self.variables.get(name).copied().unwrap_or_default()
    }

    /// Bytes by purpose since the server began.
    pub fn meters(&self, engine: StorageEngine) -> MetersSnapshot {
        let of_engine = match engine {
            StorageEngine::InnoDb => self.of_innodb(),
            StorageEngine::MyRocks => self.of_rocksdb(),
        };
        let binary_log = written(self.get("binlog_bytes_written"), 0);
        MetersSnapshot::of_counts(of_engine.into_iter().chain([(Purpose::BinaryLog, binary_log)]))
    }

    fn of_innodb(&self) -> Vec<(Purpose, PurposeCounts)> {
        let page = self.get("innodb_page_size");
        let redo = written(self.get("innodb_os_log_written"), self.get("innodb_log_writes"));
        let doublewrite = written(self.get("innodb_dblwr_pages_written") * page, self.get("innodb_dblwr_writes"));
        let pages = self.get("innodb_pages_written");
        // Of what InnoDB compresses itself it asks for whole pages, of which a device gives what no hole took, and it
        // says what writes of pages left out; the doublewrite buffer takes whole ones.
        let has_holes = self.get("innodb_num_pages_page_compressed") > 0;
        let saved = self.get("innodb_page_compression_saved");
        let read = PurposeCounts {
            read_bytes: if has_holes { self.kernel.read_bytes } else { self.get("innodb_data_read") },
            reads: self.get("innodb_data_reads"),
            ..PurposeCounts::default()
        };
        vec![
            (Purpose::Redo, redo),
            (Purpose::Doublewrite, doublewrite),
            (Purpose::PageFlush, written((pages * page).saturating_sub(saved), pages)),
            (Purpose::AllReads, read),
        ]
    }

    /// RocksDB in a server says how many blocks it read, but not their bytes: those are what the process read from
    /// files, whether a device or the page cache gave them.
    fn of_rocksdb(&self) -> Vec<(Purpose, PurposeCounts)> {
        let wal = PurposeCounts { syncs: self.get("rocksdb_wal_synced"), ..written(self.get("rocksdb_wal_bytes"), 0) };
        let read = PurposeCounts {
            read_bytes: self.kernel.asked_bytes,
            reads: self.get("rocksdb_block_cache_miss"),
            ..PurposeCounts::default()
        };
        vec![
            (Purpose::Wal, wal),
            (Purpose::Flush, written(self.get("rocksdb_flush_write_bytes"), 0)),
            (Purpose::AllCompactions, written(self.get("rocksdb_compact_write_bytes"), 0)),
            (Purpose::AllReads, read),
        ]
    }

    /// Counters and gauges. Memory is the engine's own count: pages in the pool; or memtables, block cache, and what
    /// files keep of indexes and filters.
    pub fn engine_stats(&self, engine: StorageEngine) -> EngineStats {
        let (hits, misses) = match engine {
            StorageEngine::InnoDb => {
                let misses = self.get("innodb_buffer_pool_reads");
                (self.get("innodb_buffer_pool_read_requests").saturating_sub(misses), misses)
            }
            StorageEngine::MyRocks => (self.get("rocksdb_block_cache_hit"), self.get("rocksdb_block_cache_miss")),
        };
        let own = DETAILS.iter().filter(|name| name.starts_with(engine.prefix()));
        let known = own.filter_map(|name| Some((name.to_string(), *self.variables.get(*name)? as f64)));
        EngineStats {
            cache_hits: hits,
            cache_misses: misses,
            bloom_useful: self.get("rocksdb_bloom_filter_useful"),
            bloom_positive: self.get("rocksdb_bloom_filter_full_positive"),
            bloom_true_positive: self.get("rocksdb_bloom_filter_full_true_positive"),
            cache_share: match engine {
                StorageEngine::InnoDb => {
                    let (free, all) = ("innodb_buffer_pool_pages_free", "innodb_buffer_pool_pages_total");
                    share(self.get(all).saturating_sub(self.get(free)), self.get(all))
                }
                StorageEngine::MyRocks => share(self.block_cache.0, self.block_cache.1),
            },
            memory_bytes: self.memory_bytes,
            details: known.collect(),
            ..EngineStats::default()
        }
    }
}

fn written(written_bytes: u64, writes: u64) -> PurposeCounts {
    PurposeCounts { written_bytes, writes, ..PurposeCounts::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(rows: &[(&str, &str)]) -> Status {
        let rows = rows.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        let memory = [("DB_BLOCK_CACHE_USAGE", "800"), ("b", "88"), ("BLOCK_CACHE_CAPACITY", "1600")]
            .map(|(name, value)| (name.to_string(), value.to_string()));
        Status::new(rows, memory, Kernel { asked_bytes: 777, read_bytes: 40_960, ..Kernel::default() })
    }

    #[test]
    fn pages_of_innodb_become_bytes_by_purpose() {
        let status = status(&[
            ("Innodb_page_size", "16384"),
            ("Innodb_dblwr_pages_written", "2"),
            ("Innodb_pages_written", "3"),
            ("Innodb_os_log_written", "512"),
            ("Innodb_data_reads", "5"),
            ("Innodb_data_read", "81920"),
            ("Innodb_buffer_pool_load_status", "completed"),
        ]);
        let meters = status.meters(StorageEngine::InnoDb);
        assert_eq!(meters.of(Purpose::Doublewrite).written_bytes, 32_768);
        assert_eq!(meters.of(Purpose::PageFlush).written_bytes, 49_152);
        assert_eq!(meters.of(Purpose::AllReads).reads, 5);
        assert_eq!(meters.total().written_bytes, 512 + 5 * 16_384);
    }

    #[test]
    fn holes_of_compressed_pages_are_neither_read_nor_written() {
        let status = status(&[
            ("Innodb_page_size", "16384"),
            ("Innodb_dblwr_pages_written", "2"),
            ("Innodb_pages_written", "3"),
            ("Innodb_num_pages_page_compressed", "2"),
            ("Innodb_page_compression_saved", "16384"),
            ("Innodb_data_reads", "5"),
            ("Innodb_data_read", "81920"),
        ]);
        let meters = status.meters(StorageEngine::InnoDb);
        assert_eq!(meters.of(Purpose::PageFlush).written_bytes, 3 * 16_384 - 16_384);
        assert_eq!(meters.of(Purpose::Doublewrite).written_bytes, 2 * 16_384);
        assert_eq!(meters.of(Purpose::AllReads).read_bytes, 40_960);
    }

    #[test]
    fn a_server_with_rocksdb_says_bytes_that_the_kernel_counted() {
        let status = status(&[("Rocksdb_wal_bytes", "10"), ("Rocksdb_block_cache_miss", "4")]);
        let meters = status.meters(StorageEngine::MyRocks);
        assert_eq!((meters.of(Purpose::AllReads).reads, meters.of(Purpose::AllReads).read_bytes), (4, 777));
        let stats = status.engine_stats(StorageEngine::MyRocks);
        assert_eq!((stats.memory_bytes, stats.cache_share), (888, Some(0.5)));
    }

    #[test]
    fn a_pool_is_full_as_far_as_its_pages_are_not_free() {
        let status = status(&[("Innodb_buffer_pool_pages_total", "40"), ("Innodb_buffer_pool_pages_free", "10")]);
        assert_eq!(status.engine_stats(StorageEngine::InnoDb).cache_share, Some(0.75));
    }
}

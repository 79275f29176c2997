//! What an engine counted, and how it stands.

use super::db_impl::DbImpl;
use super::wal::LogWriter;
use crate::engine::EngineStats;
use crate::metrics::share;
use std::sync::atomic::{AtomicU64, Ordering};

impl DbImpl {
    /// Counters and gauges.
    pub fn stats(&self) -> EngineStats {
        let super_version = self.super_version.load_full();
        let cache = self.tables.cache.stats();
        let memtables = std::iter::once(&super_version.memtable).chain(&super_version.immutables);
        let memtable_bytes = memtables.map(|memtable| memtable.memory_bytes()).sum::<u64>();
        let resident = super_version.version.all_files().map(|file| file.table.resident_bytes()).sum::<u64>();
        let index_and_filter_bytes = resident + self.tables.cache.part_bytes();
        let buffered = self.log.lock().as_ref().map_or(0, LogWriter::buffered_bytes) as u64;
        let level_bytes = super_version.version.level_bytes();
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (background, counters) = (self.background.lock(), &self.counters);
        let mut details = vec![
            ("level0_files".to_owned(), super_version.version.level0.len() as f64),
            ("base_level".to_owned(), super_version.version.targets.base_level as f64),
            ("table_files".to_owned(), super_version.version.all_files().count() as f64),
            ("compaction_pending_bytes".to_owned(), super_version.version.pending_bytes as f64),
            ("memtable_bytes".to_owned(), memtable_bytes as f64),
            ("immutable_memtables".to_owned(), super_version.immutables.len() as f64),
            ("index_and_filter_bytes".to_owned(), index_and_filter_bytes as f64),
            ("block_cache_bytes".to_owned(), cache.bytes as f64),
            ("wal_bytes".to_owned(), self.logs.bytes() as f64),
            ("running_flushes".to_owned(), background.running_flushes as f64),
            ("running_compactions".to_owned(), background.compactions.len() as f64),
            ("delayed_write_rate".to_owned(), background.write_controller.rate() as f64),
            ("flushes".to_owned(), load(&counters.flushes) as f64),
            ("compactions".to_owned(), load(&counters.compactions) as f64),
            ("level0_merges".to_owned(), load(&counters.level0_merges) as f64),
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
            cache_share: share(cache.bytes, self.options.block_cache),
            memory_bytes: cache.bytes + memtable_bytes + index_and_filter_bytes + buffered,
            debt_bytes: super_version.version.debt_bytes(memtable_bytes, &self.options),
            details: details.into_iter().collect(),
            ..EngineStats::default()
        }
    }
}

//! What an engine counts.

use std::collections::BTreeMap;

/// Counters since open and gauges of now. Rates and ratios are made from two of these by `metrics`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EngineStats {
    /// Key and value bytes of all writes.
    pub user_bytes_written: u64,
    /// Blocks or pages found in the cache.
    pub cache_hits: u64,
    /// Blocks or pages read from storage because the cache lacked them.
    pub cache_misses: u64,
    /// Filter questions answered `absent`.
    pub bloom_useful: u64,
    /// Filter questions answered `maybe present`.
    pub bloom_positive: u64,
    /// Filter questions answered `maybe present` for a key that was there.
    pub bloom_true_positive: u64,
    /// Bytes of memory in use: caches, memtables, filters, buffers.
    pub memory_bytes: u64,
    /// How full the block cache or pool is, from 0 to 1; `None` where there is none, or where nobody tells.
    pub cache_share: Option<f64>,
    /// Bytes of files that are written over and over, whatever the data: a redo log, a doublewrite area. They are no
    /// part of what data takes.
    pub circular_bytes: u64,
    /// Bytes that background work has still to write for what clients wrote: what is in memory alone, and what is not
    /// yet where it is to stay.
    pub debt_bytes: u64,
    /// Whatever else the engine counts, under the real product's names (`compaction_pending_bytes`, `level0_files`,
    /// `checkpoint_age`, …). All are plain numbers.
    pub details: BTreeMap<String, f64>,
}

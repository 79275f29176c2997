//! The crash matrix of the LSM: option sets that lead through different code.

use super::*;
use crate::crash_matrix::fail_each_access_once;
use crate::crash_matrix::{
    Commits, Cursors, Subject, cut_power_everywhere, cut_power_while_threads_run, fail_one_access_while_threads_run,
};
use crate::engine::KeyLayout;
use serde_json::json;

struct LsmSubject(Options);

impl Subject for LsmSubject {
    type Engine = Lsm;

    fn open(&self, storage: Arc<dyn Storage>, signal: Arc<Signal>, task: &mut Task) -> Result<Arc<Lsm>> {
        Lsm::open(storage, self.0.clone(), signal, task)
    }

    fn layout(&self) -> KeyLayout {
        KeyLayout::Plain
    }

    fn commits(&self) -> Commits {
        match &self.0 {
            Options { disable_wal: true, .. } => Commits::Unlogged,
            Options { sync: true, .. } => Commits::Synced,
            Options { manual_wal_flush: true, .. } => Commits::Buffered,
            _ => Commits::Written,
        }
    }

    fn cursors(&self) -> Cursors {
        Cursors::Snapshot
    }
}

/// Names of option sets and what they set, beside the small sizes of all.
fn option_sets() -> Vec<(&'static str, Value)> {
    vec![
        ("snappy", json!({})),
        (
            "tiny memtables",
            json!({"write_buffer_size": 16384, "target_file_size_base": 16384,
            "max_bytes_for_level_base": 32768}),
        ),
        ("rolled manifest", json!({"max_manifest_file_size": 0})),
        (
            "log flushed by hand",
            json!({"manual_wal_flush": true, "min_write_buffer_number_to_merge": 2,
            "max_write_buffer_number": 4}),
        ),
        (
            "several memtables and jobs",
            json!({"max_background_jobs": 8, "max_write_buffer_number": 6,
            "write_buffer_size": 16384}),
        ),
        (
            "merged memtables",
            json!({"max_background_jobs": 4, "min_write_buffer_number_to_merge": 3,
            "max_write_buffer_number": 8, "max_manifest_file_size": 0}),
        ),
        ("no compression", json!({"compression": "kNoCompression", "block_size": 4096, "filter_policy": "nullptr"})),
        (
            "lz4 over zstd",
            json!({"compression": "kLZ4Compression", "bottommost_compression": "kZSTD",
            "optimize_filters_for_hits": true}),
        ),
        (
            "zlib by level",
            json!({"compression_per_level": "kNoCompression:kSnappyCompression:kZlibCompression",
            "compression_opts_level": 6, "block_restart_interval": 2}),
        ),
        (
            "direct I/O",
            json!({"use_direct_reads": true, "use_direct_io_for_flush_and_compaction": true,
            "compaction_readahead_size": 0}),
        ),
        ("unlogged", json!({"disable_wal": true})),
        ("synced", json!({"sync": true})),
        (
            "static levels",
            json!({"level_compaction_dynamic_level_bytes": false, "num_levels": 3,
            "target_file_size_multiplier": 2, "compaction_pri": "kByCompensatedSize",
            "wal_recovery_mode": "kPointInTimeRecovery"}),
        ),
        (
            "prefixes and index in the cache",
            json!({"prefix_extractor": "fixed:3", "whole_key_filtering": false,
            "cache_index_and_filter_blocks": true, "pin_l0_filter_and_index_blocks_in_cache": true, "block_cache": 0,
            "format_version": 2}),
        ),
        (
            "no compactions",
            json!({"disable_auto_compactions": true, "level0_slowdown_writes_trigger": 1000,
            "level0_stop_writes_trigger": 1000}),
        ),
    ]
}

fn subject(settings: &Value) -> LsmSubject {
    let mut small = json!({"write_buffer_size": 32768});
    small.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    LsmSubject(tiny(&small))
}

#[test]
fn a_power_cut_anywhere_leaves_a_prefix_with_all_that_was_synced() {
    for (name, settings) in option_sets() {
        cut_power_everywhere(name, subject(&settings), 2500, 89);
    }
}

#[test]
fn one_fault_anywhere_loses_nothing_that_was_acknowledged() {
    for (name, settings) in option_sets() {
        fail_each_access_once(name, subject(&settings), 500, 97);
    }
}

#[test]
fn a_power_cut_while_threads_run_leaves_a_prefix_of_each_writer() {
    for (name, settings) in option_sets() {
        cut_power_while_threads_run(name, subject(&settings), 1);
    }
}

#[test]
fn one_fault_while_threads_run_loses_nothing_that_was_acknowledged() {
    for (name, settings) in option_sets() {
        fail_one_access_while_threads_run(name, subject(&settings), 2);
    }
}

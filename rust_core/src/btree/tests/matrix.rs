//! The crash matrix of the B-tree: option sets that lead through different code.

use super::{options, structure};
use crate::btree::{Btree, Options};
use crate::crash_matrix::{
    Commits, Cursors, Subject, cut_power_everywhere, cut_power_while_threads_run, fail_each_access_once,
};
use crate::engine::KeyLayout;
use crate::error::{Error, Result};
use crate::storage::Storage;
use crate::task::{Signal, Task};
use std::sync::Arc;

struct BtreeSubject {
    options: Options,
    layout: KeyLayout,
}

impl Subject for BtreeSubject {
    type Engine = Btree;

    fn open(&self, storage: Arc<dyn Storage>, signal: Arc<Signal>, task: &mut Task) -> Result<Arc<Btree>> {
        Btree::open(storage, self.options.clone(), self.layout, signal, task)
    }

    fn layout(&self) -> KeyLayout {
        self.layout
    }

    fn commits(&self) -> Commits {
        match self.options.innodb_flush_log_at_trx_commit {
            0 => Commits::Buffered,
            1 => Commits::Synced,
            _ => Commits::Written,
        }
    }

    fn cursors(&self) -> Cursors {
        Cursors::Live
    }

    /// Without a doublewrite area a torn page stays torn, and is found.
    fn may_refuse(&self, error: &Error) -> bool {
        let is_of_pages = |file: &str| ["pages.db", "compressed.db"].contains(&file);
        let is_torn = matches!(error, Error::Corruption { file, .. } if is_of_pages(file));
        is_torn && !self.options.innodb_doublewrite
    }

    fn inspect(&self, engine: &Btree, task: &mut Task) {
        structure::check(engine.forest(), task);
    }
}

/// Names of option sets, their sizes and what else they set.
const OPTION_SETS: [(&str, &str, &str); 17] = [
    ("small pages", SMALL, ""),
    ("lazy log", SMALL, "flush_log_at_trx_commit=0 log_buffer_size=16384 log_write_ahead_size=4096"),
    ("log that is written", SMALL, "flush_log_at_trx_commit=2"),
    ("no doublewrite area", SMALL, "doublewrite=false"),
    (
        "no doublewrite area, lazy log, compressed pages",
        MIDDLE,
        "doublewrite=false flush_log_at_trx_commit=0 compression_algorithm=lz4",
    ),
    ("lz4", MIDDLE, "compression_algorithm=lz4 flush_neighbors=1"),
    ("zlib in large pages", LARGE, "compression_algorithm=zlib compression_level=1 server=mysql"),
    ("compressed tables", MIDDLE, "key_block_size=4096"),
    (
        "compressed tables without a doublewrite area",
        LARGE,
        "key_block_size=8192 doublewrite=false flush_log_at_trx_commit=2",
    ),
    ("two tablespaces", MIDDLE, "key_block_size=4096 compressed_indexes=1:3"),
    (
        "two tablespaces, buffered changes",
        MIDDLE,
        "key_block_size=4096 compressed_indexes=0:2 change_buffering=all old_blocks_time=0",
    ),
    ("buffered changes", SMALL, "change_buffering=all old_blocks_time=0"),
    (
        "few buffered changes, lazy log",
        SMALL,
        "change_buffering=inserts change_buffer_max_size=5 flush_log_at_trx_commit=0",
    ),
    ("buffered changes of compressed tables", MIDDLE, "key_block_size=4096 change_buffering=all"),
    ("several doublewrite files", SMALL, "doublewrite_files=3 page_cleaners=4 flush_neighbors=2 lru_scan_depth=64"),
    ("slow cleaners", SMALL, "flush_sync=false adaptive_flushing=false io_capacity=50 max_dirty_pages_pct=5"),
    ("whole seconds", SMALL, "second_us=1000000 merge_threshold=20 flush_log_at_trx_commit=2"),
];

/// Where a second is short, the cleaners have their rounds in every pause.
const SMALL: &str = "page_size=4096 buffer_pool_size=262144 redo_log_capacity=262144 io_capacity_max=4000 \
                     second_us=20000";
const MIDDLE: &str = "page_size=8192 buffer_pool_size=524288 redo_log_capacity=524288 io_capacity_max=4000 \
                     second_us=20000";
const LARGE: &str = "page_size=16384 buffer_pool_size=1048576 redo_log_capacity=524288 io_capacity_max=4000 \
                     second_us=20000";

fn subjects() -> impl Iterator<Item = (String, BtreeSubject)> {
    let indexed = OPTION_SETS.into_iter().map(|set| (set, KeyLayout::Indexed));
    let plain = OPTION_SETS.into_iter().take(2).map(|set| (set, KeyLayout::Plain));
    indexed.chain(plain).map(|((name, sizes, more), layout)| {
        (format!("{name}, {layout:?}"), BtreeSubject { options: options(&format!("{sizes} {more}")), layout })
    })
}

#[test]
fn a_power_cut_anywhere_leaves_whole_batches_and_all_that_were_synced() {
    subjects().for_each(|(name, subject)| cut_power_everywhere(&name, subject, 2000, 997));
}

#[test]
fn one_fault_anywhere_loses_no_batch_that_was_acknowledged() {
    subjects().for_each(|(name, subject)| fail_each_access_once(&name, subject, 500, 503));
}

#[test]
fn a_power_cut_while_threads_run_leaves_whole_batches_of_each_writer() {
    subjects().for_each(|(name, subject)| cut_power_while_threads_run(&name, subject, 1));
}

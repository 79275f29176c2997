//! Flushes and compactions: what is under way, what waits, and what holds writers back for it.

use crate::lsm::policy::{CompactionInProgress, WriteController};
use crate::lsm::version::TableFile;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Memtables that one job flushes together.
pub struct FlushGroup {
    /// Their numbers, oldest first.
    pub memtables: Vec<u64>,
    /// The finished table. Groups are installed in order, so it may have to wait.
    pub done: Option<Arc<TableFile>>,
}

/// Background work: what runs, what waits, what holds writers back.
pub struct BackgroundWork {
    /// Groups being flushed or waiting for older ones, oldest first.
    pub flushing: VecDeque<FlushGroup>,
    /// Flush jobs under way.
    pub running_flushes: usize,
    /// Files that are inputs of running compactions.
    pub being_compacted: BTreeSet<u64>,
    /// Compactions under way.
    pub compactions: Vec<CompactionInProgress>,
    /// Whether all immutable memtables are to be flushed, however few they are.
    pub flush_all: bool,
    /// Whether level 0 is merged down as soon as it holds a file.
    pub empties_level0: bool,
    /// Whether something changed since no work was found.
    pub may_have_work: bool,
    /// The rate of delayed writers.
    pub write_controller: WriteController,
}

//! All trees of an engine, and what they share: the pages under them, their undo, and who may change their structure.
//! `directory` names their roots, `descent` finds their leaves.

use super::page_store::PageStore;
use super::root::Tree;
use super::undo::{Undo, UndoLog};
use crate::btree::log::Redo;
use crate::btree::options::Options;
use crate::btree::page::{CHANGE_TREE, UNDO_TREE, View};
use crate::btree::pool::BufferPool;
use crate::btree::space::{Spaces, Tablespace};
use crate::error::Result;
use crate::task::{Serial, Task};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Counters of structure changes.
#[derive(Debug, Default)]
pub struct ForestCounters {
    pub hits: AtomicU64,
    pub splits: AtomicU64,
    pub merges: AtomicU64,
    /// Undo logs that purge is through with.
    pub purged: AtomicU64,
    /// Times that a batch logged its intent again, so that the checkpoint could pass where it began.
    pub moved_intents: AtomicU64,
}

/// Bytes of a slot of InnoDB's page directory, and records that share it in a page that was built or split.
const DIRECTORY_BYTES: usize = 2;
const DIRECTORY_RECORDS: usize = 4;

/// All trees.
pub struct Forest {
    pub store: PageStore,
    pub undo: Undo,
    pub counters: ForestCounters,
    pub(super) directory: ArcSwap<Vec<Tree>>,
    pub(super) creating: Mutex<()>,
    /// Held by whoever splits or merges pages, by the number of the tree.
    restructuring: Mutex<BTreeMap<u32, Arc<Serial<()>>>>,
    merge_threshold: usize,
    /// Redo bytes that batches under way may still write.
    pub reserved: AtomicU64,
    /// Of these, what batches have reserved that wait half way for as much again.
    pub parked: AtomicU64,
}

impl Forest {
    /// A forest over recovered pages, without its directory.
    pub fn new(options: &Options, pool: Arc<BufferPool>, redo: Arc<Redo>, spaces: Arc<Mutex<Spaces>>) -> Self {
        Self {
            undo: Undo::new(options),
            merge_threshold: (options.innodb_page_size * options.merge_threshold / 100) as usize,
            store: PageStore::new(options, pool, redo, spaces),
            counters: ForestCounters::default(),
            directory: ArcSwap::default(),
            creating: Mutex::default(),
            restructuring: Mutex::default(),
            reserved: AtomicU64::new(0),
            parked: AtomicU64::new(0),
        }
    }

    /// Finds the undo logs that purge was not through with.
    pub fn load_undo(&self, task: &mut Task) -> Result<()> {
        let pages = self.store.spaces.lock().of(Tablespace::System).pages_of(UNDO_TREE);
        self.undo.load(task, &self.store, pages)
    }

    /// The undo log of a batch that begins.
    pub fn undo_log(&self) -> UndoLog<'_> {
        UndoLog::new(&self.store, &self.undo)
    }

    /// Whether a page is to be merged with a neighbour. InnoDB holds its records against a part of the whole page
    /// (`BTR_CUR_PAGE_COMPRESS_LIMIT`), without the page directory (`page_get_data_size`), which has 2 bytes for each
    /// four records of a page that was built or split (`PAGE_DIR_SLOT_MAX_N_OWNED`): so halves of a page of an index
    /// are underfull as soon as it was split.
    pub fn is_underfull(&self, view: View) -> bool {
        self.is_underfull_with(view.used(), view.count())
    }

    pub(super) fn is_underfull_with(&self, used: usize, records: usize) -> bool {
        used < self.merge_threshold + records * DIRECTORY_BYTES / DIRECTORY_RECORDS
    }

    /// Carries out a change that may split or merge pages, one at a time in each tree, with both neighbours of the leaf
    /// in the pool, as far as they have the same parent. InnoDB holds the index lock meanwhile (`dict_index_t::lock`,
    /// shared-exclusive since 5.7: readers pass), and latches the neighbours, whose links may change, before it knows
    /// whether they will (`btr_cur_latch_leaves` with `BTR_MODIFY_TREE`). The caller holds no latch of the tree; those
    /// of undo pages, which it may hold, nobody waits for who holds one of a tree.
    pub fn restructure<R>(
        &self,
        task: &mut Task,
        tree: Tree,
        key: &[u8],
        change: impl FnOnce(&mut Task) -> Result<R>,
    ) -> Result<R> {
        if tree.number == CHANGE_TREE {
            // Whoever changes this tree holds the buffer's lock.
            return change(task);
        }
        let line = self.restructuring.lock().entry(tree.number).or_default().clone();
        line.with(task, |task, ()| {
            for neighbor in self.neighbors_of_leaf(task, tree, key)? {
                self.store.pool.read(task, neighbor)?;
            }
            change(task)
        })
    }
}

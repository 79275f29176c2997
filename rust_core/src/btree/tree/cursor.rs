//! Iteration in both directions.
//!
//! A cursor holds no latch between calls. It remembers its leaf, the leaf's LSN and its slot, and copies one entry at a
//! time. If the leaf is still in the pool and its LSN is the same, it moves by slot; else it seeks by its key. There
//! are no links between leaves: at the end of one, it descends to the bound that the ancestors gave for it. So whatever
//! changes the range of a leaf gives the leaf a new LSN, also a split that moves none of its records.

use super::descent::{Bounds, Toward};
use super::forest::Forest;
use super::index_key::split_key;
use super::root::Tree;
use crate::btree::page::NO_PAGE;
use crate::btree::pool::ReadPage;
use crate::cost::Work;
use crate::engine::{EngineIterator, INDEX_NUMBER_BYTES, KeyLayout};
use crate::error::Result;
use crate::task::Task;

/// A cursor over one tree at a time.
pub struct Cursor<'a> {
    forest: &'a Forest,
    layout: KeyLayout,
    tree: Option<Tree>,
    /// Index number and key.
    key: Vec<u8>,
    value: Vec<u8>,
    leaf: u32,
    lsn: u64,
    slot: usize,
    bounds: Bounds,
    target: Vec<u8>,
    valid: bool,
}

/// Where a positioned cursor looks for its entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Find {
    AtOrAfter,
    After,
    AtOrBefore,
    Before,
}

impl Find {
    fn is_forward(self) -> bool {
        matches!(self, Self::AtOrAfter | Self::After)
    }

    /// The slot that is looked for in a page where the target is, or would be, at `slot`; `count` if there is none.
    fn slot(self, slot: usize, found: bool, count: usize) -> usize {
        let found_slot = match self {
            Self::AtOrAfter => Some(slot),
            Self::After => Some(slot + usize::from(found)),
            Self::AtOrBefore if found => Some(slot),
            Self::AtOrBefore | Self::Before => slot.checked_sub(1),
        };
        found_slot.unwrap_or(count)
    }
}

impl<'a> Cursor<'a> {
    /// At no entry yet.
    pub fn new(forest: &'a Forest, layout: KeyLayout) -> Self {
        Self {
            forest,
            layout,
            tree: None,
            key: Vec::new(),
            value: Vec::new(),
            leaf: NO_PAGE,
            lsn: 0,
            slot: 0,
            bounds: Bounds::default(),
            target: Vec::new(),
            valid: false,
        }
    }

    fn prefix_bytes(&self) -> usize {
        if self.layout == KeyLayout::Indexed { INDEX_NUMBER_BYTES } else { 0 }
    }

    /// Positions by key within the current tree, going on into neighbouring leaves. The target is in `self.target`.
    fn find(&mut self, task: &mut Task, mut find: Find) -> Result<()> {
        self.valid = false;
        let Some(tree) = self.tree else { return Ok(()) };
        loop {
            let target = std::mem::take(&mut self.target);
            let toward = if find == Find::Before { Toward::Before(&target) } else { Toward::At(&target) };
            let leaf = self.forest.leaf_for_read(task, tree, toward, Some(&mut self.bounds))?;
            let (slot, found) = leaf.view().search(task, &target);
            let slot = find.slot(slot, found, leaf.view().count());
            self.target = target;
            if let Some(slot) = leaf.view().unmarked(slot, find.is_forward()) {
                return self.take(task, &leaf, slot);
            }
            drop(leaf);
            let bound = if find.is_forward() { &self.bounds.upper } else { &self.bounds.lower };
            let Some(bound) = bound.key() else { return Ok(()) };
            let goes_on = match find {
                Find::AtOrAfter | Find::After => *bound > *self.target,
                Find::AtOrBefore => *bound <= *self.target,
                Find::Before => *bound < *self.target,
            };
            if !goes_on {
                return Err(self.forest.store.misplaced(tree.root));
            }
            self.target.clear();
            self.target.extend_from_slice(bound);
            find = if find.is_forward() { Find::AtOrAfter } else { Find::Before };
        }
    }

    /// Copies an entry and remembers where it is.
    fn take(&mut self, task: &mut Task, leaf: &ReadPage, slot: usize) -> Result<()> {
        let view = leaf.view();
        let prefix = self.prefix_bytes();
        self.key.truncate(prefix);
        self.key.extend_from_slice(view.key(slot));
        self.forest.read_value(task, view.value(slot), &mut self.value)?;
        (self.leaf, self.lsn, self.slot) = (view.page_no(), view.lsn(), slot);
        self.valid = true;
        Ok(())
    }

    fn begin(&mut self, task: &mut Task, key: &[u8], find: Find) -> Result<()> {
        task.charge(Work::Call, 1);
        let (number, rest) = split_key(self.layout, key);
        self.tree = self.forest.tree(number);
        self.key.clear();
        if self.layout == KeyLayout::Indexed {
            self.key.extend_from_slice(&number.to_be_bytes());
        }
        self.target.clear();
        self.target.extend_from_slice(rest);
        let before = task.units(Work::Compare);
        self.find(task, find)?;
        self.forest.store.pool.charge_misses(task, before);
        Ok(())
    }

    /// Moves one slot if the leaf did not change, else finds by key.
    fn step(&mut self, task: &mut Task, find: Find) -> Result<()> {
        task.charge(Work::IteratorStep, 1);
        let forest = self.forest;
        if let Some(leaf) = forest.store.pool.read_resident(task, self.leaf)
            && leaf.view().lsn() == self.lsn
        {
            let slot = if find.is_forward() { Some(self.slot + 1) } else { self.slot.checked_sub(1) };
            match slot.and_then(|slot| leaf.view().unmarked(slot, find.is_forward())) {
                Some(slot) => return self.take(task, &leaf, slot),
                None => return self.leave(task, leaf, find),
            }
        }
        self.target.clear();
        self.target.extend_from_slice(&self.key[self.prefix_bytes()..]);
        self.find(task, find)
    }

    /// Goes to the next leaf in the direction of `find`.
    fn leave(&mut self, task: &mut Task, leaf: ReadPage, find: Find) -> Result<()> {
        drop(leaf);
        let bound = if find.is_forward() { &self.bounds.upper } else { &self.bounds.lower };
        let Some(bound) = bound.key() else {
            self.valid = false;
            return Ok(());
        };
        let key = &self.key[self.prefix_bytes()..];
        if if find.is_forward() { bound <= key } else { bound > key } {
            return Err(self.forest.store.misplaced(self.leaf));
        }
        self.target.clear();
        self.target.extend_from_slice(bound);
        self.find(task, if find.is_forward() { Find::AtOrAfter } else { Find::Before })
    }
}

impl EngineIterator for Cursor<'_> {
    fn seek(&mut self, task: &mut Task, key: &[u8]) -> Result<()> {
        self.begin(task, key, Find::AtOrAfter)
    }

    fn seek_for_prev(&mut self, task: &mut Task, key: &[u8]) -> Result<()> {
        self.begin(task, key, Find::AtOrBefore)
    }

    fn next(&mut self, task: &mut Task) -> Result<()> {
        self.step(task, Find::After)
    }

    fn prev(&mut self, task: &mut Task) -> Result<()> {
        self.step(task, Find::Before)
    }

    fn valid(&self) -> bool {
        self.valid
    }

    fn key(&self) -> &[u8] {
        &self.key
    }

    fn value(&self) -> &[u8] {
        &self.value
    }
}

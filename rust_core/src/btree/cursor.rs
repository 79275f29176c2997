//! Iteration in both directions.
//!
//! A cursor holds no latch between calls. While it holds that of a leaf it copies some entries ahead, so that their cache
//! misses overlap and most steps take no latch; each step sees by the frame's count of changes whether the copies still
//! hold. If not, or at their end, it goes on by slot as long as the leaf is in the pool with the same LSN; else it seeks
//! by its key. There are no links between leaves: at the end of one, it descends to the bound that the ancestors gave.

use super::forest::{Bound, Forest, Toward, Tree};
use super::page::{NO_PAGE, Stored};
use super::pool::ReadPage;
use super::split_key;
use crate::engine::{EngineIterator, INDEX_NUMBER_BYTES, KeyLayout};
use crate::error::Result;
use crate::runtime::{Task, Work};

/// Entries that a step copies at once: as many as `MYSQL_FETCH_CACHE_SIZE` has rows. A seek copies one, because the caller
/// may want no more.
const ENTRIES_AHEAD: usize = 8;

/// A cursor over one tree at a time.
pub struct Cursor<'a> {
    forest: &'a Forest,
    layout: KeyLayout,
    tree: Option<Tree>,
    copies: Copies,
    leaf: u32,
    lsn: u64,
    /// Where the leaf was, and the count of that frame.
    frame: u32,
    changes: u64,
    /// The end of the leaf's range towards which the last descent looked.
    bound: Bound,
    target: Vec<u8>,
    valid: bool,
}

/// Where a copied entry is: its key, index number included, and behind it its value up to `end`.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    key: u32,
    value: u32,
    end: u32,
}

/// Entries of one leaf in the order of the steps, the current one among them.
#[derive(Debug, Default)]
struct Copies {
    bytes: Vec<u8>,
    spans: [Span; ENTRIES_AHEAD],
    count: usize,
    /// Which one is the current.
    at: usize,
    /// The slot of the current one.
    slot: usize,
    forward: bool,
}

impl Copies {
    fn current(&self) -> Span {
        self.spans[self.at]
    }

    fn key(&self) -> &[u8] {
        let span = self.current();
        &self.bytes[span.key as usize..span.value as usize]
    }

    fn value(&self) -> &[u8] {
        let span = self.current();
        &self.bytes[span.value as usize..span.end as usize]
    }

    fn clear(&mut self, slot: usize, forward: bool) {
        self.bytes.clear();
        (self.count, self.at, self.slot, self.forward) = (0, 0, slot, forward);
        self.spans[0] = Span::default();
    }
}

/// The neighbour of a slot; none before the first.
fn neighbour(slot: usize, forward: bool) -> Option<usize> {
    if forward { Some(slot + 1) } else { slot.checked_sub(1) }
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
    pub fn new(forest: &'a Forest, layout: KeyLayout) -> Self {
        Self {
            forest,
            layout,
            tree: None,
            copies: Copies::default(),
            leaf: NO_PAGE,
            lsn: 0,
            frame: 0,
            changes: 0,
            bound: Bound::default(),
            target: Vec::new(),
            valid: false,
        }
    }

    /// Looks for an entry and copies up to `limit` from there on, going on into neighbouring leaves.
    fn find(&mut self, task: &mut Task, target: &[u8], find: Find, limit: usize) -> Result<()> {
        self.valid = false;
        let Some(tree) = self.tree else { return Ok(()) };
        if !self.find_in_leaf(task, tree, target, find, limit)? {
            self.leave(task, tree, find.is_forward(), limit)?;
        }
        Ok(())
    }

    /// Looks in the leaf where the target leads; false if what is looked for is not there.
    fn find_in_leaf(&mut self, task: &mut Task, tree: Tree, target: &[u8], find: Find, limit: usize) -> Result<bool> {
        self.bound.upper = find.is_forward();
        let toward = if find == Find::Before { Toward::Before(target) } else { Toward::At(target) };
        let leaf = self.forest.leaf_for_read(task, tree, toward, Some(&mut self.bound))?;
        let (slot, found) = leaf.view().search(task, target);
        let slot = find.slot(slot, found, leaf.view().count());
        if slot >= leaf.view().count() {
            return Ok(false);
        }
        self.copy(task, &leaf, slot, find.is_forward(), limit)?;
        Ok(true)
    }

    /// Goes to the next leaf that has an entry, in the direction of the bound.
    fn leave(&mut self, task: &mut Task, tree: Tree, forward: bool, limit: usize) -> Result<()> {
        self.valid = false;
        let find = if forward { Find::AtOrAfter } else { Find::Before };
        while let Some(bound) = self.bound.key() {
            let mut target = std::mem::take(&mut self.target);
            target.clear();
            target.extend_from_slice(bound);
            let found = self.find_in_leaf(task, tree, &target, find, limit);
            self.target = target;
            if found? {
                break;
            }
        }
        Ok(())
    }

    /// Copies the entry at `slot` and up to `limit` in all, and remembers where they are. The first is delivered at once;
    /// a value on overflow pages is never read ahead.
    fn copy(&mut self, task: &mut Task, leaf: &ReadPage, slot: usize, forward: bool, limit: usize) -> Result<()> {
        let view = leaf.view();
        let number = self.tree.filter(|_| self.layout == KeyLayout::Indexed).map(|tree| tree.number.to_be_bytes());
        let copies = &mut self.copies;
        copies.clear(slot, forward);
        self.valid = false;
        let mut next = Some(slot);
        while let Some(slot) = next.filter(|slot| copies.count < limit && *slot < view.count()) {
            let stored = view.value(slot);
            let key = copies.bytes.len() as u32;
            if let Some(number) = &number {
                copies.bytes.extend_from_slice(number);
            }
            copies.bytes.extend_from_slice(view.key(slot));
            let value = copies.bytes.len() as u32;
            match stored {
                _ if copies.count == 0 => self.forest.read_value(task, stored, &mut copies.bytes)?,
                Stored::Inline(bytes) => copies.bytes.extend_from_slice(bytes),
                Stored::Overflow(_) => break,
            }
            copies.spans[copies.count] = Span { key, value, end: copies.bytes.len() as u32 };
            copies.count += 1;
            next = neighbour(slot, forward);
        }
        (self.leaf, self.lsn) = (view.page_no(), view.lsn());
        (self.frame, self.changes) = (leaf.frame, self.forest.pool.changes(leaf.frame));
        self.valid = true;
        Ok(())
    }

    fn begin(&mut self, task: &mut Task, key: &[u8], find: Find) -> Result<()> {
        task.charge(Work::Call, 1);
        let (number, rest) = split_key(self.layout, key);
        self.tree = self.forest.tree(number);
        let before = task.units(Work::Compare);
        self.find(task, rest, find, 1)?;
        self.forest.pool.charge_misses(task, before);
        Ok(())
    }

    /// Moves to the next copy, or one slot if the leaf did not change, else finds by key. A simulated step costs the same
    /// in the first two cases: a look at the frame, and the bytes that it delivers.
    #[inline]
    fn step(&mut self, task: &mut Task, find: Find) -> Result<()> {
        task.charge(Work::IteratorStep, 1);
        let (forward, copies) = (find.is_forward(), &mut self.copies);
        if copies.forward == forward
            && copies.at + 1 < copies.count
            && self.forest.pool.changes(self.frame) == self.changes
            && let Some(slot) = neighbour(copies.slot, forward)
        {
            (copies.at, copies.slot) = (copies.at + 1, slot);
            task.charge(Work::CacheLookup, 1);
            task.charge(Work::CopyByte, copies.value().len() as u64);
            return Ok(());
        }
        self.step_in_tree(task, find)
    }

    fn step_in_tree(&mut self, task: &mut Task, find: Find) -> Result<()> {
        let (forest, forward) = (self.forest, find.is_forward());
        if let Some(tree) = self.tree
            && self.leaf != NO_PAGE
            && let Some(leaf) = forest.pool.read_resident(task, self.leaf)
            && leaf.view().lsn() == self.lsn
        {
            match neighbour(self.copies.slot, forward).filter(|slot| *slot < leaf.view().count()) {
                Some(slot) => return self.copy(task, &leaf, slot, forward, ENTRIES_AHEAD),
                None if self.bound.upper == forward => {
                    drop(leaf);
                    return self.leave(task, tree, forward, ENTRIES_AHEAD);
                }
                None => {}
            }
        }
        let prefix = if self.layout == KeyLayout::Indexed { INDEX_NUMBER_BYTES } else { 0 };
        let mut target = std::mem::take(&mut self.target);
        target.clear();
        target.extend_from_slice(self.copies.key().get(prefix..).unwrap_or_default());
        let found = self.find(task, &target, find, ENTRIES_AHEAD);
        self.target = target;
        found
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
        self.copies.key()
    }

    fn value(&self) -> &[u8] {
        self.copies.value()
    }
}

//! The way from a root to a leaf.
//!
//! Latches are taken from the root down; a child is latched before its parent is released, and no latch is taken
//! sideways except under the parent's exclusive latch, so latches cannot deadlock. A descent that meets a page which is
//! not in the pool lets go of everything, reads the page, and begins again: nobody waits for the I/O of others. The
//! tree of buffered changes comes behind all others (see `change_merge`).

use super::change_buffer::BufferedOp;
use super::forest::Forest;
use super::origin::Origin;
use super::root::Tree;
use crate::btree::page::{CHANGE_TREE, Kind, Stored, View};
use crate::btree::pool::{ReadPage, WritePage};
use crate::error::Result;
use crate::metrics::Purpose;
use crate::task::Task;
use std::sync::atomic::Ordering;

/// Descents that let go of their latches to read a page, before one keeps them.
const POLITE_ATTEMPTS: usize = 3;

/// Where a change of a leaf goes.
pub enum Reached<'a> {
    /// Into the leaf, which is latched.
    Leaf(WritePage<'a>),
    /// It was buffered, and its frame ends here.
    Buffered(u64),
}

/// Which leaf a descent looks for.
#[derive(Debug, Clone, Copy)]
pub enum Toward<'k> {
    /// The one whose range holds the key.
    At(&'k [u8]),
    /// The one that holds the keys just before this key.
    Before(&'k [u8]),
}

/// One end of a leaf's range; it keeps its allocation.
#[derive(Debug, Default)]
pub struct Bound {
    key: Vec<u8>,
    set: bool,
}

impl Bound {
    /// The key, unless the range has no such end.
    pub fn key(&self) -> Option<&[u8]> {
        self.set.then_some(&self.key)
    }

    fn keep(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.set = true;
    }
}

/// The range of keys of a leaf, as its ancestors said during the descent: first key of it, and first key behind it.
#[derive(Debug, Default)]
pub struct Bounds {
    pub lower: Bound,
    pub upper: Bound,
}

impl Forest {
    /// The child at `slot` of an internal page. A page that is its own child would be waited for without end.
    #[inline]
    pub fn child_of(&self, view: View, slot: usize) -> Result<u32> {
        let child = view.child(slot);
        if child == view.page_no() { Err(self.store.misplaced(child)) } else { Ok(child) }
    }

    /// Checks that a page is one of the tree, a level below its parent; so every descent comes to an end.
    #[inline]
    pub fn check_child(&self, tree: Tree, parent_level: u8, view: View) -> Result<()> {
        let fits = view.kind() == Kind::Tree && view.tree() == tree.number && view.level() + 1 == parent_level;
        if fits { Ok(()) } else { Err(self.store.misplaced(view.page_no())) }
    }

    fn count_pages(&self, task: &mut Task, depth: u64, misses: u64) {
        task.blocks_asked += depth;
        self.counters.hits.fetch_add(depth.saturating_sub(misses), Ordering::Relaxed);
    }

    /// The leaf for a key under its shared latch, and its range if `bounds` are wanted.
    #[inline]
    pub fn leaf_for_read(
        &self,
        task: &mut Task,
        tree: Tree,
        toward: Toward,
        mut bounds: Option<&mut Bounds>,
    ) -> Result<ReadPage<'_>> {
        let mut misses = 0;
        'descent: loop {
            if let Some(bounds) = bounds.as_deref_mut() {
                (bounds.lower.set, bounds.upper.set) = (false, false);
            }
            let Some(mut page) = self.store.pool.read_resident(task, tree.root) else {
                misses += 1;
                self.store.pool.load(task, tree.root, Purpose::UserRead)?;
                continue;
            };
            let mut depth = 1;
            while !page.view().is_leaf() {
                let slot = choose_child(task, page.view(), toward, bounds.as_deref_mut());
                let (child, level) = (self.child_of(page.view(), slot)?, page.view().level());
                page = match self.store.pool.read_resident(task, child) {
                    Some(child) => child,
                    None if misses < POLITE_ATTEMPTS => {
                        drop(page);
                        misses += 1;
                        self.store.pool.load(task, child, Purpose::UserRead)?;
                        continue 'descent;
                    }
                    None => {
                        misses += 1;
                        self.store.pool.read(task, child)?
                    }
                };
                self.check_child(tree, level, page.view())?;
                depth += 1;
            }
            self.count_pages(task, depth, misses as u64);
            return Ok(page);
        }
    }

    /// Looks at the inline value of a key whose pages are in the pool and not being changed. Whoever changes a row has
    /// found it before, so that another look costs nothing.
    pub fn peek<R>(&self, tree: Tree, key: &[u8], f: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let mut uncharged = Task::wall(0);
        let mut page = self.store.pool.peek(tree.root)?;
        while !page.view().is_leaf() {
            let slot = page.view().child_slot(&mut uncharged, key);
            let level = page.view().level();
            page = self.store.pool.peek(page.view().child(slot))?;
            self.check_child(tree, level, page.view()).ok()?;
        }
        let (slot, found) = page.view().search(&mut uncharged, key);
        match (found && !page.view().is_delete_marked(slot)).then(|| page.view().value(slot))? {
            Stored::Inline(value) => Some(f(value)),
            Stored::Overflow(_) => None,
        }
    }

    /// The leaf for a key under its exclusive latch, unless the change of it that is wanted, if one is named, is
    /// buffered.
    #[inline]
    pub fn leaf_for_write(
        &self,
        task: &mut Task,
        tree: Tree,
        key: &[u8],
        (op, origin): (Option<BufferedOp>, Origin),
    ) -> Result<Reached<'_>> {
        let mut misses = 0;
        'descent: loop {
            let mut page = self.store.pool.read(task, tree.root)?;
            if page.view().is_leaf() {
                drop(page);
                let root = self.store.pool.write(task, tree.root, Purpose::UserRead)?;
                if root.view().is_leaf() {
                    self.count_pages(task, 1, 0);
                    return Ok(Reached::Leaf(root));
                }
                continue;
            }
            let mut depth = 1;
            loop {
                let slot = page.view().child_slot(task, key);
                let (child, level) = (self.child_of(page.view(), slot)?, page.view().level());
                let above_leaf = level == 1;
                depth += 1;
                let polite = misses < POLITE_ATTEMPTS;
                if above_leaf {
                    let resident = self.store.pool.write_resident(task, child);
                    if let Some(op) = op.filter(|_| resident.is_none())
                        && let Some(end) = self.buffer_change(task, (tree, child), (op, key), origin)?
                    {
                        self.count_pages(task, depth - 1, misses as u64);
                        return Ok(Reached::Buffered(end));
                    }
                    let leaf = match resident {
                        None if !polite => Some(self.store.pool.write(task, child, Purpose::UserRead)?),
                        resident => resident,
                    };
                    if let Some(leaf) = leaf {
                        self.check_child(tree, level, leaf.view())?;
                        self.count_pages(task, depth, misses as u64);
                        return Ok(Reached::Leaf(leaf));
                    }
                } else if let Some(next) = self.store.pool.read_resident(task, child) {
                    self.check_child(tree, level, next.view())?;
                    page = next;
                    continue;
                } else if !polite {
                    page = self.store.pool.read(task, child)?;
                    self.check_child(tree, level, page.view())?;
                    continue;
                }
                drop(page);
                misses += 1;
                if above_leaf && tree.number != CHANGE_TREE {
                    self.contract(task)?;
                }
                self.store.pool.load(task, child, Purpose::UserRead)?;
                continue 'descent;
            }
        }
    }

    /// The leaves beside that of a key, as far as they have the same parent.
    pub(super) fn neighbors_of_leaf(&self, task: &mut Task, tree: Tree, key: &[u8]) -> Result<Vec<u32>> {
        let mut page = self.store.pool.read(task, tree.root)?;
        loop {
            let view = page.view();
            if view.is_leaf() {
                return Ok(Vec::new());
            }
            let slot = view.child_slot(task, key);
            if view.level() == 1 {
                let beside = [slot.checked_sub(1), Some(slot + 1).filter(|next| *next < view.count())];
                return beside.into_iter().flatten().map(|slot| self.child_of(view, slot)).collect();
            }
            let (child, level) = (self.child_of(view, slot)?, view.level());
            page = self.store.pool.read(task, child)?;
            self.check_child(tree, level, page.view())?;
        }
    }

    /// The pages from the lowest one that no change below can spill over (or the root) down to the leaf, all under
    /// exclusive latches. `is_safe` says of a page that it will not be split or merged.
    pub fn path_for_change(
        &self,
        task: &mut Task,
        tree: Tree,
        key: &[u8],
        is_safe: impl Fn(View) -> bool,
    ) -> Result<Vec<WritePage<'_>>> {
        let mut path = vec![self.store.pool.write(task, tree.root, Purpose::UserRead)?];
        loop {
            let view = path[path.len() - 1].view();
            if view.is_leaf() {
                return Ok(path);
            }
            let slot = view.child_slot(task, key);
            let (child, level) = (view.child(slot), view.level());
            if path.iter().any(|held| held.page_no() == child) {
                return Err(self.store.misplaced(child));
            }
            let page = self.store.pool.write(task, child, Purpose::UserRead)?;
            self.check_child(tree, level, page.view())?;
            if is_safe(page.view()) {
                path.clear();
            }
            path.push(page);
        }
    }
}

#[inline]
fn choose_child(task: &mut Task, view: View, toward: Toward, bounds: Option<&mut Bounds>) -> usize {
    let slot = match toward {
        Toward::At(key) => view.child_slot(task, key),
        Toward::Before(key) => view.child_slot_before(task, key),
    };
    if let Some(bounds) = bounds {
        if slot > 0 {
            bounds.lower.keep(view.key(slot));
        }
        if slot + 1 < view.count() {
            bounds.upper.keep(view.key(slot + 1));
        }
    }
    slot
}

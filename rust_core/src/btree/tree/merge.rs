//! Merging pages that fell below `merge_threshold`.

use super::forest::Forest;
use super::mtr::Mtr;
use super::root::Tree;
use crate::btree::page::{Edit, Kind, View};
use crate::btree::pool::Piece;
use crate::cost::Work;
use crate::error::Result;
use crate::task::Task;
use std::sync::atomic::Ordering;

impl Forest {
    /// Merges the leaf of `key`, and pages above it, as far as they are underfull and fit into a neighbour.
    pub fn merge_leaf(&self, task: &mut Task, tree: Tree, key: &[u8]) -> Result<()> {
        if self.store.pool.read(task, tree.root)?.view().is_leaf() {
            return Ok(());
        }
        self.restructure(task, tree, key, |task| self.merge_path(task, tree, key))
    }

    fn merge_path(&self, task: &mut Task, tree: Tree, key: &[u8]) -> Result<()> {
        let pages = self.path_for_change(task, tree, key, |view| self.is_safe_from_merge(view))?;
        let path = (0..pages.len()).collect::<Vec<_>>();
        let mut shrinking = Shrinking { forest: self, tree, mtr: Mtr::new(&self.store, pages), changed: false };
        for depth in (1..path.len()).rev() {
            if !shrinking.merge_child(task, path[depth - 1], path[depth], key)? {
                break;
            }
        }
        if shrinking.mtr.page_no(0) == tree.root {
            shrinking.lower_root(task)?;
        }
        if shrinking.changed {
            shrinking.mtr.commit(task, None)?;
        }
        Ok(())
    }

    /// Whether an internal page stays above the threshold when it loses a record. An estimate: a page that was thought
    /// safe and is not just stays underfull.
    fn is_safe_from_merge(&self, view: View) -> bool {
        let count = view.count();
        !view.is_leaf() && count > 2 && !self.is_underfull_with(view.used() - 2 * (view.used() / count), count)
    }
}

/// A mini-transaction that merges pages.
struct Shrinking<'a> {
    forest: &'a Forest,
    tree: Tree,
    mtr: Mtr<'a>,
    changed: bool,
}

impl Shrinking<'_> {
    /// Merges a page with its left or right neighbour under the same parent; false if it stays.
    fn merge_child(&mut self, task: &mut Task, parent: usize, page: usize, key: &[u8]) -> Result<bool> {
        if !self.forest.is_underfull(self.mtr.view(page)) {
            return Ok(false);
        }
        let slot = self.mtr.view(parent).child_slot(task, key);
        if slot > 0 {
            let left = self.latch_child(task, parent, slot - 1)?;
            if self.absorb(task, parent, slot, left, page)? {
                return Ok(true);
            }
        }
        if slot + 1 < self.mtr.view(parent).count() {
            let right = self.latch_child(task, parent, slot + 1)?;
            if self.absorb(task, parent, slot + 1, page, right)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn latch_child(&mut self, task: &mut Task, parent: usize, slot: usize) -> Result<usize> {
        let (child, level) = (self.mtr.view(parent).child(slot), self.mtr.view(parent).level());
        let index = self.mtr.latch(task, child)?;
        self.forest.check_child(self.tree, level, self.mtr.view(index)).map(|()| index)
    }

    fn fit_together(&self, left: usize, right: usize) -> bool {
        let (left, right) = (self.mtr.view(left), self.mtr.view(right));
        left.used() + right.used() <= left.capacity()
    }

    /// Moves all records of the right page, whose record in the parent is at `slot`, to the left one, if they fit.
    fn absorb(&mut self, task: &mut Task, parent: usize, slot: usize, left: usize, right: usize) -> Result<bool> {
        if !self.fit_together(left, right) {
            return Ok(false);
        }
        if self.mtr.is_zip(left) {
            let Some(merged) = self.merged_zip(task, left, right)? else { return Ok(false) };
            self.mtr.install(left, &merged);
        } else {
            self.mtr.rebuild(left, right, |left, right| left.edit().append(right));
        }
        task.charge(Work::Record, self.mtr.view(right).count() as u64);
        task.charge(Work::PageTouch, 2);
        self.mtr.log_image(left);
        self.mtr.remove(parent, slot);
        self.mtr.free_held(right);
        self.changed = true;
        self.forest.counters.merges.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    /// Both pages as one, if that fits a slot and the padding does not speak against it.
    fn merged_zip(&self, task: &mut Task, left: usize, right: usize) -> Result<Option<Piece>> {
        let (left, right) = (self.mtr.view(left), self.mtr.view(right));
        if self.forest.store.is_padded_full(self.tree.number, left, left.used() + right.used()) {
            return Ok(None);
        }
        let mut both = left.0.to_vec();
        Edit(&mut both).append(right);
        let both = View(&both);
        self.forest.store.piece(task, self.tree.number, both, 0..both.count(), usize::MAX)
    }

    /// A root with a single child takes over that child's records.
    fn lower_root(&mut self, task: &mut Task) -> Result<()> {
        while !self.mtr.view(0).is_leaf() && self.mtr.view(0).count() == 1 {
            let child_no = self.mtr.view(0).child(0);
            let child = self.mtr.latch_or_held(task, child_no)?;
            self.forest.check_child(self.tree, self.mtr.view(0).level(), self.mtr.view(child))?;
            let (root_no, tree) = (self.tree.root, self.tree.number);
            self.mtr.rebuild(0, child, |root, child| {
                root.edit().format(root_no, tree, Kind::Tree, child.level());
                root.edit().rebuild(&[(child, 0..child.count())]);
            });
            self.mtr.copy_zip(0, child);
            self.mtr.log_image(0);
            self.mtr.free_held(child);
            self.changed = true;
        }
        Ok(())
    }
}

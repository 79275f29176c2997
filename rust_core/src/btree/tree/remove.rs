//! Removing a record. A client delete-marks it, which changes a bit of its page; purge takes it off the page later, and
//! then pages may be merged. Entries of the change buffer, and records of compressed tables, go at once.

use super::change_buffer::BufferedOp;
use super::descent::Reached;
use super::forest::Forest;
use super::mtr::Mtr;
use super::origin::Origin;
use super::root::Tree;
use super::undo::UndoLog;
use crate::btree::log::RedoOp;
use crate::btree::page::{CHANGE_TREE, Stored};
use crate::btree::pool::WritePage;
use crate::cost::Work;
use crate::error::Result;
use crate::task::Task;

impl Forest {
    /// Removes a key. Returns the LSN of the end of its frame; none if nothing had to be logged.
    pub fn remove<'a>(
        &'a self,
        task: &mut Task,
        tree: Tree,
        key: &[u8],
        origin: Origin,
        undo: &mut UndoLog<'a>,
    ) -> Result<Option<u64>> {
        let mut leaf = match self.leaf_for_write(task, tree, key, (Some(BufferedOp::Remove), origin))? {
            Reached::Leaf(leaf) => leaf,
            Reached::Buffered(end) => return Ok(Some(end)),
        };
        let (slot, found) = leaf.view().search(task, key);
        if !found || leaf.view().is_delete_marked(slot) {
            drop(leaf);
            return self.store.note_applied(task, origin);
        }
        let is_marked = tree.number != CHANGE_TREE && !leaf.is_zip();
        undo.note_remove(task, tree.number, leaf.view(), (slot, is_marked), origin)?;
        task.charge(Work::Record, 1);
        if !is_marked {
            let op = |page| match origin {
                Origin::Alone => RedoOp::Remove { page, key },
                Origin::Batch { intent, index, .. } => RedoOp::RemoveOf { page, intent, index },
            };
            return self.erase(task, tree, leaf, (slot, key), origin, op).map(Some);
        }
        leaf.edit().delete_mark(slot);
        let page = leaf.page_no();
        let end = self.store.log_single(task, leaf, origin.floor(), |out| {
            match origin {
                Origin::Alone => RedoOp::DeleteMark { page, key },
                Origin::Batch { intent, index, .. } => RedoOp::DeleteMarkOf { page, intent, index },
            }
            .encode(out);
        })?;
        Ok(Some(end))
    }

    /// Takes a record off its leaf, as `op` of the leaf's page says, frees the pages of a long value, and merges the
    /// leaf if it is underfull then.
    pub(super) fn erase<'k>(
        &self,
        task: &mut Task,
        tree: Tree,
        mut leaf: WritePage,
        (slot, key): (usize, &[u8]),
        origin: Origin,
        op: impl FnOnce(u32) -> RedoOp<'k>,
    ) -> Result<u64> {
        if let Stored::Overflow(pointer) = leaf.view().value(slot) {
            let pages = self.overflow_pages(task, pointer)?;
            let mut mtr = Mtr::new(&self.store, vec![leaf]);
            mtr.remove(0, slot);
            for page in pages {
                mtr.free_page(page);
            }
            if let Some(mark) = origin.mark() {
                mtr.note(mark);
            }
            let end = mtr.commit(task, origin.floor())?;
            self.merge_leaf(task, tree, key)?;
            return Ok(end);
        }
        leaf.remove(slot);
        let underfull = self.is_underfull(leaf.view());
        let page = leaf.page_no();
        let end = self.store.log_single(task, leaf, origin.floor(), |out| op(page).encode(out))?;
        if underfull {
            self.merge_leaf(task, tree, key)?;
        }
        Ok(end)
    }
}

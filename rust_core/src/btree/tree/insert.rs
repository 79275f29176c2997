//! Putting a record: in place under the leaf's latch alone, or with splits under the latches of all pages that change.

use super::change_buffer::BufferedOp;
use super::descent::Reached;
use super::forest::Forest;
use super::mtr::Mtr;
use super::origin::Origin;
use super::root::Tree;
use super::undo::UndoLog;
use super::zip_page::Placed;
use crate::btree::log::RedoOp;
use crate::btree::page::{
    AT_LAST_INSERT, Kind, NODE_RECORD_HEADER, Payload, SLOT_BYTES, Stored, View, changed, get_u16, has_room,
    has_room_to_replace, put_u16, split_point, splits_early,
};
use crate::cost::Work;
use crate::error::Result;
use crate::task::Task;
use std::sync::atomic::Ordering;

impl Forest {
    /// Sets a key to a value of any length, and returns the LSN of the end of its frame.
    pub fn put<'a>(
        &'a self,
        task: &mut Task,
        tree: Tree,
        key: &[u8],
        value: &[u8],
        origin: Origin,
        undo: &mut UndoLog<'a>,
    ) -> Result<u64> {
        if value.len() > self.max_inline_bytes(tree.number) {
            return self.put_long(task, tree, key, value, origin, undo);
        }
        let payload = Payload::Value(Stored::Inline(value));
        let need = payload.record_len(key) + SLOT_BYTES;
        let op = payload.is_bare().then_some(BufferedOp::Put);
        let mut leaf = match self.leaf_for_write(task, tree, key, (op, origin))? {
            Reached::Leaf(leaf) => leaf,
            Reached::Buffered(end) => return Ok(end),
        };
        let (slot, found) = leaf.view().search(task, key);
        let long = found && matches!(leaf.view().value(slot), Stored::Overflow(_));
        if long || !fits(leaf.view(), slot, found, need, payload, leaf.is_zip()) {
            drop(leaf);
            return self.put_with_splits(task, tree, key, payload, origin, Some(undo));
        }
        undo.note_put(task, tree.number, leaf.view(), (slot, found), key, payload)?;
        let is_alone = matches!(origin, Origin::Alone);
        // The mark that waits for purge goes with the old record as a whole.
        let is_live = found && !leaf.view().is_delete_marked(slot);
        let patch = (is_live && is_alone).then(|| patch_of(leaf.view().value(slot), value)).flatten();
        let is_in_intent = match origin {
            Origin::Batch { span: Some(span), .. } => {
                is_live && matches!(leaf.view().value(slot), Stored::Inline(old) if span.turns(old, value))
            }
            _ => true,
        };
        let resizes = found && leaf.view().record_bytes(slot) != need;
        let placed = self.store.place(task, tree.number, &mut leaf, (slot, found), key, payload)?;
        if placed == Placed::Refused {
            drop(leaf);
            return self.put_with_splits(task, tree, key, payload, origin, None);
        }
        task.charge(Work::Record, 1);
        task.charge(Work::CopyByte, need as u64);
        let underfull = resizes && self.is_underfull(leaf.view());
        let page = leaf.page_no();
        let end = if placed == Placed::Recompressed {
            self.store.log_recompressed(task, leaf, origin)?
        } else {
            self.store.log_single(task, leaf, origin.floor(), |out| match origin {
                Origin::Alone => match patch {
                    Some((at, bytes)) => RedoOp::Patch { page, key, at, bytes }.encode(out),
                    None => RedoOp::put(page, key, payload).encode(out),
                },
                Origin::Batch { intent, index, .. } if is_in_intent => {
                    RedoOp::PutOf { page, intent, index }.encode(out);
                }
                Origin::Batch { intent, index, .. } => {
                    RedoOp::put(page, key, payload).encode(out);
                    RedoOp::Applied { intent, index }.encode(out);
                }
            })?
        };
        if underfull {
            self.merge_leaf(task, tree, key)?;
        }
        Ok(end)
    }

    /// Sets a record that may need splits, or replaces a long value. Without `undo` its undo is logged already.
    fn put_with_splits<'a>(
        &'a self,
        task: &mut Task,
        tree: Tree,
        key: &[u8],
        payload: Payload,
        origin: Origin,
        undo: Option<&mut UndoLog<'a>>,
    ) -> Result<u64> {
        self.restructure(task, tree, key, |task| {
            let mut change = self.begin_put(task, tree, key, payload, undo)?;
            change.insert(task, key, payload)?;
            change.finish(task, origin)
        })
    }

    /// Latches what a put may change, and removes what it replaces; to be called by who restructures the tree.
    pub fn begin_put<'a>(
        &'a self,
        task: &mut Task,
        tree: Tree,
        key: &[u8],
        payload: Payload,
        undo: Option<&mut UndoLog<'a>>,
    ) -> Result<PessimisticInsert<'a>> {
        let largest = self.max_key_bytes(tree.number) + NODE_RECORD_HEADER + SLOT_BYTES;
        // Nobody knows of a compressed page whether one more child fits.
        let zip = self.store.pool.files.of_tree(tree.number).zip_bytes() > 0;
        let is_safe = |view: View| !zip && !view.is_leaf() && view.free() >= largest;
        let pages = self.path_for_change(task, tree, key, is_safe)?;
        if let Some(undo) = undo {
            let leaf = pages[pages.len() - 1].view();
            let place = leaf.search(task, key);
            undo.note_put(task, tree.number, leaf, place, key, payload)?;
        }
        let path = (0..pages.len()).collect::<Vec<_>>();
        let mut growth = PessimisticInsert { forest: self, tree, mtr: Mtr::new(&self.store, pages), path };
        growth.drop_long_value(task, key)?;
        Ok(growth)
    }
}

/// Where a value of the same length differs from the one that is stored, and the new bytes there: all that InnoDB logs
/// of an update in place.
fn patch_of<'v>(old: Stored, new: &'v [u8]) -> Option<(u32, &'v [u8])> {
    let Stored::Inline(old) = old else { return None };
    let range = (!new.is_empty() && old.len() == new.len()).then(|| changed(old, new))?;
    Some((range.start as u32, &new[range]))
}

/// Whether a record goes into a page without a split. An internal page takes whatever fits, and so does a leaf of a
/// secondary index, even in an ordered load, or of a compressed table.
fn fits(view: View, slot: usize, found: bool, need: usize, payload: Payload, zip: bool) -> bool {
    match (found, view.is_leaf()) {
        (true, _) => has_room_to_replace(view, slot, need),
        (false, true) => has_room(view, need) && (payload.is_bare() || zip || !splits_early(view, slot, need)),
        (false, false) => view.free() >= need,
    }
}

/// A mini-transaction that puts a record and grows the tree as it must.
pub struct PessimisticInsert<'a> {
    pub forest: &'a Forest,
    pub tree: Tree,
    pub mtr: Mtr<'a>,
    /// Pages of the mini-transaction from the top down to the leaf.
    pub path: Vec<usize>,
}

impl PessimisticInsert<'_> {
    /// Frees the overflow pages of the value that `key` has.
    fn drop_long_value(&mut self, task: &mut Task, key: &[u8]) -> Result<()> {
        let leaf = self.path[self.path.len() - 1];
        let view = self.mtr.view(leaf);
        let (slot, found) = view.search(task, key);
        if !found {
            return Ok(());
        }
        if let Stored::Overflow(pointer) = view.value(slot) {
            for page in self.forest.overflow_pages(task, pointer)? {
                self.mtr.free_page(page);
            }
        }
        Ok(())
    }

    /// Puts the record into the leaf.
    pub fn insert(&mut self, task: &mut Task, key: &[u8], payload: Payload) -> Result<()> {
        self.insert_at(task, self.path.len() - 1, key, payload)
    }

    /// Logs everything.
    pub fn finish(mut self, task: &mut Task, origin: Origin) -> Result<u64> {
        if let Some(mark) = origin.mark() {
            self.mtr.note(mark);
        }
        self.mtr.commit(task, origin.floor())
    }

    /// Puts a record into the page at a depth of the path, with the splits that it takes.
    pub fn insert_at(&mut self, task: &mut Task, depth: usize, key: &[u8], payload: Payload) -> Result<()> {
        let index = self.path[depth];
        let need = payload.record_len(key) + SLOT_BYTES;
        let (slot, found) = self.mtr.view(index).search(task, key);
        let zip = self.mtr.is_zip(index);
        if fits(self.mtr.view(index), slot, found, need, payload, zip)
            && self.mtr.place(task, self.tree.number, index, (slot, found), key, payload)?
        {
            return Ok(());
        }
        if found {
            self.mtr.remove(index, slot);
        }
        if zip {
            return self.split_zip(task, depth, slot, key, payload);
        }
        self.split(task, depth, slot, key, payload)
    }

    fn split(&mut self, task: &mut Task, depth: usize, slot: usize, key: &[u8], payload: Payload) -> Result<()> {
        let depth = if depth == 0 { self.raise_root(task)? } else { depth };
        let left = self.path[depth];
        let need = payload.record_len(key) + SLOT_BYTES;
        let view = self.mtr.view(left);
        let (at, count, level) = (split_point(view, slot, need), view.count(), view.level());
        let goes_right = slot >= at;
        let first_moved = if goes_right { at } else { at - 1 };
        let right = self.mtr.take_page(task, self.tree.number)?;
        let (right_no, tree) = (self.mtr.page_no(right), self.tree.number);
        self.mtr.rebuild(right, left, |page, left| {
            page.edit().format(right_no, tree, Kind::Tree, level);
            page.edit().rebuild(&[(left, first_moved..count)]);
            if goes_right {
                page.edit().insert(slot - at, key, payload);
            }
        });
        self.mtr.log_image(right);
        if first_moved < count {
            self.mtr.keep(left, 0..first_moved);
        } else {
            self.mtr.stamp(left);
        }
        if !goes_right {
            self.mtr.put(left, slot, false, key, payload);
        }
        task.charge(Work::Record, (count - first_moved) as u64);
        task.charge(Work::PageTouch, 2);
        self.forest.counters.splits.fetch_add(1, Ordering::Relaxed);
        let separator = self.mtr.view(right).key(0).to_vec();
        self.insert_at(task, depth - 1, &separator, Payload::Child(right_no))
    }

    /// Moves the root's records to a new page below it, and returns that page's depth.
    pub fn raise_root(&mut self, task: &mut Task) -> Result<usize> {
        let root = self.path[0];
        let child = self.mtr.take_page(task, self.tree.number)?;
        let (child_no, root_no, tree) = (self.mtr.page_no(child), self.mtr.page_no(root), self.tree.number);
        let level = self.mtr.view(root).level();
        self.mtr.rebuild(child, root, |page, root| {
            page.edit().format(child_no, tree, Kind::Tree, level);
            page.edit().rebuild(&[(root, 0..root.count())]);
            put_u16(page.edit().0, AT_LAST_INSERT, get_u16(root.0, AT_LAST_INSERT));
        });
        self.mtr.copy_zip(child, root);
        self.mtr.log_image(child);
        self.mtr.reshape(root, |page| {
            page.edit().format(root_no, tree, Kind::Tree, level + 1);
            page.edit().insert(0, b"", Payload::Child(child_no));
        });
        self.mtr.compress(task, root, tree)?;
        self.mtr.log_image(root);
        self.path.insert(1, child);
        Ok(1)
    }
}

//! Into the change buffer and out of it.
//!
//! A change is buffered under the shared latch of the page above its leaf, so that the leaf cannot be split, merged
//! away or given back meanwhile, and under the buffer's lock, with no frame for the leaf. Whoever brings a page in
//! claims a frame for it first and asks for the lock then, under the frame's exclusive latch: so it finds all that was
//! buffered.
//!
//! Order: latches of other trees, the buffer's lock, latches of the buffer's tree, map pages. Nobody asks for the lock
//! who holds a page of the buffer's tree: those pages have no entries of secondary indexes, and are brought in without
//! it.
//!
//! A merge first logs the page's changes as one frame, then the removals from the buffer's tree, and only then others
//! see the page. A crash in between leaves changes that are made already, and making them once more, in order and
//! before any later one, changes nothing: of each key only the last one is made.

use super::change_buffer::{BufferedChange, BufferedOp, ChangeBuffer, PageChanges};
use super::forest::Forest;
use super::origin::Origin;
use super::root::Tree;
use crate::btree::log::RedoOp;
use crate::btree::page::{BARE, CHANGE_TREE, SLOT_BYTES, Stored, is_index_leaf};
use crate::btree::pool::{Arrivals, WritePage};
use crate::cost::Work;
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::task::Task;
use std::sync::atomic::Ordering;

/// Pages of redo that a merge may take: the changes of one page, and what they do to the buffer's tree.
const MERGE_PAGES: u64 = 8;
/// Rounds in which a merge makes room in the log.
const ROOM_ROUNDS: usize = 8;

impl Forest {
    /// Finds what earlier runs have buffered, and makes the buffer's tree if changes are to be buffered.
    pub fn open_change_buffer(&self, task: &mut Task) -> Result<()> {
        if self.store.changes.tree.get().is_none() && self.store.changes.is_on() {
            let tree = self.create_change_tree(task)?;
            let _ = self.store.changes.tree.set(tree);
        } else if let Some(tree) = self.store.changes.tree.get() {
            self.load_changes(task, *tree, tree.root, None)?;
        }
        Ok(())
    }

    fn load_changes(&self, task: &mut Task, tree: Tree, page_no: u32, above: Option<u8>) -> Result<()> {
        let page = self.store.pool.read(task, page_no)?;
        let view = page.view();
        above.map_or(Ok(()), |level| self.check_child(tree, level, view))?;
        self.store.changes.note_pages(CHANGE_TREE, true);
        if !view.is_leaf() {
            let (children, level) = ((0..view.count()).map(|slot| view.child(slot)).collect::<Vec<_>>(), view.level());
            drop(page);
            return children.into_iter().try_for_each(|child| self.load_changes(task, tree, child, Some(level)));
        }
        let mut state = self.store.changes.state.lock();
        for slot in 0..view.count() {
            let change = match view.value(slot) {
                Stored::Inline(value) => BufferedChange::decode(view.key(slot), value),
                Stored::Overflow(_) => None,
            };
            let change = change.filter(|(page_no, _)| self.store.pool.table.get(*page_no).is_some());
            let Some((page_no, change)) = change else { return Err(self.broken(view.page_no())) };
            self.store.changes.add(&mut state, page_no, change);
        }
        Ok(())
    }

    fn broken(&self, page_no: u32) -> Error {
        self.store.pool.files.of_page(page_no).corruption(page_no, "buffered changes do not fit")
    }

    /// Buffers a change of a leaf that is not in the pool, and returns the LSN of the end of its frame; none if the
    /// change must be made in the leaf. The caller holds the latch of the page above.
    pub fn buffer_change(
        &self,
        task: &mut Task,
        (of, page_no): (Tree, u32),
        (op, key): (BufferedOp, &[u8]),
        origin: Origin,
    ) -> Result<Option<u64>> {
        let changes = &self.store.changes;
        if !changes.takes(op) || of.number == CHANGE_TREE {
            return Ok(None);
        }
        let Some(tree) = changes.tree.get().copied() else { return Ok(None) };
        let mut state = changes.state.lock();
        let entry = self.store.pool.table.entry(page_no);
        if entry.frame().is_some() {
            return Ok(None);
        }
        let Some(leaf) = entry.ibuf_bits() else { return Ok(None) };
        let Some(change) = changes.plan(&state, page_no, leaf, op, key) else { return Ok(None) };
        if changes.is_full() {
            return Ok(None);
        }
        let mut undo = self.undo_log();
        let (key, value) = (change.tree_key(page_no), change.tree_value());
        let put = self.put(task, tree, &key, &value, origin.of_other_record(), &mut undo);
        let end = put.inspect_err(|error| self.store.pool.poison.set(error))?;
        changes.add(&mut state, page_no, change);
        changes.buffered.fetch_add(1, Ordering::Relaxed);
        Ok(Some(end))
    }

    /// Merges some pages if the buffer was found full. The caller holds no latch of a tree.
    pub fn contract(&self, task: &mut Task) -> Result<()> {
        for page_no in self.store.changes.to_contract() {
            self.store.pool.load(task, page_no, Purpose::UserRead)?;
        }
        Ok(())
    }

    fn merge(&self, task: &mut Task, tree: Tree, page: &mut WritePage, waiting: &PageChanges) -> Result<()> {
        let (page_no, mut log) = (page.page_no(), Vec::new());
        for BufferedChange { op, key, .. } in waiting.last_of_each_key() {
            let (slot, found) = page.view().search(task, key);
            match op {
                BufferedOp::Put if !found || page.view().is_delete_marked(slot) => {
                    let fits = found || page.view().free() >= BARE.record_len(key) + SLOT_BYTES;
                    if !fits || !page.has_zip_room(slot, found, key, BARE) {
                        return Err(self.broken(page_no));
                    }
                    page.put(slot, found, key, BARE);
                    RedoOp::put(page_no, key, BARE).encode(&mut log);
                }
                BufferedOp::Remove if found => {
                    page.remove(slot);
                    RedoOp::Remove { page: page_no, key }.encode(&mut log);
                }
                _ => {}
            }
        }
        task.charge(Work::Record, waiting.changes.len() as u64);
        if !log.is_empty() {
            self.store.pool.flush_list.mark(page.frame, self.store.redo.lsn());
            let (_, end) = self.store.redo.append(task, |out| out.extend_from_slice(&log))?;
            page.edit().set_lsn(end);
        }
        let mut undo = self.undo_log();
        for change in &waiting.changes {
            self.remove(task, tree, &change.tree_key(page_no), Origin::Alone, &mut undo)?;
        }
        self.store.changes.merged.fetch_add(waiting.changes.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}

impl Arrivals for Forest {
    fn prepare(&self, task: &mut Task) -> Result<()> {
        if self.store.changes.is_empty() {
            return Ok(());
        }
        let limit = self.store.redo.thresholds.hard;
        let need = (MERGE_PAGES * self.store.pool.page_bytes() as u64).min(limit / 8);
        for _ in 0..ROOM_ROUNDS {
            let reserved = self.reserved.load(Ordering::Acquire);
            if self.store.redo.checkpoint_age() + reserved + need <= limit {
                break;
            }
            self.store.pool.make_log_room(task)?;
        }
        Ok(())
    }

    fn arrive(&self, task: &mut Task, page: &mut WritePage) -> Result<()> {
        let Some(tree) = self.store.changes.tree.get().copied() else { return Ok(()) };
        if !is_index_leaf(page.view()) || ChangeBuffer::owns(page.view()) {
            return Ok(());
        }
        let mut state = self.store.changes.state.lock();
        let Some(waiting) = self.store.changes.take(&mut state, page.page_no()) else { return Ok(()) };
        self.merge(task, tree, page, &waiting).inspect_err(|error| self.store.pool.poison.set(error))
    }

    fn awaits(&self, page_no: u32) -> bool {
        self.store.changes.has(page_no)
    }
}

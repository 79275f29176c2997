//! Replay: what each frame of the log says, done to the pages that are older than it, and which batches it leaves
//! unfinished.

use crate::btree::log::{Header, RedoOp, offset_of, restore_image};
use crate::btree::page::{HEADER_BYTES, Kind, OVERFLOW_POINTER_BYTES, Payload, SLOT_BYTES, Stored, View};
use crate::btree::pool::{BufferPool, WritePage};
use crate::btree::space::{REDO_FILE, write_given_back, write_taken};
use crate::btree::tree::{Intent, Planned, entry_record, split_key};
use crate::cost::Work;
use crate::engine::KeyLayout;
use crate::error::{Error, Result};
use crate::task::Task;
use std::collections::{BTreeMap, BTreeSet};

/// A batch found in the log.
pub struct Batch {
    pub(super) batch: Intent,
    pub(super) applied: u32,
}

/// A replay over the pages of a pool, and the batches that it has come across, by their intents.
pub struct Replay<'a> {
    pub(super) header: Header,
    pub(super) pool: &'a BufferPool,
    pub(super) layout: KeyLayout,
    pub(super) batches: BTreeMap<u64, Batch>,
    /// For each page, the end of the last frame that makes all of it anew. What is logged before does not matter, and
    /// the page need not be whole for it.
    pub(super) made_anew: BTreeMap<u32, u64>,
}

/// A page of the frame that is being replayed.
struct Replayed<'a> {
    page: WritePage<'a>,
    /// The page has this frame's changes already.
    skip: bool,
}

fn broken(header: Header, lsn: u64, what: &str) -> Error {
    Error::corruption(REDO_FILE, offset_of(header, lsn), format!("the frame with LSN {lsn} {what}"))
}

fn is_image(op: &RedoOp) -> bool {
    matches!(op, RedoOp::Image { .. } | RedoOp::ZipPageCompress { .. })
}

/// For each page, the end of the last frame that makes all of it anew: whose first record of the page is an image.
pub fn made_anew<'f>(frames: impl Iterator<Item = (u64, u64, &'f [u8])>) -> BTreeMap<u32, u64> {
    let mut made_anew = BTreeMap::new();
    for (_, end, mut payload) in frames {
        let mut changed = BTreeSet::new();
        while let Some((op, rest)) = RedoOp::decode(payload) {
            payload = rest;
            if let Some(page_no) = op.page()
                && changed.insert(page_no)
                && is_image(&op)
            {
                made_anew.insert(page_no, end);
            }
        }
    }
    made_anew
}

impl<'a> Replay<'a> {
    /// Replays a frame on those of its pages that are older than it.
    pub(super) fn frame(&mut self, task: &mut Task, lsn: u64, end: u64, mut payload: &[u8]) -> Result<()> {
        let mut held = Vec::<Replayed<'a>>::new();
        while !payload.is_empty() {
            let (op, rest) = RedoOp::decode(payload).ok_or_else(|| broken(self.header, lsn, "cannot be decoded"))?;
            payload = rest;
            task.charge(Work::Record, 1);
            self.note(lsn, &op)?;
            let Some(page_no) = op.page() else { continue };
            if self.made_anew.get(&page_no).is_some_and(|anew| end < *anew) {
                continue;
            }
            let known = held.iter().position(|one| one.page.page_no() == page_no);
            let index = known.unwrap_or(held.len());
            if known.is_none() {
                held.push(self.fetch(task, page_no, end, &op)?);
            }
            if !held[index].skip {
                self.apply(task, &mut held[index], &op)
                    .ok_or_else(|| broken(self.header, lsn, "does not fit its page"))?;
            }
        }
        for one in held.iter_mut().filter(|one| !one.skip) {
            if one.page.view().defect().is_some() {
                return Err(broken(self.header, lsn, "leaves a page that is none"));
            }
            one.page.edit().set_lsn(end);
            self.pool.flush_list.mark(one.page.frame, lsn);
        }
        Ok(())
    }

    /// Keeps account of batches.
    fn note(&mut self, lsn: u64, op: &RedoOp) -> Result<()> {
        match *op {
            RedoOp::Intent { applied, replaces, batch } => {
                self.batches.remove(&replaces);
                let batch = Intent::decode(batch).ok_or_else(|| broken(self.header, lsn, "has a broken batch"))?;
                self.batches.insert(lsn, Batch { batch, applied });
            }
            RedoOp::Applied { intent, index }
            | RedoOp::PutOf { intent, index, .. }
            | RedoOp::RemoveOf { intent, index, .. }
            | RedoOp::DeleteMarkOf { intent, index, .. } => {
                // A batch that is wholly in the page file may have begun before the checkpoint.
                if let Some(batch) = self.batches.get_mut(&intent) {
                    batch.applied = batch.applied.max(index.saturating_add(1));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The key that a change of a batch deletes.
    fn deleted_key(&self, intent: u64, index: u32) -> Option<&[u8]> {
        match self.batches.get(&intent)?.batch.changes().nth(index as usize)? {
            Planned::Delete { key } => Some(split_key(self.layout, key).1),
            _ => None,
        }
    }

    fn append(&self, page: &mut WritePage, bytes: &[u8]) -> Option<()> {
        let page_end = self.pool.files.of_page(page.page_no()).slot_bytes();
        let left = page_end.saturating_sub(page.view().heap_top());
        let fits = page.view().kind() == Kind::Undo && left >= bytes.len();
        fits.then(|| page.edit().append_bytes(bytes))
    }

    fn fetch(&self, task: &mut Task, page_no: u32, end: u64, op: &RedoOp) -> Result<Replayed<'a>> {
        let page = match self.pool.write_resident(task, page_no) {
            Some(page) => page,
            None if is_image(op) => self.pool.write_for_image(task, page_no, end)?,
            None => self.pool.write_for_recovery(task, page_no)?,
        };
        let skip = page.view().lsn() >= end;
        Ok(Replayed { page, skip })
    }

    fn apply(&self, task: &mut Task, held: &mut Replayed, op: &RedoOp) -> Option<()> {
        let page = &mut held.page;
        match *op {
            RedoOp::Put { key, field, value, .. } => {
                put(task, page, key, Payload::Value(Stored::from_field(field, value)))
            }
            RedoOp::PutOf { intent, index, .. } => {
                let change = self.batches.get(&intent)?.batch.changes().nth(index as usize)?;
                match change {
                    Planned::Put { key, value } => {
                        let payload = Payload::Value(Stored::Inline(value));
                        put(task, page, split_key(self.layout, key).1, payload)
                    }
                    Planned::Patch { key, at, bytes, .. } => {
                        patch(task, page, split_key(self.layout, key).1, at, bytes)
                    }
                    Planned::Delete { .. } => None,
                }
            }
            RedoOp::Link { key, child, .. } => put(task, page, key, Payload::Child(child)),
            RedoOp::Remove { key, .. } => remove(task, page, key),
            RedoOp::RemoveOf { intent, index, .. } => remove(task, page, self.deleted_key(intent, index)?),
            RedoOp::DeleteMark { key, .. } => delete_mark(task, page, key),
            RedoOp::DeleteMarkOf { intent, index, .. } => delete_mark(task, page, self.deleted_key(intent, index)?),
            RedoOp::Purge { slot, .. } => purge(page, slot as usize),
            RedoOp::UndoOf { intent, index, .. } => {
                let change = self.batches.get(&intent)?.batch.changes().nth(index as usize)?;
                let Planned::Delete { key } = change else { return None };
                let (tree, key) = split_key(self.layout, key);
                self.append(page, &entry_record(tree, key, page.view().heap_top()))
            }
            RedoOp::Image { page: page_no, heap, directory } => {
                let restored = restore_image(page.edit().0, page_no, heap, directory);
                // Pages of trees that have a compressed form are logged in that.
                (restored && !page.is_zip() && page.view().defect().is_none()).then_some(())
            }
            RedoOp::ZipPageCompress { page: page_no, front, end } => {
                (page.restore_zip(task, page_no, front, end) && page.view().defect().is_none()).then_some(())
            }
            RedoOp::Keep { start, end, .. } => {
                tree_page(page.view())?;
                let (start, end) = (start as usize, end as usize);
                (start <= end && end <= page.view().count()).then(|| page.edit().keep(start..end))
            }
            RedoOp::Write { at, bytes, .. } => {
                let (at, is_heap) = (at as usize, matches!(page.view().kind(), Kind::Meta | Kind::Undo));
                if !is_heap || at < HEADER_BYTES {
                    return None;
                }
                page.edit().0.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
                Some(())
            }
            RedoOp::Append { bytes, .. } => self.append(page, bytes),
            RedoOp::Patch { key, at, bytes, .. } => patch(task, page, key, at, bytes),
            RedoOp::Take { extent_slot, bit, owner, tree, .. } => {
                descriptor_fits(page.view(), extent_slot, bit)?;
                write_taken(page.edit().0, extent_slot, bit, owner, tree);
                Some(())
            }
            RedoOp::GiveBack { extent_slot, bit, .. } => {
                descriptor_fits(page.view(), extent_slot, bit)?;
                write_given_back(page.edit().0, extent_slot, bit);
                Some(())
            }
            RedoOp::Intent { .. } | RedoOp::Applied { .. } => Some(()),
        }
    }
}

fn tree_page(view: View) -> Option<()> {
    (view.kind() == Kind::Tree).then_some(())
}

fn put(task: &mut Task, page: &mut WritePage, key: &[u8], payload: Payload) -> Option<()> {
    tree_page(page.view())?;
    let (slot, found) = page.view().search(task, key);
    let view = page.view();
    let is_sound = match payload {
        Payload::Child(_) => !view.is_leaf(),
        Payload::Value(Stored::Overflow(pointer)) => view.is_leaf() && pointer.len() == OVERFLOW_POINTER_BYTES,
        Payload::Value(Stored::Inline(_)) => view.is_leaf(),
    };
    if !is_sound || key.len() > view.size() / 4 {
        return None;
    }
    let old = if found { view.record_bytes(slot) } else { 0 };
    let fits = view.free() + old >= payload.record_len(key) + SLOT_BYTES;
    let fits = fits && page.has_zip_room(slot, found, key, payload);
    fits.then(|| page.put(slot, found, key, payload))
}

fn patch(task: &mut Task, page: &mut WritePage, key: &[u8], at: u32, bytes: &[u8]) -> Option<()> {
    tree_page(page.view())?;
    let (slot, found) = page.view().search(task, key);
    if !found || !page.view().is_leaf() {
        return None;
    }
    let at = at as usize;
    if !page.is_zip() {
        return page.edit().patch(slot, at, bytes);
    }
    // The slot has the whole record anew, whatever was logged of it.
    let Stored::Inline(old) = page.view().value(slot) else { return None };
    let mut value = old.to_vec();
    value.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
    put(task, page, key, Payload::Value(Stored::Inline(&value)))
}

fn remove(task: &mut Task, page: &mut WritePage, key: &[u8]) -> Option<()> {
    tree_page(page.view())?;
    let (slot, found) = page.view().search(task, key);
    found.then(|| page.remove(slot))
}

/// Pages of compressed tables have no marks: their records are removed at once.
fn delete_mark(task: &mut Task, page: &mut WritePage, key: &[u8]) -> Option<()> {
    tree_page(page.view())?;
    let (slot, found) = page.view().search(task, key);
    let is_sound = found && page.view().is_leaf() && !page.is_zip();
    is_sound.then(|| page.edit().delete_mark(slot))
}

fn purge(page: &mut WritePage, slot: usize) -> Option<()> {
    tree_page(page.view())?;
    let is_sound = page.view().is_leaf() && slot < page.view().count();
    is_sound.then(|| page.remove(slot))
}

fn descriptor_fits(view: View, extent_slot: u32, bit: u8) -> Option<()> {
    let inside = HEADER_BYTES + (extent_slot as usize + 1) * 16 <= view.size() && bit < 64;
    (view.kind() == Kind::Map && inside).then_some(())
}

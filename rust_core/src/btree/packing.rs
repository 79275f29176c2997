//! Changes of pages together with their compressed form: a record goes into the modification log of the slot; when that is
//! full, the page is compressed again with the record in it; when it does not fit its slot, it must be split.
//!
//! A page that is compressed again goes into the redo log as it is then (`innodb_log_compressed_pages`, on by default), so
//! replay compresses nothing and comes to the same slots whatever zlib does. Only where the log is nearly full, as many
//! changes of one batch can make it, is the record logged and that the page is compressed again, as InnoDB does with that
//! option off.

use super::forest::{Forest, Tree};
use super::insert::Origin;
use super::packed_page::{Packed, PackedEdit, part_of};
use super::page::{SLOT_BYTES, View};
use super::page_edit::{Edit, Payload};
use super::pool::WritePage;
use super::redo_op::RedoOp;
use crate::cost::Work;
use crate::error::Result;
use crate::task::Task;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::Ordering;

thread_local! {
    /// A copy of a page with a record that may not fit.
    static TRIAL: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// How a record came into a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// It was put, to be logged as a record.
    Put,
    /// The page was compressed again with it, to be logged as a whole.
    Repacked,
    /// It is not in the page: its compressed form has no room.
    Refused,
}

/// A new page, not yet in a frame.
pub struct Piece {
    pub bytes: Vec<u8>,
    packed: Vec<u8>,
}

impl WritePage<'_> {
    fn old_len(&self, slot: usize, found: bool) -> Option<usize> {
        found.then(|| self.view().record_bytes(slot) - SLOT_BYTES)
    }

    /// Whether the modification log takes a record; always, where there is none.
    #[inline]
    pub fn has_packed_room(&self, slot: usize, found: bool, key: &[u8], payload: Payload) -> bool {
        !self.is_packed() || self.packed().has_room(slot, self.old_len(slot, found), key, payload)
    }

    /// Sets a record, for which there is room.
    #[inline]
    pub fn put(&mut self, slot: usize, found: bool, key: &[u8], payload: Payload) {
        if self.is_packed() {
            let (count, old) = (self.view().count(), self.old_len(slot, found));
            PackedEdit(self.parts().1).put(count, slot, old, key, payload);
        }
        self.edit().put(slot, found, key, payload);
    }

    /// Removes the record at `slot`.
    #[inline]
    pub fn remove(&mut self, slot: usize) {
        if self.is_packed() {
            let count = self.view().count();
            PackedEdit(self.parts().1).remove(count, slot);
        }
        self.edit().remove(slot);
    }

    /// Brings page and compressed form to what the log says; false if it makes no page.
    pub fn restore_packed(&mut self, task: &mut Task, page_no: u32, front: &[u8], end: &[u8]) -> bool {
        let (bytes, packed) = self.parts();
        !packed.is_empty()
            && PackedEdit(packed).restore(page_no, front, end)
            && Packed(packed).unpack(task, bytes).is_ok()
    }

    /// Compresses the page as replay does; false if it does not fit its slot.
    pub fn repack(&mut self, task: &mut Task, level: u8) -> bool {
        let (bytes, packed) = self.parts();
        !packed.is_empty() && PackedEdit(packed).pack(task, i32::from(level), View(bytes)).is_ok_and(|fits| fits)
    }

    /// Takes over all but the number of the page.
    pub fn install(&mut self, piece: &Piece) {
        let (page_no, (bytes, packed)) = (self.page_no(), self.parts());
        bytes.copy_from_slice(&piece.bytes);
        packed.copy_from_slice(&piece.packed);
        super::page::put_u32(bytes, super::page::AT_PAGE_NO, page_no);
    }

    /// The whole page, to be logged.
    pub fn image(&mut self) -> RedoOp<'_> {
        if !self.is_packed() {
            return RedoOp::image(self.view());
        }
        let (page, (bytes, packed)) = (self.page_no(), self.parts());
        PackedEdit(packed).copy_header(View(bytes));
        let (front, end) = Packed(packed).parts();
        RedoOp::Packed { page, front, end }
    }

    /// Takes over another page's compressed form, whose records are also those of this page.
    pub fn copy_packed(&mut self, other: &WritePage) {
        self.parts().1.copy_from_slice(other.packed().0);
    }
}

impl Forest {
    fn zlib_level(&self) -> u8 {
        self.pool.options.innodb_compression_level as u8
    }

    /// What is logged in front of a record that made its page be compressed again; none if the log has room for the page.
    pub fn repack_op(&self, page: u32) -> Option<RedoOp<'static>> {
        let image = 2 * self.pool.files.of_page(page).slot_bytes() as u64;
        let tight = self.redo.checkpoint_age() + image > self.redo.thresholds.hard;
        tight.then(|| RedoOp::Repack { page, level: self.zlib_level() })
    }

    /// Compresses a page into a slot; false, with the slot as it was, if it does not fit.
    fn pack_into(&self, task: &mut Task, tree: u32, page: View, slot: &mut [u8]) -> Result<bool> {
        let fits = PackedEdit(slot).pack(task, i32::from(self.zlib_level()), page)?;
        let counter = if fits { &self.counters.packs } else { &self.counters.pack_failures };
        counter.fetch_add(1, Ordering::Relaxed);
        if page.is_leaf() {
            self.paddings.note(tree, fits);
        }
        Ok(fits)
    }

    /// Compresses a page that is sure to fit.
    pub fn pack(&self, task: &mut Task, tree: u32, page: &mut WritePage) -> Result<()> {
        if page.is_packed() {
            let (bytes, packed) = page.parts();
            let fits = self.pack_into(task, tree, View(bytes), packed)?;
            debug_assert!(fits, "a page without rows or with one child");
        }
        Ok(())
    }

    /// Logs a page that was compressed again, gives it its LSN and releases it.
    pub fn log_repacked(&self, task: &mut Task, mut page: WritePage, origin: Origin) -> Result<u64> {
        let mut image = Vec::new();
        page.image().encode(&mut image);
        self.log_single(task, page, origin, |out| {
            out.extend_from_slice(&image);
            origin.mark().inspect(|mark| mark.encode(out));
        })
    }

    /// Whether the padding says that a leaf should not take so many bytes of records.
    pub fn is_padded_full(&self, tree: u32, view: View, used: usize) -> bool {
        view.is_leaf() && self.paddings.is_too_full(tree, used)
    }

    /// Puts a record that fits the page uncompressed.
    #[inline]
    pub fn place(
        &self,
        task: &mut Task,
        tree: Tree,
        page: &mut WritePage,
        (slot, found): (usize, bool),
        key: &[u8],
        payload: Payload,
    ) -> Result<Placed> {
        if !page.is_packed() {
            page.edit().put(slot, found, key, payload);
            return Ok(Placed::Put);
        }
        self.place_packed(task, tree, page, (slot, found), key, payload)
    }

    fn place_packed(
        &self,
        task: &mut Task,
        tree: Tree,
        page: &mut WritePage,
        (slot, found): (usize, bool),
        key: &[u8],
        payload: Payload,
    ) -> Result<Placed> {
        let used = page.view().used() + payload.record_len(key) + SLOT_BYTES;
        let padded_full = self.is_padded_full(tree.number, page.view(), used);
        if padded_full && !found {
            return Ok(Placed::Refused);
        }
        if page.has_packed_room(slot, found, key, payload) {
            page.put(slot, found, key, payload);
            return Ok(Placed::Put);
        }
        if padded_full && page.view().record_bytes(slot) != payload.record_len(key) + SLOT_BYTES {
            return Ok(Placed::Refused);
        }
        TRIAL.with_borrow_mut(|trial| {
            trial.clear();
            trial.extend_from_slice(page.view().0);
            Edit(trial).put(slot, found, key, payload);
            task.charge(Work::CopyByte, trial.len() as u64);
            let (bytes, packed) = page.parts();
            if !self.pack_into(task, tree.number, View(trial), packed)? {
                return Ok(Placed::Refused);
            }
            bytes.copy_from_slice(trial);
            Ok(Placed::Repacked)
        })
    }

    /// Part of a page as a page of its own, if it fits one.
    pub fn piece(
        &self,
        task: &mut Task,
        tree: u32,
        source: View,
        slots: Range<usize>,
        newest: usize,
    ) -> Result<Option<Piece>> {
        let page_bytes = self.pool.page_bytes();
        let used = slots.clone().map(|slot| source.record_bytes(slot)).sum::<usize>();
        if used > page_bytes - super::page::HEADER_BYTES {
            return Ok(None);
        }
        let mut piece =
            Piece { bytes: vec![0; page_bytes], packed: vec![0; self.pool.files.of_tree(tree).packed_bytes()] };
        part_of(source, slots, 0, tree, newest, &mut piece.bytes);
        let fits = self.pack_into(task, tree, View(&piece.bytes), &mut piece.packed)?;
        Ok(fits.then_some(piece))
    }
}

//! Pages under their latches, and changes of a page together with its compressed form: a record goes into the
//! modification log of the slot as well.

use super::frame::Body;
use crate::btree::log::RedoOp;
use crate::btree::page::{AT_PAGE_NO, Edit, Kind, PageZip, PageZipEdit, Payload, SLOT_BYTES, View, put_u32};
use crate::task::Task;
use parking_lot::{RwLockReadGuard, RwLockWriteGuard};

/// A page under its shared latch.
pub struct ReadPage<'a> {
    pub(super) guard: RwLockReadGuard<'a, Body>,
}

impl ReadPage<'_> {
    /// The page.
    #[inline]
    pub fn view(&self) -> View<'_> {
        View(&self.guard.bytes)
    }
}

/// A page under its exclusive latch.
pub struct WritePage<'a> {
    /// The frame's number.
    pub frame: u32,
    pub(super) guard: RwLockWriteGuard<'a, Body>,
}

impl WritePage<'_> {
    /// The page.
    #[inline]
    pub fn view(&self) -> View<'_> {
        View(&self.guard.bytes)
    }

    /// The page, to change it alone.
    #[inline]
    pub fn edit(&mut self) -> Edit<'_> {
        Edit(&mut self.guard.bytes)
    }

    /// Its number.
    pub fn page_no(&self) -> u32 {
        self.guard.page_no
    }

    /// Page and compressed form, which is empty if pages have none.
    pub fn parts(&mut self) -> (&mut [u8], &mut [u8]) {
        let Body { bytes, zip, .. } = &mut *self.guard;
        (bytes, zip)
    }

    /// Whether the page is one of a compressed table's tree.
    pub fn is_zip(&self) -> bool {
        self.guard.has_zip() && self.view().kind() == Kind::Tree
    }

    /// Takes over both forms.
    pub(super) fn fill(&mut self, body: &Body) {
        self.guard.bytes.copy_from_slice(&body.bytes);
        self.guard.zip.copy_from_slice(&body.zip);
    }

    /// The compressed form.
    pub fn zip(&self) -> PageZip<'_> {
        PageZip(&self.guard.zip)
    }

    fn old_len(&self, slot: usize, found: bool) -> Option<usize> {
        found.then(|| self.view().record_bytes(slot) - SLOT_BYTES)
    }

    /// Whether the modification log takes a record; always, where there is none.
    #[inline]
    pub fn has_zip_room(&self, slot: usize, found: bool, key: &[u8], payload: Payload) -> bool {
        !self.is_zip() || self.zip().has_room(slot, self.old_len(slot, found), key, payload)
    }

    /// Sets a record, for which there is room.
    #[inline]
    pub fn put(&mut self, slot: usize, found: bool, key: &[u8], payload: Payload) {
        if self.is_zip() {
            let (count, old) = (self.view().count(), self.old_len(slot, found));
            PageZipEdit(self.parts().1).put(count, slot, old, key, payload);
        }
        self.edit().put(slot, found, key, payload);
    }

    /// Removes the record at `slot`.
    #[inline]
    pub fn remove(&mut self, slot: usize) {
        if self.is_zip() {
            let count = self.view().count();
            PageZipEdit(self.parts().1).remove(count, slot);
        }
        self.edit().remove(slot);
    }

    /// Brings page and compressed form to what the log says; false if it makes no page.
    pub fn restore_zip(&mut self, task: &mut Task, page_no: u32, front: &[u8], end: &[u8]) -> bool {
        let (bytes, zip) = self.parts();
        !zip.is_empty() && PageZipEdit(zip).restore(page_no, front, end) && PageZip(zip).decompress(task, bytes).is_ok()
    }

    /// Takes over all but the number of the page.
    pub fn install(&mut self, piece: &Piece) {
        let (page_no, (bytes, zip)) = (self.page_no(), self.parts());
        bytes.copy_from_slice(&piece.bytes);
        zip.copy_from_slice(&piece.zip);
        put_u32(bytes, AT_PAGE_NO, page_no);
    }

    /// The whole page, to be logged.
    pub fn image(&mut self) -> RedoOp<'_> {
        if !self.is_zip() {
            return RedoOp::image(self.view());
        }
        let (page, (bytes, zip)) = (self.page_no(), self.parts());
        PageZipEdit(zip).copy_header(View(bytes));
        let (front, end) = PageZip(zip).parts();
        RedoOp::ZipPageCompress { page, front, end }
    }

    /// Takes over another page's compressed form, whose records are also those of this page.
    pub fn copy_zip(&mut self, other: &WritePage) {
        self.parts().1.copy_from_slice(other.zip().0);
    }
}

/// A new page of a compressed table in both forms, not yet in a frame.
pub struct Piece {
    pub bytes: Vec<u8>,
    pub zip: Vec<u8>,
}

//! Changes of pages together with their compressed form: a record goes into the modification log of the slot; when that
//! is full, the page is compressed again with the record in it; when it does not fit its slot, it must be split.
//!
//! A page that is compressed again goes into the redo log as it is then (`innodb_log_compressed_pages`, on by default),
//! so replay compresses nothing and comes to the same slots whatever zlib does.

use super::origin::Origin;
use super::page_store::PageStore;
use crate::btree::page::{Edit, HEADER_BYTES, PageZipEdit, Payload, SLOT_BYTES, View, part_of};
use crate::btree::pool::{Piece, WritePage};
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
    Recompressed,
    /// It is not in the page: its compressed form has no room.
    Refused,
}

impl PageStore {
    fn zlib_level(&self) -> u8 {
        self.pool.options.innodb_compression_level as u8
    }

    /// Compresses a page into a slot; false, with the slot as it was, if it does not fit.
    fn compress_into(&self, task: &mut Task, tree: u32, page: View, slot: &mut [u8]) -> Result<bool> {
        let fits = PageZipEdit(slot).compress(task, i32::from(self.zlib_level()), page)?;
        let counter = if fits { &self.compressions } else { &self.compression_failures };
        counter.fetch_add(1, Ordering::Relaxed);
        if page.is_leaf() {
            self.zip_pads.note(tree, fits);
        }
        Ok(fits)
    }

    /// Compresses a page that is sure to fit.
    pub fn compress(&self, task: &mut Task, tree: u32, page: &mut WritePage) -> Result<()> {
        if page.is_zip() {
            let (bytes, zip) = page.parts();
            let fits = self.compress_into(task, tree, View(bytes), zip)?;
            debug_assert!(fits, "a page without rows or with one child");
        }
        Ok(())
    }

    /// Logs a page that was compressed again, gives it its LSN and releases it.
    pub fn log_recompressed(&self, task: &mut Task, mut page: WritePage, origin: Origin) -> Result<u64> {
        let mut image = Vec::new();
        page.image().encode(&mut image);
        self.log_single(task, page, origin.floor(), |out| {
            out.extend_from_slice(&image);
            origin.mark().inspect(|mark| mark.encode(out));
        })
    }

    /// Whether the padding says that a leaf should not take so many bytes of records.
    pub fn is_padded_full(&self, tree: u32, view: View, used: usize) -> bool {
        view.is_leaf() && self.zip_pads.is_too_full(tree, used)
    }

    /// Puts a record that fits the page uncompressed.
    #[inline]
    pub fn place(
        &self,
        task: &mut Task,
        tree: u32,
        page: &mut WritePage,
        (slot, found): (usize, bool),
        key: &[u8],
        payload: Payload,
    ) -> Result<Placed> {
        if !page.is_zip() {
            page.edit().put(slot, found, key, payload);
            return Ok(Placed::Put);
        }
        self.place_zip(task, tree, page, (slot, found), key, payload)
    }

    fn place_zip(
        &self,
        task: &mut Task,
        tree: u32,
        page: &mut WritePage,
        (slot, found): (usize, bool),
        key: &[u8],
        payload: Payload,
    ) -> Result<Placed> {
        let used = page.view().used() + payload.record_len(key) + SLOT_BYTES;
        let padded_full = self.is_padded_full(tree, page.view(), used);
        if padded_full && !found {
            return Ok(Placed::Refused);
        }
        if page.has_zip_room(slot, found, key, payload) {
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
            let (bytes, zip) = page.parts();
            if !self.compress_into(task, tree, View(trial), zip)? {
                return Ok(Placed::Refused);
            }
            bytes.copy_from_slice(trial);
            Ok(Placed::Recompressed)
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
        if used > page_bytes - HEADER_BYTES {
            return Ok(None);
        }
        let mut piece = Piece { bytes: vec![0; page_bytes], zip: vec![0; self.pool.files.of_tree(tree).zip_bytes()] };
        part_of(source, slots, 0, tree, newest, &mut piece.bytes);
        let fits = self.compress_into(task, tree, View(&piece.bytes), &mut piece.zip)?;
        Ok(fits.then_some(piece))
    }
}

//! A mini-transaction: pages under exclusive latches, changed together, logged as one redo frame.
//!
//! Its pages stay latched until the frame is in the log buffer, so nobody sees a part of it, and a page is not flushed
//! before its LSN says what the log must hold. A mini-transaction that fails after its first change poisons the engine:
//! what it changed is in no log and must not reach the page file.

use super::change_buffer::ChangeBuffer;
use super::page_store::PageStore;
use super::zip_page::Placed;
use crate::btree::log::RedoOp;
use crate::btree::page::{CHANGE_TREE, Kind, Payload, View};
use crate::btree::pool::{Piece, WritePage};
use crate::btree::space::{Place, Tablespace, Taken, write_given_back, write_taken};
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::task::Task;
use std::ops::Range;

struct Held<'a> {
    page: WritePage<'a>,
    changed: bool,
}

/// One mini-transaction. Pages are named by their index in it.
pub struct Mtr<'a> {
    store: &'a PageStore,
    held: Vec<Held<'a>>,
    log: Vec<u8>,
    taken: Vec<Taken>,
    freed: Vec<u32>,
    done: bool,
}

impl<'a> Mtr<'a> {
    /// Begins with pages that are latched already.
    pub fn new(store: &'a PageStore, pages: Vec<WritePage<'a>>) -> Self {
        let held = pages.into_iter().map(|page| Held { page, changed: false }).collect();
        Self { store, held, log: Vec::new(), taken: Vec::new(), freed: Vec::new(), done: false }
    }

    /// Latches one more page.
    pub fn latch(&mut self, task: &mut Task, page_no: u32) -> Result<usize> {
        if self.held.iter().any(|held| held.page.page_no() == page_no) {
            // Two pages name it, and one of them is wrong. To wait for it would be to wait for oneself.
            return Err(self.store.misplaced(page_no));
        }
        let page = self.store.pool.write(task, page_no, Purpose::UserRead)?;
        self.held.push(Held { page, changed: false });
        Ok(self.held.len() - 1)
    }

    /// Latches a page unless it is latched already.
    pub fn latch_or_held(&mut self, task: &mut Task, page_no: u32) -> Result<usize> {
        match self.held.iter().position(|held| held.page.page_no() == page_no) {
            Some(index) => Ok(index),
            None => self.latch(task, page_no),
        }
    }

    /// A page to read.
    pub fn view(&self, index: usize) -> View<'_> {
        self.held[index].page.view()
    }

    /// The number of a page.
    pub fn page_no(&self, index: usize) -> u32 {
        self.held[index].page.page_no()
    }

    fn log(&mut self, op: RedoOp) {
        op.encode(&mut self.log);
    }

    /// Adds a mark that belongs to no page.
    pub fn note(&mut self, op: RedoOp) {
        self.log(op);
    }

    /// Whether a page is one of a compressed table's tree.
    pub fn is_zip(&self, index: usize) -> bool {
        self.held[index].page.is_zip()
    }

    /// Sets the record of `key`; false if the page's compressed form has no room for it.
    pub fn place(
        &mut self,
        task: &mut Task,
        tree: u32,
        index: usize,
        (slot, found): (usize, bool),
        key: &[u8],
        payload: Payload,
    ) -> Result<bool> {
        let held = &mut self.held[index];
        let placed = self.store.place(task, tree, &mut held.page, (slot, found), key, payload)?;
        held.changed |= placed != Placed::Refused;
        let page = held.page.page_no();
        match placed {
            Placed::Refused => return Ok(false),
            Placed::Recompressed => self.log_image(index),
            Placed::Put => self.log(RedoOp::put(page, key, payload)),
        }
        Ok(true)
    }

    /// Compresses a page that is sure to fit its slot, where pages are compressed.
    pub fn compress(&mut self, task: &mut Task, index: usize, tree: u32) -> Result<()> {
        self.store.compress(task, tree, &mut self.held[index].page)
    }

    /// Makes a page of a compressed table what `piece` says; [`Mtr::log_image`] must follow.
    pub fn install(&mut self, index: usize, piece: &Piece) {
        self.reshape(index, |page| page.install(piece));
    }

    /// Gives a page the compressed form of another, which has the same records.
    pub fn copy_zip(&mut self, index: usize, other: usize) {
        if self.is_zip(index) {
            self.rebuild_with(index, other, |page, other| {
                page.copy_zip(other);
            });
        }
    }

    /// Sets the record of `key`.
    pub fn put(&mut self, index: usize, slot: usize, found: bool, key: &[u8], payload: Payload) {
        let held = &mut self.held[index];
        held.changed = true;
        held.page.edit().put(slot, found, key, payload);
        let page = held.page.page_no();
        self.log(RedoOp::put(page, key, payload));
    }

    /// Removes the record at `slot`.
    pub fn remove(&mut self, index: usize, slot: usize) {
        let held = &mut self.held[index];
        held.changed = true;
        RedoOp::Remove { page: held.page.page_no(), key: held.page.view().key(slot) }.encode(&mut self.log);
        held.page.remove(slot);
    }

    /// Keeps only some slots of a page.
    pub fn keep(&mut self, index: usize, slots: Range<usize>) {
        let held = &mut self.held[index];
        held.changed = true;
        held.page.edit().keep(slots.clone());
        let page = held.page.page_no();
        self.log(RedoOp::Keep { page, start: slots.start as u32, end: slots.end as u32 });
    }

    /// Gives a page a new LSN though its records stay: its range of keys changes, and a cursor that remembers the page
    /// remembers the range. InnoDB changes the page too, for the link to its new neighbour.
    pub fn stamp(&mut self, index: usize) {
        self.held[index].changed = true;
    }

    /// Overwrites bytes of a page.
    pub fn write(&mut self, index: usize, at: usize, bytes: &[u8]) {
        let held = &mut self.held[index];
        held.changed = true;
        held.page.edit().0[at..at + bytes.len()].copy_from_slice(bytes);
        let page = held.page.page_no();
        self.log(RedoOp::Write { page, at: at as u32, bytes });
    }

    /// Changes a page freely, with another page in sight; [`Mtr::log_image`] must follow.
    pub fn rebuild<R>(&mut self, index: usize, other: usize, f: impl FnOnce(&mut WritePage, View) -> R) -> R {
        self.rebuild_with(index, other, |page, other| f(page, other.view()))
    }

    fn rebuild_with<R>(&mut self, index: usize, other: usize, f: impl FnOnce(&mut WritePage, &WritePage) -> R) -> R {
        let [held, other] = self.held.get_disjoint_mut([index, other]).expect("two different pages of this mtr");
        held.changed = true;
        f(&mut held.page, &other.page)
    }

    /// Changes a page freely; [`Mtr::log_image`] must follow.
    pub fn reshape(&mut self, index: usize, f: impl FnOnce(&mut WritePage)) {
        let held = &mut self.held[index];
        held.changed = true;
        f(&mut held.page);
    }

    /// Logs the whole content of a page.
    pub fn log_image(&mut self, index: usize) {
        self.held[index].page.image().encode(&mut self.log);
    }

    /// Takes a page for a tree and latches it, unformatted. All latches on pages of trees must be held already.
    pub fn take_page(&mut self, task: &mut Task, tree: u32) -> Result<usize> {
        let tablespace = self.store.pool.files.of_tree(tree).tablespace();
        let taken = self.store.spaces.lock().of(tablespace).take(tree)?;
        if let Some(map) = taken.new_map {
            let index = self.create(task, map)?;
            self.reshape(index, |page| page.edit().format(map, 0, Kind::Map, 0));
            self.log_image(index);
            self.taken.push(Taken { page_no: map, new_map: None, ..taken });
        }
        self.taken.push(taken);
        self.store.changes.note_pages(tree, true);
        self.create(task, taken.page_no)
    }

    fn create(&mut self, task: &mut Task, page_no: u32) -> Result<usize> {
        let page =
            self.store.pool.create_fresh(task, page_no).inspect_err(|error| self.store.pool.poison.set(error))?;
        self.held.push(Held { page, changed: true });
        Ok(self.held.len() - 1)
    }

    /// Gives a page back when this commits.
    pub fn free_page(&mut self, page_no: u32) {
        self.freed.push(page_no);
    }

    /// Gives a latched page of a tree back when this commits. It is emptied, so that a cursor which remembers it sees
    /// that it changed.
    pub fn free_held(&mut self, index: usize) {
        let page_no = self.page_no(index);
        if ChangeBuffer::owns(self.view(index)) {
            self.store.changes.note_pages(CHANGE_TREE, false);
        }
        self.reshape(index, |page| page.edit().format(page_no, 0, Kind::Empty, 0));
        self.log_image(index);
        self.free_page(page_no);
    }

    /// Checks that the pages to give back are taken, before anything is logged.
    fn check_freed(&self) -> Result<()> {
        if self.freed.is_empty() {
            return Ok(());
        }
        let mut spaces = self.store.spaces.lock();
        let wrong =
            self.freed.iter().enumerate().find(|(n, page_no)| {
                !spaces.of_page(**page_no).is_taken(**page_no) || self.freed[..*n].contains(page_no)
            });
        wrong.map_or(Ok(()), |(_, page_no)| Err(self.store.misplaced(*page_no)))
    }

    /// Logs everything as one frame and releases the latches. `floor` is where the batch began that this belongs to.
    pub fn commit(mut self, task: &mut Task, floor: Option<u64>) -> Result<u64> {
        self.check_freed()?;
        self.write_maps(task)?;
        let store = self.store;
        let bound = floor.unwrap_or_else(|| store.redo.lsn());
        for held in self.held.iter().filter(|held| held.changed) {
            store.pool.flush_list.mark(held.page.frame, bound);
        }
        let (_, end) = store.redo.append(task, |out| out.extend_from_slice(&self.log))?;
        for held in self.held.iter_mut().filter(|held| held.changed) {
            held.page.edit().set_lsn(end);
        }
        self.done = true;
        let freed = std::mem::take(&mut self.freed);
        drop(self);
        if !freed.is_empty() {
            let mut spaces = store.spaces.lock();
            for page in freed {
                spaces.of_page(page).give_back(page);
            }
        }
        if store.redo.buffer_is_full() {
            store.redo.write_to(task, end)?;
        }
        Ok(end)
    }

    /// Latches the map page of a page, and tells where on it the page is.
    pub fn latch_map_of(&mut self, task: &mut Task, page_no: u32) -> Result<(Place, usize)> {
        let place = self.store.spaces.lock().of_page(page_no).place(page_no);
        self.latch_or_held(task, place.map_page).map(|index| (place, index))
    }

    /// Brings taken and freed pages to their descriptors. Map pages are latched after all others.
    fn write_maps(&mut self, task: &mut Task) -> Result<()> {
        let taken = std::mem::take(&mut self.taken);
        for Taken { page_no, owner, tree, .. } in taken {
            let (place, index) = self.latch_map_of(task, page_no)?;
            self.reshape(index, |page| write_taken(page.edit().0, place.extent_slot, place.bit, owner, tree));
            let (page, extent_slot, bit) = (place.map_page, place.extent_slot, place.bit);
            self.log(RedoOp::Take { page, extent_slot, bit, owner, tree });
        }
        for n in 0..self.freed.len() {
            let (place, index) = self.latch_map_of(task, self.freed[n])?;
            self.reshape(index, |page| write_given_back(page.edit().0, place.extent_slot, place.bit));
            self.log(RedoOp::GiveBack { page: place.map_page, extent_slot: place.extent_slot, bit: place.bit });
        }
        Ok(())
    }
}

impl Drop for Mtr<'_> {
    fn drop(&mut self) {
        if !self.done && self.held.iter().any(|held| held.changed) {
            let lost = std::io::Error::other("a change of pages could not be completed");
            self.store.pool.poison.set(&Error::io(Tablespace::System.file_name(), "change", lost));
        }
    }
}

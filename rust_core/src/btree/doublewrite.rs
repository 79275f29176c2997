//! The doublewrite area: pages are written here and synced before they are written in place, so that a page torn by a
//! crash has a whole copy. A page takes a full slot whatever it is compressed to, as in InnoDB, which
//! also fills the slots of compressed tables' pages up.

use super::page::View;
use super::page_file::PageFile;
use super::redo::read_padded;
use crate::error::Result;
use crate::metrics::Purpose;
use crate::runtime::Task;
use crate::storage::StorageFile;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The area's file.
pub const FILE: &str = "doublewrite.db";
/// Pages that are written together.
pub const REGION_PAGES: usize = 64;

/// The area. A batch takes adjacent slots, the first that are free, so that the area is as large as what is in flight.
pub struct Doublewrite {
    file: Arc<dyn StorageFile>,
    page_bytes: usize,
    /// Bytes of a page in the page file.
    stored_bytes: usize,
    taken: Mutex<Vec<bool>>,
}

/// The first run of `count` free slots, which may end behind those that exist.
fn first_fit(taken: &[bool], count: usize) -> usize {
    let mut start = 0;
    for (slot, taken) in taken.iter().enumerate() {
        if *taken {
            start = slot + 1;
        } else if slot + 1 - start == count {
            return start;
        }
    }
    start
}

impl Doublewrite {
    pub fn new(file: Arc<dyn StorageFile>, page_bytes: usize, stored_bytes: usize) -> Self {
        Self { file, page_bytes, stored_bytes, taken: Mutex::default() }
    }

    /// Writes packed pages to slots of their own, syncs them, and keeps the slots until `in_place` is done.
    pub fn guard(&self, task: &mut Task, images: &[u8], in_place: impl FnOnce(&mut Task) -> Result<()>) -> Result<()> {
        let images = self.fill_up(images);
        let slots = self.take_slots(images.len() / self.page_bytes);
        let offset = (slots.start * self.page_bytes) as u64;
        let result = self
            .file
            .write_at(task, Purpose::Doublewrite, offset, &images)
            .and_then(|()| self.file.sync(task, Purpose::Doublewrite))
            .and_then(|()| in_place(task));
        self.taken.lock()[slots].fill(false);
        result
    }

    /// The images of pages, each as long as a slot of the area.
    fn fill_up<'a>(&self, images: &'a [u8]) -> Cow<'a, [u8]> {
        if self.stored_bytes == self.page_bytes {
            return Cow::Borrowed(images);
        }
        let pages = images.len() / self.stored_bytes;
        let mut filled = vec![0; pages * self.page_bytes];
        for (slot, image) in filled.chunks_exact_mut(self.page_bytes).zip(images.chunks_exact(self.stored_bytes)) {
            slot[..image.len()].copy_from_slice(image);
        }
        Cow::Owned(filled)
    }

    fn take_slots(&self, count: usize) -> Range<usize> {
        let mut taken = self.taken.lock();
        let start = first_fit(&taken, count);
        let slots = start..start + count;
        let len = taken.len().max(slots.end);
        taken.resize(len, false);
        taken[slots.clone()].fill(true);
        slots
    }

    /// Repairs pages that are torn in the page file and whole here. A copy counts only if its page was being written
    /// after the checkpoint: then the log brings it up to date. An older copy would bring back old data.
    pub fn repair(&self, task: &mut Task, pages: &PageFile, checkpoint_lsn: u64) -> Result<usize> {
        let mut newest = BTreeMap::<u32, (u64, Vec<u8>)>::new();
        let mut image = vec![0; self.stored_bytes];
        for slot in 0..self.file.len() / self.page_bytes as u64 {
            read_padded(&*self.file, task, Purpose::Recovery, slot * self.page_bytes as u64, &mut image)?;
            let (page_no, lsn) = (View(&image).page_no(), View(&image).lsn());
            let newer = newest.get(&page_no).is_none_or(|(known, _)| *known < lsn);
            if lsn > checkpoint_lsn && newer && pages.flaw(task, page_no, &image).is_none() {
                newest.insert(page_no, (lsn, image.clone()));
            }
        }
        let mut repaired = 0;
        for (page_no, (_, copy)) in newest {
            pages.read_raw(task, Purpose::Recovery, page_no, None, &mut image)?;
            if pages.flaw(task, page_no, &image).is_some() {
                pages.write(task, Purpose::PageFlush, page_no, &copy, self.stored_bytes)?;
                repaired += 1;
            }
        }
        if repaired > 0 {
            pages.sync(task)?;
        }
        Ok(repaired)
    }
}

#[cfg(test)]
mod tests {
    use super::first_fit;

    /// `#` is a slot that is taken. Each line: slots, pages of the batch, first slot it gets.
    #[test]
    fn a_batch_takes_the_first_slots_that_are_free_together() {
        for (slots, count, start) in [("", 3, 0), ("..#..", 2, 0), (".#..#", 2, 2), ("#.#", 2, 3), ("#.", 4, 1)] {
            let taken = slots.chars().map(|slot| slot == '#').collect::<Vec<_>>();
            assert_eq!(first_fit(&taken, count), start, "{slots} {count}");
        }
    }
}

//! The doublewrite area: pages are written here and synced before they are written in place, so that a page torn by a
//! crash has a whole copy. A page takes a full slot whatever it is compressed to, as in InnoDB, which
//! also fills the slots of compressed tables' pages up.

use crate::btree::options::Options;
use crate::btree::page::{MAX_PAGES, View};
use crate::btree::space::{DurableFile, FilSystem, read_padded};
use crate::error::Result;
use crate::metrics::Purpose;
use crate::storage::StorageFile;
use crate::task::{Semaphore, Task};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The area. A batch takes adjacent slots, the first that are free, so that the area is as large as what is in flight.
pub struct Doublewrite {
    file: DurableFile,
    page_bytes: usize,
    taken: Mutex<Vec<bool>>,
    batches: Semaphore,
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
    /// Over its file.
    pub fn new(file: Arc<dyn StorageFile>, options: &Options) -> Self {
        let (page_bytes, batches) = (options.innodb_page_size as usize, options.innodb_doublewrite_files as usize);
        let file = DurableFile::new(file);
        Self { file, page_bytes, taken: Mutex::default(), batches: Semaphore::new(batches) }
    }

    /// Bytes of the area's file.
    pub fn file_bytes(&self) -> u64 {
        self.file.len()
    }

    /// Writes these pages, ready for their files, and their images to slots of their own, syncs them, and keeps the
    /// slots until `in_place` is done. Slots of pages that could not be written in place are kept for good: recovery
    /// may need them.
    pub fn guard(
        &self,
        task: &mut Task,
        files: &FilSystem,
        (pages, images): (&[u32], &[u8]),
        in_place: impl FnOnce(&mut Task) -> Result<()>,
    ) -> Result<()> {
        let images = self.fill_up(files, pages, images);
        let slots = self.take_slots(pages.len());
        let offset = (slots.start * self.page_bytes) as u64;
        let result = self.batches.with(task, |task| {
            self.file
                .write_at(task, Purpose::Doublewrite, offset, &images)
                .and_then(|()| self.file.sync(task, Purpose::Doublewrite))
                .and_then(|()| in_place(task))
        });
        if result.is_ok() {
            self.taken.lock()[slots].fill(false);
        }
        result
    }

    /// The images of pages, each as long as a slot of the area.
    fn fill_up<'a>(&self, files: &FilSystem, pages: &[u32], images: &'a [u8]) -> Cow<'a, [u8]> {
        let bytes = pages.len() * self.page_bytes;
        if images.len() == bytes {
            return Cow::Borrowed(images);
        }
        let mut filled = vec![0; bytes];
        for (slot, image) in filled.chunks_exact_mut(self.page_bytes).zip(files.images(pages, images)) {
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

    /// Repairs pages that are torn in their file and whole here. A copy counts only if its page was being written
    /// after the checkpoint: then the log brings it up to date. An older copy would bring back old data.
    ///
    /// Returns the newest LSN of a copy, at least that of the checkpoint: before the copy was written, the log was
    /// durable to there.
    pub fn repair(&self, task: &mut Task, files: &FilSystem, checkpoint_lsn: u64) -> Result<u64> {
        let mut newest = BTreeMap::<u32, (u64, Vec<u8>)>::new();
        let mut slot_image = vec![0; files.system().slot_bytes()];
        for slot in 0..self.file.len() / self.page_bytes as u64 {
            read_padded(self.file.inner(), task, Purpose::Recovery, slot * self.page_bytes as u64, &mut slot_image)?;
            let (page_no, lsn) = (View(&slot_image).page_no(), View(&slot_image).lsn());
            if page_no >= MAX_PAGES {
                continue;
            }
            let file = files.of_page(page_no);
            let image = &slot_image[..file.slot_bytes()];
            let newer = newest.get(&page_no).is_none_or(|(known, _)| *known < lsn);
            if lsn > checkpoint_lsn && newer && file.flaw(task, page_no, image).is_none() {
                newest.insert(page_no, (lsn, image.to_vec()));
            }
        }
        let reached = newest.values().map(|(lsn, _)| *lsn).max().unwrap_or(checkpoint_lsn);
        let mut repaired = Vec::new();
        for (page_no, (_, copy)) in newest {
            let file = files.of_page(page_no);
            let mut image = vec![0; copy.len()];
            file.read_raw(task, Purpose::Recovery, page_no, None, &mut image)?;
            if file.flaw(task, page_no, &image).is_some() {
                file.write(task, Purpose::PageFlush, page_no, &copy, copy.len())?;
                repaired.push(page_no);
            }
        }
        files.sync(task, &repaired)?;
        Ok(reached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `#` is a slot that is taken. Each line: slots, pages of the batch, first slot it gets.
    #[test]
    fn a_batch_takes_the_first_slots_that_are_free_together() {
        for (slots, count, start) in [("", 3, 0), ("..#..", 2, 0), (".#..#", 2, 2), ("#.#", 2, 3), ("#.", 4, 1)] {
            let taken = slots.chars().map(|slot| slot == '#').collect::<Vec<_>>();
            assert_eq!(first_fit(&taken, count), start, "{slots} {count}");
        }
    }
}

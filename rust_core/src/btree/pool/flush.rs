//! Writing dirty pages back: which go together, and the order log - doublewrite - place.

use super::buf_pool::BufferPool;
use super::flush_batch::FlushBatch;
use super::flush_list::Claims;
use crate::btree::options::{Options, REGION_PAGES};
use crate::btree::page::{EXTENT_PAGES, Kind, NO_PAGE, View};
use crate::btree::space::BLOCK_BYTES;
use crate::cost::Work;
use crate::error::Result;
use crate::metrics::Purpose;
use crate::task::Task;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Copies of claimed pages. Those of fresh ones are apart: they need no doublewrite.
struct Copies<'a> {
    fresh: Images,
    others: Images,
    claims: Claims<'a>,
    newest_lsn: u64,
}

/// Pages by page number, and their images, one behind the other.
#[derive(Default)]
struct Images {
    pages: Vec<u32>,
    bytes: Vec<u8>,
}

impl Copies<'_> {
    fn len(&self) -> usize {
        self.fresh.pages.len() + self.others.pages.len()
    }
}

impl BufferPool {
    /// The coldest dirty frames that are not being written.
    fn coldest_dirty(&self, limit: usize) -> Vec<u32> {
        let lru = self.lru.lock();
        lru.coldest().filter(|frame| self.flush_list.is_idle(*frame)).take(limit).collect()
    }

    /// Writes the given frames, as far as they are dirty, with their neighbours, in batches of one doublewrite region.
    /// They count as clean once the batches are completed. `wait` says whether latches are waited for.
    pub fn write_frames(&self, task: &mut Task, frames: &[u32], wait: bool) -> Result<Vec<Arc<FlushBatch>>> {
        let mut batches = Vec::new();
        self.write_frames_into(&mut batches, task, frames, wait)?;
        Ok(batches)
    }

    /// As [`BufferPool::write_frames`]; `batches` has those that were written even if a later one fails.
    pub fn write_frames_into(
        &self,
        batches: &mut Vec<Arc<FlushBatch>>,
        task: &mut Task,
        frames: &[u32],
        wait: bool,
    ) -> Result<()> {
        for group in frames.chunks(REGION_PAGES) {
            let mut chosen = self.with_neighbors(group);
            while !chosen.is_empty() {
                let copies = self.copy(task, &mut chosen, wait);
                if copies.len() > 0 {
                    batches.push(self.write_copies(task, copies)?);
                }
            }
        }
        Ok(())
    }

    /// The pages of these frames and their dirty neighbours, by page number.
    fn with_neighbors(&self, frames: &[u32]) -> BTreeMap<u32, u32> {
        let mut chosen = BTreeMap::new();
        for &frame in frames {
            let page_no = self.page_hint(frame);
            if page_no == NO_PAGE {
                continue;
            }
            chosen.insert(page_no, frame);
            let dirty = |page_no: u32| {
                let frame = self.table.entry(page_no).frame()?;
                self.flush_list.is_dirty(frame).then_some(frame)
            };
            for (page_no, frame) in neighbors(&self.options, self.frames(), page_no, dirty) {
                chosen.insert(page_no, frame);
            }
        }
        chosen
    }

    /// Claims and copies what it can of the chosen pages, no more than a batch, and leaves the others chosen: with
    /// `wait`, also those whose latch is taken, unless it has nothing else. While it holds claims, it waits for no
    /// latch, because the latch's owner may wait for one of the claimed frames.
    fn copy(&self, task: &mut Task, chosen: &mut BTreeMap<u32, u32>, wait: bool) -> Copies<'_> {
        let claims = Claims::new(&self.flush_list);
        let mut copies = Copies { fresh: Images::default(), others: Images::default(), claims, newest_lsn: 0 };
        let take = |copies: &mut Copies, frame: u32, wait: bool| {
            if !copies.claims.claim(frame) {
                return true;
            }
            let copied = self.with_body(frame, wait, |page_no, body| {
                let is_fresh = self.frames[frame as usize].is_fresh.swap(false, Ordering::Relaxed);
                let skips = is_fresh && !self.options.is_mysql();
                let images = if skips { &mut copies.fresh } else { &mut copies.others };
                let start = images.bytes.len();
                images.pages.push(page_no);
                body.append_stored(&mut images.bytes);
                copies.newest_lsn = copies.newest_lsn.max(View(&images.bytes[start..]).lsn());
                self.flush_list.copied(frame);
            });
            if copied.is_none() {
                copies.claims.give_up_last();
            }
            copied.is_some()
        };
        chosen.retain(|_, frame| {
            let is_full = copies.len() == REGION_PAGES;
            is_full || (!take(&mut copies, *frame, false) && wait)
        });
        if copies.len() == 0
            && let Some((_, frame)) = chosen.pop_first()
        {
            take(&mut copies, frame, true);
        }
        task.charge(Work::CopyByte, (copies.fresh.bytes.len() + copies.others.bytes.len()) as u64);
        task.charge(Work::PageTouch, copies.len() as u64);
        copies
    }

    fn write_copies(&self, task: &mut Task, copies: Copies) -> Result<Arc<FlushBatch>> {
        let count = copies.len() as u64;
        self.unzip_lru.lock().note_io(count);
        let claims = self.write_durably(task, copies).inspect_err(|error| self.poison.set(error))?;
        let batch = Arc::new(FlushBatch { frames: claims.keep(), completed: AtomicBool::new(false) });
        self.counters.pages_flushed.fetch_add(count, Ordering::Relaxed);
        self.written.lock().push(batch.clone());
        self.batch_written.notify_all();
        Ok(batch)
    }

    /// Writes the log that the pages need, and then the pages; fresh ones at once, as recovery makes one that is torn
    /// from the log alone.
    fn write_durably<'a>(&self, task: &mut Task, mut copies: Copies<'a>) -> Result<Claims<'a>> {
        self.poison.check()?;
        self.redo.ensure_durable(task, copies.newest_lsn)?;
        let stored = self.init_for_writing(task, &mut copies.fresh)?;
        self.write_in_place(task, &copies.fresh, &stored)?;
        let stored = self.init_for_writing(task, &mut copies.others)?;
        let Copies { fresh, others, claims, .. } = copies;
        let in_place = |task: &mut Task| {
            self.write_in_place(task, &others, &stored)?;
            self.files.sync(task, &[&fresh.pages[..], &others.pages].concat())
        };
        match &self.doublewrite {
            Some(area) if !others.pages.is_empty() => {
                area.guard(task, &self.files, (&others.pages, &others.bytes), in_place)
            }
            _ => in_place(task),
        }?;
        Ok(claims)
    }

    /// Makes images ready for their files. Returns how many bytes of each are stored.
    fn init_for_writing(&self, task: &mut Task, images: &mut Images) -> Result<Vec<usize>> {
        let mut rest = &mut images.bytes[..];
        let init = |page_no: &u32| {
            let file = self.files.of_page(*page_no);
            let (image, behind) = std::mem::take(&mut rest).split_at_mut(file.slot_bytes());
            rest = behind;
            file.init_for_writing(task, image)
        };
        images.pages.iter().map(init).collect()
    }

    fn write_in_place(&self, task: &mut Task, copies: &Images, stored: &[usize]) -> Result<()> {
        let images = self.files.images(&copies.pages, &copies.bytes).collect::<Vec<_>>();
        let (mut first, mut start, mut end) = (0, 0, 0);
        for (n, (&page_no, &stored)) in copies.pages.iter().zip(stored).enumerate() {
            self.table.entry(page_no).writing(stored / BLOCK_BYTES);
            let (file, purpose) = (self.files.of_page(page_no), purpose_of(View(images[n])));
            end += images[n].len();
            let is_beside = |next: &u32| *next == page_no + 1 && std::ptr::eq(file, self.files.of_page(*next));
            let adjoins = copies.pages.get(n + 1).is_some_and(is_beside);
            let is_whole = stored == images[n].len();
            if is_whole && adjoins && images.get(n + 1).is_some_and(|next| purpose_of(View(next)) == purpose) {
                continue;
            }
            file.write(task, purpose, copies.pages[first], &copies.bytes[start..end], stored)?;
            (first, start) = (n + 1, end);
        }
        Ok(())
    }

    /// Counts the pages of a batch as clean.
    pub fn complete(&self, batch: &Arc<FlushBatch>) {
        if !batch.completed.swap(true, Ordering::AcqRel) {
            for frame in &batch.frames {
                self.flush_list.complete(*frame);
            }
            self.written.lock().retain(|other| !Arc::ptr_eq(other, batch));
        }
    }

    /// Completes batches that are on storage already, though their jobs are not installed yet.
    pub fn complete_written(&self) {
        let written = self.written.lock().clone();
        self.complete_all(&written);
    }

    /// Counts the pages of these batches as clean.
    pub fn complete_all(&self, batches: &[Arc<FlushBatch>]) {
        for batch in batches {
            self.complete(batch);
        }
    }

    /// Makes the coldest pages clean for a client that found no frame at all; false if none could be. In MySQL that is
    /// one page (`buf_flush_single_page_from_LRU`). In MariaDB it would wait for the page cleaner's batch: here it
    /// writes one itself.
    pub fn flush_tail(&self, task: &mut Task) -> Result<bool> {
        self.complete_written();
        let frames = self.coldest_dirty(usize::MAX);
        for group in frames.chunks(if self.options.is_mysql() { 1 } else { REGION_PAGES }) {
            // What is latched is left to the next time.
            let batches = self.write_frames(task, group, false)?;
            if !batches.is_empty() {
                self.complete_all(&batches);
                self.counters.client_flushes.fetch_add(1, Ordering::Relaxed);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What a page is written as.
fn purpose_of(view: View) -> Purpose {
    if view.kind() == Kind::Undo { Purpose::Undo } else { Purpose::PageFlush }
}

/// Dirty pages that go along with `page_no`: within an area of 64 pages, or a 16th of the pool if that is less. `dirty`
/// gives a page's frame if the page is dirty.
fn neighbors(
    options: &Options,
    pool_pages: usize,
    page_no: u32,
    dirty: impl Fn(u32) -> Option<u32>,
) -> Vec<(u32, u32)> {
    let area = (EXTENT_PAGES as usize).min(pool_pages / 16).max(1).next_power_of_two() as u32;
    let low = page_no / area * area;
    let found = |page_no: u32| dirty(page_no).map(|frame| (page_no, frame));
    match options.innodb_flush_neighbors {
        0 => Vec::new(),
        1 => (low..page_no).rev().map_while(found).chain((page_no + 1..low + area).map_while(found)).collect(),
        _ => (low..low + area).filter(|other| *other != page_no).filter_map(found).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbors_are_adjacent_or_in_the_area() {
        let dirty = |page: u32| [60, 64, 65, 67, 69, 128].contains(&page).then_some(page + 1000);
        let chosen = |mode: u64| {
            let options = Options { innodb_flush_neighbors: mode, ..Options::default() };
            neighbors(&options, 4096, 66, dirty).into_iter().map(|(page, _)| page).collect::<Vec<_>>()
        };
        assert!(chosen(0).is_empty());
        assert_eq!(chosen(1), [65, 64, 67]);
        assert_eq!(chosen(2), [64, 65, 67, 69]);
    }
}

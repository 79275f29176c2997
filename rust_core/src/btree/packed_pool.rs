//! Which pages of compressed tables the pool holds in both forms. Under pressure InnoDB drops the page and keeps its
//! compressed form as long as the load is bound by I/O, so that the pool holds more pages and a read of them costs a
//! decompression. Dirty pages may be dropped likewise: it is the compressed form that is written.
//!
//! A frame may hold a page in both forms or the compressed one alone, or a page of a table that is not compressed, which
//! has no other form; what all take together stays within the pool's bytes.

use super::packed_page::PackedEdit;
use super::page::{Kind, View};
use super::pool::{Body, BufferPool, Source, spare_frames};
use crate::error::Result;
use crate::task::Task;
use std::sync::atomic::Ordering;

/// `BUF_LRU_IO_TO_UNZIP_FACTOR`: decompressions that one I/O counts for.
const IO_TO_UNZIP_FACTOR: u64 = 50;
/// `BUF_LRU_STAT_N_INTERVAL`: seconds over which both are averaged.
const INTERVALS: usize = 50;
/// Of all pages in the pool, this part may always be in both forms.
const UNZIPPED_PART: usize = 10;

const NONE: u32 = u32::MAX;

/// The frames that hold a page in both forms, the last one that was decompressed or became hot in front: `unzip_LRU`.
#[derive(Debug)]
pub struct Unzipped {
    links: Vec<(u32, u32)>,
    head: u32,
    tail: u32,
    /// Frames that have or will have the compressed form of a page.
    packed: usize,
    /// Those of them that have or will have the page as well, whether they are in the list yet or not.
    taken: usize,
    /// Frames that have or will have a page without a compressed form.
    whole: usize,
    now: Load,
    past: [Load; INTERVALS],
    next: usize,
}

/// What happened in one interval.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    io: u64,
    unzips: u64,
}

impl Unzipped {
    /// For so many frames; none where tables are not compressed.
    pub fn new(frames: usize) -> Self {
        let links = vec![(NONE, NONE); frames];
        let (now, past) = (Load::default(), [Load::default(); INTERVALS]);
        Self { links, head: NONE, tail: NONE, packed: 0, taken: 0, whole: 0, now, past, next: 0 }
    }

    fn has(&self, frame: u32) -> bool {
        self.head == frame || self.links[frame as usize].0 != NONE
    }

    fn push(&mut self, frame: u32) {
        self.links[frame as usize] = (NONE, self.head);
        match self.head {
            NONE => self.tail = frame,
            head => self.links[head as usize].0 = frame,
        }
        self.head = frame;
    }

    fn remove(&mut self, frame: u32) {
        let (before, behind) = std::mem::replace(&mut self.links[frame as usize], (NONE, NONE));
        match before {
            NONE => self.head = behind,
            before => self.links[before as usize].1 = behind,
        }
        match behind {
            NONE => self.tail = before,
            behind => self.links[behind as usize].0 = before,
        }
    }

    fn coldest(&self) -> impl Iterator<Item = u32> + '_ {
        let present = |frame: u32| (frame != NONE).then_some(frame);
        std::iter::successors(present(self.tail), move |frame| present(self.links[*frame as usize].0))
    }

    /// Pages were read or written.
    pub fn note_io(&mut self, pages: u64) {
        self.now.io += pages;
    }

    /// An interval ends.
    pub fn end_interval(&mut self) {
        self.past[self.next] = std::mem::take(&mut self.now);
        self.next = (self.next + 1) % INTERVALS;
    }

    /// Whether the load is bound by I/O rather than by decompressions.
    fn is_io_bound(&self) -> bool {
        let average = |of: fn(&Load) -> u64| self.past.iter().map(of).sum::<u64>() / INTERVALS as u64 + of(&self.now);
        average(|load| load.unzips) <= average(|load| load.io) * IO_TO_UNZIP_FACTOR
    }
}

impl BufferPool {
    /// Whether tables are compressed, all or some.
    #[inline]
    pub fn is_packed(&self) -> bool {
        self.options.is_packed()
    }

    /// Bytes of a page of a compressed table in both forms.
    fn both_forms(&self) -> usize {
        self.page_bytes() + self.options.key_block_size as usize
    }

    fn bytes_of(&self, unzipped: &Unzipped) -> usize {
        let pages = unzipped.taken + unzipped.whole;
        unzipped.packed * self.options.key_block_size as usize + pages * self.page_bytes()
    }

    fn bytes_left(&self, unzipped: &Unzipped, from: Source) -> usize {
        let spare = if from == Source::Spare { spare_frames(&self.options) } else { 0 };
        ((self.options.pool_pages() + spare) * self.both_forms()).saturating_sub(self.bytes_of(unzipped))
    }

    /// Frames that can take a page in both forms without an eviction, when so many are free.
    pub fn frames_left(&self, free: usize) -> usize {
        if !self.is_packed() {
            return free;
        }
        let left = self.bytes_left(&self.unzipped.lock(), Source::ColdEnd);
        (left / self.both_forms()).min(free)
    }

    /// Bytes of all pages that the pool holds.
    pub fn packed_held_bytes(&self) -> u64 {
        self.bytes_of(&self.unzipped.lock()) as u64
    }

    /// Pages that the pool would hold if it were full, with as many of them in both forms as now.
    pub fn pages_to_hold(&self) -> usize {
        let free = self.lru.lock().free_len();
        self.frames() - free + self.frames_left(free)
    }

    /// Takes the bytes for a page, in both forms if it has two; false if something must go first.
    fn take_frame_bytes(&self, is_packed: bool, from: Source) -> bool {
        let mut unzipped = self.unzipped.lock();
        let bytes = if is_packed { self.both_forms() } else { self.page_bytes() };
        let fits = self.bytes_left(&unzipped, from) >= bytes;
        if fits && is_packed {
            unzipped.packed += 1;
            unzipped.taken += 1;
        } else if fits {
            unzipped.whole += 1;
        }
        fits
    }

    /// Takes the bytes for a page whose compressed form is there; false if something must go first.
    fn take_page_bytes(&self, from: Source) -> bool {
        let mut unzipped = self.unzipped.lock();
        let fits = self.bytes_left(&unzipped, from) >= self.page_bytes();
        unzipped.taken += usize::from(fits);
        fits
    }

    /// Empties a frame and gives all its bytes back.
    pub fn empty(&self, frame: u32, body: &mut Body) {
        let body = std::mem::replace(body, Body::new(0, 0));
        let mut unzipped = self.unzipped.lock();
        if !body.has_packed() {
            unzipped.whole -= 1;
            return;
        }
        unzipped.packed -= 1;
        unzipped.taken -= usize::from(body.has_page());
        if unzipped.has(frame) {
            unzipped.remove(frame);
        }
    }

    /// A page is in a frame in both forms, or became hot there.
    pub fn note_unzipped(&self, frame: u32) {
        let mut unzipped = self.unzipped.lock();
        if unzipped.has(frame) {
            unzipped.remove(frame);
        }
        unzipped.push(frame);
    }

    /// Moves a page that became hot to the front, if it is held in both forms.
    pub fn note_hot_unzipped(&self, frame: u32) {
        let mut unzipped = self.unzipped.lock();
        if unzipped.has(frame) {
            unzipped.remove(frame);
            unzipped.push(frame);
        }
    }

    /// A free frame with room for a page, in both forms if it has two. What must go for it goes: pages from one of both
    /// forms to the other, and clean ones from the pool.
    pub fn packed_frame_without_flush(&self, is_packed: bool, from: Source) -> Option<u32> {
        let mut lru = self.lru.lock();
        loop {
            if lru.free_len() > 0 && self.take_frame_bytes(is_packed, from) {
                return lru.take_free();
            }
            if !self.reclaim(&mut lru, from) {
                return None;
            }
        }
    }

    fn page_bytes_without_flush(&self, from: Source) -> Option<()> {
        let mut lru = self.lru.lock();
        while !self.take_page_bytes(from) {
            if !self.reclaim(&mut lru, from) {
                return None;
            }
        }
        Some(())
    }

    /// Gives bytes back without a flush; false if nothing can go. The caller holds the lock of the list.
    pub fn reclaim(&self, lru: &mut super::lru::Lru, from: Source) -> bool {
        let strips = {
            let unzipped = self.unzipped.lock();
            let many = unzipped.taken > lru.len() / UNZIPPED_PART;
            many && (self.has_evicted_none() || unzipped.is_io_bound())
        };
        if strips && self.strip_coldest() {
            return true;
        }
        let Some((frame, mut guard)) = self.evict_coldest(lru, from) else {
            return from == Source::Anywhere && self.strip_coldest();
        };
        lru.remove(frame);
        self.empty(frame, &mut guard);
        drop(guard);
        lru.give_free(frame);
        true
    }

    /// Drops the coldest page that is held in both forms and not latched.
    fn strip_coldest(&self) -> bool {
        let mut unzipped = self.unzipped.lock();
        let stripped = unzipped.coldest().find(|frame| {
            let body = self.try_latch(*frame);
            body.is_some_and(|mut body| {
                self.know_leaf(&body);
                body.strip()
            })
        });
        if let Some(frame) = stripped {
            unzipped.remove(frame);
            unzipped.taken -= 1;
        }
        stripped.is_some()
    }

    /// Decompresses a page that the pool holds in its compressed form alone. If it is gone or latched meanwhile, nothing
    /// happens, and the caller looks again.
    pub fn unpack_resident(&self, task: &mut Task, page_no: u32) -> Result<()> {
        self.without_flush_or_with(task, Self::page_bytes_without_flush)?;
        let unpacked = self.unpack_with_bytes(task, page_no);
        if !matches!(unpacked, Ok(true)) {
            self.unzipped.lock().taken -= 1;
        }
        unpacked.map(drop)
    }

    fn unpack_with_bytes(&self, task: &mut Task, page_no: u32) -> Result<bool> {
        let Some(frame) = self.table.entry(page_no).frame() else { return Ok(false) };
        let Some(mut body) = self.latch_for_a_while(frame) else { return Ok(false) };
        if !body.lacks_page(page_no) {
            return Ok(false);
        }
        body.unpack(
            |packed, bytes| self.files.of_page(page_no).expand(task, page_no, packed, bytes),
            self.page_bytes(),
        )?;
        let mut unzipped = self.unzipped.lock();
        unzipped.push(frame);
        unzipped.now.unzips += 1;
        self.counters.unzips.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }
}

/// Takes over what the page has and its compressed form has not: the header, or all of a page that is none of a tree.
pub fn keep_in(packed: &mut [u8], page: &[u8]) {
    if View(page).kind() == Kind::Tree {
        PackedEdit(packed).copy_header(View(page));
    } else {
        let len = packed.len();
        packed.copy_from_slice(&page[..len]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_keeps_its_order() {
        let mut list = Unzipped::new(5);
        for frame in [0, 3, 1, 4] {
            list.push(frame);
        }
        assert_eq!(list.coldest().collect::<Vec<_>>(), [0, 3, 1, 4]);
        list.remove(3);
        list.remove(0);
        assert_eq!((list.coldest().collect::<Vec<_>>(), list.has(3), list.has(1)), (vec![1, 4], false, true));
        list.remove(4);
        list.remove(1);
        assert!(!list.has(1) && list.coldest().next().is_none());
    }

    #[test]
    fn fifty_decompressions_weigh_as_much_as_one_page_read() {
        let mut load = Unzipped::new(1);
        load.now = Load { io: 2, unzips: 100 };
        assert!(load.is_io_bound());
        load.now.unzips += 1;
        assert!(!load.is_io_bound());
        load.end_interval();
        // The averages over 50 intervals: 2 / 50 = 0 reads and 101 / 50 = 2 decompressions.
        assert!(!load.is_io_bound());
        load.note_io(1);
        assert!(load.is_io_bound());
    }
}

//! Eviction: how clean pages make room, and what is kept of them.

use super::buf_pool::BufferPool;
use super::frame::Body;
use super::lru::Lru;
use crate::btree::page::{IbufBits, NO_PAGE, PageZip, View};
use crate::cost::Work;
use crate::task::Task;
use parking_lot::RwLockWriteGuard;
use std::sync::atomic::Ordering;

/// `BUF_LRU_SEARCH_SCAN_THRESHOLD`: pages at the cold end among which a client looks for a clean one.
const SEARCH_DEPTH: usize = 100;

/// Where a frame without a flush may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The free frames, and the clean ones at the cold end.
    ColdEnd,
    /// The spare frames as well.
    Spare,
    /// All clean frames.
    Anywhere,
}

/// Pages at the cold end of a pool that a client looks at: never so many that they are the hot ones.
fn search_depth(frames: usize) -> usize {
    SEARCH_DEPTH.min(frames / 16)
}

impl BufferPool {
    /// Takes the coldest clean page out of its frame, which stays in the list.
    pub fn evict_coldest(&self, lru: &mut Lru, from: Source) -> Option<(u32, RwLockWriteGuard<'_, Body>)> {
        if from != Source::Anywhere {
            let depth = search_depth(self.frames());
            return lru.coldest().take(depth).find_map(|frame| Some((frame, self.try_evict(frame)?)));
        }
        let is_dirty = |frame| self.flush_list.is_dirty(frame);
        lru.find_clean(self.flush_list.cleaned(), is_dirty, |frame| self.try_evict(frame))
    }

    /// Takes a clean, unlatched page out of its frame. The caller holds the lock of the list.
    fn try_evict(&self, frame: u32) -> Option<RwLockWriteGuard<'_, Body>> {
        if self.flush_list.is_dirty(frame) {
            return None;
        }
        let mut guard = self.frames[frame as usize].latch.try_write()?;
        if self.flush_list.is_dirty(frame) {
            return None;
        }
        self.keep_ibuf_bits(&guard);
        self.table.entry(guard.page_no).release();
        guard.page_no = NO_PAGE;
        self.freed_page_clock.fetch_add(1, Ordering::Relaxed);
        self.counters.evictions.fetch_add(1, Ordering::Relaxed);
        Some(guard)
    }

    /// Whether a page could come in without anything but a clean page at the cold end going for it.
    pub fn has_frame_at_hand(&self) -> bool {
        let lru = self.lru.lock();
        let is_clean = |frame: u32| !self.flush_list.is_dirty(frame);
        self.frames_left(lru.free_len()) > 0 || lru.coldest().take(search_depth(self.frames())).any(is_clean)
    }

    /// Moves the clean pages among the `depth` coldest to the free list, and returns how many those are.
    pub fn free_clean_pages(&self, task: &mut Task, depth: usize) -> usize {
        let mut lru = self.lru.lock();
        if self.has_zip_tables() {
            let wanted = self.frames_left(lru.free_len()) + depth;
            while self.frames_left(lru.free_len()) < wanted && self.reclaim(&mut lru, Source::ColdEnd) {
                task.charge(Work::PageTouch, 1);
            }
            return depth.min((self.frames_left(lru.free_len()) + depth).saturating_sub(wanted));
        }
        let victims = lru.coldest().take(depth).filter(|frame| self.try_evict(*frame).is_some());
        let victims = victims.collect::<Vec<_>>();
        for frame in &victims {
            lru.remove(*frame);
            lru.give_free(*frame);
        }
        task.charge(Work::PageTouch, victims.len() as u64);
        victims.len()
    }

    /// Whether the pool never had to let a page go.
    pub fn has_evicted_none(&self) -> bool {
        self.freed_page_clock.load(Ordering::Relaxed) == 0
    }

    /// Keeps what a leaf is like that leaves the pool or keeps its compressed form alone, if anyone asks for it later.
    #[inline]
    pub fn keep_ibuf_bits(&self, body: &Body) {
        if self.keeps_ibuf_bits && body.has_page() && body.page_no != NO_PAGE {
            let zip = body.has_zip().then_some(PageZip(&body.zip));
            self.table.entry(body.page_no).keep_ibuf_bits(IbufBits::of(View(&body.bytes), zip));
        }
    }
}

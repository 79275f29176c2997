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
const SEARCH_DEPTH: u64 = 100;

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

/// How far a pass over the cold end goes.
#[derive(Debug, Clone, Copy)]
pub struct PassLimits {
    /// Free frames that end the pass.
    pub free: usize,
    /// Pages that stay in the list.
    pub least_len: usize,
    /// Dirty pages that one step finds.
    pub dirty: usize,
    /// Pages of both kinds.
    pub pages: usize,
}

/// What a step of a pass has done.
#[derive(Debug, Default)]
pub struct Passed {
    pub freed: usize,
    /// Frames to be written, from the cold end on.
    pub dirty: Vec<u32>,
    /// The pass has come to a limit other than that of dirty pages.
    pub ends: bool,
}

impl BufferPool {
    /// Takes the coldest clean page out of its frame, which stays in the list.
    pub fn evict_coldest(&self, lru: &mut Lru, from: Source) -> Option<(u32, RwLockWriteGuard<'_, Body>)> {
        if from != Source::Anywhere {
            let depth = self.options.at_cold_end(SEARCH_DEPTH);
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
        if self.flush_list.is_dirty(frame) || guard.page_no == NO_PAGE {
            return None;
        }
        self.keep_ibuf_bits(&guard);
        self.table.entry(guard.page_no).release();
        guard.page_no = NO_PAGE;
        self.freed_page_clock.fetch_add(1, Ordering::Relaxed);
        self.counters.evictions.fetch_add(1, Ordering::Relaxed);
        Some(guard)
    }

    /// Whether MariaDB's cleaner frees pages though its second is not over (`need_LRU_eviction`). The caller holds the
    /// lock of the list.
    pub fn needs_eviction(&self, lru: &Lru) -> bool {
        !self.options.is_mysql()
            && lru.len() > self.options.lru_min_len()
            && self.frames_left(lru.free_len()) < self.options.scan_depth() / 2
    }

    /// Whether a page could come in without anything but a clean page at the cold end going for it.
    pub fn has_frame_at_hand(&self) -> bool {
        let lru = self.lru.lock();
        let is_clean = |frame: u32| !self.flush_list.is_dirty(frame);
        self.frames_left(lru.free_len()) > 0 || lru.coldest().take(self.options.at_cold_end(SEARCH_DEPTH)).any(is_clean)
    }

    /// One step of a pass of the page cleaner over the cold end, where it begins or where the last one ended: frees
    /// what is clean, and finds what is dirty. Clean pages behind dirty ones go as well (`buf_flush_LRU_list_batch`).
    pub fn pass_cold_end(&self, task: &mut Task, begins: bool, limits: PassLimits) -> Passed {
        let mut lru = self.lru.lock();
        if begins {
            while self.frames_left(lru.free_len()) < limits.free && self.drops_page(&lru) && self.drop_coldest_page() {
                task.charge(Work::PageTouch, 1);
            }
            lru.begin_pass();
        }
        let mut passed = Passed::default();
        passed.ends = loop {
            let is_enough = self.frames_left(lru.free_len()) >= limits.free || lru.len() <= limits.least_len;
            if is_enough || passed.freed + passed.dirty.len() >= limits.pages {
                break true;
            }
            let Some(frame) = lru.passed() else { break true };
            if self.flush_list.is_idle(frame) {
                if passed.dirty.len() >= limits.dirty {
                    break false;
                }
                passed.dirty.push(frame);
            } else if self.free_if_clean(&mut lru, frame) {
                passed.freed += 1;
                // The pass stands at the next one.
                continue;
            }
            lru.pass_on();
        };
        task.charge(Work::PageTouch, passed.freed as u64);
        passed
    }

    /// Frees the frames that are clean of those that were written for it.
    pub fn free_written(&self, task: &mut Task, frames: &[u32]) -> usize {
        let mut lru = self.lru.lock();
        let freed = frames.iter().filter(|frame| self.free_if_clean(&mut lru, **frame)).count();
        task.charge(Work::PageTouch, freed as u64);
        freed
    }

    /// Takes a clean page out of its frame, which joins the free ones. The caller holds the lock of the list.
    fn free_if_clean(&self, lru: &mut Lru, frame: u32) -> bool {
        let Some(mut guard) = self.try_evict(frame) else { return false };
        lru.remove(frame);
        if self.has_zip_tables() {
            self.empty(frame, &mut guard);
        }
        drop(guard);
        lru.give_free(frame);
        true
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

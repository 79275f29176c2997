//! Where a frame for a page that comes in is found, and how clean pages make room.

use super::{Body, BufferPool, WritePage};
use crate::btree::lru::Lru;
use crate::btree::options::Options;
use crate::btree::page::NO_PAGE;
use crate::cost::Work;
use crate::error::{Error, Result};
use crate::task::Task;
use parking_lot::RwLockWriteGuard;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// `BUF_LRU_SEARCH_SCAN_THRESHOLD`: pages at the cold end among which a client looks for a clean one.
const SEARCH_DEPTH: usize = 100;
/// Assumption: most frames that operations may need beyond what is free when they begin.
const MOST_SPARE: usize = 1024;
/// Rounds, each at most a [`FRAME_WAIT`] long, after which a client gives up that finds every frame latched or being
/// written.
const SEARCH_ROUNDS: usize = 10_000;
/// How long a client waits for the writes of others before it looks for a frame again.
const FRAME_WAIT: Duration = Duration::from_millis(1);
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

/// Frames beyond those of the pool, for operations that have begun when it has none.
pub fn spare_frames(options: &Options) -> usize {
    MOST_SPARE.min(options.pool_pages() / 16)
}

impl BufferPool {
    /// A frame for a page, still without one: a free one, else a clean one near the cold end, else a spare one, else the
    /// coldest that is made clean now. A clean page further up is taken only if nothing can be flushed: the dirty ones before
    /// it are colder.
    pub(super) fn empty_frame(&self, task: &mut Task, page_no: u32) -> Result<WritePage<'_>> {
        task.charge(Work::PageTouch, 1);
        self.without_flush_or_with(task, |pool, from| pool.frame_without_flush(page_no, from))
    }

    /// What `attempt` gives, which flushes no page; pages are flushed until it does.
    pub fn without_flush_or_with<'a, T>(
        &'a self,
        task: &mut Task,
        attempt: impl Fn(&'a Self, Source) -> Option<T>,
    ) -> Result<T> {
        for _ in 0..SEARCH_ROUNDS {
            if let Some(found) = attempt(self, Source::ColdEnd) {
                return Ok(found);
            }
            self.poison.check()?;
            if !self.short_of_frames.swap(true, Ordering::AcqRel) {
                self.signal.wake();
            }
            // As in InnoDB, the cleaner supplies frames and clients wait for it: here before their next operation.
            task.ask_before_next();
            if let Some(found) = attempt(self, Source::Spare) {
                return Ok(found);
            }
            // One client at a time makes pages clean; the others wait for it instead of for the processor.
            let turn = self.client_flush.lock();
            if let Some(found) = attempt(self, Source::ColdEnd) {
                return Ok(found);
            }
            let flushed = self.flush_tail(task)?;
            if let Some(found) = attempt(self, if flushed { Source::ColdEnd } else { Source::Anywhere }) {
                return Ok(found);
            }
            drop(turn);
            if !flushed {
                // The writes and reads of others may take as long as their device does.
                self.wait_for_written();
            }
        }
        let accepted = "more frames: every one is in use at once";
        Err(Error::invalid("options.innodb_buffer_pool_size", self.options.innodb_buffer_pool_size, accepted))
    }

    /// Waits until a batch is written, but not for long: a latch that is released counts as well.
    fn wait_for_written(&self) {
        let mut written = self.written.lock();
        if written.is_empty() {
            self.batch_written.wait_for(&mut written, FRAME_WAIT);
        }
    }

    pub(super) fn frame_without_flush(&self, page_no: u32, from: Source) -> Option<WritePage<'_>> {
        if self.is_packed() {
            let frame = self.packed_frame_without_flush(self.has_packed(page_no), from)?;
            let mut guard = self.frames[frame as usize].latch.write();
            *guard = Body::new(self.page_bytes, self.files.of_page(page_no).packed_bytes());
            return Some(WritePage { frame, guard });
        }
        let mut lru = self.lru.lock();
        let empty = if from == Source::Spare { lru.take_spare() } else { lru.take_free() };
        if let Some(frame) = empty {
            drop(lru);
            let mut guard = self.frames[frame as usize].latch.write();
            if guard.bytes.is_empty() {
                *guard = Body::new(self.page_bytes, 0);
                self.allocated.fetch_add(1, Ordering::Relaxed);
            }
            return Some(WritePage { frame, guard });
        }
        let (frame, guard) = self.evict_coldest(&mut lru, from)?;
        lru.remove(frame);
        Some(WritePage { frame, guard })
    }

    /// Takes the coldest clean page out of its frame, which stays in the list.
    pub fn evict_coldest(&self, lru: &mut Lru, from: Source) -> Option<(u32, RwLockWriteGuard<'_, Body>)> {
        if from != Source::Anywhere {
            let depth = search_depth(self.frames());
            return lru.coldest().take(depth).find_map(|frame| Some((frame, self.try_evict(frame)?)));
        }
        let is_dirty = |frame| self.dirty.is_dirty(frame);
        lru.find_clean(self.dirty.cleaned(), is_dirty, |frame| self.try_evict(frame))
    }

    /// Takes a clean, unlatched page out of its frame. The caller holds the lock of the list.
    fn try_evict(&self, frame: u32) -> Option<RwLockWriteGuard<'_, Body>> {
        if self.dirty.is_dirty(frame) {
            return None;
        }
        let mut guard = self.frames[frame as usize].latch.try_write()?;
        if self.dirty.is_dirty(frame) {
            return None;
        }
        self.know_leaf(&guard);
        self.table.entry(guard.page_no).release();
        guard.page_no = NO_PAGE;
        self.clock.fetch_add(1, Ordering::Relaxed);
        self.counters.evictions.fetch_add(1, Ordering::Relaxed);
        Some(guard)
    }

    /// Whether a page could come in without anything but a clean page at the cold end going for it.
    pub fn has_frame_at_hand(&self) -> bool {
        let lru = self.lru.lock();
        let is_clean = |frame: u32| !self.dirty.is_dirty(frame);
        self.frames_left(lru.free_len()) > 0 || lru.coldest().take(search_depth(self.frames())).any(is_clean)
    }

    /// Moves the clean pages among the `depth` coldest to the free list, and returns how many those are.
    pub fn free_clean_pages(&self, task: &mut Task, depth: usize) -> usize {
        let mut lru = self.lru.lock();
        if self.is_packed() {
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
}

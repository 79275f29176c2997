//! Where a frame for a page that comes in is found.

use super::buf_pool::BufferPool;
use super::eviction::Source;
use super::frame::Body;
use super::page_guard::WritePage;
use crate::cost::Work;
use crate::error::{Error, Result};
use crate::task::Task;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Rounds, each at most a [`FRAME_WAIT`] long, after which a client gives up that finds every frame latched or being
/// written.
const SEARCH_ROUNDS: usize = 10_000;
/// How long a client waits for the writes of others before it looks for a frame again.
const FRAME_WAIT: Duration = Duration::from_millis(1);

impl BufferPool {
    /// A frame for a page, still without one: a free one, else a clean one near the cold end, else a spare one, else
    /// the coldest that is made clean now. A clean page further up is taken only if nothing can be flushed: the dirty
    /// ones before it are colder.
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
    #[expect(clippy::disallowed_methods, reason = "no job ends with each page of a batch, so no Signal tells of it")]
    fn wait_for_written(&self) {
        let mut written = self.written.lock();
        if written.is_empty() {
            self.batch_written.wait_for(&mut written, FRAME_WAIT);
        }
    }

    /// A frame for a page from where `from` says.
    pub(super) fn frame_without_flush(&self, page_no: u32, from: Source) -> Option<WritePage<'_>> {
        if self.has_zip_tables() {
            let frame = self.zip_frame_without_flush(self.is_zip_page(page_no), from)?;
            let mut guard = self.frames[frame as usize].latch.write();
            *guard = Body::new(self.page_bytes, self.files.of_page(page_no).zip_bytes());
            return Some(WritePage { frame, guard });
        }
        let mut lru = self.lru.lock();
        let empty = if from == Source::Spare { lru.take_spare() } else { lru.take_free() };
        if let Some(frame) = empty {
            let needs_eviction = self.needs_eviction(&lru);
            drop(lru);
            // Who takes one of the last frames wakes the cleaner (`buf_LRU_get_free_block`).
            if needs_eviction && !self.wakes_cleaner.swap(true, Ordering::AcqRel) {
                self.signal.wake();
            }
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
}

//! The buffer pool: its frames, their latches, and the lookup of pages that are in them.
//!
//! A frame's latch guards its bytes and says which page it holds; a lookup finds the frame in the page table, takes the
//! latch, and looks whether the page is still there. Eviction takes the exclusive latch without waiting, so a latch is
//! also a pin. Nothing here blocks on a latch while it holds the lock of the LRU list.

use super::arrivals::Arrivals;
use super::flush_batch::FlushBatch;
use super::flush_list::FlushList;
use super::frame::{Body, Frame};
use super::lru::{Lru, Midpoint, first_quarter_of_young, is_promoted, spare_frames};
use super::page_guard::{ReadPage, WritePage};
use super::page_table::PageTable;
use super::unzip_lru::UnzipLru;
use crate::btree::log::{Doublewrite, Redo};
use crate::btree::options::Options;
use crate::btree::page::{EXTENT_PAGES, NO_PAGE};
use crate::btree::space::FilSystem;
use crate::cost::Work;
use crate::engine::Poison;
use crate::metrics::share;
use crate::task::{Signal, Task};
use parking_lot::{Condvar, Mutex, RwLockWriteGuard};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// How long a latch is waited for before the waiter looks again where its page is. The frame may hold another page by
/// then, whose owner may in turn wait for a latch of the waiter.
const LATCH_WAIT: Duration = Duration::from_millis(10);

/// Counters since open.
#[derive(Debug, Default)]
pub struct PoolCounters {
    pub misses: AtomicU64,
    pub pages_flushed: AtomicU64,
    pub client_flushes: AtomicU64,
    pub pages_read_ahead: AtomicU64,
    pub evictions: AtomicU64,
    pub unzips: AtomicU64,
}

/// The pool, with the files below it.
pub struct BufferPool {
    pub(super) frames: Box<[Frame]>,
    old: Arc<[AtomicBool]>,
    pub lru: Mutex<Lru>,
    /// Pages that are held in both forms, where tables are compressed. Locked after the LRU list.
    pub unzip_lru: Mutex<UnzipLru>,
    /// Evictions since open.
    pub(super) freed_page_clock: AtomicU32,
    pub table: PageTable,
    pub flush_list: FlushList,
    pub files: Arc<FilSystem>,
    pub(super) doublewrite: Option<Doublewrite>,
    pub redo: Arc<Redo>,
    pub poison: Arc<Poison>,
    pub signal: Arc<Signal>,
    pub options: Options,
    pub counters: PoolCounters,
    /// Batches that are written and synced, but whose job is not yet installed.
    pub(super) written: Mutex<Vec<Arc<FlushBatch>>>,
    /// Told of every batch that joins them.
    pub(super) batch_written: Condvar,
    /// Extents to read ahead.
    pub wanted_extents: Mutex<Vec<u32>>,
    /// A client had to flush pages itself.
    pub short_of_frames: AtomicBool,
    /// A client took a frame that MariaDB's cleaner makes up for, which has not looked since.
    pub wakes_cleaner: AtomicBool,
    pub(super) client_flush: Mutex<()>,
    /// None in a pool that never had buffered changes.
    pub arrivals: OnceLock<Weak<dyn Arrivals>>,
    /// Whether it is kept what leaves were when they left.
    pub(super) keeps_ibuf_bits: bool,
    pub(super) allocated: AtomicU64,
    /// Without what a copy has beyond its part of the pool, which is no part of what it stands for.
    own_frames: u64,
    pub(super) page_bytes: usize,
    old_time_ns: u64,
    quarter: u32,
}

impl BufferPool {
    /// Bytes of the doublewrite area's file.
    pub fn doublewrite_bytes(&self) -> u64 {
        self.doublewrite.as_ref().map_or(0, Doublewrite::file_bytes)
    }

    /// An empty pool over these files and this log.
    pub fn new(
        options: Options,
        files: Arc<FilSystem>,
        doublewrite: Option<Doublewrite>,
        redo: Arc<Redo>,
        poison: Arc<Poison>,
        signal: Arc<Signal>,
    ) -> Self {
        let (frames, spare) = (options.pool_frames(), spare_frames(options.pool_pages()));
        let own_frames = (frames + spare) as u64;
        let (surplus, loans) = options.frames_of_full_size();
        let midpoint = Midpoint {
            old_pct: options.innodb_old_blocks_pct as usize,
            old_min_len: options.old_min_len(),
            tolerance: options.lru_old_tolerance(),
        };
        let lru = Lru::new(frames + surplus, spare, loans, midpoint);
        let frames = frames + surplus + spare + loans;
        Self {
            frames: (0..frames).map(|_| Frame::default()).collect(),
            old: lru.old_flags(),
            lru: Mutex::new(lru),
            unzip_lru: Mutex::new(UnzipLru::new(if options.has_zip_tables() { frames } else { 0 })),
            freed_page_clock: AtomicU32::new(0),
            table: PageTable::new(),
            flush_list: FlushList::new(frames),
            files,
            doublewrite,
            redo,
            poison,
            signal,
            counters: PoolCounters::default(),
            written: Mutex::default(),
            batch_written: Condvar::new(),
            wanted_extents: Mutex::default(),
            short_of_frames: AtomicBool::new(false),
            wakes_cleaner: AtomicBool::new(false),
            client_flush: Mutex::default(),
            arrivals: OnceLock::new(),
            keeps_ibuf_bits: options.buffers_puts(),
            allocated: AtomicU64::new(0),
            own_frames,
            page_bytes: options.innodb_page_size as usize,
            old_time_ns: options.old_time_ns(),
            quarter: first_quarter_of_young(options.pool_frames(), options.innodb_old_blocks_pct as usize),
            options,
        }
    }

    /// Bytes of a page that is not compressed.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Whether the page is one of a compressed table.
    pub(super) fn is_zip_page(&self, page_no: u32) -> bool {
        self.files.of_page(page_no).zip_bytes() > 0
    }

    /// Frames of the pool.
    pub fn frames(&self) -> usize {
        self.options.pool_frames()
    }

    /// Bytes of memory: allocated frames and the tables around them.
    pub fn memory_bytes(&self) -> u64 {
        self.held_bytes()
            + (self.frames.len() * size_of::<Frame>()) as u64
            + self.table.memory_bytes()
            + self.flush_list.memory_bytes()
            + self.lru.lock().memory_bytes()
    }

    /// How full it is or was, from 0 to 1.
    pub fn filled(&self) -> Option<f64> {
        share(self.held_bytes(), (self.frames() * self.page_bytes) as u64)
    }

    fn held_bytes(&self) -> u64 {
        if self.has_zip_tables() {
            self.zip_held_bytes()
        } else {
            self.allocated.load(Ordering::Relaxed).min(self.own_frames) * self.page_bytes as u64
        }
    }

    /// Charges what the comparisons since there were `before` of them missed of the processor's caches. What the pool
    /// keeps about its pages is small enough to stay there, and the bytes of a value follow one another.
    #[inline]
    pub fn charge_misses(&self, task: &mut Task, before: u64) {
        let bytes = self.held_bytes();
        task.charge_misses(task.units(Work::Compare) - before, bytes);
    }

    /// The page, if it is in a frame.
    #[inline]
    pub fn read_resident(&self, task: &mut Task, page_no: u32) -> Option<ReadPage<'_>> {
        let entry = self.table.get(page_no)?;
        loop {
            let frame = entry.frame()?;
            let latch = &self.frames[frame as usize].latch;
            let Some(guard) = latch.try_read().or_else(|| latch.try_read_for(LATCH_WAIT)) else { continue };
            if guard.lacks_page(page_no) {
                return None;
            }
            if guard.page_no == page_no {
                self.touch(task, frame, page_no);
                return Some(ReadPage { guard });
            }
        }
    }

    /// The page, if it is in a frame and its latch is free, without a trace in the LRU list.
    pub fn peek(&self, page_no: u32) -> Option<ReadPage<'_>> {
        let frame = self.table.get(page_no)?.frame()?;
        let guard = self.frames[frame as usize].latch.try_read()?;
        (guard.page_no == page_no && guard.has_page()).then_some(ReadPage { guard })
    }

    /// The page under its exclusive latch, if it is in a frame.
    #[inline]
    pub fn write_resident(&self, task: &mut Task, page_no: u32) -> Option<WritePage<'_>> {
        let entry = self.table.get(page_no)?;
        loop {
            let frame = entry.frame()?;
            let latch = &self.frames[frame as usize].latch;
            let Some(guard) = latch.try_write().or_else(|| latch.try_write_for(LATCH_WAIT)) else { continue };
            if guard.lacks_page(page_no) {
                return None;
            }
            if guard.page_no == page_no {
                self.touch(task, frame, page_no);
                return Some(WritePage { frame, guard });
            }
        }
    }

    /// The page that a frame holds, perhaps.
    pub fn page_hint(&self, frame: u32) -> u32 {
        self.frames[frame as usize].page_hint.load(Ordering::Acquire)
    }

    /// Dirty pages of which no write has begun since they were made.
    #[cfg(test)]
    pub fn fresh_pages(&self) -> Vec<u32> {
        let is_fresh = |frame: &u32| self.frames[*frame as usize].is_fresh.load(Ordering::Relaxed);
        self.flush_list
            .oldest_frames(usize::MAX)
            .iter()
            .filter(|frame| is_fresh(frame))
            .map(|f| self.page_hint(*f))
            .collect()
    }

    /// Reads a frame's page under its latch, if that is free.
    pub fn with_frame<R>(&self, frame: u32, f: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.with_body(frame, false, |_, body| body.has_page().then(|| f(&body.bytes))).flatten()
    }

    /// Reads what a frame holds under its latch; without `wait`, only if the latch is free.
    pub fn with_body<R>(&self, frame: u32, wait: bool, f: impl FnOnce(u32, &Body) -> R) -> Option<R> {
        let latch = &self.frames[frame as usize].latch;
        let guard = if wait { latch.read() } else { latch.try_read()? };
        (guard.page_no != NO_PAGE).then(|| f(guard.page_no, &guard))
    }

    /// When a page was first asked for since it came in.
    pub fn first_access_ns(&self, page_no: u32) -> Option<u64> {
        let frame = self.table.entry(page_no).frame()?;
        let first = self.frames[frame as usize].first_access_ns.load(Ordering::Relaxed);
        (first != 0).then_some(first)
    }

    /// A page in a frame was asked for: charges the lookup, and moves the page in the LRU list if that is due.
    #[inline]
    pub(super) fn touch(&self, task: &mut Task, frame: u32, page_no: u32) {
        task.charge(Work::CacheLookup, 1);
        let meta = &self.frames[frame as usize];
        let first = meta.first_access_ns.load(Ordering::Relaxed);
        if first == 0 {
            meta.first_access_ns.store(task.now_ns.max(1), Ordering::Relaxed);
            return self.note_first_access(page_no);
        }
        let clock = self.freed_page_clock.load(Ordering::Relaxed);
        if clock == 0 {
            return;
        }
        let old = self.old[frame as usize].load(Ordering::Relaxed);
        let young_clock = meta.young_clock.load(Ordering::Relaxed);
        if is_promoted(old, task.now_ns.saturating_sub(first), self.old_time_ns, clock, young_clock, self.quarter) {
            self.make_young(task, frame, clock);
        }
    }

    #[cold]
    fn make_young(&self, task: &mut Task, frame: u32, clock: u32) {
        task.charge(Work::PageTouch, 1);
        if let Some(mut lru) = self.lru.try_lock() {
            lru.make_young(frame);
            self.frames[frame as usize].young_clock.store(clock, Ordering::Relaxed);
            if self.has_zip_tables() {
                self.note_hot_unzipped(frame);
            }
        }
    }

    /// The first access to a page at the border of an extent may begin a read-ahead.
    fn note_first_access(&self, page_no: u32) {
        let place = page_no % EXTENT_PAGES;
        let off = self.options.innodb_read_ahead_threshold == 0;
        if off || (place != 0 && place != EXTENT_PAGES - 1) {
            return;
        }
        self.consider_read_ahead(page_no);
    }

    /// A frame's latch, if it is free.
    pub fn try_latch(&self, frame: u32) -> Option<RwLockWriteGuard<'_, Body>> {
        self.frames[frame as usize].latch.try_write()
    }

    /// A frame's latch, unless others keep it for long.
    pub fn latch_for_a_while(&self, frame: u32) -> Option<RwLockWriteGuard<'_, Body>> {
        self.frames[frame as usize].latch.try_write_for(LATCH_WAIT)
    }
}

//! The buffer pool: frames, their latches, and the way of a page into a frame and out of it.
//!
//! A frame's latch guards its bytes and says which page it holds; a lookup finds the frame in the page table, takes the
//! latch, and looks whether the page is still there. Eviction takes the exclusive latch without waiting, so a latch is
//! also a pin. Nothing here blocks on a latch while it holds the lock of the LRU list.

mod frames;

pub use frames::{Source, spare_frames};

use super::change_buffer::KnownLeaf;
use super::doublewrite::Doublewrite;
use super::flush_list::FlushList;
use super::lru::{Lru, first_quarter_of_young, is_promoted};
use super::options::Options;
use super::packed_page::Packed;
use super::packed_pool::{Unzipped, keep_in};
use super::page::{EXTENT_PAGES, Kind, NO_PAGE, View};
use super::page_edit::Edit;
use super::page_table::{Entry, PageTable};
use super::redo::Redo;
use super::tablespaces::Tablespaces;
use crate::cost::Work;
use crate::engine::Poison;
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::task::{Signal, Task};
use parking_lot::{Condvar, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// How long a latch is waited for before the waiter looks again where its page is. The frame may hold another page by
/// then, whose owner may in turn wait for a latch of the waiter.
const LATCH_WAIT: Duration = Duration::from_millis(10);

/// What a frame holds.
#[derive(Clone)]
pub struct Body {
    page_no: u32,
    bytes: Box<[u8]>,
    /// The compressed form of the page, if its table is compressed. Only that of a page of a tree is kept up.
    packed: Box<[u8]>,
}

impl Body {
    pub fn new(page_bytes: usize, packed_bytes: usize) -> Self {
        let empty = |bytes| vec![0; bytes].into_boxed_slice();
        Self { page_no: NO_PAGE, bytes: empty(page_bytes), packed: empty(packed_bytes) }
    }

    /// Appends what storage is to hold.
    pub fn append_stored(&self, out: &mut Vec<u8>) {
        if !self.has_packed() {
            return out.extend_from_slice(&self.bytes);
        }
        let start = out.len();
        out.extend_from_slice(&self.packed);
        if self.has_page() {
            keep_in(&mut out[start..], &self.bytes);
        }
    }

    /// Whether the page is here, and not its compressed form alone.
    pub fn has_page(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Whether the page has a compressed form.
    pub fn has_packed(&self) -> bool {
        !self.packed.is_empty()
    }

    /// Whether the frame holds this page in its compressed form alone.
    pub fn lacks_page(&self, page_no: u32) -> bool {
        self.page_no == page_no && !self.has_page()
    }

    /// Drops the page and keeps its compressed form; false if there is no page yet.
    pub fn strip(&mut self) -> bool {
        let strips = self.page_no != NO_PAGE && self.has_page();
        if strips {
            keep_in(&mut self.packed, &self.bytes);
            self.bytes = Box::default();
        }
        strips
    }

    /// Makes the page of its compressed form.
    pub fn unpack(&mut self, expand: impl FnOnce(&[u8], &mut [u8]) -> Result<()>, page_bytes: usize) -> Result<()> {
        let mut bytes = vec![0; page_bytes].into_boxed_slice();
        expand(&self.packed, &mut bytes)?;
        self.bytes = bytes;
        Ok(())
    }
}

#[repr(align(64))]
struct Frame {
    latch: RwLock<Body>,
    /// Time of the first access since the page came in; 0 before.
    first_access_ns: AtomicU64,
    /// Evictions when the page was last put in front.
    young_clock: AtomicU32,
    /// The page in the frame, to be confirmed under the latch.
    page_hint: AtomicU32,
}

/// A page under its shared latch.
pub struct ReadPage<'a> {
    guard: RwLockReadGuard<'a, Body>,
}

impl ReadPage<'_> {
    #[inline]
    pub fn view(&self) -> View<'_> {
        View(&self.guard.bytes)
    }
}

/// A page under its exclusive latch.
pub struct WritePage<'a> {
    /// The frame's number.
    pub frame: u32,
    guard: RwLockWriteGuard<'a, Body>,
}

impl WritePage<'_> {
    #[inline]
    pub fn view(&self) -> View<'_> {
        View(&self.guard.bytes)
    }

    #[inline]
    pub fn edit(&mut self) -> Edit<'_> {
        Edit(&mut self.guard.bytes)
    }

    pub fn page_no(&self) -> u32 {
        self.guard.page_no
    }

    /// Page and compressed form, which is empty if pages have none.
    pub fn parts(&mut self) -> (&mut [u8], &mut [u8]) {
        let Body { bytes, packed, .. } = &mut *self.guard;
        (bytes, packed)
    }

    /// Whether the page is one of a compressed table's tree.
    pub fn is_packed(&self) -> bool {
        self.guard.has_packed() && self.view().kind() == Kind::Tree
    }

    fn fill(&mut self, body: &Body) {
        self.guard.bytes.copy_from_slice(&body.bytes);
        self.guard.packed.copy_from_slice(&body.packed);
    }

    /// The compressed form.
    pub fn packed(&self) -> Packed<'_> {
        Packed(&self.guard.packed)
    }
}

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

/// Whoever has to see a page that is brought in before others do.
pub trait Arrivals: Send + Sync {
    /// A page is about to be brought in. The caller may hold latches.
    fn prepare(&self, task: &mut Task) -> Result<()>;
    /// A page was brought in; only the caller has its latch.
    fn arrive(&self, task: &mut Task, page: &mut WritePage) -> Result<()>;
    /// Whether something is to be done when the page arrives.
    fn awaits(&self, page_no: u32) -> bool;
}

/// The pool, with the files below it.
pub struct BufferPool {
    frames: Box<[Frame]>,
    old: Arc<[AtomicBool]>,
    pub(super) lru: Mutex<Lru>,
    /// Pages that are held in both forms, where tables are compressed. Locked after the LRU list.
    pub(super) unzipped: Mutex<Unzipped>,
    /// Evictions, as InnoDB's `freed_page_clock` counts them.
    clock: AtomicU32,
    pub(super) table: PageTable,
    pub(super) dirty: FlushList,
    pub(super) files: Arc<Tablespaces>,
    pub(super) doublewrite: Option<Doublewrite>,
    pub(super) redo: Arc<Redo>,
    pub(super) poison: Arc<Poison>,
    pub(super) signal: Arc<Signal>,
    pub(super) options: Options,
    pub(super) counters: PoolCounters,
    /// Batches that are written and synced, but whose job is not yet installed.
    pub(super) written: Mutex<Vec<Arc<super::flush::FlushBatch>>>,
    /// Told of every batch that joins them.
    pub(super) batch_written: Condvar,
    /// Extents to read ahead.
    pub(super) wanted_extents: Mutex<Vec<u32>>,
    /// A client had to flush pages itself.
    pub(super) short_of_frames: AtomicBool,
    client_flush: Mutex<()>,
    /// None in a pool that never had buffered changes.
    pub(super) arrivals: OnceLock<Weak<dyn Arrivals>>,
    /// Whether it is kept what leaves were when they left.
    knows_leaves: bool,
    allocated: AtomicU64,
    page_bytes: usize,
    old_time_ns: u64,
    quarter: u32,
}

impl BufferPool {
    pub fn new(
        options: Options,
        files: Arc<Tablespaces>,
        doublewrite: Option<Doublewrite>,
        redo: Arc<Redo>,
        poison: Arc<Poison>,
        signal: Arc<Signal>,
    ) -> Self {
        let (frames, spare) = (options.pool_frames(), spare_frames(&options));
        let lru = Lru::new(frames, spare, options.innodb_old_blocks_pct as usize);
        let frames = frames + spare;
        Self {
            frames: (0..frames).map(|_| Frame::default()).collect(),
            old: lru.old_flags(),
            lru: Mutex::new(lru),
            unzipped: Mutex::new(Unzipped::new(if options.is_packed() { frames } else { 0 })),
            clock: AtomicU32::new(0),
            table: PageTable::new(),
            dirty: FlushList::new(frames),
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
            client_flush: Mutex::default(),
            arrivals: OnceLock::new(),
            knows_leaves: options.buffers_puts(),
            allocated: AtomicU64::new(0),
            page_bytes: options.innodb_page_size as usize,
            old_time_ns: options.old_time_ns(),
            quarter: first_quarter_of_young(options.pool_frames(), options.innodb_old_blocks_pct as usize),
            options,
        }
    }

    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    fn has_packed(&self, page_no: u32) -> bool {
        self.files.of_page(page_no).packed_bytes() > 0
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
            + self.dirty.memory_bytes()
            + self.lru.lock().memory_bytes()
    }

    fn held_bytes(&self) -> u64 {
        if self.is_packed() {
            self.packed_held_bytes()
        } else {
            self.allocated.load(Ordering::Relaxed) * self.page_bytes as u64
        }
    }

    /// Charges what the comparisons since there were `before` of them missed of the processor's caches. What the pool keeps
    /// about its pages is small enough to stay there, and the bytes of a value follow one another.
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

    /// The page, read from storage if need be.
    pub fn read(&self, task: &mut Task, page_no: u32) -> Result<ReadPage<'_>> {
        loop {
            if let Some(page) = self.read_resident(task, page_no) {
                return Ok(page);
            }
            self.load(task, page_no, Purpose::UserRead)?;
        }
    }

    /// The page under its exclusive latch, read from storage if need be.
    pub fn write(&self, task: &mut Task, page_no: u32, purpose: Purpose) -> Result<WritePage<'_>> {
        loop {
            if let Some(page) = self.write_resident(task, page_no) {
                return Ok(page);
            }
            self.load(task, page_no, purpose)?;
        }
    }

    /// A frame for a page whose content on storage does not matter. The caller overwrites all of it.
    pub fn create(&self, task: &mut Task, page_no: u32) -> Result<WritePage<'_>> {
        self.check_page_no(page_no)?;
        loop {
            if let Some(page) = self.write_resident(task, page_no) {
                return Ok(page);
            }
            if self.has_packed(page_no) && self.table.entry(page_no).frame().is_some() {
                self.unpack_resident(task, page_no)?;
                continue;
            }
            let mut page = self.empty_frame(task, page_no)?;
            if self.table.entry(page_no).claim(page.frame) {
                self.admit(&mut page, page_no);
                self.touch(task, page.frame, page_no);
                return Ok(page);
            }
            self.give_back(page);
        }
    }

    /// The page as recovery needs it: a page that was never written is empty, and no error.
    pub fn write_for_recovery(&self, task: &mut Task, page_no: u32) -> Result<WritePage<'_>> {
        self.check_page_no(page_no)?;
        // Not `create`: what must go so that a compressed page can be unpacked may be that page, which is empty then.
        while self.table.entry(page_no).frame().is_some() {
            if let Some(page) = self.write_resident(task, page_no) {
                return Ok(page);
            }
            self.unpack_resident(task, page_no)?;
        }
        let file = self.files.of_page(page_no);
        let mut raw = vec![0; file.slot_bytes()];
        file.read_raw(task, Purpose::Recovery, page_no, None, &mut raw)?;
        let mut body = Body::new(self.page_bytes, file.packed_bytes());
        if raw.iter().any(|byte| *byte != 0) {
            body = self.open_image(task, page_no, &mut raw)?;
            self.check_age(View(&body.bytes), page_no)?;
        }
        let mut page = self.create(task, page_no)?;
        page.fill(&body);
        Ok(page)
    }

    /// The page as recovery needs it for an image whose frame ends at `end`: empty, whatever storage has, unless that is newer.
    /// Then it stays: what was logged behind the image may need batches that the log no longer tells of.
    pub fn write_for_image(&self, task: &mut Task, page_no: u32, end: u64) -> Result<WritePage<'_>> {
        let mut page = match self.write_for_recovery(task, page_no) {
            // Torn; or what another life of the engine left there.
            Err(Error::Corruption { .. }) => self.create(task, page_no)?,
            page => page?,
        };
        if page.view().lsn() < end {
            let (bytes, packed) = page.parts();
            bytes.fill(0);
            packed.fill(0);
        }
        Ok(page)
    }

    /// Checks what storage held of a page, and makes the page of it.
    pub fn open_image(&self, task: &mut Task, page_no: u32, image: &mut [u8]) -> Result<Body> {
        let file = self.files.of_page(page_no);
        let mut body = Body::new(self.page_bytes, file.packed_bytes());
        if body.has_packed() {
            file.open_packed(task, page_no, image, &mut body.bytes)?;
            body.packed.copy_from_slice(image);
        } else {
            file.unpack(task, page_no, image)?;
            body.bytes.copy_from_slice(image);
        }
        Ok(body)
    }

    /// Brings a page into a frame. Others who want the page wait on its latch; nobody else waits.
    #[cold]
    pub fn load(&self, task: &mut Task, page_no: u32, purpose: Purpose) -> Result<()> {
        self.check_page_no(page_no)?;
        let entry = self.table.entry(page_no);
        if self.has_packed(page_no) && entry.frame().is_some() {
            return self.unpack_resident(task, page_no);
        }
        let arrivals = self.arrivals();
        if let Some(arrivals) = &arrivals {
            arrivals.prepare(task)?;
        }
        let page = self.empty_frame(task, page_no)?;
        if !entry.claim(page.frame) {
            self.give_back(page);
            return Ok(());
        }
        self.counters.misses.fetch_add(1, Ordering::Relaxed);
        if self.is_packed() {
            self.unzipped.lock().note_io(1);
        }
        let mut reading = Reading { pool: self, entry, page: Some(page) };
        let Some(page) = &mut reading.page else { return Ok(()) };
        self.read_into(task, page, page_no, purpose)?;
        self.check_age(page.view(), page_no)?;
        let Some(mut page) = reading.page.take() else { return Ok(()) };
        self.admit(&mut page, page_no);
        arrivals.map_or(Ok(()), |arrivals| arrivals.arrive(task, &mut page))
    }

    fn arrivals(&self) -> Option<Arc<dyn Arrivals>> {
        self.arrivals.get().and_then(Weak::upgrade)
    }

    fn read_into(&self, task: &mut Task, page: &mut WritePage, page_no: u32, purpose: Purpose) -> Result<()> {
        let file = self.files.of_page(page_no);
        let (bytes, packed) = page.parts();
        if packed.is_empty() {
            let blocks = self.table.entry(page_no).stored_blocks();
            return file.read(task, purpose, page_no, blocks, bytes);
        }
        file.read_raw(task, purpose, page_no, None, packed)?;
        file.open_packed(task, page_no, packed, bytes)
    }

    /// Takes in a page that was read ahead when it had been written `writes` times, if a frame is to be had without a
    /// flush and storage has nothing newer.
    pub fn offer(&self, page_no: u32, writes: u32, body: &Body) -> bool {
        let Some(mut page) = self.frame_without_flush(page_no, Source::Anywhere) else { return false };
        let entry = self.table.entry(page_no);
        if !entry.claim(page.frame) {
            self.give_back(page);
            return false;
        }
        // Only now: until the claim, others could bring the page in, change it, write it and evict it. One with buffered
        // changes is left to those who want it.
        let is_awaited = self.arrivals().is_some_and(|arrivals| arrivals.awaits(page_no));
        if is_awaited || entry.writes() != writes {
            entry.release();
            self.give_back(page);
            return false;
        }
        page.fill(body);
        self.admit(&mut page, page_no);
        true
    }

    fn check_page_no(&self, page_no: u32) -> Result<()> {
        if (page_no as usize) < PageTable::MAX_PAGES {
            return Ok(());
        }
        Err(self.files.of_page(page_no).corruption(page_no, "the page number is out of range"))
    }

    /// A page cannot be newer than the log.
    fn check_age(&self, view: View, page_no: u32) -> Result<()> {
        if self.redo.has_reached(view.lsn()) {
            return Ok(());
        }
        let what = format!("page {page_no} has LSN {}, the redo log never got there", view.lsn());
        Err(self.files.of_page(page_no).corruption(page_no, what))
    }

    fn admit(&self, page: &mut WritePage, page_no: u32) {
        page.guard.page_no = page_no;
        let frame = &self.frames[page.frame as usize];
        frame.page_hint.store(page_no, Ordering::Release);
        frame.first_access_ns.store(0, Ordering::Relaxed);
        frame.young_clock.store(self.clock.load(Ordering::Relaxed), Ordering::Relaxed);
        self.lru.lock().insert(page.frame);
        if page.guard.has_packed() {
            self.note_unzipped(page.frame);
        }
    }

    fn give_back(&self, mut page: WritePage) {
        page.guard.page_no = NO_PAGE;
        let frame = page.frame;
        if self.is_packed() {
            self.empty(frame, &mut page.guard);
        }
        drop(page);
        self.lru.lock().give_free(frame);
    }

    /// The page that a frame holds, perhaps.
    pub fn page_hint(&self, frame: u32) -> u32 {
        self.frames[frame as usize].page_hint.load(Ordering::Acquire)
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

    #[inline]
    fn touch(&self, task: &mut Task, frame: u32, page_no: u32) {
        task.charge(Work::CacheLookup, 1);
        let meta = &self.frames[frame as usize];
        let first = meta.first_access_ns.load(Ordering::Relaxed);
        if first == 0 {
            meta.first_access_ns.store(task.now_ns.max(1), Ordering::Relaxed);
            return self.note_first_access(page_no);
        }
        let clock = self.clock.load(Ordering::Relaxed);
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
            if self.is_packed() {
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

    /// Whether the pool never had to let a page go.
    pub fn has_evicted_none(&self) -> bool {
        self.clock.load(Ordering::Relaxed) == 0
    }

    /// Keeps what a leaf is like that leaves the pool or keeps its compressed form alone, if anyone asks for it later.
    #[inline]
    pub fn know_leaf(&self, body: &Body) {
        if self.knows_leaves && body.has_page() && body.page_no != NO_PAGE {
            let packed = body.has_packed().then_some(Packed(&body.packed));
            self.table.entry(body.page_no).know_leaf(KnownLeaf::of(View(&body.bytes), packed));
        }
    }
}

/// A frame that was claimed for a page, while that is read. It is given back if the page does not come.
struct Reading<'a> {
    pool: &'a BufferPool,
    entry: &'a Entry,
    page: Option<WritePage<'a>>,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        if let Some(page) = self.page.take() {
            self.entry.release();
            self.pool.give_back(page);
        }
    }
}

impl Default for Frame {
    fn default() -> Self {
        Self {
            latch: RwLock::new(Body::new(0, 0)),
            first_access_ns: AtomicU64::new(0),
            young_clock: AtomicU32::new(0),
            page_hint: AtomicU32::new(NO_PAGE),
        }
    }
}

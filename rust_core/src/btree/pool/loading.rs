//! The way of a page into a frame: read from storage, decompressed in its frame, made anew, or as recovery and
//! read-ahead need it.

use super::arrivals::Arrivals;
use super::buf_pool::BufferPool;
use super::eviction::Source;
use super::frame::Body;
use super::lru::{Place, first_young_clock};
use super::page_guard::{ReadPage, WritePage};
use super::page_table::Entry;
use crate::btree::page::{MAX_PAGES, NO_PAGE, View};
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::task::Task;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

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

impl BufferPool {
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

    /// A page that is made anew, which its log begins with (`mtr_t::init`). The caller overwrites all of it.
    pub fn create_fresh(&self, task: &mut Task, page_no: u32) -> Result<WritePage<'_>> {
        let page = self.create(task, page_no)?;
        self.frames[page.frame as usize].is_fresh.store(true, Ordering::Relaxed);
        Ok(page)
    }

    /// A frame for a page whose content on storage does not matter. The caller overwrites all of it.
    fn create(&self, task: &mut Task, page_no: u32) -> Result<WritePage<'_>> {
        self.check_page_no(page_no)?;
        loop {
            if let Some(page) = self.write_resident(task, page_no) {
                return Ok(page);
            }
            if self.is_zip_page(page_no) && self.table.entry(page_no).frame().is_some() {
                self.decompress_resident(task, page_no)?;
                continue;
            }
            let mut page = self.empty_frame(task, page_no)?;
            if self.table.entry(page_no).claim(page.frame) {
                self.admit(&mut page, page_no, Place::Front);
                self.touch(task, page.frame, page_no);
                return Ok(page);
            }
            self.give_back(page);
        }
    }

    /// The page as recovery needs it: a page that was never written is empty, and no error.
    pub fn write_for_recovery(&self, task: &mut Task, page_no: u32) -> Result<WritePage<'_>> {
        self.check_page_no(page_no)?;
        // Not `create`: what must go so that a page can be decompressed may be that page, which is empty then.
        while self.table.entry(page_no).frame().is_some() {
            if let Some(page) = self.write_resident(task, page_no) {
                return Ok(page);
            }
            self.decompress_resident(task, page_no)?;
        }
        let file = self.files.of_page(page_no);
        let mut raw = vec![0; file.slot_bytes()];
        file.read_raw(task, Purpose::Recovery, page_no, None, &mut raw)?;
        let mut body = Body::new(self.page_bytes, file.zip_bytes());
        if raw.iter().any(|byte| *byte != 0) {
            body = self.open_image(task, page_no, &mut raw)?;
            self.check_age(View(&body.bytes), page_no)?;
        }
        let mut page = self.create(task, page_no)?;
        page.fill(&body);
        Ok(page)
    }

    /// The page as recovery needs it for an image whose frame ends at `end`: empty, whatever storage has, unless that
    /// is newer. Then it stays: what was logged behind the image may need batches that the log no longer tells of.
    pub fn write_for_image(&self, task: &mut Task, page_no: u32, end: u64) -> Result<WritePage<'_>> {
        let (mut page, is_whole) = match self.write_for_recovery(task, page_no) {
            // Torn; or what another life of the engine left there. The frame still has what was in it before.
            Err(Error::Corruption { .. }) => (self.create(task, page_no)?, false),
            page => (page?, true),
        };
        if !is_whole || page.view().lsn() < end {
            let (bytes, zip) = page.parts();
            bytes.fill(0);
            zip.fill(0);
        }
        Ok(page)
    }

    /// Checks what storage held of a page, and makes the page of it.
    pub fn open_image(&self, task: &mut Task, page_no: u32, image: &mut [u8]) -> Result<Body> {
        let file = self.files.of_page(page_no);
        let mut body = Body::new(self.page_bytes, file.zip_bytes());
        if body.has_zip() {
            file.open_zip(task, page_no, image, &mut body.bytes)?;
            body.zip.copy_from_slice(image);
        } else {
            file.open_page(task, page_no, image)?;
            body.bytes.copy_from_slice(image);
        }
        Ok(body)
    }

    /// Brings a page into a frame. Others who want the page wait on its latch; nobody else waits.
    #[cold]
    pub fn load(&self, task: &mut Task, page_no: u32, purpose: Purpose) -> Result<()> {
        self.check_page_no(page_no)?;
        let entry = self.table.entry(page_no);
        if self.is_zip_page(page_no) && entry.frame().is_some() {
            return self.decompress_resident(task, page_no);
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
        if self.has_zip_tables() {
            self.unzip_lru.lock().note_io(1);
        }
        let mut reading = Reading { pool: self, entry, page: Some(page) };
        let Some(page) = &mut reading.page else { return Ok(()) };
        self.read_into(task, page, page_no, purpose)?;
        self.check_age(page.view(), page_no)?;
        let Some(mut page) = reading.page.take() else { return Ok(()) };
        self.admit(&mut page, page_no, Place::Midpoint);
        arrivals.map_or(Ok(()), |arrivals| arrivals.arrive(task, &mut page))
    }

    fn arrivals(&self) -> Option<Arc<dyn Arrivals>> {
        self.arrivals.get().and_then(Weak::upgrade)
    }

    fn read_into(&self, task: &mut Task, page: &mut WritePage, page_no: u32, purpose: Purpose) -> Result<()> {
        let file = self.files.of_page(page_no);
        let (bytes, zip) = page.parts();
        if zip.is_empty() {
            let blocks = self.table.entry(page_no).stored_blocks();
            return file.read(task, purpose, page_no, blocks, bytes);
        }
        file.read_raw(task, purpose, page_no, None, zip)?;
        file.open_zip(task, page_no, zip, bytes)
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
        // Only now: until the claim, others could bring the page in, change it, write it and evict it. One with
        // buffered changes is left to those who want it.
        let is_awaited = self.arrivals().is_some_and(|arrivals| arrivals.awaits(page_no));
        if is_awaited || entry.writes() != writes {
            entry.release();
            self.give_back(page);
            return false;
        }
        page.fill(body);
        self.admit(&mut page, page_no, Place::Midpoint);
        true
    }

    fn check_page_no(&self, page_no: u32) -> Result<()> {
        if page_no < MAX_PAGES {
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

    fn admit(&self, page: &mut WritePage, page_no: u32, place: Place) {
        page.guard.page_no = page_no;
        let frame = &self.frames[page.frame as usize];
        frame.page_hint.store(page_no, Ordering::Release);
        frame.first_access_ns.store(0, Ordering::Relaxed);
        frame.is_fresh.store(false, Ordering::Relaxed);
        let place = self.lru.lock().insert(page.frame, place);
        let clock = first_young_clock(place, self.freed_page_clock.load(Ordering::Relaxed));
        frame.young_clock.store(clock, Ordering::Relaxed);
        if page.guard.has_zip() {
            self.note_unzipped(page.frame);
        }
    }

    fn give_back(&self, mut page: WritePage) {
        page.guard.page_no = NO_PAGE;
        let frame = page.frame;
        if self.has_zip_tables() {
            self.empty(frame, &mut page.guard);
        }
        drop(page);
        self.lru.lock().give_free(frame);
    }

    /// Decompresses a page that the pool holds in its compressed form alone. If it is gone or latched meanwhile,
    /// nothing happens, and the caller looks again.
    pub fn decompress_resident(&self, task: &mut Task, page_no: u32) -> Result<()> {
        self.without_flush_or_with(task, Self::page_bytes_without_flush)?;
        let decompressed = self.decompress_with_bytes(task, page_no);
        if !matches!(decompressed, Ok(true)) {
            self.unzip_lru.lock().taken -= 1;
        }
        decompressed.map(drop)
    }

    fn decompress_with_bytes(&self, task: &mut Task, page_no: u32) -> Result<bool> {
        let Some(frame) = self.table.entry(page_no).frame() else { return Ok(false) };
        let Some(mut body) = self.latch_for_a_while(frame) else { return Ok(false) };
        if !body.lacks_page(page_no) {
            return Ok(false);
        }
        body.decompress(|zip, bytes| self.files.of_page(page_no).expand(task, page_no, zip, bytes), self.page_bytes())?;
        let mut unzip_lru = self.unzip_lru.lock();
        unzip_lru.push(frame);
        unzip_lru.note_unzip();
        self.counters.unzips.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }
}

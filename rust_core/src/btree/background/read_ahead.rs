//! Linear read-ahead: when the pages of an extent were first asked for in order, the next extent is read as a job.

use crate::btree::page::EXTENT_PAGES;
use crate::btree::pool::{Body, BufferPool};
use crate::btree::space::Spaces;
use crate::error::Result;
use crate::metrics::Purpose;
use crate::task::{Job, JobKind, Task};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl BufferPool {
    /// The next extent to read, if its pages belong to a tree and some are not in the pool.
    pub fn next_wanted_extent(&self, spaces: &Mutex<Spaces>) -> Option<u32> {
        loop {
            let extent = self.wanted_extents.lock().pop()?;
            let pages = extent * EXTENT_PAGES..(extent + 1) * EXTENT_PAGES;
            let owned = spaces.lock().of_page(pages.start).owner_of(pages.start).is_some();
            if owned && pages.into_iter().any(|page| self.table.entry(page).frame().is_none()) {
                return Some(extent);
            }
        }
    }
}

/// Reads the pages of one extent.
pub struct ReadAheadJob {
    pool: Arc<BufferPool>,
    extent: u32,
    /// Page, times it had been written when it was read, and content.
    pages: Vec<(u32, u32, Body)>,
}

impl ReadAheadJob {
    /// Of one extent.
    pub fn new(pool: Arc<BufferPool>, extent: u32) -> Self {
        Self { pool, extent, pages: Vec::new() }
    }

    fn read_run(&mut self, task: &mut Task, run: &[(u32, u32)]) -> Result<()> {
        let Some((first, _)) = run.first() else { return Ok(()) };
        let file = self.pool.files.of_page(*first);
        let page_bytes = file.slot_bytes();
        let mut bytes = vec![0; run.len() * page_bytes];
        file.read_run(task, Purpose::ReadAhead, *first, &mut bytes)?;
        for ((page_no, writes), image) in run.iter().zip(bytes.chunks_exact_mut(page_bytes)) {
            // A page of the extent that is not taken, or never written, is no page.
            if let Ok(body) = self.pool.open_image(task, *page_no, image) {
                self.pages.push((*page_no, *writes, body));
            }
        }
        Ok(())
    }
}

impl Job for ReadAheadJob {
    fn kind(&self) -> JobKind {
        JobKind::PageFlush
    }

    fn run(&mut self, task: &mut Task) -> Result<()> {
        let mut run = Vec::new();
        for page_no in self.extent * EXTENT_PAGES..(self.extent + 1) * EXTENT_PAGES {
            let entry = self.pool.table.entry(page_no);
            let writes = entry.writes();
            if entry.frame().is_none() {
                run.push((page_no, writes));
            } else {
                self.read_run(task, &std::mem::take(&mut run))?;
            }
        }
        self.read_run(task, &run)
    }

    fn install(self: Box<Self>, _task: &mut Task) -> Result<()> {
        for (page_no, writes, body) in &self.pages {
            if self.pool.offer(*page_no, *writes, body) {
                self.pool.counters.pages_read_ahead.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

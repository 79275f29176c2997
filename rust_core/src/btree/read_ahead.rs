//! Linear read-ahead: when the pages of an extent were first asked for in order, the next extent is read as a job.

use super::page::EXTENT_PAGES;
use super::pool::{Body, BufferPool};
use super::space::Spaces;
use crate::error::Result;
use crate::metrics::Purpose;
use crate::task::{Job, JobKind, Task};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Extents that may wait to be read.
const MOST_WANTED: usize = 16;

/// The extent to read after the page at the border of one was asked for. `first_access` tells when each page of the
/// extent was first asked for, in the direction of the scan; `threshold` of the 64 must be in order.
fn is_linear(first_access: impl Iterator<Item = Option<u64>>, threshold: u64) -> bool {
    let (mut latest, mut failures) = (0, 0);
    for time in first_access {
        match time {
            Some(time) if time >= latest => latest = time,
            _ => failures += 1,
        }
    }
    failures <= u64::from(EXTENT_PAGES) - threshold
}

impl BufferPool {
    /// Notes the next extent if the one of this border page was read in order.
    #[cold]
    pub fn consider_read_ahead(&self, page_no: u32) {
        let extent = page_no / EXTENT_PAGES;
        let pages = extent * EXTENT_PAGES..(extent + 1) * EXTENT_PAGES;
        let threshold = self.options.innodb_read_ahead_threshold;
        let next = if page_no == pages.start {
            let Some(previous) = extent.checked_sub(1) else { return };
            is_linear(pages.rev().map(|page| self.first_access_ns(page)), threshold).then_some(previous)
        } else {
            is_linear(pages.map(|page| self.first_access_ns(page)), threshold).then_some(extent + 1)
        };
        let Some(next) = next else { return };
        let mut wanted = self.wanted_extents.lock();
        if wanted.len() < MOST_WANTED && !wanted.contains(&next) {
            wanted.push(next);
            drop(wanted);
            self.signal.wake();
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_read_in_order_is_linear_up_to_the_threshold() {
        let times = |gaps: u64| (0..64u64).map(move |n| (n >= gaps).then_some(100 + n));
        assert!(is_linear(times(0), 64));
        assert!(is_linear(times(8), 56));
        assert!(!is_linear(times(9), 56));
        assert!(!is_linear((0..64u64).rev().map(Some), 56));
    }
}

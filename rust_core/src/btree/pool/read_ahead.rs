//! When linear read-ahead begins: the pages of an extent were first asked for in order.

use super::buf_pool::BufferPool;
use crate::btree::page::EXTENT_PAGES;

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

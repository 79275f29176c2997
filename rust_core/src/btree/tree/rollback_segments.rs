//! The rollback segments, and which undo pages they have: transactions are dealt to them in turn, each segment keeps
//! pages with room for another log (`undo_cached`), and a full page waits until all of its logs are purged.

use crate::btree::options::Options;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// `TRX_SYS_N_RSEGS`, among which InnoDB deals its transactions in turn.
const SEGMENTS: u64 = 128;
/// Pages of InnoDB's smallest pool, of 5 MiB. Smaller ones, which no server has, have fewer segments in proportion.
const LEAST_POOL_PAGES: u64 = 320;

/// What a segment has.
#[derive(Debug, Clone, Default)]
struct Segment {
    /// The page of its header, once it has one.
    header: Option<u32>,
    /// Undo pages with room for another log.
    cached: Vec<u32>,
    /// Logs in its history list.
    history_len: u32,
}

/// What is known of an undo page.
#[derive(Debug, Default)]
struct Use {
    segment: usize,
    /// Logs on it that are not purged.
    logs: u32,
    /// No log goes to it any more.
    retired: bool,
}

#[derive(Debug)]
struct State {
    segments: Vec<Segment>,
    next: usize,
    pages: BTreeMap<u32, Use>,
    /// Undo pages without logs.
    free: Vec<u32>,
}

/// All rollback segments.
#[derive(Debug)]
pub struct RollbackSegments {
    state: Mutex<State>,
    /// MariaDB frees an undo log segment when its last log is purged, though another one could use it
    /// (`trx_purge_truncate_rseg_history`, `TRX_UNDO_CACHED`); MySQL keeps it.
    gives_back: bool,
}

impl RollbackSegments {
    /// Segments without pages. A smaller copy of a server has fewer, since as many transactions go by while its pool
    /// turns over once.
    pub fn new(options: &Options) -> Self {
        let at_most = (options.pool_pages() as u64 * SEGMENTS / LEAST_POOL_PAGES).max(1);
        let segments = options.scale.per_second(SEGMENTS).clamp(1, at_most) as usize;
        let segments = vec![Segment::default(); segments];
        let state = Mutex::new(State { segments, next: 0, pages: BTreeMap::new(), free: Vec::new() });
        Self { state, gives_back: !options.is_mysql() }
    }

    /// The segment of a transaction that begins to write (`trx_assign_rseg_low`).
    pub fn assign(&self) -> usize {
        let mut state = self.state.lock();
        let segment = state.next;
        state.next = (segment + 1) % state.segments.len();
        segment
    }

    /// A page of the segment that has room for another log, from now on the caller's alone.
    pub fn take_cached(&self, segment: usize) -> Option<u32> {
        self.state.lock().segments[segment].cached.pop()
    }

    /// An undo page without logs.
    pub fn take_free(&self) -> Option<u32> {
        self.state.lock().free.pop()
    }

    /// A log begins on a page, which is the segment's from now on.
    pub fn begin_log(&self, segment: usize, page_no: u32) {
        let mut state = self.state.lock();
        let page = state.pages.entry(page_no).or_default();
        if page.logs == 0 {
            page.retired = false;
        }
        page.segment = segment;
        page.logs += 1;
    }

    /// The caller is through with a page, and another log may go to it.
    pub fn cache(&self, segment: usize, page_no: u32) {
        self.state.lock().segments[segment].cached.push(page_no);
    }

    /// The caller is through with a page, and no log goes to it until it is purged.
    pub fn retire(&self, page_no: u32) {
        let mut state = self.state.lock();
        let page = state.pages.entry(page_no).or_default();
        page.retired = true;
        if page.logs == 0 {
            state.free.push(page_no);
        }
    }

    /// Whether a page has one log that is not purged.
    pub fn has_one_log(&self, page_no: u32) -> bool {
        self.state.lock().pages.get(&page_no).is_some_and(|page| page.logs == 1)
    }

    /// A log on a page is purged. Tells whether the page is given back, which nobody uses any more then: one that is
    /// retired and has no other log, and in MariaDB one that waits for another log, too.
    pub fn note_purged(&self, page_no: u32) -> bool {
        let mut state = self.state.lock();
        let State { segments, pages, free, .. } = &mut *state;
        let page = pages.entry(page_no).or_default();
        page.logs -= 1;
        if page.logs > 0 {
            return false;
        }
        if !self.gives_back {
            free.extend(page.retired.then_some(page_no));
            return false;
        }
        let cached = &mut segments[page.segment].cached;
        let is_unused =
            page.retired || cached.iter().position(|other| *other == page_no).map(|n| cached.remove(n)).is_some();
        if is_unused {
            pages.remove(&page_no);
        }
        is_unused
    }

    /// The segment that a page belongs to.
    pub fn segment_of(&self, page_no: u32) -> usize {
        self.state.lock().pages.get(&page_no).map_or(0, |page| page.segment)
    }

    /// The page of a segment's header, if it has one.
    pub fn header(&self, segment: usize) -> Option<u32> {
        self.state.lock().segments[segment].header
    }

    /// Gives a segment the page of its header.
    pub fn set_header(&self, segment: usize, page_no: u32) {
        self.state.lock().segments[segment].header = Some(page_no);
    }

    /// A log joins a segment's history list, or leaves it. Returns the new length.
    pub fn lengthen_history(&self, segment: usize, is_longer: bool) -> u32 {
        let mut state = self.state.lock();
        let len = &mut state.segments[segment].history_len;
        *len = if is_longer { *len + 1 } else { len.saturating_sub(1) };
        *len
    }

    /// What an earlier run has left: a header, or a page with so many logs that are not purged.
    pub fn adopt(&self, page_no: u32, logs: Option<u32>) {
        let mut state = self.state.lock();
        let Some(logs) = logs else {
            match state.segments.iter_mut().find(|segment| segment.header.is_none()) {
                Some(segment) => segment.header = Some(page_no),
                // The run before had more segments.
                None => state.free.push(page_no),
            }
            return;
        };
        state.pages.insert(page_no, Use { segment: 0, logs, retired: true });
        state.segments[0].history_len += logs;
        if logs == 0 {
            state.free.push(page_no);
        }
    }

    /// All pages of undo and of headers.
    pub fn pages(&self) -> Vec<u32> {
        let state = self.state.lock();
        let headers = state.segments.iter().filter_map(|segment| segment.header);
        let mut pages =
            headers.chain(state.pages.keys().copied()).chain(state.free.iter().copied()).collect::<Vec<_>>();
        pages.sort_unstable();
        pages.dedup();
        pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::Scale;

    fn segments(second_us: u64, pages: u64) -> RollbackSegments {
        let options = Options { scale: Scale::FULL.with_second_us(second_us), ..Options::default() };
        let innodb_buffer_pool_size = pages * options.innodb_page_size;
        RollbackSegments::new(&Options { innodb_buffer_pool_size, ..options })
    }

    #[test]
    fn segments_shrink_with_the_second_and_in_pools_that_no_server_has() {
        let count = |second_us, pages| segments(second_us, pages).state.lock().segments.len();
        assert_eq!(count(1_000_000, 1 << 20), 128);
        assert_eq!(count(1_000_000, 320), 128);
        assert_eq!(count(100_000, 1 << 20), 12);
        assert_eq!(count(1_000_000, 64), 25);
        assert_eq!(count(1_000, 64), 1);
    }

    #[test]
    fn a_full_page_is_free_when_all_of_its_logs_are_purged() {
        let segments = segments(1_000_000, 320);
        let segments = RollbackSegments { gives_back: false, ..segments };
        let segment = segments.assign();
        segments.begin_log(segment, 9);
        segments.cache(segment, 9);
        assert_eq!(segments.take_cached(segment), Some(9));
        segments.begin_log(segment, 9);
        segments.retire(9);
        assert_eq!((segments.take_cached(segment), segments.take_free()), (None, None));
        assert!(!segments.note_purged(9));
        assert_eq!(segments.take_free(), None);
        assert!(!segments.note_purged(9));
        assert_eq!(segments.take_free(), Some(9));
    }

    #[test]
    fn mariadb_gives_a_page_back_when_its_last_log_is_purged() {
        let segments = segments(1_000_000, 320);
        let segment = segments.assign();
        segments.begin_log(segment, 9);
        segments.begin_log(segment, 9);
        segments.cache(segment, 9);
        assert!(!segments.note_purged(9) && segments.note_purged(9));
        assert_eq!((segments.take_cached(segment), segments.pages()), (None, Vec::new()));
    }
}

//! `unzip_LRU`: the pages of compressed tables that the pool holds in both forms, and InnoDB's account of whether the
//! load is bound by I/O or by decompressions.

/// `BUF_LRU_IO_TO_UNZIP_FACTOR`: decompressions that one I/O counts for.
const IO_TO_UNZIP_FACTOR: u64 = 50;
/// `BUF_LRU_STAT_N_INTERVAL`: seconds over which both are averaged.
const INTERVALS: usize = 50;

const NONE: u32 = u32::MAX;

/// The frames that hold a page in both forms, the last one that was decompressed or became hot in front: `unzip_LRU`.
#[derive(Debug)]
pub struct UnzipLru {
    links: Vec<(u32, u32)>,
    head: u32,
    tail: u32,
    /// Frames that have or will have the compressed form of a page.
    pub(super) zip: usize,
    /// Those of them that have or will have the page as well, whether they are in the list yet or not.
    pub(super) taken: usize,
    /// Frames that have or will have a page without a compressed form.
    pub(super) whole: usize,
    now: Load,
    past: [Load; INTERVALS],
    next: usize,
}

/// What happened in one interval.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    io: u64,
    unzips: u64,
}

impl UnzipLru {
    /// For so many frames; none where tables are not compressed.
    pub fn new(frames: usize) -> Self {
        let links = vec![(NONE, NONE); frames];
        let (now, past) = (Load::default(), [Load::default(); INTERVALS]);
        Self { links, head: NONE, tail: NONE, zip: 0, taken: 0, whole: 0, now, past, next: 0 }
    }

    /// Whether a frame is in the list.
    pub(super) fn has(&self, frame: u32) -> bool {
        self.head == frame || self.links[frame as usize].0 != NONE
    }

    /// Puts a frame in front.
    pub(super) fn push(&mut self, frame: u32) {
        self.links[frame as usize] = (NONE, self.head);
        match self.head {
            NONE => self.tail = frame,
            head => self.links[head as usize].0 = frame,
        }
        self.head = frame;
    }

    /// Takes a frame out of the list.
    pub(super) fn remove(&mut self, frame: u32) {
        let (before, behind) = std::mem::replace(&mut self.links[frame as usize], (NONE, NONE));
        match before {
            NONE => self.head = behind,
            before => self.links[before as usize].1 = behind,
        }
        match behind {
            NONE => self.tail = before,
            behind => self.links[behind as usize].0 = before,
        }
    }

    /// Frames from the cold end on.
    pub(super) fn coldest(&self) -> impl Iterator<Item = u32> + '_ {
        let present = |frame: u32| (frame != NONE).then_some(frame);
        std::iter::successors(present(self.tail), move |frame| present(self.links[*frame as usize].0))
    }

    /// Pages were read or written.
    pub fn note_io(&mut self, pages: u64) {
        self.now.io += pages;
    }

    /// A page was decompressed.
    pub fn note_unzip(&mut self) {
        self.now.unzips += 1;
    }

    /// An interval ends.
    pub fn end_interval(&mut self) {
        self.past[self.next] = std::mem::take(&mut self.now);
        self.next = (self.next + 1) % INTERVALS;
    }

    /// Whether the load is bound by I/O rather than by decompressions.
    pub fn is_io_bound(&self) -> bool {
        let average = |of: fn(&Load) -> u64| self.past.iter().map(of).sum::<u64>() / INTERVALS as u64 + of(&self.now);
        average(|load| load.unzips) <= average(|load| load.io) * IO_TO_UNZIP_FACTOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_keeps_its_order() {
        let mut list = UnzipLru::new(5);
        for frame in [0, 3, 1, 4] {
            list.push(frame);
        }
        assert_eq!(list.coldest().collect::<Vec<_>>(), [0, 3, 1, 4]);
        list.remove(3);
        list.remove(0);
        assert_eq!((list.coldest().collect::<Vec<_>>(), list.has(3), list.has(1)), (vec![1, 4], false, true));
        list.remove(4);
        list.remove(1);
        assert!(!list.has(1) && list.coldest().next().is_none());
    }

    #[test]
    fn fifty_decompressions_weigh_as_much_as_one_page_read() {
        let mut load = UnzipLru::new(1);
        load.now = Load { io: 2, unzips: 100 };
        assert!(load.is_io_bound());
        load.now.unzips += 1;
        assert!(!load.is_io_bound());
        load.end_interval();
        // The averages over 50 intervals: 2 / 50 = 0 reads and 101 / 50 = 2 decompressions.
        assert!(!load.is_io_bound());
        load.note_io(1);
        assert!(load.is_io_bound());
    }
}

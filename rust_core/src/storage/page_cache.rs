//! The page cache of a simulated operating system: which pages of which files are in memory, and which go when room is
//! needed. It holds no bytes; those are in [`super::MemoryStorage`].
//!
//! Replacement is that of Linux, because that is where the engines run (mm/vmscan.c, mm/workingset.c, mm/swap.c): an
//! inactive list that pages enter and leave in order, an active list for pages that were read twice, and the age of a
//! page that went, by which one that comes back soon is known to be in use. What streams through, as the files of a
//! compaction do, passes through the inactive list and leaves the active one alone.

use super::space::BLOCK_BYTES;
use std::ops::Range;

/// Bytes of a page.
pub const PAGE_BYTES: u64 = BLOCK_BYTES;

/// No slot.
const NONE: u32 = u32::MAX;

/// A file that the cache knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId(u32);

/// What the cache knows of a page of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// Nothing.
    Absent,
    /// It is in memory.
    Cached(u32),
    /// It left when the clock of the cache stood here.
    Evicted(u64),
}

/// A page in memory, with its neighbours in its list.
#[derive(Debug, Clone, Copy)]
struct Slot {
    file: u32,
    page: u64,
    before: u32,
    behind: u32,
    is_active: bool,
    is_referenced: bool,
}

/// A list of slots, the newest first.
#[derive(Debug)]
struct List {
    first: u32,
    last: u32,
    len: usize,
}

impl Default for List {
    fn default() -> Self {
        Self { first: NONE, last: NONE, len: 0 }
    }
}

impl List {
    fn push(&mut self, slots: &mut [Slot], at: u32) {
        (slots[at as usize].before, slots[at as usize].behind) = (NONE, self.first);
        match self.first {
            NONE => self.last = at,
            first => slots[first as usize].before = at,
        }
        self.first = at;
        self.len += 1;
    }

    fn take(&mut self, slots: &mut [Slot], at: u32) {
        let Slot { before, behind, .. } = slots[at as usize];
        match before {
            NONE => self.first = behind,
            before => slots[before as usize].behind = behind,
        }
        match behind {
            NONE => self.last = before,
            behind => slots[behind as usize].before = before,
        }
        self.len -= 1;
    }
}

/// The pages of one file.
#[derive(Debug, Default)]
struct Pages {
    entries: Vec<Entry>,
    /// Where the last read ended: one that goes on there does not count twice for the page that both touch.
    read_to: u64,
}

/// Pages that were looked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageCounts {
    /// And found.
    pub hits: u64,
    /// And read from the device.
    pub misses: u64,
}

/// The page cache.
#[derive(Debug, Default)]
pub struct PageCache {
    /// Pages that it may hold.
    capacity: usize,
    slots: Vec<Slot>,
    free: Vec<u32>,
    active: List,
    inactive: List,
    files: Vec<Pages>,
    free_files: Vec<u32>,
    /// Evictions and activations so far: the clock that tells how long a page was gone.
    age: u64,
    counts: PageCounts,
}

impl PageCache {
    /// An empty cache of so many bytes.
    pub fn new(bytes: u64) -> Self {
        let capacity = (bytes / PAGE_BYTES).min(u64::from(NONE)) as usize;
        Self { capacity, ..Self::default() }
    }

    /// Whether there is memory for any page.
    pub fn holds_pages(&self) -> bool {
        self.capacity > 0
    }

    /// Pages looked for so far.
    pub fn counts(&self) -> PageCounts {
        self.counts
    }

    /// Bytes of the pages in memory.
    pub fn bytes(&self) -> u64 {
        (self.active.len + self.inactive.len) as u64 * PAGE_BYTES
    }

    /// A file without pages.
    pub fn add_file(&mut self) -> FileId {
        FileId(self.free_files.pop().unwrap_or_else(|| {
            self.files.push(Pages::default());
            (self.files.len() - 1) as u32
        }))
    }

    /// Forgets a file, whose pages are free at once.
    pub fn remove_file(&mut self, file: FileId) {
        self.forget(file, 0..u64::MAX);
        self.files[file.0 as usize] = Pages::default();
        self.free_files.push(file.0);
    }

    /// Forgets pages of a file.
    pub fn forget(&mut self, file: FileId, pages: Range<u64>) {
        let end = pages.end.min(self.files[file.0 as usize].entries.len() as u64);
        for page in pages.start..end {
            let entry = &mut self.files[file.0 as usize].entries[page as usize];
            if let Entry::Cached(at) = std::mem::replace(entry, Entry::Absent) {
                let list = if self.slots[at as usize].is_active { &mut self.active } else { &mut self.inactive };
                list.take(&mut self.slots, at);
                self.free.push(at);
            }
        }
    }

    /// Reads a range of bytes, and says which pages of it have to be read from the device: runs without a gap. They are
    /// in memory afterwards.
    pub fn read(&mut self, file: FileId, offset: u64, bytes: u64) -> Vec<Range<u64>> {
        let mut missing: Vec<Range<u64>> = Vec::new();
        let pages = self.pages_under(file, offset, bytes);
        let known = &mut self.files[file.0 as usize];
        let went_on = (known.read_to == offset && !offset.is_multiple_of(PAGE_BYTES)).then_some(offset / PAGE_BYTES);
        known.read_to = offset + bytes;
        for page in pages {
            match self.entry(file, page) {
                Entry::Cached(at) => {
                    self.counts.hits += 1;
                    if went_on != Some(page) {
                        self.mark_accessed(at);
                    }
                }
                entry => {
                    self.counts.misses += 1;
                    let at = self.insert(file, page, entry);
                    self.mark_accessed(at);
                    match missing.last_mut() {
                        Some(run) if run.end == page => run.end += 1,
                        _ => missing.push(page..page + 1),
                    }
                }
            }
        }
        missing
    }

    /// Writes a range of bytes, whose pages are in memory afterwards.
    pub fn write(&mut self, file: FileId, offset: u64, bytes: u64) {
        for page in self.pages_under(file, offset, bytes) {
            let entry = self.entry(file, page);
            if !matches!(entry, Entry::Cached(_)) {
                self.insert(file, page, entry);
            }
        }
    }

    fn pages_under(&mut self, file: FileId, offset: u64, bytes: u64) -> Range<u64> {
        let pages = offset / PAGE_BYTES..(offset + bytes).div_ceil(PAGE_BYTES);
        let entries = &mut self.files[file.0 as usize].entries;
        if entries.len() < pages.end as usize {
            entries.resize(pages.end as usize, Entry::Absent);
        }
        pages
    }

    fn entry(&self, file: FileId, page: u64) -> Entry {
        self.files[file.0 as usize].entries[page as usize]
    }

    /// A page that is read for the second time in the inactive list becomes active (`folio_mark_accessed`).
    fn mark_accessed(&mut self, at: u32) {
        let slot = &mut self.slots[at as usize];
        if !slot.is_referenced {
            slot.is_referenced = true;
        } else if !slot.is_active {
            (slot.is_active, slot.is_referenced) = (true, false);
            self.inactive.take(&mut self.slots, at);
            self.active.push(&mut self.slots, at);
            self.age += 1;
        }
    }

    /// Brings a page into memory. One that left so lately that it would have stayed had the active pages' room been its
    /// own becomes active (`workingset_refault`), all others inactive.
    fn insert(&mut self, file: FileId, page: u64, before: Entry) -> u32 {
        let is_active = matches!(before, Entry::Evicted(then) if self.age - then <= self.active.len as u64);
        self.age += u64::from(is_active);
        self.make_room();
        let slot = Slot { file: file.0, page, before: NONE, behind: NONE, is_active, is_referenced: false };
        let at = if let Some(at) = self.free.pop() {
            self.slots[at as usize] = slot;
            at
        } else {
            self.slots.push(slot);
            (self.slots.len() - 1) as u32
        };
        let list = if is_active { &mut self.active } else { &mut self.inactive };
        list.push(&mut self.slots, at);
        self.files[file.0 as usize].entries[page as usize] = Entry::Cached(at);
        at
    }

    /// Evicts the oldest inactive page if the cache is full. The oldest active pages become inactive while there are
    /// more active than inactive ones (`inactive_file_is_low` of the kernels up to 4.6; later ones let the active list
    /// of large memories grow further, which a memory that is shrunk with its data could not show).
    fn make_room(&mut self) {
        if self.active.len + self.inactive.len < self.capacity {
            return;
        }
        while self.active.len > self.inactive.len {
            let at = self.active.last;
            self.active.take(&mut self.slots, at);
            self.slots[at as usize].is_active = false;
            self.inactive.push(&mut self.slots, at);
        }
        let at = self.inactive.last;
        self.inactive.take(&mut self.slots, at);
        let Slot { file, page, .. } = self.slots[at as usize];
        self.files[file as usize].entries[page as usize] = Entry::Evicted(self.age);
        self.age += 1;
        self.free.push(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: [u64; 0] = [];

    fn cache(pages: u64) -> (PageCache, FileId) {
        let mut cache = PageCache::new(pages * PAGE_BYTES);
        let file = cache.add_file();
        (cache, file)
    }

    /// Reads whole pages, one at a time, and says which came from the device.
    fn read(cache: &mut PageCache, file: FileId, pages: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let is_missing = |page: &u64| !cache.read(file, page * PAGE_BYTES, PAGE_BYTES).is_empty();
        pages.into_iter().filter(is_missing).collect()
    }

    #[test]
    fn a_page_is_read_from_the_device_once() {
        let (mut cache, file) = cache(8);
        assert_eq!(cache.read(file, 100, 50).first(), Some(&(0..1)));
        assert!(cache.read(file, 4000, 96).is_empty());
        assert_eq!(cache.counts(), PageCounts { hits: 1, misses: 1 });
    }

    #[test]
    fn only_missing_pages_are_read_and_those_in_a_row_at_once() {
        let (mut cache, file) = cache(16);
        read(&mut cache, file, [3]);
        // Bytes of the pages 1 to 6.
        assert_eq!(cache.read(file, PAGE_BYTES + 1, 5 * PAGE_BYTES), [1..3, 4..7]);
        assert_eq!(cache.bytes(), 6 * PAGE_BYTES);
    }

    #[test]
    fn the_oldest_page_that_was_read_once_goes_first() {
        let (mut cache, file) = cache(4);
        assert_eq!(read(&mut cache, file, 0..5), [0, 1, 2, 3, 4]);
        assert_eq!(read(&mut cache, file, [1, 2, 3, 4]), NOTHING);
        assert_eq!(cache.bytes(), 4 * PAGE_BYTES);
    }

    #[test]
    fn what_streams_through_leaves_pages_alone_that_were_read_twice() {
        let (mut cache, file) = cache(8);
        read(&mut cache, file, [0, 1, 0, 1]);
        read(&mut cache, file, 100..200);
        assert_eq!(read(&mut cache, file, [0, 1]), NOTHING);
    }

    #[test]
    fn active_pages_that_nobody_reads_any_more_make_room() {
        let (mut cache, file) = cache(8);
        read(&mut cache, file, (0..4).chain(0..4));
        // A new set of six pages, more than the inactive half: their coming back makes them active.
        for _ in 0..4 {
            read(&mut cache, file, 10..16);
        }
        assert_eq!(read(&mut cache, file, 10..16), NOTHING);
    }

    #[test]
    fn reading_on_inside_a_page_does_not_count_as_reading_it_twice() {
        let (mut cache, file) = cache(4);
        cache.read(file, 0, 1000);
        cache.read(file, 1000, 1000);
        read(&mut cache, file, 10..14);
        assert_eq!(read(&mut cache, file, [0]), [0]);
    }

    #[test]
    fn what_was_written_is_found() {
        let (mut cache, file) = cache(8);
        cache.write(file, 0, 10_000);
        assert!(cache.read(file, 0, 10_000).is_empty());
        assert_eq!(cache.bytes(), 3 * PAGE_BYTES);
    }

    #[test]
    fn a_removed_file_frees_its_pages_and_another_finds_none_of_them() {
        let (mut cache, old) = cache(4);
        read(&mut cache, old, [0, 0, 1, 1, 2]);
        cache.remove_file(old);
        assert_eq!(cache.bytes(), 0);
        let new = cache.add_file();
        assert_eq!(read(&mut cache, new, 0..4), [0, 1, 2, 3]);
        assert_eq!(cache.slots.len(), 4, "the slots are used again");
    }

    #[test]
    fn a_cache_of_one_page_works() {
        let (mut cache, file) = cache(1);
        assert_eq!(read(&mut cache, file, [0, 0, 0, 1, 1, 0]), [0, 1, 0]);
        assert_eq!(cache.bytes(), PAGE_BYTES);
    }

    #[test]
    fn a_cache_as_large_as_what_is_read_often_serves_all_of_it_among_much_that_is_read_once() {
        let (mut cache, file) = cache(200);
        let mut missed = 0;
        for round in 0..300 {
            read(&mut cache, file, (0..10).map(|n| 1000 + round * 10 + n));
            missed = read(&mut cache, file, 0..50).len();
        }
        assert_eq!(missed, 0);
    }
}

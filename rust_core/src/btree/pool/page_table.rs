//! Where each page is: an array indexed by page number, grown in chunks, read without locks.

use crate::btree::page::{IbufBits, MAX_PAGES, NO_PAGE};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

const CHUNK_PAGES: usize = 8192;
const CHUNKS: usize = MAX_PAGES as usize / CHUNK_PAGES;

/// What is known about one page of the file.
#[derive(Debug)]
pub struct Entry {
    frame: AtomicU32,
    /// Times that the page was written since open: a copy read from storage is current only while this stands still.
    writes: AtomicU32,
    /// Blocks of 4 KiB that the page takes on storage; 0 when not known.
    stored_blocks: AtomicU8,
    /// What the change buffer may count on, if the page left the pool as a leaf of a secondary index: the room and one,
    /// and the records. The room is 0 if it is not known.
    leaf_room: AtomicU8,
    leaf_records: AtomicU8,
}

impl Default for Entry {
    fn default() -> Self {
        Self {
            frame: AtomicU32::new(NO_PAGE),
            writes: AtomicU32::new(0),
            stored_blocks: AtomicU8::new(0),
            leaf_room: AtomicU8::new(0),
            leaf_records: AtomicU8::new(0),
        }
    }
}

impl Entry {
    /// The frame that holds the page.
    #[inline]
    pub fn frame(&self) -> Option<u32> {
        let frame = self.frame.load(Ordering::Acquire);
        (frame != NO_PAGE).then_some(frame)
    }

    /// Claims the page for a frame; false if another has it.
    pub fn claim(&self, frame: u32) -> bool {
        self.frame.compare_exchange(NO_PAGE, frame, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// The page is in no frame any more.
    pub fn release(&self) {
        self.frame.store(NO_PAGE, Ordering::Release);
    }

    /// Times that the page was written since open.
    pub fn writes(&self) -> u32 {
        self.writes.load(Ordering::Acquire)
    }

    /// A write of the page begins, which will take `blocks` blocks.
    pub fn writing(&self, blocks: usize) {
        self.writes.fetch_add(1, Ordering::AcqRel);
        self.stored_blocks.store(blocks as u8, Ordering::Release);
    }

    /// Keeps what is known of the page when it leaves its frame, or keeps its compressed form there alone.
    pub fn keep_ibuf_bits(&self, leaf: Option<IbufBits>) {
        let (room, records) = leaf.map_or((0, 0), |leaf| (leaf.room + 1, leaf.records));
        self.leaf_records.store(records, Ordering::Release);
        self.leaf_room.store(room, Ordering::Release);
    }

    /// The leaf that the page was then. Only what is in no frame is still as it was.
    pub fn ibuf_bits(&self) -> Option<IbufBits> {
        let room = self.leaf_room.load(Ordering::Acquire).checked_sub(1)?;
        Some(IbufBits { room, records: self.leaf_records.load(Ordering::Acquire) })
    }

    /// Blocks of 4 KiB on storage, if known.
    pub fn stored_blocks(&self) -> Option<usize> {
        match self.stored_blocks.load(Ordering::Acquire) {
            0 => None,
            blocks => Some(usize::from(blocks)),
        }
    }
}

/// All entries.
pub struct PageTable {
    chunks: Box<[OnceLock<Box<[Entry]>>]>,
    allocated: AtomicU64,
}

impl PageTable {
    /// Of pages of which nothing is known.
    pub fn new() -> Self {
        Self { chunks: (0..CHUNKS).map(|_| OnceLock::new()).collect(), allocated: AtomicU64::new(0) }
    }

    /// The entry of a page, if there can be a page of this number.
    #[inline]
    pub fn get(&self, page_no: u32) -> Option<&Entry> {
        (page_no < MAX_PAGES).then(|| self.entry(page_no))
    }

    /// The entry of a page below [`MAX_PAGES`].
    #[inline]
    pub fn entry(&self, page_no: u32) -> &Entry {
        let chunk = self.chunks[page_no as usize / CHUNK_PAGES].get_or_init(|| {
            self.allocated.fetch_add(1, Ordering::Relaxed);
            (0..CHUNK_PAGES).map(|_| Entry::default()).collect()
        });
        &chunk[page_no as usize % CHUNK_PAGES]
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> u64 {
        let chunks = self.allocated.load(Ordering::Relaxed) * (CHUNK_PAGES * size_of::<Entry>()) as u64;
        chunks + (CHUNKS * size_of::<OnceLock<Box<[Entry]>>>()) as u64
    }
}

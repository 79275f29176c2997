//! Which pages of compressed tables the pool holds in both forms. Under pressure InnoDB drops the page and keeps its
//! compressed form as long as the load is bound by I/O, so that the pool holds more pages and a read of them costs a
//! decompression. Dirty pages may be dropped likewise: it is the compressed form that is written.
//!
//! A frame may hold a page in both forms or the compressed one alone, or a page of a table that is not compressed,
//! which has no other form; what all take together stays within the pool's bytes.

use super::buf_pool::BufferPool;
use super::eviction::Source;
use super::frame::Body;
use super::lru::{Lru, spare_frames};
use super::unzip_lru::UnzipLru;

/// Of all pages in the pool, this part may always be in both forms.
const UNZIPPED_PART: usize = 10;

impl BufferPool {
    /// Whether tables are compressed, all or some.
    #[inline]
    pub fn has_zip_tables(&self) -> bool {
        self.options.has_zip_tables()
    }

    /// Bytes of a page of a compressed table in both forms.
    fn both_forms(&self) -> usize {
        self.page_bytes() + self.options.key_block_size as usize
    }

    fn bytes_of(&self, unzip_lru: &UnzipLru) -> usize {
        let pages = unzip_lru.taken + unzip_lru.whole;
        unzip_lru.zip * self.options.key_block_size as usize + pages * self.page_bytes()
    }

    fn bytes_left(&self, unzip_lru: &UnzipLru, from: Source) -> usize {
        let spare = if from == Source::Spare { spare_frames(self.options.pool_pages()) } else { 0 };
        ((self.options.pool_pages() + spare) * self.both_forms()).saturating_sub(self.bytes_of(unzip_lru))
    }

    /// Frames that can take a page in both forms without an eviction, when so many are free.
    pub fn frames_left(&self, free: usize) -> usize {
        if !self.has_zip_tables() {
            return free;
        }
        let left = self.bytes_left(&self.unzip_lru.lock(), Source::ColdEnd);
        (left / self.both_forms()).min(free)
    }

    /// Bytes of all pages that the pool holds.
    pub fn zip_held_bytes(&self) -> u64 {
        self.bytes_of(&self.unzip_lru.lock()) as u64
    }

    /// Pages that the pool would hold if it were full, with as many of them in both forms as now, and in a copy in what
    /// frames it has now.
    pub fn pages_to_hold(&self) -> usize {
        let (frames, free) = {
            let lru = self.lru.lock();
            (lru.most_len(), lru.free_len())
        };
        frames - free + self.frames_left(free)
    }

    /// Takes the bytes for a page, in both forms if it has two; false if something must go first.
    fn take_frame_bytes(&self, is_zip: bool, from: Source) -> bool {
        let mut unzip_lru = self.unzip_lru.lock();
        let bytes = if is_zip { self.both_forms() } else { self.page_bytes() };
        let fits = self.bytes_left(&unzip_lru, from) >= bytes;
        if fits && is_zip {
            unzip_lru.zip += 1;
            unzip_lru.taken += 1;
        } else if fits {
            unzip_lru.whole += 1;
        }
        fits
    }

    /// Takes the bytes for a page whose compressed form is there; false if something must go first.
    fn take_page_bytes(&self, from: Source) -> bool {
        let mut unzip_lru = self.unzip_lru.lock();
        let fits = self.bytes_left(&unzip_lru, from) >= self.page_bytes();
        unzip_lru.taken += usize::from(fits);
        fits
    }

    /// Empties a frame and gives all its bytes back.
    pub fn empty(&self, frame: u32, body: &mut Body) {
        let body = std::mem::replace(body, Body::new(0, 0));
        let mut unzip_lru = self.unzip_lru.lock();
        if !body.has_zip() {
            unzip_lru.whole -= 1;
            return;
        }
        unzip_lru.zip -= 1;
        unzip_lru.taken -= usize::from(body.has_page());
        if unzip_lru.has(frame) {
            unzip_lru.remove(frame);
        }
    }

    /// A page is in a frame in both forms, or became hot there.
    pub fn note_unzipped(&self, frame: u32) {
        let mut unzip_lru = self.unzip_lru.lock();
        if unzip_lru.has(frame) {
            unzip_lru.remove(frame);
        }
        unzip_lru.push(frame);
    }

    /// Moves a page that became hot to the front, if it is held in both forms.
    pub fn note_hot_unzipped(&self, frame: u32) {
        let mut unzip_lru = self.unzip_lru.lock();
        if unzip_lru.has(frame) {
            unzip_lru.remove(frame);
            unzip_lru.push(frame);
        }
    }

    /// A free frame with room for a page, in both forms if it has two. What must go for it goes: pages from one of both
    /// forms to the other, and clean ones from the pool.
    pub fn zip_frame_without_flush(&self, is_zip: bool, from: Source) -> Option<u32> {
        let mut lru = self.lru.lock();
        loop {
            if lru.free_len() > 0 && self.take_frame_bytes(is_zip, from) {
                return lru.take_free();
            }
            if !self.reclaim(&mut lru, from) {
                return None;
            }
        }
    }

    /// Gives bytes back without a flush; false if nothing can go. The caller holds the lock of the list.
    pub fn reclaim(&self, lru: &mut Lru, from: Source) -> bool {
        if self.drops_page(lru) && self.drop_coldest_page() {
            return true;
        }
        let Some((frame, mut guard)) = self.evict_coldest(lru, from) else {
            return from == Source::Anywhere && self.drop_coldest_page();
        };
        lru.remove(frame);
        self.empty(frame, &mut guard);
        drop(guard);
        lru.give_free(frame);
        true
    }

    /// Whether pages go that are held in both forms, rather than the coldest in the list.
    pub fn drops_page(&self, lru: &Lru) -> bool {
        let unzip_lru = self.unzip_lru.lock();
        let many = unzip_lru.taken > lru.len() / UNZIPPED_PART;
        self.has_zip_tables() && many && (self.has_evicted_none() || unzip_lru.is_io_bound())
    }

    /// Drops the coldest page that is held in both forms and not latched.
    pub fn drop_coldest_page(&self) -> bool {
        let mut unzip_lru = self.unzip_lru.lock();
        let dropped = unzip_lru.coldest().find(|frame| {
            let body = self.try_latch(*frame);
            body.is_some_and(|mut body| {
                self.keep_ibuf_bits(&body);
                body.drop_page()
            })
        });
        if let Some(frame) = dropped {
            unzip_lru.remove(frame);
            unzip_lru.taken -= 1;
        }
        dropped.is_some()
    }

    /// Takes the bytes for a page whose compressed form is there, and lets go what must go for it; none if nothing can.
    pub(super) fn page_bytes_without_flush(&self, from: Source) -> Option<()> {
        let mut lru = self.lru.lock();
        while !self.take_page_bytes(from) {
            if !self.reclaim(&mut lru, from) {
                return None;
            }
        }
        Some(())
    }
}

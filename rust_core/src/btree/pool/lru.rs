//! InnoDB's LRU list as a plain data structure: young pages in front, old pages behind a midpoint, new pages enter at
//! the midpoint. Frames are numbers; latches and pages are the pool's concern.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const NONE: u32 = u32::MAX;
/// Assumption: most frames that operations may need beyond what is free when they begin.
const MOST_SPARE: usize = 1024;

#[derive(Debug, Clone, Copy)]
struct Links {
    prev: u32,
    next: u32,
}

/// Where the old part begins.
#[derive(Debug, Clone, Copy)]
pub struct Midpoint {
    /// Share of the old part.
    pub old_pct: usize,
    /// Shorter lists have no old part.
    pub old_min_len: usize,
    /// How far the old part may be off its share before the midpoint moves.
    ///
    /// It matters because the cleaner takes many pages at once for the free list, and pages come back one by one. Where
    /// the list's length swings by more than the tolerance allows, so does the midpoint, and some of the pages that
    /// come in become young without the test of `innodb_old_blocks_time`.
    pub tolerance: usize,
}

/// Where a page comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In front: one that was created.
    Front,
    /// At the begin of the old part, or in front of a list that has none: one that was read.
    Midpoint,
}

/// The list and the frames that hold no page.
#[derive(Debug)]
pub struct Lru {
    links: Vec<Links>,
    /// Read by the hit path without the list's lock.
    old: Arc<[AtomicBool]>,
    head: u32,
    tail: u32,
    /// First frame of the old part.
    old_head: u32,
    old_len: usize,
    len: usize,
    midpoint: Midpoint,
    free: Vec<u32>,
    frames: usize,
    /// So many of them are kept from those that take a free one.
    spare: usize,
    /// So many more are kept but for the time in which as many pages are written to make room.
    loans: usize,
    lent: usize,
    scan: Scan,
    /// `lru_hp`: the frame that the page cleaner's pass looks at next; none if it is at the end.
    pass: u32,
}

/// Where the search for the coldest clean frame stands: all frames behind it were dirty when they were passed, and no
/// frame has become clean since.
#[derive(Debug)]
struct Scan {
    /// The frame to look at next; none if all were passed.
    next: u32,
    /// Times that a frame had become clean when the search began at the cold end.
    cleaned: usize,
}

impl Lru {
    /// A list for `frames` frames, all free, and `spare` ones, and `loans` that can be lent.
    pub fn new(frames: usize, spare: usize, loans: usize, midpoint: Midpoint) -> Self {
        let frames = frames + spare + loans;
        let old = (0..frames).map(|_| AtomicBool::new(false)).collect();
        let (head, tail, old_head) = (NONE, NONE, NONE);
        let scan = Scan { next: NONE, cleaned: 0 };
        Self {
            links: Vec::new(),
            old,
            head,
            tail,
            old_head,
            old_len: 0,
            len: 0,
            midpoint,
            free: Vec::new(),
            frames,
            spare,
            loans,
            lent: 0,
            scan,
            pass: NONE,
        }
    }

    /// For each frame, whether it is in the old part.
    pub fn old_flags(&self) -> Arc<[AtomicBool]> {
        self.old.clone()
    }

    /// Frames in the list.
    pub fn len(&self) -> usize {
        self.len
    }

    fn empty_len(&self) -> usize {
        self.free.len() + self.frames - self.links.len()
    }

    /// Frames that hold no page, without the spare ones.
    pub fn free_len(&self) -> usize {
        self.empty_len().saturating_sub(self.kept())
    }

    /// Frames that may hold pages now, without the spare ones.
    pub fn most_len(&self) -> usize {
        self.frames - self.kept()
    }

    fn kept(&self) -> usize {
        self.spare + self.loans - self.lent
    }

    /// Lends so many frames, or as many as are left to lend, and returns how many.
    pub fn lend(&mut self, frames: usize) -> usize {
        let lent = frames.min(self.loans - self.lent);
        self.lent += lent;
        lent
    }

    /// So many frames are due back: the next ones that hold no page.
    pub fn take_back(&mut self, frames: usize) {
        self.lent -= frames;
    }

    /// Takes a frame that holds no page: one that had a page before, or a new one.
    pub fn take_free(&mut self) -> Option<u32> {
        if self.empty_len() > self.kept() { self.take_empty() } else { None }
    }

    /// Takes one of the spare ones if there is no other.
    pub fn take_spare(&mut self) -> Option<u32> {
        if self.empty_len() > self.kept() - self.spare { self.take_empty() } else { None }
    }

    fn take_empty(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            let fresh = self.links.len();
            (fresh < self.frames).then(|| {
                self.links.push(Links { prev: NONE, next: NONE });
                fresh as u32
            })
        })
    }

    /// Gives back a frame that holds no page.
    pub fn give_free(&mut self, frame: u32) {
        self.free.push(frame);
    }

    /// Takes in a new page, and returns where it is (`buf_LRU_add_block`).
    pub fn insert(&mut self, frame: u32, place: Place) -> Place {
        let place = if self.old_head == NONE { Place::Front } else { place };
        // Where the search has passed the midpoint, it goes back to the page that comes in there.
        if self.scan.next == NONE || (place == Place::Midpoint && !self.is_old(self.scan.next)) {
            self.scan.next = frame;
        }
        match place {
            Place::Front => {
                self.link_before(frame, self.head);
                self.set_old(frame, false);
            }
            Place::Midpoint => {
                self.link_before(frame, self.old_head);
                self.old_head = frame;
                self.old_len += 1;
                self.set_old(frame, true);
            }
        }
        self.balance();
        place
    }

    /// Moves a page to the front.
    pub fn make_young(&mut self, frame: u32) {
        self.remove(frame);
        self.link_before(frame, self.head);
        self.set_old(frame, false);
        self.balance();
    }

    /// Takes a page out of the list.
    pub fn remove(&mut self, frame: u32) {
        let Links { prev, next } = self.links[frame as usize];
        for place in [&mut self.scan.next, &mut self.pass] {
            if *place == frame {
                *place = prev;
            }
        }
        if self.old_head == frame {
            self.old_head = next;
        }
        if self.is_old(frame) {
            self.old_len -= 1;
        }
        self.set_next(prev, next);
        self.set_prev(next, prev);
        self.set_old(frame, false);
        self.len -= 1;
        if self.old_len == 0 {
            self.old_head = NONE;
        }
        self.balance();
    }

    /// Frames from the cold end on.
    pub fn coldest(&self) -> impl Iterator<Item = u32> + '_ {
        self.from(self.tail)
    }

    /// A pass over the list begins at the cold end.
    pub fn begin_pass(&mut self) {
        self.pass = self.tail;
    }

    /// The frame that the pass looks at next.
    pub fn passed(&self) -> Option<u32> {
        (self.pass != NONE).then_some(self.pass)
    }

    /// The pass goes on to a hotter frame.
    pub fn pass_on(&mut self) {
        if let Some(links) = self.links.get(self.pass as usize) {
            self.pass = links.prev;
        }
    }

    fn from(&self, frame: u32) -> impl Iterator<Item = u32> + '_ {
        let present = |frame: u32| (frame != NONE).then_some(frame);
        std::iter::successors(present(frame), move |frame| present(self.links[*frame as usize].prev))
    }

    /// The coldest clean frame that `take` takes. `cleaned` counts the times that a frame has become clean so far.
    pub fn find_clean<T>(
        &mut self,
        cleaned: usize,
        is_dirty: impl Fn(u32) -> bool,
        take: impl Fn(u32) -> Option<T>,
    ) -> Option<(u32, T)> {
        if self.scan.cleaned != cleaned {
            self.scan = Scan { next: self.tail, cleaned };
        }
        while self.scan.next != NONE && is_dirty(self.scan.next) {
            self.scan.next = self.links[self.scan.next as usize].prev;
        }
        self.from(self.scan.next).find_map(|frame| Some((frame, take(frame)?)))
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> u64 {
        (self.links.capacity() * size_of::<Links>() + self.free.capacity() * 4 + self.frames) as u64
    }

    fn is_old(&self, frame: u32) -> bool {
        self.old[frame as usize].load(Ordering::Relaxed)
    }

    fn set_old(&self, frame: u32, old: bool) {
        self.old[frame as usize].store(old, Ordering::Relaxed);
    }

    fn set_next(&mut self, frame: u32, next: u32) {
        match frame {
            NONE => self.head = next,
            _ => self.links[frame as usize].next = next,
        }
    }

    fn set_prev(&mut self, frame: u32, prev: u32) {
        match frame {
            NONE => self.tail = prev,
            _ => self.links[frame as usize].prev = prev,
        }
    }

    fn link_before(&mut self, frame: u32, next: u32) {
        let prev = if next == NONE { self.tail } else { self.links[next as usize].prev };
        self.links[frame as usize] = Links { prev, next };
        self.set_next(prev, frame);
        self.set_prev(next, frame);
        self.len += 1;
    }

    /// Moves the midpoint until the old part has its share.
    fn balance(&mut self) {
        let Midpoint { old_pct, old_min_len, tolerance } = self.midpoint;
        if self.len < old_min_len {
            while self.old_head != NONE {
                self.shrink_old();
            }
            return;
        }
        let target = self.len * old_pct / 100;
        while self.old_len + tolerance < target {
            self.grow_old();
        }
        while self.old_len > target + tolerance {
            self.shrink_old();
        }
    }

    fn grow_old(&mut self) {
        let frame = if self.old_head == NONE { self.tail } else { self.links[self.old_head as usize].prev };
        self.old_head = frame;
        self.old_len += 1;
        self.set_old(frame, true);
    }

    fn shrink_old(&mut self) {
        let frame = self.old_head;
        self.set_old(frame, false);
        self.old_len -= 1;
        self.old_head = if self.old_len == 0 { NONE } else { self.links[frame as usize].next };
    }
}

/// Whether an accessed page moves to the front. `clock` counts evictions; it stood at `young_clock` when the page was
/// last put in front.
#[inline]
pub fn is_promoted(
    old: bool,
    since_first_access_ns: u64,
    old_time_ns: u64,
    clock: u32,
    young_clock: u32,
    quarter: u32,
) -> bool {
    if clock == 0 {
        return false;
    }
    if old { since_first_access_ns >= old_time_ns } else { clock.wrapping_sub(young_clock) >= quarter }
}

/// When a page that comes in was last put in front, by the clock of evictions. InnoDB notes it of pages that come in
/// there alone: one from the midpoint that becomes young without an access is put in front by the next, however soon.
pub fn first_young_clock(place: Place, clock: u32) -> u32 {
    match place {
        Place::Front => clock,
        Place::Midpoint => 0,
    }
}

/// Evictions after which a young page has left the first quarter of the young part.
pub fn first_quarter_of_young(frames: usize, old_pct: usize) -> u32 {
    (frames * (100 - old_pct) / 400).max(1) as u32
}

/// Frames beyond those of the pool, for operations that have begun when it has none.
pub fn spare_frames(pool_pages: usize) -> usize {
    MOST_SPARE.min(pool_pages / 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Midpoint = Midpoint { old_pct: 37, old_min_len: 32, tolerance: 0 };

    fn check(lru: &Lru) {
        let frames = lru.coldest().collect::<Vec<_>>();
        assert_eq!(frames.len(), lru.len);
        let old = frames.iter().take_while(|frame| lru.is_old(**frame)).count();
        assert_eq!(old, lru.old_len);
        assert!(frames[old..].iter().all(|frame| !lru.is_old(*frame)));
        assert_eq!(lru.old_head, old.checked_sub(1).map_or(NONE, |n| frames[n]));
    }

    #[test]
    fn any_sequence_keeps_the_list_whole_and_the_midpoint_in_its_place() {
        for tolerance in [0, 2] {
            any_sequence(tolerance);
        }
    }

    fn any_sequence(tolerance: usize) {
        let mut lru = Lru::new(200, 0, 0, Midpoint { tolerance, ..USUAL });
        let mut inside = Vec::new();
        let mut state = 7u64;
        for step in 0..5000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let random = (state >> 33) as usize;
            match random % 4 {
                0 | 1 => {
                    if let Some(frame) = lru.take_free() {
                        lru.insert(frame, if random.is_multiple_of(12) { Place::Front } else { Place::Midpoint });
                        inside.push(frame);
                    }
                }
                2 if !inside.is_empty() => lru.make_young(inside[random / 4 % inside.len()]),
                3 if step % 3 == 0 && !inside.is_empty() => {
                    let frame = inside.swap_remove(random / 4 % inside.len());
                    lru.remove(frame);
                    lru.give_free(frame);
                }
                _ => {}
            }
            check(&lru);
            if lru.len >= 32 {
                assert!(lru.old_len.abs_diff(lru.len * 37 / 100) <= tolerance, "{} of {}", lru.old_len, lru.len);
            }
        }
    }

    #[test]
    fn what_is_lent_is_taken_back_from_the_frames_that_come_free() {
        let mut lru = Lru::new(4, 1, 3, USUAL);
        let mut taken: Vec<u32> = std::iter::from_fn(|| lru.take_free()).collect();
        assert_eq!((taken.len(), lru.lend(2), lru.free_len()), (4, 2, 2));
        taken.extend(std::iter::from_fn(|| lru.take_free()));
        assert_eq!((taken.len(), lru.lend(5)), (6, 1), "no more than there are");
        lru.take_back(3);
        assert_eq!((lru.take_free(), lru.take_spare()), (None, None), "what is there is kept");
        for (given, free) in [(1, 0), (2, 0), (3, 1), (4, 2)] {
            lru.give_free(taken.pop().unwrap());
            assert_eq!(lru.free_len(), free, "{given} given back, and two are owed");
        }
    }

    #[test]
    fn a_scan_does_not_push_out_young_pages() {
        let mut lru = Lru::new(100, 0, 0, USUAL);
        for _ in 0..100 {
            let frame = lru.take_free().unwrap();
            lru.insert(frame, Place::Midpoint);
        }
        let young = (0..100).filter(|frame| !lru.is_old(*frame)).collect::<Vec<_>>();
        for _ in 0..200 {
            let victim = lru.coldest().next().unwrap();
            lru.remove(victim);
            lru.insert(victim, Place::Midpoint);
        }
        let kept = young.iter().filter(|frame| !lru.is_old(**frame)).count();
        assert!(kept * 10 >= young.len() * 8, "{kept} of {}", young.len());
    }

    /// After so many pages went to the free list at once and as many came in one by one: share of these that are young.
    fn young_share_of_a_refill(frames: usize, refill: usize, tolerance: usize) -> f64 {
        let mut lru = Lru::new(frames, 0, 0, Midpoint { tolerance, ..USUAL });
        while let Some(frame) = lru.take_free() {
            lru.insert(frame, Place::Midpoint);
        }
        let refill = lru.coldest().take(refill).collect::<Vec<_>>();
        for frame in &refill {
            lru.remove(*frame);
        }
        for frame in &refill {
            lru.insert(*frame, Place::Midpoint);
        }
        let young = refill.iter().filter(|frame| !lru.is_old(**frame)).count();
        young as f64 / refill.len() as f64
    }

    #[test]
    fn a_refill_makes_pages_young_that_is_larger_than_the_tolerance_allows() {
        for frames in [8192, 1024] {
            assert_eq!(young_share_of_a_refill(frames, 30, 20), 0.0, "{frames}");
            assert!(young_share_of_a_refill(frames, 300, 20) > 0.4, "{frames}");
        }
        let (full, copy) = (young_share_of_a_refill(8192, 512, 20), young_share_of_a_refill(1024, 64, 20 / 8));
        assert!((copy / full - 1.0).abs() < 0.05, "a copy has its part of the tolerance: {copy}, {full}");
    }

    #[test]
    fn promotion_follows_the_table() {
        // old, since first access, old time, clock, young clock, quarter -> promoted
        for (old, since, time, clock, young, quarter, promoted) in [
            (true, 5_000, 1_000, 0, 0, 10, false),
            (true, 999, 1_000, 5, 0, 10, false),
            (true, 1_000, 1_000, 5, 0, 10, true),
            (false, 5_000, 1_000, 9, 0, 10, false),
            (false, 0, 1_000, 10, 0, 10, true),
            (false, 0, 1_000, 3, u32::MAX - 6, 10, true),
        ] {
            assert_eq!(is_promoted(old, since, time, clock, young, quarter), promoted);
        }
    }

    #[test]
    fn a_page_that_became_young_without_an_access_is_put_in_front_by_the_next_one() {
        for (place, promoted) in [(Place::Midpoint, true), (Place::Front, false)] {
            assert_eq!(is_promoted(false, 0, 1_000, 500, first_young_clock(place, 500), 10), promoted, "{place:?}");
        }
    }

    #[test]
    fn created_pages_come_in_in_front_and_those_that_are_read_at_the_midpoint_if_there_is_one() {
        let mut lru = Lru::new(100, 0, 0, USUAL);
        let mut come = |place| {
            let frame = lru.take_free().unwrap();
            lru.insert(frame, place)
        };
        for _ in 0..32 {
            assert_eq!(come(Place::Midpoint), Place::Front, "too short for an old part");
        }
        assert_eq!(come(Place::Midpoint), Place::Midpoint);
        assert_eq!(come(Place::Front), Place::Front);
        check(&lru);
    }

    #[test]
    fn the_search_for_a_clean_frame_finds_what_a_walk_from_the_cold_end_finds() {
        let mut lru = Lru::new(100, 0, 0, USUAL);
        let (mut inside, mut dirty, mut cleaned) = (Vec::new(), [false; 100], 0);
        let mut state = 3u64;
        for step in 0..20_000u32 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let chosen = |len: usize| (state >> 33) as usize % len.max(1);
            match state >> 59 {
                0..=5 if !inside.is_empty() => lru.make_young(inside[chosen(inside.len())]),
                6..=16 if !inside.is_empty() => dirty[inside[chosen(inside.len())] as usize] = true,
                17..=19 => {
                    let frame = chosen(100);
                    cleaned += usize::from(std::mem::take(&mut dirty[frame]));
                }
                20..=22 if !inside.is_empty() => {
                    let frame = inside.swap_remove(chosen(inside.len()));
                    lru.remove(frame);
                    lru.give_free(frame);
                    cleaned += usize::from(std::mem::take(&mut dirty[frame as usize]));
                }
                23..=25 => {
                    let latched = step % 7;
                    let is_free = |frame: u32| !dirty[frame as usize] && frame % 7 != latched;
                    let expected = lru.coldest().find(|frame| is_free(*frame));
                    let is_dirty = |frame: u32| dirty[frame as usize];
                    let found = lru.find_clean(cleaned, is_dirty, |frame| is_free(frame).then_some(()));
                    assert_eq!(found.map(|(frame, ())| frame), expected, "step {step}");
                }
                _ => {
                    if let Some(frame) = lru.take_free() {
                        lru.insert(frame, if step % 3 == 0 { Place::Front } else { Place::Midpoint });
                        inside.push(frame);
                    }
                }
            }
        }
    }
}

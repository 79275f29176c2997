//! Which frames are dirty, since when, and which of them are being written.
//!
//! `since` of a frame is the LSN from which its changes are in no copy yet; `oldest` is the LSN from which they are not
//! in the synced page file. The list is ordered by `oldest`: its first entry bounds the checkpoint. A page that is
//! being written keeps its place until the write is complete, and takes a new one then if it changed meanwhile.

use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

#[derive(Debug, Clone, Copy, Default)]
struct State {
    oldest: u64,
    writing: bool,
    /// The job that is about to write it; 0 for none.
    reserved_by: u64,
}

#[derive(Debug, Default)]
struct Inner {
    order: BTreeSet<(u64, u32)>,
    states: Vec<State>,
    writing: usize,
    reservations: u64,
}

/// Frames that one job is about to write, for as long as this lives.
pub struct Reserved<'a> {
    pub frames: Vec<u32>,
    list: &'a FlushList,
    number: u64,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let mut inner = self.list.inner.lock();
        for frame in &self.frames {
            let state = &mut inner.states[*frame as usize];
            if state.reserved_by == self.number {
                state.reserved_by = 0;
            }
        }
    }
}

/// Frames claimed for writing. Those that are not kept until they are written are given up.
pub struct Claims<'a> {
    frames: Vec<u32>,
    list: &'a FlushList,
}

impl<'a> Claims<'a> {
    /// No claims yet.
    pub fn new(list: &'a FlushList) -> Self {
        Self { frames: Vec::new(), list }
    }

    /// Claims a dirty frame; false if it is clean or being written.
    pub fn claim(&mut self, frame: u32) -> bool {
        let claimed = self.list.claim(frame);
        if claimed {
            self.frames.push(frame);
        }
        claimed
    }

    /// Gives up the claim that was made last.
    pub fn give_up_last(&mut self) {
        self.frames.pop().into_iter().for_each(|frame| self.list.unclaim(frame));
    }

    /// The frames are written; who gets them completes them.
    pub fn keep(mut self) -> Vec<u32> {
        std::mem::take(&mut self.frames)
    }
}

impl Drop for Claims<'_> {
    fn drop(&mut self) {
        self.frames.iter().for_each(|frame| self.list.unclaim(*frame));
    }
}

/// The list. 0 stands for no LSN.
pub struct FlushList {
    inner: Mutex<Inner>,
    since: Box<[AtomicU64]>,
    /// Whether `oldest` of a frame is set, for those who look at many frames.
    is_dirty: Box<[AtomicBool]>,
    dirty: AtomicUsize,
    /// Times that a frame became clean.
    cleaned: AtomicUsize,
}

impl FlushList {
    /// A list without dirty frames.
    pub fn new(frames: usize) -> Self {
        let since = (0..frames).map(|_| AtomicU64::new(0)).collect();
        let is_dirty = (0..frames).map(|_| AtomicBool::new(false)).collect();
        let (dirty, cleaned) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { inner: Mutex::default(), since, is_dirty, dirty, cleaned }
    }

    /// Notes a change at or after `lsn`. The caller holds the frame's exclusive latch and has not yet logged the
    /// change.
    #[inline]
    pub fn mark(&self, frame: u32, lsn: u64) {
        let since = self.since[frame as usize].load(Ordering::Acquire);
        if since == 0 || since > lsn {
            self.mark_slow(frame, lsn);
        }
    }

    fn mark_slow(&self, frame: u32, lsn: u64) {
        let mut inner = self.inner.lock();
        self.since[frame as usize].store(lsn, Ordering::Release);
        let index = frame as usize;
        if inner.states.len() <= index {
            inner.states.resize(index + 1, State::default());
        }
        let state = inner.states[index];
        if state.writing && state.oldest <= lsn {
            return;
        }
        if state.oldest == 0 {
            self.dirty.fetch_add(1, Ordering::AcqRel);
            self.is_dirty[index].store(true, Ordering::Release);
        } else {
            inner.order.remove(&(state.oldest, frame));
        }
        inner.states[index].oldest = lsn;
        inner.order.insert((lsn, frame));
    }

    /// Whether the frame holds changes that are not in the page file. The caller holds its exclusive latch.
    pub fn is_dirty(&self, frame: u32) -> bool {
        self.is_dirty[frame as usize].load(Ordering::Acquire)
    }

    /// Whether the frame is dirty and not being written.
    pub fn is_idle(&self, frame: u32) -> bool {
        self.is_dirty(frame) && self.inner.lock().states.get(frame as usize).is_some_and(|state| !state.writing)
    }

    /// Claims a dirty frame for writing; false if it is clean or being written.
    pub fn claim(&self, frame: u32) -> bool {
        let mut inner = self.inner.lock();
        let Some(state) = inner.states.get_mut(frame as usize) else { return false };
        if state.oldest == 0 || state.writing {
            return false;
        }
        state.writing = true;
        inner.writing += 1;
        true
    }

    /// Gives up a claim without having written: what a copy has, no page file has.
    pub fn unclaim(&self, frame: u32) {
        let mut inner = self.inner.lock();
        let index = frame as usize;
        let oldest = inner.states[index].oldest;
        let since = self.since[index].load(Ordering::Acquire);
        if since == 0 || since > oldest {
            self.since[index].store(oldest, Ordering::Release);
        }
        inner.states[index].writing = false;
        inner.writing -= 1;
    }

    /// The claimed frame has been copied. The caller holds its latch, so that no change can come between.
    pub fn copied(&self, frame: u32) {
        self.since[frame as usize].store(0, Ordering::Release);
    }

    /// The copy is in the synced page file.
    pub fn complete(&self, frame: u32) {
        let mut inner = self.inner.lock();
        let since = self.since[frame as usize].load(Ordering::Acquire);
        let state = &mut inner.states[frame as usize];
        let oldest = state.oldest;
        *state = State { oldest: since, ..State::default() };
        inner.writing -= 1;
        inner.order.remove(&(oldest, frame));
        if since == 0 {
            self.is_dirty[frame as usize].store(false, Ordering::Release);
            self.cleaned.fetch_add(1, Ordering::AcqRel);
            self.dirty.fetch_sub(1, Ordering::AcqRel);
        } else {
            inner.order.insert((since, frame));
        }
    }

    /// Dirty frames.
    pub fn len(&self) -> usize {
        self.dirty.load(Ordering::Acquire)
    }

    /// Times that a frame became clean.
    pub fn cleaned(&self) -> usize {
        self.cleaned.load(Ordering::Acquire)
    }

    /// Frames being written.
    pub fn writing(&self) -> usize {
        self.inner.lock().writing
    }

    /// The oldest change that is not in the page file.
    pub fn oldest(&self) -> Option<u64> {
        self.inner.lock().order.first().map(|(lsn, _)| *lsn)
    }

    /// Dirty frames with changes before `lsn`, counted up to `limit`.
    pub fn count_before(&self, lsn: u64, limit: usize) -> usize {
        self.inner.lock().order.iter().take(limit).take_while(|(oldest, _)| *oldest < lsn).count()
    }

    /// The oldest dirty frames that are not being written.
    pub fn oldest_frames(&self, limit: usize) -> Vec<u32> {
        let inner = self.inner.lock();
        let idle = inner.order.iter().map(|(_, frame)| *frame).filter(|frame| !inner.states[*frame as usize].writing);
        idle.take(limit).collect()
    }

    /// The oldest dirty frames that are neither being written nor reserved, which are reserved from now on: two jobs
    /// that begin together would both choose the oldest otherwise, and one of them write nothing. Others in need of a
    /// clean frame or of room in the log may claim them all the same.
    pub fn reserve_oldest(&self, limit: usize) -> Reserved<'_> {
        let mut inner = self.inner.lock();
        let Inner { order, states, reservations, .. } = &mut *inner;
        *reservations += 1;
        let mut frames = Vec::new();
        for &(_, frame) in order.iter() {
            if frames.len() >= limit {
                break;
            }
            let state = &mut states[frame as usize];
            if !state.writing && state.reserved_by == 0 {
                state.reserved_by = *reservations;
                frames.push(frame);
            }
        }
        Reserved { frames, list: self, number: *reservations }
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> u64 {
        let inner = self.inner.lock();
        let nodes = inner.order.len() * 2 * size_of::<(u64, u32)>();
        (self.since.len() * 8 + inner.states.capacity() * size_of::<State>() + nodes) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_during_a_write_keeps_the_page_dirty_from_that_change_on() {
        let list = FlushList::new(4);
        list.mark(1, 100);
        list.mark(2, 150);
        assert!(list.claim(1) && !list.claim(1));
        list.copied(1);
        list.mark(1, 200);
        assert_eq!(list.oldest(), Some(100));
        list.complete(1);
        assert_eq!((list.oldest(), list.len()), (Some(150), 2));
        assert_eq!(list.oldest_frames(9), [2, 1]);
    }

    #[test]
    fn a_batch_that_began_earlier_moves_the_page_forward() {
        let list = FlushList::new(2);
        list.mark(0, 500);
        list.mark(0, 300);
        assert_eq!(list.oldest(), Some(300));
        assert!(list.claim(0));
        list.copied(0);
        list.mark(0, 200);
        assert_eq!(list.oldest(), Some(200));
        list.complete(0);
        assert_eq!((list.oldest(), list.len()), (Some(200), 1));
    }

    #[test]
    fn what_one_job_has_reserved_another_does_not_choose() {
        let list = FlushList::new(4);
        (0..4).for_each(|frame| list.mark(frame, 10 + u64::from(frame)));
        let (first, second) = (list.reserve_oldest(2), list.reserve_oldest(9));
        assert_eq!((&first.frames[..], &second.frames[..]), (&[0, 1][..], &[2, 3][..]));
        assert!(list.reserve_oldest(9).frames.is_empty());
        assert!(list.claim(0), "by a client in need");
        list.copied(0);
        list.complete(0);
        list.mark(0, 20);
        let third = list.reserve_oldest(9);
        assert_eq!(third.frames, [0], "written and dirty again");
        drop(first);
        assert_eq!(list.reserve_oldest(9).frames, [1], "but not the one that another has by now");
    }

    #[test]
    fn a_page_whose_copy_was_not_written_is_as_dirty_as_before() {
        let list = FlushList::new(1);
        list.mark(0, 100);
        for later in [200, 300] {
            list.claim(0);
            list.copied(0);
            list.mark(0, later);
            list.unclaim(0);
            list.mark(0, later + 1);
            assert_eq!((list.oldest(), list.writing()), (Some(100), 0));
        }
    }

    #[test]
    fn a_completed_write_leaves_the_page_clean() {
        let list = FlushList::new(1);
        list.mark(0, 9);
        list.claim(0);
        list.copied(0);
        list.complete(0);
        assert!(!list.is_dirty(0) && list.oldest().is_none() && list.len() == 0);
    }
}

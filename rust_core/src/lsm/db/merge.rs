//! Merges sorted sources into one order of internal keys, in either direction.
//!
//! A source whose filter says that it holds no key with the prefix of a seek is not positioned at once: it waits at the
//! end of that prefix and is positioned only when the merge gets there. So a prefix filter saves reads and the order
//! stays total.

use crate::cost::Work;
use crate::error::Result;
use crate::lsm::keys::{PrefixExtractor, key, successor};
use crate::lsm::memtable::MemTableCursor;
use crate::lsm::version::RunCursor;
use crate::task::Task;
use std::cmp::Ordering;

/// One sorted source.
pub enum Source {
    /// A memtable.
    MemTable(MemTableCursor),
    /// Table files.
    Run(RunCursor),
}

impl Source {
    #[inline]
    fn valid(&self) -> bool {
        match self {
            Self::MemTable(cursor) => cursor.valid(),
            Self::Run(run) => run.valid(),
        }
    }

    #[inline]
    fn key(&self) -> &[u8] {
        match self {
            Self::MemTable(cursor) => cursor.key(),
            Self::Run(run) => run.key(),
        }
    }

    #[inline]
    fn value(&self) -> &[u8] {
        match self {
            Self::MemTable(cursor) => cursor.value(),
            Self::Run(run) => run.value(),
        }
    }

    fn seek_to_first(&mut self, task: &mut Task) -> Result<()> {
        match self {
            Self::MemTable(cursor) => cursor.seek_to_first(),
            Self::Run(run) => run.seek_to_first(task)?,
        }
        Ok(())
    }

    fn seek(&mut self, task: &mut Task, internal: &[u8], direction: Direction) -> Result<()> {
        match (self, direction) {
            (Self::Run(run), Direction::Forward) => run.seek(task, internal)?,
            (Self::Run(run), Direction::Backward) => run.seek_before(task, internal)?,
            (Self::MemTable(cursor), direction) => {
                let (user_key, trailer) = key::split(internal);
                let steps = match direction {
                    Direction::Forward => cursor.seek(user_key, trailer),
                    Direction::Backward => cursor.seek_before(user_key, trailer),
                };
                task.charge(Work::MemtableStep, steps);
            }
        }
        Ok(())
    }

    #[inline]
    fn step(&mut self, task: &mut Task, direction: Direction) -> Result<()> {
        match (self, direction) {
            (Self::MemTable(cursor), Direction::Forward) => task.charge(Work::MemtableNext, cursor.next()),
            (Self::MemTable(cursor), Direction::Backward) => task.charge(Work::MemtableStep, cursor.prev()),
            (Self::Run(run), Direction::Forward) => run.next(task)?,
            (Self::Run(run), Direction::Backward) => run.prev(task)?,
        }
        Ok(())
    }

    fn may_contain_prefix(&self, task: &mut Task, user_key: &[u8], prefix: &[u8], forward: bool) -> Result<bool> {
        match self {
            Self::MemTable(_) => Ok(true),
            Self::Run(run) => run.may_contain_prefix(task, user_key, prefix, forward),
        }
    }
}

/// The direction of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Backward,
}

/// A source in the heap, with the first bytes of its key.
#[derive(Debug, Clone, Copy)]
struct Ranked {
    head: u64,
    source: u32,
    /// Waits at `bound` for its seek.
    waits: bool,
}

/// A merge of sources. The heap's first source has the current entry.
pub struct MergingIterator {
    sources: Vec<Source>,
    heap: Vec<Ranked>,
    direction: Direction,
    /// The internal key of the last seek, and where sources without its prefix wait.
    target: Vec<u8>,
    bound: Vec<u8>,
}

impl MergingIterator {
    /// A merge that is not positioned.
    pub fn new(sources: Vec<Source>) -> Self {
        let heap = Vec::with_capacity(sources.len());
        Self { sources, heap, direction: Direction::Forward, target: Vec::new(), bound: Vec::new() }
    }

    /// Moves to the first entry.
    pub fn seek_to_first(&mut self, task: &mut Task) -> Result<()> {
        self.direction = Direction::Forward;
        self.heap.clear();
        for n in 0..self.sources.len() {
            self.sources[n].seek_to_first(task)?;
            self.enlist(n, false);
        }
        self.heapify(task)
    }

    /// Moves to the first entry at or behind an internal key, or backwards to the last entry before it.
    pub fn seek(
        &mut self,
        task: &mut Task,
        user_key: &[u8],
        trailer: u64,
        direction: Direction,
        prefix: Option<PrefixExtractor>,
    ) -> Result<()> {
        self.direction = direction;
        self.heap.clear();
        key::encode(user_key, trailer, &mut self.target);
        let forward = direction == Direction::Forward;
        let prefix = prefix.and_then(|prefix| prefix.of_range(user_key)).filter(|prefix| self.set_bound(prefix));
        for n in 0..self.sources.len() {
            let source = &mut self.sources[n];
            let waits = match prefix {
                Some(prefix) => !source.may_contain_prefix(task, user_key, prefix, forward)?,
                None => false,
            };
            if !waits {
                source.seek(task, &self.target, direction)?;
            }
            self.enlist(n, waits);
        }
        self.heapify(task)
    }

    /// Puts the end of a prefix, in the direction of the merge, into `bound`; `false` if it has none.
    fn set_bound(&mut self, prefix: &[u8]) -> bool {
        let bounded = match self.direction {
            Direction::Forward => successor(prefix, &mut self.bound),
            Direction::Backward => {
                self.bound.clear();
                self.bound.extend_from_slice(prefix);
                true
            }
        };
        // In both directions the bound sorts before all entries of its user key: behind the prefix forward, and before
        // it backward.
        self.bound.extend_from_slice(&key::FIRST_TRAILER.to_le_bytes());
        bounded
    }

    fn enlist(&mut self, n: usize, waits: bool) {
        if waits || self.sources[n].valid() {
            let ranked = Ranked { head: 0, source: n as u32, waits };
            let head = key::head(key::user_key(self.key_of(ranked)));
            self.heap.push(Ranked { head, ..ranked });
        }
    }

    #[inline]
    fn key_of(&self, ranked: Ranked) -> &[u8] {
        if ranked.waits { &self.bound } else { self.sources[ranked.source as usize].key() }
    }

    /// Whether `a` comes before `b` in the direction of the merge.
    #[inline]
    fn precedes(&self, a: Ranked, b: Ranked) -> bool {
        let order = a.head.cmp(&b.head).then_with(|| key::compare(self.key_of(a), self.key_of(b)));
        match self.direction {
            Direction::Forward => order == Ordering::Less,
            Direction::Backward => order == Ordering::Greater,
        }
    }

    fn heapify(&mut self, task: &mut Task) -> Result<()> {
        let compared = (0..self.heap.len() / 2).rev().map(|at| self.sift_down(at)).sum();
        task.charge(Work::Compare, compared);
        self.position(task)
    }

    /// Moves a source down to where its key belongs, and returns how many comparisons that took.
    #[inline]
    fn sift_down(&mut self, mut at: usize) -> u64 {
        let moving = self.heap[at];
        let mut compared = 0;
        loop {
            let mut child = 2 * at + 1;
            if child >= self.heap.len() {
                break;
            }
            compared += 1;
            if child + 1 < self.heap.len() {
                compared += 1;
                child += usize::from(self.precedes(self.heap[child + 1], self.heap[child]));
            }
            if !self.precedes(self.heap[child], moving) {
                break;
            }
            self.heap[at] = self.heap[child];
            at = child;
        }
        self.heap[at] = moving;
        compared
    }

    /// Positions the first source if it waits. Needed after [`MergingIterator::step`].
    #[inline]
    pub fn position(&mut self, task: &mut Task) -> Result<()> {
        while let Some(first) = self.heap.first().copied().filter(|first| first.waits) {
            let n = first.source as usize;
            self.sources[n].seek(task, &self.target, self.direction)?;
            self.rank_first(task, n);
        }
        Ok(())
    }

    /// Puts the first source where its new key belongs, or takes it out if it is at its end.
    #[inline]
    fn rank_first(&mut self, task: &mut Task, n: usize) {
        if self.sources[n].valid() {
            let head = key::head(key::user_key(self.sources[n].key()));
            self.heap[0] = Ranked { head, source: n as u32, waits: false };
        } else {
            self.heap.swap_remove(0);
            if self.heap.is_empty() {
                return;
            }
        }
        let compared = self.sift_down(0);
        task.charge(Work::Compare, compared);
    }

    /// Moves to the next entry in the direction of the last seek.
    #[inline]
    pub fn advance(&mut self, task: &mut Task) -> Result<()> {
        self.step(task)?;
        self.position(task)
    }

    /// As [`MergingIterator::advance`], but if a source that waits is next, it goes on waiting.
    #[inline]
    pub fn step(&mut self, task: &mut Task) -> Result<()> {
        let Some(first) = self.heap.first() else { return Ok(()) };
        let n = first.source as usize;
        task.charge(Work::IteratorStep, 1);
        self.sources[n].step(task, self.direction)?;
        self.rank_first(task, n);
        Ok(())
    }

    /// The user key of the next entry, or a bound of it where sources wait.
    pub fn next_user_key(&self) -> Option<&[u8]> {
        self.heap.first().map(|first| key::user_key(self.key_of(*first)))
    }

    /// Whether there is a current entry.
    #[inline]
    pub fn valid(&self) -> bool {
        !self.heap.is_empty()
    }

    /// The current internal key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.heap.first().map_or(&[], |first| self.sources[first.source as usize].key())
    }

    /// The current value.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.heap.first().map_or(&[], |first| self.sources[first.source as usize].value())
    }

    /// Charges for the entry as a flush or a compaction does that takes it in.
    pub fn charge_entry(&self, task: &mut Task) {
        task.charge(Work::MergedEntry, 1);
        task.charge(Work::MergedByte, (self.key().len() + self.value().len()) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::WriteBatch;
    use crate::lsm::memtable::MemTable;

    #[test]
    fn an_entry_is_charged_with_its_bytes() {
        let (mut task, memtable, mut batch) = (Task::wall(0), MemTable::new(1, 1, 4096), WriteBatch::default());
        batch.put(b"key", &[7; 1000]);
        memtable.insert(&mut task, &batch, 1, 4096, 1 << 20);
        let mut merge = MergingIterator::new(vec![Source::MemTable(memtable.cursor())]);
        merge.seek_to_first(&mut task).unwrap();
        merge.charge_entry(&mut task);
        let bytes = 3 + key::TRAILER_BYTES + 1000;
        assert_eq!([Work::MergedEntry, Work::MergedByte].map(|kind| task.work().get(kind)), [1, bytes as u64]);
    }
}

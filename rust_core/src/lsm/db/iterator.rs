//! A cursor over the live keys of one super version: of each key the newest visible entry, tombstones left out.

use super::merge::{Direction, MergingIterator, Source};
use super::super_version::SuperVersion;
use crate::cost::Work;
use crate::engine::EngineIterator;
use crate::error::Result;
use crate::lsm::keys::{PrefixExtractor, key};
use crate::lsm::table::Access;
use crate::lsm::version::RunCursor;
use crate::task::Task;
use std::sync::Arc;

/// So many entries of one key are stepped over, then a seek passes the rest (RocksDB's default
/// `max_sequential_skip_in_iterations`).
const MAX_SEQUENTIAL_SKIP: u32 = 8;

/// A cursor over the keys of a super version at a sequence number.
pub struct DbIterator {
    sequence: u64,
    prefix: Option<PrefixExtractor>,
    merge: MergingIterator,
    /// Forward the merge stands at the current entry; backward it stands before all entries of the current key, which
    /// are copied into `key` and `value`, and its first source may still wait.
    direction: Direction,
    valid: bool,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl DbIterator {
    /// A cursor that is not positioned.
    pub fn new(super_version: &Arc<SuperVersion>, sequence: u64, prefix: Option<PrefixExtractor>) -> Self {
        let memtables = std::iter::once(&super_version.memtable).chain(&super_version.immutables);
        let mut sources =
            Vec::with_capacity(1 + super_version.immutables.len() + super_version.version.level0.len() + 7);
        sources.extend(memtables.filter(|memtable| memtable.entries() > 0).map(|m| Source::MemTable(m.cursor())));
        sources
            .extend(super_version.version.runs().map(|run| Source::Run(RunCursor::new(run.clone(), Access::Client))));
        Self {
            sequence,
            prefix,
            merge: MergingIterator::new(sources),
            direction: Direction::Forward,
            valid: false,
            key: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Moves forward to a visible entry that is no tombstone; entries of the key in `self.key` are passed over if
    /// asked (RocksDB `DBIter::FindNextUserEntryInternal`).
    fn find_forward(&mut self, task: &mut Task, mut passing: bool) -> Result<()> {
        let (mut skipped, mut sought) = (0, false);
        while self.merge.valid() {
            let (user_key, trailer) = key::split(self.merge.key());
            let (visible, same_key) = (key::sequence_of(trailer) <= self.sequence, *user_key == *self.key);
            if visible && !(passing && same_key) && !key::is_delete(trailer) {
                self.valid = true;
                return Ok(());
            }
            if same_key && (passing || !visible) {
                skipped += 1;
            } else {
                // A tombstone hides what follows of its key; an entry that is too new does not.
                self.key.clear();
                self.key.extend_from_slice(user_key);
                (passing, skipped, sought) = (visible, 0, false);
            }
            if skipped > MAX_SEQUENTIAL_SKIP && !sought {
                (skipped, sought) = (0, true);
                let trailer = if passing { key::LAST_TRAILER } else { key::seek_trailer(self.sequence) };
                self.merge.seek(task, &self.key, trailer, Direction::Forward, self.prefix)?;
            } else {
                self.merge.advance(task)?;
            }
        }
        self.valid = false;
        Ok(())
    }

    /// Moves backward over whole keys, oldest entry first, until a key's newest visible entry is no tombstone (RocksDB
    /// `DBIter::FindValueForCurrentKey`, `FindUserKeyBeforeSavedKey`).
    fn find_backward(&mut self, task: &mut Task) -> Result<()> {
        self.valid = false;
        let mut skipped = 0;
        while !(self.valid && self.merge.next_user_key() != Some(&self.key)) {
            self.merge.position(task)?;
            if !self.merge.valid() {
                break;
            }
            let (user_key, trailer) = key::split(self.merge.key());
            let visible = key::sequence_of(trailer) <= self.sequence;
            if *user_key != *self.key {
                if self.valid {
                    break;
                }
                self.key.clear();
                self.key.extend_from_slice(user_key);
                skipped = 0;
            }
            let seeks = skipped == MAX_SEQUENTIAL_SKIP;
            if seeks && visible {
                self.merge.seek(task, &self.key, key::seek_trailer(self.sequence), Direction::Forward, None)?;
            }
            if visible {
                self.keep_entry();
            }
            if seeks {
                skipped = 0;
                self.merge.seek(task, &self.key, key::FIRST_TRAILER, Direction::Backward, None)?;
            } else {
                skipped += 1;
                self.merge.step(task)?;
            }
        }
        task.charge(Work::CopyByte, (self.key.len() + self.value.len()) as u64);
        Ok(())
    }

    /// Takes the current entry for what the key has, until a newer one is found.
    fn keep_entry(&mut self) {
        self.valid = !key::is_delete(key::split(self.merge.key()).1);
        if self.valid {
            self.value.clear();
            self.value.extend_from_slice(self.merge.value());
        }
    }

    fn keep_current_key(&mut self) {
        self.key.clear();
        self.key.extend_from_slice(key::user_key(self.merge.key()));
    }
}

impl EngineIterator for DbIterator {
    fn seek(&mut self, task: &mut Task, key: &[u8]) -> Result<()> {
        task.charge(Work::Call, 1);
        self.direction = Direction::Forward;
        self.merge.seek(task, key, key::seek_trailer(self.sequence), Direction::Forward, self.prefix)?;
        self.find_forward(task, false)
    }

    fn seek_for_prev(&mut self, task: &mut Task, key: &[u8]) -> Result<()> {
        task.charge(Work::Call, 1);
        self.direction = Direction::Backward;
        self.merge.seek(task, key, key::LAST_TRAILER, Direction::Backward, self.prefix)?;
        self.find_backward(task)
    }

    fn next(&mut self, task: &mut Task) -> Result<()> {
        if self.direction == Direction::Forward {
            self.keep_current_key();
            self.merge.advance(task)?;
        } else {
            self.direction = Direction::Forward;
            self.merge.seek(task, &self.key, key::LAST_TRAILER, Direction::Forward, None)?;
        }
        self.find_forward(task, true)
    }

    fn prev(&mut self, task: &mut Task) -> Result<()> {
        if self.direction == Direction::Forward {
            self.keep_current_key();
            self.direction = Direction::Backward;
            self.merge.seek(task, &self.key, key::FIRST_TRAILER, Direction::Backward, None)?;
        }
        self.find_backward(task)
    }

    fn valid(&self) -> bool {
        self.valid
    }

    fn key(&self) -> &[u8] {
        match self.direction {
            Direction::Forward => key::user_key(self.merge.key()),
            Direction::Backward => &self.key,
        }
    }

    fn value(&self) -> &[u8] {
        match self.direction {
            Direction::Forward => self.merge.value(),
            Direction::Backward => &self.value,
        }
    }
}

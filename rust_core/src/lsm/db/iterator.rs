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
    /// asked.
    fn find_forward(&mut self, task: &mut Task, mut skip: bool) -> Result<()> {
        while self.merge.valid() {
            let (user_key, trailer) = key::split(self.merge.key());
            if key::sequence_of(trailer) <= self.sequence && !(skip && *user_key == *self.key) {
                if !key::is_delete(trailer) {
                    self.valid = true;
                    return Ok(());
                }
                self.key.clear();
                self.key.extend_from_slice(user_key);
                skip = true;
            }
            self.merge.advance(task)?;
        }
        self.valid = false;
        Ok(())
    }

    /// Moves backward over whole keys, oldest entry first, until a key's newest visible entry is no tombstone.
    fn find_backward(&mut self, task: &mut Task) -> Result<()> {
        self.valid = false;
        while !(self.valid && self.merge.next_user_key() != Some(&self.key)) {
            self.merge.position(task)?;
            if !self.merge.valid() {
                break;
            }
            let (user_key, trailer) = key::split(self.merge.key());
            if key::sequence_of(trailer) <= self.sequence {
                if self.valid && *user_key != *self.key {
                    break;
                }
                self.valid = !key::is_delete(trailer);
                if self.valid {
                    self.key.clear();
                    self.key.extend_from_slice(user_key);
                    self.value.clear();
                    self.value.extend_from_slice(self.merge.value());
                }
            }
            self.merge.step(task)?;
        }
        task.charge(Work::CopyByte, (self.key.len() + self.value.len()) as u64);
        Ok(())
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

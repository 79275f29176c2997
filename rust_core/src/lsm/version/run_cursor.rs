//! A position in a sorted run: one cursor that goes from file to file.

use super::sorted_run::SortedRun;
use crate::cost::Work;
use crate::error::Result;
use crate::lsm::keys::key;
use crate::lsm::table::{Access, TableCursor};
use crate::task::Task;
use std::sync::Arc;

/// A cursor over the entries of a run.
pub struct RunCursor {
    run: Arc<SortedRun>,
    at: usize,
    cursor: TableCursor,
}

impl RunCursor {
    /// A cursor that is not positioned.
    pub fn new(run: Arc<SortedRun>, access: Access) -> Self {
        Self { run, at: 0, cursor: TableCursor::new(access) }
    }

    /// Goes over to a file; past either end the cursor is invalid.
    fn enter(&mut self, task: &mut Task, at: Option<usize>) -> Result<bool> {
        let file = at.and_then(|at| self.run.files.get(at));
        let (Some(at), Some(file)) = (at, file) else {
            self.cursor.clear();
            return Ok(false);
        };
        self.at = at;
        self.cursor.set_table(task, &file.table)?;
        Ok(true)
    }

    /// Moves to the first entry.
    pub fn seek_to_first(&mut self, task: &mut Task) -> Result<()> {
        if self.enter(task, Some(0))? { self.cursor.seek_to_first(task) } else { Ok(()) }
    }

    /// The file with the first key at or behind a user key.
    fn file_at_or_after(&self, task: &mut Task, user_key: &[u8]) -> usize {
        task.charge(Work::Compare, u64::from(self.run.files.len().max(2).ilog2()));
        self.run.largest.lower_bound(user_key)
    }

    /// The file with the last key at or before a user key.
    fn file_at_or_before(&self, task: &mut Task, user_key: &[u8]) -> Option<usize> {
        let at = self.file_at_or_after(task, user_key);
        match self.run.files.get(at) {
            Some(file) if *file.meta.smallest <= *user_key => Some(at),
            _ => at.checked_sub(1),
        }
    }

    /// Moves to the first entry at or behind an internal key.
    pub fn seek(&mut self, task: &mut Task, internal: &[u8]) -> Result<()> {
        let at = self.file_at_or_after(task, key::user_key(internal));
        if self.enter(task, Some(at))? {
            self.cursor.seek(task, internal)?;
            self.go_on(task)?;
        }
        Ok(())
    }

    /// Moves to the last entry before an internal key.
    pub fn seek_before(&mut self, task: &mut Task, internal: &[u8]) -> Result<()> {
        let at = self.file_at_or_before(task, key::user_key(internal));
        if self.enter(task, at)? {
            self.cursor.seek_before(task, internal)?;
            self.go_back(task)?;
        }
        Ok(())
    }

    /// Past the end of a file, moves to the start of the next.
    fn go_on(&mut self, task: &mut Task) -> Result<()> {
        while !self.cursor.valid() && self.enter(task, Some(self.at + 1))? {
            self.cursor.seek_to_first(task)?;
        }
        Ok(())
    }

    /// Past the start of a file, moves to the end of the one before.
    fn go_back(&mut self, task: &mut Task) -> Result<()> {
        while !self.cursor.valid() && self.enter(task, self.at.checked_sub(1))? {
            self.cursor.seek_to_last(task)?;
        }
        Ok(())
    }

    /// Whether the file at which a seek would begin may hold a key with a prefix. No other file of the run can: the
    /// wanted key starts with the prefix, and the files next to it lie beyond a key of this file that does not.
    pub fn may_contain_prefix(&self, task: &mut Task, user_key: &[u8], prefix: &[u8], forward: bool) -> Result<bool> {
        let at =
            if forward { Some(self.file_at_or_after(task, user_key)) } else { self.file_at_or_before(task, user_key) };
        match at.and_then(|at| self.run.files.get(at)) {
            Some(file) => file.table.may_contain_prefix(task, prefix),
            None => Ok(true),
        }
    }

    /// Moves to the next entry.
    #[inline]
    pub fn next(&mut self, task: &mut Task) -> Result<()> {
        self.cursor.next(task)?;
        if self.cursor.valid() { Ok(()) } else { self.go_on(task) }
    }

    /// Moves to the previous entry.
    #[inline]
    pub fn prev(&mut self, task: &mut Task) -> Result<()> {
        self.cursor.prev(task)?;
        if self.cursor.valid() { Ok(()) } else { self.go_back(task) }
    }

    /// Whether there is a current entry.
    #[inline]
    pub fn valid(&self) -> bool {
        self.cursor.valid()
    }

    /// The current internal key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.cursor.key()
    }

    /// The current value.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.cursor.value()
    }
}

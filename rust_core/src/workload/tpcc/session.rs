//! The statements of one transaction on an engine. As in MyRocks, a locking read and the update behind it ask the
//! engine twice, and a range update asks for every row that it found.

use super::schema::Keyed;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::session::{charge_frame, charge_sort, charge_statements};
use crate::table::keys::behind;
use crate::table::{Transaction, consider};
use crate::task::Task;

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// An open transaction.
pub struct Session<'a> {
    engine: &'a dyn Engine,
    task: &'a mut Task,
    change: Transaction,
    /// Logical time, in seconds of Unix time.
    pub now: u64,
}

impl<'a> Session<'a> {
    /// Begins; its end is charged with its beginning.
    pub fn begin(engine: &'a dyn Engine, task: &'a mut Task, now: u64) -> Self {
        charge_frame(task);
        Self { engine, task, change: Transaction::default(), now }
    }

    fn statement(&mut self) {
        charge_statements(self.task, 1);
    }

    /// Commits, and returns by how many bytes the live data grew. A session that ends without is rolled back.
    pub fn commit(mut self) -> Result<i64> {
        self.change.commit(self.engine, self.task)
    }

    /// Reads a row that may be missing.
    pub fn find<S: Keyed>(&mut self, id: S::Id) -> Result<Option<S::Row>> {
        self.statement();
        self.change.get::<S>(self.engine, self.task, &S::key(id))
    }

    /// Reads a row that must be there as part of the statement before.
    pub fn join<S: Keyed>(&mut self, id: S::Id) -> Result<S::Row> {
        let row = self.change.get::<S>(self.engine, self.task, &S::key(id))?;
        row.ok_or_else(|| inconsistent::<S>("a row is missing"))
    }

    /// Reads a row that must be there.
    pub fn select<S: Keyed>(&mut self, id: S::Id) -> Result<S::Row> {
        self.statement();
        self.join::<S>(id)
    }

    /// The statement before sorts so many rows or makes them distinct.
    pub fn sort(&mut self, rows: usize) {
        charge_sort(self.task, rows as u64);
    }

    /// The planner looks at an index that the next statement might take; see [`crate::table::consider`].
    pub fn consider(&mut self, prefix: &[u8]) -> Result<()> {
        consider(self.engine, self.task, prefix)
    }

    /// Reads a row that must be there and changes it.
    pub fn update<S: Keyed>(&mut self, id: S::Id, change: impl FnOnce(&mut S::Row)) -> Result<()>
    where
        S::Row: Clone,
    {
        let old = self.select::<S>(id)?;
        let mut new = old.clone();
        change(&mut new);
        self.change.update::<S>(&old, &new);
        Ok(())
    }

    /// Changes a row that this transaction has changed before, and so does not read again.
    pub fn update_again<S: Keyed>(&mut self, old: &S::Row, new: &S::Row) {
        self.statement();
        self.change.update::<S>(old, new);
    }

    /// Adds a row after a look at its primary key.
    pub fn insert<S: Keyed>(&mut self, row: &S::Row) -> Result<()> {
        self.statement();
        let is_new = self.change.insert::<S>(self.engine, self.task, row)?;
        if is_new { Ok(()) } else { Err(inconsistent::<S>("a new row was there before")) }
    }

    /// Adds a row to a table without a primary key.
    pub fn append<S: Keyed>(&mut self, row: &S::Row) {
        self.statement();
        self.change.add::<S>(row);
    }

    /// Reads a row that must be there and removes it.
    pub fn delete<S: Keyed>(&mut self, id: S::Id) -> Result<()> {
        let row = self.select::<S>(id)?;
        self.change.delete::<S>(&row);
        Ok(())
    }

    /// At most `limit` entries from `from` on, as long as their keys are inside.
    pub fn scan(&mut self, from: &[u8], inside: impl Fn(&[u8]) -> bool, limit: usize) -> Result<Vec<Entry>> {
        self.statement();
        let mut found = Vec::new();
        let mut entries = self.engine.iterator(self.task)?;
        entries.seek(self.task, from)?;
        while entries.valid() && inside(entries.key()) {
            found.push((entries.key().to_vec(), entries.value().to_vec()));
            if found.len() == limit {
                break;
            }
            entries.next(self.task)?;
        }
        Ok(found)
    }

    /// All entries whose keys start with `prefix`.
    pub fn scan_prefix(&mut self, prefix: &[u8]) -> Result<Vec<Entry>> {
        self.scan(prefix, |key| key.starts_with(prefix), usize::MAX)
    }

    /// All entries whose keys start with `prefix`, and go on with at most 8 bytes, from the last to the first.
    pub fn scan_prefix_back(&mut self, prefix: &[u8]) -> Result<Vec<Entry>> {
        self.statement();
        let mut found = Vec::new();
        let mut entries = self.engine.iterator(self.task)?;
        entries.seek_for_prev(self.task, &behind(prefix))?;
        while entries.valid() && entries.key().starts_with(prefix) {
            found.push((entries.key().to_vec(), entries.value().to_vec()));
            entries.prev(self.task)?;
        }
        Ok(found)
    }
}

/// What the database holds contradicts the workload.
pub fn inconsistent<S: Keyed>(what: &str) -> Error {
    Error::corruption(S::NAME, 0, what)
}

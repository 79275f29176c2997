//! Rows with secondary indexes over any engine, in the [`crate::engine::KeyLayout::Indexed`] layout. A table with k
//! secondary indexes is k + 1 key spaces. An entry of a secondary index is a key without a value: the columns of the
//! index, then the columns of the primary key that it lacks. All changes of a transaction are one write batch.

pub mod keys;
pub mod locks;

use crate::engine::{Change, Commit, Engine, RowImages, WriteBatch};
use crate::error::{Error, Result};
use crate::session::{Session, StoredRow};
use crate::task::Task;
use crate::transaction;

pub use locks::RowLocks;

/// How the rows of one table become keys and values.
pub trait Schema {
    /// A row with all its columns.
    type Row;
    /// Number of secondary indexes.
    const SECONDARY_INDEXES: usize = 0;
    /// Writes the primary key into `key`, which it clears.
    fn primary_key(row: &Self::Row, key: &mut Vec<u8>);
    /// Writes the other columns into `value`, which it clears.
    fn value(row: &Self::Row, value: &mut Vec<u8>);
    /// Reads a row back; `None` if the bytes are not a row.
    fn decode(key: &[u8], value: &[u8]) -> Option<Self::Row>;
    /// Writes the entry of a secondary index into `key`, which it clears.
    fn index_key(row: &Self::Row, index: usize, key: &mut Vec<u8>) {
        let _ = (row, index);
        key.clear();
    }
}

/// What a server's planner does for an UPDATE by primary key, and for a SELECT by an index, before it runs: it asks the
/// engine how many rows another index would find, of which the statement names the first columns. `prefix` is what
/// entries with those columns start with. InnoDB reads up to ten leaves to tell: of TPC-C's customers, a server with a
/// small pool reads more for this than for the transactions. (Nothing is asked for a SELECT by the whole primary key.)
pub fn consider(engine: &dyn Engine, task: &mut Task, prefix: &[u8]) -> Result<()> {
    engine.count_in_range(task, prefix, &keys::behind(prefix)).map(drop)
}

/// Key and value bytes of a row and its index entries.
pub fn row_bytes<S: Schema>(row: &S::Row) -> u64 {
    let mut change = Transaction::default();
    change.add::<S>(row);
    change.user_bytes()
}

/// The changes of one transaction. Reads see what was committed, not the changes of the transaction itself. Atomicity
/// of reading and writing is the caller's, by [`RowLocks`].
#[derive(Debug, Default)]
pub struct Transaction {
    batch: WriteBatch,
    live_bytes: i64,
    key: Vec<u8>,
    old_key: Vec<u8>,
    value: Vec<u8>,
    old_value: Vec<u8>,
}

/// Bytes that differ between two values of a row, which stand for the columns that changed.
fn changed_bytes(old: &[u8], new: &[u8]) -> usize {
    old.iter().zip(new).filter(|(old, new)| old != new).count() + old.len().abs_diff(new.len())
}

impl Transaction {
    /// Reads the row with this primary key.
    pub fn get<S: Schema>(&mut self, engine: &dyn Engine, task: &mut Task, key: &[u8]) -> Result<Option<S::Row>> {
        if !engine.get(task, key, &mut self.value)? {
            return Ok(None);
        }
        let row = S::decode(key, &self.value);
        row.map(Some).ok_or_else(|| Error::corruption("a table", 0, format!("no row under the key {key:02x?}")))
    }

    /// Adds a row unless there is one with its primary key, and says whether it did.
    pub fn insert<S: Schema>(&mut self, engine: &dyn Engine, task: &mut Task, row: &S::Row) -> Result<bool> {
        S::primary_key(row, &mut self.key);
        let is_new = !engine.get(task, &self.key, &mut self.value)?;
        if is_new {
            self.add::<S>(row);
        }
        Ok(is_new)
    }

    /// Adds a row that is known to be new.
    pub fn add<S: Schema>(&mut self, row: &S::Row) {
        self.add_without_entries::<S>(row);
        for index in 0..S::SECONDARY_INDEXES {
            S::index_key(row, index, &mut self.key);
            self.put_entry();
        }
    }

    /// Adds a row that is known to be new to a table whose indexes are made later.
    pub fn add_without_entries<S: Schema>(&mut self, row: &S::Row) {
        self.put_row::<S>(row);
        let bytes = (self.key.len() + self.value.len()) as u64;
        self.batch.note_new_row(RowImages { minimal_bytes: bytes, full_bytes: bytes });
    }

    /// Adds an entry to an index whose rows are there already.
    pub fn add_entry(&mut self, key: &[u8]) {
        key.clone_into(&mut self.key);
        self.put_entry();
    }

    /// Replaces `old` by `new`, which has the same primary key. Entries of indexes move where their columns changed.
    pub fn update<S: Schema>(&mut self, old: &S::Row, new: &S::Row) {
        S::value(old, &mut self.value);
        S::primary_key(old, &mut self.key);
        self.live_bytes -= (self.key.len() + self.value.len()) as i64;
        std::mem::swap(&mut self.value, &mut self.old_value);
        self.put_row::<S>(new);
        let changed = changed_bytes(&self.old_value, &self.value);
        let both = 2 * self.key.len() + self.old_value.len() + self.value.len();
        self.batch.note_row(RowImages { minimal_bytes: (self.key.len() + changed) as u64, full_bytes: both as u64 });
        for index in 0..S::SECONDARY_INDEXES {
            S::index_key(old, index, &mut self.old_key);
            S::index_key(new, index, &mut self.key);
            if self.old_key != self.key {
                self.batch.delete(&self.old_key);
                self.live_bytes -= self.old_key.len() as i64;
                self.put_entry();
            }
        }
    }

    /// Removes a row.
    pub fn delete<S: Schema>(&mut self, row: &S::Row) {
        S::value(row, &mut self.value);
        self.live_bytes -= self.value.len() as i64;
        S::primary_key(row, &mut self.key);
        self.delete_key();
        let (key_bytes, value_bytes) = (self.key.len() as u64, self.value.len() as u64);
        self.batch.note_row(RowImages { minimal_bytes: key_bytes, full_bytes: key_bytes + value_bytes });
        for index in 0..S::SECONDARY_INDEXES {
            S::index_key(row, index, &mut self.key);
            self.delete_key();
        }
    }

    /// Key and value bytes of all changes so far.
    pub fn user_bytes(&self) -> u64 {
        self.batch.user_bytes()
    }

    /// Applies all changes at once and returns by how many bytes the live data grew. The transaction starts anew.
    pub fn commit(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<i64> {
        if !self.batch.is_empty() {
            transaction::write(engine, task, &mut self.batch, Commit::Configured)?;
            self.batch.clear();
        }
        Ok(std::mem::take(&mut self.live_bytes))
    }

    /// Adds its entries, which are those of an index, as a whole, and returns by how many bytes the live data grew.
    pub fn commit_index(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<i64> {
        engine.add_index(task, &mut self.batch)?;
        self.batch.clear();
        Ok(std::mem::take(&mut self.live_bytes))
    }

    /// Adds its rows, which are all new, on a server instead, and returns by how many bytes the live data grew, index
    /// entries included. Rows of a table come together, so that few statements take them. After an error they are all
    /// still there, and none is on the server.
    pub fn commit_by_statements(
        &mut self,
        session: &mut dyn Session,
        row_of: fn(&[u8], &[u8]) -> Option<StoredRow>,
    ) -> Result<i64> {
        let rows = self.batch.changes().filter_map(|change| match change {
            Change::Put { key, value } => row_of(key, value),
            Change::Delete { .. } => None,
        });
        let mut rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            rows.sort_by(|one, other| one.table.cmp(&other.table));
            session.begin()?;
            session.insert(&rows)?;
            session.commit()?;
        }
        self.batch.clear();
        Ok(std::mem::take(&mut self.live_bytes))
    }

    fn put_row<S: Schema>(&mut self, row: &S::Row) {
        S::primary_key(row, &mut self.key);
        S::value(row, &mut self.value);
        self.batch.put(&self.key, &self.value);
        self.live_bytes += (self.key.len() + self.value.len()) as i64;
    }

    fn put_entry(&mut self) {
        self.batch.put(&self.key, &[]);
        self.live_bytes += self.key.len() as i64;
    }

    fn delete_key(&mut self) {
        self.batch.delete(&self.key);
        self.live_bytes -= self.key.len() as i64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::model_engine::ModelEngine;

    /// `(id, colour, note)` with an index on the colour.
    struct Paints;

    impl Schema for Paints {
        type Row = (u64, u8, Vec<u8>);
        const SECONDARY_INDEXES: usize = 1;

        fn primary_key(row: &Self::Row, key: &mut Vec<u8>) {
            keys::begin(key, 1);
            keys::push_u64(key, row.0);
        }
        fn value(row: &Self::Row, value: &mut Vec<u8>) {
            value.clear();
            value.push(row.1);
            value.extend_from_slice(&row.2);
        }
        fn decode(key: &[u8], value: &[u8]) -> Option<Self::Row> {
            let mut columns = keys::Columns::of_value(value);
            Some((keys::Columns::of_key(key)?.u64()?, columns.u8()?, columns.rest().to_vec()))
        }
        fn index_key(row: &Self::Row, _index: usize, key: &mut Vec<u8>) {
            keys::begin(key, 2);
            keys::push_u8(key, row.1);
            keys::push_u64(key, row.0);
        }
    }

    fn row(id: u64, colour: u8, note: &str) -> (u64, u8, Vec<u8>) {
        (id, colour, note.as_bytes().to_vec())
    }

    #[test]
    fn changed_rows_are_noted_with_their_images() {
        let mut transaction = Transaction::default();
        let (old, new) = (row(1, 3, "abc"), row(1, 5, "abd"));
        let images_of = |transaction: &Transaction| {
            let images = transaction.batch.images();
            (transaction.batch.rows(), images.minimal_bytes, images.full_bytes)
        };
        // A key has 12 bytes, a value 4, of which the update changes 2.
        transaction.add::<Paints>(&old);
        assert_eq!(images_of(&transaction), (1, 16, 16));
        transaction.update::<Paints>(&old, &new);
        assert_eq!(images_of(&transaction), (2, 16 + 14, 16 + 32));
        transaction.delete::<Paints>(&new);
        assert_eq!(images_of(&transaction), (3, 16 + 14 + 12, 16 + 32 + 16));
    }

    fn entries(engine: &ModelEngine) -> Vec<(u32, usize)> {
        let number = |key: &[u8]| u32::from_be_bytes(key[..4].try_into().unwrap());
        engine.entries().into_iter().map(|(key, _)| (number(&key), usize::from(key[4]))).collect()
    }

    #[test]
    fn a_row_and_its_index_entries_come_and_go_together() {
        let (engine, mut task, mut change) = (ModelEngine::default(), Task::wall(0), Transaction::default());
        assert!(change.insert::<Paints>(&engine, &mut task, &row(1, 7, "old")).unwrap());
        assert_eq!(change.commit(&engine, &mut task).unwrap(), 12 + 4 + 13);
        assert_eq!(entries(&engine), [(1, 0), (2, 7)]);

        change.update::<Paints>(&row(1, 7, "old"), &row(1, 9, "new!"));
        assert_eq!(change.commit(&engine, &mut task).unwrap(), 1);
        assert_eq!(entries(&engine), [(1, 0), (2, 9)]);
        let mut key = Vec::new();
        Paints::primary_key(&row(1, 0, ""), &mut key);
        assert_eq!(change.get::<Paints>(&engine, &mut task, &key).unwrap(), Some(row(1, 9, "new!")));

        change.delete::<Paints>(&row(1, 9, "new!"));
        assert_eq!(change.commit(&engine, &mut task).unwrap(), -30);
        assert_eq!(entries(&engine), []);
    }

    #[test]
    fn an_insert_of_a_key_that_exists_changes_nothing() {
        let (engine, mut task, mut change) = (ModelEngine::default(), Task::wall(0), Transaction::default());
        change.add::<Paints>(&row(1, 7, "first"));
        change.commit(&engine, &mut task).unwrap();
        assert!(!change.insert::<Paints>(&engine, &mut task, &row(1, 8, "second")).unwrap());
        assert_eq!(change.commit(&engine, &mut task).unwrap(), 0);
        assert_eq!(entries(&engine), [(1, 0), (2, 7)]);
    }

    #[test]
    fn an_update_of_a_column_in_no_index_is_one_write() {
        let (engine, mut task, mut change) = (ModelEngine::default(), Task::wall(0), Transaction::default());
        change.add::<Paints>(&row(1, 7, "first"));
        change.commit(&engine, &mut task).unwrap();
        change.update::<Paints>(&row(1, 7, "first"), &row(1, 7, "second"));
        assert_eq!(change.user_bytes(), 12 + 7);
    }
}

//! Secondary indexes that come behind the rows of a load, as the scripts of the field make them: `CREATE INDEX` sorts
//! the entries of all rows, and InnoDB's pages are full then (`btr0bulk.cc` reserves nothing in a secondary index at
//! `innodb_fill_factor` 100), where an index that grows row by row in random order has pages two thirds full. MyRocks
//! adds them as files of their own.

use super::load_rows::LoadRows;
use crate::engine::Engine;
use crate::error::Result;
use crate::table::Transaction;
use crate::task::Task;
use std::vec::IntoIter;

/// What one loader still has to write of the index that it makes.
#[derive(Default)]
pub struct IndexLoad {
    entries: IntoIter<Vec<u8>>,
}

impl IndexLoad {
    /// The next entries of an index, in key order and at most so many; empty when all `indexes` are made or taken.
    /// `entries_of` makes those of one index, in any order.
    pub fn take(
        &mut self,
        indexes: &LoadRows,
        most: u64,
        entries_of: impl FnOnce(u64) -> Vec<Vec<u8>>,
    ) -> impl Iterator<Item = Vec<u8>> {
        if self.entries.len() == 0 {
            let mut entries = indexes.take(1).next().map(entries_of).unwrap_or_default();
            entries.sort_unstable();
            self.entries = entries.into_iter();
        }
        self.entries.by_ref().take(most as usize)
    }

    /// Adds the entries that were taken last, which `change` holds; with them the rest of their index where the engine
    /// adds indexes as a whole. Returns by how many bytes the live data grew.
    pub fn commit(&mut self, change: &mut Transaction, engine: &dyn Engine, task: &mut Task) -> Result<i64> {
        if !engine.adds_indexes() {
            return change.commit(engine, task);
        }
        self.entries.by_ref().for_each(|key| change.add_entry(&key));
        change.commit_index(engine, task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_index_is_written_by_one_loader_in_key_order() {
        let indexes = LoadRows::new(0..2);
        let entries_of = |index: u64| vec![vec![index as u8, 9], vec![index as u8, 3], vec![index as u8, 5]];
        let (mut one, mut other) = (IndexLoad::default(), IndexLoad::default());
        let take = |loader: &mut IndexLoad| loader.take(&indexes, 2, entries_of).collect::<Vec<_>>();
        assert_eq!(take(&mut one), [[0, 3], [0, 5]]);
        assert_eq!(take(&mut other), [[1, 3], [1, 5]]);
        assert_eq!(take(&mut one), [[0, 9]]);
        assert_eq!(take(&mut other), [[1, 9]]);
        assert!(take(&mut one).is_empty() && take(&mut other).is_empty());
    }
}

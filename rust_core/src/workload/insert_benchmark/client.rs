//! Loaders and inserters, which write one batch of rows per commit, and query clients, which scan the indexes.

use super::schema::{MOST_INDEXES, PRIMARY, Purchase, Table};
use super::statements::{self, row_of};
use super::{FIRST_ID, INSERT, Parameters, QUERY_MARKET, Shared};
use crate::engine::{Engine, INDEX_NUMBER_BYTES};
use crate::error::{Error, Result};
use crate::random::{Random, Stream};
use crate::session::{ROWS_PER_INSERT, Session, charge_frame, charge_statements};
use crate::table::keys::{Columns, begin};
use crate::table::{Transaction, row_bytes};
use crate::task::Task;
use crate::workload::index_load::IndexLoad;
use crate::workload::load_rows::LoadRows;
use crate::workload::{Client, Plan};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// The first row is of January 2016. Time is logical and goes by ids, so that a seed means the same run under any
/// clock.
const FIRST_ROW_AT_S: u64 = 1_452_000_000;
const ROWS_PER_SECOND: u64 = 10_000;

/// Gives the rows ids from `first` on and the time of their batch.
fn number_rows(rows: &mut [Purchase], first: u64) {
    for (row, id) in rows.iter_mut().zip(first..) {
        (row.id, row.time) = (id, FIRST_ROW_AT_S + first / ROWS_PER_SECOND);
    }
}

/// Writes rows in key order, without looking for them first, and makes the indexes behind them. Each batch has random
/// numbers of its own.
pub struct Loader<T> {
    shared: Arc<Shared>,
    change: Transaction,
    index: IndexLoad,
    /// Whether the change is of an index.
    makes_index: bool,
    table: PhantomData<T>,
}

impl<T: Table> Loader<T> {
    /// One of the loaders.
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            change: Transaction::default(),
            index: IndexLoad::default(),
            makes_index: false,
            table: PhantomData,
        }
    }

    fn add_entries(&mut self) {
        let Self { shared, change, index, .. } = self;
        let entries_of = |index| entries_of::<T>(shared, index as usize);
        let entries = index.take(&shared.load_indexes, shared.parameters.rows_per_commit, entries_of);
        entries.for_each(|key| change.add_entry(&key));
    }
}

fn entries_of<T: Table>(shared: &Shared, index: usize) -> Vec<Vec<u8>> {
    let Parameters { rows, rows_per_commit, .. } = shared.parameters;
    let batches = LoadRows::new(FIRST_ID..FIRST_ID + rows);
    let batches = std::iter::repeat_with(|| batches.take(rows_per_commit)).take_while(|ids| !ids.is_empty());
    let rows = batches.flat_map(|ids| loaded_rows::<T>(shared, ids));
    rows.map(|row| {
        let mut key = Vec::new();
        T::index_key(&row, index, &mut key);
        key
    })
    .collect()
}

fn loaded_rows<T: Table>(shared: &Shared, ids: Range<u64>) -> Vec<Purchase> {
    let mut random = Random::derive(shared.seed, Stream::LoadChunk(ids.start));
    let mut rows: Vec<_> = ids.clone().map(|_| T::draw(&mut random, shared.parameters.data_bytes)).collect();
    number_rows(&mut rows, ids.start);
    rows
}

impl<T: Table> Client for Loader<T> {
    fn plan(&mut self, _now_ns: u64) -> Option<Plan> {
        let ids = self.shared.load_rows.take(self.shared.parameters.rows_per_commit);
        let operations = ids.end - ids.start;
        for row in loaded_rows::<T>(&self.shared, ids) {
            self.change.add_without_entries::<T>(&row);
        }
        self.makes_index = operations == 0;
        if self.makes_index {
            self.add_entries();
        }
        let user_bytes = self.change.user_bytes();
        (user_bytes > 0).then(|| Plan { operations, ..Plan::write(INSERT, user_bytes) })
    }

    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        let Self { change, index, .. } = self;
        let grown = if self.makes_index { index.commit(change, engine, task) } else { change.commit(engine, task) }?;
        self.shared.grew(grown);
        Ok(())
    }

    /// Entries are no statements: a server makes the indexes of its rows ([`crate::session::Tables::finish`]).
    fn speak(&mut self, session: &mut dyn Session) -> Result<()> {
        let grown = self.change.commit_by_statements(session, row_of::<T>)?;
        self.shared.grew(grown);
        Ok(())
    }
}

/// The first ids of a batch: of the rows that are added, and of as many old ones.
#[derive(Clone, Copy)]
struct Ids {
    first: u64,
    oldest: u64,
}

/// Appends rows, and removes as many of the oldest if asked to.
pub struct Inserter<T> {
    shared: Arc<Shared>,
    random: Random,
    rows: Vec<Purchase>,
    /// Bytes of a row; they are all of one size.
    row_bytes: u64,
    /// Bytes of a batch.
    batch_bytes: u64,
    /// Ids of the planned batch once a server was told of it, which is told the same if it must be told again.
    ids: Option<Ids>,
    /// Whether its connection was told to skip unique checks, if it is to.
    is_set_up: bool,
    change: Transaction,
    key: Vec<u8>,
    end: Vec<u8>,
    table: PhantomData<T>,
}

impl<T: Table> Inserter<T> {
    /// The inserter of client `index`.
    pub fn new(shared: Arc<Shared>, index: u32) -> Self {
        let mut random = Random::derive(shared.seed, Stream::Client(index));
        let (mut sample, row) = (Transaction::default(), T::draw(&mut random, shared.parameters.data_bytes));
        sample.add::<T>(&row);
        if shared.parameters.delete_per_insert {
            sample.delete::<T>(&row);
        }
        Self {
            random,
            rows: Vec::new(),
            row_bytes: row_bytes::<T>(&row),
            ids: None,
            is_set_up: false,
            batch_bytes: sample.user_bytes() * shared.parameters.rows_per_commit,
            change: Transaction::default(),
            key: Vec::new(),
            end: Vec::new(),
            table: PhantomData,
            shared,
        }
    }

    /// Whether a batch takes several statements.
    fn is_framed(&self) -> bool {
        self.shared.parameters.delete_per_insert || self.rows.len() > ROWS_PER_INSERT
    }

    /// The script looks for the smallest id and then deletes a range from there on. Here each inserter has a range of
    /// its own, but looks for the smallest id too: an LSM walks over its tombstones to find it.
    fn delete_oldest(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        let rows = self.rows.len() as u64;
        let first = self.shared.next_oldest_ids(rows);
        let mut entries = engine.iterator(task)?;
        begin(&mut self.key, PRIMARY);
        entries.seek(task, &self.key)?;
        T::id_key(first, &mut self.key);
        T::id_key(first + rows, &mut self.end);
        entries.seek(task, &self.key)?;
        while entries.valid() && entries.key() < &self.end[..] {
            let row = T::decode(entries.key(), entries.value());
            let row = row.ok_or_else(|| Error::corruption("purchases_index", 0, "a row does not decode"))?;
            self.change.delete::<T>(&row);
            entries.next(task)?;
        }
        Ok(())
    }
}

impl<T: Table> Client for Inserter<T> {
    fn plan(&mut self, _now_ns: u64) -> Option<Plan> {
        let parameters = &self.shared.parameters;
        let operations = parameters.rows_per_commit;
        self.rows.clear();
        self.ids = None;
        self.rows.extend((0..operations).map(|_| T::draw(&mut self.random, parameters.data_bytes)));
        Some(Plan { operations, ..Plan::write(INSERT, self.batch_bytes) })
    }

    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        charge_statements(task, 1 + u64::from(self.shared.parameters.delete_per_insert));
        if self.is_framed() {
            charge_frame(task);
        }
        let first = self.shared.next_ids(self.rows.len() as u64);
        number_rows(&mut self.rows, first);
        for row in &self.rows {
            if self.shared.parameters.unique_check {
                self.change.insert::<T>(engine, task, row)?;
            } else {
                self.change.add::<T>(row);
            }
        }
        if self.shared.parameters.delete_per_insert {
            self.delete_oldest(engine, task)?;
        }
        let grown = self.change.commit(engine, task)?;
        self.shared.grew(grown);
        Ok(())
    }

    /// Rows and deletes are one transaction, as on our engines; the script commits them one after the other.
    fn speak(&mut self, session: &mut dyn Session) -> Result<()> {
        let is_framed = self.is_framed();
        let Self { shared, rows, ids, .. } = self;
        let (parameters, count) = (&shared.parameters, rows.len() as u64);
        let deletes = parameters.delete_per_insert;
        if !parameters.unique_check && !self.is_set_up {
            statements::skip_unique_checks(session)?;
            self.is_set_up = true;
        }
        let Ids { first, oldest } = *ids.get_or_insert_with(|| Ids {
            first: shared.next_ids(count),
            oldest: if deletes { shared.next_oldest_ids(count) } else { 0 },
        });
        number_rows(rows, first);
        if is_framed {
            session.begin()?;
        }
        statements::insert::<T>(session, rows)?;
        let deleted = if deletes { statements::delete(session, oldest..oldest + count)? } else { 0 };
        if is_framed {
            session.commit()?;
        }
        shared.grew((count as i64 - deleted as i64) * self.row_bytes as i64);
        Ok(())
    }

    #[cfg(test)]
    fn next_random(&self) -> Option<u64> {
        Some(self.random.clone().bits())
    }
}

/// Scans a secondary index from a random value of its first column on.
pub struct Query<T> {
    shared: Arc<Shared>,
    random: Random,
    key: Vec<u8>,
    table: PhantomData<T>,
}

impl<T: Table> Query<T> {
    /// The query client of client `index`.
    pub fn new(shared: Arc<Shared>, index: u32) -> Self {
        let random = Random::derive(shared.seed, Stream::Client(index));
        Self { shared, random, key: Vec::new(), table: PhantomData }
    }
}

const _: () = assert!(QUERY_MARKET + MOST_INDEXES == super::OPERATIONS.len());

impl<T: Table> Client for Query<T> {
    fn plan(&mut self, _now_ns: u64) -> Option<Plan> {
        let index = self.random.below(T::SECONDARY_INDEXES as u64) as usize;
        T::index_key(&T::draw(&mut self.random, self.shared.parameters.data_bytes), index, &mut self.key);
        self.key.truncate(INDEX_NUMBER_BYTES + size_of::<u32>());
        Some(Plan::read(QUERY_MARKET + index))
    }

    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        charge_statements(task, 1);
        let mut entries = engine.iterator(task)?;
        entries.seek(task, &self.key)?;
        let index = &self.key[..INDEX_NUMBER_BYTES];
        for _ in 1..self.shared.parameters.rows_per_query {
            if !entries.valid() || !entries.key().starts_with(index) {
                break;
            }
            entries.next(task)?;
        }
        Ok(())
    }

    fn speak(&mut self, session: &mut dyn Session) -> Result<()> {
        let mut columns = Columns::of_value(&self.key);
        let (index, first) = columns.u32().zip(columns.u32()).expect("a plan precedes its execution");
        let rows = self.shared.parameters.rows_per_query;
        statements::query::<T>(session, (index - PRIMARY - 1) as usize, first, rows)
    }

    #[cfg(test)]
    fn next_random(&self) -> Option<u64> {
        Some(self.random.clone().bits())
    }
}

//! The load phase, as `sysbench prepare`: batches of rows in key order, table by table, and the index on `k` behind
//! them. Each batch has random numbers of its own, so what is loaded does not depend on who takes it.

use super::schema::{Row, SbTest, draw_c, draw_pad};
use super::statements::row_of;
use super::{Shared, load_batches_per_table};
use crate::engine::Engine;
use crate::error::Result;
use crate::random::{Random, Stream};
use crate::session::Session;
use crate::table::{Schema, Transaction};
use crate::task::Task;
use crate::workload::index_load::IndexLoad;
use crate::workload::{Client, Plan};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One loader.
pub struct Loader {
    shared: Arc<Shared>,
    change: Transaction,
    index: IndexLoad,
    /// Whether the change is of an index.
    makes_index: bool,
}

impl Loader {
    /// One of the loaders.
    pub fn new(shared: Arc<Shared>) -> Self {
        Self { shared, change: Transaction::default(), index: IndexLoad::default(), makes_index: false }
    }

    /// Adds the next batch of rows, and returns how many they are.
    fn add_rows(&mut self) -> u64 {
        let Some(batch) = self.shared.load_batches.take(1).next() else { return 0 };
        rows_of(&self.shared, batch).map(|row| self.change.add_without_entries::<SbTest>(&row)).count() as u64
    }

    fn add_entries(&mut self) {
        let Self { shared, change, index, .. } = self;
        let most = shared.parameters.load_batch_rows;
        index
            .take(&shared.load_indexes, most, |table| entries_of(shared, table))
            .for_each(|key| change.add_entry(&key));
    }
}

fn rows_of(shared: &Shared, batch: u64) -> impl Iterator<Item = Row> {
    let (rows, size) = (shared.parameters.load_batch_rows, shared.parameters.table_size);
    let batches_per_table = load_batches_per_table(&shared.parameters);
    let (table, first) = (batch / batches_per_table, 1 + batch % batches_per_table * rows);
    let mut random = Random::derive(shared.seed, Stream::LoadChunk(batch));
    (first..first + rows.min(size + 1 - first)).map(move |id| {
        let k = shared.ids.draw(&mut random);
        let (c, pad) = (draw_c(&mut random), draw_pad(&mut random));
        Row { table: table as u32, id: id as u32, k, c, pad }
    })
}

fn entries_of(shared: &Shared, table: u64) -> Vec<Vec<u8>> {
    let batches = load_batches_per_table(&shared.parameters);
    let rows = (table * batches..(table + 1) * batches).flat_map(|batch| rows_of(shared, batch));
    rows.map(|row| {
        let mut key = Vec::new();
        SbTest::index_key(&row, 0, &mut key);
        key
    })
    .collect()
}

impl Client for Loader {
    fn plan(&mut self, _now_ns: u64) -> Option<Plan> {
        let operations = self.add_rows();
        self.makes_index = operations == 0;
        if self.makes_index {
            self.add_entries();
        }
        let user_bytes = self.change.user_bytes();
        (user_bytes > 0).then(|| Plan { operations, ..Plan::write(0, user_bytes) })
    }

    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        let Self { change, index, .. } = self;
        let grown = if self.makes_index { index.commit(change, engine, task) } else { change.commit(engine, task) }?;
        self.shared.live_bytes.fetch_add(grown, Ordering::Relaxed);
        Ok(())
    }

    /// Entries are no statements: a server makes the index of its rows ([`crate::session::Tables::finish`]).
    fn speak(&mut self, session: &mut dyn Session) -> Result<()> {
        let grown = self.change.commit_by_statements(session, row_of)?;
        self.shared.live_bytes.fetch_add(grown, Ordering::Relaxed);
        Ok(())
    }
}

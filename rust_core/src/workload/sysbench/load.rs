//! The load phase: batches of rows in key order, table by table. Each batch has random numbers of its own, so what is
//! loaded does not depend on who takes it.

use super::Shared;
use super::schema::{Row, SbTest, draw_c, draw_pad};
use super::statements::row_of;
use crate::engine::Engine;
use crate::error::Result;
use crate::random::{Random, Stream};
use crate::session::Session;
use crate::table::Transaction;
use crate::task::Task;
use crate::workload::{Client, Plan};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One loader.
pub struct Loader {
    shared: Arc<Shared>,
    change: Transaction,
}

impl Loader {
    /// One of the loaders.
    pub fn new(shared: Arc<Shared>) -> Self {
        Self { shared, change: Transaction::default() }
    }
}

impl Client for Loader {
    fn plan(&mut self, _now_ns: u64) -> Option<Plan> {
        let Self { shared, change } = self;
        let (rows, size) = (shared.parameters.load_batch_rows, shared.parameters.table_size);
        let batch = shared.next_load_batch.fetch_add(1, Ordering::Relaxed);
        let batches_per_table = size.div_ceil(rows);
        let (table, first) = (batch / batches_per_table, 1 + batch % batches_per_table * rows);
        if table >= shared.parameters.tables {
            return None;
        }
        let operations = rows.min(size + 1 - first);
        let mut random = Random::derive(shared.seed, Stream::LoadChunk(batch));
        for id in first..first + operations {
            let k = shared.ids.draw(&mut random);
            let (c, pad) = (draw_c(&mut random), draw_pad(&mut random));
            change.add::<SbTest>(&Row { table: table as u32, id: id as u32, k, c, pad });
        }
        Some(Plan { operations, ..Plan::write(0, change.user_bytes()) })
    }

    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        let grown = self.change.commit(engine, task)?;
        self.shared.live_bytes.fetch_add(grown, Ordering::Relaxed);
        Ok(())
    }

    fn speak(&mut self, session: &mut dyn Session) -> Result<()> {
        let grown = self.change.commit_by_statements(session, row_of)?;
        self.shared.live_bytes.fetch_add(grown, Ordering::Relaxed);
        Ok(())
    }
}

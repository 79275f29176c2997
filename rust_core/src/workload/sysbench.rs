//! sysbench OLTP: tables of rows of random digits with one secondary index, and its eight scripts of transactions. A
//! transaction is one operation and one commit; its reads see committed rows, not its own changes.

pub mod client;
pub mod ids;
pub mod load;
pub mod schema;
mod statements;

use super::counter::Counter;
use super::load_rows::LoadRows;
use super::{Client, Workload, with_kind};
use crate::engine::KeyLayout;
use crate::engine_options;
use crate::error::Result;
use crate::options::Accepts;
use crate::session::Tables;
use crate::table::RowLocks;
use client::Thread;
use ids::{DISTRIBUTIONS, Ids};
use load::Loader;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Its name in a spec.
pub const KIND: &str = "sysbench";

/// Names of the scripts, in the order of [`Script`].
pub const SCRIPTS: [&str; 8] = [
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_insert",
    "oltp_delete",
];

engine_options! {
    /// What a spec may say about sysbench.
    Parameters {
        script: String = "oltp_read_write", Accepts::Words(&SCRIPTS),
            "What each transaction does.";
        tables: u64 = 1u64, Accepts::Range(1.0, 10_000.0),
            "Number of tables.";
        table_size: u64 = 100_000u64, Accepts::Range(1.0, 1e9),
            "Rows that each table is loaded with.";
        range_size: u64 = 100u64, Accepts::Range(1.0, 1e6),
            "Rows of a range query.";
        distribution: String = "uniform", Accepts::Words(&DISTRIBUTIONS),
            "Which rows are chosen (rand-type): sysbench 1.0 has special by default, its development branch uniform.";
        load_batch_rows: u64 = 1000u64, Accepts::Range(1.0, 100_000.0),
            "Rows that a loader writes at once.";
    }
}

/// A script of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    PointSelect,
    ReadOnly,
    ReadWrite,
    WriteOnly,
    UpdateIndex,
    UpdateNonIndex,
    Insert,
    Delete,
}

impl Script {
    fn named(name: &str) -> Self {
        match name {
            "oltp_point_select" => Self::PointSelect,
            "oltp_read_only" => Self::ReadOnly,
            "oltp_write_only" => Self::WriteOnly,
            "oltp_update_index" => Self::UpdateIndex,
            "oltp_update_non_index" => Self::UpdateNonIndex,
            "oltp_insert" => Self::Insert,
            "oltp_delete" => Self::Delete,
            _ => Self::ReadWrite,
        }
    }
}

/// What all threads share.
#[derive(Clone)]
pub struct Shared {
    parameters: Parameters,
    script: Script,
    seed: u64,
    ids: Ids,
    locks: RowLocks,
    /// The next id of each table's auto-increment column.
    next_ids: Vec<Counter<AtomicU64>>,
    live_bytes: Counter<AtomicI64>,
    /// Batches of rows that no loader took yet.
    load_batches: LoadRows,
    /// Tables whose index no loader makes yet.
    load_indexes: LoadRows,
}

fn load_batches_per_table(parameters: &Parameters) -> u64 {
    parameters.table_size.div_ceil(parameters.load_batch_rows)
}

/// The workload.
pub struct Sysbench {
    shared: Arc<Shared>,
}

/// From the parameters of a spec.
pub fn build(parameters: Parameters, _clients: u32, seed: u64) -> Result<Arc<dyn Workload>> {
    Ok(Arc::new(Sysbench::new(parameters, seed)))
}

impl Sysbench {
    /// Tables that are not loaded yet.
    pub fn new(parameters: Parameters, seed: u64) -> Self {
        let shared = Shared {
            script: Script::named(&parameters.script),
            seed,
            ids: Ids::new(&parameters.distribution, parameters.table_size),
            locks: RowLocks::default(),
            next_ids: (0..parameters.tables).map(|_| Counter::at(1 + parameters.table_size)).collect(),
            live_bytes: Counter::at(0),
            load_batches: LoadRows::new(0..parameters.tables * load_batches_per_table(&parameters)),
            load_indexes: LoadRows::new(0..parameters.tables),
            parameters,
        };
        Self { shared: Arc::new(shared) }
    }
}

impl Workload for Sysbench {
    fn layout(&self) -> KeyLayout {
        KeyLayout::Indexed
    }

    fn operations(&self) -> &'static [&'static str] {
        let script = self.shared.script as usize;
        &SCRIPTS[script..=script]
    }

    fn parameters(&self) -> Map<String, Value> {
        with_kind(KIND, self.shared.parameters.to_json())
    }

    fn loader(&self, _index: u32) -> Box<dyn Client> {
        Box::new(Loader::new(self.shared.clone()))
    }

    fn client(&self, index: u32) -> Box<dyn Client> {
        Box::new(Thread::new(self.shared.clone(), index))
    }

    fn tables(&self) -> Option<Tables> {
        Some(statements::tables(self.shared.parameters.tables))
    }

    fn writes(&self) -> bool {
        !matches!(self.shared.script, Script::PointSelect | Script::ReadOnly)
    }

    fn fork(&self, seed: u64) -> Arc<dyn Workload> {
        Arc::new(Self { shared: Arc::new(Shared { seed, ..(*self.shared).clone() }) })
    }

    fn live_bytes(&self) -> u64 {
        self.shared.live_bytes.load(Ordering::Relaxed).max(0) as u64
    }
}

#[cfg(test)]
mod tests;

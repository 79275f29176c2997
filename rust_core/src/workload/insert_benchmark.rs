//! The insert benchmark (iibench): one table with secondary indexes in random order, which a B-tree maintains with a
//! page read and a page write per entry and an LSM with nothing but write amplification. In the schema of 2012, which
//! the posts of January 2016 ran, and in the current one.

pub mod client;
pub mod schema;
mod statements;

use super::counter::Counter;
use super::load_rows::LoadRows;
use super::{Client, Rate, RateUnit, Workload, with_kind};
use crate::engine::KeyLayout;
use crate::engine_options;
use crate::error::{Error, Result};
use crate::options::Accepts;
use crate::session::Tables;
use client::{Inserter, Loader, Query};
use schema::{Current, MOST_DATA_BYTES, MOST_INDEXES, Of2012, Purchases, Table};
use serde_json::{Map, Value};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Its name in a spec.
pub const KIND: &str = "insert_benchmark";

engine_options! {
    /// What a spec may say about the insert benchmark.
    Parameters {
        version: String = "current", Accepts::Words(&["current", "2012"]),
            "The script: as it is now (big primary key, whole prices), or that of 2012 (4-byte key, prices as floats).";
        rows: u64 = 100_000u64, Accepts::Range(0.0, 1e9),
            "Rows that are loaded in key order before the run.";
        rows_per_commit: u64 = 1000u64, Accepts::Range(1.0, 1e6),
            "Rows of one batch; a batch counts as so many operations.";
        data_bytes: u64 = 10u64, Accepts::Range(0.0, MOST_DATA_BYTES as f64),
            "Bytes of the column data, by which rows are wider; the second half is random (data_length_max, which is \
             data_length_min here).";
        secondary_indexes: u64 = 3u64, Accepts::Range(0.0, MOST_INDEXES as f64),
            "Secondary indexes: marketsegment, registersegment, pdc, in this order.";
        unique_check: bool = true, Accepts::Switch,
            "Whether an insert looks for its primary key first; false is the bulk load mode of MyRocks.";
        delete_per_insert: bool = false, Accepts::Switch,
            "Whether each batch also deletes as many of the oldest rows, so that the table keeps its size.";
        inserts_per_second: u64 = 0u64, Accepts::Range(0.0, 1e9),
            "Rows per second that each inserting client is held to; 0 for no limit.";
        query_clients: u64 = 0u64, Accepts::Range(0.0, 1e6),
            "How many of the clients scan the secondary indexes instead of inserting.";
        rows_per_query: u64 = 10u64, Accepts::Range(1.0, 1e6),
            "Index entries that a query reads (1000 in 2012).";
    }
}

/// Names of the operations; the queries in the order of the indexes.
pub const OPERATIONS: [&str; 4] = ["insert", "query_market", "query_register", "query_pdc"];
const INSERT: usize = 0;
const QUERY_MARKET: usize = 1;

/// The auto-increment column starts here.
const FIRST_ID: u64 = 1;

/// What all clients share.
#[derive(Clone)]
pub struct Shared {
    parameters: Parameters,
    inserters: u64,
    seed: u64,
    load_rows: LoadRows,
    /// Secondary indexes that no loader makes yet.
    load_indexes: LoadRows,
    next_id: Counter<AtomicU64>,
    /// The oldest row that no inserter deletes yet.
    next_oldest_id: Counter<AtomicU64>,
    live_bytes: Counter<AtomicI64>,
}

impl Shared {
    fn next_ids(&self, rows: u64) -> u64 {
        self.next_id.fetch_add(rows, Ordering::Relaxed)
    }

    fn next_oldest_ids(&self, rows: u64) -> u64 {
        self.next_oldest_id.fetch_add(rows, Ordering::Relaxed)
    }

    fn grew(&self, bytes: i64) {
        self.live_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The workload on one of the tables.
pub struct InsertBenchmark<T> {
    shared: Arc<Shared>,
    table: PhantomData<T>,
}

/// From the parameters of a spec.
pub fn build(parameters: Parameters, clients: u32, seed: u64) -> Result<Arc<dyn Workload>> {
    check(&parameters, clients)?;
    let build = match (parameters.version.as_str(), parameters.secondary_indexes) {
        ("2012", 0) => on_table::<Purchases<Of2012, 0>>,
        ("2012", 1) => on_table::<Purchases<Of2012, 1>>,
        ("2012", 2) => on_table::<Purchases<Of2012, 2>>,
        ("2012", _) => on_table::<Purchases<Of2012, 3>>,
        (_, 0) => on_table::<Purchases<Current, 0>>,
        (_, 1) => on_table::<Purchases<Current, 1>>,
        (_, 2) => on_table::<Purchases<Current, 2>>,
        (_, _) => on_table::<Purchases<Current, 3>>,
    };
    Ok(build(parameters, clients, seed))
}

fn on_table<T: Table>(parameters: Parameters, clients: u32, seed: u64) -> Arc<dyn Workload> {
    Arc::new(InsertBenchmark::<T>::new(parameters, clients, seed))
}

fn check(parameters: &Parameters, clients: u32) -> Result<()> {
    let Parameters { rows, rows_per_commit, secondary_indexes, query_clients, delete_per_insert, .. } = *parameters;
    let clients = u64::from(clients);
    if query_clients > clients {
        let accepted = format!("at most the {clients} clients of the run");
        return Err(Error::invalid("workload.query_clients", query_clients, accepted));
    }
    if query_clients > 0 && secondary_indexes == 0 {
        return Err(Error::invalid("workload.secondary_indexes", 0, "1 or more: query clients scan them"));
    }
    let in_flight = (clients - query_clients) * rows_per_commit;
    if delete_per_insert && rows < in_flight {
        let accepted =
            format!("{in_flight} or more: deletes must not catch up with the batches of all inserting clients");
        return Err(Error::invalid("workload.rows", rows, accepted));
    }
    Ok(())
}

impl<T: Table> InsertBenchmark<T> {
    /// A table that is not loaded yet.
    pub fn new(parameters: Parameters, clients: u32, seed: u64) -> Self {
        let shared = Shared {
            inserters: u64::from(clients).saturating_sub(parameters.query_clients),
            seed,
            load_rows: LoadRows::new(FIRST_ID..FIRST_ID + parameters.rows),
            load_indexes: LoadRows::new(0..T::SECONDARY_INDEXES as u64),
            next_id: Counter::at(FIRST_ID + parameters.rows),
            next_oldest_id: Counter::at(FIRST_ID),
            live_bytes: Counter::at(0),
            parameters,
        };
        Self { shared: Arc::new(shared), table: PhantomData }
    }
}

impl<T: Table> Workload for InsertBenchmark<T> {
    fn layout(&self) -> KeyLayout {
        KeyLayout::Indexed
    }

    fn operations(&self) -> &'static [&'static str] {
        &OPERATIONS
    }

    fn parameters(&self) -> Map<String, Value> {
        with_kind(KIND, self.shared.parameters.to_json())
    }

    fn loader(&self, _index: u32) -> Box<dyn Client> {
        Box::new(Loader::<T>::new(self.shared.clone()))
    }

    fn client(&self, index: u32) -> Box<dyn Client> {
        if u64::from(index) < self.shared.inserters {
            Box::new(Inserter::<T>::new(self.shared.clone(), index))
        } else {
            Box::new(Query::<T>::new(self.shared.clone(), index))
        }
    }

    fn rate(&self, index: u32) -> Rate {
        match self.shared.parameters.inserts_per_second {
            rate @ 1.. if u64::from(index) < self.shared.inserters => Rate::Throttled(rate, RateUnit::Operations),
            _ => Rate::Requests,
        }
    }

    fn tables(&self) -> Option<Tables> {
        Some(statements::tables::<T>())
    }

    fn fork(&self, seed: u64) -> Arc<dyn Workload> {
        Arc::new(Self { shared: Arc::new(Shared { seed, ..(*self.shared).clone() }), table: PhantomData })
    }

    fn live_bytes(&self) -> u64 {
        self.shared.live_bytes.load(Ordering::Relaxed).max(0) as u64
    }
}

#[cfg(test)]
mod tests;

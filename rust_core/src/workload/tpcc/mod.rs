//! sysbench-tpcc: a wholesale company with warehouses, districts, customers and orders, in the way of TPC-C but by the
//! script's own rules. Where the script does other than TPC-C says, this does what the script does: long texts are one
//! repeated letter, no order or payment leaves its warehouse, order status reads the wrong order, draws have little
//! skew.

pub mod client;
pub mod draws;
pub mod load;
pub mod schema;
pub mod session;
pub mod statements;
pub mod transactions;

use super::counter::Counter;
use super::permute::RandomOrder;
use super::{Client, Workload, with_kind};
use crate::engine::KeyLayout;
use crate::engine_options;
use crate::error::Result;
use crate::options::Accepts;
use crate::session::Tables;
use crate::table::RowLocks;
use client::Terminal;
use draws::Cardinalities;
use load::{Loader, order_of_customers};
use schema::{DISTRICTS, HistoryId, WarehouseId};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Its name in a spec.
pub const KIND: &str = "tpcc";

engine_options! {
    /// What a spec may say about sysbench-tpcc.
    Parameters {
        warehouses: u64 = 1u64, Accepts::Range(1.0, 32_767.0),
            "Warehouses of each table set (cardinalities); at full size each takes about 75 MB.";
        table_sets: u64 = 1u64, Accepts::Range(1.0, 1000.0),
            "Sets of the nine tables (tables).";
        items: u64 = 100_000u64, Accepts::Range(1.0, 1e6),
            "Items of a table set, and stock rows of a warehouse.";
        customers_per_district: u64 = 3000u64, Accepts::Range(1.0, 1e6),
            "Customers of a district, and orders that it is loaded with.";
        nurand: String = "effective", Accepts::Words(&["effective", "specified"]),
            "Skew of customers and items: as the script draws them (nearly uniform), or as TPC-C specifies.";
        stock_level: String = "joined", Accepts::Words(&["joined", "looped"]),
            "How stock levels are read: one join of lines and stock, or as the script of March 2018 did, line by \
             line and nearly all from one row.";
        load_batch_rows: u64 = 1000u64, Accepts::Range(1.0, 100_000.0),
            "Rows that a loader writes at once, at least.";
    }
}

/// Names of the transactions.
pub const OPERATIONS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];
const NEW_ORDER: usize = 0;
const PAYMENT: usize = 1;
const ORDER_STATUS: usize = 2;
const DELIVERY: usize = 3;
const STOCK_LEVEL: usize = 4;

/// When the database was loaded, in seconds of Unix time (April 2018). Time is logical.
const LOADED_AT_S: u64 = 1_525_000_000;
/// The first hidden key of a history table.
const FIRST_HISTORY_ID: u64 = 1;

/// What all clients share.
#[derive(Clone)]
pub struct Shared {
    parameters: Parameters,
    cardinalities: Cardinalities,
    seed: u64,
    locks: RowLocks,
    /// Which customer placed which loaded order, by table set and warehouse.
    customer_orders: Vec<RandomOrder>,
    /// The next hidden key of each history table.
    next_history_ids: Vec<Counter<AtomicU64>>,
    live_bytes: Counter<AtomicI64>,
    /// Pieces of the load that no loader took yet.
    next_piece: Counter<AtomicU64>,
}

impl Shared {
    fn next_history(&self, set: u32) -> HistoryId {
        HistoryId { set, id: self.next_history_ids[set as usize].fetch_add(1, Ordering::Relaxed) }
    }

    fn customer_of_order(&self, home: WarehouseId, order: u32) -> u32 {
        let position = home.set as usize * usize::from(self.cardinalities.warehouses) + usize::from(home.warehouse - 1);
        self.customer_orders[position].at(u64::from(order - 1)) as u32 + 1
    }
}

/// The workload.
pub struct Tpcc {
    shared: Arc<Shared>,
}

/// From the parameters of a spec.
pub fn build(parameters: Parameters, _clients: u32, seed: u64) -> Result<Arc<dyn Workload>> {
    Ok(Arc::new(Tpcc::new(parameters, seed)))
}

impl Tpcc {
    /// A database that is not loaded yet.
    pub fn new(parameters: Parameters, seed: u64) -> Self {
        let cardinalities = Cardinalities::new(&parameters, seed);
        let loaded_history =
            u64::from(cardinalities.warehouses) * u64::from(DISTRICTS) * u64::from(cardinalities.customers);
        let homes = (0..cardinalities.sets)
            .flat_map(|set| (1..=cardinalities.warehouses).map(move |warehouse| WarehouseId { set, warehouse }));
        let shared = Shared {
            customer_orders: homes.map(|home| order_of_customers(seed, home, &cardinalities)).collect(),
            next_history_ids: (0..cardinalities.sets).map(|_| Counter::at(FIRST_HISTORY_ID + loaded_history)).collect(),
            cardinalities,
            seed,
            locks: RowLocks::at_scale(parameters.scale),
            live_bytes: Counter::at(0),
            next_piece: Counter::at(0),
            parameters,
        };
        Self { shared: Arc::new(shared) }
    }
}

impl Workload for Tpcc {
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
        Box::new(Loader::new(self.shared.clone()))
    }

    fn client(&self, index: u32) -> Box<dyn Client> {
        Box::new(Terminal::new(self.shared.clone(), index))
    }

    fn tables(&self) -> Option<Tables> {
        Some(statements::tables(self.shared.cardinalities.sets))
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

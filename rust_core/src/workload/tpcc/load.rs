//! The load phase. Loaders take pieces from a queue: the items of a table set, the stock of a warehouse, the customers
//! or the orders of a district. Each piece has random numbers of its own, so what is loaded does not depend on who
//! takes it.

use super::draws::{Cardinalities, between, fill, last_name, repeated};
use super::schema::{
    Customer, CustomerId, Customers, DISTRICT_INFO_BYTES, DISTRICTS, District, DistrictId, Districts, Histories,
    History, HistoryId, Item, ItemId, Items, LineId, NewOrders, Order, OrderId, OrderLine, OrderLines, Orders, Stock,
    StockId, Stocks, Warehouse, WarehouseId, Warehouses,
};
use super::statements::row_of;
use super::{FIRST_HISTORY_ID, LOADED_AT_S, Shared};
use crate::engine::Engine;
use crate::error::Result;
use crate::random::{Random, Stream};
use crate::session::Session;
use crate::table::Transaction;
use crate::task::Task;
use crate::workload::permute::RandomOrder;
use crate::workload::{Client, Plan};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Two streets, city, state and zip code.
const ADDRESS: &str = "street1-@@@@@@@@@@street2-@@@@@@@@@@city-@@@@@@@@@@@@zip-#####";
/// A middle name in front and a telephone number behind.
const CUSTOMER_ADDRESS: &str = "OEstreet1-@@@@@@@@@@street2-@@@@@@@@@@city-@@@@@@@@@@@@zip-#####################";

/// Cents that a district took in before the run.
const DISTRICT_YTD: u64 = 3_000_000;
/// Cents that every customer paid before the run.
const FIRST_PAYMENT: u32 = 1000;
const CREDIT_LIMIT: u64 = 5_000_000;

/// Pieces of a warehouse: itself, its stock, and for each district customers and orders.
const WAREHOUSE_PIECES: u64 = 2 + 2 * DISTRICTS as u64;

/// A part of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Items { set: u32 },
    Warehouse { home: WarehouseId },
    Stock { home: WarehouseId },
    Customers { district: DistrictId },
    Orders { district: DistrictId },
}

impl Piece {
    fn numbered(number: u64, cardinalities: &Cardinalities) -> Option<Self> {
        let per_set = 1 + u64::from(cardinalities.warehouses) * WAREHOUSE_PIECES;
        let (set, rest) = ((number / per_set) as u32, number % per_set);
        if set >= cardinalities.sets {
            return None;
        }
        let Some(rest) = rest.checked_sub(1) else { return Some(Self::Items { set }) };
        let home = WarehouseId { set, warehouse: (rest / WAREHOUSE_PIECES) as u16 + 1 };
        Some(match rest % WAREHOUSE_PIECES {
            0 => Self::Warehouse { home },
            1 => Self::Stock { home },
            rest => {
                let district = DistrictId { home, district: (rest / 2) as u8 };
                if rest % 2 == 0 { Self::Customers { district } } else { Self::Orders { district } }
            }
        })
    }

    /// Numbers of its rows.
    fn rows(self, cardinalities: &Cardinalities) -> RangeInclusive<u32> {
        match self {
            Self::Items { .. } => 1..=cardinalities.item_rows,
            Self::Stock { .. } => 1..=cardinalities.items,
            Self::Warehouse { .. } => 1..=1,
            Self::Customers { .. } | Self::Orders { .. } => 1..=cardinalities.customers,
        }
    }
}

/// A piece of which rows are still to be written.
struct Open {
    piece: Piece,
    random: Random,
    rows: RangeInclusive<u32>,
}

/// One loader.
pub struct Loader {
    shared: Arc<Shared>,
    open: Option<Open>,
    change: Transaction,
    added: u64,
}

impl Loader {
    /// One of the loaders.
    pub fn new(shared: Arc<Shared>) -> Self {
        Self { shared, open: None, change: Transaction::default(), added: 0 }
    }

    fn take_piece(&self) -> Option<Open> {
        let number = self.shared.next_piece.fetch_add(1, Ordering::Relaxed);
        let piece = Piece::numbered(number, &self.shared.cardinalities)?;
        let random = Random::derive(self.shared.seed, Stream::LoadChunk(number));
        Some(Open { piece, random, rows: piece.rows(&self.shared.cardinalities) })
    }

    fn add<S: crate::table::Schema>(&mut self, row: &S::Row) {
        self.change.add::<S>(row);
        self.added += 1;
    }

    /// Adds row `number` of a piece, with the rows that belong to it.
    fn add_numbered(&mut self, piece: Piece, number: u32, random: &mut Random) {
        match piece {
            Piece::Items { set } => self.add::<Items>(&item(ItemId { set, item: number }, random)),
            Piece::Warehouse { home } => self.add_warehouse(home, random),
            Piece::Stock { home } => self.add::<Stocks>(&stock(StockId { home, item: number }, random)),
            Piece::Customers { district } => self.add_customer(CustomerId { district, customer: number }, random),
            Piece::Orders { district } => self.add_order(OrderId { district, order: number }, random),
        }
    }

    fn add_warehouse(&mut self, home: WarehouseId, random: &mut Random) {
        let (name, address) = (fill(random, "name-@@@@@"), fill(random, ADDRESS));
        let ytd = DISTRICT_YTD * u64::from(DISTRICTS);
        self.add::<Warehouses>(&Warehouse { id: home, name, address, tax: random.below(21) as u16, ytd });
        let next_order = self.shared.cardinalities.customers + 1;
        for id in home.districts() {
            let (name, address) = (fill(random, "name-@@@@@"), fill(random, ADDRESS));
            let tax = random.below(21) as u16;
            self.add::<Districts>(&District { id, name, address, tax, ytd: DISTRICT_YTD, next_order });
        }
    }

    fn add_customer(&mut self, id: CustomerId, random: &mut Random) {
        let (cardinalities, district) = (self.shared.cardinalities, id.district);
        let number = u64::from(id.customer) - 1;
        let first_letters = between(random, 2, 10) as usize;
        self.add::<Customers>(&Customer {
            id,
            first: fill(random, &["first-", &"@".repeat(first_letters)].concat()),
            last: if number < cardinalities.names() { last_name(number) } else { cardinalities.draw_last_name(random) },
            address: fill(random, CUSTOMER_ADDRESS),
            since: LOADED_AT_S,
            credit: if random.chance(0.1) { *b"BC" } else { *b"GC" },
            credit_limit: CREDIT_LIMIT,
            discount: random.below(51) as u16,
            balance: -i64::from(FIRST_PAYMENT),
            ytd_payment: FIRST_PAYMENT.into(),
            payments: 1,
            deliveries: 0,
            data: {
                let bytes = between(random, 300, 500);
                repeated(random, bytes)
            },
        });
        let districts_before =
            u64::from(district.home.warehouse - 1) * u64::from(DISTRICTS) + u64::from(district.district - 1);
        let history = FIRST_HISTORY_ID + districts_before * u64::from(cardinalities.customers) + number;
        let bytes = between(random, 12, 24);
        self.add::<Histories>(&History {
            id: HistoryId { set: district.home.set, id: history },
            customer: id,
            district,
            date: LOADED_AT_S,
            amount: FIRST_PAYMENT,
            data: repeated(random, bytes),
        });
    }

    fn add_order(&mut self, id: OrderId, random: &mut Random) {
        let (cardinalities, home) = (self.shared.cardinalities, id.district.home);
        let is_delivered = id.order <= cardinalities.last_delivered();
        let lines = between(random, 5, 15) as u8;
        let carrier = if is_delivered { between(random, 1, 10) as u8 } else { 0 };
        let customer = self.shared.customer_of_order(home, id.order);
        self.add::<Orders>(&Order { id, customer, entered: LOADED_AT_S, carrier, lines, all_local: 1 });
        if !is_delivered {
            self.add::<NewOrders>(&id);
        }
        for number in 1..=lines {
            let item = between(random, 1, cardinalities.items.into()) as u32;
            let amount = if is_delivered { 0 } else { random.below(1_000_000) as u32 };
            self.add::<OrderLines>(&OrderLine {
                id: LineId { order: id, number },
                item,
                supply_warehouse: home.warehouse,
                delivered: if is_delivered { LOADED_AT_S } else { 0 },
                quantity: 5,
                amount,
                district_info: [fill(random, "@")[0]; DISTRICT_INFO_BYTES],
            });
        }
    }
}

fn item(id: ItemId, random: &mut Random) -> Item {
    let image = between(random, 1, 10_000) as u32;
    let units = random.unit() * 100.0 + 1.0;
    let full_name = [format!("item-{image}-{units:.6}-").as_bytes(), &fill(random, "@@@@@")].concat();
    let mut data = [b"data-", &full_name[..], b"-", &fill(random, "@@@@@")].concat();
    data.truncate(50);
    let name = full_name[..full_name.len().min(24)].to_vec();
    Item { id, image, price: (units * 100.0).round() as u32, name, data }
}

fn stock(id: StockId, random: &mut Random) -> Stock {
    let quantity = between(random, 10, 100) as u16;
    let mut text = Vec::new();
    for _district in 0..DISTRICTS {
        text.extend(repeated(random, DISTRICT_INFO_BYTES as u64));
    }
    let data_bytes = between(random, 26, 50);
    text.extend(repeated(random, data_bytes));
    Stock { id, quantity, counts: 0, text }
}

/// Which customer placed which loaded order: one permutation for all districts of a warehouse, as in the script.
pub fn order_of_customers(seed: u64, home: WarehouseId, cardinalities: &Cardinalities) -> RandomOrder {
    let stream = Stream::Shared(u64::from(home.set) << u16::BITS | u64::from(home.warehouse));
    RandomOrder::new(&mut Random::derive(seed, stream), cardinalities.customers.into())
}

impl Client for Loader {
    fn plan(&mut self, _now_ns: u64) -> Option<Plan> {
        self.added = 0;
        while self.added < self.shared.parameters.load_batch_rows {
            let Some(mut open) = self.open.take().or_else(|| self.take_piece()) else { break };
            let Some(number) = open.rows.next() else { continue };
            self.add_numbered(open.piece, number, &mut open.random);
            self.open = Some(open);
        }
        (self.added > 0).then(|| Plan { operations: self.added, ..Plan::write(0, self.change.user_bytes()) })
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

//! The nine tables of sysbench-tpcc and their secondary indexes, in any number of table sets. Columns have the widths
//! of MySQL's types; amounts are cents. In index entries, a nullable column has a byte in front.

pub mod customers;
pub mod orders;
pub mod warehouses;

use crate::table::Schema;
use crate::table::keys::{Columns, begin, push_u8, push_u16};

pub use customers::{Customer, CustomerId, Customers, Histories, History, HistoryId};
pub use orders::{LineId, NewOrders, Order, OrderId, OrderLine, OrderLines, Orders};
pub use warehouses::{District, Districts, Item, ItemId, Items, Stock, StockId, Stocks, Warehouse, Warehouses};

/// Districts of a warehouse, numbered from 1.
pub const DISTRICTS: u8 = 10;
/// Bytes of the district information in stock rows and order lines.
pub const DISTRICT_INFO_BYTES: usize = 24;
/// Stands in front of a nullable column that has a value.
const NOT_NULL: u8 = 1;

/// The key spaces of one table set: primary keys, and `TableColumns` for secondary indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Index {
    /// (w).
    Warehouse = 1,
    /// (w, d).
    District,
    /// (w, d, c).
    Customer,
    /// `idx_customer` (w, d, last, first).
    CustomerName,
    /// A hidden id.
    History,
    /// `fkey_history_1` (c_w, c_d, c).
    HistoryCustomer,
    /// `fkey_history_2` (w, d).
    HistoryDistrict,
    /// (w, d, o).
    Order,
    /// `idx_orders` (w, d, c, o).
    OrderCustomer,
    /// (w, d, o).
    NewOrder,
    /// (w, d, o, number).
    OrderLine,
    /// `fkey_order_line_2` (supply_w, item).
    OrderLineItem,
    /// (w, item).
    Stock,
    /// `fkey_stock_2` (item).
    StockItem,
    /// (item).
    Item,
}

/// Key spaces of a table set.
const INDEXES: u32 = Index::Item as u32;

/// Index number of a key space of table set `set`, from 0.
pub fn number(set: u32, index: Index) -> u32 {
    set * INDEXES + index as u32
}

/// A warehouse of a table set; the set is counted from 0, the warehouse from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WarehouseId {
    /// Table set.
    pub set: u32,
    /// Warehouse.
    pub warehouse: u16,
}

/// A district of a warehouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DistrictId {
    /// Its warehouse.
    pub home: WarehouseId,
    /// From 1 to [`DISTRICTS`].
    pub district: u8,
}

impl WarehouseId {
    /// Its districts.
    pub fn districts(self) -> impl Iterator<Item = DistrictId> {
        (1..=DISTRICTS).map(move |district| DistrictId { home: self, district })
    }

    /// Starts a key whose first column is the warehouse.
    fn begin(self, index: Index, key: &mut Vec<u8>) {
        begin(key, number(self.set, index));
        push_u16(key, self.warehouse);
    }

    /// Reads the start of such a key.
    fn open(key: &[u8]) -> Option<(Self, Columns<'_>)> {
        let (set, mut columns) = open(key)?;
        Some((Self { set, warehouse: columns.u16()? }, columns))
    }
}

impl DistrictId {
    /// What all keys of this district in one key space start with.
    pub fn prefix(self, index: Index) -> Vec<u8> {
        let mut key = Vec::new();
        self.begin(index, &mut key);
        key
    }

    /// Starts a key whose first columns are warehouse and district.
    fn begin(self, index: Index, key: &mut Vec<u8>) {
        self.home.begin(index, key);
        push_u8(key, self.district);
    }

    /// Reads the start of such a key.
    fn open(key: &[u8]) -> Option<(Self, Columns<'_>)> {
        let (home, mut columns) = WarehouseId::open(key)?;
        Some((Self { home, district: columns.u8()? }, columns))
    }
}

/// The table set of an index number, and its [`Index`] there.
pub fn set_of(number: u32) -> Option<(u32, u32)> {
    let position = number.checked_sub(1)?;
    Some((position / INDEXES, position % INDEXES + 1))
}

/// The table set of a key, and its columns.
fn open(key: &[u8]) -> Option<(u32, Columns<'_>)> {
    let (set, _) = set_of(Columns::of_value(key).u32()?)?;
    Some((set, Columns::of_key(key)?))
}

/// A table whose rows are found by an id.
pub trait Keyed: Schema {
    /// What the primary key says.
    type Id: Copy;
    /// The table's name.
    const NAME: &'static str;
    /// Writes the primary key of the row with this id.
    fn id_key(id: Self::Id, key: &mut Vec<u8>);

    /// The primary key of the row with this id.
    fn key(id: Self::Id) -> Vec<u8> {
        let mut key = Vec::new();
        Self::id_key(id, &mut key);
        key
    }
}

#[cfg(test)]
mod tests;

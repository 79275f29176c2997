//! Warehouses, districts, stock and items.

use super::{DISTRICT_INFO_BYTES, DistrictId, Index, Keyed, WarehouseId, number, open};
use crate::table::Schema;
use crate::table::keys::{Columns, begin, push_text, push_u16, push_u32, push_u64};

/// Widths of the texts of an address: streets, city, state and zip code.
pub const ADDRESS_WIDTHS: [usize; 5] = [18, 18, 15, 2, 9];

/// A row of `warehouse`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warehouse {
    /// Primary key.
    pub id: WarehouseId,
    /// Name.
    pub name: Vec<u8>,
    /// Streets, city, state and zip code.
    pub address: Vec<u8>,
    /// Percent.
    pub tax: u16,
    /// Payments of the year.
    pub ytd: u64,
}

/// `warehouse`.
pub struct Warehouses;

impl Keyed for Warehouses {
    type Id = WarehouseId;
    const NAME: &'static str = "warehouse";

    fn id_key(id: WarehouseId, key: &mut Vec<u8>) {
        id.begin(Index::Warehouse, key);
    }
}

impl Schema for Warehouses {
    type Row = Warehouse;

    fn primary_key(row: &Warehouse, key: &mut Vec<u8>) {
        Self::id_key(row.id, key);
    }

    fn value(row: &Warehouse, value: &mut Vec<u8>) {
        value.clear();
        push_text(value, &row.name);
        push_text(value, &row.address);
        push_u16(value, row.tax);
        push_u64(value, row.ytd);
    }

    fn decode(key: &[u8], value: &[u8]) -> Option<Warehouse> {
        let ((id, _), mut value) = (WarehouseId::open(key)?, Columns::of_value(value));
        let (name, address) = (value.text()?.to_vec(), value.text()?.to_vec());
        Some(Warehouse { id, name, address, tax: value.u16()?, ytd: value.u64()? })
    }
}

/// A row of `district`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct District {
    /// Primary key.
    pub id: DistrictId,
    /// Name.
    pub name: Vec<u8>,
    /// Streets, city, state and zip code.
    pub address: Vec<u8>,
    /// Percent.
    pub tax: u16,
    /// Payments of the year.
    pub ytd: u64,
    /// Number of the next order.
    pub next_order: u32,
}

/// `district`.
pub struct Districts;

impl Keyed for Districts {
    type Id = DistrictId;
    const NAME: &'static str = "district";

    fn id_key(id: DistrictId, key: &mut Vec<u8>) {
        id.begin(Index::District, key);
    }
}

impl Schema for Districts {
    type Row = District;

    fn primary_key(row: &District, key: &mut Vec<u8>) {
        Self::id_key(row.id, key);
    }

    fn value(row: &District, value: &mut Vec<u8>) {
        value.clear();
        push_text(value, &row.name);
        push_text(value, &row.address);
        push_u16(value, row.tax);
        push_u64(value, row.ytd);
        push_u32(value, row.next_order);
    }

    fn decode(key: &[u8], value: &[u8]) -> Option<District> {
        let ((id, _), mut value) = (DistrictId::open(key)?, Columns::of_value(value));
        let (name, address) = (value.text()?.to_vec(), value.text()?.to_vec());
        Some(District { id, name, address, tax: value.u16()?, ytd: value.u64()?, next_order: value.u32()? })
    }
}

/// An item in the stock of a warehouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StockId {
    /// The warehouse.
    pub home: WarehouseId,
    /// The item.
    pub item: u32,
}

/// A row of `stock`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stock {
    /// Primary key.
    pub id: StockId,
    /// How many are there.
    pub quantity: u16,
    /// Sold in the year, orders, orders from elsewhere: sysbench-tpcc never changes them.
    pub counts: u64,
    /// Information for each district, then data.
    pub text: Vec<u8>,
}

impl Stock {
    /// What order lines of a district copy.
    pub fn district_info(&self, district: u8) -> Option<[u8; DISTRICT_INFO_BYTES]> {
        let start = usize::from(district - 1) * DISTRICT_INFO_BYTES;
        self.text.get(start..)?.first_chunk().copied()
    }
}

/// `stock`.
pub struct Stocks;

/// Writes the entry of a row in `fkey_stock_2`.
pub fn item_key(id: StockId, key: &mut Vec<u8>) {
    begin(key, number(id.home.set, Index::StockItem));
    push_u32(key, id.item);
    push_u16(key, id.home.warehouse);
}

impl Keyed for Stocks {
    type Id = StockId;
    const NAME: &'static str = "stock";

    fn id_key(id: StockId, key: &mut Vec<u8>) {
        id.home.begin(Index::Stock, key);
        push_u32(key, id.item);
    }
}

impl Schema for Stocks {
    type Row = Stock;
    const SECONDARY_INDEXES: usize = 1;

    fn primary_key(row: &Stock, key: &mut Vec<u8>) {
        Self::id_key(row.id, key);
    }

    fn value(row: &Stock, value: &mut Vec<u8>) {
        value.clear();
        push_u16(value, row.quantity);
        push_u64(value, row.counts);
        value.extend_from_slice(&row.text);
    }

    fn decode(key: &[u8], value: &[u8]) -> Option<Stock> {
        let ((home, mut key), mut value) = (WarehouseId::open(key)?, Columns::of_value(value));
        let id = StockId { home, item: key.u32()? };
        Some(Stock { id, quantity: value.u16()?, counts: value.u64()?, text: value.rest().to_vec() })
    }

    fn index_key(row: &Stock, _index: usize, key: &mut Vec<u8>) {
        item_key(row.id, key);
    }
}

/// An item of a table set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemId {
    /// Table set.
    pub set: u32,
    /// From 1; 0 is no item's.
    pub item: u32,
}

/// A row of `item`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Primary key.
    pub id: ItemId,
    /// Its picture.
    pub image: u32,
    /// Cents.
    pub price: u32,
    /// Name.
    pub name: Vec<u8>,
    /// Data.
    pub data: Vec<u8>,
}

/// `item`.
pub struct Items;

impl Keyed for Items {
    type Id = ItemId;
    const NAME: &'static str = "item";

    fn id_key(id: ItemId, key: &mut Vec<u8>) {
        begin(key, number(id.set, Index::Item));
        push_u32(key, id.item);
    }
}

impl Schema for Items {
    type Row = Item;

    fn primary_key(row: &Item, key: &mut Vec<u8>) {
        Self::id_key(row.id, key);
    }

    fn value(row: &Item, value: &mut Vec<u8>) {
        value.clear();
        push_u32(value, row.image);
        push_u32(value, row.price);
        push_text(value, &row.name);
        value.extend_from_slice(&row.data);
    }

    fn decode(key: &[u8], value: &[u8]) -> Option<Item> {
        let ((set, mut key), mut value) = (open(key)?, Columns::of_value(value));
        let id = ItemId { set, item: key.u32()? };
        let (image, price, name) = (value.u32()?, value.u32()?, value.text()?.to_vec());
        Some(Item { id, image, price, name, data: value.rest().to_vec() })
    }
}

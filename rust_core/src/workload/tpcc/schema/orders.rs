//! Orders, those that are not delivered yet, and their lines. What is NULL before delivery takes no bytes, so that rows
//! grow when they are delivered; such a column is the last here.

use super::{CustomerId, DISTRICT_INFO_BYTES, DistrictId, Index, Keyed, NOT_NULL, WarehouseId, number};
use crate::table::Schema;
use crate::table::keys::{Columns, begin, push_u8, push_u16, push_u32, push_u40};

/// An order of a district.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderId {
    /// The district.
    pub district: DistrictId,
    /// From 1.
    pub order: u32,
}

impl OrderId {
    fn begin(self, index: Index, key: &mut Vec<u8>) {
        self.district.begin(index, key);
        push_u32(key, self.order);
    }

    fn open(key: &[u8]) -> Option<(Self, Columns<'_>)> {
        let (district, mut columns) = DistrictId::open(key)?;
        Some((Self { district, order: columns.u32()? }, columns))
    }

    /// What the keys of all its lines start with.
    pub fn lines_prefix(self) -> Vec<u8> {
        let mut key = Vec::new();
        self.begin(Index::OrderLine, &mut key);
        key
    }
}

/// A row of `orders`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Primary key.
    pub id: OrderId,
    /// Who ordered.
    pub customer: u32,
    /// Seconds of Unix time.
    pub entered: u64,
    /// From 1 to 10; 0 before delivery.
    pub carrier: u8,
    /// Number of lines.
    pub lines: u8,
    /// Whether all lines come from the home warehouse: 1, or 0.
    pub all_local: u8,
}

/// `orders`.
pub struct Orders;

/// What the entries of `idx_orders` of a customer start with.
pub fn customer_prefix(customer: CustomerId) -> Vec<u8> {
    let mut key = customer.district.prefix(Index::OrderCustomer);
    push_u8(&mut key, NOT_NULL);
    push_u32(&mut key, customer.customer);
    key
}

/// The order of an entry of `idx_orders`.
pub fn decode_customer_entry(key: &[u8]) -> Option<OrderId> {
    let (district, mut columns) = DistrictId::open(key)?;
    let (_not_null, _customer) = (columns.u8()?, columns.u32()?);
    Some(OrderId { district, order: columns.u32()? })
}

impl Keyed for Orders {
    type Id = OrderId;
    const NAME: &'static str = "orders";

    fn id_key(id: OrderId, key: &mut Vec<u8>) {
        id.begin(Index::Order, key);
    }
}

impl Schema for Orders {
    type Row = Order;
    const SECONDARY_INDEXES: usize = 1;

    fn primary_key(row: &Order, key: &mut Vec<u8>) {
        Self::id_key(row.id, key);
    }

    fn value(row: &Order, value: &mut Vec<u8>) {
        value.clear();
        push_u32(value, row.customer);
        push_u40(value, row.entered);
        value.extend_from_slice(&[row.lines, row.all_local]);
        if row.carrier > 0 {
            push_u8(value, row.carrier);
        }
    }

    fn decode(key: &[u8], value: &[u8]) -> Option<Order> {
        let ((id, _), mut value) = (OrderId::open(key)?, Columns::of_value(value));
        let (customer, entered) = (value.u32()?, value.u40()?);
        let (lines, all_local) = (value.u8()?, value.u8()?);
        Some(Order { id, customer, entered, carrier: value.u8().unwrap_or_default(), lines, all_local })
    }

    fn index_key(row: &Order, _index: usize, key: &mut Vec<u8>) {
        row.id.district.begin(Index::OrderCustomer, key);
        push_u8(key, NOT_NULL);
        push_u32(key, row.customer);
        push_u32(key, row.id.order);
    }
}

/// `new_orders`: a row is its key.
pub struct NewOrders;

impl Keyed for NewOrders {
    type Id = OrderId;
    const NAME: &'static str = "new_orders";

    fn id_key(id: OrderId, key: &mut Vec<u8>) {
        id.begin(Index::NewOrder, key);
    }
}

impl Schema for NewOrders {
    type Row = OrderId;

    fn primary_key(row: &OrderId, key: &mut Vec<u8>) {
        Self::id_key(*row, key);
    }

    fn value(_row: &OrderId, value: &mut Vec<u8>) {
        value.clear();
    }

    fn decode(key: &[u8], _value: &[u8]) -> Option<OrderId> {
        OrderId::open(key).map(|(id, _)| id)
    }
}

/// A line of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineId {
    /// The order.
    pub order: OrderId,
    /// From 1.
    pub number: u8,
}

/// A row of `order_line`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderLine {
    /// Primary key.
    pub id: LineId,
    /// What is ordered.
    pub item: u32,
    /// The warehouse that it comes from.
    pub supply_warehouse: u16,
    /// Seconds of Unix time; 0 before delivery.
    pub delivered: u64,
    /// How many.
    pub quantity: u8,
    /// Cents.
    pub amount: u32,
    /// Copied from the stock.
    pub district_info: [u8; DISTRICT_INFO_BYTES],
}

/// `order_line`.
pub struct OrderLines;

impl Keyed for OrderLines {
    type Id = LineId;
    const NAME: &'static str = "order_line";

    fn id_key(id: LineId, key: &mut Vec<u8>) {
        id.order.begin(Index::OrderLine, key);
        push_u8(key, id.number);
    }
}

impl Schema for OrderLines {
    type Row = OrderLine;
    const SECONDARY_INDEXES: usize = 1;

    fn primary_key(row: &OrderLine, key: &mut Vec<u8>) {
        Self::id_key(row.id, key);
    }

    fn value(row: &OrderLine, value: &mut Vec<u8>) {
        value.clear();
        push_u32(value, row.item);
        push_u16(value, row.supply_warehouse);
        push_u8(value, row.quantity);
        push_u32(value, row.amount);
        value.extend_from_slice(&row.district_info);
        if row.delivered > 0 {
            push_u40(value, row.delivered);
        }
    }

    fn decode(key: &[u8], value: &[u8]) -> Option<OrderLine> {
        let ((order, mut key), mut value) = (OrderId::open(key)?, Columns::of_value(value));
        let id = LineId { order, number: key.u8()? };
        let (item, supply_warehouse) = (value.u32()?, value.u16()?);
        let (quantity, amount) = (value.u8()?, value.u32()?);
        let (district_info, rest) = value.rest().split_first_chunk()?;
        let (district_info, delivered) = (*district_info, Columns::of_value(rest).u40().unwrap_or_default());
        Some(OrderLine { id, item, supply_warehouse, delivered, quantity, amount, district_info })
    }

    fn index_key(row: &OrderLine, _index: usize, key: &mut Vec<u8>) {
        let DistrictId { home: WarehouseId { set, warehouse }, district } = row.id.order.district;
        begin(key, number(set, Index::OrderLineItem));
        push_u8(key, NOT_NULL);
        push_u16(key, row.supply_warehouse);
        push_u8(key, NOT_NULL);
        push_u32(key, row.item);
        push_u16(key, warehouse);
        push_u8(key, district);
        push_u32(key, row.id.order.order);
        push_u8(key, row.id.number);
    }
}

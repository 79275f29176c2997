//! New order: 5 to 15 items from the stock of the home warehouse. The script means to take 1% of them from elsewhere,
//! but the loop that looks for another warehouse ends at the home warehouse only.

use super::{Outcome, Request};
use crate::error::Result;
use crate::workload::random::Random;
use crate::workload::tpcc::Shared;
use crate::workload::tpcc::draws::{Cardinalities, between};
use crate::workload::tpcc::schema::warehouses::item_key;
use crate::workload::tpcc::schema::{
    CustomerId, Customers, DistrictId, Districts, ItemId, Items, Keyed, LineId, NewOrders, Order, OrderId, OrderLine,
    OrderLines, Orders, Stock, StockId, Stocks, Warehouses,
};
use crate::workload::tpcc::session::{Session, inconsistent};
use std::collections::BTreeMap;

/// Bytes of a district, an order with its entry and its `new_orders` row, and of a line with its entry and its stock.
const ORDER_BYTES: u64 = 98 + 22 + 16 + 11;
const LINE_BYTES: u64 = 47 + 20 + 298;

/// No item has this number.
const UNKNOWN_ITEM: u32 = 0;

struct Line {
    item: u32,
    quantity: u8,
}

/// Its inputs.
pub struct NewOrder {
    district: DistrictId,
    customer: u32,
    lines: Vec<Line>,
    all_local: u8,
}

impl NewOrder {
    /// Draws them.
    pub fn draw(random: &mut Random, cardinalities: &Cardinalities) -> Self {
        let (district, customer) = (cardinalities.draw_district(random), cardinalities.draw_customer(random));
        let count = between(random, 5, 15) as usize;
        let fails = random.chance(0.01);
        let mut all_local = 1;
        let lines = (1..=count).map(|number| {
            let mut item = cardinalities.draw_item(random);
            if fails && number == count - 1 {
                item = UNKNOWN_ITEM;
            }
            if random.chance(0.01) {
                all_local = 0;
            }
            Line { item, quantity: between(random, 1, 10) as u8 }
        });
        let lines = lines.collect();
        Self { district, customer, lines, all_local }
    }

    fn stock_id(&self, line: &Line) -> StockId {
        StockId { home: self.district.home, item: line.item }
    }

    /// Takes the items of a line from the stock, and returns the stock row. A row that an earlier line of the order
    /// changed is `taken` already.
    fn take(&self, session: &mut Session, line: &Line, taken: &mut BTreeMap<u32, Stock>) -> Result<Stock> {
        let id = self.stock_id(line);
        let mut entry = Vec::new();
        item_key(id, &mut entry);
        session.consider(&entry)?;
        let sell = |stock: &mut Stock| stock.quantity = quantity_after(stock.quantity, line.quantity.into());
        let stock = if let Some(old) = taken.remove(&line.item) {
            let mut new = old.clone();
            sell(&mut new);
            session.update_again::<Stocks>(&old, &new);
            new
        } else {
            let mut stock = session.select::<Stocks>(id)?;
            session.update::<Stocks>(id, sell)?;
            sell(&mut stock);
            stock
        };
        taken.insert(line.item, stock.clone());
        Ok(stock)
    }
}

/// Stock is filled up when it runs out.
fn quantity_after(stock: u16, ordered: u16) -> u16 {
    if stock > ordered { stock - ordered } else { stock + 91 - ordered }
}

impl Request for NewOrder {
    fn write_bytes(&self) -> u64 {
        ORDER_BYTES + LINE_BYTES * self.lines.len() as u64
    }

    fn locks(&self) -> Vec<Vec<u8>> {
        let stocks = self.lines.iter().map(|line| Stocks::key(self.stock_id(line)));
        stocks.chain([Districts::key(self.district)]).collect()
    }

    fn run(&self, shared: &Shared, session: &mut Session) -> Result<Outcome> {
        let Self { district, customer, .. } = *self;
        let discount = session.select::<Customers>(CustomerId { district, customer })?.discount;
        let warehouse_tax = session.select::<Warehouses>(district.home)?.tax;
        let at = session.select::<Districts>(district)?;
        session.update::<Districts>(district, |row| row.next_order += 1)?;

        let (id, lines) = (OrderId { district, order: at.next_order }, self.lines.len() as u8);
        let entered = session.now;
        session.insert::<Orders>(&Order { id, customer, entered, carrier: 0, lines, all_local: self.all_local })?;
        session.insert::<NewOrders>(&id)?;

        let taxed = 1.0 + f64::from(warehouse_tax + at.tax) / 100.0;
        let factor = taxed * (1.0 - f64::from(discount) / 100.0);
        let mut taken = BTreeMap::new();
        for (number, line) in (1..).zip(&self.lines) {
            let described = ItemId { set: district.home.set, item: shared.cardinalities.item_row(line.item) };
            let Some(item) = session.find::<Items>(described)? else {
                return Ok(Outcome::RollBack);
            };
            let stock = self.take(session, line, &mut taken)?;
            // The script inserts whole units of money.
            let units = f64::from(line.quantity) * f64::from(item.price) / 100.0 * factor;
            let district_info = stock.district_info(district.district);
            session.insert::<OrderLines>(&OrderLine {
                id: LineId { order: id, number },
                item: line.item,
                supply_warehouse: district.home.warehouse,
                delivered: 0,
                quantity: line.quantity,
                amount: units as u32 * 100,
                district_info: district_info.ok_or_else(|| inconsistent::<Stocks>("a text is too short"))?,
            })?;
        }
        Ok(Outcome::Commit)
    }
}

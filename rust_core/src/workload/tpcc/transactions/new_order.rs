//! New order: 5 to 15 items from the stock of the home warehouse. The script means to take 1% of them from elsewhere,
//! but the loop that looks for another warehouse ends at the home warehouse only.

use super::{Outcome, Request, at, within};
use crate::error::Result;
use crate::random::Random;
use crate::workload::tpcc::Shared;
use crate::workload::tpcc::draws::{Cardinalities, between};
use crate::workload::tpcc::schema::warehouses::item_key;
use crate::workload::tpcc::schema::{
    CustomerId, Customers, DISTRICT_INFO_BYTES, DistrictId, Districts, ItemId, Items, Keyed, LineId, NewOrders, Order,
    OrderId, OrderLine, OrderLines, Orders, Stock, StockId, Stocks, Warehouses,
};
use crate::workload::tpcc::session::{Session, inconsistent};
use crate::workload::tpcc::statements::{Connection, hundredths, integer, text};
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

    fn order(&self, id: OrderId, now: u64) -> Order {
        let (lines, all_local) = (self.lines.len() as u8, self.all_local);
        Order { id, customer: self.customer, entered: now, carrier: 0, lines, all_local }
    }

    /// A line of the order, of an item with this price in cents.
    fn order_line(
        &self,
        id: LineId,
        line: &Line,
        price: u32,
        factor: f64,
        district_info: Option<[u8; DISTRICT_INFO_BYTES]>,
    ) -> Result<OrderLine> {
        // The script inserts whole units of money.
        let units = f64::from(line.quantity) * f64::from(price) / 100.0 * factor;
        Ok(OrderLine {
            id,
            item: line.item,
            supply_warehouse: self.district.home.warehouse,
            delivered: 0,
            quantity: line.quantity,
            amount: units as u32 * 100,
            district_info: district_info.ok_or_else(|| inconsistent::<Stocks>("a text is too short"))?,
        })
    }

    /// Takes the items of a line from the stock on a server, and returns what the order line copies.
    fn take_there(&self, server: &mut Connection, line: &Line) -> Result<Option<[u8; DISTRICT_INFO_BYTES]>> {
        let key = [line.item.into(), self.district.home.warehouse.into()];
        let select = format!(
            "SELECT s_quantity, s_data, s_dist_{:02} s_dist FROM stock# WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE",
            self.district.district
        );
        let stock = server.row("select_stock", &select, &key)?;
        let quantity = quantity_after(integer(&stock[0])? as u16, line.quantity.into());
        let [item, warehouse] = key;
        let update = "UPDATE stock# SET s_quantity = ? WHERE s_i_id = ? AND s_w_id = ?";
        server.execute("update_stock", update, &[quantity.into(), item, warehouse])?;
        Ok(text(&stock[2])?.first_chunk().copied())
    }
}

/// What taxes and discount, in percent, make of a price.
fn price_factor(warehouse_tax: u16, district_tax: u16, discount: u16) -> f64 {
    let taxed = 1.0 + f64::from(warehouse_tax + district_tax) / 100.0;
    taxed * (1.0 - f64::from(discount) / 100.0)
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

        let id = OrderId { district, order: at.next_order };
        session.insert::<Orders>(&self.order(id, session.now))?;
        session.insert::<NewOrders>(&id)?;

        let factor = price_factor(warehouse_tax, at.tax, discount);
        let mut taken = BTreeMap::new();
        for (number, line) in (1..).zip(&self.lines) {
            let described = ItemId { set: district.home.set, item: shared.cardinalities.item_row(line.item) };
            let Some(item) = session.find::<Items>(described)? else {
                return Ok(Outcome::RollBack);
            };
            let stock = self.take(session, line, &mut taken)?;
            let info = stock.district_info(district.district);
            let id = LineId { order: id, number };
            session.insert::<OrderLines>(&self.order_line(id, line, item.price, factor, info)?)?;
        }
        Ok(Outcome::Commit)
    }

    fn set(&self) -> u32 {
        self.district.home.set
    }

    fn speak(&self, shared: &Shared, server: &mut Connection) -> Result<Outcome> {
        let Self { district, customer, .. } = *self;
        let select = "SELECT c_discount, c_last, c_credit, w_tax FROM customer#, warehouse# WHERE w_id = ? \
                      AND c_w_id = w_id AND c_d_id = ? AND c_id = ?";
        let buyer = server.row("select_customer", select, &within(district, customer))?;
        let select = "SELECT d_next_o_id, d_tax FROM district# WHERE d_w_id = ? AND d_id = ? FOR UPDATE";
        let row = server.row("select_district", select, &at(district))?;
        let next_order = integer(&row[0])? as u32;
        let [warehouse, number] = at(district);
        let update = "UPDATE district# SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?";
        server.execute("update_district", update, &[(next_order + 1).into(), warehouse, number])?;

        let id = OrderId { district, order: next_order };
        server.insert::<Orders>("insert_order", &self.order(id, server.now))?;
        server.insert::<NewOrders>("insert_open_order", &id)?;

        let percent = |column| hundredths(column).map(|percent| percent as u16);
        let factor = price_factor(percent(&buyer[3])?, percent(&row[1])?, percent(&buyer[0])?);
        for (number, line) in (1..).zip(&self.lines) {
            let described = shared.cardinalities.item_row(line.item);
            let select = "SELECT i_price, i_name, i_data FROM item# WHERE i_id = ?";
            let items = server.rows("select_item", select, &[described.into()])?;
            let Some(item) = items.first() else {
                return Ok(Outcome::RollBack);
            };
            let (price, info) = (hundredths(&item[0])? as u32, self.take_there(server, line)?);
            let id = LineId { order: id, number };
            server.insert::<OrderLines>("insert_line", &self.order_line(id, line, price, factor, info)?)?;
        }
        Ok(Outcome::Commit)
    }
}

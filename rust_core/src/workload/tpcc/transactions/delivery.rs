//! Delivery: the oldest open order of each district of a warehouse.

use super::{Outcome, Request, at, within};
use crate::error::Result;
use crate::random::Random;
use crate::session::Value;
use crate::table::{Schema, row_bytes};
use crate::workload::tpcc::Shared;
use crate::workload::tpcc::draws::{Cardinalities, between};
use crate::workload::tpcc::schema::{
    CustomerId, Customers, DistrictId, Index, NewOrders, OrderId, OrderLine, OrderLines, Orders, WarehouseId,
};
use crate::workload::tpcc::session::{Entry, Session, inconsistent};
use crate::workload::tpcc::statements::{Connection, hundredths, integer};

/// Bytes of the deleted `new_orders` row, an order, ten lines and a customer, for each of ten districts.
const DELIVERY_BYTES: u64 = 10 * (11 + 23 + 10 * 52 + 558);

/// Bytes by which an order and a line grow when what was NULL has a value.
const CARRIER_BYTES: i64 = 1;
const DATE_BYTES: i64 = 5;

/// Its inputs.
pub struct Delivery {
    home: WarehouseId,
    carrier: u8,
}

impl Delivery {
    /// Draws them.
    pub fn draw(random: &mut Random, cardinalities: &Cardinalities) -> Self {
        Self { home: cardinalities.draw_warehouse(random), carrier: between(random, 1, 10) as u8 }
    }

    /// Delivers the oldest open order of a district, if there is one.
    fn deliver(&self, session: &mut Session, district: DistrictId) -> Result<()> {
        let prefix = district.prefix(Index::NewOrder);
        let oldest = session.scan(&prefix, |key| key.starts_with(&prefix), 1)?;
        let Some((key, value)) = oldest.first() else { return Ok(()) };
        let id = NewOrders::decode(key, value).ok_or_else(|| inconsistent::<NewOrders>("a row does not decode"))?;
        session.delete::<NewOrders>(id)?;

        let customer = session.select::<Orders>(id)?.customer;
        session.consider(&district.prefix(Index::OrderCustomer))?;
        session.update::<Orders>(id, |row| row.carrier = self.carrier)?;
        let now = session.now;
        for entry in session.scan_prefix(&id.lines_prefix())? {
            session.update::<OrderLines>(decode_line(&entry)?.id, |row| row.delivered = now)?;
        }
        let mut total = 0;
        for entry in session.scan_prefix(&id.lines_prefix())? {
            total += i64::from(decode_line(&entry)?.amount);
        }
        session.consider(&district.prefix(Index::CustomerName))?;
        session.update::<Customers>(CustomerId { district, customer }, |row| {
            row.balance += total;
            row.deliveries = row.deliveries.wrapping_add(1);
        })
    }

    /// [`Self::deliver`] on a server.
    fn deliver_there(&self, server: &mut Connection, district: DistrictId) -> Result<()> {
        let text = "SELECT no_o_id FROM new_orders# WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id ASC LIMIT 1 \
                    FOR UPDATE";
        let oldest = server.rows("select_open_order", text, &at(district))?;
        let Some(oldest) = oldest.first() else { return Ok(()) };
        let order = integer(&oldest[0])? as u32;
        let id = within(district, order);
        let text = "DELETE FROM new_orders# WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?";
        server.execute("delete_open_order", text, &id)?;
        server.grew(-(row_bytes::<NewOrders>(&OrderId { district, order }) as i64));

        let text = "SELECT o_c_id FROM orders# WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?";
        let customer = integer(&server.row("select_order", text, &id)?[0])? as u32;
        let with = |first: Value, id: [Value; 3]| [&[first][..], &id].concat();
        let text = "UPDATE orders# SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?";
        server.execute("update_order", text, &with(self.carrier.into(), id.clone()))?;
        let text = "UPDATE order_line# SET ol_delivery_d = ? WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
        let now = Value::date_time(server.now);
        let lines = server.execute("update_lines", text, &with(now, id.clone()))?;
        server.grew(CARRIER_BYTES + DATE_BYTES * lines as i64);
        let text = "SELECT SUM(ol_amount) sm FROM order_line# WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
        let total = hundredths(&server.row("sum_lines", text, &id)?[0])?;
        let text = "UPDATE customer# SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
                    WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
        server.execute("update_customer", text, &with(Value::decimal(total), within(district, customer)))?;
        Ok(())
    }
}

fn decode_line((key, value): &Entry) -> Result<OrderLine> {
    OrderLines::decode(key, value).ok_or_else(|| inconsistent::<OrderLines>("a row does not decode"))
}

impl Request for Delivery {
    fn write_bytes(&self) -> u64 {
        DELIVERY_BYTES
    }

    /// The open orders of each district are one lock, and so are its customers (as for payments).
    fn locks(&self) -> Vec<Vec<u8>> {
        let of_district = |id: DistrictId| [Index::NewOrder, Index::Customer].map(|index| id.prefix(index));
        self.home.districts().flat_map(of_district).collect()
    }

    fn run(&self, _shared: &Shared, session: &mut Session) -> Result<Outcome> {
        self.home.districts().try_for_each(|district| self.deliver(session, district))?;
        Ok(Outcome::Commit)
    }

    fn set(&self) -> u32 {
        self.home.set
    }

    fn speak(&self, _shared: &Shared, server: &mut Connection) -> Result<Outcome> {
        self.home.districts().try_for_each(|district| self.deliver_there(server, district))?;
        Ok(Outcome::Commit)
    }
}

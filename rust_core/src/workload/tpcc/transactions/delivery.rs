//! Delivery: the oldest open order of each district of a warehouse.

use super::{Outcome, Request};
use crate::error::Result;
use crate::table::Schema;
use crate::workload::random::Random;
use crate::workload::tpcc::Shared;
use crate::workload::tpcc::draws::{Cardinalities, between};
use crate::workload::tpcc::schema::{
    CustomerId, Customers, DistrictId, Index, NewOrders, OrderLine, OrderLines, Orders, WarehouseId,
};
use crate::workload::tpcc::session::{Entry, Session, inconsistent};

/// Bytes of the deleted `new_orders` row, an order, ten lines and a customer, for each of ten districts.
const DELIVERY_BYTES: u64 = 10 * (11 + 23 + 10 * 52 + 558);

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
}

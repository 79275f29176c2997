//! Order status: a customer, the customer's orders, and order lines.

use super::{Choice, Outcome, Request, ask_by_name, find_by_name, within};
use crate::error::Result;
use crate::random::Random;
use crate::workload::tpcc::Shared;
use crate::workload::tpcc::draws::Cardinalities;
use crate::workload::tpcc::schema::orders::{customer_prefix, decode_customer_entry};
use crate::workload::tpcc::schema::{CustomerId, Customers, DistrictId, Index, OrderId, Orders};
use crate::workload::tpcc::session::{Session, inconsistent};
use crate::workload::tpcc::statements::Connection;

/// Its inputs.
pub struct OrderStatus {
    district: DistrictId,
    customer: Choice,
}

impl OrderStatus {
    /// Draws them.
    pub fn draw(random: &mut Random, cardinalities: &Cardinalities) -> Self {
        Self { district: cardinalities.draw_district(random), customer: Choice::draw(random, cardinalities) }
    }
}

impl Request for OrderStatus {
    fn write_bytes(&self) -> u64 {
        0
    }

    fn locks(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn run(&self, _shared: &Shared, session: &mut Session) -> Result<Outcome> {
        let district = self.district;
        let customer = match &self.customer {
            &Choice::Number(customer) => {
                let id = CustomerId { district, customer };
                session.select::<Customers>(id)?;
                id
            }
            Choice::Name(last) => {
                let (customers, middle) = find_by_name(session, district, last)?;
                customers.into_iter().try_for_each(|id| session.select::<Customers>(id).map(drop))?;
                middle
            }
        };
        // The script has no LIMIT: it reads all orders of the customer and uses the latest.
        session.consider(&district.prefix(Index::Order))?;
        for (key, _) in session.scan_prefix_back(&customer_prefix(customer))? {
            let id = decode_customer_entry(&key);
            session.select::<Orders>(id.ok_or_else(|| inconsistent::<Orders>("a customer entry does not decode"))?)?;
        }
        // It passes one argument too many, so the number of the district stands where that of the order belongs.
        let order = OrderId { district, order: district.district.into() };
        session.scan_prefix(&order.lines_prefix())?;
        Ok(Outcome::Commit)
    }

    fn set(&self) -> u32 {
        self.district.home.set
    }

    fn speak(&self, _shared: &Shared, server: &mut Connection) -> Result<Outcome> {
        let district = self.district;
        let customer = match &self.customer {
            &Choice::Number(customer) => {
                let text = "SELECT c_balance, c_first, c_middle, c_last FROM customer# WHERE c_w_id = ? AND c_d_id = ? \
                            AND c_id = ?";
                server.read("select_customer", text, &within(district, customer))?;
                customer
            }
            Choice::Name(last) => ask_by_name(server, district, last, "c_balance, c_first, c_middle, c_id")?,
        };
        let text = "SELECT o_id, o_carrier_id, o_entry_d FROM orders# WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? \
                    ORDER BY o_id DESC";
        server.read("select_orders", text, &within(district, customer))?;
        let text = "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line# \
                    WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
        server.read("select_lines", text, &within(district, district.district.into()))?;
        Ok(Outcome::Commit)
    }
}

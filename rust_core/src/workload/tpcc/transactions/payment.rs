//! Payment: adds to the year of a warehouse and a district, takes from a customer's balance, and leaves a history row.

use super::{Choice, Outcome, Request, find_by_name};
use crate::error::Result;
use crate::workload::random::Random;
use crate::workload::tpcc::Shared;
use crate::workload::tpcc::draws::{Cardinalities, between, draw_district};
use crate::workload::tpcc::schema::{
    CustomerId, Customers, DistrictId, Districts, Histories, History, Index, Keyed, Warehouses,
};
use crate::workload::tpcc::session::Session;

/// Bytes of a warehouse, a district, a customer, and a history row with its entries.
const PAYMENT_BYTES: u64 = 90 + 98 + 558 + 53 + 20 + 15;
/// Longest text of a customer.
const MOST_DATA_BYTES: usize = 500;
/// Bytes of h_data.
const HISTORY_DATA_BYTES: usize = 24;
/// Percent of payments in the customer's own district. The others come from another district of the same warehouse: the
/// loop that looks for another warehouse ends at the home warehouse only.
const OWN_DISTRICT_PERCENT: f64 = 85.0;

/// Its inputs.
pub struct Payment {
    district: DistrictId,
    /// Where the customer lives.
    customer_district: DistrictId,
    customer: Choice,
    /// Whole units of money.
    amount: u32,
}

impl Payment {
    /// Draws them.
    pub fn draw(random: &mut Random, cardinalities: &Cardinalities) -> Self {
        let district = cardinalities.draw_district(random);
        let amount = between(random, 1, 5000) as u32;
        let customer = Choice::draw(random, cardinalities);
        let own = random.chance(OWN_DISTRICT_PERCENT / 100.0);
        let number = if own { district.district } else { draw_district(random) };
        let customer_district = DistrictId { district: number, ..district };
        Self { district, customer_district, customer, amount }
    }

    /// What a customer with bad credit is reminded of.
    fn reminder(&self, id: CustomerId, now: u64, data: &[u8]) -> Vec<u8> {
        let (at, number) = (self.district, id.customer);
        let (home, lives) = (at.home.warehouse, id.district);
        let mut text = format!(
            "| {number:4} {:2} {:4} {:2} {home:4} ${:7.2} {now:12} ",
            lives.district,
            lives.home.warehouse,
            at.district,
            f64::from(self.amount)
        )
        .into_bytes();
        text.extend_from_slice(data);
        text.truncate(MOST_DATA_BYTES);
        text
    }
}

impl Request for Payment {
    fn write_bytes(&self) -> u64 {
        PAYMENT_BYTES
    }

    /// A customer that is known by name cannot be locked up front, so all customers of a district are one lock.
    /// Payments of a warehouse wait for each other at the warehouse row anyway.
    fn locks(&self) -> Vec<Vec<u8>> {
        let customers = self.customer_district.prefix(Index::Customer);
        vec![Warehouses::key(self.district.home), Districts::key(self.district), customers]
    }

    fn run(&self, shared: &Shared, session: &mut Session) -> Result<Outcome> {
        let (district, cents) = (self.district, self.amount * 100);
        session.update::<Warehouses>(district.home, |row| row.ytd += u64::from(cents))?;
        let warehouse_name = session.select::<Warehouses>(district.home)?.name;
        session.update::<Districts>(district, |row| row.ytd += u64::from(cents))?;
        let district_name = session.select::<Districts>(district)?.name;

        let id = match &self.customer {
            &Choice::Number(customer) => CustomerId { district: self.customer_district, customer },
            Choice::Name(last) => find_by_name(session, self.customer_district, last)?.1,
        };
        let customer = session.select::<Customers>(id)?;
        let mut reminder = None;
        if &customer.credit == b"BC" {
            let data = session.select::<Customers>(id)?.data;
            reminder = Some(self.reminder(id, session.now, &data));
        }
        session.consider(&id.district.prefix(Index::CustomerName))?;
        session.update::<Customers>(id, |row| {
            row.balance -= i64::from(cents);
            row.ytd_payment += u64::from(cents);
            if let Some(data) = reminder {
                row.data = data;
            }
        })?;

        let mut data = [&warehouse_name[..], b" ", &district_name].concat();
        data.resize(HISTORY_DATA_BYTES, b' ');
        let history = shared.next_history(district.home.set);
        session.append::<Histories>(&History {
            id: history,
            customer: id,
            district,
            date: session.now,
            amount: cents,
            data,
        });
        Ok(Outcome::Commit)
    }
}

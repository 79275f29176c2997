//! Payment: adds to the year of a warehouse and a district, takes from a customer's balance, and leaves a history row.

use super::{Choice, Outcome, Request, ask_by_name, at, find_by_name, within};
use crate::error::Result;
use crate::random::Random;
use crate::session::Value;
use crate::workload::tpcc::Shared;
use crate::workload::tpcc::draws::{Cardinalities, between, draw_district};
use crate::workload::tpcc::schema::{
    CustomerId, Customers, DistrictId, Districts, Histories, History, HistoryId, Index, Keyed, Warehouses,
};
use crate::workload::tpcc::session::Session;
use crate::workload::tpcc::statements::{Connection, hundredths, text};

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

    fn history(&self, id: HistoryId, customer: CustomerId, now: u64, names: [&[u8]; 2]) -> History {
        let mut data = names.join(&b' ');
        data.resize(HISTORY_DATA_BYTES, b' ');
        History { id, customer, district: self.district, date: now, amount: self.amount * 100, data }
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

        let history = shared.next_history(district.home.set);
        session.append::<Histories>(&self.history(history, id, session.now, [&warehouse_name, &district_name]));
        Ok(Outcome::Commit)
    }

    fn set(&self) -> u32 {
        self.district.home.set
    }

    /// The customer's amounts are reckoned here, under the lock of the row, as the script does.
    fn speak(&self, _shared: &Shared, server: &mut Connection) -> Result<Outcome> {
        let (home, cents) = (self.district.home, i64::from(self.amount) * 100);
        let (amount, warehouse) = (Value::from(self.amount), Value::from(home.warehouse));
        let update = "UPDATE warehouse# SET w_ytd = w_ytd + ? WHERE w_id = ?";
        server.execute("update_warehouse", update, &[amount.clone(), warehouse.clone()])?;
        let select = "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM warehouse# WHERE w_id = ?";
        let in_warehouse = server.row("select_warehouse", select, &[warehouse])?;
        let [warehouse, district] = at(self.district);
        let update = "UPDATE district# SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?";
        server.execute("update_district", update, &[amount, warehouse, district])?;
        let select = "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district# WHERE d_w_id = ? \
                      AND d_id = ?";
        let in_district = server.row("select_district", select, &at(self.district))?;

        let district = self.customer_district;
        let customer = match &self.customer {
            &Choice::Number(customer) => customer,
            Choice::Name(last) => ask_by_name(server, district, last, "c_id")?,
        };
        let (id, key) = (CustomerId { district, customer }, within(district, customer));
        let select = "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, \
                      c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, c_since FROM customer# \
                      WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE";
        let row = server.row("select_customer", select, &key)?;
        let (balance, ytd_payment) = (hundredths(&row[12])? - cents, hundredths(&row[13])? + cents);
        let mut set = vec![Value::decimal(balance), Value::decimal(ytd_payment)];
        let mut update = "UPDATE customer# SET c_balance = ?, c_ytd_payment = ?".to_owned();
        if text(&row[9])? == b"BC" {
            let select = "SELECT c_data FROM customer# WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
            let row = server.row("select_data", select, &key)?;
            let old = text(&row[0])?;
            let new = self.reminder(id, server.now, old);
            server.grew(new.len() as i64 - old.len() as i64);
            set.push(new.into());
            update.push_str(", c_data = ?");
        }
        update.push_str(" WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?");
        server.execute("update_customer", &update, &[set, key.to_vec()].concat())?;

        // The hidden key of the history is the server's.
        let (hidden, names) = (HistoryId { set: home.set, id: 0 }, [text(&in_warehouse[5])?, text(&in_district[5])?]);
        server.insert::<Histories>("insert_history", &self.history(hidden, id, server.now, names))?;
        Ok(Outcome::Commit)
    }
}

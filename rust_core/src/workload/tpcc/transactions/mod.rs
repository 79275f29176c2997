//! The five transactions. Each draws its inputs first, names the rows that it locks, and then runs its statements.

pub mod delivery;
pub mod new_order;
pub mod order_status;
pub mod payment;
pub mod stock_level;

use super::Shared;
use super::draws::Cardinalities;
use super::schema::customers::{decode_name_entry, name_prefix};
use super::schema::{CustomerId, Customers, DistrictId, Index};
use super::session::{Session, inconsistent};
use super::statements::{Connection, integer};
use crate::error::Result;
use crate::random::Random;
use crate::session::Value;

pub use delivery::Delivery;
pub use new_order::NewOrder;
pub use order_status::OrderStatus;
pub use payment::Payment;
pub use stock_level::StockLevel;

/// How the statements of a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// To be committed.
    Commit,
    /// To be rolled back.
    RollBack,
}

/// A transaction with all its random choices.
pub trait Request: Send {
    /// About how many key and value bytes it writes.
    fn write_bytes(&self) -> u64;

    /// Keys of the rows that no other transaction may change meanwhile.
    fn locks(&self) -> Vec<Vec<u8>>;

    /// Runs the statements.
    fn run(&self, shared: &Shared, session: &mut Session) -> Result<Outcome>;

    /// The table set that it is about.
    fn set(&self) -> u32;

    /// Says the statements of the script to a server, where rows are locked as it does.
    fn speak(&self, shared: &Shared, server: &mut Connection) -> Result<Outcome>;
}

/// Percent of payments and order status requests that know their customer by last name only.
const BY_NAME_PERCENT: f64 = 60.0;

/// How a request knows its customer.
pub enum Choice {
    /// By number.
    Number(u32),
    /// By last name.
    Name(Vec<u8>),
}

impl Choice {
    /// A customer or a name.
    pub fn draw(random: &mut Random, cardinalities: &Cardinalities) -> Self {
        if random.chance(BY_NAME_PERCENT / 100.0) {
            Self::Name(cardinalities.draw_last_name(random))
        } else {
            Self::Number(cardinalities.draw_customer(random))
        }
    }
}

/// All customers of a district with a last name, by first name, and the one in the middle. The script counts them with
/// one scan and reads them with another.
fn find_by_name(session: &mut Session, district: DistrictId, last: &[u8]) -> Result<(Vec<CustomerId>, CustomerId)> {
    let prefix = name_prefix(district, last);
    let all = district.prefix(Index::Customer);
    session.consider(&all)?;
    let count = session.scan_prefix(&prefix)?.len();
    session.consider(&all)?;
    let entries = session.scan_prefix(&prefix)?;
    let customers: Option<Vec<_>> = entries.iter().map(|(key, _)| decode_name_entry(key)).collect();
    let customers = customers.ok_or_else(|| inconsistent::<Customers>("a name entry does not decode"))?;
    let middle = customers.get(count / 2).copied();
    let middle = middle.ok_or_else(|| inconsistent::<Customers>("nobody has a name that was loaded"))?;
    Ok((customers, middle))
}

/// The customer in the middle on a server. `columns` are what the script reads of all of them; the last is the number.
fn ask_by_name(server: &mut Connection, district: DistrictId, last: &[u8], columns: &str) -> Result<u32> {
    let named = "customer# WHERE c_w_id = ? AND c_d_id = ? AND c_last = ?";
    let values = [district.home.warehouse.into(), district.district.into(), last.into()];
    let count = server.row("count_by_name", &format!("SELECT COUNT(c_id) namecnt FROM {named}"), &values)?;
    let text = format!("SELECT {columns} FROM {named} ORDER BY c_first");
    let customers = server.rows("select_by_name", &text, &values)?;
    let middle = customers.get(integer(&count[0])? as usize / 2).and_then(|customer| customer.last());
    let middle = middle.ok_or_else(|| inconsistent::<Customers>("nobody has a name that was loaded"))?;
    Ok(integer(middle)? as u32)
}

/// The values of warehouse, district and a number within it.
fn within(district: DistrictId, number: u32) -> [Value; 3] {
    [district.home.warehouse.into(), district.district.into(), number.into()]
}

/// The values of warehouse and district.
fn at(district: DistrictId) -> [Value; 2] {
    [district.home.warehouse.into(), district.district.into()]
}

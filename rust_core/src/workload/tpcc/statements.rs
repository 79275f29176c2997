//! What a transaction of sysbench-tpcc needs of a server, and the nine tables there. The statements themselves are each
//! transaction's own.

use super::schema::customers::CUSTOMER_ADDRESS_WIDTHS;
use super::schema::warehouses::ADDRESS_WIDTHS;
use super::schema::{
    Customer, Customers, DISTRICT_INFO_BYTES, DISTRICTS, District, Districts, Histories, History, Index, Item, Items,
    Keyed, NewOrders, Order, OrderId, OrderLine, OrderLines, Orders, Stock, Stocks, Warehouse, Warehouses, set_of,
};
use crate::error::{Error, Result};
use crate::session::{Session, StoredRow, Tables, Value};
use crate::table::keys::Columns;
use crate::table::row_bytes;

/// Stands for the number of the table set in the text of a statement.
const SET: char = '#';

/// The tables of a set and the indexes that the script creates before it loads; the foreign keys that it can add are
/// left out.
const CREATE: [&str; 15] = [
    "CREATE TABLE warehouse# (w_id SMALLINT NOT NULL, w_name VARCHAR(10), w_street_1 VARCHAR(20), \
     w_street_2 VARCHAR(20), w_city VARCHAR(20), w_state CHAR(2), w_zip CHAR(9), w_tax DECIMAL(4,2), \
     w_ytd DECIMAL(12,2), PRIMARY KEY (w_id))",
    "CREATE TABLE district# (d_id TINYINT NOT NULL, d_w_id SMALLINT NOT NULL, d_name VARCHAR(10), \
     d_street_1 VARCHAR(20), d_street_2 VARCHAR(20), d_city VARCHAR(20), d_state CHAR(2), d_zip CHAR(9), \
     d_tax DECIMAL(4,2), d_ytd DECIMAL(12,2), d_next_o_id INT, PRIMARY KEY (d_w_id, d_id))",
    "CREATE TABLE customer# (c_id INT NOT NULL, c_d_id TINYINT NOT NULL, c_w_id SMALLINT NOT NULL, \
     c_first VARCHAR(16), c_middle CHAR(2), c_last VARCHAR(16), c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), \
     c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9), c_phone CHAR(16), c_since DATETIME, c_credit CHAR(2), \
     c_credit_lim BIGINT, c_discount DECIMAL(4,2), c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), \
     c_payment_cnt SMALLINT, c_delivery_cnt SMALLINT, c_data TEXT, PRIMARY KEY (c_w_id, c_d_id, c_id))",
    "CREATE TABLE history# (h_c_id INT, h_c_d_id TINYINT, h_c_w_id SMALLINT, h_d_id TINYINT, h_w_id SMALLINT, \
     h_date DATETIME, h_amount DECIMAL(6,2), h_data VARCHAR(24))",
    "CREATE TABLE orders# (o_id INT NOT NULL, o_d_id TINYINT NOT NULL, o_w_id SMALLINT NOT NULL, o_c_id INT, \
     o_entry_d DATETIME, o_carrier_id TINYINT, o_ol_cnt TINYINT, o_all_local TINYINT, \
     PRIMARY KEY (o_w_id, o_d_id, o_id))",
    "CREATE TABLE new_orders# (no_o_id INT NOT NULL, no_d_id TINYINT NOT NULL, no_w_id SMALLINT NOT NULL, \
     PRIMARY KEY (no_w_id, no_d_id, no_o_id))",
    "CREATE TABLE order_line# (ol_o_id INT NOT NULL, ol_d_id TINYINT NOT NULL, ol_w_id SMALLINT NOT NULL, \
     ol_number TINYINT NOT NULL, ol_i_id INT, ol_supply_w_id SMALLINT, ol_delivery_d DATETIME, ol_quantity TINYINT, \
     ol_amount DECIMAL(6,2), ol_dist_info CHAR(24), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))",
    "CREATE TABLE stock# (s_i_id INT NOT NULL, s_w_id SMALLINT NOT NULL, s_quantity SMALLINT, s_dist_01 CHAR(24), \
     s_dist_02 CHAR(24), s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), \
     s_dist_07 CHAR(24), s_dist_08 CHAR(24), s_dist_09 CHAR(24), s_dist_10 CHAR(24), s_ytd DECIMAL(8,0), \
     s_order_cnt SMALLINT, s_remote_cnt SMALLINT, s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id))",
    "CREATE TABLE item# (i_id INT NOT NULL, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), \
     i_data VARCHAR(50), PRIMARY KEY (i_id))",
    "CREATE INDEX idx_customer# ON customer# (c_w_id, c_d_id, c_last, c_first)",
    "CREATE INDEX idx_orders# ON orders# (o_w_id, o_d_id, o_c_id, o_id)",
    "CREATE INDEX fkey_stock_2# ON stock# (s_i_id)",
    "CREATE INDEX fkey_order_line_2# ON order_line# (ol_supply_w_id, ol_i_id)",
    "CREATE INDEX fkey_history_1# ON history# (h_c_w_id, h_c_d_id, h_c_id)",
    "CREATE INDEX fkey_history_2# ON history# (h_w_id, h_d_id)",
];

/// The tables of all sets.
pub(super) fn tables(sets: u32) -> Tables {
    let create = (0..sets).flat_map(|set| CREATE.map(|text| in_set(text, set)));
    Tables { create: create.collect(), finish: Vec::new(), row_of, knows_growth: true }
}

/// Sets are counted from 1 in the names of tables.
fn in_set(text: &str, set: u32) -> String {
    text.replace(SET, &(set + 1).to_string())
}

/// A table's rows on a server.
pub trait Stored: Keyed {
    /// The columns of a row.
    fn columns(row: &Self::Row) -> Vec<Value>;
}

type RowOf = fn(u32, &[u8], &[u8]) -> Option<StoredRow>;

const ROWS: [(Index, RowOf); 9] = [
    (Index::Warehouse, stored::<Warehouses>),
    (Index::District, stored::<Districts>),
    (Index::Customer, stored::<Customers>),
    (Index::History, stored::<Histories>),
    (Index::Order, stored::<Orders>),
    (Index::NewOrder, stored::<NewOrders>),
    (Index::OrderLine, stored::<OrderLines>),
    (Index::Stock, stored::<Stocks>),
    (Index::Item, stored::<Items>),
];

fn stored<S: Stored>(set: u32, key: &[u8], value: &[u8]) -> Option<StoredRow> {
    let columns = S::columns(&S::decode(key, value)?);
    Some(StoredRow { table: format!("{}{}", S::NAME, set + 1), columns })
}

/// The row of an entry; those of secondary indexes are none.
pub(super) fn row_of(key: &[u8], value: &[u8]) -> Option<StoredRow> {
    let (set, index) = set_of(Columns::of_value(key).u32()?)?;
    let (_, row_of) = ROWS.iter().find(|(primary, _)| *primary as u32 == index)?;
    row_of(set, key, value)
}

/// Texts of these widths that stand one behind the other.
fn cut<'a>(mut text: &'a [u8], widths: &'a [usize]) -> impl Iterator<Item = Value> + 'a {
    widths.iter().map(move |&width| {
        let (column, rest) = text.split_at(width.min(text.len()));
        text = rest;
        column.into()
    })
}

fn date(unix_s: u64) -> Value {
    Value::date_time(unix_s)
}

/// What is NULL before delivery.
fn unless_zero(column: impl Into<Value>) -> Value {
    let column = column.into();
    if column.integer() == Some(0) { Value::Null } else { column }
}

impl Stored for Warehouses {
    fn columns(row: &Warehouse) -> Vec<Value> {
        let names = [row.id.warehouse.into(), row.name[..].into()];
        let money = [Value::decimal(row.tax.into()), Value::decimal(row.ytd as i64)];
        names.into_iter().chain(cut(&row.address, &ADDRESS_WIDTHS)).chain(money).collect()
    }
}

impl Stored for Districts {
    fn columns(row: &District) -> Vec<Value> {
        let names = [row.id.district.into(), row.id.home.warehouse.into(), row.name[..].into()];
        let numbers = [Value::decimal(row.tax.into()), Value::decimal(row.ytd as i64), row.next_order.into()];
        names.into_iter().chain(cut(&row.address, &ADDRESS_WIDTHS)).chain(numbers).collect()
    }
}

impl Stored for Customers {
    fn columns(row: &Customer) -> Vec<Value> {
        let at = row.id.district;
        let ids = [row.id.customer.into(), at.district.into(), at.home.warehouse.into(), row.first[..].into()];
        let mut address = cut(&row.address, &CUSTOMER_ADDRESS_WIDTHS);
        let middle = address.next();
        let last = row.last[..].into();
        let rest = [
            date(row.since),
            row.credit[..].into(),
            (row.credit_limit / 100).into(),
            Value::decimal(row.discount.into()),
            Value::decimal(row.balance),
            Value::decimal(row.ytd_payment as i64),
            row.payments.into(),
            row.deliveries.into(),
            row.data[..].into(),
        ];
        ids.into_iter().chain(middle).chain([last]).chain(address).chain(rest).collect()
    }
}

impl Stored for Histories {
    fn columns(row: &History) -> Vec<Value> {
        let (from, at) = (row.customer.district, row.district);
        vec![
            row.customer.customer.into(),
            from.district.into(),
            from.home.warehouse.into(),
            at.district.into(),
            at.home.warehouse.into(),
            date(row.date),
            Value::decimal(row.amount.into()),
            row.data[..].into(),
        ]
    }
}

fn order_columns(id: OrderId) -> [Value; 3] {
    [id.order.into(), id.district.district.into(), id.district.home.warehouse.into()]
}

impl Stored for Orders {
    fn columns(row: &Order) -> Vec<Value> {
        let rest =
            [row.customer.into(), date(row.entered), unless_zero(row.carrier), row.lines.into(), row.all_local.into()];
        order_columns(row.id).into_iter().chain(rest).collect()
    }
}

impl Stored for NewOrders {
    fn columns(row: &OrderId) -> Vec<Value> {
        order_columns(*row).to_vec()
    }
}

impl Stored for OrderLines {
    fn columns(row: &OrderLine) -> Vec<Value> {
        let rest = [
            row.id.number.into(),
            row.item.into(),
            row.supply_warehouse.into(),
            if row.delivered == 0 { Value::Null } else { date(row.delivered) },
            row.quantity.into(),
            Value::decimal(row.amount.into()),
            row.district_info[..].into(),
        ];
        order_columns(row.id.order).into_iter().chain(rest).collect()
    }
}

impl Stored for Stocks {
    fn columns(row: &Stock) -> Vec<Value> {
        let ids = [row.id.item.into(), row.id.home.warehouse.into(), row.quantity.into()];
        let (info, data) = row.text.split_at(row.text.len().min(usize::from(DISTRICTS) * DISTRICT_INFO_BYTES));
        // Sold in the year, a DECIMAL without digits behind the point; orders; orders from elsewhere: all 0 for good.
        let counts = [b"0"[..].into(), 0_u8.into(), 0_u8.into()];
        let info = cut(info, &[DISTRICT_INFO_BYTES; DISTRICTS as usize]);
        ids.into_iter().chain(info).chain(counts).chain([data.into()]).collect()
    }
}

impl Stored for Items {
    fn columns(row: &Item) -> Vec<Value> {
        let price = Value::decimal(row.price.into());
        vec![row.id.item.into(), row.image.into(), row.name[..].into(), price, row.data[..].into()]
    }
}

/// An open transaction on a server, on the tables of one set.
pub struct Connection<'a> {
    session: &'a mut dyn Session,
    set: u32,
    grown: i64,
    /// Logical time, in seconds of Unix time.
    pub now: u64,
}

impl<'a> Connection<'a> {
    /// Begins.
    pub fn begin(session: &'a mut dyn Session, set: u32, now: u64) -> Result<Self> {
        session.begin()?;
        Ok(Self { session, set, grown: 0, now })
    }

    /// Commits, and returns by how many bytes the live data grew.
    pub fn commit(self) -> Result<i64> {
        self.session.commit().map(|()| self.grown)
    }

    /// Gives all of it up.
    pub fn roll_back(self) -> Result<()> {
        self.session.rollback()
    }

    /// Notes that rows grew.
    pub fn grew(&mut self, bytes: i64) {
        self.grown += bytes;
    }

    /// Reads rows; a `#` in the text stands for the number of the table set.
    pub fn rows(&mut self, name: &'static str, text: &str, values: &[Value]) -> Result<Vec<Vec<Value>>> {
        self.session.query(name, &in_set(text, self.set), values)
    }

    /// Reads a row that must be there.
    pub fn row(&mut self, name: &'static str, text: &str, values: &[Value]) -> Result<Vec<Value>> {
        let row = self.rows(name, text, values)?.into_iter().next();
        row.ok_or_else(|| Error::corruption(name, 0, "a row is missing"))
    }

    /// Reads rows and does not look at them.
    pub fn read(&mut self, name: &'static str, text: &str, values: &[Value]) -> Result<()> {
        self.session.read(name, &in_set(text, self.set), values).map(drop)
    }

    /// Changes rows and returns how many.
    pub fn execute(&mut self, name: &'static str, text: &str, values: &[Value]) -> Result<u64> {
        self.session.execute(name, &in_set(text, self.set), values)
    }

    /// Adds a row. The script does not name columns that are to be NULL.
    pub fn insert<S: Stored>(&mut self, name: &'static str, row: &S::Row) -> Result<()> {
        let columns = S::columns(row);
        let text = format!("INSERT INTO {}{SET} VALUES ({})", S::NAME, vec!["?"; columns.len()].join(","));
        self.execute(name, &text, &columns)?;
        self.grew(row_bytes::<S>(row) as i64);
        Ok(())
    }
}

/// The integer of a column that must have one.
pub fn integer(column: &Value) -> Result<i64> {
    column.integer().ok_or_else(|| Error::corruption("a table", 0, "a column is no integer"))
}

/// The cents or percent of a column that must have them.
pub fn hundredths(column: &Value) -> Result<i64> {
    column.hundredths().ok_or_else(|| Error::corruption("a table", 0, "a column is no decimal number"))
}

/// The bytes of a column that must be a text.
pub fn text(column: &Value) -> Result<&[u8]> {
    match column {
        Value::Bytes(text) => Ok(text),
        _ => Err(Error::corruption("a table", 0, "a column is no text")),
    }
}

//! The table `purchases_index` in both versions of the script, with up to three of its secondary indexes.

use crate::random::Random;
use crate::session::Value;
use crate::table::Schema;
use crate::table::keys::{Columns, begin, push_u16, push_u32, push_u40, push_u64};
use std::marker::PhantomData;

/// Index number of the rows; the secondary indexes follow.
pub const PRIMARY: u32 = 1;
/// The most secondary indexes that a table may have.
pub const MOST_INDEXES: usize = 3;

/// Bytes that the column `data`, a `varchar(4000)`, holds at most.
pub const MOST_DATA_BYTES: u64 = 4000;
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const REGISTERS: u64 = 1000;
const PRODUCTS: u64 = 10_000;
const CUSTOMERS: u64 = 100_000;
const MAX_PRICE: u64 = 500;

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purchase {
    /// Auto-increment primary key.
    pub id: u64,
    /// Seconds of Unix time.
    pub time: u64,
    /// Cash register.
    pub register: u32,
    /// Customer.
    pub customer: u32,
    /// Product.
    pub product: u32,
    /// 2012: the bits of a positive float, which sort as it does. Now: a whole number.
    pub price: u32,
    /// Payload; the second half is random.
    pub data: Vec<u8>,
}

/// How a server declares the table.
pub struct Declared {
    /// Type of the primary key column.
    pub id: &'static str,
    /// Type of the price.
    pub price: &'static str,
    /// Columns of the secondary indexes.
    pub indexes: [&'static str; MOST_INDEXES],
}

/// What differs between the versions of the script.
pub trait Version: Send + Sync + 'static {
    /// Its table on a server.
    const DECLARED: Declared;
    /// Writes the primary key column.
    fn push_id(key: &mut Vec<u8>, id: u64);
    /// Reads it back.
    fn take_id(columns: &mut Columns) -> Option<u64>;
    /// Draws register, customer, product and price.
    fn draw(random: &mut Random) -> [u32; 4];
    /// Writes the columns of `marketsegment`.
    fn push_market(row: &Purchase, key: &mut Vec<u8>);
    /// Writes the columns of `registersegment`.
    fn push_register(row: &Purchase, key: &mut Vec<u8>);
    /// A price as a server takes it.
    fn price(price: u32) -> Value;
}

/// The script of 2012, which the posts of 2016 ran.
pub enum Of2012 {}

impl Version for Of2012 {
    const DECLARED: Declared = Declared {
        id: "INT",
        price: "FLOAT",
        indexes: ["price, customerid", "cashregisterid, price, customerid", "price, dateandtime, customerid"],
    };

    fn push_id(key: &mut Vec<u8>, id: u64) {
        push_u32(key, id as u32);
    }

    fn take_id(columns: &mut Columns) -> Option<u64> {
        columns.u32().map(u64::from)
    }

    fn draw(random: &mut Random) -> [u32; 4] {
        let register = 1 + random.below(REGISTERS) as u32;
        let product = 1 + random.below(PRODUCTS) as u32;
        let customer = 1 + random.below(CUSTOMERS) as u32;
        let cents = (random.unit() * MAX_PRICE as f64 + f64::from(customer)).round();
        [register, customer, product, ((cents / 100.0) as f32).to_bits()]
    }

    fn push_market(row: &Purchase, key: &mut Vec<u8>) {
        push_columns(key, [row.price, row.customer]);
    }

    fn push_register(row: &Purchase, key: &mut Vec<u8>) {
        push_columns(key, [row.register, row.price, row.customer]);
    }

    fn price(price: u32) -> Value {
        f32::from_bits(price).to_string().into_bytes().into()
    }
}

/// The script as it is now.
pub enum Current {}

impl Version for Current {
    const DECLARED: Declared = Declared {
        id: "BIGINT",
        price: "INT",
        indexes: [
            "productid, customerid, price",
            "cashregisterid, customerid, price",
            "price, dateandtime, customerid",
        ],
    };

    fn push_id(key: &mut Vec<u8>, id: u64) {
        push_u64(key, id);
    }

    fn take_id(columns: &mut Columns) -> Option<u64> {
        columns.u64()
    }

    fn draw(random: &mut Random) -> [u32; 4] {
        [REGISTERS, CUSTOMERS, PRODUCTS, MAX_PRICE].map(|values| random.below(values) as u32)
    }

    fn push_market(row: &Purchase, key: &mut Vec<u8>) {
        push_columns(key, [row.product, row.customer, row.price]);
    }

    fn push_register(row: &Purchase, key: &mut Vec<u8>) {
        push_columns(key, [row.register, row.customer, row.price]);
    }

    fn price(price: u32) -> Value {
        price.into()
    }
}

fn push_columns<const N: usize>(key: &mut Vec<u8>, columns: [u32; N]) {
    for column in columns {
        push_u32(key, column);
    }
}

/// A table of purchases, as clients see it.
pub trait Table: Schema<Row = Purchase> + Send + Sync + 'static {
    /// The table on a server.
    const DECLARED: Declared;
    /// A row with random columns and so many bytes of payload, still without id and time.
    fn draw(random: &mut Random, data_bytes: u64) -> Purchase;
    /// Writes the primary key of the row `id`.
    fn id_key(id: u64, key: &mut Vec<u8>);
    /// A price as a server takes it.
    fn price(price: u32) -> Value;
}

/// `purchases_index` with the first `INDEXES` of its secondary indexes: marketsegment, registersegment, pdc.
pub struct Purchases<V, const INDEXES: usize>(PhantomData<V>);

impl<V: Version, const INDEXES: usize> Table for Purchases<V, INDEXES> {
    const DECLARED: Declared = V::DECLARED;

    fn draw(random: &mut Random, data_bytes: u64) -> Purchase {
        let [register, customer, product, price] = V::draw(random);
        let mut data = vec![b'a'; data_bytes as usize];
        data[data_bytes as usize / 2..].fill_with(|| BASE64[random.below(64) as usize]);
        Purchase { id: 0, time: 0, register, customer, product, price, data }
    }

    fn id_key(id: u64, key: &mut Vec<u8>) {
        begin(key, PRIMARY);
        V::push_id(key, id);
    }

    fn price(price: u32) -> Value {
        V::price(price)
    }
}

impl<V: Version, const INDEXES: usize> Schema for Purchases<V, INDEXES> {
    type Row = Purchase;
    const SECONDARY_INDEXES: usize = INDEXES;

    fn primary_key(row: &Purchase, key: &mut Vec<u8>) {
        Self::id_key(row.id, key);
    }

    fn value(row: &Purchase, value: &mut Vec<u8>) {
        value.clear();
        push_u40(value, row.time);
        push_columns(value, [row.register, row.customer, row.product, row.price]);
        // The length of a varchar of more than 255 bytes takes 2.
        push_u16(value, row.data.len() as u16);
        value.extend_from_slice(&row.data);
    }

    fn decode(key: &[u8], value: &[u8]) -> Option<Purchase> {
        let id = V::take_id(&mut Columns::of_key(key)?)?;
        let mut columns = Columns::of_value(value);
        let (time, register, customer) = (columns.u40()?, columns.u32()?, columns.u32()?);
        let (product, price, data_bytes) = (columns.u32()?, columns.u32()?, columns.u16()?);
        let data = columns.rest().to_vec();
        let is_whole = data.len() == usize::from(data_bytes);
        is_whole.then_some(Purchase { id, time, register, customer, product, price, data })
    }

    fn index_key(row: &Purchase, index: usize, key: &mut Vec<u8>) {
        begin(key, PRIMARY + 1 + index as u32);
        match index {
            0 => V::push_market(row, key),
            1 => V::push_register(row, key),
            _ => {
                push_u32(key, row.price);
                push_u40(key, row.time);
                push_u32(key, row.customer);
            }
        }
        V::push_id(key, row.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row<T: Table>(data_bytes: u64) -> Purchase {
        Purchase { id: 7, time: 1_452_000_000, ..T::draw(&mut Random::from_seed(1), data_bytes) }
    }

    fn sizes<T: Table>(data_bytes: u64) -> [usize; 5] {
        let (row, mut key, mut value) = (row::<T>(data_bytes), Vec::new(), Vec::new());
        T::primary_key(&row, &mut key);
        T::value(&row, &mut value);
        assert_eq!(T::decode(&key, &value), Some(row.clone()));
        let entry = |index| {
            let mut key = Vec::new();
            T::index_key(&row, index, &mut key);
            key.len()
        };
        [key.len(), value.len(), entry(0), entry(1), entry(2)]
    }

    #[test]
    fn rows_and_entries_have_the_sizes_of_their_version() {
        assert_eq!(sizes::<Purchases<Of2012, 3>>(10), [8, 33, 16, 20, 21]);
        assert_eq!(sizes::<Purchases<Current, 3>>(10), [12, 33, 24, 24, 25]);
    }

    #[test]
    fn the_payload_alone_makes_a_row_wider() {
        for data_bytes in [0, 1, 187, MOST_DATA_BYTES] {
            assert_eq!(sizes::<Purchases<Current, 3>>(data_bytes), [12, 23 + data_bytes as usize, 24, 24, 25]);
        }
    }

    #[test]
    fn a_row_without_all_of_its_payload_is_no_row() {
        let (row, mut key, mut value) = (row::<Purchases<Current, 3>>(10), Vec::new(), Vec::new());
        Purchases::<Current, 3>::primary_key(&row, &mut key);
        Purchases::<Current, 3>::value(&row, &mut value);
        assert_eq!(Purchases::<Current, 3>::decode(&key, &value[..value.len() - 1]), None);
    }

    #[test]
    fn prices_of_2012_sort_as_the_floats_they_are() {
        let mut random = Random::from_seed(1);
        let mut rows: Vec<u32> = (0..1000).map(|_| Of2012::draw(&mut random)[3]).collect();
        rows.sort_unstable();
        let prices: Vec<f32> = rows.into_iter().map(f32::from_bits).collect();
        assert!(prices.is_sorted());
        // (0 to 500, + 1 to 100000) / 100.
        assert!(prices[0] > 0.0 && prices[0] < 10.0 && prices[999] > 990.0 && prices[999] <= 1005.0);
    }

    #[test]
    fn half_of_the_payload_is_random() {
        let mut random = Random::from_seed(1);
        let [first, second] = [0, 1].map(|_| Purchases::<Current, 3>::draw(&mut random, 10).data);
        assert_eq!(first[..5], second[..5]);
        assert_ne!(first[5..], second[5..]);
    }
}

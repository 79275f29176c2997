//! Customers and the history of their payments.

use super::{DistrictId, Index, Keyed, NOT_NULL, WarehouseId, number, open};
use crate::table::Schema;
use crate::table::keys::{Columns, begin, push_bytes, push_text, push_u8, push_u16, push_u32, push_u40, push_u64};

/// A customer of a district.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CustomerId {
    /// The district.
    pub district: DistrictId,
    /// From 1.
    pub customer: u32,
}

/// Widths of the texts of an address: middle name, streets, city, state, zip code and telephone.
pub const CUSTOMER_ADDRESS_WIDTHS: [usize; 7] = [2, 18, 18, 15, 2, 9, 16];

/// A row of `customer`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Customer {
    /// Primary key.
    pub id: CustomerId,
    /// First name.
    pub first: Vec<u8>,
    /// Last name.
    pub last: Vec<u8>,
    /// Middle name, streets, city, state, zip code and telephone.
    pub address: Vec<u8>,
    /// Seconds of Unix time.
    pub since: u64,
    /// `BC` or `GC`.
    pub credit: [u8; 2],
    /// Most credit.
    pub credit_limit: u64,
    /// Percent.
    pub discount: u16,
    /// Deliveries less payments.
    pub balance: i64,
    /// Payments of the year.
    pub ytd_payment: u64,
    /// Number of payments; sysbench-tpcc never changes it.
    pub payments: u16,
    /// Number of deliveries.
    pub deliveries: u16,
    /// 300 to 500 bytes.
    pub data: Vec<u8>,
}

/// `customer`.
pub struct Customers;

/// What the entries of `idx_customer` of all customers with this last name start with.
pub fn name_prefix(district: DistrictId, last: &[u8]) -> Vec<u8> {
    let mut key = district.prefix(Index::CustomerName);
    push_u8(&mut key, NOT_NULL);
    push_bytes(&mut key, last);
    key
}

/// The customer of an entry of `idx_customer`.
pub fn decode_name_entry(key: &[u8]) -> Option<CustomerId> {
    let (district, mut columns) = DistrictId::open(key)?;
    for _name in 0..2 {
        columns.u8()?;
        columns.bytes()?;
    }
    Some(CustomerId { district, customer: columns.u32()? })
}

impl Keyed for Customers {
    type Id = CustomerId;
    const NAME: &'static str = "customer";

    fn id_key(id: CustomerId, key: &mut Vec<u8>) {
        id.district.begin(Index::Customer, key);
        push_u32(key, id.customer);
    }
}

impl Schema for Customers {
    type Row = Customer;
    const SECONDARY_INDEXES: usize = 1;

    fn primary_key(row: &Customer, key: &mut Vec<u8>) {
        Self::id_key(row.id, key);
    }

    fn value(row: &Customer, value: &mut Vec<u8>) {
        value.clear();
        push_text(value, &row.first);
        push_text(value, &row.last);
        push_text(value, &row.address);
        push_u40(value, row.since);
        push_u16(value, u16::from_be_bytes(row.credit));
        push_u64(value, row.credit_limit);
        push_u16(value, row.discount);
        push_u64(value, row.balance as u64);
        push_u64(value, row.ytd_payment);
        push_u16(value, row.payments);
        push_u16(value, row.deliveries);
        value.extend_from_slice(&row.data);
    }

    fn decode(key: &[u8], value: &[u8]) -> Option<Customer> {
        let ((district, mut key), mut value) = (DistrictId::open(key)?, Columns::of_value(value));
        let id = CustomerId { district, customer: key.u32()? };
        let (first, last, address) = (value.text()?.to_vec(), value.text()?.to_vec(), value.text()?.to_vec());
        let (since, credit, credit_limit) = (value.u40()?, value.u16()?.to_be_bytes(), value.u64()?);
        let (discount, balance, ytd_payment) = (value.u16()?, value.u64()? as i64, value.u64()?);
        let (payments, deliveries, data) = (value.u16()?, value.u16()?, value.rest().to_vec());
        Some(Customer {
            id,
            first,
            last,
            address,
            since,
            credit,
            credit_limit,
            discount,
            balance,
            ytd_payment,
            payments,
            deliveries,
            data,
        })
    }

    fn index_key(row: &Customer, _index: usize, key: &mut Vec<u8>) {
        row.id.district.begin(Index::CustomerName, key);
        for name in [&row.last, &row.first] {
            push_u8(key, NOT_NULL);
            push_bytes(key, name);
        }
        push_u32(key, row.id.customer);
    }
}

/// A payment of a table set, by the hidden key of a table without a primary key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HistoryId {
    /// Table set.
    pub set: u32,
    /// 6 bytes.
    pub id: u64,
}

/// A row of `history`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// Hidden key.
    pub id: HistoryId,
    /// Who paid.
    pub customer: CustomerId,
    /// Where.
    pub district: DistrictId,
    /// Seconds of Unix time.
    pub date: u64,
    /// Cents.
    pub amount: u32,
    /// 12 to 24 bytes.
    pub data: Vec<u8>,
}

/// `history`.
pub struct Histories;

fn push_hidden(key: &mut Vec<u8>, id: u64) {
    push_u16(key, (id >> 32) as u16);
    push_u32(key, id as u32);
}

impl Keyed for Histories {
    type Id = HistoryId;
    const NAME: &'static str = "history";

    fn id_key(id: HistoryId, key: &mut Vec<u8>) {
        begin(key, number(id.set, Index::History));
        push_hidden(key, id.id);
    }
}

impl Schema for Histories {
    type Row = History;
    const SECONDARY_INDEXES: usize = 2;

    fn primary_key(row: &History, key: &mut Vec<u8>) {
        Self::id_key(row.id, key);
    }

    fn value(row: &History, value: &mut Vec<u8>) {
        value.clear();
        push_u32(value, row.customer.customer);
        for at in [row.customer.district, row.district] {
            push_u8(value, at.district);
            push_u16(value, at.home.warehouse);
        }
        push_u40(value, row.date);
        push_u32(value, row.amount);
        value.extend_from_slice(&row.data);
    }

    fn decode(key: &[u8], value: &[u8]) -> Option<History> {
        let ((set, mut key), mut value) = (open(key)?, Columns::of_value(value));
        let id = HistoryId { set, id: u64::from(key.u16()?) << 32 | u64::from(key.u32()?) };
        let customer = value.u32()?;
        let mut district = || {
            let (district, warehouse) = (value.u8()?, value.u16()?);
            Some(DistrictId { home: WarehouseId { set, warehouse }, district })
        };
        let (of_customer, district) = (district()?, district()?);
        let customer = CustomerId { district: of_customer, customer };
        let (date, amount) = (value.u40()?, value.u32()?);
        Some(History { id, customer, district, date, amount, data: value.rest().to_vec() })
    }

    fn index_key(row: &History, index: usize, key: &mut Vec<u8>) {
        let (number_of, at) = match index {
            0 => (Index::HistoryCustomer, row.customer.district),
            _ => (Index::HistoryDistrict, row.district),
        };
        begin(key, number(row.id.set, number_of));
        push_u8(key, NOT_NULL);
        push_u16(key, at.home.warehouse);
        push_u8(key, NOT_NULL);
        push_u8(key, at.district);
        if index == 0 {
            push_u8(key, NOT_NULL);
            push_u32(key, row.customer.customer);
        }
        push_hidden(key, row.id.id);
    }
}

use super::customers::{decode_name_entry, name_prefix};
use super::orders::{customer_prefix, decode_customer_entry};
use super::*;

fn district() -> DistrictId {
    DistrictId { home: WarehouseId { set: 2, warehouse: 300 }, district: 10 }
}

fn customer() -> Customer {
    Customer {
        id: CustomerId { district: district(), customer: 1234 },
        first: b"first-abcdef".to_vec(),
        last: b"BARBARBAR".to_vec(),
        address: vec![b'x'; 80],
        since: 1 << 33,
        credit: *b"BC",
        credit_limit: 5_000_000,
        discount: 50,
        balance: -1000,
        ytd_payment: 1000,
        payments: 1,
        deliveries: 2,
        data: vec![b'q'; 400],
    }
}

fn order() -> Order {
    let id = OrderId { district: district(), order: 77 };
    Order { id, customer: 1234, entered: 5, carrier: 10, lines: 15, all_local: 1 }
}

/// Checks that a row comes back, and returns the bytes of its key, its value and its index entries.
fn sizes<S: Keyed>(id: S::Id, row: &S::Row) -> Vec<usize>
where
    S::Row: PartialEq + std::fmt::Debug,
{
    let (mut key, mut value) = (Vec::new(), Vec::new());
    S::primary_key(row, &mut key);
    S::value(row, &mut value);
    assert_eq!(key, S::key(id));
    assert_eq!(S::decode(&key, &value).as_ref(), Some(row));
    let mut sizes = vec![key.len(), value.len()];
    for index in 0..S::SECONDARY_INDEXES {
        let mut entry = Vec::new();
        S::index_key(row, index, &mut entry);
        sizes.push(entry.len());
    }
    sizes
}

#[test]
fn rows_come_back_and_have_about_their_published_sizes() {
    let (district, home) = (district(), district().home);
    let (name, address) = (vec![b'n'; 10], vec![b'a'; 62]);
    let warehouse = Warehouse { id: home, name: name.clone(), address: address.clone(), tax: 20, ytd: 30_000_000 };
    assert_eq!(sizes::<Warehouses>(home, &warehouse), [6, 84]);
    let row = District { id: district, name, address, tax: 20, ytd: 3_000_000, next_order: 3001 };
    assert_eq!(sizes::<Districts>(district, &row), [7, 88]);

    assert_eq!(sizes::<Customers>(customer().id, &customer()), [11, 541, 49]);
    let id = HistoryId { set: 2, id: 1 << 33 };
    let (of, data) = (customer().id, vec![b'h'; 18]);
    let history = History { id, customer: of, district, date: 7, amount: 1000, data };
    assert_eq!(sizes::<Histories>(id, &history), [10, 37, 20, 15]);

    assert_eq!(sizes::<Orders>(order().id, &order()), [11, 12, 16]);
    assert_eq!(sizes::<NewOrders>(order().id, &order().id), [11, 0]);
    let id = LineId { order: order().id, number: 15 };
    let district_info = [b'i'; DISTRICT_INFO_BYTES];
    let line = OrderLine {
        id,
        item: 100_000,
        supply_warehouse: 300,
        delivered: 0,
        quantity: 5,
        amount: 999_999,
        district_info,
    };
    assert_eq!(sizes::<OrderLines>(id, &line), [12, 35, 20]);
    assert_eq!(sizes::<OrderLines>(id, &OrderLine { delivered: 1, ..line }), [12, 40, 20]);

    let id = StockId { home, item: 100_000 };
    assert_eq!(sizes::<Stocks>(id, &Stock { id, quantity: 91, counts: 0, text: vec![b's'; 278] }), [10, 288, 10]);
    let id = ItemId { set: 2, item: 100_000 };
    let item = Item { id, image: 1, price: 10_100, name: vec![b'n'; 24], data: vec![b'd'; 36] };
    assert_eq!(sizes::<Items>(id, &item), [8, 69]);
}

#[test]
fn entries_of_a_name_and_of_a_customer_are_found_by_their_prefixes() {
    let (customer, order, mut key) = (customer(), order(), Vec::new());
    Customers::index_key(&customer, 0, &mut key);
    assert!(key.starts_with(&name_prefix(district(), b"BARBARBAR")));
    assert!(!key.starts_with(&name_prefix(district(), b"BARBAR")));
    assert_eq!(decode_name_entry(&key), Some(customer.id));
    Orders::index_key(&order, 0, &mut key);
    assert!(key.starts_with(&customer_prefix(customer.id)));
    assert_eq!(decode_customer_entry(&key), Some(order.id));
}

#[test]
fn key_spaces_of_table_sets_do_not_overlap() {
    assert_eq!(number(0, Index::Warehouse), 1);
    assert_eq!(number(1, Index::Warehouse), number(0, Index::Item) + 1);
    let (set, _) = open(&Items::key(ItemId { set: 3, item: 1 })).unwrap();
    assert_eq!(set, 3);
    assert_eq!(open(&0_u32.to_be_bytes()).map(|(set, _)| set), None);
}

#[test]
fn a_district_copies_its_own_part_of_the_stock_text() {
    let id = StockId { home: district().home, item: 1 };
    let text = (0..12).flat_map(|part| [part; DISTRICT_INFO_BYTES]).collect();
    let stock = Stock { id, quantity: 1, counts: 0, text };
    assert_eq!(stock.district_info(1), Some([0; DISTRICT_INFO_BYTES]));
    assert_eq!(stock.district_info(DISTRICTS), Some([9; DISTRICT_INFO_BYTES]));
}

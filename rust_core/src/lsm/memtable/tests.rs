//! The skip list against a sorted map, and under concurrent readers.

use super::cursor::MemTableCursor;
use super::inserter::Inserter;
use super::skiplist::SkipList;
use crate::lsm::keys::key::split;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

fn contents(list: &Arc<SkipList>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    let mut cursor = MemTableCursor::new(list.clone());
    cursor.seek_to_first();
    while cursor.valid() {
        all.push((split(cursor.key()).0.to_vec(), cursor.value().to_vec()));
        cursor.next();
    }
    all
}

proptest! {
    #[test]
    fn entries_come_out_sorted_whatever_the_order_of_inserts(
        keys in proptest::collection::vec(proptest::collection::vec(0u8..4, 0..6), 0..200),
        sorted: bool,
    ) {
        let mut keys = keys;
        if sorted { keys.sort(); }
        let list = Arc::new(SkipList::new(4096, 7));
        let mut model = BTreeMap::new();
        for (n, key) in keys.iter().enumerate() {
            let trailer = n as u64 + 1;
            Inserter::new(&list).insert(key, trailer, &trailer.to_le_bytes());
            model.insert((key.clone(), u64::MAX - trailer), trailer.to_le_bytes().to_vec());
        }
        let expected = model.iter().map(|((key, _), value)| (key.clone(), value.clone())).collect::<Vec<_>>();
        prop_assert_eq!(contents(&list), expected);
        for key in &keys {
            let found = list.find(key, u64::MAX).0.map(|(found, _)| split(found).0);
            prop_assert_eq!(found, Some(&key[..]));
            let mut cursor = MemTableCursor::new(list.clone());
            cursor.seek_before(key, u64::MAX);
            let before = cursor.valid().then(|| split(cursor.key()).0.to_vec());
            prop_assert_eq!(before.as_ref(), keys.iter().filter(|other| *other < key).max());
        }
    }
}

#[test]
#[allow(clippy::disallowed_methods)]
fn readers_see_only_whole_entries_while_a_writer_inserts() {
    let list = Arc::new(SkipList::new(1 << 16, 7));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..3000u64 {
                let key = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes();
                Inserter::new(&list).insert(&key, n, &key);
            }
        });
        scope.spawn(|| {
            while contents(&list).len() < 3000 {
                assert!(contents(&list).iter().all(|(key, value)| key == value));
            }
        });
    });
    assert_eq!(contents(&list).len(), 3000);
}

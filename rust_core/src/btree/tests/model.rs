//! Any sequence of operations agrees with a `BTreeMap`.

use super::{Driven, TINY, assert_meters_agree, options, structure};
use crate::engine::{Commit, Engine, KeyLayout, WriteBatch};
use crate::storage::{FileOptions, MemoryStorage, Storage};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A key and the length of its new value; none removes it.
type Put = (u16, Option<usize>);

#[derive(Debug, Clone)]
enum Op {
    Put(u16, usize),
    Delete(u16),
    Batch(Vec<Put>),
    Get(u16),
    Forward(u16, usize),
    Backward(u16, usize),
    /// A cursor that goes on, forward or back, while keys change between its steps.
    Wander(u16, Vec<(bool, Option<Put>)>),
    Pass(u64),
    Settle,
    Reopen,
}

fn value_len() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0usize..60, 3 => 60usize..900, 1 => 900usize..9000]
}

fn op() -> impl Strategy<Value = Op> {
    let change = (0u16..700, prop_oneof![2 => value_len().prop_map(Some), 1 => Just(None)]);
    // Mostly keys near the cursor's, of the same index.
    let step = (prop::bool::weighted(0.8), prop::option::weighted(0.3, (0u16..60, prop::option::of(value_len()))));
    prop_oneof![
        30 => (0u16..700, value_len()).prop_map(|(k, n)| Op::Put(k, n)),
        15 => (0u16..700).prop_map(Op::Delete),
        // Nine of the longest values are the most whose redo fits into the smallest log.
        6 => prop::collection::vec(change, 1..10).prop_map(Op::Batch),
        10 => (0u16..700).prop_map(Op::Get),
        5 => (0u16..700, 0usize..40).prop_map(|(k, n)| Op::Forward(k, n)),
        5 => (0u16..700, 0usize..40).prop_map(|(k, n)| Op::Backward(k, n)),
        5 => (0u16..640, prop::collection::vec(step, 0..60)).prop_map(|(k, steps)| Op::Wander(k, steps)),
        3 => (1u64..3000).prop_map(Op::Pass),
        1 => Just(Op::Settle),
        1 => Just(Op::Reopen),
    ]
}

/// Over more keys than the smallest pool has room for, in batches that fill the trees soon.
fn many_keys() -> impl Strategy<Value = Op> {
    let change = (0u16..20_000, prop_oneof![3 => (0usize..60).prop_map(Some), 1 => Just(None)]);
    let step = (prop::bool::weighted(0.8), prop::option::weighted(0.3, (0u16..60, prop::option::of(0usize..60))));
    prop_oneof![
        40 => prop::collection::vec(change, 1..40).prop_map(Op::Batch),
        10 => (0u16..20_000).prop_map(|k| Op::Put(k, 0)),
        10 => (0u16..20_000).prop_map(Op::Delete),
        5 => (0u16..20_000).prop_map(Op::Get),
        1 => (0u16..20_000, 0usize..40).prop_map(|(k, n)| Op::Forward(k, n)),
        1 => (0u16..20_000, 0usize..40).prop_map(|(k, n)| Op::Backward(k, n)),
        1 => (0u16..19_000, prop::collection::vec(step, 0..60)).prop_map(|(k, steps)| Op::Wander(k, steps)),
        5 => (1u64..300).prop_map(Op::Pass),
        1 => Just(Op::Reopen),
    ]
}

/// Compressed tables, of which the pool holds a part too.
const ZIP: &str = "page_size=8192 key_block_size=4096 buffer_pool_size=262144 redo_log_capacity=524288";

/// Compressed tables beside others, by the indexes that are compressed.
const MIXES: [&str; 4] = ["0", "1:2", "0:2", "1"];

/// What brings half of these keys in, so that most leaves are not in the pool.
fn loaded() -> impl Iterator<Item = Op> {
    let key = |n: u32| ((n * 7919 % 20_000) as u16, Some(20));
    (0..250).map(move |batch| Op::Batch((batch * 40..batch * 40 + 40).map(key).collect()))
}

fn key(layout: KeyLayout, n: u16) -> Vec<u8> {
    let mut key = match layout {
        KeyLayout::Plain => b"user".to_vec(),
        KeyLayout::Indexed => u32::from(n % 3).to_be_bytes().to_vec(),
    };
    key.extend_from_slice(format!("{:05}", n / 3 * 7).as_bytes());
    key.resize(key.len() + usize::from(n % 50), b'k');
    key
}

fn value(n: u16, len: usize, step: usize) -> Vec<u8> {
    (0..len).map(|at| if at % 3 == 0 { (step + at) as u8 } else { n as u8 }).collect()
}

struct Pair {
    storage: Arc<MemoryStorage>,
    text: String,
    layout: KeyLayout,
    driven: Driven,
    model: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Pair {
    fn new(text: String, layout: KeyLayout) -> Self {
        let storage = Arc::new(MemoryStorage::new(Arc::default()));
        let driven = Driven::open(storage.clone(), &options(&text), layout).unwrap();
        Self { storage, text, layout, driven, model: BTreeMap::new() }
    }

    fn apply(&mut self, step: usize, op: &Op) {
        match op {
            Op::Put(n, len) => self.batch(step, &[(*n, Some(*len))]),
            Op::Delete(n) => self.batch(step, &[(*n, None)]),
            Op::Batch(changes) => self.batch(step, changes),
            Op::Get(n) => {
                let key = key(self.layout, *n);
                assert_eq!(self.driven.get(&key).unwrap(), self.model.get(&key).cloned());
            }
            Op::Forward(n, steps) => self.forward(*n, *steps),
            Op::Backward(n, steps) => self.backward(*n, *steps),
            Op::Wander(n, steps) => self.wander(step, *n, steps),
            Op::Pass(milliseconds) => self.driven.pass(*milliseconds).unwrap(),
            Op::Settle => {
                self.driven.engine.begin_settle(&mut self.driven.task).unwrap();
                self.driven.run_jobs().unwrap();
                assert!(self.driven.engine.is_settled());
                assert_eq!(self.driven.detail("dirty_pages"), 0.0);
            }
            Op::Reopen => {
                self.driven.engine.close(&mut self.driven.task).unwrap();
                self.driven = Driven::open(self.storage.clone(), &options(&self.text), self.layout).unwrap();
            }
        }
    }

    fn batch(&mut self, step: usize, changes: &[Put]) {
        let mut batch = WriteBatch::default();
        for (n, len) in changes {
            let key = key(self.layout, *n);
            if let Some(len) = len {
                let value = value(*n, *len, step);
                batch.put(&key, &value);
                self.model.insert(key, value);
            } else {
                batch.delete(&key);
                self.model.remove(&key);
            }
        }
        self.driven.write(&mut batch, Commit::Configured).unwrap();
    }

    /// The model's entries that an iterator may reach from `key`: those of its index.
    fn within(&self, key: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let same = |other: &[u8]| self.layout == KeyLayout::Plain || other[..4] == key[..4];
        self.model.iter().filter(|(other, _)| same(other)).map(|(k, v)| (k.clone(), v.clone())).collect()
    }

    fn forward(&mut self, n: u16, steps: usize) {
        let key = key(self.layout, n);
        let expected = self.within(&key).into_iter().filter(|(other, _)| *other >= key).take(steps + 1);
        let expected = expected.collect::<Vec<_>>();
        let engine = self.driven.engine.clone();
        let task = &mut self.driven.task;
        let mut cursor = engine.iterator(task).unwrap();
        cursor.seek(task, &key).unwrap();
        for (key, value) in &expected {
            assert!(cursor.valid());
            assert_eq!((cursor.key(), cursor.value()), (&key[..], &value[..]));
            cursor.next(task).unwrap();
        }
        assert!(expected.len() > steps || !cursor.valid());
    }

    fn backward(&mut self, n: u16, steps: usize) {
        let key = key(self.layout, n);
        let expected = self.within(&key).into_iter().rev().filter(|(other, _)| *other <= key).take(steps + 1);
        let expected = expected.collect::<Vec<_>>();
        let engine = self.driven.engine.clone();
        let task = &mut self.driven.task;
        let mut cursor = engine.iterator(task).unwrap();
        cursor.seek_for_prev(task, &key).unwrap();
        for (key, value) in &expected {
            assert!(cursor.valid());
            assert_eq!((cursor.key(), cursor.value()), (&key[..], &value[..]));
            cursor.prev(task).unwrap();
        }
        assert!(expected.len() > steps || !cursor.valid());
    }

    fn wander(&mut self, step: usize, n: u16, steps: &[(bool, Option<Put>)]) {
        let start = key(self.layout, n);
        let engine = self.driven.engine.clone();
        let mut cursor = engine.iterator(&mut self.driven.task).unwrap();
        cursor.seek(&mut self.driven.task, &start).unwrap();
        let mut expected = self.within(&start).into_iter().find(|(other, _)| *other >= start);
        for (forward, change) in steps {
            assert_eq!(cursor.valid(), expected.is_some());
            let Some((at, value)) = expected else { return };
            assert_eq!((cursor.key(), cursor.value()), (&at[..], &value[..]));
            if let Some((near, len)) = change {
                self.batch(step, &[(n + near, *len)]);
            }
            let mut entries = self.within(&at).into_iter();
            if *forward {
                cursor.next(&mut self.driven.task).unwrap();
                expected = entries.find(|(other, _)| *other > at);
            } else {
                cursor.prev(&mut self.driven.task).unwrap();
                expected = entries.rfind(|(other, _)| *other < at);
            }
        }
    }

    fn finish(&mut self) {
        for settles in [false, true] {
            if settles {
                self.driven.settle();
            }
            let shape = structure::check(self.driven.engine.forest(), &mut self.driven.task);
            assert_eq!(shape.entries, self.model.len());
            assert!(shape.marked == 0 || !settles, "purge leaves no marks");
        }
        if self.layout == KeyLayout::Plain {
            let expected = self.model.iter().map(|(k, v)| (k.clone(), v.clone())).collect::<Vec<_>>();
            assert_eq!(self.driven.scan(b"").unwrap(), expected);
        }
        assert_meters_agree(&*self.storage);
    }
}

/// The same with entries of secondary indexes: no index but the first has values, and under the plain layout nothing.
fn without_values(layout: KeyLayout, op: Op) -> Op {
    let len = |n: u16, len: usize| if layout == KeyLayout::Indexed && n.is_multiple_of(3) { len } else { 0 };
    let put = |(n, value): Put| (n, value.map(|value| len(n, value)));
    match op {
        Op::Put(n, value) => Op::Put(n, len(n, value)),
        Op::Batch(puts) => Op::Batch(puts.into_iter().map(put).collect()),
        Op::Wander(n, steps) => {
            let step = |(forward, change): (bool, Option<Put>)| {
                (forward, change.map(|(near, value)| (near, put((n + near, value)).1)))
            };
            Op::Wander(n, steps.into_iter().map(step).collect())
        }
        other => other,
    }
}

fn agree(text: String, layout: KeyLayout, ops: &[Op]) {
    let mut pair = Pair::new(text, layout);
    ops.iter().enumerate().for_each(|(step, op)| pair.apply(step, op));
    pair.finish();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plain_tree_agrees_with_a_map(ops in prop::collection::vec(op(), 1..600)) {
        agree(TINY.to_owned(), KeyLayout::Plain, &ops);
    }

    #[test]
    fn indexed_trees_agree_with_a_map(ops in prop::collection::vec(op(), 1..600)) {
        agree(format!("{TINY} doublewrite=false"), KeyLayout::Indexed, &ops);
    }

    #[test]
    fn compressed_pages_agree_with_a_map(
        ops in prop::collection::vec(op(), 1..300),
        algorithm in prop::sample::select(vec!["zlib", "lz4", "snappy", "zstd"]),
        page in prop::sample::select(vec![8192, 16384, 32768]),
        flush_log in 0..3,
    ) {
        let text = format!(
            "page_size={page} buffer_pool_size=1048576 redo_log_capacity=524288 flush_neighbors=2 \
             compression_algorithm={algorithm} flush_log_at_trx_commit={flush_log}"
        );
        agree(text, KeyLayout::Plain, &ops);
    }

    #[test]
    fn compressed_tables_agree_with_a_map(
        ops in prop::collection::vec(op(), 1..400),
        (page, slot) in prop::sample::select(vec![(4096, 4096), (8192, 4096), (16384, 4096), (16384, 8192)]),
        layout in prop::sample::select(vec![KeyLayout::Plain, KeyLayout::Indexed]),
        doublewrite in any::<bool>(),
    ) {
        let text = format!(
            "page_size={page} key_block_size={slot} buffer_pool_size=1048576 redo_log_capacity=524288 \
             flush_neighbors=2 doublewrite={doublewrite}"
        );
        agree(text, layout, &ops);
    }

    #[test]
    fn compressed_tables_beside_others_agree_with_a_map(
        ops in prop::collection::vec(op(), 1..400),
        (page, slot) in prop::sample::select(vec![(4096, 4096), (8192, 4096), (16384, 4096), (16384, 8192)]),
        indexes in prop::sample::select(&MIXES[..]),
        neighbors in 0..3,
        doublewrite in any::<bool>(),
    ) {
        let text = format!(
            "page_size={page} key_block_size={slot} compressed_indexes=\"{indexes}\" buffer_pool_size=1048576 \
             redo_log_capacity=524288 flush_neighbors={neighbors} doublewrite={doublewrite}"
        );
        agree(text, KeyLayout::Indexed, &ops);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn buffered_changes_agree_with_a_map(
        ops in prop::collection::vec(many_keys(), 1..300),
        buffering in prop::sample::select(vec!["inserts", "all"]),
        max_size in prop::sample::select(vec![6, 25, 50]),
        layout in prop::sample::select(vec![KeyLayout::Plain, KeyLayout::Indexed]),
        zip in prop::bool::weighted(0.5),
        indexes in prop::sample::select(vec!["all", "0", "1:2", "0:2"]),
    ) {
        let pages = if zip { format!("{ZIP} compressed_indexes=\"{indexes}\"") } else { TINY.to_owned() };
        let text = format!(
            "{pages} change_buffering={buffering} change_buffer_max_size={max_size} doublewrite=false \
             old_blocks_time=0"
        );
        let ops = loaded().chain(ops).map(|op| without_values(layout, op)).collect::<Vec<_>>();
        agree(text, layout, &ops);
    }
}

#[test]
fn the_largest_pages_hold_the_largest_keys() {
    let (_, mut driven) = Driven::fresh("page_size=65536 buffer_pool_size=4194304 redo_log_capacity=4194304");
    let longest = driven.engine.forest().max_key_bytes(0);
    for n in 0..100u8 {
        let mut key = vec![n; longest];
        key[longest - 1] = n.wrapping_mul(37);
        driven.put(&key, &vec![n; 16384]).unwrap();
    }
    assert_eq!(structure::check(driven.engine.forest(), &mut driven.task).entries, 100);
    assert!(driven.put(&vec![0; longest + 1], b"").is_err_and(|e| matches!(e, crate::Error::Invalid { .. })));
    assert!(
        driven
            .put(b"k", &vec![0; driven.engine.forest().max_value_bytes(0) + 1])
            .is_err_and(|e| matches!(e, crate::Error::Invalid { .. }))
    );
    assert!(driven.engine.check().is_ok(), "input errors do not stop the engine");
}

#[test]
fn other_page_sizes_and_layouts_than_the_files_have_are_refused() {
    let (storage, driven) = Driven::fresh(TINY);
    drop(driven);
    let other = TINY.replace("4096", "8192");
    assert!(
        Driven::open(storage.clone(), &options(&other), KeyLayout::Plain)
            .is_err_and(|e| matches!(e, crate::Error::Invalid { .. }))
    );
    assert!(
        Driven::open(storage.clone(), &options(TINY), KeyLayout::Indexed)
            .is_err_and(|e| matches!(e, crate::Error::Invalid { .. }))
    );
    assert!(Driven::open(storage, &options(TINY), KeyLayout::Plain).is_ok());
}

#[test]
fn a_log_of_another_capacity_takes_over() {
    let (storage, mut driven) = Driven::fresh(TINY);
    for n in 0..500u16 {
        driven.put(&n.to_be_bytes(), &[7; 50]).unwrap();
    }
    let larger = TINY.replace("redo_log_capacity=262144", "redo_log_capacity=1048576");
    let mut driven = Driven::open(storage, &options(&larger), KeyLayout::Plain).unwrap();
    assert_eq!(driven.scan(b"").unwrap().len(), 500);
    assert!(driven.detail("checkpoint_max_age") > 300_000.0);
}

#[test]
fn bytes_on_disk_shrink_with_compression() {
    let used = |algorithm: &str| {
        let text = format!("page_size=16384 buffer_pool_size=1048576 compression_algorithm={algorithm}");
        let (storage, mut driven) = Driven::fresh(&text);
        for n in 0..60_000u32 {
            driven.put(&n.to_be_bytes(), &[b'x'; 200]).unwrap();
            if n % 1000 == 0 {
                // Undo that is not purged would take more than the rows.
                driven.run_jobs().unwrap();
            }
        }
        driven.engine.close(&mut driven.task).unwrap();
        storage.used_bytes().unwrap()
            - storage.open(&mut driven.task, "redo.log", FileOptions::DIRECT).unwrap().len()
            - storage.open(&mut driven.task, "doublewrite.db", FileOptions::DIRECT).unwrap().len()
    };
    let (plain, zip) = (used("none"), used("zlib"));
    assert!(zip * 3 < plain, "{zip} of {plain}");
}

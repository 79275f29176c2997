//! The engine against a `BTreeMap`: any sequence of operations reads the same from both.

use super::*;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
enum Operation {
    Put { key: u16, bytes: usize },
    Delete { key: u16 },
    Batch { keys: Vec<(u16, bool)> },
    Fill { from: u16, count: u16 },
    DeleteRange { from: u16, count: u16 },
    Get { key: u16 },
    Walk { key: u16, steps: Vec<bool>, from_end: bool },
    Jobs,
    OneJob,
    Settle,
    Reopen,
}

fn operation() -> impl Strategy<Value = Operation> {
    let key = 0u16..2000;
    prop_oneof![
        6 => (key.clone(), 0usize..400).prop_map(|(key, bytes)| Operation::Put { key, bytes }),
        3 => key.clone().prop_map(|key| Operation::Delete { key }),
        2 => proptest::collection::vec((key.clone(), any::<bool>()), 1..20).prop_map(|keys| Operation::Batch { keys }),
        4 => (key.clone(), 50u16..400).prop_map(|(from, count)| Operation::Fill { from, count }),
        1 => (key.clone(), 10u16..400).prop_map(|(from, count)| Operation::DeleteRange { from, count }),
        5 => key.clone().prop_map(|key| Operation::Get { key }),
        4 => (key, proptest::collection::vec(any::<bool>(), 0..30), any::<bool>())
            .prop_map(|(key, steps, from_end)| Operation::Walk { key, steps, from_end }),
        2 => Just(Operation::Jobs),
        3 => Just(Operation::OneJob),
        1 => Just(Operation::Settle),
        1 => Just(Operation::Reopen),
    ]
}

/// Keys of different lengths, some a prefix of others, with shared starts.
fn key_of(n: u16) -> Vec<u8> {
    let mut key = format!("{:04}", n / 4).into_bytes();
    key.extend_from_slice([&b""[..], &[0], &[0, 0xff], &[0xff, 1]][(n % 4) as usize]);
    key
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn walk(lsm: &Lsm, model: &Model, key: &[u8], steps: &[bool], from_end: bool) {
    let mut task = Task::wall(0);
    let mut iterator = lsm.iterator(&mut task).unwrap();
    let mut expected = if from_end {
        iterator.seek_for_prev(&mut task, key).unwrap();
        model.range(..=key.to_vec()).next_back()
    } else {
        iterator.seek(&mut task, key).unwrap();
        model.range(key.to_vec()..).next()
    };
    for forward in steps.iter().map(Some).chain([None]) {
        let found = iterator.valid().then(|| (iterator.key().to_vec(), iterator.value().to_vec()));
        assert_eq!(found, expected.map(|(key, value)| (key.clone(), value.clone())));
        let (Some(forward), Some((at, _))) = (forward, expected) else { return };
        if *forward {
            iterator.next(&mut task).unwrap();
            expected = model.range((std::ops::Bound::Excluded(at.clone()), std::ops::Bound::Unbounded)).next();
        } else {
            iterator.prev(&mut task).unwrap();
            expected = model.range(..at.clone()).next_back();
        }
    }
}

fn check(operations: &[Operation], options: &Options) {
    let storage = memory();
    let mut lsm = open(&storage, options).unwrap();
    let mut model = Model::new();
    let mut version = 0u32;
    let mut apply = |lsm: &Lsm, model: &mut Model, changes: &[(u16, Option<usize>)]| {
        let mut batch = WriteBatch::default();
        for (key, bytes) in changes {
            let key = key_of(*key);
            if let Some(bytes) = bytes {
                version += 1;
                let mut value = version.to_be_bytes().to_vec();
                value.resize(4 + bytes, b'v');
                batch.put(&key, &value);
                model.insert(key, value);
            } else {
                batch.delete(&key);
                model.remove(&key);
            }
        }
        write(lsm, &mut batch, Commit::Configured).unwrap();
    };
    for operation in operations {
        match operation {
            Operation::Put { key, bytes } => apply(&lsm, &mut model, &[(*key, Some(*bytes))]),
            Operation::Delete { key } => apply(&lsm, &mut model, &[(*key, None)]),
            Operation::Batch { keys } => {
                let changes = keys.iter().map(|(key, put)| (*key, put.then_some(30))).collect::<Vec<_>>();
                apply(&lsm, &mut model, &changes);
            }
            Operation::Fill { from, count } => {
                for n in 0..*count {
                    apply(&lsm, &mut model, &[((from + n * 7) % 2000, Some(150))]);
                }
            }
            Operation::DeleteRange { from, count } => {
                for n in 0..*count {
                    apply(&lsm, &mut model, &[((from + n) % 2000, None)]);
                }
            }
            Operation::Get { key } => {
                let key = key_of(*key);
                assert_eq!(get(&lsm, &key).unwrap().as_ref(), model.get(&key));
            }
            Operation::Walk { key, steps, from_end } => walk(&lsm, &model, &key_of(*key), steps, *from_end),
            Operation::Jobs => run_jobs(&lsm).unwrap(),
            Operation::OneJob => {
                let mut task = Task::wall(1);
                if let Some(mut job) = lsm.next_job(0) {
                    job.run(&mut task).unwrap();
                    job.install(&mut task).unwrap();
                }
            }
            Operation::Settle => settle(&lsm).unwrap(),
            Operation::Reopen => {
                lsm.close(&mut Task::wall(0)).unwrap();
                lsm = open(&storage, options).unwrap();
            }
        }
    }
    assert_eq!(scan(&lsm).unwrap(), model.into_iter().collect::<Vec<_>>());
    assert_meters(&storage);
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    proptest::collection::vec(operation(), 1..120)
}

/// Settings that lead through different code.
fn settings() -> impl Strategy<Value = Value> {
    let whole = prop_oneof![Just(true), Just(false)];
    let prefix = prop_oneof![Just("nullptr"), Just("fixed:3"), Just("capped:5")];
    let compression = prop_oneof![Just("kNoCompression"), Just("kLZ4Compression"), Just("kSnappyCompression")];
    (whole, prefix, compression, any::<[bool; 7]>(), 1u64..20).prop_map(
        |(whole, prefix, compression, switches, interval)| {
            let [dynamic, index_in_cache, pin, no_log, manual_flush, last_level_filters, readahead] = switches;
            json!({
                "whole_key_filtering": whole,
                "prefix_extractor": prefix,
                "compression": compression,
                "bottommost_compression": if dynamic { "kZSTD" } else { "kDisableCompressionOption" },
                "level_compaction_dynamic_level_bytes": dynamic,
                "cache_index_and_filter_blocks": index_in_cache,
                "pin_l0_filter_and_index_blocks_in_cache": pin,
                "disable_wal": no_log,
                "manual_wal_flush": manual_flush,
                "optimize_filters_for_hits": last_level_filters,
                "compaction_readahead_size": if readahead { 8192 } else { 0 },
                "block_restart_interval": interval,
                "max_background_jobs": interval,
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_operations_read_as_from_a_map(operations in operations()) {
        check(&operations, &tiny(&json!({})));
    }

    #[test]
    fn they_do_under_any_settings(operations in operations(), settings in settings()) {
        check(&operations, &tiny(&settings));
    }
}

#[test]
fn a_larger_load_builds_levels_and_reads_back() {
    let storage = memory();
    let options = tiny(&json!({"level_compaction_dynamic_level_bytes": false}));
    let lsm = open(&storage, &options).unwrap();
    let mut model = Model::new();
    for n in 0u64..20_000 {
        let key = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 8_000).to_be_bytes();
        let value = [&n.to_be_bytes()[..], &[7; 92]].concat();
        put(&lsm, &key, &value).unwrap();
        model.insert(key.to_vec(), value);
        if n % 50 == 0 {
            run_jobs(&lsm).unwrap();
        }
    }
    settle(&lsm).unwrap();
    let details = lsm.stats().details;
    assert!(details["level_1_bytes"] > 0.0 && details["level_2_bytes"] > 0.0, "{details:?}");
    assert!(details["compactions"] > 20.0, "{details:?}");
    assert_eq!(scan(&lsm).unwrap(), model.into_iter().collect::<Vec<_>>());
    assert_meters(&storage);
}

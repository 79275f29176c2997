use super::{INSERT, KeyValue, OVERWRITE, Parameters, READ, READ_ABSENT, SCAN};
use crate::engine::Engine;
use crate::random::Random;
use crate::scale::Scale;
use crate::workload::model_engine::ModelEngine;
use crate::workload::test_drive::{drive, load};
use crate::workload::{Plan, Workload, build};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

const CLIENTS: u32 = 2;

fn small() -> Parameters {
    Parameters { keys: 1000, value_bytes: 100, load_overwrites: 0.0, ..Parameters::default() }
}

/// A mix of all, whose values differ in size.
fn all_kinds() -> Parameters {
    Parameters { inserts: 1, scans: 1, absent_share: 0.5, value_size_distribution: "uniform".into(), ..small() }
}

fn loaded(parameters: Parameters) -> (KeyValue, ModelEngine) {
    let (store, engine) = (KeyValue::new(parameters, 1), ModelEngine::default());
    load(&store, &engine, 1);
    (store, engine)
}

fn key(store: &KeyValue, number: u64) -> Vec<u8> {
    let mut key = Vec::new();
    store.shared.key(number, &mut key);
    key
}

fn count(plans: &[Plan], kind: usize) -> f64 {
    plans.iter().filter(|plan| plan.kind == kind).count() as f64
}

#[test]
fn a_key_is_eight_bytes_of_number_or_hash_then_zeros() {
    let sequential = KeyValue::new(Parameters { key_order: "sequential".into(), key_bytes: 10, ..small() }, 1);
    assert_eq!(key(&sequential, 0x0102), b"\0\0\0\0\0\0\x02\x0400");
    // The first two numbers of SplitMix64 from 0 on, as published with it, are images of 0 and of its increment.
    let hashed = KeyValue::new(Parameters { key_bytes: 8, ..small() }, 1);
    assert_eq!(key(&hashed, 0), 0xe220_a839_7b1d_cdaf_u64.to_be_bytes());
}

#[test]
fn keys_are_unique_and_scattered_or_in_order() {
    for (order, key_bytes) in [("hashed", 8), ("hashed", 64), ("sequential", 8), ("sequential", 31)] {
        let store = KeyValue::new(Parameters { key_order: order.into(), key_bytes, ..small() }, 1);
        let keys: Vec<_> = (0..10_000).map(|number| key(&store, number)).collect();
        assert!(keys.iter().all(|key| key.len() as u64 == key_bytes));
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 10_000, "{order}");
        let rises = keys.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!(if order == "hashed" { (4_800..5_200).contains(&rises) } else { rises == 9_999 }, "{order}: {rises}");
    }
}

#[test]
fn a_load_writes_each_key_once_whoever_loads_in_whatever_order() {
    for (order, load_order) in [("hashed", "random"), ("sequential", "sequential"), ("sequential", "random")] {
        let states = [1, 3].map(|loaders| {
            // The last batch is not full.
            let parameters = Parameters { keys: 1020, key_order: order.into(), ..all_kinds() };
            let store = KeyValue::new(Parameters { load_order: load_order.into(), ..parameters }, 1);
            let engine = ModelEngine::default();
            assert_eq!((load(&store, &engine, loaders), engine.entries().len()), (1020, 1020));
            assert_eq!(store.live_bytes(), engine.live_bytes());
            engine.state_hash()
        });
        assert_eq!(states[0], states[1], "{order}, {load_order}");
    }
}

#[test]
fn behind_a_load_as_many_keys_get_new_values_as_the_seed_draws() {
    let overwritten = |seed, loaders| {
        let sizes = Parameters { value_size_distribution: "uniform".into(), ..small() };
        let store = KeyValue::new(Parameters { load_overwrites: 0.5, ..sizes }, seed);
        let engine = ModelEngine::default();
        let operations = load(&store, &engine, loaders);
        assert_eq!(engine.entries().len(), 1000, "no key is new");
        assert_eq!(store.live_bytes(), engine.live_bytes());
        operations - 1000
    };
    let drawn: Vec<_> = (1..=40).map(|seed| overwritten(seed, 1)).collect();
    assert_eq!(drawn[..4], [1, 2, 3, 4].map(|seed| overwritten(seed, 3)));
    assert!(drawn.iter().all(|&count| count <= 500));
    let mean = drawn.iter().sum::<u64>() as f64 / 40.0;
    assert!((200.0..300.0).contains(&mean), "of 0 to 500: {mean}");
    assert!(drawn.iter().any(|&count| count < 100) && drawn.iter().any(|&count| count > 400));
}

#[test]
fn the_same_seed_ends_in_the_same_state() {
    let run = |seed| {
        let (store, engine) = (KeyValue::new(all_kinds(), seed), ModelEngine::default());
        load(&store, &engine, 1);
        let mut clients = [0, 1].map(|index| store.client(index));
        (0..400).for_each(|turn| drop(drive(&mut *clients[turn % 2], &engine, 1)));
        engine.state_hash()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn live_bytes_are_those_of_the_engine_whatever_the_sizes() {
    // The largest lognormal size is twice the mean, as far from it as the largest uniform one.
    for (distribution, spread) in [("fixed", 0.5), ("uniform", 1.0), ("normal", 0.5), ("lognormal", 1.0)] {
        let sizes = Parameters { value_size_distribution: distribution.into(), value_size_spread: spread, ..small() };
        let sizes = Parameters { largest_value_bytes: 200, ..sizes };
        let (store, engine) = loaded(Parameters { inserts: 1, ..sizes });
        drive(&mut *store.client(0), &engine, 5_000);
        assert!(engine.entries().len() > 2_000, "inserts make new keys");
        assert_eq!(store.live_bytes(), engine.live_bytes(), "{distribution}");
        let sizes: BTreeSet<_> = engine.entries().iter().map(|(_, value)| value.len()).collect();
        assert_eq!(sizes.len() > 1, distribution != "fixed");
        assert!(sizes.iter().all(|&size| (size as f64 - 100.0).abs() <= 100.0 * spread));
    }
}

#[test]
fn inserts_of_four_threads_make_each_key_once() {
    let (store, engine) = loaded(Parameters { reads: 0, overwrites: 0, inserts: 1, ..all_kinds() });
    std::thread::scope(|scope| {
        for index in 0..4 {
            let (store, engine) = (&store, &engine);
            scope.spawn(move || drive(&mut *store.client(index), engine, 500));
        }
    });
    let inserted = engine.entries().len() as u64 - 1000;
    assert!((800..1200).contains(&inserted), "half of 2,000: {inserted}");
    assert_eq!(store.shared.existing.load(Ordering::Relaxed), 1000 + inserted);
    assert_eq!(store.live_bytes(), engine.live_bytes());
}

#[test]
fn operations_come_by_their_weights() {
    let (store, engine) = loaded(Parameters { reads: 4, overwrites: 3, inserts: 2, scans: 1, ..all_kinds() });
    let plans = drive(&mut *store.client(0), &engine, 20_000);
    for (kind, share) in [(READ, 0.2), (READ_ABSENT, 0.2), (OVERWRITE, 0.3), (INSERT, 0.2), (SCAN, 0.1)] {
        let found = count(&plans, kind) / 2e4;
        assert!((found - share).abs() < 0.01, "operation {kind}: {found}");
    }
}

#[test]
fn puts_are_blind_and_ask_for_what_they_write() {
    let (store, engine) = loaded(Parameters { reads: 0, inserts: 1, ..small() });
    let (before, changes) = (engine.stats().user_bytes_written, engine.changes.load(Ordering::Relaxed));
    let plans = drive(&mut *store.client(0), &engine, 500);
    assert_eq!(engine.gets.load(Ordering::Relaxed), 0);
    assert_eq!(engine.changes.load(Ordering::Relaxed) - changes, 500);
    let asked: u64 = plans.iter().map(|plan| plan.write_bytes).sum();
    assert_eq!(asked, engine.stats().user_bytes_written - before);
}

#[test]
fn reads_find_what_exists_and_nothing_else() {
    for key_order in ["hashed", "sequential"] {
        let parameters = Parameters { overwrites: 0, absent_share: 0.25, key_order: key_order.into(), ..small() };
        let (store, engine) = loaded(parameters);
        let plans = drive(&mut *store.client(0), &engine, 2_000);
        assert_eq!(count(&plans, READ) as u64, engine.found.load(Ordering::Relaxed), "{key_order}");
        assert!((count(&plans, READ_ABSENT) - 500.0).abs() < 60.0, "{}", count(&plans, READ_ABSENT));
    }
}

#[test]
fn absent_keys_lie_among_those_that_exist() {
    for key_order in ["hashed", "sequential"] {
        let (store, engine) = loaded(Parameters { key_order: key_order.into(), key_bytes: 8, ..small() });
        let entries = engine.entries();
        let mut absent = Vec::new();
        let between = (0..1000).filter(|&number| {
            store.shared.absent_key(number, &mut absent);
            entries[0].0 < absent && absent < entries[999].0
        });
        assert!(between.count() > 990, "{key_order}");
    }
}

#[test]
fn uniform_requests_reach_what_was_inserted_too() {
    let (store, engine) = loaded(Parameters { reads: 0, overwrites: 0, inserts: 1, ..small() });
    drive(&mut *store.client(0), &engine, 1000);
    let mut random = Random::from_seed(1);
    let new = (0..10_000).filter(|_| store.shared.choose(&mut random) >= 1000).count();
    assert!((4_700..5_300).contains(&new), "{new} of 10,000 to the newer half");
}

fn zipfian(keys: u64, stands_for: f64) -> KeyValue {
    let scale = Scale::standing_for(stands_for);
    KeyValue::new(Parameters { keys, distribution: "zipfian".into(), scale, ..small() }, 1)
}

/// Share of the requests that ask for keys of the first `ranks`.
fn share_of_hottest(store: &KeyValue, ranks: u64) -> f64 {
    let order = &store.shared.hot_keys.as_ref().unwrap().order;
    let hot: BTreeSet<u64> = (0..ranks).map(|rank| order.at(rank)).collect();
    let mut random = Random::from_seed(1);
    (0..200_000).filter(|_| hot.contains(&store.shared.choose(&mut random))).count() as f64 / 2e5
}

#[test]
fn zipfian_requests_have_their_skew_and_are_scattered() {
    let store = zipfian(100_000, 1.0);
    let hottest = share_of_hottest(&store, 1000);
    // As in YCSB's test, but nothing collides.
    assert!((hottest - 0.610).abs() < 0.005, "{hottest}");
    let order = &store.shared.hot_keys.as_ref().unwrap().order;
    let low = (0..1000).filter(|&rank| order.at(rank) < 50_000).count();
    assert!((450..550).contains(&low), "{low} of the 1000 hottest keys are in the first half");
}

#[test]
fn a_smaller_copy_keeps_the_share_of_the_hottest_tenth() {
    let full = share_of_hottest(&zipfian(100_000, 1.0), 10_000);
    let [copy, drawn_anew] = [20.0, 1.0].map(|stands_for| share_of_hottest(&zipfian(5_000, stands_for), 500));
    assert!((copy - full).abs() < 0.005, "{copy} against {full}");
    assert!((drawn_anew - full).abs() > 0.03, "{drawn_anew} against {full}");
}

#[test]
fn scans_start_on_keys_that_exist_and_read_their_nexts() {
    let (store, engine) = loaded(Parameters { reads: 0, overwrites: 0, scans: 19, inserts: 1, ..small() });
    let plans = drive(&mut *store.client(0), &engine, 1000);
    assert_eq!(engine.seeks.load(Ordering::Relaxed), count(&plans, SCAN) as u64);
    assert!((count(&plans, INSERT) - 50.0).abs() < 25.0);
}

#[test]
fn writers_write_while_the_others_read() {
    let (store, engine) = loaded(Parameters { writers: 1, scans: 1, inserts: 1, ..small() });
    let [writes, reads] = [0, 1].map(|index| drive(&mut *store.client(index), &engine, 100));
    assert_eq!(count(&writes, OVERWRITE) + count(&writes, INSERT), 100.0);
    assert_eq!(count(&reads, READ) + count(&reads, SCAN), 100.0);
    assert!(reads.iter().all(|plan| plan.write_bytes == 0));
}

#[test]
fn parameters_that_do_not_fit_are_refused_by_name() {
    let refused = |parameters: Value| {
        let Value::Object(mut spec) = parameters else { panic!("not an object") };
        spec.insert("kind".to_owned(), json!("key_value"));
        build(&spec, Scale::FULL, CLIENTS, 1).err().expect("the spec is wrong").to_string()
    };
    for (parameters, message) in [
        (json!({"key_bytes": 7}), "workload.key_bytes: found 7"),
        (
            json!({"value_size_distribution": "lognormal", "largest_value_bytes": 400}),
            "workload.largest_value_bytes: found 400, accepted: more than value_bytes, which is 400",
        ),
        (json!({"writers": 3}), "workload.writers: found 3, accepted: at most the 2 clients"),
        (json!({"writes_per_second": 5}), "workload.writers: found 0, accepted: 1 or more"),
        (json!({"reads": 0, "overwrites": 0}), "workload.reads: found 0"),
        (json!({"overwrites": 0, "writers": 1}), "workload.overwrites: found 0"),
        (json!({"reads": 0, "writers": 1}), "workload.reads: found 0, accepted: 1 or more where clients are no"),
    ] {
        let found = refused(parameters);
        assert!(found.starts_with(message), "{found}");
    }
}

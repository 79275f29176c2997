use super::*;
use crate::run::engines::Engines;
use crate::run::same_again::{disks, flash, options, remains, workloads};
use crate::run::spec::Clock;
use serde_json::json;

const KEEPS_ALL: u64 = 1 << 30;

/// A run whose data was loaded before.
fn spec(engine: &str, device: &Value, workload: &Value, load: Value) -> Value {
    json!({"engine": engine, "options": options(engine), "workload": workload, "clock": "simulated",
        "hardware": {"cores": 2, "page_cache_bytes": 1 << 18, "device": device},
        "clients": 5, "seed": 3, "operations": 400, "warmup_seconds": 0.01, "interval_ms": 10, "load": load})
}

fn with(mut spec: Value, field: &str, value: Value) -> Value {
    spec[field] = value;
    spec
}

fn carried_out(loads: &LoadSnapshots, spec: Value, on_interval: &mut dyn FnMut(Value)) -> Result<End> {
    let run = CheckedSpec::new(spec, Arc::new(Engines))?;
    let Clock::Simulated(hardware) = &run.spec.clock else { panic!("the spec asks for the simulation") };
    run_from(loads, &run, hardware, &Arc::default(), on_interval)
}

fn end(loads: &LoadSnapshots, spec: Value) -> End {
    carried_out(loads, spec, &mut |_| ()).unwrap()
}

/// The size of the cache, in other than the usual options.
fn with_cache(engine: &str, bytes: u64) -> Value {
    let mut all = options(engine);
    all[if engine == "lsm" { "block_cache" } else { "innodb_buffer_pool_size" }] = json!(bytes);
    all
}

fn ends_the_same(engine: &str, device: &Value) {
    for workload in workloads() {
        let load = json!({"options": with_cache(engine, 1 << 20), "page_cache_bytes": 1 << 20, "seed": 7});
        let wanted = spec(engine, device, &workload, load);
        let alone = end(&LoadSnapshots::new(0), wanted.clone());
        let loads = LoadSnapshots::new(KEEPS_ALL);
        // Another run, which changes all that it finds, makes the load.
        let other = with(wanted.clone(), "options", with_cache(engine, 1 << 19));
        end(&loads, with(other, "seed", json!(4)));
        let after = end(&loads, wanted);
        let LoadCounts { loads: kept, hits, misses, .. } = loads.counts();
        assert_eq!((kept, hits, misses), (1, 1, 1));
        assert_eq!(remains(after), remains(alone), "{engine}: {workload}");
    }
}

#[test]
fn an_lsm_ends_the_same_from_a_load_that_another_run_made() {
    ends_the_same("lsm", &flash());
}

#[test]
fn a_btree_ends_the_same_from_a_load_that_another_run_made() {
    ends_the_same("btree", &disks());
}

fn ycsb(load: Value) -> Value {
    let load = with(load, "options", options("btree"));
    spec("btree", &flash(), &json!({"kind": "ycsb", "records": 1_000}), load)
}

/// The same with pages of another size, in the load and behind it.
fn with_larger_pages(mut spec: Value) -> Value {
    for options in ["/options", "/load/options"] {
        spec.pointer_mut(options).unwrap()["innodb_page_size"] = json!(8192);
    }
    spec
}

#[test]
fn intervals_of_a_load_that_was_kept_are_told_again() {
    let loads = LoadSnapshots::new(KEEPS_ALL);
    let told = || {
        let mut told = Vec::new();
        carried_out(&loads, ycsb(json!({})), &mut |interval| told.push(interval)).unwrap();
        told
    };
    let first = told();
    assert!(first.iter().any(|interval| interval["phase"] == "load"));
    assert_eq!(told(), first);
}

#[test]
fn whatever_shows_in_the_data_makes_a_load_of_its_own() {
    let loads = LoadSnapshots::new(KEEPS_ALL);
    let usual = || ycsb(json!({"seed": 1}));
    let mut hardware = usual()["hardware"].clone();
    hardware["device"]["channels"] = json!(5);
    let others = [
        ycsb(json!({"seed": 2})),
        with_larger_pages(usual()),
        ycsb(json!({"seed": 1, "page_cache_bytes": 8192})),
        with(usual(), "clients", json!(4)),
        with(usual(), "hardware", hardware),
        with(usual(), "scale", json!({"stands_for": 2.0})),
        with(usual(), "workload", json!({"kind": "ycsb", "records": 999})),
    ];
    end(&loads, usual());
    for (n, other) in others.into_iter().enumerate() {
        end(&loads, other);
        assert_eq!(loads.counts().misses, n as u64 + 2);
    }
    for (field, value) in [("seed", json!(9)), ("operations", json!(50)), ("memory_limit", json!(1 << 30))] {
        end(&loads, with(usual(), field, value));
    }
    let LoadCounts { hits, misses, .. } = loads.counts();
    assert_eq!((hits, misses), (3, 8));
}

#[test]
fn the_load_that_was_used_longest_ago_goes_first() {
    let loads = LoadSnapshots::new(KEEPS_ALL);
    let seeded = |seed: u64| ycsb(json!({"seed": seed}));
    end(&loads, seeded(1));
    let one = loads.counts().bytes;
    loads.limit(one * 5 / 2);
    for seed in [2, 1, 3] {
        end(&loads, seeded(seed));
    }
    assert_eq!(loads.counts().loads, 2);
    end(&loads, seeded(1));
    assert_eq!(loads.counts().misses, 3, "1 was used after 2");
    end(&loads, seeded(2));
    assert_eq!(loads.counts().misses, 4);
    loads.limit(0);
    assert_eq!((loads.counts().loads, loads.counts().bytes), (0, 0));
}

#[test]
fn threads_that_want_the_same_load_make_it_once() {
    let loads = LoadSnapshots::new(KEEPS_ALL);
    let reports: Vec<_> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| end(&loads, ycsb(json!({}))).report.to_string())).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!((loads.counts().misses, loads.counts().hits), (1, 3));
    assert!(reports.iter().all(|report| *report == reports[0]));
}

#[test]
fn a_load_that_fails_is_not_kept_and_nobody_waits_for_it() {
    let loads = LoadSnapshots::new(KEEPS_ALL);
    let mut full = ycsb(json!({}));
    full["hardware"]["device"]["capacity_bytes"] = json!(1 << 20);
    full["hardware"]["device"]["superblock_bytes"] = json!(8192);
    for times in 1..3 {
        assert!(carried_out(&loads, full.clone(), &mut |_| ()).is_err());
        assert_eq!((loads.counts().misses, loads.counts().loads), (times, 0));
    }
}

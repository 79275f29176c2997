//! The same spec and seed end the same to the last byte: every workload on both engines, with background work, on flash
//! and on disks.

use super::checked_spec::CheckedSpec;
use super::engines::Engines;
use super::simulated::{self, End};
use super::spec::Clock;
use serde_json::{Value, json};
use std::sync::Arc;

const CLIENTS: u32 = 5;

pub(super) fn workloads() -> Vec<Value> {
    let db_bench = |benchmark: &str| json!({"kind": "db_bench", "benchmark": benchmark, "keys": 8_000});
    vec![
        json!({"kind": "linkbench", "ids": 1_500, "load_batch_rows": 64}),
        db_bench("fillseq"),
        db_bench("fillrandom"),
        db_bench("overwrite"),
        db_bench("readrandom"),
        db_bench("readwhilewriting"),
        db_bench("seekrandom"),
        json!({"kind": "key_value", "keys": 4_000, "value_size_distribution": "normal", "inserts": 1, "scans": 1,
            "absent_share": 0.2, "distribution": "zipfian"}),
        json!({"kind": "key_value", "keys": 4_000, "key_order": "sequential", "writers": 1,
            "writes_per_second": 20_000, "requests_per_second": 100_000, "value_size_distribution": "lognormal"}),
        json!({"kind": "ycsb", "mix": "A", "records": 1_000}),
        json!({"kind": "ycsb", "mix": "D", "records": 1_000}),
        json!({"kind": "ycsb", "mix": "E", "records": 1_000}),
        json!({"kind": "insert_benchmark", "rows": 2_000, "rows_per_commit": 20, "query_clients": 2,
            "delete_per_insert": true}),
        json!({"kind": "sysbench", "table_size": 4_000, "distribution": "pareto", "load_batch_rows": 64}),
        json!({"kind": "tpcc", "items": 1_000, "customers_per_district": 60, "load_batch_rows": 64}),
    ]
}

pub(super) fn flash() -> Value {
    json!({"kind": "flash", "capacity_bytes": 1 << 26, "over_provisioning": 0.07, "fullness": 0.1, "channels": 4,
        "read_latency_us": 90.0, "write_latency_us": 30.0, "sync_us": 100.0, "read_mb_per_s": 400.0,
        "write_mb_per_s": 200.0, "link_mb_per_s": 1500.0, "buffer_bytes": 1 << 20, "page_bytes": 4096,
        "superblock_bytes": 1 << 20, "victim": "greedy", "moved_pages": "apart", "rated_cycles": 3000.0})
}

pub(super) fn disks() -> Value {
    json!({"kind": "disk_array", "disks": 4, "capacity_bytes": 1_u64 << 40, "stripe_bytes": 1 << 20,
        "min_seek_us": 300.0, "max_seek_us": 7800.0, "rpm": 10_000.0, "mb_per_s": 150.0, "write_cache_bytes": 0})
}

/// Sizes at which a few hundred operations flush, compact, evict and checkpoint.
pub(super) fn options(engine: &str) -> Value {
    match engine {
        "lsm" => json!({"write_buffer_size": 65_536, "max_bytes_for_level_base": 131_072,
            "target_file_size_base": 65_536, "block_cache": 131_072, "max_background_jobs": 2,
            "filter_policy": "bloomfilter:10:false", "bottommost_compression": "kZSTD"}),
        _ => json!({"innodb_page_size": 4096, "innodb_buffer_pool_size": 262_144,
            "innodb_redo_log_capacity": 1 << 20, "innodb_page_cleaners": 2,
            "innodb_compression_algorithm": "zlib"}),
    }
}

fn end(engine: &str, device: &Value, workload: &Value, seed: u64) -> End {
    let spec = json!({"engine": engine, "options": options(engine), "workload": workload, "clock": "simulated",
        "hardware": {"cores": 2, "page_cache_bytes": 1 << 18, "device": device},
        "clients": CLIENTS, "seed": seed, "operations": 600,
        "warmup_seconds": 0.01, "interval_ms": 10});
    let run = CheckedSpec::new(spec, Arc::new(Engines)).unwrap();
    let Clock::Simulated(hardware) = &run.spec.clock else { panic!("the spec asks for the simulation") };
    simulated::run(&run, hardware, &Arc::default(), &mut |_| ()).unwrap()
}

/// All that must come again: report, clock, and what each client would draw next.
pub(super) fn remains(end: End) -> (String, u64, Vec<Option<u64>>) {
    let draws: Vec<_> = end.clients.iter().map(|client| client.next_random()).collect();
    assert!(draws.len() == CLIENTS as usize && draws.iter().all(Option::is_some), "{draws:?}");
    (end.report.to_string(), end.now_ns, draws)
}

fn same_again(engine: &str, device: &Value) {
    for workload in workloads() {
        let first = end(engine, device, &workload, 3);
        let written = first.report["load"]["written_bytes"].as_u64().unwrap();
        let fills = workload["benchmark"].as_str().is_some_and(|benchmark| benchmark.starts_with("fill"));
        assert!(fills || written > 0, "{workload}: nothing was written in the background");
        let first = remains(first);
        assert_eq!(remains(end(engine, device, &workload, 3)), first, "{engine}: {workload}");
        assert_ne!(remains(end(engine, device, &workload, 4)).0, first.0, "{engine}: {workload}");
    }
}

#[test]
fn an_lsm_on_flash_ends_the_same() {
    same_again("lsm", &flash());
}

#[test]
fn an_lsm_on_disks_ends_the_same() {
    same_again("lsm", &disks());
}

#[test]
fn a_btree_on_flash_ends_the_same() {
    same_again("btree", &flash());
}

#[test]
fn a_btree_on_disks_ends_the_same() {
    same_again("btree", &disks());
}

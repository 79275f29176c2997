//! The spec of a run, as it comes from Python: of every workload and both clocks, with values that nobody would give.

use super::mutate::scripts;
use super::target::{Target, without_checksum};
use crate::error::Error;
use crate::run::Run;
use serde_json::{Value, json};

/// [`Run::new`] with a script: which seed, then triples of which field (two bytes) and which value it gets instead.
pub const TARGET: Target = Target { name: "spec", seeds: || scripts(10), repair: without_checksum, decode: check };

fn specs() -> Vec<Value> {
    let flash = json!({"kind": "flash", "capacity_bytes": 1 << 26, "over_provisioning": 0.07, "fullness": 0.1,
        "channels": 4, "read_latency_us": 90.0, "write_latency_us": 30.0, "sync_us": 100.0, "read_mb_per_s": 400.0,
        "write_mb_per_s": 200.0, "link_mb_per_s": 1500.0, "buffer_bytes": 1 << 20, "page_bytes": 4096,
        "superblock_bytes": 1 << 20, "victim": "greedy", "moved_pages": "apart", "rated_cycles": 3000.0});
    let cloud = json!({"kind": "cloud_volume", "capacity_bytes": 1 << 30, "iops": 100.0, "mb_per_s": 10.0,
        "request_bytes": 4096, "read_latency_us": 1.0, "write_latency_us": 1.0});
    let workloads = [
        json!({"kind": "linkbench", "ids": 1_500, "load_batch_rows": 64}),
        json!({"kind": "db_bench", "benchmark": "fillrandom", "keys": 8_000}),
        json!({"kind": "key_value", "keys": 4_000, "value_size_distribution": "uniform", "distribution": "zipfian",
            "writers": 1, "writes_per_second": 100}),
        json!({"kind": "ycsb", "mix": "A", "records": 1_000}),
        json!({"kind": "insert_benchmark", "rows": 2_000, "rows_per_commit": 20, "query_clients": 2}),
        json!({"kind": "sysbench", "table_size": 4_000, "distribution": "pareto", "load_batch_rows": 64}),
        json!({"kind": "tpcc", "items": 1_000, "customers_per_district": 60, "load_batch_rows": 64}),
    ];
    let spec = |(n, workload): (usize, &Value)| {
        let (engine, options) = match n % 2 {
            0 => ("lsm", json!({"write_buffer_size": 1 << 20, "compression": "kZSTD", "prefix_extractor": "fixed:4"})),
            _ => ("btree", json!({"innodb_page_size": 4096, "key_block_size": 0, "innodb_io_capacity": 10})),
        };
        let mut spec = json!({"engine": engine, "options": options, "workload": workload, "clients": 2, "seed": 1,
            "seconds": 2.0, "operations": 100, "warmup": {"most_seconds": 1.0, "most_operations": 5},
            "interval_ms": 100, "keep": false, "memory_limit": 1 << 30,
            "scale": {"stands_for": 10.0, "second_us": 50_000, "only_draws": n % 2 == 0},
            "binary_log": {"sync_binlog": 1, "max_binlog_size": 1 << 20, "binlog_row_image": "FULL"}});
        if n % 3 == 0 {
            spec["directory"] = json!("/x");
        } else {
            spec["clock"] = json!("simulated");
            let device = if n % 3 == 1 { &flash } else { &cloud };
            spec["hardware"] = json!({"cores": 2, "page_cache_bytes": 1 << 20, "device": device,
                "cost": {"work_ns": {"compare": 1.0}, "slowdown": 1.5, "statement_wait_us": 1.0,
                    "statement_cold_us": 1.0, "statement_cools_us": 1.0,
                    "write_turning_us": 1.0, "calls": {"innodb": {"point_read": 970}}}});
        }
        spec
    };
    workloads.iter().enumerate().map(spec).collect()
}

fn values() -> Vec<Value> {
    vec![
        json!(0),
        json!(1),
        json!(-1),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1u64 << 32),
        json!(1u64 << 53),
        json!(255),
        json!(4096),
        json!(0.0),
        json!(-0.0),
        json!(0.5),
        json!(1e-308),
        json!(1e308),
        json!(99.999),
        json!(""),
        json!("x"),
        json!("fixed:18446744073709551615"),
        json!("bloomfilter:1e308"),
        json!("9".repeat(4300)),
        json!("\u{0}\u{ffff}"),
        json!([]),
        json!({}),
        json!([[[{}]]]),
        json!(null),
        json!(true),
        json!(false),
        json!({"kind": "ycsb"}),
        json!("none"),
        json!("all"),
        json!("1:2:3"),
    ]
}

/// Pointers to everything in a value.
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    if let Value::Object(map) = value {
        for (name, inner) in map {
            let place = format!("{at}/{name}");
            places(inner, &place, out);
            out.push(place);
        }
    }
}

fn check(script: &[u8]) {
    let Some((seed, edits)) = script.split_first() else { return };
    let (mut specs, values) = (specs(), values());
    let mut spec = specs.swap_remove(usize::from(*seed) % specs.len());
    for edit in edits.chunks_exact(3) {
        let mut all = Vec::new();
        places(&spec, "", &mut all);
        let place = all.get(usize::from(u16::from_le_bytes([edit[0], edit[1]])) % all.len().max(1));
        if let Some(field) = place.and_then(|place| spec.pointer_mut(place)) {
            field.clone_from(&values[usize::from(edit[2]) % values.len()]);
        }
    }
    match Run::new(spec) {
        Ok(_) => {}
        Err(Error::Invalid { field, accepted, .. }) => {
            assert!(!field.is_empty() && !accepted.is_empty(), "{field}: {accepted}");
        }
        Err(error) => panic!("a spec is refused without its field: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specs_to_be_damaged_are_good_themselves() {
        for spec in specs() {
            Run::new(spec).map(drop).unwrap();
        }
    }
}

//! Whether a short phase tells what a long one does: what it leaves undone is paid, and it has whole cycles.

use super::checked_spec::CheckedSpec;
use super::engines::Engines;
use super::simulated;
use super::spec::Clock;
use serde_json::{Value, json};
use std::sync::Arc;

fn flash() -> Value {
    json!({"kind": "flash", "capacity_bytes": 1 << 30, "over_provisioning": 0.1, "fullness": 0.0, "channels": 8,
        "read_latency_us": 90.0, "write_latency_us": 30.0, "sync_us": 100.0, "read_mb_per_s": 400.0,
        "write_mb_per_s": 200.0, "link_mb_per_s": 1500.0, "buffer_bytes": 1 << 20, "page_bytes": 4096,
        "superblock_bytes": 1 << 20, "victim": "greedy", "moved_pages": "apart", "rated_cycles": 3000.0})
}

/// Operations of warm-up and measured phase.
struct Asked {
    warmup: u64,
    measured: u64,
}

fn run(engine: &str, options: &Value, workload: &Value, asked: &Asked) -> Value {
    run_with(engine, options, workload, asked.measured, &json!({"warmup": {"most_operations": asked.warmup}}))
}

fn run_with(engine: &str, options: &Value, workload: &Value, operations: u64, length: &Value) -> Value {
    let mut spec = json!({"engine": engine, "options": options, "workload": workload, "clock": "simulated",
        "hardware": {"cores": 4, "page_cache_bytes": 1 << 18, "device": flash()},
        "clients": 4, "operations": operations});
    spec.as_object_mut().unwrap().extend(length.as_object().unwrap().clone());
    let run = CheckedSpec::new(spec, Arc::new(Engines)).unwrap();
    let Clock::Simulated(hardware) = &run.spec.clock else { panic!("the spec asks for the simulation") };
    simulated::run(&run, hardware, &Arc::default(), &mut |_| ()).unwrap().report
}

fn metric(report: &Value, name: &str) -> f64 {
    report["metrics"][name].as_f64().unwrap()
}

/// Operations per second of the phase itself.
fn seen(report: &Value) -> f64 {
    report["operations"].as_f64().unwrap() / report["seconds"].as_f64().unwrap()
}

fn lsm(trigger: u64, slowdown: u64, stop: u64) -> Value {
    json!({"write_buffer_size": 65_536, "max_bytes_for_level_base": 262_144, "target_file_size_base": 65_536,
        "level0_file_num_compaction_trigger": trigger, "level0_slowdown_writes_trigger": slowdown,
        "level0_stop_writes_trigger": stop, "block_cache": 262_144})
}

fn ycsb(mix: &str) -> Value {
    json!({"kind": "ycsb", "mix": mix, "records": 2_000})
}

#[test]
fn a_window_is_charged_with_what_it_leaves_undone() {
    // Writers may run far ahead of compactions.
    let lenient = lsm(12, 63, 80);
    let overwrites = json!({"kind": "db_bench", "benchmark": "overwrite", "keys": 20_000});
    let short = run("lsm", &lenient, &overwrites, &Asked { warmup: 2_000, measured: 20_000 });
    let long = run("lsm", &lenient, &overwrites, &Asked { warmup: 2_000, measured: 120_000 });
    assert!(seen(&short) > 2.0 * seen(&long), "{} and {} operations a second", seen(&short), seen(&long));
    for name in ["ops_per_s", "write_kb_per_op", "write_amp"] {
        let ratio = metric(&short, name) / metric(&long, name);
        assert!((0.9..1.1).contains(&ratio), "{name}: {} and {}", metric(&short, name), metric(&long, name));
    }
    assert!(metric(&short, "debt_s") > short["seconds"].as_f64().unwrap());
    let changed = short["steadiness"]["changed_in_run"].as_array().unwrap();
    assert!(changed.iter().any(|change| change["series"] == "debt_bytes"), "{changed:?}");
}

#[test]
fn work_that_the_background_has_time_for_costs_bytes_and_no_time() {
    // They end with more dirty pages than they began with: of cycles of the cleaner, not at the end of one.
    for (server, operations) in [("mysql", 10_000), ("mariadb", 6_000)] {
        let options = json!({"innodb_buffer_pool_size": 1 << 20, "innodb_redo_log_capacity": 1 << 20,
            "innodb_server": server});
        let report = run("btree", &options, &ycsb("A"), &Asked { warmup: 2_000, measured: operations });
        assert!(report["debt"]["after_bytes"].as_u64() > report["debt"]["before_bytes"].as_u64(), "{server}");
        let written = report["bytes"].as_object().unwrap().values().map(|one| one["written_bytes"].as_f64().unwrap());
        let kb_per_op = written.sum::<f64>() / 1024.0 / operations as f64;
        assert_eq!(metric(&report, "debt_s"), 0.0, "{server}");
        assert!((metric(&report, "ops_per_s") / seen(&report) - 1.0).abs() < 1e-9, "{server}");
        assert!(report["debt"]["written_bytes"].as_u64().unwrap() > 0, "{server}");
        assert!(metric(&report, "write_kb_per_op") > kb_per_op, "{server}");
    }
}

#[test]
fn a_phase_with_cycles_of_level_0_ends_with_one() {
    let updates = |measured| run("lsm", &lsm(4, 20, 36), &ycsb("B"), &Asked { warmup: 10_000, measured });
    let (one, other) = (updates(23_000), updates(26_000));
    assert_eq!(one["operations"], other["operations"]);
    assert_eq!(one["metrics"], other["metrics"]);
    assert_eq!(one["engine_details"]["level0_files"], 0.0);
}

/// From settled to settled.
fn settled(engine: &str, options: &Value, workload: &Value, operations: u64) -> Value {
    let length = json!({"warmup_operations": 2_000, "ends": "settled"});
    run_with(engine, options, workload, operations, &length)
}

#[test]
fn a_phase_from_settled_to_settled_does_what_it_was_asked_and_pays_for_all_of_it() {
    let overwrites = json!({"kind": "db_bench", "benchmark": "overwrite", "keys": 20_000});
    let report = settled("lsm", &lsm(12, 63, 80), &overwrites, 20_000);
    assert_eq!((&report["operations"], &report["steady"]), (&json!(20_000), &Value::Null));
    let (phase, paid) = (report["seconds"].as_f64().unwrap(), report["debt"]["seconds"].as_f64().unwrap());
    assert!(paid > 0.0 && (metric(&report, "debt_s") - paid).abs() < 1e-9);
    assert!((metric(&report, "ops_per_s") * (phase + paid) / 20_000.0 - 1.0).abs() < 1e-9);
    // What is left to settle is as little as before, so nobody owes what the phase wrote.
    let long = settled("lsm", &lsm(12, 63, 80), &overwrites, 80_000);
    let ratio = metric(&report, "write_amp") / metric(&long, "write_amp");
    assert!((0.85..1.15).contains(&ratio), "{} and {}", metric(&report, "write_amp"), metric(&long, "write_amp"));
}

#[test]
fn with_level_0_emptied_before_it_a_phase_of_few_writes_pays_for_those_alone() {
    let overwrites = json!({"kind": "db_bench", "benchmark": "overwrite", "keys": 20_000});
    let merged = |empties: bool| {
        // Whatever number of files a warm-up leaves there, of a trigger of four.
        [500, 1_000, 1_500, 2_000, 2_500, 3_000].map(|warmup| {
            let length = json!({"warmup_operations": warmup, "ends": "settled", "empties_level0": empties});
            let report = run_with("lsm", &lsm(4, 20, 36), &overwrites, 100, &length);
            report["bytes"]["compaction"]["written_bytes"].as_u64().unwrap_or(0)
                + report["debt"]["written_bytes"].as_u64().unwrap()
        })
    };
    let (emptied, as_it_is) = (merged(true), merged(false));
    let flushed = 100 * 116;
    assert!(emptied.iter().all(|bytes| (1..4 * flushed).contains(bytes)), "{emptied:?}");
    assert!(as_it_is.iter().any(|bytes| *bytes > 20 * flushed), "{as_it_is:?}");
}

#[test]
fn a_b_tree_that_ends_settled_is_charged_with_bytes_and_not_with_the_time_of_a_forced_flush() {
    let options = json!({"innodb_buffer_pool_size": 1 << 20, "innodb_redo_log_capacity": 1 << 20});
    let report = settled("btree", &options, &ycsb("A"), 6_000);
    assert!(report["debt"]["written_bytes"].as_u64().unwrap() > 0);
    assert_eq!(report["metrics"].get("debt_s"), None);
    assert!((metric(&report, "ops_per_s") / seen(&report) - 1.0).abs() < 1e-9);
}

#[test]
fn a_phase_without_writes_has_no_debt_and_no_cycles() {
    for engine in ["lsm", "btree"] {
        let report = run(engine, &json!({}), &ycsb("C"), &Asked { warmup: 2_000, measured: 6_000 });
        assert_eq!((&report["operations"], metric(&report, "debt_s")), (&json!(6_000), 0.0), "{engine}");
        assert_eq!(report["debt"]["written_bytes"], 0, "{engine}");
    }
}

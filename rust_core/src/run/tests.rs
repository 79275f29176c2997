use super::checked_spec::{CheckedSpec, Opener, WantedEngine};
use super::engines::Engines;
use super::halt::Halt;
use super::run::Run;
use super::simulated;
use super::spec::Clock;
use crate::engine::EngineStats;
use crate::engine::{Engine, EngineKind};
use crate::error::{Error, Result};
use crate::storage::FileOptions;
use crate::storage::Storage;
use crate::storage::gated::{Gate, GatedStorage, Operation, Pass};
use crate::task::Admission;
use crate::task::{Signal, Task, panics};
use crate::workload::model_engine::ModelEngine;
use parking_lot::Mutex;
use serde_json::json;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Opens the model engine, with one made-up option.
#[derive(Default)]
struct ModelOpener {
    engine: Arc<ModelEngine>,
}

impl Opener for ModelOpener {
    fn options(&self, _kind: EngineKind, given: &Map<String, Value>) -> Result<Map<String, Value>> {
        match given.keys().next() {
            None => Ok(Map::from_iter([("cache".to_owned(), json!(8))])),
            Some(name) => Err(Error::invalid(format!("options.{name}"), &given[name], "no option")),
        }
    }

    fn open(
        &self,
        _wanted: &WantedEngine<'_>,
        storage: Arc<dyn Storage>,
        _signal: Arc<Signal>,
        task: &mut Task,
    ) -> Result<Arc<dyn Engine>> {
        storage.create(task, "000001.log", FileOptions::DIRECT)?;
        Ok(self.engine.clone())
    }
}

fn spec(directory: &Path, workload: Value, more: Value) -> Value {
    let mut spec = json!({"engine": "lsm", "workload": workload, "directory": directory.join("run")});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec
}

fn model_run(workload: Value, more: Value) -> (Run, Arc<ModelEngine>, tempfile::TempDir) {
    let (directory, engine) = (tempfile::tempdir().unwrap(), Arc::new(ModelEngine::default()));
    let opener = Arc::new(ModelOpener { engine: engine.clone() });
    let run = Run::with_opener(spec(directory.path(), workload, more), opener).unwrap();
    (run, engine, directory)
}

fn small_ycsb() -> Value {
    json!({"kind": "ycsb", "records": 500})
}

fn endless_ycsb() -> Value {
    json!({"kind": "ycsb", "records": 1_000_000_000, "load_batch_rows": 10})
}

#[test]
fn a_run_reports_exactly_the_operations_that_were_asked_for() {
    let more = json!({"operations": 5_000, "clients": 3, "seed": 9});
    let (run, engine, directory) = model_run(small_ycsb(), more);
    run.start();
    let report = run.report().unwrap();
    assert_eq!((&report["operations"], &report["clients"], &report["seed"]), (&json!(5_000), &json!(3), &json!(9)));
    assert_eq!((&report["clock"], &report["engine"]), (&json!("measured"), &json!("lsm")));
    assert_eq!(report["options"], json!({"cache": 8}));
    assert_eq!(report["workload"]["kind"], "ycsb");
    assert_eq!(report["load"]["operations"], 500);
    assert_eq!(report["load"]["live_bytes"], engine.live_bytes());
    assert_eq!(report["engine_details"]["entries"], 500.0);
    let by_operation = report["by_operation"].as_object().unwrap();
    let counted: u64 = by_operation.values().map(|one| one["count"].as_u64().unwrap()).sum();
    assert_eq!(counted, 5_000);
    assert_eq!(report["metrics"]["stall_s"], 0.0);
    assert!(!directory.path().join("run").exists());
}

#[test]
fn intervals_are_polled_once_and_add_up_to_the_report() {
    let (run, _engine, _directory) = model_run(small_ycsb(), json!({"operations": 20_000, "interval_ms": 10}));
    run.start();
    assert!(run.wait(None) && run.is_finished());
    let polled = run.poll();
    let report = run.report().unwrap();
    assert_eq!(json!(polled), report["intervals"]);
    assert!(run.poll().is_empty());
    let of_phase = |phase: &str| -> u64 {
        let intervals = polled.iter().filter(|interval| interval["phase"] == phase);
        intervals.map(|interval| interval["operations"].as_u64().unwrap()).sum()
    };
    assert_eq!((of_phase("load"), of_phase("warmup"), of_phase("run")), (500, 0, 20_000));
}

#[test]
fn a_warm_up_is_not_scored() {
    let more = json!({"operations": 100, "warmup_seconds": 0.02});
    let (run, engine, _directory) = model_run(json!({"kind": "ycsb", "records": 500, "mix": "F"}), more);
    run.start();
    let report = run.report().unwrap();
    assert_eq!(report["operations"], 100);
    let intervals = report["intervals"].as_array().unwrap();
    assert!(intervals.iter().any(|interval| interval["phase"] == "warmup"));
    // The meters of the model are silent, so that nothing can be said about storage.
    let EngineStats { user_bytes_written, .. } = engine.stats();
    assert!(user_bytes_written > 0);
    assert!(report["metrics"].get("cache_hit_ratio").is_none());
    assert!(report["metrics"].get("bloom_false_positive_ratio").is_none());
}

#[test]
fn the_same_spec_with_one_client_ends_in_the_same_state() {
    let state = |seed: u64| {
        let workload = json!({"kind": "linkbench", "ids": 1_000});
        let (run, engine, _directory) = model_run(workload, json!({"operations": 3_000, "seed": seed}));
        run.start();
        let mut counts = run.report().unwrap()["by_operation"].clone();
        counts.as_object_mut().unwrap().values_mut().for_each(|one| *one = one["count"].take());
        (engine.state_hash(), counts)
    };
    assert_eq!(state(3), state(3));
    assert_ne!(state(3).0, state(4).0);
}

#[test]
fn a_phase_ends_when_all_its_clients_do() {
    let workload = json!({"kind": "db_bench", "benchmark": "fillseq", "keys": 1_000});
    let (run, engine, _directory) = model_run(workload, json!({"seconds": 1000, "clients": 2}));
    run.start();
    assert_eq!(run.report().unwrap()["operations"], 1_000);
    assert_eq!(engine.entries().len(), 1_000);
}

#[test]
fn a_cancelled_load_ends_and_removes_its_files() {
    let (run, _engine, directory) = model_run(endless_ycsb(), json!({"seconds": 1}));
    run.start();
    assert!(!run.wait(Some(Duration::ZERO)));
    run.cancel();
    assert!(run.wait(None));
    assert!(matches!(run.report(), Err(Error::Cancelled)));
    assert!(!directory.path().join("run").exists());
}

#[test]
fn clients_that_wait_for_admission_are_cancelled_too() {
    let (run, engine, _directory) = model_run(small_ycsb(), json!({"seconds": 1000}));
    *engine.admission.lock() = Some(Admission::Wait);
    run.start();
    run.cancel();
    assert!(matches!(run.report(), Err(Error::Cancelled)));
}

#[test]
fn delays_are_stalls_of_the_average_client() {
    let workload = json!({"kind": "db_bench", "benchmark": "fillrandom", "keys": 100});
    let (run, engine, _directory) = model_run(workload, json!({"operations": 10, "clients": 2}));
    *engine.admission.lock() = Some(Admission::Delay { micros: 1000 });
    run.start();
    let report = run.report().unwrap();
    let stall_s = report["metrics"]["stall_s"].as_f64().unwrap();
    assert!(stall_s >= 0.005 && stall_s <= report["seconds"].as_f64().unwrap(), "{stall_s}");
}

#[test]
fn an_engine_that_outgrows_its_memory_fails_the_run() {
    let (run, engine, _directory) = model_run(endless_ycsb(), json!({"seconds": 1000, "memory_limit": 1000}));
    engine.memory_bytes.store(1001, Ordering::Relaxed);
    run.start();
    assert!(matches!(run.report(), Err(Error::MemoryLimit { used: 1001, limit: 1000 })));
}

#[test]
fn an_error_of_any_client_ends_the_run_with_it() {
    let (run, engine, directory) = model_run(small_ycsb(), json!({"seconds": 1000, "clients": 4}));
    *engine.writes_left.lock() = Some(20);
    run.start();
    for _ in 0..2 {
        let message = run.report().unwrap_err().to_string();
        assert!(message.contains("no writes left"), "{message}");
    }
    assert!(!directory.path().join("run").exists());
}

#[test]
fn a_background_error_ends_a_run_that_only_reads() {
    let workload = json!({"kind": "ycsb", "mix": "C", "records": 100});
    let (run, engine, _directory) = model_run(workload, json!({"seconds": 1000, "interval_ms": 10}));
    run.start();
    while !run.poll().iter().any(|interval| interval["phase"] == "run") {
        assert!(!run.wait(Some(Duration::from_millis(1))), "{:?}", run.report());
    }
    engine.poison(&Error::corruption("000007.sst", 4096, "checksum"));
    assert!(matches!(run.report(), Err(Error::Poisoned { .. })));
}

#[test]
fn a_run_that_was_not_started_does_not_end() {
    let (run, _engine, directory) = model_run(small_ycsb(), json!({"seconds": 1}));
    assert!(!run.wait(None) && !run.is_finished() && run.poll().is_empty());
    assert!(matches!(run.report(), Err(Error::Invalid { .. })));
    assert!(!directory.path().join("run").exists(), "nothing is touched before the start");
}

#[test]
fn wrong_parts_of_a_spec_are_refused_before_anything_runs() {
    let directory = tempfile::tempdir().unwrap();
    for (workload, more, field) in [
        (json!({"kind": "linkbench", "ids": 0}), json!({"seconds": 1}), "workload.ids"),
        (small_ycsb(), json!({"seconds": 1, "options": {"cash": 1}}), "options.cash"),
        (small_ycsb(), json!({"seconds": 1, "hardware": {}}), "hardware"),
    ] {
        let run = Run::with_opener(spec(directory.path(), workload, more), Arc::new(ModelOpener::default()));
        let message = run.err().expect("the spec is wrong").to_string();
        assert!(message.starts_with(field), "{message}");
    }
}

fn simulated(workload: Value, more: Value) -> Run {
    simulated_by(Arc::default(), workload, more)
}

fn volume() -> Value {
    json!({
        "kind": "cloud_volume", "capacity_bytes": 1_u64 << 40, "iops": 3000.0, "mb_per_s": 125.0,
        "request_bytes": 262_144, "read_latency_us": 500.0, "write_latency_us": 700.0,
    })
}

fn simulated_by(engine: Arc<ModelEngine>, workload: Value, more: Value) -> Run {
    let device = volume();
    let mut spec = json!({
        "engine": "lsm", "workload": workload, "clock": "simulated", "hardware": {"cores": 2, "device": device},
    });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Run::with_opener(spec, Arc::new(ModelOpener { engine })).unwrap()
}

#[test]
fn a_simulated_run_gives_the_same_report_to_the_last_byte() {
    let report = |seed: u64| {
        let workload = json!({"kind": "linkbench", "ids": 1_000});
        let run = simulated(workload, json!({"operations": 3_000, "clients": 5, "seed": seed}));
        run.start();
        run.report().unwrap()
    };
    let first = report(3);
    assert_eq!((&first["clock"], &first["operations"]), (&json!("simulated"), &json!(3_000)));
    assert_eq!(first["hardware"]["cores"], 2);
    assert_eq!(report(3).to_string(), first.to_string());
    assert_ne!(report(4).to_string(), first.to_string());
}

/// Reads of what one client loaded and the background wrote out.
fn reads(engine: &str, more: Value) -> Value {
    let mut spec = json!({
        "engine": engine, "workload": {"kind": "ycsb", "mix": "C", "records": 2_000}, "operations": 3_000,
    });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let run = Run::new(spec).unwrap();
    run.start();
    run.report().unwrap()
}

#[test]
fn the_same_reads_are_the_same_work_and_io_under_both_clocks() {
    let device = volume();
    for (engine, options) in [
        // One sorted run: how many files level 0 would be left with depends on the timing of flushes.
        ("lsm", json!({"block_cache": 262_144, "write_buffer_size": 524_288, "level0_file_num_compaction_trigger": 1})),
        // A pool that holds all: what a small one has left after the load depends on the timing of its cleaners.
        ("btree", json!({"innodb_buffer_pool_size": 67_108_864})),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let measured = reads(engine, json!({"options": options, "directory": directory.path().join("run")}));
        let hardware = json!({"cores": 2, "device": device});
        let simulated = reads(engine, json!({"options": options, "clock": "simulated", "hardware": hardware}));
        for kind in ["operation", "call", "cache_lookup"] {
            assert_eq!(measured["work"][kind], simulated["work"][kind], "{engine}: {kind}");
            assert!(measured["work"][kind].as_u64().unwrap() >= 3_000, "{engine}: {kind}");
        }
        for metric in ["reads_per_op", "read_kb_per_op", "read_amp"] {
            let value = |report: &Value, metric: &str| report["metrics"][metric].as_f64().unwrap();
            // A simulated device reads the sectors around a block of any length: half of one more at either end.
            let around =
                if metric == "read_kb_per_op" { value(&simulated, "reads_per_op") * 511.0 / 1024.0 } else { 0.0 };
            let (one, other) = (value(&measured, metric) + around, value(&simulated, metric));
            assert!((one - other).abs() <= 0.05 * one.max(other), "{engine}: {metric} {one} and {other}");
        }
    }
}

/// Device reads per read of [`reads`] with so much memory for a page cache.
fn device_reads(engine: &str, options: &Value, page_cache_bytes: u64) -> f64 {
    let device = volume();
    let hardware = json!({"cores": 2, "device": device, "page_cache_bytes": page_cache_bytes});
    let report = reads(engine, json!({"options": options, "clock": "simulated", "hardware": hardware}));
    assert_eq!(report["page_cache"].is_null(), page_cache_bytes == 0);
    report["metrics"]["reads_per_op"].as_f64().unwrap()
}

#[test]
fn a_page_cache_spares_an_lsm_device_reads_unless_they_are_direct() {
    let with = |more: Value| {
        let mut options = json!({"block_cache": 262_144, "write_buffer_size": 524_288});
        options.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        options
    };
    let (buffered, all) = (with(json!({})), 64 << 20);
    let without = device_reads("lsm", &buffered, 0);
    let some = device_reads("lsm", &buffered, 1 << 20);
    assert!(without > 0.4 && some < 0.9 * without, "{without} and {some}");
    assert_eq!(device_reads("lsm", &buffered, all).to_bits(), 0);
    let unwritten = device_reads("lsm", &with(json!({"use_direct_io_for_flush_and_compaction": true})), all);
    assert!(0.0 < unwritten && unwritten < 0.6 * without, "each page is read once: {unwritten}");
    let direct = with(json!({"use_direct_reads": true}));
    assert_eq!(device_reads("lsm", &direct, all).to_bits(), without.to_bits());
}

#[test]
fn a_btree_reads_its_pages_past_the_page_cache() {
    let options = json!({"innodb_buffer_pool_size": 1 << 20});
    let [without, with] = [0, 64 << 20].map(|page_cache| device_reads("btree", &options, page_cache));
    assert!(without > 0.1 && without.to_bits() == with.to_bits(), "{without} and {with}");
}

/// Metrics of a B-tree in which little fits, written at random.
fn written(device: &Value, options: Value) -> Value {
    let mut given = json!({
        "innodb_page_size": 4096, "innodb_buffer_pool_size": 1_048_576, "innodb_redo_log_capacity": 1_048_576,
    });
    given.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    let run = Run::new(json!({
        "engine": "btree", "options": given, "operations": 4_000, "clock": "simulated",
        "hardware": {"cores": 2, "device": device},
        "workload": {"kind": "key_value", "keys": 10_000, "reads": 0, "overwrites": 1},
    }));
    let run = run.unwrap();
    run.start();
    run.report().unwrap()["metrics"].take()
}

#[test]
fn neighbours_go_along_where_the_device_rotates_and_in_mysql() {
    let pages = |device: &Value, server: &str, neighbours: u8| {
        let options = json!({"innodb_server": server, "innodb_flush_neighbors": neighbours});
        written(device, options)["write_kb_per_op"].as_f64().unwrap()
    };
    let disk = json!({
        "kind": "disk_array", "capacity_bytes": 1_u64 << 40, "disks": 1, "stripe_bytes": 65_536, "rpm": 7200.0,
        "min_seek_us": 500.0, "max_seek_us": 10_000.0, "mb_per_s": 150.0, "write_cache_bytes": 0,
    });
    assert_eq!(pages(&volume(), "mariadb", 2), pages(&volume(), "mariadb", 0));
    assert_ne!(pages(&volume(), "mysql", 2), pages(&volume(), "mysql", 0));
    assert_ne!(pages(&disk, "mariadb", 2), pages(&disk, "mariadb", 0));
}

#[test]
fn the_space_of_a_btree_is_that_of_its_pages() {
    let space = |options: Value| written(&volume(), options)["disk_bytes"].as_f64().unwrap();
    let small = space(json!({"innodb_server": "mysql", "innodb_doublewrite": false}));
    // The log grows with what was written until it is full.
    let other = json!({"innodb_server": "mysql", "innodb_redo_log_capacity": 33_554_432, "innodb_doublewrite": false});
    assert_eq!(space(other), small);
    assert_eq!(space(json!({"innodb_server": "mysql", "innodb_doublewrite": true})), small);
}

#[test]
fn direct_io_is_refused_for_real_files() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["use_direct_reads", "use_direct_io_for_flush_and_compaction"] {
        let run = Run::new(spec(directory.path(), small_ycsb(), json!({"seconds": 1, "options": {name: true}})));
        let message = run.err().expect("real files are buffered").to_string();
        assert_eq!(message, format!("options.{name}: found true, accepted: false under the measured clock"));
    }
}

fn on_flash(engine: &str) -> Value {
    let device = json!({
        "kind": "flash", "capacity_bytes": 256 << 20, "over_provisioning": 0.28, "fullness": 0.1, "channels": 32,
        "read_latency_us": 100.0, "write_latency_us": 20.0, "sync_us": 20.0, "read_mb_per_s": 2000.0,
        "write_mb_per_s": 1000.0, "link_mb_per_s": 3000.0, "buffer_bytes": 1 << 20, "page_bytes": 4096,
        "superblock_bytes": 1 << 20, "victim": "greedy", "moved_pages": "apart", "rated_cycles": 3000.0,
    });
    json!({
        "engine": engine, "clock": "simulated", "operations": 4000,
        "hardware": {"cores": 2, "page_cache_bytes": 1 << 20, "device": device},
        "workload": {"kind": "ycsb", "records": 4000}, "clients": 2,
    })
}

/// Opens the real engines on the storage that it makes of the run's own.
struct On<F>(F);

impl<F: Fn(Arc<dyn Storage>) -> Arc<dyn Storage> + Send + Sync> Opener for On<F> {
    fn options(&self, kind: EngineKind, given: &Map<String, Value>) -> Result<Map<String, Value>> {
        Engines.options(kind, given)
    }

    fn open(
        &self,
        wanted: &WantedEngine<'_>,
        storage: Arc<dyn Storage>,
        signal: Arc<Signal>,
        task: &mut Task,
    ) -> Result<Arc<dyn Engine>> {
        Engines.open(wanted, (self.0)(storage), signal, task)
    }
}

#[test]
fn every_byte_of_a_simulated_run_has_a_purpose_and_reaches_the_flash() {
    for engine in ["lsm", "btree"] {
        let kept = Arc::<Mutex<Option<Arc<dyn Storage>>>>::default();
        let keeps = kept.clone();
        let keep = move |storage: Arc<dyn Storage>| keeps.lock().insert(storage).clone();
        let run = Run::with_opener(on_flash(engine), Arc::new(On(keep))).unwrap();
        run.start();
        let report = run.report().unwrap();
        let storage = kept.lock().take().unwrap();
        let total = storage.meters().snapshot().total();
        assert_eq!((total.written_bytes, total.read_bytes), (storage.written_bytes(), storage.read_bytes()));
        // What the operating system still holds back of a log has not reached the device yet.
        let held_back = 1 << 20;
        let of_run: u64 =
            report["bytes"].as_object().unwrap().values().map(|one| one["written_bytes"].as_u64().unwrap()).sum();
        let metrics = &report["metrics"];
        let (device, nand) = (metrics["device_bytes"].as_f64().unwrap(), metrics["nand_bytes"].as_f64().unwrap());
        assert!(device + held_back as f64 >= of_run as f64, "{metrics}");
        assert!(nand >= device, "{metrics}");
        assert!(metrics["drive_years"].as_f64().unwrap() > 0.0);
        // Only the LSM removes files while it runs.
        let [trimmed, written] =
            ["trimmed_bytes", "written_bytes"].map(|name| report["device"][name].as_f64().unwrap());
        assert_eq!(
            (trimmed > 0.2 * written, trimmed > 0.0),
            (engine == "lsm", engine == "lsm"),
            "{}",
            report["device"]
        );
    }
}

#[test]
fn a_simulated_run_is_cancelled_too() {
    let run = simulated(endless_ycsb(), json!({"seconds": 1}));
    run.start();
    run.cancel();
    assert!(matches!(run.report(), Err(Error::Cancelled)));
}

/// Counts the accesses of the real engines, and asks the run to stop at one of them.
#[derive(Clone)]
struct Stopper {
    halt: Arc<Halt>,
    seen: Arc<AtomicU64>,
    stops_at: u64,
}

impl Gate for Stopper {
    fn before(&self, _operation: Operation, _name: &str) -> Result<Pass> {
        if self.seen.fetch_add(1, Ordering::Relaxed) + 1 == self.stops_at {
            self.halt.ask();
        }
        Ok(Pass::Through)
    }
}

/// Runs on flash until access `stops_at`, and returns the result and how many accesses there were.
fn stopped_at(engine: &str, stops_at: u64) -> (Result<Value>, u64) {
    let stopper = Stopper { halt: Arc::default(), seen: Arc::default(), stops_at };
    let gate = stopper.clone();
    let counted = move |storage| Arc::new(GatedStorage::behind(gate.clone(), storage)) as Arc<dyn Storage>;
    let run = CheckedSpec::new(on_flash(engine), Arc::new(On(counted))).unwrap();
    let Clock::Simulated(hardware) = &run.spec.clock else { panic!("not simulated") };
    let result = simulated::run(&run, hardware, &stopper.halt, &mut |_| {});
    (result.map(|end| end.report), stopper.seen.load(Ordering::Relaxed))
}

#[test]
fn a_simulated_run_makes_few_accesses_after_it_is_cancelled_in_any_phase() {
    for engine in ["lsm", "btree"] {
        let (result, total) = stopped_at(engine, u64::MAX);
        result.unwrap();
        for stops_at in (1..10).map(|tenth| total * tenth / 10) {
            let (result, seen) = stopped_at(engine, stops_at);
            assert!(matches!(result, Err(Error::Cancelled)), "{engine} at {stops_at}");
            assert!(seen - stops_at <= 4, "{engine}: {} accesses after {stops_at} of {total}", seen - stops_at);
        }
    }
}

#[test]
fn the_error_of_a_run_tells_what_panicked_and_where() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        panics::keep(panic);
        before(panic);
    }));
    let (measured, engine, _directory) = model_run(small_ycsb(), json!({"operations": 10}));
    let virtual_engine = Arc::<ModelEngine>::default();
    let virtual_run = simulated_by(virtual_engine.clone(), small_ycsb(), json!({"operations": 10}));
    for (run, engine, who) in [(measured, engine, "a client"), (virtual_run, virtual_engine, "the run")] {
        engine.panics.store(true, Ordering::Relaxed);
        run.start();
        let message = run.report().unwrap_err().to_string();
        let expected = format!("{who} panicked: told to panic at src/workload/model_engine.rs:");
        assert!(message.contains(&expected), "{message}");
    }
}

#[test]
fn a_warm_up_lasts_until_nothing_changes_any_more() {
    let workload = json!({"kind": "ycsb", "records": 1_000, "mix": "C"});
    let run = simulated(workload, json!({"operations": 20_000, "clients": 3, "warmup": {"most_operations": 40_000}}));
    run.start();
    let report = run.report().unwrap();
    assert_eq!((&report["steady"], &report["operations"]), (&json!(true), &json!(20_000)), "{}", report["steadiness"]);
    let warmup = report["steadiness"]["warmup_operations"].as_u64().unwrap();
    assert!((10_000..12_000).contains(&warmup), "twice a quarter of the measured phase, not {warmup}");
}

#[test]
fn a_warm_up_whose_budget_ends_first_is_not_yet_steady() {
    let workload = json!({"kind": "ycsb", "records": 1_000, "mix": "C"});
    let run = simulated(workload, json!({"operations": 20_000, "warmup": {"most_operations": 5_000}}));
    run.start();
    let report = run.report().unwrap();
    assert_eq!((&report["steady"], &report["operations"]), (&json!(false), &json!(20_000)));
    assert_eq!(report["steadiness"]["is_warm"], false);
    assert_eq!(report["steadiness"]["changed_in_run"], json!([]));
}

#[test]
fn a_measured_run_is_judged_too_and_a_fixed_warm_up_is_not() {
    let (run, _engine, _directory) = model_run(small_ycsb(), json!({"seconds": 0.1, "warmup": {"most_seconds": 0.2}}));
    run.start();
    // Half a second of real time is too short to expect a verdict, not to have one.
    let report = run.report().unwrap();
    assert!(report["steady"].is_boolean());
    assert!(report["steadiness"]["warmup_operations"].as_u64().unwrap() > 0);
    let (run, _engine, _directory) = model_run(small_ycsb(), json!({"operations": 500, "warmup_seconds": 0.02}));
    run.start();
    let report = run.report().unwrap();
    assert!(report["steady"].is_null() && report["steadiness"].is_null());
}

/// A run on the real engines, under either clock.
fn real(engine: &str, clock: &str, directory: &Path, more: Value) -> Value {
    let device = volume();
    let mut spec = json!({"engine": engine, "clock": clock});
    match clock {
        "simulated" => spec["hardware"] = json!({"cores": 2, "device": device}),
        _ => spec["directory"] = json!(directory.join(engine)),
    }
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let run = Run::new(spec).unwrap();
    run.start();
    run.report().unwrap()
}

#[test]
fn an_engine_is_settled_between_load_and_warm_up_under_both_clocks() {
    let directory = tempfile::tempdir().unwrap();
    for clock in ["measured", "simulated"] {
        for (engine, options, drained) in [
            // An empty memtable holds the first block of its arena.
            (
                "lsm",
                json!({"write_buffer_size": 65_536}),
                &[("memtable_bytes", 8192.0), ("immutable_memtables", 0.0), ("compaction_pending_bytes", 0.0)][..],
            ),
            ("btree", json!({}), &[("dirty_pages", 0.0)][..]),
        ] {
            let workload = json!({"kind": "ycsb", "records": 2_000, "mix": "C"});
            let more = json!({"options": options, "workload": workload, "operations": 1});
            let details = real(engine, clock, directory.path(), more)["engine_details"].clone();
            for (name, left) in drained {
                assert_eq!(details[name], *left, "{clock} {engine} {name}");
            }
        }
    }
}

#[test]
fn what_only_reads_finds_level0_merged_whatever_its_load_left() {
    let directory = tempfile::tempdir().unwrap();
    for clock in ["measured", "simulated"] {
        let level0_files = |workload: Value, trigger: u64| {
            let options = json!({"write_buffer_size": 65_536, "level0_file_num_compaction_trigger": trigger});
            let more = json!({"options": options, "workload": workload, "operations": 1});
            real("lsm", clock, directory.path(), more)["engine_details"]["level0_files"].as_f64().unwrap()
        };
        for trigger in [4, 20] {
            let readers = [
                json!({"kind": "ycsb", "records": 2_000, "mix": "C"}),
                json!({"kind": "db_bench", "benchmark": "seekrandom", "keys": 4_000}),
                json!({"kind": "key_value", "keys": 4_000, "overwrites": 0}),
                json!({"kind": "sysbench", "script": "oltp_point_select", "table_size": 4_000}),
            ];
            for workload in readers {
                assert_eq!(level0_files(workload.clone(), trigger), 0.0, "{clock} {workload}");
            }
        }
        assert!(level0_files(json!({"kind": "ycsb", "records": 500, "mix": "A"}), 20) > 0.0, "{clock}");
    }
}

#[test]
fn a_run_that_ends_before_its_memtable_is_full_is_not_yet_steady() {
    let directory = tempfile::tempdir().unwrap();
    let steady = |write_buffer_size: u64| {
        let more = json!({
            "options": {"write_buffer_size": write_buffer_size, "max_bytes_for_level_base": 4 * write_buffer_size},
            "workload": {"kind": "ycsb", "records": 2_000, "mix": "A"},
            "clients": 2, "operations": 20_000, "warmup": {"most_operations": 20_000},
        });
        real("lsm", "simulated", directory.path(), more)
    };
    let report = steady(64 << 20);
    assert_eq!(report["steady"], false);
    let changed = report["steadiness"]["changed_in_run"].as_array().unwrap();
    assert!(changed.iter().any(|change| change["series"] == "memtable_bytes"), "{changed:?}");
    let report = steady(256 << 10);
    assert_eq!(report["steady"], true, "{}", report["steadiness"]);
}

#[test]
fn a_warm_up_until_the_cache_is_full_ends_when_it_is() {
    let directory = tempfile::tempdir().unwrap();
    // A block cache fills with what is read; a pool, which a load leaves full, with what is inserted.
    let ycsb = json!({"kind": "ycsb", "records": 30_000, "mix": "C"});
    let inserts = json!({"kind": "insert_benchmark", "rows": 2000, "data_bytes": 1000});
    let pool = json!({"innodb_buffer_pool_size": 16 << 20, "innodb_lru_scan_depth": 100});
    for (engine, options, workload) in [("lsm", json!({"block_cache": 4 << 20}), ycsb), ("btree", pool, inserts)] {
        let warmed = |cache_share: f64| {
            let more = json!({
                "options": options, "workload": workload, "interval_ms": 10, "operations": 1,
                "warmup": {"cache_share": cache_share, "most_operations": 100_000},
            });
            let report = real(engine, "simulated", directory.path(), more);
            assert!(report["steadiness"].is_null());
            let intervals = report["intervals"].as_array().unwrap().iter();
            let of_warmup = intervals.filter(|interval| interval["phase"] == "warmup");
            of_warmup.map(|interval| interval["operations"].as_u64().unwrap()).sum::<u64>()
        };
        let (half, whole) = (warmed(0.5), warmed(0.97));
        assert!(half > 0 && half < whole && whole < 20_000, "{engine}: {half}, {whole}");
    }
}

#[test]
fn a_machine_that_speaks_for_a_product_adds_what_its_calls_cost() {
    let device = volume();
    let reads = |calls: Value| {
        let hardware = json!({"cores": 2, "device": device, "cost": {"slowdown": 2.0, "calls": calls}});
        let run = Run::new(json!({
            "engine": "lsm", "clock": "simulated", "hardware": hardware, "operations": 1000,
            "workload": {"kind": "db_bench", "benchmark": "readrandom", "keys": 1000},
        }));
        let run = run.unwrap();
        run.start();
        run.report().unwrap()
    };
    let cpu_us = |report: &Value| report["metrics"]["cpu_us_per_op"].as_f64().unwrap();
    let own = reads(json!({}));
    let called = reads(json!({"rocksdb": {"point_read": 700.0}, "innodb": {"point_read": 9e6}}));
    assert!((cpu_us(&called) - cpu_us(&own) - 1.4).abs() < 1e-3, "{} {}", cpu_us(&called), cpu_us(&own));
    assert_eq!((&own["work"]["point_read"], &called["work"]["point_read"]), (&Value::Null, &json!(1000)));
    let other = reads(json!({"myrocks": {"point_read": 9e6}}));
    assert_eq!(cpu_us(&other), cpu_us(&own));
}

#[test]
fn writers_of_a_library_do_all_that_a_write_takes_one_after_the_other() {
    let writes = |clients: u32, calls: Value| {
        let hardware = json!({"cores": 8, "device": volume(), "cost": {"calls": calls}});
        let run = Run::new(json!({
            "engine": "lsm", "clock": "simulated", "hardware": hardware, "operations": 1000, "clients": clients,
            "workload": {"kind": "db_bench", "benchmark": "overwrite", "keys": 1000},
        }));
        let run = run.unwrap();
        run.start();
        run.report().unwrap()["metrics"]["ops_per_s"].as_f64().unwrap()
    };
    let calls = json!({"rocksdb": {"commit": 60_000.0, "key_change": 40_000.0}});
    let (alone, four) = (writes(1, calls.clone()), writes(4, calls));
    assert!(alone > 9_000.0 && four > alone && four < 10_000.0, "{alone} {four}");
    assert!(writes(4, json!({})) > 100_000.0);
}

#[test]
fn calls_that_no_product_has_are_refused_by_name() {
    let device = volume();
    for (calls, field) in [
        (json!({"sqlite": {}}), "hardware.cost.calls"),
        (json!({"innodb": {"compare": 1.0}}), "hardware.cost.calls.innodb.compare"),
        (json!({"innodb": {"commit": -1.0}}), "hardware.cost.calls.innodb.commit"),
    ] {
        let refused = Run::new(json!({
            "engine": "btree", "clock": "simulated", "operations": 1, "workload": small_ycsb(),
            "hardware": {"cores": 2, "device": device, "cost": {"calls": calls}},
        }));
        let Err(Error::Invalid { field: found, .. }) = refused else { panic!("{field} was taken") };
        assert_eq!(found, field);
    }
}

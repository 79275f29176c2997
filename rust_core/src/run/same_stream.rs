//! The same workload leaves the same rows in our engines and in a real RocksDB: one stream of draws drives them all.

use super::checked_spec::{Opener, WantedEngine};
use super::engines::Engines;
use crate::engine::{Engine, EngineKind};
use crate::real::test_library::library;
use crate::real::{RocksDb, RocksDbOptions};
use crate::scale::Scale;
use crate::storage::MemoryStorage;
use crate::task::Task;
use crate::workload::model_engine::ModelEngine;
use crate::workload::{self, Workload};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

const OPERATIONS: u64 = 20_000;

fn of_keys() -> Vec<Value> {
    vec![
        json!({"kind": "db_bench", "benchmark": "overwrite", "keys": 8_000}),
        json!({"kind": "db_bench", "benchmark": "fillrandom", "keys": 8_000}),
        json!({"kind": "key_value", "keys": 4_000, "inserts": 1, "scans": 1, "absent_share": 0.2,
            "value_size_distribution": "normal"}),
        json!({"kind": "ycsb", "mix": "A", "records": 2_000}),
        json!({"kind": "ycsb", "mix": "E", "records": 2_000}),
    ]
}

fn of_tables() -> Vec<Value> {
    vec![
        json!({"kind": "linkbench", "ids": 2_000}),
        json!({"kind": "insert_benchmark", "rows": 10_000, "rows_per_commit": 20, "delete_per_insert": true}),
        json!({"kind": "sysbench", "table_size": 4_000}),
    ]
}

/// Loads, and carries out so many operations of one client.
fn drive(spec: &Value, engine: &dyn Engine) {
    let workload = built(spec);
    let mut task = Task::wall(0);
    for (mut client, most) in [(workload.loader(0), u64::MAX), (workload.client(0), OPERATIONS)] {
        let mut done = 0;
        while done < most {
            let Some(plan) = client.plan(0) else { break };
            client.execute(engine, &mut task).unwrap();
            done += plan.operations;
        }
    }
}

fn built(spec: &Value) -> Arc<dyn Workload> {
    workload::build(spec.as_object().unwrap(), Scale::FULL, 1, 7).unwrap()
}

/// An engine of ours whose buffers hold everything, so that nothing waits for background work.
fn ours(kind: EngineKind, options: Value, spec: &Value) -> Arc<dyn Engine> {
    let options = Engines.options(kind, options.as_object().unwrap()).unwrap();
    let wanted = WantedEngine { kind, options: &options, layout: built(spec).layout(), scale: Scale::FULL };
    let storage = Arc::new(MemoryStorage::new(Arc::default()));
    Engines.open(&wanted, storage, Arc::default(), &mut Task::wall(0)).unwrap()
}

/// Holds every entry of the model against the engine.
fn agree(name: &str, spec: &Value, engine: &dyn Engine, model: &ModelEngine) {
    let (mut task, mut value) = (Task::wall(0), Vec::new());
    for (key, expected) in model.entries() {
        let is_there = engine.get(&mut task, &key, &mut value).unwrap();
        assert!(is_there && value == expected, "{name}: {spec}: {key:?}");
    }
}

/// Holds the number of an engine's entries against the model; ours of a B-tree are in a tree for each index.
fn count(engine: &dyn Engine) -> usize {
    let mut task = Task::wall(0);
    let mut entries = engine.iterator(&mut task).unwrap();
    entries.seek(&mut task, &[]).unwrap();
    let mut found = 0;
    while entries.valid() {
        found += 1;
        entries.next(&mut task).unwrap();
    }
    found
}

fn real(library: String, directory: &Path) -> RocksDb {
    RocksDb::open(directory, &RocksDbOptions { library, ..RocksDbOptions::default() }).unwrap()
}

fn leave_the_same_rows(workloads: Vec<Value>) {
    for spec in workloads {
        let model = ModelEngine::default();
        drive(&spec, &model);
        let expected = model.entries().len();
        assert!(expected > 1_000, "{spec}: {expected}");
        let lsm = ours(EngineKind::Lsm, json!({"write_buffer_size": 256 << 20}), &spec);
        drive(&spec, &*lsm);
        agree("lsm", &spec, &*lsm, &model);
        assert_eq!(count(&*lsm), expected, "lsm: {spec}");
        let large = json!({"innodb_buffer_pool_size": 256 << 20, "innodb_redo_log_capacity": 512 << 20});
        let btree = ours(EngineKind::Btree, large, &spec);
        drive(&spec, &*btree);
        agree("btree", &spec, &*btree, &model);
        let Some(library) = library() else { continue };
        let directory = tempfile::tempdir().unwrap();
        let rocksdb = real(library, directory.path());
        drive(&spec, &rocksdb);
        agree("rocksdb", &spec, &rocksdb, &model);
        assert_eq!(count(&rocksdb), expected, "rocksdb: {spec}");
    }
}

#[test]
fn workloads_of_keys_leave_the_same_rows() {
    leave_the_same_rows(of_keys());
}

#[test]
fn workloads_of_tables_leave_the_same_rows() {
    leave_the_same_rows(of_tables());
}

#[test]
fn the_wholesale_company_leaves_the_same_rows() {
    leave_the_same_rows(vec![json!({"kind": "tpcc", "items": 1_000, "customers_per_district": 60})]);
}

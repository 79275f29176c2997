//! The same workload leaves the same rows in our engines, in a real RocksDB, and in real servers with InnoDB and
//! MyRocks: one stream of draws drives them all.

use super::checked_spec::{Opener, WantedEngine};
use super::engines::Engines;
use crate::engine::{Engine, EngineKind};
use crate::real::test_library::library;
use crate::real::test_server::server;
use crate::real::{RocksDb, RocksDbOptions, SqlServer, StorageEngine};
use crate::scale::Scale;
use crate::session::Value as Column;
use crate::storage::MemoryStorage;
use crate::task::Task;
use crate::workload::model_engine::ModelEngine;
use crate::workload::{self, Client, Workload};
use serde_json::{Value, json};
use std::collections::BTreeMap;
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

/// Loads, and carries out so many operations of one client, each by `carry_out`.
fn drive_by(workload: &dyn Workload, mut carry_out: impl FnMut(&mut dyn Client)) {
    for (mut client, most) in [(workload.loader(0), u64::MAX), (workload.client(0), OPERATIONS)] {
        let mut done = 0;
        while done < most {
            let Some(plan) = client.plan(0) else { break };
            carry_out(&mut *client);
            done += plan.operations;
        }
    }
}

fn drive(spec: &Value, engine: &dyn Engine) {
    let mut task = Task::wall(0);
    drive_by(&*built(spec), |client| client.execute(engine, &mut task).unwrap());
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

/// Drives a server and holds its rows against the model's.
fn hold_server(server: &SqlServer, spec: &Value, model: &ModelEngine) {
    let engine = server.product();
    let workload = built(spec);
    let tables = workload.tables().expect("a workload of tables");
    server.run(&tables.create).unwrap();
    let mut session = server.session().unwrap();
    drive_by(&*workload, |client| client.speak(&mut *session).unwrap());
    server.run(&tables.finish).unwrap();
    let mut expected = BTreeMap::<String, Vec<Vec<String>>>::new();
    for (key, value) in model.entries() {
        if let Some(row) = (tables.row_of)(&key, &value) {
            expected.entry(row.table).or_default().push(shown(&row.columns));
        }
    }
    for (table, mut rows) in expected {
        let stored = session.query("test", &format!("SELECT * FROM {table}"), &[]).unwrap();
        let mut stored: Vec<_> = stored.iter().map(|row| shown(row)).collect();
        rows.sort();
        stored.sort();
        assert_eq!(stored.len(), rows.len(), "{engine}: {spec}: rows of {table}");
        let other = stored.iter().zip(&rows).find(|(stored, row)| stored != row);
        assert_eq!(other, None, "{engine}: {spec}: {table}: the server's and ours");
    }
    if tables.knows_growth {
        assert_eq!(workload.live_bytes(), live_bytes(spec), "{engine}: {spec}");
    }
}

/// What the workload knows after it drove one of our engines.
fn live_bytes(spec: &Value) -> u64 {
    let (workload, model, mut task) = (built(spec), ModelEngine::default(), Task::wall(0));
    drive_by(&*workload, |client| client.execute(&model, &mut task).unwrap());
    workload.live_bytes()
}

/// Columns as a server would print them, whatever their types.
fn shown(columns: &[Column]) -> Vec<String> {
    let shown = columns.iter().map(|column| match (column, column.integer()) {
        (_, Some(number)) => number.to_string(),
        (Column::Bytes(text), None) => String::from_utf8_lossy(text).into_owned(),
        (other, None) => format!("{other:?}"),
    });
    shown.collect()
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

/// One server for each engine; the tables of the workloads have names of their own.
fn leave_the_same_rows_in_servers(workloads: &[Value]) {
    let models = workloads.iter().map(|spec| {
        let model = ModelEngine::default();
        drive(spec, &model);
        (spec, model)
    });
    let models: Vec<_> = models.collect();
    for engine in [StorageEngine::InnoDb, StorageEngine::MyRocks] {
        let directory = tempfile::tempdir().unwrap();
        let settings = "innodb_flush_log_at_trx_commit=0\nloose_rocksdb_flush_log_at_trx_commit=0";
        let Some(server) = server(directory.path(), engine, settings) else { return };
        models.iter().for_each(|(spec, model)| hold_server(&server, spec, model));
    }
}

#[test]
fn workloads_of_tables_leave_the_same_rows_in_servers() {
    let sysbench = json!({"kind": "sysbench", "table_size": 4_000, "tables": 2});
    leave_the_same_rows_in_servers(&[sysbench]);
}

#[test]
fn the_wholesale_company_leaves_the_same_rows() {
    leave_the_same_rows(vec![json!({"kind": "tpcc", "items": 1_000, "customers_per_district": 60})]);
}

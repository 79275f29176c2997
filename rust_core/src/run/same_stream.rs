//! The same workload leaves the same rows in our engines, in a real RocksDB, and in real servers with InnoDB and
//! MyRocks: one stream of draws drives them all.

use super::checked_spec::{Opener, WantedEngine};
use super::engines::Engines;
use crate::engine::{Engine, EngineKind};
use crate::error::{Error, Result};
use crate::real::test_library::library;
use crate::real::test_server::server;
use crate::real::{RocksDb, RocksDbOptions, SqlServer, StorageEngine};
use crate::scale::Scale;
use crate::session::{Session, StoredRow, Value as Column};
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
        json!({"kind": "key_value", "keys": 4_000, "inserts": 1, "value_size_distribution": "lognormal",
            "value_size_sigma": 1.5, "requests_per_second": 1_000}),
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

/// Carries out so many operations of a client, each by `carry_out`, and returns what it would draw next.
fn drive_client(mut client: Box<dyn Client>, most: u64, carry_out: &mut dyn FnMut(&mut dyn Client)) -> Option<u64> {
    let mut done = 0;
    while done < most {
        let Some(plan) = client.plan(0) else { break };
        carry_out(&mut *client);
        done += plan.operations;
    }
    client.next_random()
}

/// Operations on a server. Transactions of twenty statements take minutes there: all of them run with `make verify`.
fn operations_of_servers(spec: &Value) -> u64 {
    let is_long = ["sysbench", "tpcc"].contains(&spec["kind"].as_str().unwrap_or_default());
    if is_long && std::env::var("TUNEBENCH_VERIFY").is_err() { OPERATIONS / 20 } else { OPERATIONS }
}

/// Loads, and carries out so many operations of one client, which says what it would draw next.
fn drive_by(workload: &dyn Workload, most: u64, mut carry_out: impl FnMut(&mut dyn Client)) -> Option<u64> {
    drive_client(workload.loader(0), u64::MAX, &mut carry_out);
    drive_client(workload.client(0), most, &mut carry_out)
}

fn drive(spec: &Value, most: u64, engine: &dyn Engine) {
    let mut task = Task::wall(0);
    drive_by(&*built(spec), most, |client| client.execute(engine, &mut task).unwrap());
}

/// Queries of the insert benchmark, which leave nothing that could be held against a model.
fn hold_queries(server: &SqlServer) {
    for version in ["current", "2012"] {
        let spec = json!({"kind": "insert_benchmark", "version": version, "rows": 5_000, "query_clients": 1});
        let workload = workload::build(spec.as_object().unwrap(), Scale::FULL, 1, 7).unwrap();
        let tables = workload.tables().unwrap();
        server.run(&tables.create).unwrap();
        let mut session = server.session().unwrap();
        drive_client(workload.loader(0), u64::MAX, &mut |client| client.speak(&mut *session).unwrap());
        server.run(&tables.finish).unwrap();
        drive_client(workload.client(0), 50, &mut |client| client.speak(&mut *session).unwrap());
        drop_tables(server, &mut *session);
    }
}

fn drop_tables(server: &SqlServer, session: &mut dyn Session) {
    for table in session.query("test", "SHOW TABLES", &[]).unwrap() {
        let [Column::Bytes(name)] = &table[..] else { panic!("{table:?}") };
        server.run(&[format!("DROP TABLE {}", String::from_utf8_lossy(name))]).unwrap();
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

/// A session in which another transaction is in the way now and then, as a server says it.
struct Hindered {
    session: Box<dyn Session>,
    statements: u64,
    conflict: bool,
    tries_again: bool,
}

/// A prime, so that all statements of a transaction have their turn.
const STATEMENTS_PER_CONFLICT: u64 = 53;

impl Hindered {
    fn new(session: Box<dyn Session>) -> Self {
        Self { session, statements: 0, conflict: false, tries_again: false }
    }

    fn session(&mut self) -> Result<&mut dyn Session> {
        self.statements += u64::from(!self.tries_again);
        self.conflict = !self.tries_again && self.statements.is_multiple_of(STATEMENTS_PER_CONFLICT);
        if self.conflict { Err(Error::poisoned("a deadlock")) } else { Ok(&mut *self.session) }
    }

    /// As runs do, but a transaction may have more statements than there are until the next conflict: it has only one.
    fn carry_out(&mut self, client: &mut dyn Client) {
        if let Err(error) = client.speak(self) {
            assert!(self.take_conflict(), "{error}");
            self.rollback().unwrap();
            self.tries_again = true;
            client.speak(self).unwrap();
            self.tries_again = false;
        }
    }
}

impl Session for Hindered {
    fn query(&mut self, name: &'static str, text: &str, values: &[Column]) -> Result<Vec<Vec<Column>>> {
        self.session()?.query(name, text, values)
    }

    fn read(&mut self, name: &'static str, text: &str, values: &[Column]) -> Result<u64> {
        self.session()?.read(name, text, values)
    }

    fn execute(&mut self, name: &'static str, text: &str, values: &[Column]) -> Result<u64> {
        self.session()?.execute(name, text, values)
    }

    fn begin(&mut self) -> Result<()> {
        self.session.begin()
    }

    fn commit(&mut self) -> Result<()> {
        self.session()?.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.session.rollback()
    }

    fn insert(&mut self, rows: &[StoredRow]) -> Result<()> {
        self.session()?.insert(rows)
    }

    fn take_conflict(&mut self) -> bool {
        std::mem::take(&mut self.conflict)
    }
}

/// Drives a server, with conflicts, and holds its rows against the model's.
fn hold_server(server: &SqlServer, spec: &Value, model: &ModelEngine) {
    let engine = server.product();
    let workload = built(spec);
    let tables = workload.tables().expect("a workload of tables");
    server.run(&tables.create).unwrap();
    let mut session = Hindered::new(server.session().unwrap());
    drive_client(workload.loader(0), u64::MAX, &mut |client| session.carry_out(client));
    server.run(&tables.finish).unwrap();
    let most = operations_of_servers(spec);
    let next = drive_client(workload.client(0), most, &mut |client| session.carry_out(client));
    let mut session = session.session;
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
    let (next_of_model, live_bytes) = left_of(spec, most);
    assert_eq!(next, next_of_model, "{engine}: {spec}: the next draw");
    if tables.knows_growth {
        assert_eq!(workload.live_bytes(), live_bytes, "{engine}: {spec}");
    }
    drop_tables(server, &mut *session);
}

/// What a client would draw next, and how many bytes the workload knows of, after it drove one of our engines.
fn left_of(spec: &Value, most: u64) -> (Option<u64>, u64) {
    let (workload, model, mut task) = (built(spec), ModelEngine::default(), Task::wall(0));
    let next = drive_by(&*workload, most, |client| client.execute(&model, &mut task).unwrap());
    (next, workload.live_bytes())
}

/// Columns as a server would print them, whatever the types of their integers.
fn shown(columns: &[Column]) -> Vec<String> {
    let shown = columns.iter().map(|column| match (column, column.integer()) {
        (Column::Bytes(text), _) => text.escape_ascii().to_string(),
        (_, Some(number)) => number.to_string(),
        (other, None) => format!("{other:?}"),
    });
    shown.collect()
}

fn leave_the_same_rows(workloads: Vec<Value>) {
    for spec in workloads {
        let model = ModelEngine::default();
        drive(&spec, OPERATIONS, &model);
        let expected = model.entries().len();
        assert!(expected > 1_000, "{spec}: {expected}");
        let lsm = ours(EngineKind::Lsm, json!({"write_buffer_size": 256 << 20}), &spec);
        drive(&spec, OPERATIONS, &*lsm);
        agree("lsm", &spec, &*lsm, &model);
        assert_eq!(count(&*lsm), expected, "lsm: {spec}");
        let large = json!({"innodb_buffer_pool_size": 256 << 20, "innodb_redo_log_capacity": 512 << 20});
        let btree = ours(EngineKind::Btree, large, &spec);
        drive(&spec, OPERATIONS, &*btree);
        agree("btree", &spec, &*btree, &model);
        let Some(library) = library() else { continue };
        let directory = tempfile::tempdir().unwrap();
        let rocksdb = real(library, directory.path());
        drive(&spec, OPERATIONS, &rocksdb);
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

/// One server for each engine, which has the tables of one workload at a time.
fn leave_the_same_rows_in_servers(workloads: &[Value]) {
    let models = workloads.iter().map(|spec| {
        let model = ModelEngine::default();
        drive(spec, operations_of_servers(spec), &model);
        (spec, model)
    });
    let models: Vec<_> = models.collect();
    for engine in [StorageEngine::InnoDb, StorageEngine::MyRocks] {
        let directory = tempfile::tempdir().unwrap();
        let settings = "innodb_flush_log_at_trx_commit=0\nloose_rocksdb_flush_log_at_trx_commit=0";
        let Some(server) = server(directory.path(), engine, settings) else { return };
        for (spec, model) in &models {
            hold_server(&server, spec, model);
        }
        hold_queries(&server);
    }
}

#[test]
fn workloads_of_tables_leave_the_same_rows_in_servers() {
    leave_the_same_rows_in_servers(&[
        json!({"kind": "sysbench", "table_size": 4_000, "tables": 2}),
        json!({"kind": "linkbench", "ids": 2_000, "list_limit": 2, "history_percent": 10.0}),
        json!({"kind": "insert_benchmark", "rows": 10_000, "rows_per_commit": 20, "delete_per_insert": true}),
        json!({"kind": "insert_benchmark", "rows": 10_000, "rows_per_commit": 20, "delete_per_insert": true,
            "version": "2012"}),
        json!({"kind": "tpcc", "items": 1_000, "customers_per_district": 60}),
    ]);
}

#[test]
fn the_wholesale_company_leaves_the_same_rows() {
    leave_the_same_rows(vec![json!({"kind": "tpcc", "items": 1_000, "customers_per_district": 60})]);
}

use super::schema::{PRIMARY, Purchase};
use super::{Current, FIRST_ID, INSERT, InsertBenchmark, Of2012, Parameters, Purchases, QUERY_MARKET, Table};
use crate::engine::Engine;
use crate::random::Random;
use crate::scale::Scale;
use crate::session::{Session, Value as Column};
use crate::table::row_bytes;
use crate::workload::model_engine::ModelEngine;
use crate::workload::test_drive::{by_index, drive, load};
use crate::workload::test_session::Recorded;
use crate::workload::{Workload, build};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

type Full = Purchases<Current, 3>;

fn small() -> Parameters {
    Parameters { rows: 1000, rows_per_commit: 50, ..Parameters::default() }
}

/// Checks that the entries of each index are exactly those of the rows, and returns the rows.
fn check_indexes<T: Table>(workload: &dyn Workload, engine: &ModelEngine) -> Vec<Purchase> {
    let indexes = by_index(engine);
    let rows: Vec<Purchase> = indexes[&PRIMARY].iter().map(|(key, value)| T::decode(key, value).unwrap()).collect();
    assert_eq!(indexes.len(), 1 + T::SECONDARY_INDEXES);
    for index in 0..T::SECONDARY_INDEXES {
        let expected: BTreeSet<Vec<u8>> = rows
            .iter()
            .map(|row| {
                let mut key = Vec::new();
                T::index_key(row, index, &mut key);
                key
            })
            .collect();
        let found: BTreeSet<_> = indexes[&(PRIMARY + 1 + index as u32)].iter().map(|(key, _)| key.clone()).collect();
        assert!(found == expected, "index {index} differs from the rows");
    }
    assert_eq!(workload.live_bytes(), engine.live_bytes());
    rows
}

fn runs<T: Table>(data_bytes: u64) {
    let workload = InsertBenchmark::<T>::new(Parameters { data_bytes, ..small() }, 1, 7);
    let engine = ModelEngine::default();
    assert_eq!(load(&workload, &engine, 1), 1000);
    drive(&mut *workload.client(0), &engine, 10);
    let rows = check_indexes::<T>(&workload, &engine);
    assert!(rows.iter().map(|row| row.id).eq(FIRST_ID..=1500));
    assert!(rows.is_sorted_by_key(|row| row.time) && rows.iter().all(|row| row.data.len() as u64 == data_bytes));
}

#[test]
fn index_entries_equal_rows_in_every_schema() {
    runs::<Purchases<Of2012, 0>>(10);
    runs::<Purchases<Of2012, 3>>(200);
    runs::<Purchases<Current, 0>>(0);
    runs::<Purchases<Current, 1>>(10);
    runs::<Purchases<Current, 2>>(10);
    runs::<Purchases<Current, 3>>(1000);
}

#[test]
fn the_load_does_not_depend_on_the_number_of_loaders() {
    let states = [1, 3].map(|loaders| {
        // The last batch is not full.
        let workload = InsertBenchmark::<Full>::new(Parameters { rows: 1020, ..small() }, 1, 7);
        let engine = ModelEngine::default();
        assert_eq!(load(&workload, &engine, loaders), 1020);
        engine.state_hash()
    });
    assert_eq!(states[0], states[1]);
}

#[test]
fn the_same_seed_ends_in_the_same_state() {
    let run = |seed| {
        let workload = InsertBenchmark::<Full>::new(Parameters { delete_per_insert: true, ..small() }, 2, seed);
        let engine = ModelEngine::default();
        load(&workload, &engine, 1);
        let mut clients = [0, 1].map(|index| workload.client(index));
        (0..20).for_each(|turn| drop(drive(&mut *clients[turn % 2], &engine, 1)));
        engine.state_hash()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn an_empty_table_is_a_start_too() {
    let (workload, engine) =
        (InsertBenchmark::<Full>::new(Parameters { rows: 0, ..small() }, 1, 7), ModelEngine::default());
    assert_eq!(load(&workload, &engine, 2), 0);
    let plans = drive(&mut *workload.client(0), &engine, 4);
    assert!(plans.iter().all(|plan| (plan.kind, plan.operations) == (INSERT, 50)));
    assert_eq!(check_indexes::<Full>(&workload, &engine).len(), 200);
}

#[test]
fn only_a_unique_check_reads_before_an_insert() {
    for (unique_check, gets) in [(true, 500), (false, 0)] {
        let workload = InsertBenchmark::<Full>::new(Parameters { unique_check, ..small() }, 1, 7);
        let engine = ModelEngine::default();
        drive(&mut *workload.client(0), &engine, 10);
        assert_eq!(engine.gets.load(Ordering::Relaxed), gets);
        assert_eq!(engine.changes.load(Ordering::Relaxed), 4 * 500);
    }
}

#[test]
fn deletes_of_the_oldest_rows_keep_the_size_of_the_table() {
    let workload = InsertBenchmark::<Full>::new(Parameters { delete_per_insert: true, ..small() }, 1, 7);
    let engine = ModelEngine::default();
    load(&workload, &engine, 1);
    // More than the table holds, so that rows of the run are deleted too.
    drive(&mut *workload.client(0), &engine, 30);
    let rows = check_indexes::<Full>(&workload, &engine);
    assert!(rows.iter().map(|row| row.id).eq(1501..=2500));
}

#[test]
fn inserters_on_four_threads_lose_no_row_and_delete_none_twice() {
    let workload = InsertBenchmark::<Full>::new(Parameters { delete_per_insert: true, ..small() }, 4, 7);
    let engine = ModelEngine::default();
    load(&workload, &engine, 1);
    std::thread::scope(|scope| {
        for index in 0..4 {
            let (workload, engine) = (&workload, &engine);
            // Fewer rows than the table has, so that no delete meets a batch in flight.
            scope.spawn(move || drive(&mut *workload.client(index), engine, 4));
        }
    });
    let rows = check_indexes::<Full>(&workload, &engine);
    assert!(rows.iter().map(|row| row.id).eq(801..=1800));
}

#[test]
fn a_batch_that_is_said_again_keeps_its_ids_and_is_counted_once() {
    // Begin, insert, look for the oldest, delete, commit.
    for conflict_in in 0..5 {
        let workload = InsertBenchmark::<Full>::new(Parameters { delete_per_insert: true, ..small() }, 1, 7);
        let (mut client, mut session) = (workload.client(0), Recorded::default());
        session.conflict_in = Some(conflict_in);
        client.plan(0).unwrap();
        assert!(client.speak(&mut session).is_err() && session.take_conflict());
        assert_eq!(workload.shared.live_bytes.load(Ordering::Relaxed), 0);
        session.said.clear();
        let row_bytes = row_bytes::<Full>(&Full::draw(&mut Random::from_seed(1), 10)) as i64;
        for batch in 0..2_u64 {
            client.speak(&mut session).unwrap();
            let deletes = session.said[3].1.clone();
            assert_eq!(deletes, [1 + 50 * batch, 51 + 50 * batch].map(Column::from));
            let rows = session.take("insert");
            assert_eq!(rows[0][0], Column::from(1001 + 50 * batch));
            // The server says that it deleted one row.
            let grown = workload.shared.live_bytes.load(Ordering::Relaxed);
            assert_eq!(grown, 49 * row_bytes * (1 + batch as i64));
            client.plan(0).unwrap();
        }
    }
}

#[test]
fn a_planned_batch_asks_for_the_bytes_that_it_writes() {
    for delete_per_insert in [false, true] {
        let workload = InsertBenchmark::<Full>::new(Parameters { delete_per_insert, ..small() }, 1, 7);
        let engine = ModelEngine::default();
        load(&workload, &engine, 1);
        let loaded = engine.stats().user_bytes_written;
        let asked: u64 = drive(&mut *workload.client(0), &engine, 5).iter().map(|plan| plan.write_bytes).sum();
        assert_eq!(asked, engine.stats().user_bytes_written - loaded);
    }
}

#[test]
fn query_clients_scan_all_indexes_and_write_nothing() {
    let workload = InsertBenchmark::<Full>::new(Parameters { query_clients: 1, ..small() }, 2, 7);
    let engine = ModelEngine::default();
    load(&workload, &engine, 1);
    let changes = engine.changes.load(Ordering::Relaxed);
    let mut kinds = [0; 4];
    for plan in drive(&mut *workload.client(1), &engine, 300) {
        assert_eq!((plan.operations, plan.write_bytes), (1, 0));
        kinds[plan.kind] += 1;
    }
    assert!(kinds[QUERY_MARKET..].iter().all(|&count| count > 70), "{kinds:?}");
    assert_eq!(engine.seeks.load(Ordering::Relaxed), 300);
    assert_eq!(engine.changes.load(Ordering::Relaxed), changes);
    assert!(drive(&mut *workload.client(0), &engine, 5).iter().all(|plan| plan.kind == INSERT));
}

#[test]
fn parameters_that_do_not_fit_are_refused_by_name() {
    let refused = |spec: Value| {
        let Value::Object(spec) = spec else { panic!("not an object") };
        build(&spec, Scale::FULL, 2, 1).err().expect("the spec is wrong").to_string()
    };
    let kind = "insert_benchmark";
    for (spec, message) in [
        (json!({"kind": kind, "version": "2016"}), "workload.version: found \"2016\", accepted: one of current, 2012"),
        (json!({"kind": kind, "secondary_indexes": 4}), "workload.secondary_indexes: found 4"),
        (
            json!({"kind": kind, "query_threads": 1}),
            "workload.query_threads: found 1, accepted: a parameter of version",
        ),
        (json!({"kind": kind, "query_clients": 3}), "workload.query_clients: found 3, accepted: at most the 2 clients"),
        (json!({"kind": kind, "query_clients": 1, "secondary_indexes": 0}), "workload.secondary_indexes: found 0"),
        (json!({"kind": kind, "rows": 1999, "delete_per_insert": true}), "workload.rows: found 1999, accepted: 2000"),
    ] {
        let found = refused(spec);
        assert!(found.starts_with(message), "{found}");
    }
}

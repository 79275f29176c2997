use super::ids::DISTRIBUTIONS;
use super::schema::{Row, SbTest, k_index, primary};
use super::{Parameters, SCRIPTS, Sysbench};
use crate::engine::Engine;
use crate::scale::Scale;
use crate::table::Schema;
use crate::workload::model_engine::ModelEngine;
use crate::workload::test_drive::{by_index, drive, load};
use crate::workload::{Workload, build};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

fn bench(script: &str, table_size: u64, distribution: &str) -> Sysbench {
    let parameters = Parameters {
        script: script.into(),
        tables: 2,
        table_size,
        distribution: distribution.into(),
        load_batch_rows: 300,
        ..Parameters::default()
    };
    Sysbench::new(parameters, 7)
}

/// Checks that the index on `k` is exactly that of the rows, and returns the rows of both tables.
fn check_index(workload: &Sysbench, engine: &ModelEngine) -> Vec<Row> {
    let mut indexes = by_index(engine);
    let mut all = Vec::new();
    for table in 0..2 {
        let rows = indexes.remove(&primary(table)).unwrap_or_default();
        let rows: Vec<Row> = rows.iter().map(|(key, value)| SbTest::decode(key, value).unwrap()).collect();
        let expected: BTreeSet<Vec<u8>> = rows
            .iter()
            .map(|row| {
                let mut key = Vec::new();
                SbTest::index_key(row, 0, &mut key);
                key
            })
            .collect();
        let entries = indexes.remove(&k_index(table)).unwrap_or_default();
        assert!(
            entries.into_iter().map(|(key, _)| key).collect::<BTreeSet<_>>() == expected,
            "k differs from the rows"
        );
        all.extend(rows);
    }
    assert!(indexes.is_empty());
    assert_eq!(workload.live_bytes(), engine.live_bytes());
    all
}

#[test]
fn the_load_does_not_depend_on_the_number_of_loaders() {
    let states = [1, 3].map(|loaders| {
        let (workload, engine) = (bench("oltp_read_only", 1000, "special"), ModelEngine::default());
        assert_eq!(load(&workload, &engine, loaders), 2000);
        let rows = check_index(&workload, &engine);
        assert!(rows[..1000].iter().map(|row| (row.table, row.id)).eq((1..=1000).map(|id| (0, id))));
        engine.state_hash()
    });
    assert_eq!(states[0], states[1]);
}

#[test]
fn a_transaction_reads_and_writes_what_its_script_says() {
    // The insert after a delete reads nothing more: the transaction knows that it removed the row itself.
    for (script, gets, seeks, changes) in [
        ("oltp_point_select", 1, 0, 0),
        ("oltp_read_only", 10, 4, 0),
        ("oltp_read_write", 13, 4, 8),
        ("oltp_write_only", 3, 0, 8),
        ("oltp_update_index", 1, 0, 3),
        ("oltp_update_non_index", 1, 0, 1),
        ("oltp_insert", 1, 0, 2),
        ("oltp_delete", 1, 0, 2),
    ] {
        let (workload, engine) = (bench(script, 5000, "uniform"), ModelEngine::default());
        assert_eq!(workload.operations(), [script]);
        load(&workload, &engine, 1);
        let count = || [&engine.gets, &engine.seeks, &engine.changes].map(|count| count.load(Ordering::Relaxed));
        let (before, asked_before) = (count(), engine.stats().user_bytes_written);
        let plans = drive(&mut *workload.client(0), &engine, 20);
        let after = count();
        let found: Vec<u64> = before.into_iter().zip(after).map(|(before, after)| after - before).collect();
        assert_eq!(found, [20 * gets, 20 * seeks, 20 * changes], "{script}");
        let asked: u64 = plans.iter().map(|plan| plan.write_bytes).sum();
        assert_eq!(asked, engine.stats().user_bytes_written - asked_before, "{script}");
        assert!(plans.iter().all(|plan| (plan.kind, plan.operations) == (0, 1)));
    }
}

#[test]
fn the_index_equals_the_rows_after_every_script() {
    for script in SCRIPTS {
        let (workload, engine) = (bench(script, 200, "special"), ModelEngine::default());
        load(&workload, &engine, 1);
        drive(&mut *workload.client(0), &engine, 300);
        let rows = check_index(&workload, &engine).len();
        match script {
            "oltp_insert" => assert_eq!(rows, 700),
            "oltp_delete" => assert!(rows < 350, "{rows}"),
            _ => assert_eq!(rows, 400),
        }
    }
}

#[test]
fn statements_that_meet_on_one_row_see_each_other() {
    // Two tables of one row each: most transactions touch a row twice or three times.
    let (workload, engine) = (bench("oltp_write_only", 1, "uniform"), ModelEngine::default());
    load(&workload, &engine, 1);
    let mut client = workload.client(0);
    for _ in 0..100 {
        drive(&mut *client, &engine, 1);
        assert_eq!(check_index(&workload, &engine).len(), 2);
    }
}

#[test]
fn the_index_equals_the_rows_under_four_threads() {
    let (workload, engine) = (bench("oltp_read_write", 20, "pareto"), ModelEngine::default());
    load(&workload, &engine, 1);
    std::thread::scope(|scope| {
        for index in 0..4 {
            let (workload, engine) = (&workload, &engine);
            scope.spawn(move || drive(&mut *workload.client(index), engine, 2000));
        }
    });
    assert_eq!(check_index(&workload, &engine).len(), 40);
}

#[test]
fn appended_rows_have_ids_of_their_own() {
    let (workload, engine) = (bench("oltp_insert", 10, "uniform"), ModelEngine::default());
    load(&workload, &engine, 1);
    (0..3).for_each(|index| drop(drive(&mut *workload.client(index), &engine, 100)));
    let rows = check_index(&workload, &engine);
    let of_table = |table| rows.iter().filter(move |row| row.table == table).map(|row| row.id);
    for table in 0..2 {
        let count = of_table(table).count() as u32;
        assert!(of_table(table).eq(1..=count) && (130..190).contains(&count), "{count}");
    }
}

#[test]
fn the_same_seed_ends_in_the_same_state() {
    for distribution in DISTRIBUTIONS {
        let run = |seed| {
            let parameters = bench("oltp_read_write", 500, distribution).shared.parameters.clone();
            let (workload, engine) = (Sysbench::new(parameters, seed), ModelEngine::default());
            load(&workload, &engine, 1);
            let mut clients = [0, 1].map(|index| workload.client(index));
            (0..100).for_each(|turn| drop(drive(&mut *clients[turn % 2], &engine, 1)));
            engine.state_hash()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}

#[test]
fn parameters_that_do_not_fit_are_refused_by_name() {
    for (spec, message) in [
        (
            json!({"script": "oltp_common"}),
            "workload.script: found \"oltp_common\", accepted: one of oltp_point_select",
        ),
        (json!({"tables": 0}), "workload.tables: found 0"),
        (
            json!({"distribution": "normal"}),
            "workload.distribution: found \"normal\", accepted: one of uniform, special",
        ),
        (json!({"rows": 5}), "workload.rows: found 5, accepted: a parameter of script, tables, table_size"),
    ] {
        let Value::Object(mut spec) = spec else { panic!("not an object") };
        spec.insert("kind".into(), json!("sysbench"));
        let found = build(&spec, Scale::FULL, 1, 1).err().expect("the spec is wrong").to_string();
        assert!(found.starts_with(message), "{found}");
    }
}

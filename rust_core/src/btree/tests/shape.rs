//! How full pages get, and what the pool does under pressure.

use super::{Driven, options, structure};
use crate::btree::tree::{Toward, split_key};
use crate::cost::Work;
use crate::engine::{Commit, Engine, KeyLayout, WriteBatch};
use crate::storage::MemoryStorage;
use crate::task::Task;
use crate::task::serial::tests::OneNanosecondPerCall;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeSet;
use std::sync::Arc;

const ROOMY: &str = "page_size=16384 buffer_pool_size=33554432 redo_log_capacity=67108864 flush_log_at_trx_commit=0";

#[test]
fn an_ascending_load_fills_pages_to_fifteen_sixteenths() {
    let (_, mut driven) = Driven::fresh(ROOMY);
    for n in 0..40_000u32 {
        driven.put(format!("{n:016}").as_bytes(), &[1; 100]).unwrap();
    }
    let shape = structure::check(driven.engine.forest(), &mut driven.task);
    assert!((0.9..0.95).contains(&shape.leaf_fill), "{shape:?}");
}

#[test]
fn a_descending_load_fills_pages_too() {
    let (_, mut driven) = Driven::fresh(ROOMY);
    for n in (0..20_000u32).rev() {
        driven.put(format!("{n:016}").as_bytes(), &[1; 100]).unwrap();
    }
    let shape = structure::check(driven.engine.forest(), &mut driven.task);
    assert!((0.9..0.95).contains(&shape.leaf_fill), "{shape:?}");
}

#[test]
fn random_inserts_leave_pages_about_69_percent_full() {
    let (_, mut driven) = Driven::fresh(ROOMY);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for _ in 0..60_000 {
        driven.put(format!("{:016}", random.random_range(0..u64::MAX / 4)).as_bytes(), &[1; 100]).unwrap();
    }
    let shape = structure::check(driven.engine.forest(), &mut driven.task);
    assert!((0.65..0.75).contains(&shape.leaf_fill), "{shape:?}");
    let estimate = driven.detail("leaf_fill");
    assert!((estimate - shape.leaf_fill).abs() < 0.05, "{estimate}");
}

#[test]
fn deletes_merge_pages_and_give_them_back() {
    let (_, mut driven) = Driven::fresh(ROOMY);
    let key = |n: u32| format!("{n:08}").into_bytes();
    for n in 0..20_000u32 {
        driven.put(&key(n), &[1; 100]).unwrap();
    }
    let before = driven.detail("tree_pages");
    for n in 0..20_000u32 {
        if n % 8 != 0 {
            driven.delete(&key(n)).unwrap();
        }
    }
    driven.pass(1000).unwrap();
    let shape = structure::check(driven.engine.forest(), &mut driven.task);
    assert_eq!((shape.entries, shape.marked), (2500, 0));
    assert!(shape.leaf_fill > 0.45, "{shape:?}");
    assert!(driven.detail("tree_pages") < before / 3.0);
    for n in 0..20_000u32 {
        driven.delete(&key(n)).unwrap();
    }
    driven.pass(1000).unwrap();
    assert_eq!(structure::check(driven.engine.forest(), &mut driven.task).marked, 0);
    assert_eq!(driven.detail("tree_pages"), 3.0, "directory, map and root");
}

#[test]
fn both_halves_of_a_page_of_an_index_are_underfull_when_it_was_split() {
    let storage = Arc::new(MemoryStorage::new(Arc::default()));
    let mut driven = Driven::open(storage, &options(ROOMY), KeyLayout::Indexed).unwrap();
    let entry = |n: u32| [&2u32.to_be_bytes()[..], &n.to_be_bytes()].concat();
    (0..8000).for_each(|n| driven.put(&entry(10 * n), b"").unwrap());
    let underfull = |driven: &mut Driven, n: u32| {
        let (engine, key) = (driven.engine.clone(), entry(n));
        let (number, key) = split_key(KeyLayout::Indexed, &key);
        let forest = engine.forest();
        let leaf = forest.leaf_for_read(&mut driven.task, forest.tree(number).unwrap(), Toward::At(key), None).unwrap();
        (leaf.view().key(0).to_vec(), forest.is_underfull(leaf.view()))
    };
    let (first, is_underfull) = underfull(&mut driven, 40_000);
    assert!(!is_underfull, "an index that is made in key order has full pages");
    driven.put(&entry(40_001), b"").unwrap();
    let reached = (30_000..50_000).step_by(10).map(|n| underfull(&mut driven, n)).collect::<Vec<_>>();
    let halves = reached.iter().filter(|(_, is_underfull)| *is_underfull).map(|(first, _)| first);
    let halves = halves.collect::<BTreeSet<_>>();
    assert!(halves.len() == 2 && halves.contains(&first), "{halves:?} {first:?}");
}

#[test]
fn an_unused_pool_takes_no_frames() {
    let (_, driven) = Driven::fresh("buffer_pool_size=1073741824");
    let memory = driven.engine.stats().memory_bytes;
    assert!(memory < 16 << 20, "{memory}");
}

#[test]
fn hits_and_misses_add_up_to_pages_asked() {
    let (_, mut driven) = Driven::fresh("page_size=4096 buffer_pool_size=262144 read_ahead_threshold=0");
    for n in 0..5000u32 {
        driven.put(format!("{n:08}").as_bytes(), &[1; 100]).unwrap();
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let (before, asked) = (driven.engine.stats(), driven.task.blocks_asked);
    for _ in 0..2000 {
        driven.get(format!("{:08}", random.random_range(0..5000)).as_bytes()).unwrap().unwrap();
    }
    let after = driven.engine.stats();
    let (hits, misses) = (after.cache_hits - before.cache_hits, after.cache_misses - before.cache_misses);
    let asked = driven.task.blocks_asked - asked;
    // A page that is evicted again before its descent comes to it counts as a miss twice.
    assert!((asked..asked + asked / 100).contains(&(hits + misses)), "{asked} asked");
    assert!(misses > 500 && hits > misses, "{hits} hits, {misses} misses");
}

/// Leaf and inner pages of 16 KiB that a real InnoDB (MariaDB 10.11.19) took per 100,000 rows of these shapes, inserted
/// in this order. `id` is the number of the row, `hash` a number that jumps about. (Inserts all over a tree depend on
/// how many there were: pages that were filled evenly split at about the same time.)
#[test]
fn rows_and_index_entries_take_the_space_that_they_take_in_innodb() {
    type Shape = fn(u64, u64) -> (Vec<u8>, usize);
    let shapes: [(&str, Shape, f64); 4] = [
        ("linktable, by id1", |id, hash| (key(&[7, id / 4, hash], 0), 25), 490.0),
        (
            "id1_type, by id1 and a jumping time",
            |id, hash| (key(&[id / 4, 7, (id * id * 40_503 + id * 31_153) % 65_521, hash], 23), 0),
            517.0,
        ),
        ("nodetable, ascending", |id, _| (key(&[id], 0), 228), 1700.0),
        ("counttable, ascending", |id, _| (key(&[id, 7], 0), 20), 362.0),
    ];
    for (name, shape, innodb) in shapes {
        let (_, mut driven) = Driven::fresh(ROOMY);
        for id in 0..20_000u64 {
            let (key, value) = shape(id, id.wrapping_mul(2_654_435_761) % (1 << 32));
            driven.put(&key, &vec![1; value]).unwrap();
        }
        let ratio = (driven.detail("tree_pages") - 2.0) * 5.0 / innodb;
        assert!((0.9..1.25).contains(&ratio), "{name}: {ratio:.2} of InnoDB's pages");
    }
}

/// Columns of 8 bytes, and so many bytes behind them.
fn key(columns: &[u64], more: usize) -> Vec<u8> {
    let mut key = columns.iter().flat_map(|column| column.to_be_bytes()).collect::<Vec<_>>();
    key.resize(key.len() + more, 0);
    key
}

/// What InnoDB does: `tests/real/test_mariadb_restructuring.py`.
#[test]
fn a_leaf_that_outgrows_its_page_or_becomes_underfull_brings_both_neighbors_in() {
    let key = |n: u32| format!("{n:08}").into_bytes();
    for (change, rows, new_leaf) in [(350, 20, 1.0), (1, 50, 0.0)] {
        let (storage, mut driven) = Driven::fresh(ROOMY);
        for n in 0..20_000u32 {
            driven.put(&key(n), &[1; 200]).unwrap();
        }
        driven.engine.close(&mut driven.task).unwrap();
        drop(driven);
        let mut driven = Driven::open(storage, &options(ROOMY), KeyLayout::Plain).unwrap();
        assert!(driven.get(&key(10_045)).unwrap().is_some());
        let (mut read, pages) = (vec![driven.detail("pages_read")], driven.detail("tree_pages"));
        for n in 10_045..10_045 + rows {
            driven.put(&key(n), &vec![2; change]).unwrap();
            read.push(driven.detail("pages_read"));
        }
        let brought_in = read.windows(2).map(|pair| pair[1] - pair[0]).filter(|pages| *pages > 0.0).collect::<Vec<_>>();
        assert_eq!(brought_in, [2.0], "{change}");
        assert_eq!(driven.detail("tree_pages") - pages, new_leaf, "{change}");
    }
}

#[test]
fn a_batch_is_charged_as_one_transaction_of_its_changes() {
    let (_, mut driven) = Driven::fresh(ROOMY);
    let mut batch = WriteBatch::default();
    batch.put(b"a", b"1");
    batch.put(b"b", b"2");
    batch.delete(b"a");
    driven.write(&mut batch, Commit::Configured).unwrap();
    let charged = [Work::TreeTransaction, Work::TreeChange].map(|work| driven.task.units(work));
    assert_eq!(charged, [1, 3]);
}

#[test]
fn changes_of_the_shape_of_one_tree_wait_for_one_another() {
    let (_, mut driven) = Driven::fresh(ROOMY);
    let forest = driven.engine.forest();
    let trees = [1, 2].map(|number| forest.tree_or_create(&mut driven.task, number).unwrap());
    let ended_at = |tree: usize, at_ns| {
        let mut task = Task::simulated(0, at_ns, Box::new(OneNanosecondPerCall));
        let hold = |task: &mut Task| {
            task.charge(Work::Call, 100);
            Ok(())
        };
        forest.restructure(&mut task, trees[tree], b"key", hold).unwrap();
        task.now_ns
    };
    assert_eq!([ended_at(0, 1000), ended_at(0, 1050), ended_at(1, 1050)], [1100, 1200, 1150]);
}

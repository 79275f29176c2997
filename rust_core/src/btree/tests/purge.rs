//! Deletes mark records, and purge takes them off their pages.

use super::{Driven, TINY, options, structure};
use crate::engine::{Commit, Engine, KeyLayout, WriteBatch};
use crate::storage::memory::CrashKeeps;
use std::sync::Arc;

const POOL: &str = "page_size=4096 buffer_pool_size=8388608 redo_log_capacity=16777216";

fn key(n: u32) -> Vec<u8> {
    format!("{n:08}").into_bytes()
}

/// A thousand rows, purged and written.
fn loaded(text: &str) -> (Arc<crate::storage::MemoryStorage>, Driven) {
    let (storage, mut driven) = Driven::fresh(text);
    (0..1000).for_each(|n| driven.put(&key(n), &[7; 100]).unwrap());
    driven.settle();
    (storage, driven)
}

fn shape(driven: &mut Driven) -> structure::Shape {
    structure::check(driven.engine.forest(), &mut driven.task)
}

#[test]
fn deleted_records_stay_on_their_pages_until_purge_and_nobody_sees_them() {
    let (_, mut driven) = loaded(POOL);
    let used = shape(&mut driven).leaf_fill;
    (0..1000).filter(|n| n % 10 > 0).for_each(|n| driven.delete(&key(n)).unwrap());
    assert_eq!((shape(&mut driven).entries, shape(&mut driven).marked), (100, 900));
    assert_eq!(shape(&mut driven).leaf_fill, used);
    assert_eq!((driven.get(&key(1)).unwrap(), driven.scan(b"").unwrap().len()), (None, 100));
    let engine = driven.engine.clone();
    let mut cursor = engine.iterator(&mut driven.task).unwrap();
    cursor.seek_for_prev(&mut driven.task, &key(999)).unwrap();
    assert_eq!(cursor.key(), key(990));
    cursor.prev(&mut driven.task).unwrap();
    assert_eq!(cursor.key(), key(980));
    let merges = driven.detail("merges");
    driven.pass(1000).unwrap();
    assert_eq!((shape(&mut driven).entries, shape(&mut driven).marked), (100, 0));
    assert!(driven.detail("merges") > merges && driven.detail("history_list_length") == 0.0);
}

#[test]
fn a_key_that_is_put_again_is_not_purged() {
    let (_, mut driven) = loaded(POOL);
    let mut batch = WriteBatch::default();
    (0..100).for_each(|n| batch.delete(&key(n)));
    driven.write(&mut batch, Commit::Configured).unwrap();
    driven.put(&key(5), &[7; 100]).unwrap();
    driven.put(&key(6), b"longer or shorter").unwrap();
    driven.pass(1000).unwrap();
    assert_eq!(driven.get(&key(5)).unwrap(), Some(vec![7; 100]));
    assert_eq!(driven.get(&key(6)).unwrap(), Some(b"longer or shorter".to_vec()));
    assert_eq!((shape(&mut driven).entries, shape(&mut driven).marked), (902, 0));
}

/// Pages that purge dirties after an update whose pages were written.
fn dirtied_by_purge(server: &str) -> f64 {
    let (_, mut driven) = loaded(&format!("{POOL} server={server}"));
    driven.put(&key(500), &[8; 100]).unwrap();
    driven.task.now_ns += 1_000_000_000;
    driven.engine.forest().store.pool.flush_all(&mut driven.task).unwrap();
    assert_eq!((driven.detail("dirty_pages"), driven.detail("history_list_length")), (0.0, 1.0));
    while driven.detail("history_list_length") > 0.0 {
        let mut job = driven.engine.next_job(driven.task.now_ns).unwrap();
        job.run(&mut driven.task).unwrap();
        job.install(&mut driven.task).unwrap();
    }
    driven.detail("dirty_pages")
}

#[test]
fn purge_of_an_update_leaves_its_row_alone() {
    // The undo page and the header of its segment; in MariaDB the map too, as the undo page is given back.
    assert_eq!((dirtied_by_purge("mariadb"), dirtied_by_purge("mysql")), (3.0, 2.0));
}

#[test]
fn mariadbs_purge_wakes_once_in_a_second_and_mysqls_with_a_commit() {
    let history = |driven: &Driven| driven.detail("history_list_length");
    for (server, left) in [("mariadb", 50.0), ("mysql", 0.0)] {
        let (_, mut driven) = loaded(&format!("{POOL} server={server}"));
        driven.pass(1000).unwrap();
        (0..50).for_each(|n| driven.put(&key(n), &[9; 100]).unwrap());
        driven.pass(1).unwrap();
        assert_eq!(history(&driven), left, "{server}");
        driven.pass(1000).unwrap();
        assert_eq!(history(&driven), 0.0, "{server}");
    }
}

#[test]
fn a_batch_is_read_before_it_is_gone_through_and_leaves_the_list_as_a_whole() {
    let (_, mut driven) = loaded(&format!("{POOL} server=mysql"));
    (0..400).for_each(|n| driven.delete(&key(n)).unwrap());
    let (mut seen, mut all) = (Vec::new(), Vec::new());
    while let Some(mut job) = driven.engine.next_job(driven.task.now_ns) {
        job.run(&mut driven.task).unwrap();
        job.install(&mut driven.task).unwrap();
        seen.push((shape(&mut driven).marked, driven.detail("history_list_length")));
        all.push(shape(&mut driven).entries);
    }
    assert_eq!(seen[0], (400, 400.0), "the first job reads");
    let first_off = seen.iter().position(|(_, history)| *history < 400.0).unwrap();
    assert!(seen[first_off].0 <= 100, "300 are off their pages before any leaves the list: {seen:?}");
    assert_eq!((seen.last(), all.last()), (Some(&(0, 0.0)), Some(&600)));
}

#[test]
fn purge_of_an_entry_reads_the_leaf_of_its_row() {
    let rows = |driven: &mut Driven, moved: bool| {
        let mut batch = WriteBatch::default();
        batch.put(&[&1u32.to_be_bytes()[..], b"row"].concat(), &[u8::from(moved); 50]);
        batch.put(&[&2u32.to_be_bytes()[..], if moved { b"b" } else { b"a" }].concat(), b"");
        if moved {
            batch.delete(&[&2u32.to_be_bytes()[..], b"a"].concat());
        }
        driven.write(&mut batch, Commit::Configured).unwrap();
    };
    let storage = Arc::new(crate::storage::MemoryStorage::new(Arc::default()));
    let mut driven = Driven::open(storage, &options(POOL), KeyLayout::Indexed).unwrap();
    rows(&mut driven, false);
    driven.settle();
    rows(&mut driven, true);
    let mut asked = 0;
    driven.task.now_ns += 1_000_000_000;
    while let Some(mut job) = driven.engine.next_job(driven.task.now_ns) {
        let before = driven.task.blocks_asked;
        job.run(&mut driven.task).unwrap();
        job.install(&mut driven.task).unwrap();
        asked += driven.task.blocks_asked - before;
    }
    assert_eq!((asked, shape(&mut driven).marked), (2, 0), "the leaf of the row, and that of the entry");
}

#[test]
fn transactions_are_dealt_to_the_rollback_segments_in_turn() {
    let (_, mut driven) = loaded(&format!("{POOL} server=mysql"));
    let pages = |driven: &Driven| driven.detail("undo_pages");
    // 128 segments, each with its header and one undo page or two.
    assert!((256.0..=384.0).contains(&pages(&driven)), "{}", pages(&driven));
    driven.settle();
    (0..64).for_each(|n| driven.put(&key(n), &[9; 100]).unwrap());
    let dirty = driven.detail("dirty_pages");
    assert!((128.0..140.0).contains(&dirty), "a transaction dirties the header and a page of its segment: {dirty}");
}

#[test]
fn full_undo_pages_come_back_when_they_are_purged() {
    for (server, most) in [("mysql", 384.0), ("mariadb", 128.0)] {
        let (_, mut driven) = loaded(&format!("{POOL} server={server}"));
        for round in 0..6u8 {
            (0..3000).for_each(|n| driven.put(&key(n % 1000), &[round; 100]).unwrap());
            driven.pass(1000).unwrap();
        }
        let pages = driven.detail("undo_pages");
        assert!((128.0..=most).contains(&pages), "{server}: {pages}");
    }
}

#[test]
fn what_is_to_be_purged_outlives_a_crash() {
    let (storage, mut driven) = loaded(POOL);
    (0..1000).filter(|n| n % 2 > 0).for_each(|n| driven.delete(&key(n)).unwrap());
    let mut batch = WriteBatch::default();
    (0..1000).step_by(4).for_each(|n| batch.delete(&key(n)));
    driven.write(&mut batch, Commit::Synced).unwrap();
    let left = Arc::new(storage.crash_clone(CrashKeeps::Synced));
    let mut again = Driven::open(left, &options(POOL), KeyLayout::Plain).unwrap();
    assert_eq!((shape(&mut again).entries, shape(&mut again).marked), (250, 750));
    assert!(again.detail("history_list_length") >= 501.0);
    again.pass(1000).unwrap();
    assert_eq!((shape(&mut again).entries, shape(&mut again).marked), (250, 0));
    assert_eq!(again.detail("history_list_length"), 0.0);
}

#[test]
fn purge_waits_for_room_in_the_log() {
    let (_, mut driven) = Driven::fresh(TINY);
    let mut n = 0u32;
    let is_full = |driven: &Driven| driven.detail("checkpoint_age") >= driven.detail("checkpoint_max_age");
    while !is_full(&driven) {
        let mut batch = WriteBatch::default();
        batch.put(&key(n % 300), &[1; 100]);
        driven.engine.write(&mut driven.task, &mut batch, Commit::Configured).unwrap();
        n += 1;
    }
    let history = driven.detail("history_list_length");
    assert!(history > 10.0 && driven.engine.forest().undo.trx_sys.has_purgeable());
    let first = driven.engine.next_job(driven.task.now_ns).unwrap();
    drop(first);
    assert_eq!(driven.detail("history_list_length"), history, "nothing is purged before there is room");
    driven.pass(1000).unwrap();
    assert_eq!(driven.detail("history_list_length"), 0.0);
    assert!(!is_full(&driven));
}

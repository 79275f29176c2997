//! Changes of leaves that are not in the pool.

use super::{Driven, options, structure};
use crate::engine::{Commit, Engine, KeyLayout, WriteBatch};
use crate::metrics::Purpose;
use crate::storage::memory::CrashKeeps;
use crate::storage::{MemoryStorage, Storage};
use std::collections::BTreeSet;
use std::sync::Arc;

const POOL: &str = "page_size=4096 buffer_pool_size=524288 redo_log_capacity=4194304 read_ahead_threshold=0 \
                    old_blocks_time=0";
const ENTRIES: u32 = 40_000;

fn key(n: u32) -> Vec<u8> {
    format!("entry{n:08}-of-a-secondary-index").into_bytes()
}

/// An index of eight times the pool, whose leaves a random load has left half full, and none of the first ones in the
/// pool.
fn loaded(more: &str) -> (Arc<MemoryStorage>, Driven) {
    let (storage, mut driven) = Driven::fresh(&format!("{POOL} {more}"));
    let mut order = (0..ENTRIES).map(|n| n * 7919 % ENTRIES).collect::<Vec<_>>();
    // The second half in order, so that the first leaves leave the pool.
    order[ENTRIES as usize / 2..].sort_unstable();
    for n in order {
        driven.put(&key(2 * n), b"").unwrap();
    }
    driven.engine.begin_settle(&mut driven.task).unwrap();
    driven.run_jobs().unwrap();
    (storage, driven)
}

fn reads(storage: &MemoryStorage) -> u64 {
    storage.meters().snapshot().total().reads
}

#[test]
fn a_change_of_an_absent_leaf_reads_nothing_until_it_is_read() {
    for (buffering, op_is_put) in [("inserts", true), ("all", true), ("all", false)] {
        let (storage, mut driven) = loaded(&format!("change_buffering={buffering}"));
        // The pages above the leaf come in, and its neighbour.
        assert!(driven.get(&key(3000)).unwrap().is_some());
        let (before, buffered) = (reads(&storage), driven.detail("changes_buffered"));
        let changed = if op_is_put { key(2001) } else { key(2000) };
        if op_is_put {
            driven.put(&changed, b"").unwrap();
        } else {
            driven.delete(&changed).unwrap();
        }
        assert_eq!(driven.detail("changes_buffered"), buffered + 1.0, "{buffering} {op_is_put}");
        assert_eq!(reads(&storage), before, "{buffering} {op_is_put}");
        let merged = driven.detail("changes_merged");
        assert_eq!(driven.get(&changed).unwrap().is_some(), op_is_put);
        assert_eq!((reads(&storage), driven.detail("changes_merged")), (before + 1, merged + 1.0));
    }
}

#[test]
fn inserts_alone_are_buffered_if_so_configured_and_nothing_by_default() {
    for (more, puts, removals) in [("change_buffering=inserts", 1.0, 0.0), ("change_buffering=all", 1.0, 1.0)] {
        let (_, mut driven) = loaded(more);
        let before = driven.detail("changes_buffered");
        driven.put(&key(2001), b"").unwrap();
        assert_eq!(driven.detail("changes_buffered") - before, puts);
        driven.delete(&key(6000)).unwrap();
        assert_eq!(driven.detail("changes_buffered") - before, puts + removals);
    }
    let (_, driven) = loaded("");
    assert!(!driven.engine.stats().details.contains_key("changes_buffered"));
}

#[test]
fn rows_with_values_are_never_buffered() {
    let (_, mut driven) = Driven::fresh(&format!("{POOL} change_buffering=all"));
    for n in 0..8000u32 {
        driven.put(&key(n * 7919 % 8000), &[7; 100]).unwrap();
    }
    for n in 0..2000u32 {
        driven.delete(&key(n * 7919 % 8000)).unwrap();
        // Not even if they lose their values.
        driven.put(&key((n * 7919 + 1) % 8000), b"").unwrap();
    }
    assert!(driven.detail("pages_evicted") > 1000.0);
    assert_eq!(driven.detail("changes_buffered"), 0.0);
}

/// Changes all over the index, of which some are buffered; returns what must be there.
fn change(driven: &mut Driven, from: u32, count: u32) -> BTreeSet<Vec<u8>> {
    let mut model = (0..ENTRIES).map(|n| key(2 * n)).collect::<BTreeSet<_>>();
    for n in from..from + count {
        let mut batch = WriteBatch::default();
        let (new, old) = (key(n * 7919 % ENTRIES * 2 + 1), key(n * 104_729 % ENTRIES * 2));
        batch.put(&new, b"");
        batch.delete(&old);
        model.insert(new);
        model.remove(&old);
        driven.write(&mut batch, Commit::Configured).unwrap();
    }
    model
}

#[test]
fn scans_in_both_directions_see_buffered_changes() {
    for forward in [true, false] {
        let (_, mut driven) = loaded("change_buffering=all");
        let model = change(&mut driven, 1, 600);
        assert!(driven.detail("changes_buffered") - driven.detail("changes_merged") > 100.0);
        let engine = driven.engine.clone();
        let mut cursor = engine.iterator(&mut driven.task).unwrap();
        let sought =
            if forward { cursor.seek(&mut driven.task, b"") } else { cursor.seek_for_prev(&mut driven.task, b"z") };
        sought.unwrap();
        let mut found = Vec::new();
        while cursor.valid() {
            found.push(cursor.key().to_vec());
            if forward { cursor.next(&mut driven.task) } else { cursor.prev(&mut driven.task) }.unwrap();
        }
        if !forward {
            found.reverse();
        }
        assert!(found.into_iter().eq(model), "forward: {forward}");
        assert_eq!(structure::check(driven.engine.forest(), &mut driven.task).entries, ENTRIES as usize);
    }
}

#[test]
fn a_page_without_known_room_is_not_buffered() {
    let (_, mut driven) = loaded("change_buffering=all");
    driven.put(&key(2001), b"").unwrap();
    let before = driven.detail("changes_buffered");
    // An eighth of the page at most is known to be free.
    for n in 0..64u32 {
        driven.put(&[&key(2001)[..], &n.to_be_bytes()].concat(), b"").unwrap();
    }
    let buffered = driven.detail("changes_buffered") - before;
    assert!((1.0..12.0).contains(&buffered), "{buffered}");
    structure::check(driven.engine.forest(), &mut driven.task);
}

#[test]
fn a_page_never_becomes_empty_by_what_is_buffered() {
    let (_, mut driven) = loaded("change_buffering=all");
    let before = driven.detail("changes_buffered");
    (1000..1400).for_each(|n| driven.delete(&key(2 * n)).unwrap());
    assert!(driven.detail("changes_buffered") - before > 50.0);
    assert_eq!(structure::check(driven.engine.forest(), &mut driven.task).entries, ENTRIES as usize - 400);
}

#[test]
fn a_full_buffer_merges_some_pages_and_does_not_grow() {
    let (_, mut driven) = loaded("change_buffering=all change_buffer_max_size=10");
    let most = 128.0 / 10.0 + 2.0;
    for n in 1..10 {
        change(&mut driven, n * 1000, 1000);
        assert!(driven.detail("change_buffer_pages") <= most, "{}", driven.detail("change_buffer_pages"));
    }
    assert!(driven.detail("changes_buffered") > 1000.0);
    let (_, mut driven) = loaded("change_buffering=all change_buffer_max_size=0");
    change(&mut driven, 1, 1000);
    assert_eq!(driven.detail("changes_buffered"), 0.0);
}

#[test]
fn what_is_buffered_survives_a_close_and_a_crash() {
    for crashes in [false, true] {
        let (storage, mut driven) = loaded("change_buffering=all");
        let model = change(&mut driven, 1, 600);
        let waiting = driven.detail("changes_buffered") - driven.detail("changes_merged");
        assert!(waiting > 100.0, "{waiting}");
        let pages = driven.detail("change_buffer_pages");
        if !crashes {
            driven.engine.close(&mut driven.task).unwrap();
        }
        drop(driven);
        let left = Arc::new(storage.crash_clone(CrashKeeps::Synced));
        // Also by an engine that buffers nothing itself.
        for buffering in ["all", "none"] {
            let left = Arc::new(left.crash_clone(CrashKeeps::Synced));
            let text = format!("{POOL} change_buffering={buffering}");
            let mut again = Driven::open(left, &options(&text), KeyLayout::Plain).unwrap();
            assert_eq!(again.detail("change_buffer_pages"), pages);
            assert!(again.scan(b"").unwrap().into_iter().map(|(key, _)| key).eq(model.iter().cloned()));
            assert_eq!(again.detail("changes_merged"), waiting);
            structure::check(again.engine.forest(), &mut again.task);
        }
    }
}

#[test]
fn the_master_thread_merges_a_twentieth_of_io_capacity_or_all_of_it() {
    let (storage, mut driven) = loaded("change_buffering=all io_capacity=100 change_buffer_max_size=50");
    change(&mut driven, 1, 600);
    let merging = |driven: &mut Driven| {
        let before = storage.meters().snapshot();
        driven.pass(1000).unwrap();
        storage.meters().snapshot().since(&before).of(Purpose::ReadAhead).reads
    };
    assert_eq!(merging(&mut driven), 5);
    // Nobody has written for a second.
    let idle = merging(&mut driven);
    assert!((50..=100).contains(&idle), "{idle}");
}

#[test]
fn an_index_number_of_the_buffer_is_refused() {
    let storage = Arc::new(MemoryStorage::new(Arc::default()));
    let text = format!("{POOL} change_buffering=all");
    let mut driven = Driven::open(storage, &options(&text), KeyLayout::Indexed).unwrap();
    let key = [&(u32::MAX - 1).to_be_bytes()[..], b"key"].concat();
    assert!(driven.get(&key).unwrap().is_none());
    driven.delete(&key).unwrap();
    assert!(driven.put(&key, b"").is_err());
}

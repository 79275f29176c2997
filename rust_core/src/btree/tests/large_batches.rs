//! Batches that log more than was reserved for them: entries of a secondary index all over full pages, each of which
//! splits.

use super::crash::apply;
use super::{Driven, Model, noise, options, spread, structure};
use crate::engine::{Commit, Engine, KeyLayout, WriteBatch};
use crate::error::Result;
use crate::storage::memory::CrashKeeps;
use crate::storage::{FaultyStorage, MemoryStorage};
use crate::task::Task;
use crate::task::wall::spawn;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const SMALL_LOG: &str = "page_size=4096 buffer_pool_size=1048576 redo_log_capacity=262144 io_capacity_max=4000";
/// Entries of the index before the batch, in the order of their keys, so that its pages are full.
const LOADED: u32 = 12_000;
/// Entries of the batch, about one for each page.
const ADDED: u32 = 150;
const LAST: &[u8] = b"\0\0\0\0last";

fn entry(column: u32) -> Vec<u8> {
    [&1u32.to_be_bytes()[..], &column.to_be_bytes(), &noise(column.into(), 40).collect::<Vec<_>>()].concat()
}

fn load(driven: &mut Driven) {
    for first in (0..LOADED).step_by(100) {
        let mut batch = WriteBatch::default();
        (first..first + 100).for_each(|n| batch.put(&entry(n << 16), b""));
        driven.write(&mut batch, Commit::Configured).unwrap();
        driven.run_jobs().unwrap();
    }
    driven.settle();
}

/// New entries at random, old ones that go, rows with undo, and a row that says which batch was the last.
fn batch(number: u32) -> WriteBatch {
    let mut batch = WriteBatch::default();
    for n in number * ADDED..(number + 1) * ADDED {
        let column = u32::from_be_bytes(spread(n)) % (LOADED << 16);
        batch.put(&entry(column | 1), b"");
        if n % 7 == 0 {
            batch.delete(&entry(column & 0xffff_0000));
        }
        if n % 5 == 0 {
            let row = [&0u32.to_be_bytes()[..], format!("row{:02}", n % 60).as_bytes()].concat();
            batch.put(&row, &[n as u8; 90]);
        }
    }
    batch.put(LAST, &number.to_be_bytes());
    batch
}

fn moved(driven: &Driven) -> u64 {
    driven.engine.forest().counters.moved_intents.load(Ordering::Relaxed)
}

fn loaded(text: &str) -> (Arc<MemoryStorage>, Driven) {
    let storage = Arc::new(MemoryStorage::new(Arc::default()));
    let mut driven = Driven::open(storage.clone(), &options(text), KeyLayout::Indexed).unwrap();
    load(&mut driven);
    (storage, driven)
}

fn write_all(driven: &mut Driven, numbers: std::ops::Range<u32>) -> Result<()> {
    numbers.into_iter().try_for_each(|number| driven.write(&mut batch(number), Commit::Synced))
}

#[test]
fn a_batch_that_splits_a_page_for_each_entry_goes_through_a_log_smaller_than_its_splits() {
    for more in ["", "trx_commit=2", "flush_neighbors=2", "change_buffering=all"] {
        let text = format!("{SMALL_LOG} {more}").replace("trx_commit", "flush_log_at_trx_commit");
        let (_, mut driven) = loaded(&text);
        let mut model = driven.everything(2);
        let before = moved(&driven);
        for number in 0..6 {
            let mut batch = batch(number);
            assert!(!driven.engine.takes_in_pieces(&batch));
            driven.write(&mut batch, Commit::Configured).unwrap();
            apply(&mut model, &batch);
        }
        assert!(moved(&driven) > before, "{more}");
        assert!(driven.everything(2) == model, "{more}");
        structure::check(driven.engine.forest(), &mut driven.task);
    }
}

#[test]
fn a_crash_in_a_batch_that_moved_its_intent_leaves_whole_batches() {
    let (before, mut driven) = loaded(SMALL_LOG);
    let begin = driven.everything(2);
    let mut moves_and_crashes = (0, 0);
    for at in (0..).step_by(3) {
        let memory = Arc::new(before.crash_clone(CrashKeeps::Everything));
        let faulty = Arc::new(FaultyStorage::new(memory.clone()));
        let mut driven = Driven::open(faulty.clone(), &options(SMALL_LOG), KeyLayout::Indexed).unwrap();
        faulty.fail_writes_after(at);
        let failed = write_all(&mut driven, 0..3).is_err();
        moves_and_crashes.0 += moved(&driven);
        moves_and_crashes.1 += u64::from(failed);
        for keeps in [CrashKeeps::Synced, CrashKeeps::Everything, CrashKeeps::Random { seed: at }] {
            let left = Arc::new(memory.crash_clone(keeps));
            let mut again = Driven::open(left, &options(SMALL_LOG), KeyLayout::Indexed).unwrap();
            let last = again.get(LAST).unwrap().map(|value| u32::from_be_bytes(value[..].try_into().unwrap()));
            let mut model = begin.clone();
            (0..last.map_or(0, |last| last + 1)).for_each(|number| apply(&mut model, &batch(number)));
            assert!(failed || last == Some(2), "{keeps:?} after write {at}");
            assert!(again.everything(2) == model, "{keeps:?} after write {at}: not the state after batch {last:?}");
            structure::check(again.engine.forest(), &mut again.task);
        }
        if !failed {
            break;
        }
    }
    assert!(moves_and_crashes.0 > 20 && moves_and_crashes.1 > 20, "{moves_and_crashes:?}");
}

/// A crash within the recovery of such a batch, which moves its intent as well.
#[test]
fn a_crash_while_such_a_batch_is_completed_leaves_it_to_the_next_recovery() {
    let (memory, driven) = loaded(SMALL_LOG);
    drop(driven);
    let faulty = Arc::new(FaultyStorage::new(memory.clone()));
    let mut driven = Driven::open(faulty.clone(), &options(SMALL_LOG), KeyLayout::Indexed).unwrap();
    let mut model = driven.everything(2);
    faulty.fail_writes_after(12);
    assert!(write_all(&mut driven, 0..1).is_err());
    apply(&mut model, &batch(0));
    let (mut left, mut completed) = (memory.crash_clone(CrashKeeps::Everything), false);
    let mut crashes = 0;
    while !completed {
        let memory = Arc::new(left);
        let faulty = Arc::new(FaultyStorage::new(memory.clone()));
        faulty.fail_writes_after(10 + crashes * 5);
        let opened = Driven::open(faulty.clone(), &options(SMALL_LOG), KeyLayout::Indexed);
        completed = opened.is_ok();
        crashes += u64::from(!completed);
        left = memory.crash_clone(CrashKeeps::Everything);
    }
    assert!(crashes > 2, "{crashes}");
    let mut again = Driven::open(Arc::new(left), &options(SMALL_LOG), KeyLayout::Indexed).unwrap();
    assert!(again.everything(2) == model);
    structure::check(again.engine.forest(), &mut again.task);
}

#[test]
fn clients_whose_batches_fill_the_log_wait_for_each_other() {
    let (_, mut driven) = loaded(SMALL_LOG);
    let mut model = driven.everything(2);
    let engine = &driven.engine;
    let clients = (0..4).map(|client| {
        let engine = engine.clone();
        spawn(format!("client {client}"), move || {
            (0..3)
                .try_for_each(|round| engine.write(&mut Task::wall(0), &mut batch(client * 3 + round), Commit::Synced))
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.join().unwrap().unwrap();
    }
    (0..12).for_each(|number| apply(&mut model, &batch(number)));
    let found = driven.everything(2);
    // Rows of which each client writes the same few are of whoever came last.
    let entries =
        |model: &Model| model.range(1u32.to_be_bytes().to_vec()..).map(|(k, _)| k.clone()).collect::<Vec<_>>();
    assert_eq!(found.len(), model.len());
    assert!(entries(&found) == entries(&model));
    structure::check(driven.engine.forest(), &mut driven.task);
}

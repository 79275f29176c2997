//! Damage of the log at rest: an error that names the file, or nothing is missing; never a silent loss of what was
//! synced.

use super::{Driven, TINY, options};
use crate::btree::log::offset_of;
use crate::engine::{Commit, KeyLayout, WriteBatch};
use crate::error::Error;
use crate::metrics::Purpose;
use crate::storage::memory::CrashKeeps;
use crate::storage::{FileOptions, MemoryStorage, Storage};
use crate::task::Task;
use std::sync::Arc;

/// One synced row after another, some of zeros alone.
fn put(driven: &mut Driven, n: u32, commit: Commit) {
    let mut batch = WriteBatch::default();
    batch.put(&n.to_be_bytes(), &vec![(n % 3) as u8; if n.is_multiple_of(4) { 1200 } else { 40 }]);
    driven.write(&mut batch, commit).unwrap();
}

/// Rows that are there when the log is opened after `damage`; none if it is refused.
fn rows_after(storage: &MemoryStorage, text: &str, damage: impl FnOnce(&MemoryStorage)) -> Option<usize> {
    let left = Arc::new(storage.crash_clone(CrashKeeps::Everything));
    damage(&left);
    match Driven::open(left, &options(text), KeyLayout::Plain).and_then(|mut driven| driven.scan(b"")) {
        Ok(rows) => Some(rows.len()),
        Err(Error::Corruption { file, .. }) if file == "redo.log" => None,
        Err(other) => panic!("{other}"),
    }
}

fn zero_sector(storage: &MemoryStorage, offset: u64) {
    let mut task = Task::wall(0);
    let log = storage.open(&mut task, "redo.log", FileOptions::DIRECT).unwrap();
    log.write_at(&mut task, Purpose::Redo, offset, &[0; 512]).unwrap();
}

/// A log in one piece, one that has gone round, one of a second life, one with changes that were not synced.
fn logs() -> Vec<(&'static str, String, MemoryStorage, usize, u64)> {
    let roomy = TINY.replace("log_capacity=262144", "log_capacity=2097152");
    let lazy = format!("{roomy} flush_log_at_trx_commit=2");
    let cases = [("one piece", &roomy), ("round", &TINY.to_owned()), ("second life", &roomy), ("lazy", &lazy)];
    let log = |(name, text): (&'static str, &String)| {
        let memory = Arc::new(MemoryStorage::new(Arc::default()));
        let mut driven = Driven::open(memory.clone(), &options(text), KeyLayout::Plain).unwrap();
        let rows = if name == "round" { 1000 } else { 300 };
        (0..rows).for_each(|n| put(&mut driven, n, Commit::Synced));
        if name == "second life" {
            driven = Driven::open(memory.clone(), &options(text), KeyLayout::Plain).unwrap();
            (rows..rows + 3).for_each(|n| put(&mut driven, n, Commit::Synced));
            return (name, text.clone(), memory.crash_clone(CrashKeeps::Synced), 303, last_block(&driven));
        }
        let last = last_block(&driven);
        if name == "lazy" {
            (rows..rows + 20).for_each(|n| put(&mut driven, n, Commit::Configured));
            let left = (0..).map(|seed| memory.crash_clone(CrashKeeps::Random { seed }));
            // One in which something is torn.
            let torn = left.into_iter().find(|left| {
                rows_after(left, text, |_| {}).is_some_and(|found| found > rows as usize && found < rows as usize + 20)
            });
            return (name, text.clone(), torn.unwrap(), rows as usize, last);
        }
        (name, text.clone(), memory.crash_clone(CrashKeeps::Synced), rows as usize, last)
    };
    cases.into_iter().map(log).collect()
}

/// The file's block in which the durable log ends.
fn last_block(driven: &Driven) -> u64 {
    let redo = &driven.engine.forest().store.redo;
    offset_of(redo.header(), redo.durable_lsn() - 1) / 512 * 512
}

#[test]
fn a_flipped_bit_of_the_log_is_an_error_or_loses_nothing_synced() {
    for (name, text, storage, synced, _) in logs() {
        let bits = storage.open(&mut Task::wall(0), "redo.log", FileOptions::DIRECT).unwrap().len() * 8;
        let (mut refused, mut harmless) = (0, 0);
        for n in 0..400u64 {
            match rows_after(&storage, &text, |left| left.flip_bit("redo.log", n * 2_654_435_761 % bits).unwrap()) {
                Some(found) => {
                    assert!(found >= synced, "{name}: {found} of {synced} rows after flip {n}");
                    harmless += 1;
                }
                None => refused += 1,
            }
        }
        assert!(refused > 5, "{name}: {refused} refused, {harmless} harmless");
    }
}

#[test]
fn a_bit_flipped_in_the_header_of_the_log_is_an_error_or_loses_nothing() {
    for (name, text, storage, synced, _) in logs() {
        for bit in (0..1536 * 8).step_by(61) {
            let found = rows_after(&storage, &text, |left| left.flip_bit("redo.log", bit).unwrap());
            assert!(found.is_none_or(|found| found >= synced), "{name}: {found:?} of {synced} after bit {bit}");
        }
    }
}

/// All but the last one: a sector that never reached the medium looks the same there.
#[test]
fn a_zeroed_sector_of_the_synced_log_is_an_error_or_loses_nothing() {
    for (name, text, storage, synced, last) in logs() {
        let bytes = storage.open(&mut Task::wall(0), "redo.log", FileOptions::DIRECT).unwrap().len();
        let mut refused = 0;
        for offset in (0..bytes).step_by(512).filter(|offset| *offset + 2048 < last || *offset > last) {
            match rows_after(&storage, &text, |left| zero_sector(left, offset)) {
                Some(found) => assert!(found >= synced, "{name}: {found} of {synced} rows without sector {offset}"),
                None => refused += 1,
            }
        }
        assert!(refused > 2, "{name}: {refused} refused");
    }
}

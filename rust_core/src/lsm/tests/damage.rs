//! Damage in the log: below what is known to be synced it is an error that names its place, behind it is the end of the
//! log.

use super::*;
use crate::error::Error;
use crate::metrics::Purpose;
use crate::storage::FileOptions;
use crate::storage::memory::{CrashKeeps, SECTOR_BYTES};
use serde_json::json;

const ROWS: u64 = 300;
/// Bytes of the record of a row: headers of a fragment and of a batch, the change, a key of 4 and 1,200 zeros.
const ROW_BYTES: u64 = 7 + 12 + 1 + 1 + 4 + 2 + 1200;

fn large_memtable() -> Options {
    tiny(&json!({"write_buffer_size": 4 << 20}))
}

fn in_mode(options: &Options, mode: &str) -> Options {
    Options { wal_recovery_mode: mode.to_owned(), ..options.clone() }
}

/// Rows of zeros from a number on.
fn write_rows(lsm: &Lsm, rows: std::ops::Range<u64>, commit: Commit) {
    for n in rows {
        let mut batch = WriteBatch::default();
        batch.put(format!("{n:04}").as_bytes(), &[0; 1200]);
        lsm.write(&mut Task::wall(0), &mut batch, commit).unwrap();
    }
}

/// What a power cut leaves of so many synced rows.
fn synced_rows(options: &Options, rows: u64) -> MemoryStorage {
    let storage = memory();
    let lsm = open(&storage, options).unwrap();
    write_rows(&lsm, 0..rows, Commit::Synced);
    storage.crash_clone(CrashKeeps::Synced)
}

fn logs(storage: &MemoryStorage) -> Vec<String> {
    storage.list().unwrap().into_iter().filter(|name| name.strip_suffix(".log").is_some()).collect()
}

fn len(storage: &MemoryStorage, name: &str) -> u64 {
    storage.open(&mut Task::wall(0), name, FileOptions::DIRECT).unwrap().len()
}

/// A copy with a range of a file overwritten.
fn with_bytes(storage: &MemoryStorage, name: &str, at: u64, bytes: &[u8]) -> Arc<MemoryStorage> {
    let (copy, mut task) = (Arc::new(storage.crash_clone(CrashKeeps::Everything)), Task::wall(0));
    copy.open(&mut task, name, FileOptions::DIRECT).unwrap().write_at(&mut task, Purpose::Wal, at, bytes).unwrap();
    copy
}

/// A copy with a file of another length.
fn with_len(storage: &MemoryStorage, name: &str, bytes: u64) -> Arc<MemoryStorage> {
    let (copy, mut task) = (Arc::new(storage.crash_clone(CrashKeeps::Everything)), Task::wall(0));
    copy.open(&mut task, name, FileOptions::DIRECT).unwrap().set_len(&mut task, bytes).unwrap();
    copy
}

fn with_flipped_bit(storage: &MemoryStorage, name: &str, bit: u64) -> Arc<MemoryStorage> {
    let copy = Arc::new(storage.crash_clone(CrashKeeps::Everything));
    copy.flip_bit(name, bit).unwrap();
    copy
}

/// Fails unless opening is refused with an error that names this log and a place at most a record before the damage.
fn expect_refused(storage: &Arc<MemoryStorage>, options: &Options, log: &str, at: u64) {
    let error = match open(storage, options) {
        Ok(lsm) => panic!("damage at byte {at} of {log} passed, {} rows are left", scan(&lsm).unwrap().len()),
        Err(error) => error,
    };
    let Error::Corruption { file, offset, .. } = &error else { panic!("{error}") };
    assert_eq!(file, log, "{error}");
    assert!((at.saturating_sub(ROW_BYTES + 7)..=at).contains(offset), "damage at byte {at}: {error}");
}

fn rows_and_dropped(storage: &Arc<MemoryStorage>, options: &Options) -> (u64, u64, u64) {
    let lsm = open(storage, options).unwrap();
    let details = lsm.stats().details;
    (scan(&lsm).unwrap().len() as u64, details["wal_dropped_bytes"] as u64, details["wal_dropped_records"] as u64)
}

#[test]
fn a_flipped_bit_in_synced_rows_of_zeros_is_an_error() {
    let options = large_memtable();
    let left = synced_rows(&options, ROWS);
    let log = &logs(&left)[0];
    let bits = 8 * (len(&left, log) - ROW_BYTES - 14);
    for n in 0..ROWS {
        let bit = n * 7919 * 97 % bits;
        expect_refused(&with_flipped_bit(&left, log, bit), &options, log, bit / 8);
    }
}

#[test]
fn a_sector_of_zeros_in_synced_rows_is_an_error() {
    let options = large_memtable();
    let left = synced_rows(&options, 60);
    let log = &logs(&left)[0];
    let name = log.as_str();
    let file = left.open(&mut Task::wall(0), name, FileOptions::DIRECT).unwrap();
    let mut zeroed = 0;
    for at in (0..file.len() - ROW_BYTES - 14 - SECTOR_BYTES as u64).step_by(SECTOR_BYTES) {
        let mut sector = [0; SECTOR_BYTES];
        file.read_at(&mut Task::wall(0), Purpose::Wal, at, &mut sector).unwrap();
        if sector == [0; SECTOR_BYTES] {
            continue;
        }
        let at_damage = at + sector.iter().position(|byte| *byte != 0).unwrap() as u64;
        expect_refused(&with_bytes(&left, name, at, &[0; SECTOR_BYTES]), &options, name, at_damage);
        zeroed += 1;
    }
    assert!(zeroed > 50, "{zeroed}");
}

#[test]
fn a_hole_in_what_was_never_synced_is_the_end_of_the_log_whatever_follows() {
    let options = large_memtable();
    let storage = memory();
    let lsm = open(&storage, &options).unwrap();
    write_rows(&lsm, 0..10, Commit::Synced);
    write_rows(&lsm, 10..40, Commit::Configured);
    let log = logs(&storage)[0].clone();
    let hole = ROW_BYTES * 20 / SECTOR_BYTES as u64 * SECTOR_BYTES as u64;
    let unsynced = storage.crash_clone(CrashKeeps::Everything);
    let (rows, bytes, records) = rows_and_dropped(&with_bytes(&unsynced, &log, hole, &[0; SECTOR_BYTES]), &options);
    assert!((10..=20).contains(&rows), "{rows}");
    assert!(records >= 19 && bytes >= records * (ROW_BYTES - 1200), "{records} records, {bytes} bytes");
    write_rows(&lsm, 40..42, Commit::Synced);
    write_rows(&lsm, 42..43, Commit::Configured);
    let synced = storage.crash_clone(CrashKeeps::Everything);
    expect_refused(&with_bytes(&synced, &log, hole, &[0; SECTOR_BYTES]), &options, &log, hole + SECTOR_BYTES as u64);
}

#[test]
fn damage_in_an_older_log_is_an_error_if_a_newer_one_says_that_it_was_synced() {
    let options =
        tiny(&json!({"write_buffer_size": 16384, "max_write_buffer_number": 64, "level0_stop_writes_trigger": 64,
        "level0_slowdown_writes_trigger": 64}));
    let left = synced_rows(&options, 60);
    let names = logs(&left);
    assert!(names.len() > 3, "{names:?}");
    let (first, second, bytes) = (&names[0], &names[1], len(&left, &names[0]));
    // The last record of the first log, of which only newer logs can tell.
    expect_refused(&with_bytes(&left, first, bytes - 30, &[9]), &options, first, bytes - 30);
    expect_refused(&with_bytes(&left, first, bytes - ROW_BYTES, &[0; 50]), &options, first, bytes - ROW_BYTES);
    expect_refused(&with_len(&left, first, bytes - 10), &options, first, bytes - 10);
    expect_refused(&with_len(&left, first, bytes - ROW_BYTES), &options, second, 0);
    let without = Arc::new(left.crash_clone(CrashKeeps::Everything));
    without.remove(&mut Task::wall(0), first).unwrap();
    expect_refused(&without, &options, second, 0);
    let cut = with_len(&left, first, bytes - 10);
    let (rows, ..) = rows_and_dropped(&cut, &in_mode(&options, "kPointInTimeRecovery"));
    assert_eq!(rows, bytes / ROW_BYTES - 1);
}

#[test]
fn what_lies_behind_damage_is_refused_dropped_or_taken_as_the_mode_says() {
    let options = large_memtable();
    let left = synced_rows(&options, 20);
    let log = logs(&left)[0].clone();
    let damaged = with_bytes(&left, &log, 5 * ROW_BYTES + 40, &[1]);
    for mode in ["kTolerateCorruptedTailRecords", "kAbsoluteConsistency"] {
        expect_refused(&damaged, &in_mode(&options, mode), &log, 5 * ROW_BYTES + 40);
    }
    let copy = || Arc::new(damaged.crash_clone(CrashKeeps::Everything));
    let behind = len(&left, &log) - 5 * ROW_BYTES;
    // Of the damaged record, nothing but its payload is; the last value ends with zeros.
    let (rows, bytes, records) = rows_and_dropped(&copy(), &in_mode(&options, "kPointInTimeRecovery"));
    assert_eq!((rows, bytes, records), (5, behind - 1200, 14));
    let skipped = in_mode(&options, "kSkipAnyCorruptedRecords");
    assert_eq!(rows_and_dropped(&copy(), &skipped), (19, ROW_BYTES, 0));
}

#[test]
fn a_torn_end_and_a_reserved_length_of_zeros_open_in_all_modes_but_one() {
    let options = large_memtable();
    let left = synced_rows(&options, 20);
    let log = logs(&left)[0].clone();
    let bytes = len(&left, &log);
    let ends = [(with_len(&left, &log, bytes - 5), 19), (with_len(&left, &log, bytes + 100_000), 20)];
    for (end, rows) in ends {
        for mode in ["kTolerateCorruptedTailRecords", "kPointInTimeRecovery", "kSkipAnyCorruptedRecords"] {
            let copy = Arc::new(end.crash_clone(CrashKeeps::Everything));
            assert_eq!(rows_and_dropped(&copy, &in_mode(&options, mode)).0, rows, "{mode}");
        }
        let error = open(&end, &in_mode(&options, "kAbsoluteConsistency")).err().unwrap();
        assert!(matches!(error, Error::Corruption { .. }), "{error}");
    }
    assert_eq!(rows_and_dropped(&Arc::new(left), &in_mode(&options, "kAbsoluteConsistency")), (20, 0, 0));
}

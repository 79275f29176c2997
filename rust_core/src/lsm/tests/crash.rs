//! Crashes, faults, full disks and flipped bits: synced writes survive, no batch is halved, what survives of unsynced
//! writes is a prefix, and damage is an error.

use super::*;
use crate::error::Error;
use crate::storage::FaultyStorage;
use crate::storage::FileOptions;
use crate::storage::memory::CrashKeeps;
use serde_json::json;
use std::collections::BTreeMap;

const BATCHES: u32 = 260;
const KEYS_PER_BATCH: u32 = 4;

/// Every 10th batch is synced.
fn is_synced(batch: u32) -> bool {
    batch % 10 == 9
}

fn key_of(batch: u32, n: u32) -> Vec<u8> {
    format!("{:05}", (batch * KEYS_PER_BATCH + n).wrapping_mul(2_654_435_761) % 700).into_bytes()
}

/// Batch `n` puts four keys, or deletes one and puts three; each batch also sets `last` to its number.
fn batch_of(n: u32) -> WriteBatch {
    let mut batch = WriteBatch::default();
    for k in 0..KEYS_PER_BATCH {
        if k == 0 && n.is_multiple_of(3) {
            batch.delete(&key_of(n, k));
        } else {
            batch.put(&key_of(n, k), &[&n.to_be_bytes()[..], &[b'x'; 250]].concat());
        }
    }
    batch.put(b"last", &n.to_be_bytes());
    batch
}

fn state_after(batches: u32) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut state = BTreeMap::new();
    for n in 0..batches {
        for change in batch_of(n).changes() {
            match change {
                crate::engine::Change::Put { key, value } => state.insert(key.to_vec(), value.to_vec()),
                crate::engine::Change::Delete { key } => state.remove(key),
            };
        }
    }
    state
}

/// What the script could acknowledge before a fault stopped it.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    acknowledged: u32,
    synced: u32,
}

/// Opens, writes all batches with jobs in between, settles, and goes as far as it can.
fn script(storage: Arc<dyn Storage>, options: &Options) -> (Progress, Result<()>) {
    let mut progress = Progress::default();
    let go = || -> Result<()> {
        let lsm = open_on(storage, options)?;
        for n in 0..BATCHES {
            let commit = if is_synced(n) { Commit::Synced } else { Commit::Configured };
            write(&lsm, &mut batch_of(n), commit)?;
            progress.acknowledged = n + 1;
            if is_synced(n) {
                progress.synced = n + 1;
            }
            if n % 25 == 0 {
                run_jobs(&lsm)?;
            }
        }
        settle(&lsm)
    };
    let result = go();
    (progress, result)
}

/// Opens what a crash left and returns the number of batches in it, after checking that they are whole and the first.
/// Then it writes more, closes, cuts the power and opens once more.
fn survivors(storage: MemoryStorage, options: &Options) -> u32 {
    let storage = Arc::new(storage);
    let lsm = open(&storage, options).unwrap();
    let found = scan(&lsm).unwrap();
    let last = found.iter().find(|(key, _)| key == b"last");
    let batches = last.map_or(0, |(_, value)| u32::from_be_bytes(value[..].try_into().unwrap()) + 1);
    assert_eq!(found, state_after(batches).into_iter().collect::<Vec<_>>(), "{batches} batches, but not just those");
    run_jobs(&lsm).unwrap();
    write(&lsm, &mut batch_of(batches), Commit::Configured).unwrap();
    run_jobs(&lsm).unwrap();
    lsm.close(&mut Task::wall(0)).unwrap();
    let again = open(&Arc::new(storage.crash_clone(CrashKeeps::Synced)), options).unwrap();
    let more = state_after(batches + 1).into_iter().collect::<Vec<_>>();
    assert_eq!(scan(&again).unwrap(), more, "after the second power cut");
    batches
}

fn crash_at_every_write(options: &Options) {
    let faulty = FaultyStorage::new(memory());
    script(Arc::new(faulty), options).1.unwrap();
    let total = {
        let faulty = Arc::new(FaultyStorage::new(memory()));
        script(faulty.clone(), options).1.unwrap();
        faulty.writes_seen()
    };
    assert!(total > 100, "{total}");
    for at in 0..total {
        let inner = memory();
        let faulty = Arc::new(FaultyStorage::new(inner.clone()));
        faulty.fail_writes_after(at);
        let (progress, result) = script(faulty, options);
        assert!(result.is_err(), "write {at} of {total} did not fail");
        let context = format!("crash at write {at} of {total}, {progress:?}");
        for keeps in [CrashKeeps::Synced, CrashKeeps::Everything, CrashKeeps::Random { seed: at }] {
            let batches = survivors(inner.crash_clone(keeps), options);
            assert!(batches >= progress.synced, "{batches} batches survive with {keeps:?}, {context}");
            assert!(batches <= progress.acknowledged + 1, "{batches} batches survive with {keeps:?}, {context}");
        }
    }
}

#[test]
fn a_crash_at_any_write_keeps_synced_batches_and_a_prefix_of_the_others() {
    crash_at_every_write(&tiny(&json!({"write_buffer_size": 65536})));
}

#[test]
fn so_it_does_when_the_log_is_flushed_by_hand() {
    crash_at_every_write(&tiny(&json!({"manual_wal_flush": true, "min_write_buffer_number_to_merge": 2,
        "max_write_buffer_number": 4})));
}

#[test]
fn so_it_does_when_the_manifest_is_rolled() {
    crash_at_every_write(&tiny(&json!({"max_manifest_file_size": 0})));
}

#[test]
fn a_crash_during_recovery_changes_nothing() {
    let options = tiny(&json!({}));
    let inner = memory();
    let lsm = open(&inner, &options).unwrap();
    for n in 0..BATCHES {
        lsm.write(&mut Task::wall(0), &mut batch_of(n), Commit::Synced).unwrap();
    }
    let crashed = inner.crash_clone(CrashKeeps::Synced);
    for at in 0.. {
        let copy = Arc::new(crashed.crash_clone(CrashKeeps::Everything));
        let faulty = Arc::new(FaultyStorage::new(copy.clone()));
        faulty.fail_writes_after(at);
        let opened = open_on(faulty, &options).is_ok();
        for keeps in [CrashKeeps::Synced, CrashKeeps::Everything, CrashKeeps::Random { seed: at }] {
            assert_eq!(survivors(copy.crash_clone(keeps), &options), BATCHES, "crash at write {at}, {keeps:?}");
        }
        if opened {
            assert!(at > 10);
            break;
        }
    }
}

#[test]
fn a_recovery_that_rolls_the_manifest_keeps_the_one_that_current_names() {
    let options =
        tiny(&json!({"max_manifest_file_size": 0, "write_buffer_size": 16384, "max_write_buffer_number": 64}));
    let inner = memory();
    let lsm = open(&inner, &options).unwrap();
    for n in 0..1000 {
        lsm.write(&mut Task::wall(0), &mut batch_of(n), Commit::Synced).unwrap();
    }
    let left = Arc::new(inner.crash_clone(CrashKeeps::Synced));
    for life in 0..3 {
        let lsm = open(&left, &options).unwrap_or_else(|error| panic!("life {life}: {error}"));
        assert_eq!(scan(&lsm).unwrap(), state_after(1000).into_iter().collect::<Vec<_>>());
        lsm.close(&mut Task::wall(0)).unwrap();
    }
}

#[test]
fn a_full_disk_is_an_error_that_lasts_and_loses_nothing() {
    let options = tiny(&json!({}));
    for space in [3_000, 60_000, 150_000, 250_000, 400_000] {
        let inner = memory();
        let faulty = Arc::new(FaultyStorage::new(inner.clone()));
        faulty.limit_space(space);
        let lsm = open_on(faulty.clone(), &options).unwrap();
        let mut acknowledged = 0;
        let error = loop {
            if let Err(error) =
                write(&lsm, &mut batch_of(acknowledged), Commit::Configured).and_then(|()| run_jobs(&lsm))
            {
                break error;
            }
            acknowledged += 1;
        };
        assert!(matches!(&error, Error::Io { .. } | Error::Poisoned { .. }), "{error}");
        assert!(lsm.check().is_err());
        faulty.heal();
        assert!(matches!(put(&lsm, b"k", b"v"), Err(Error::Poisoned { .. })), "it does not go on as if nothing was");
        assert!(matches!(get(&lsm, b"last"), Err(Error::Poisoned { .. })));
        drop(lsm);
        let batches = survivors(inner.crash_clone(CrashKeeps::Everything), &options);
        assert!(
            (acknowledged..=acknowledged + 1).contains(&batches),
            "{batches} of {acknowledged} left, space {space}"
        );
    }
}

#[test]
fn a_failed_read_is_an_error_and_passes() {
    let inner = memory();
    let faulty = Arc::new(FaultyStorage::new(inner));
    let lsm = open_on(faulty.clone(), &tiny(&json!({"block_cache": 0}))).unwrap();
    for n in 0..BATCHES {
        write(&lsm, &mut batch_of(n), Commit::Configured).unwrap();
    }
    settle(&lsm).unwrap();
    faulty.fail_reads_after(0);
    let (key, _) = state_after(BATCHES).into_iter().next().unwrap();
    assert!(matches!(get(&lsm, &key), Err(Error::Io { .. })));
    assert!(scan(&lsm).is_err());
    faulty.heal();
    assert!(get(&lsm, &key).unwrap().is_some());
}

/// Opens, reads everything, runs all jobs and reads everything again.
fn read_all(storage: MemoryStorage, options: &Options) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let lsm = open_on(Arc::new(storage), options)?;
    let found = scan(&lsm)?;
    for (key, value) in &found {
        assert_eq!(get(&lsm, key)?.as_ref(), Some(value));
    }
    Ok(found)
}

#[test]
fn a_flipped_bit_anywhere_is_an_error() {
    let options = tiny(&json!({"disable_auto_compactions": false}));
    let inner = memory();
    let lsm = open(&inner, &options).unwrap();
    for n in 0..BATCHES {
        write(&lsm, &mut batch_of(n), Commit::Synced).unwrap();
        run_jobs(&lsm).unwrap();
    }
    let left = inner.crash_clone(CrashKeeps::Everything);
    let mut flips = 0;
    for name in left.list().unwrap() {
        let bytes = left.open(&mut Task::wall(0), &name, FileOptions::DIRECT).unwrap().len();
        let step = (bytes * 8 / 60).max(1);
        for bit in (0..bytes * 8).step_by(step as usize).chain(bytes * 8 - 8..bytes * 8) {
            let copy = left.crash_clone(CrashKeeps::Everything);
            copy.flip_bit(&name, bit).unwrap();
            flips += 1;
            let found = read_all(copy, &options);
            assert!(matches!(found, Err(Error::Corruption { .. })), "bit {bit} of {name}");
        }
    }
    assert!(flips > 200, "{flips}");
}

#[test]
fn a_missing_file_is_an_error() {
    let options = tiny(&json!({}));
    let inner = memory();
    let lsm = open(&inner, &options).unwrap();
    for n in 0..BATCHES {
        write(&lsm, &mut batch_of(n), Commit::Synced).unwrap();
    }
    settle(&lsm).unwrap();
    lsm.close(&mut Task::wall(0)).unwrap();
    let names = inner.list().unwrap();
    let needed = names.iter().filter(|name| name.strip_suffix(".log").is_none()).collect::<Vec<_>>();
    assert!(needed.len() > 3, "{names:?}");
    for name in needed {
        let copy = inner.crash_clone(CrashKeeps::Everything);
        copy.remove(&mut Task::wall(0), name).unwrap();
        assert!(matches!(open_on(Arc::new(copy), &options), Err(Error::Corruption { .. })), "{name}");
    }
}

#[test]
fn a_job_that_is_dropped_can_be_done_again() {
    let inner = memory();
    let options = tiny(&json!({}));
    let lsm = open(&inner, &options).unwrap();
    let mut task = Task::wall(0);
    for n in 0..BATCHES {
        write(&lsm, &mut batch_of(n), Commit::Configured).unwrap();
        if n % 40 == 0
            && let Some(mut job) = lsm.next_job(0)
        {
            job.run(&mut task).unwrap();
            drop(job);
        }
    }
    lsm.begin_settle(&mut task).unwrap();
    while let Some(mut job) = lsm.next_job(0) {
        job.run(&mut task).unwrap();
        drop(job);
        let mut again = lsm.next_job(0).unwrap();
        again.run(&mut task).unwrap();
        again.install(&mut task).unwrap();
    }
    assert_eq!(scan(&lsm).unwrap(), state_after(BATCHES).into_iter().collect::<Vec<_>>());
    lsm.close(&mut task).unwrap();
    survivors(inner.crash_clone(CrashKeeps::Synced), &options);
}

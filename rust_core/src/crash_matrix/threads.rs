//! Power cuts and faults while threads write and jobs run.

use super::script::Life;
use super::survivor::open_or_refuse;
use super::{Commits, SURVIVALS, Subject, stride, survival};
use crate::engine::{Commit, Engine, WriteBatch};
use crate::run::workers::{Workers, admit};
use crate::storage::memory::CrashKeeps;
use crate::storage::{FaultyStorage, MemoryStorage};
use crate::task::wall::{WallClock, spawn};
use crate::task::{Signal, Task};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;

const WRITERS: u32 = 3;
/// Batches after which a writer ends, if nothing stops it.
const BATCHES: u32 = 1500;

/// Keys of a writer lie in the indexes that the layout has.
fn key(writer: u32, text: &str) -> Vec<u8> {
    [&(writer + 1).to_be_bytes()[..], text.as_bytes()].concat()
}

/// Each batch of a writer sets its two counters, at either end of its keys, to its number, and one key of its own.
fn batch_of(writer: u32, n: u32) -> WriteBatch {
    let mut batch = WriteBatch::default();
    batch.put(&key(writer, "a"), &n.to_be_bytes());
    batch.put(&key(writer, &format!("m{n:06}")), &vec![(n % 3) as u8; 60 + (n % 7) as usize * 60]);
    batch.put(&key(writer, "z"), &n.to_be_bytes());
    batch
}

/// What a writer was told: its last batches that were begun, acknowledged and synced, counted from 1.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    started: u32,
    acknowledged: u32,
    synced: u32,
}

fn write_until_it_fails(engine: &dyn Engine, signal: &Signal, clock: WallClock, commits: Commits, writer: u32) -> Told {
    let (mut task, mut told) = (Task::wall(writer), Told::default());
    for n in 1..=BATCHES {
        let synced = n.is_multiple_of(3 + 4 * writer) && commits != Commits::Unlogged;
        let commit = if synced { Commit::Synced } else { Commit::Configured };
        let mut batch = batch_of(writer, n);
        if admit(engine, signal, clock, &mut task, batch.encoded_bytes() as u64, &|| false).is_err() {
            break;
        }
        told.started = n;
        if engine.write(&mut task, &mut batch, commit).is_err() {
            break;
        }
        told.acknowledged = n;
        if synced || commits == Commits::Synced {
            told.synced = n;
        }
    }
    told
}

/// Cuts the power at some write while three writers and the workers run, `usual_rounds` times (more often if
/// `CRASH_STRIDE` is 1), and checks what is left in each way in which that survives.
pub fn cut_power_while_threads_run<S: Subject>(name: &str, subject: S, usual_rounds: u64) {
    run_threads(name, subject, usual_rounds, |faulty, coin| {
        let at = coin.random_range(20..1500);
        faulty.fail_writes_after(at);
        format!("power cut at write {at}")
    });
}

/// Fails one access while three writers and the workers run, and checks as after a power cut.
pub fn fail_one_access_while_threads_run<S: Subject>(name: &str, subject: S, usual_rounds: u64) {
    run_threads(name, subject, usual_rounds, |faulty, coin| {
        let at = coin.random_range(20..1500);
        faulty.fail_once_at(at);
        format!("a fault in access {at}")
    });
}

fn run_threads<S: Subject>(
    name: &str,
    subject: S,
    usual_rounds: u64,
    trouble: fn(&FaultyStorage, &mut Xoshiro256PlusPlus) -> String,
) {
    let subject = Arc::new(subject);
    let rounds = if stride(0) == 1 { 20 * usual_rounds } else { usual_rounds };
    for round in 0..rounds {
        let memory = Arc::new(MemoryStorage::new(Arc::default()));
        let faulty = Arc::new(FaultyStorage::new(memory.clone()));
        let (signal, clock) = (Arc::new(Signal::default()), WallClock::default());
        let opened = subject.open(faulty.clone(), signal.clone(), &mut Task::wall(0));
        let engine: Arc<dyn Engine> = opened.unwrap_or_else(|error| panic!("{name}: {error}"));
        let seed = u64::from(crc32c::crc32c(name.as_bytes())) + round;
        let trouble = trouble(&faulty, &mut Xoshiro256PlusPlus::seed_from_u64(seed));
        let workers = Workers::start(&engine, &signal, clock);
        let writers = (0..WRITERS).map(|writer| {
            let (engine, signal, commits) = (engine.clone(), signal.clone(), subject.commits());
            spawn(format!("writer-{writer}"), move || write_until_it_fails(&*engine, &signal, clock, commits, writer))
        });
        let writers = writers.collect::<Vec<_>>();
        let told = writers.into_iter().map(|writer| writer.join().expect("a writer panicked")).collect::<Vec<_>>();
        workers.stop();
        drop(engine);
        for way in 0..SURVIVALS {
            let keeps = survival(way, round);
            let what = format!("{name}, round {round}, {trouble}, {keeps:?}");
            check(&subject, &memory.crash_clone(keeps), keeps, &told, &what);
        }
    }
}

fn check<S: Subject>(subject: &Arc<S>, left: &MemoryStorage, keeps: CrashKeeps, told: &[Told], what: &str) {
    let left = Arc::new(left.crash_clone(CrashKeeps::Everything));
    let Some(mut life) = open_or_refuse(subject, left.clone(), what) else { return };
    let mut lasts = Vec::new();
    for (writer, told) in told.iter().enumerate() {
        let writer = writer as u32;
        let mut counter = |text: &str| {
            let value = life.get(&key(writer, text)).unwrap();
            value.map_or(0, |value| u32::from_be_bytes(value[..].try_into().expect("4 bytes")))
        };
        let (last, at_the_end) = (counter("a"), counter("z"));
        assert_eq!(last, at_the_end, "{what}: half a batch of writer {writer}");
        let survives_death = matches!(subject.commits(), Commits::Synced | Commits::Written);
        let least = if keeps == CrashKeeps::Everything && survives_death { told.acknowledged } else { told.synced };
        assert!((least..=told.started).contains(&last), "{what}: writer {writer} has {last}, was told {told:?}");
        lasts.push(last);
    }
    expect_rows(subject, &mut life, &lasts, what);
    life.pass(100).unwrap();
    life.close().unwrap();
    let left = Arc::new(left.crash_clone(CrashKeeps::Synced));
    let mut life = Life::open(&**subject, left).unwrap_or_else(|error| panic!("{what}: {error}"));
    expect_rows(subject, &mut life, &lasts, what);
}

/// All rows of each writer up to its last batch, and none behind it.
fn expect_rows<S: Subject>(subject: &Arc<S>, life: &mut Life<S>, lasts: &[u32], what: &str) {
    for (writer, last) in lasts.iter().enumerate() {
        let writer = writer as u32;
        let mut cursor = life.engine.iterator(&mut life.task).unwrap();
        cursor.seek(&mut life.task, &key(writer, "m")).unwrap();
        for n in 1..=*last {
            assert!(cursor.valid(), "{what}: writer {writer} has no row {n} of {last}");
            assert_eq!(cursor.key(), key(writer, &format!("m{n:06}")), "{what}: row {n} of writer {writer}");
            cursor.next(&mut life.task).unwrap();
        }
        let more = cursor.valid() && cursor.key().starts_with(&key(writer, "m"));
        assert!(!more, "{what}: writer {writer} has rows behind {last}");
    }
    subject.inspect(&life.engine, &mut life.task);
}

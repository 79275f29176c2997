//! The engine under real threads: whatever they do to each other, batches are whole and the end is what was written.

use super::*;
use crate::error::Error;
use crate::run::workers::{Workers, admit, settle};
use crate::storage::gated::{Gate, GatedStorage, Operation, Pass};
use crate::storage::memory::CrashKeeps;
use crate::task::wall::{WallClock, spawn};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const WRITERS: u32 = 3;
const BATCHES: u32 = 1500;

/// Each batch of a writer sets its two counters, at either end of the key space, to the same number, and one key of its
/// own.
fn batch_of(writer: u32, n: u32, batch: &mut WriteBatch) {
    batch.clear();
    for side in ["a", "z"] {
        batch.put(format!("{side}{writer}").as_bytes(), &n.to_be_bytes());
    }
    batch.put(format!("m{writer}-{n:05}").as_bytes(), &[7; 150]);
}

#[test]
fn readers_see_whole_batches_while_writers_flushes_and_compactions_run() {
    let storage = memory();
    let lsm = open(&storage, &tiny(&json!({"max_background_jobs": 4}))).unwrap();
    let engine: Arc<dyn Engine> = lsm.clone();
    let (signal, clock) = (lsm.db.signal.clone(), WallClock::default());
    let workers = Workers::start(&engine, &signal, clock);
    let writers = (0..WRITERS).map(|writer| {
        let (engine, signal) = (engine.clone(), signal.clone());
        spawn(format!("writer-{writer}"), move || {
            let (mut task, mut batch) = (Task::wall(writer), WriteBatch::default());
            for n in 0..BATCHES {
                batch_of(writer, n, &mut batch);
                admit(&*engine, &signal, clock, &mut task, 200, &|| false).unwrap();
                let commit = if n % 100 == 0 { Commit::Synced } else { Commit::Configured };
                engine.write(&mut task, &mut batch, commit).unwrap();
            }
        })
    });
    let writers = writers.collect::<Vec<_>>();
    let mut task = Task::wall(100);
    let mut floor = [0; WRITERS as usize];
    while writers.iter().any(|writer| !writer.is_finished()) {
        let mut iterator = engine.iterator(&mut task).unwrap();
        for writer in 0..WRITERS {
            let mut read = |key: String| {
                iterator.seek(&mut task, key.as_bytes()).unwrap();
                let found = iterator.valid() && iterator.key() == key.as_bytes();
                found.then(|| u32::from_be_bytes(iterator.value()[..4].try_into().unwrap()))
            };
            let (low, high) = (read(format!("a{writer}")), read(format!("z{writer}")));
            assert_eq!(low, high, "half a batch of writer {writer}");
            let Some(n) = low else { continue };
            assert!(n >= floor[writer as usize], "an older state than before");
            floor[writer as usize] = n;
            assert!(read(format!("m{writer}-{n:05}")).is_some() || n == 0);
        }
    }
    for writer in writers {
        writer.join().unwrap();
    }
    engine.begin_settle(&mut task).unwrap();
    settle(&*engine, &signal, &|| false).unwrap();
    workers.stop();
    assert_eq!(scan(&lsm).unwrap().len(), (WRITERS * (BATCHES + 2)) as usize);
    assert!(lsm.stats().details["compactions"] > 2.0);
    engine.close(&mut task).unwrap();
    assert_meters(&storage);
}

#[test]
fn a_failing_job_poisons_the_engine_and_frees_waiting_writers() {
    let inner = memory();
    let faulty = Arc::new(crate::storage::FaultyStorage::new(inner));
    let lsm = open_on(faulty.clone(), &tiny(&json!({"disable_wal": true}))).unwrap();
    let engine: Arc<dyn Engine> = lsm.clone();
    let (signal, clock) = (lsm.db.signal.clone(), WallClock::default());
    faulty.fail_writes_after(0);
    let workers = Workers::start(&engine, &signal, clock);
    let (mut task, mut batch) = (Task::wall(0), WriteBatch::default());
    let error = (0..).find_map(|n| {
        batch_of(0, n, &mut batch);
        let admitted = admit(&*engine, &signal, clock, &mut task, 200, &|| false);
        admitted.and_then(|_| engine.write(&mut task, &mut batch, Commit::Configured)).err()
    });
    assert!(matches!(error, Some(Error::Poisoned { .. })), "{error:?}");
    workers.stop();
}

/// Fails one sync of a log, once the other writers have written and wait for a sync of theirs; what it was to make
/// durable is lost, and the next sync succeeds.
struct OneFailingSync {
    memory: Arc<MemoryStorage>,
    armed: AtomicBool,
    writes: AtomicU32,
}

impl Gate for OneFailingSync {
    #[expect(clippy::disallowed_methods, reason = "the others are to get in between")]
    fn before(&self, operation: Operation, name: &str) -> Result<Pass> {
        if name.strip_suffix(".log").is_none() {
            return Ok(Pass::Through);
        }
        if matches!(operation, Operation::Write { .. }) {
            self.writes.fetch_add(1, Ordering::SeqCst);
        }
        if operation == Operation::Sync && self.armed.swap(false, Ordering::SeqCst) {
            while self.writes.load(Ordering::SeqCst) < WRITERS {
                std::thread::yield_now();
            }
            self.memory.lose_unsynced(name);
            return Err(Error::io(name, "sync", std::io::Error::other("injected fault")));
        }
        Ok(Pass::Through)
    }
}

#[test]
fn no_write_is_acknowledged_behind_a_sync_that_failed() {
    for _ in 0..20 {
        let memory = memory();
        let gate = OneFailingSync { memory: memory.clone(), armed: AtomicBool::new(true), writes: AtomicU32::new(0) };
        let lsm = open_on(Arc::new(GatedStorage::behind(gate, memory.clone())), &tiny(&json!({"sync": true}))).unwrap();
        let writers = (0..WRITERS).map(|writer| {
            let lsm = lsm.clone();
            spawn(format!("writer-{writer}"), move || {
                let mut batch = WriteBatch::default();
                batch_of(writer, 0, &mut batch);
                lsm.write(&mut Task::wall(writer), &mut batch, Commit::Synced).is_ok()
            })
        });
        let writers = writers.collect::<Vec<_>>();
        let acknowledged = writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>();
        assert!(matches!(lsm.check(), Err(Error::Poisoned { .. })));
        let left = open(&Arc::new(memory.crash_clone(CrashKeeps::Synced)), &tiny(&json!({}))).unwrap();
        for (writer, acknowledged) in acknowledged.into_iter().enumerate() {
            let survives = get(&left, format!("a{writer}").as_bytes()).unwrap().is_some();
            assert!(survives || !acknowledged, "writer {writer} was told that its write is durable");
        }
    }
}

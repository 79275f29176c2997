//! What a crash left, held against the model: it opens, it is the state after one batch that it may be, it takes more
//! writes, and all of them are there after it was closed and its power cut. A crash of its recovery changes nothing.

use super::history::{self, History, Model};
use super::script::Life;
use super::watch::Watch;
use super::{Commits, Subject, survival};
use crate::engine::{Commit, Engine, KeyLayout};
use crate::storage::gated::GatedStorage;
use crate::storage::memory::CrashKeeps;
use crate::storage::{MemoryStorage, Storage};
use parking_lot::Mutex;
use std::sync::Arc;

/// Batches that are written after a crash.
const MORE: u64 = 25;
/// Among so many of the first changes of a recovery, one is its last.
const RECOVERY_CHANGES: u64 = 24;

/// Checks what a power cut left of the engine with this history.
pub fn check<S: Subject>(subject: &Arc<S>, history: &History, memory: &MemoryStorage, keeps: CrashKeeps, seed: u64) {
    let left = Arc::new(memory.crash_clone(keeps));
    let interrupted = Arc::<Mutex<Option<Arc<MemoryStorage>>>>::default();
    let watch = Watch::new({
        let (left, interrupted, at) = (left.clone(), interrupted.clone(), seed % RECOVERY_CHANGES);
        move |number| {
            if number == at {
                *interrupted.lock() = Some(Arc::new(left.crash_clone(survival(seed / RECOVERY_CHANGES, seed))));
            }
        }
    });
    let watched = Arc::new(GatedStorage::behind(watch, left.clone()));
    let Some(mut life) = open_or_refuse(subject, watched, "it does not open") else { return };
    let interrupted = interrupted.lock().take();
    let last = life.last_batch(subject.layout()).unwrap();
    let (least, most) = (history.least(keeps == CrashKeeps::Everything), history.most());
    assert!((least..=most).contains(&last), "batch {last} is the last, not one from {least} to {most}");
    let state = history.state_after(last);
    expect_state(subject, &mut life, &state, "after the crash");
    let what = "it does not open after a crash of its recovery";
    if let Some(mut life) = interrupted.and_then(|interrupted| open_or_refuse(subject, interrupted, what)) {
        let again = life.last_batch(subject.layout()).unwrap();
        assert_eq!(again, last, "the last batch after a crash of the recovery");
        expect_state(subject, &mut life, &state, "after a crash of the recovery");
    }
    write_close_and_reopen(subject, life, left, (last, state), seed);
}

/// Opens what is left, unless it may be refused.
pub fn open_or_refuse<S: Subject>(subject: &Arc<S>, left: Arc<dyn Storage>, what: &str) -> Option<Life<S>> {
    match Life::open(&**subject, left) {
        Ok(life) => Some(life),
        Err(error) if subject.may_refuse(&error) => None,
        Err(error) => panic!("{what}: {error}"),
    }
}

fn write_close_and_reopen<S: Subject>(
    subject: &Arc<S>,
    mut life: Life<S>,
    memory: Arc<MemoryStorage>,
    (last, mut state): (u64, Model),
    seed: u64,
) {
    let layout = subject.layout();
    for number in last + 1..=last + MORE {
        let synced = number.is_multiple_of(7) && subject.commits() != Commits::Unlogged;
        let commit = if synced { Commit::Synced } else { Commit::Configured };
        history::apply(&mut state, &history::batch(layout, number));
        life.write(layout, number, commit).unwrap_or_else(|error| panic!("it takes no writes: {error}"));
        if number.is_multiple_of(5) {
            life.pass(50).unwrap();
        }
    }
    life.close().unwrap();
    drop(life);
    let left = Arc::new(memory.crash_clone(survival(seed, seed)));
    let mut life = Life::open(&**subject, left).unwrap_or_else(|error| panic!("it does not open twice: {error}"));
    expect_state(subject, &mut life, &state, "after the second power cut");
}

/// Scans all, reads some keys, and looks at the structure.
pub fn expect_state<S: Subject>(subject: &Arc<S>, life: &mut Life<S>, expected: &Model, when: &str) {
    let found = everything(&*life.engine, &mut life.task, subject.layout());
    if found != *expected {
        let differs = expected.keys().chain(found.keys()).find(|key| found.get(*key) != expected.get(*key));
        let key = differs.expect("maps that differ");
        let short = |state: &Model| {
            state.get(key).map(|value| (value.len(), value.iter().take(8).copied().collect::<Vec<_>>()))
        };
        panic!("{when}, {:?} is {:?}, not {:?}", key.escape_ascii().to_string(), short(&found), short(expected));
    }
    for number in (0..).step_by(31).take(10) {
        let key = history::key(subject.layout(), number);
        assert!(life.get(&key).unwrap().as_ref() == expected.get(&key), "{when}, {key:?}");
    }
    subject.inspect(&life.engine, &mut life.task);
}

fn everything(engine: &dyn Engine, task: &mut crate::task::Task, layout: KeyLayout) -> Model {
    let prefixes = match layout {
        KeyLayout::Plain => vec![Vec::new()],
        KeyLayout::Indexed => (0..history::INDEXES).map(|index| index.to_be_bytes().to_vec()).collect(),
    };
    let mut found = Model::new();
    for prefix in prefixes {
        let mut cursor = engine.iterator(task).unwrap();
        cursor.seek(task, &prefix).unwrap();
        while cursor.valid() && cursor.key().starts_with(&prefix) {
            found.insert(cursor.key().to_vec(), cursor.value().to_vec());
            cursor.next(task).unwrap();
        }
    }
    found
}

//! A folder that has lost a file, or a part of one, is refused by name, or recovered whole; it is never made new.

use super::{Driven, TINY, options};
use crate::engine::{Commit, Engine, KeyLayout, WriteBatch};
use crate::error::Error;
use crate::metrics::Purpose;
use crate::storage::memory::CrashKeeps;
use crate::storage::{FaultyStorage, FileOptions, MemoryStorage, Storage};
use crate::task::Task;
use std::sync::Arc;

const MIXED: &str = "page_size=8192 key_block_size=4096 compressed_indexes=1:2 buffer_pool_size=524288 \
                     redo_log_capacity=524288";

/// A log in which all rows fit, so that none of them need be in a page.
const ROOMY: &str = "page_size=4096 buffer_pool_size=8388608 redo_log_capacity=8388608";

/// An engine with 1,000 synced rows, as a power cut leaves it.
fn cut_off(text: &str, layout: KeyLayout) -> MemoryStorage {
    let memory = Arc::new(MemoryStorage::new(Arc::default()));
    let mut driven = Driven::open(memory.clone(), &options(text), layout).unwrap();
    fill(&mut driven, 0..1000);
    memory.crash_clone(CrashKeeps::Synced)
}

fn fill(driven: &mut Driven, rows: std::ops::Range<u32>) {
    for n in rows {
        let mut batch = WriteBatch::default();
        batch.put(&[&(n % 3).to_be_bytes()[..], &n.to_be_bytes()].concat(), &[n as u8; 200]);
        driven.write(&mut batch, Commit::Synced).unwrap();
    }
}

fn open(storage: Arc<MemoryStorage>, text: &str, layout: KeyLayout) -> Result<usize, Error> {
    let mut driven = Driven::open(storage, &options(text), layout)?;
    Ok(driven.everything(if layout == KeyLayout::Plain { 0 } else { 3 }).len())
}

fn expect_refusal(storage: MemoryStorage, (text, layout): (&str, KeyLayout), file: &str, what: &str) {
    let (before, storage) = (storage.list().unwrap(), Arc::new(storage));
    match open(storage.clone(), text, layout) {
        Err(Error::Corruption { file: found, what: said, .. }) => {
            assert!(found == file && said.contains(what), "{text}: {found}: {said}");
        }
        Err(other) => panic!("{text} without {file}: {other}"),
        Ok(rows) => panic!("{text} without {file}: {rows} rows"),
    }
    assert_eq!(storage.list().unwrap(), before, "{text}: an engine that is refused makes no files");
}

fn remove(storage: &MemoryStorage, names: &[&str]) {
    for name in names {
        storage.remove(&mut Task::wall(0), name).unwrap();
    }
}

const CASES: [(&str, KeyLayout); 4] = [
    (TINY, KeyLayout::Plain),
    (MIXED, KeyLayout::Indexed),
    (ROOMY, KeyLayout::Plain),
    ("page_size=4096 buffer_pool_size=8388608 redo_log_capacity=8388608 doublewrite=false", KeyLayout::Plain),
];

#[test]
fn pages_without_a_log_are_refused() {
    for (text, layout) in CASES {
        let storage = cut_off(text, layout);
        remove(&storage, &["redo.log"]);
        expect_refusal(storage, (text, layout), "redo.log", "missing, though there is pages.db");
    }
    let storage = cut_off(TINY, KeyLayout::Plain);
    remove(&storage, &["redo.log", "pages.db"]);
    expect_refusal(storage, (TINY, KeyLayout::Plain), "redo.log", "missing, though there is doublewrite.db");
}

#[test]
fn a_log_without_its_pages_is_refused() {
    for (text, layout) in CASES {
        let storage = cut_off(text, layout);
        remove(&storage, &["pages.db"]);
        expect_refusal(storage, (text, layout), "pages.db", "missing, though there is redo.log");
    }
    let storage = cut_off(MIXED, KeyLayout::Indexed);
    remove(&storage, &["compressed.db"]);
    expect_refusal(storage, (MIXED, KeyLayout::Indexed), "compressed.db", "missing, though there is redo.log");
}

#[test]
fn a_lost_doublewrite_area_is_made_anew_and_all_rows_are_there() {
    for (text, layout) in CASES {
        let storage = cut_off(text, layout);
        if !text.contains("doublewrite=false") {
            remove(&storage, &["doublewrite.db"]);
        }
        assert_eq!(open(Arc::new(storage), text, layout).unwrap(), 1000, "{text}");
    }
}

#[test]
fn files_that_were_cut_off_are_refused() {
    for (text, layout) in CASES {
        let length = |storage: &MemoryStorage, name: &str| {
            storage.open(&mut Task::wall(0), name, FileOptions::DIRECT).unwrap().len()
        };
        for bytes in [0, 1, 511, 512, 1600, 2047] {
            let storage = cut_off(text, layout);
            storage
                .open(&mut Task::wall(0), "redo.log", FileOptions::DIRECT)
                .unwrap()
                .set_len(&mut Task::wall(0), bytes)
                .unwrap();
            expect_refusal(storage, (text, layout), "redo.log", "the header of a log 2048");
        }
        for name in ["pages.db", "compressed.db"] {
            let memory = Arc::new(MemoryStorage::new(Arc::default()));
            let mut driven = Driven::open(memory.clone(), &options(text), layout).unwrap();
            fill(&mut driven, 0..1000);
            driven.engine.close(&mut driven.task).unwrap();
            if !memory.list().unwrap().iter().any(|other| other == name) {
                continue;
            }
            for share in 0..8 {
                let storage = memory.crash_clone(CrashKeeps::Synced);
                let bytes = length(&storage, name) * share / 8;
                storage
                    .open(&mut Task::wall(0), name, FileOptions::DIRECT)
                    .unwrap()
                    .set_len(&mut Task::wall(0), bytes)
                    .unwrap();
                expect_refusal(storage, (text, layout), name, &format!("it has {bytes}"));
            }
        }
    }
}

/// Wherever it is cut off, what pages or copies of pages hold of it is missed.
#[test]
fn a_log_that_was_cut_off_behind_changes_of_written_pages_is_refused() {
    let memory = Arc::new(MemoryStorage::new(Arc::default()));
    let mut driven = Driven::open(memory.clone(), &options(ROOMY), KeyLayout::Plain).unwrap();
    fill(&mut driven, 0..1000);
    driven.engine.forest().store.pool.flush_all(&mut driven.task).unwrap();
    for bytes in [2048, 20 * 512, 100 * 512, 200 * 512] {
        let storage = memory.crash_clone(CrashKeeps::Synced);
        storage
            .open(&mut Task::wall(0), "redo.log", FileOptions::DIRECT)
            .unwrap()
            .set_len(&mut Task::wall(0), bytes)
            .unwrap();
        expect_refusal(storage, (ROOMY, KeyLayout::Plain), "redo.log", "but was durable to");
    }
}

#[test]
fn the_log_of_another_engine_is_refused() {
    for (text, layout) in CASES {
        let (mine, other) = (cut_off(text, layout), Arc::new(MemoryStorage::new(Arc::default())));
        let mut driven = Driven::open(other.clone(), &options(text), layout).unwrap();
        fill(&mut driven, 0..3000);
        let mut task = Task::wall(0);
        let theirs = other.open(&mut task, "redo.log", FileOptions::DIRECT).unwrap();
        let mut bytes = vec![0; theirs.len() as usize];
        theirs.read_at(&mut task, Purpose::Recovery, 0, &mut bytes).unwrap();
        let log = mine.create(&mut task, "redo.log", FileOptions::DIRECT).unwrap();
        log.write_at(&mut task, Purpose::Redo, 0, &bytes).unwrap();
        expect_refusal(mine, (text, layout), "redo.log", "the log of instance");
    }
}

#[test]
fn an_engine_whose_making_was_interrupted_is_made_again() {
    for (text, layout) in CASES {
        for at in 0.. {
            let memory = Arc::new(MemoryStorage::new(Arc::default()));
            let faulty = Arc::new(FaultyStorage::new(memory.clone()));
            faulty.fail_writes_after(at);
            let made = Driven::open(faulty, &options(text), layout).is_ok();
            for seed in 0..3 {
                for keeps in
                    [CrashKeeps::Synced, CrashKeeps::Everything, CrashKeeps::Random { seed }, CrashKeeps::Torn { seed }]
                {
                    let left = Arc::new(memory.crash_clone(keeps));
                    let what = format!("{text}, {keeps:?} after write {at}");
                    let mut driven =
                        Driven::open(left.clone(), &options(text), layout).unwrap_or_else(|e| panic!("{what}: {e}"));
                    fill(&mut driven, 0..10);
                    let left = left.crash_clone(CrashKeeps::Synced);
                    assert_eq!(open(Arc::new(left), text, layout).unwrap(), 10, "{what}");
                }
            }
            if made {
                break;
            }
        }
    }
}

#[test]
fn a_log_half_made_for_another_capacity_goes_when_the_old_one_is_used() {
    let storage = Arc::new(cut_off(TINY, KeyLayout::Plain));
    storage.create(&mut Task::wall(0), "redo.new", FileOptions::DIRECT).unwrap();
    let mut driven = Driven::open(storage.clone(), &options(TINY), KeyLayout::Plain).unwrap();
    assert_eq!(driven.scan(b"").unwrap().len(), 1000);
    assert!(!storage.list().unwrap().contains(&"redo.new".to_owned()));
    remove(&storage, &["redo.log"]);
    storage.create(&mut Task::wall(0), "redo.new", FileOptions::DIRECT).unwrap();
    let left = storage.crash_clone(CrashKeeps::Everything);
    expect_refusal(left, (TINY, KeyLayout::Plain), "redo.log", "missing, though there is pages.db");
}

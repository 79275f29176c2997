//! What a crash leaves: every synced batch, no half batch, whole trees.

use super::{Driven, Model, TINY, file_bytes, noise, options, structure};
use crate::btree::log::{PAYLOAD, offset_of};
use crate::btree::space::Tablespace;
use crate::engine::{Commit, Engine, KeyLayout, WriteBatch};
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::storage::FileOptions;
use crate::storage::memory::CrashKeeps;
use crate::storage::{FaultyStorage, MemoryStorage, Storage};
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A scripted run: batches of several changes whose keys spread over the tree, so that splits and merges come often.
fn batch(step: u64) -> WriteBatch {
    let mut batch = WriteBatch::default();
    let changes = if step.is_multiple_of(3) { 1 } else { 2 + step % 4 };
    for n in 0..changes {
        // Half of the batches change the same few keys, half fill more pages than the pool has frames.
        let spread = (step * 7 + n * 131) * 2654435761 % if step.is_multiple_of(2) { 400 } else { 4000 };
        let key = format!("key{spread:04}");
        if (step + n) % 5 == 4 {
            batch.delete(key.as_bytes());
        } else {
            let len = if (step + n).is_multiple_of(17) { 3000 } else { 40 + (step * 31 + n) % 300 };
            batch.put(key.as_bytes(), &vec![(step + n) as u8; len as usize]);
        }
    }
    // Every batch says that it was there.
    batch.put(b"last", &step.to_be_bytes());
    batch
}

/// Another script: entries of a secondary index, all over more leaves than the pool has frames.
fn entries(step: u64, keys: u64) -> WriteBatch {
    let mut batch = WriteBatch::default();
    for n in 0..3 + step % 8 {
        let spread = (step * 7 + n * 131) * 2_654_435_761 % keys;
        let removes = (step + n).is_multiple_of(3);
        let number = if removes { spread * 7 % keys } else { spread };
        let mut key = 1u32.to_be_bytes().to_vec();
        key.extend_from_slice(format!("{number:04}").as_bytes());
        key.extend(noise(number, 190));
        if removes { batch.delete(&key) } else { batch.put(&key, b"") }
    }
    batch.put(b"\0\0\0\0last", &step.to_be_bytes());
    batch
}

/// A third script: rows and entries of a table and rows of another, in the same batches.
fn tables(step: u64) -> WriteBatch {
    let mut batch = WriteBatch::default();
    for n in 0..2 + step % 5 {
        let spread = (step * 7 + n * 131) * 2_654_435_761 % 1500;
        let removes = (step + n).is_multiple_of(4);
        let key = |index: u32| [&index.to_be_bytes()[..], format!("key{spread:04}").as_bytes()].concat();
        let len = if (step + n).is_multiple_of(23) { 5000 } else { 40 + (step * 31 + n) % 300 };
        let row = noise(step + n, len as usize / 2).chain(vec![n as u8; len as usize / 2]).collect::<Vec<_>>();
        for (index, value) in [(1, &row[..]), (2, b""), (3, &row[..])] {
            if removes { batch.delete(&key(index)) } else { batch.put(&key(index), value) }
        }
    }
    batch.put(b"\0\0\0\0last", &step.to_be_bytes());
    batch
}

/// What a run does, and how its keys are laid out.
#[derive(Clone, Copy)]
struct Script {
    batch: fn(u64) -> WriteBatch,
    layout: KeyLayout,
    last: &'static [u8],
}

const ROWS: Script = Script { batch, layout: KeyLayout::Plain, last: b"last" };
const ENTRIES: Script = Script { batch: |step| entries(step, 2000), layout: KeyLayout::Indexed, last: b"\0\0\0\0last" };
const MORE_ENTRIES: Script = Script { batch: |step| entries(step, 6000), ..ENTRIES };
const TABLES: Script = Script { batch: tables, ..ENTRIES };

impl Script {
    fn everything(self, driven: &mut Driven) -> Model {
        driven.everything(if self.layout == KeyLayout::Plain { 0 } else { 4 })
    }
}

/// Makes the changes of a batch.
pub(super) fn apply(model: &mut Model, batch: &WriteBatch) {
    use crate::engine::Change;
    for change in batch.changes() {
        match change {
            Change::Put { key, value } => {
                model.insert(key.to_vec(), value.to_vec());
            }
            Change::Delete { key } => {
                model.remove(key);
            }
        }
    }
}

/// Opens what the crash left, and checks that it is the state after some batch from `acknowledged` on.
fn check_survivor(storage: MemoryStorage, text: &str, acknowledged: u64, what: &str) {
    check_survivor_of(ROWS, storage, text, (acknowledged, 0), what);
}

/// The same after so many `more` batches.
fn check_survivor_of(script: Script, storage: MemoryStorage, text: &str, (acknowledged, more): (u64, u64), what: &str) {
    let storage = Arc::new(storage);
    let mut driven = Driven::open(storage, &options(text), script.layout).unwrap_or_else(|e| panic!("{what}: {e}"));
    let last = driven.get(script.last).unwrap().map_or(0, |value| u64::from_be_bytes(value[..].try_into().unwrap()));
    assert!(last >= acknowledged, "{what}: batch {acknowledged} was acknowledged, {last} is the last");
    run_with_pauses(script, &mut driven, last + 1..=last + more, 10).1.unwrap();
    let found = script.everything(&mut driven);
    let mut model = Model::new();
    (1..=last + more).for_each(|step| apply(&mut model, &(script.batch)(step)));
    assert!(found == model, "{what}: not the state after batch {last}");
    structure::check(driven.engine.forest(), &mut driven.task);
}

/// Runs the script until it fails; returns the last acknowledged batch.
fn run(driven: &mut Driven, steps: RangeInclusive<u64>) -> (u64, Result<()>) {
    run_with_pauses(ROWS, driven, steps, 200)
}

fn run_with_pauses(
    script: Script,
    driven: &mut Driven,
    steps: RangeInclusive<u64>,
    pause_ms: u64,
) -> (u64, Result<()>) {
    let last = *steps.end();
    for step in steps {
        let mut batch = (script.batch)(step);
        let result = driven.write(&mut batch, Commit::Configured).and_then(|()| driven.pass(pause_ms));
        if let Err(error) = result {
            // The write may have been acknowledged before the jobs failed.
            let acknowledged = if driven.engine.check().is_err() { step - 1 } else { step };
            return (acknowledged, Err(error));
        }
    }
    (last, Ok(()))
}

fn crash_everywhere(text: &str, steps: u64, stride: u64, pause_ms: u64) {
    crash_everywhere_in(ROWS, text, (0, steps), stride, pause_ms);
}

/// The crashes come in the last of so many steps.
fn crash_everywhere_in(script: Script, text: &str, (quiet, steps): (u64, u64), stride: u64, pause_ms: u64) -> f64 {
    let before = Arc::new(MemoryStorage::new(Arc::default()));
    if quiet > 0 {
        let mut driven = Driven::open(before.clone(), &options(text), script.layout).unwrap();
        run_with_pauses(script, &mut driven, 1..=quiet, pause_ms).1.unwrap();
    }
    let more = if quiet > 0 { 40 } else { 0 };
    let mut at = 0;
    loop {
        let memory = Arc::new(before.crash_clone(CrashKeeps::Everything));
        let faulty = Arc::new(FaultyStorage::new(memory.clone()));
        faulty.fail_writes_after(at);
        let mut buffered = 0.0;
        let (acknowledged, result) = match Driven::open(faulty, &options(text), script.layout) {
            Ok(mut driven) => {
                let ran = run_with_pauses(script, &mut driven, quiet + 1..=steps, pause_ms);
                buffered = driven.engine.stats().details.get("changes_buffered").copied().unwrap_or_default();
                ran
            }
            Err(error) => (quiet, Err(error)),
        };
        for keeps in [CrashKeeps::Synced, CrashKeeps::Everything, CrashKeeps::Random { seed: at }] {
            // Without a sync at commit the state may be that after an earlier batch.
            let least = if text.contains("trx_commit=0") { 0 } else { acknowledged };
            let what = format!("{keeps:?} after write {at}");
            check_survivor_of(script, memory.crash_clone(keeps), text, (least, more), &what);
        }
        if result.is_ok() {
            return buffered;
        }
        at += stride;
    }
}

#[test]
fn a_crash_among_buffered_changes_leaves_whole_batches() {
    for (more, stride) in [("change_buffer_max_size=5 io_capacity=4000", 5), ("flush_neighbors=2", 3)] {
        let text = format!("{TINY} change_buffering=all old_blocks_time=0 {more}");
        let buffered = crash_everywhere_in(ENTRIES, &text, (400, 500), stride, 20);
        assert!(buffered > 50.0, "{buffered}");
    }
}

#[test]
fn a_crash_among_buffered_changes_of_compressed_tables_leaves_whole_batches() {
    let text =
        "page_size=8192 key_block_size=4096 buffer_pool_size=524288 redo_log_capacity=524288 change_buffering=all";
    let buffered = crash_everywhere_in(MORE_ENTRIES, text, (1200, 1300), 13, 20);
    assert!(buffered > 20.0, "{buffered}");
}

/// Replay lets pages of compressed tables go to their compressed form, and comes back to them.
#[test]
fn a_log_of_more_pages_than_the_pool_has_is_replayed_on_compressed_tables() {
    for capacity in [1_048_576, 2_097_152, 4_194_304] {
        let text = format!(
            "page_size=8192 key_block_size=4096 buffer_pool_size=524288 redo_log_capacity={capacity} \
             max_dirty_pages_pct=99 adaptive_flushing=false"
        );
        let memory = Arc::new(MemoryStorage::new(Arc::default()));
        let mut driven = Driven::open(memory.clone(), &options(&text), MORE_ENTRIES.layout).unwrap();
        for last in [1500, 1600, 1700, 1800] {
            let from = if last == 1500 { 1 } else { last - 99 };
            run_with_pauses(MORE_ENTRIES, &mut driven, from..=last, 5).1.unwrap();
            let left = memory.crash_clone(CrashKeeps::Synced);
            check_survivor_of(MORE_ENTRIES, left, &text, (last, 0), &format!("{capacity} after {last}"));
        }
    }
}

#[test]
fn a_crash_among_buffered_changes_with_a_lazy_log_leaves_an_earlier_whole_batch() {
    let text = format!("{TINY} change_buffering=all old_blocks_time=0 flush_log_at_trx_commit=0 max_dirty_pages_pct=5");
    let buffered = crash_everywhere_in(ENTRIES, &text, (400, 600), 3, 20);
    assert!(buffered > 50.0, "{buffered}");
}

#[test]
fn a_crash_at_every_write_leaves_whole_batches() {
    crash_everywhere(TINY, 60, 1, 200);
}

#[test]
fn a_crash_among_evictions_and_checkpoints_leaves_whole_batches() {
    crash_everywhere(&format!("{TINY} lru_scan_depth=64 flush_neighbors=1"), 500, 53, 200);
}

#[test]
fn a_crash_with_a_lazy_log_leaves_an_earlier_whole_batch() {
    crash_everywhere(&format!("{TINY} flush_log_at_trx_commit=0"), 700, 3, 1);
}

#[test]
fn a_crash_of_compressed_pages_leaves_whole_batches() {
    let text = "page_size=8192 buffer_pool_size=524288 redo_log_capacity=262144 compression_algorithm=lz4";
    crash_everywhere(text, 120, 7, 200);
}

#[test]
fn a_crash_of_compressed_tables_leaves_whole_batches() {
    let text = "page_size=8192 key_block_size=4096 buffer_pool_size=524288 redo_log_capacity=262144";
    crash_everywhere(text, 300, 11, 200);
}

const MIXED: &str = "page_size=8192 key_block_size=4096 compressed_indexes=1:2 buffer_pool_size=524288 \
                     redo_log_capacity=524288";

#[test]
fn a_crash_of_compressed_tables_beside_others_leaves_whole_batches() {
    crash_everywhere_in(TABLES, MIXED, (0, 60), 1, 200);
    crash_everywhere_in(TABLES, &format!("{MIXED} flush_neighbors=2 lru_scan_depth=64"), (300, 420), 19, 200);
}

#[test]
fn a_crash_among_buffered_changes_of_some_compressed_tables_leaves_whole_batches() {
    for indexes in ["1", "0:2"] {
        let text = MIXED.replace("1:2", &format!("\"{indexes}\"")) + " change_buffering=all";
        let buffered = crash_everywhere_in(MORE_ENTRIES, &text, (1200, 1280), 17, 20);
        assert!(buffered > 10.0, "{buffered}");
    }
}

#[test]
fn a_log_of_more_pages_than_the_pool_has_is_replayed_on_compressed_tables_beside_others() {
    let text =
        MIXED.replace("log_capacity=524288", "log_capacity=4194304 max_dirty_pages_pct=99 adaptive_flushing=false");
    let memory = Arc::new(MemoryStorage::new(Arc::default()));
    let mut driven = Driven::open(memory.clone(), &options(&text), TABLES.layout).unwrap();
    for last in [800, 1000, 1200] {
        let from = if last == 800 { 1 } else { last - 199 };
        run_with_pauses(TABLES, &mut driven, from..=last, 5).1.unwrap();
        check_survivor_of(TABLES, memory.crash_clone(CrashKeeps::Synced), &text, (last, 0), &format!("after {last}"));
    }
}

/// The log begins with the image of a page that storage has in a later version, behind changes whose batch the log no
/// longer tells of.
#[test]
fn a_page_that_is_newer_on_storage_than_its_image_in_the_log_stays_as_it_is() {
    let larger = TINY.replace("page_size=4096", "page_size=8192").replace("262144", "1048576");
    for more in ["", " key_block_size=4096", " compression_algorithm=lz4"] {
        let text = format!("{larger}{more}");
        let (memory, mut driven) = Driven::fresh(&text);
        let mut batch = WriteBatch::default();
        (0..200).for_each(|n| batch.put(format!("{n:08}").as_bytes(), &[n; 100]));
        driven.write(&mut batch, Commit::Synced).unwrap();
        let forest = driven.engine.forest();
        assert!(
            !forest.undo.segments.pages().is_empty() && forest.counters.splits.load(Ordering::Relaxed) > 1,
            "{more}"
        );
        let is_undo = |frame: &u32| forest.undo.segments.pages().contains(&forest.store.pool.page_hint(*frame));
        let frames = forest.store.pool.flush_list.oldest_frames(usize::MAX).into_iter().filter(|frame| !is_undo(frame));
        let batches = forest.store.pool.write_frames(&mut driven.task, &frames.collect::<Vec<_>>(), true).unwrap();
        forest.store.pool.complete_all(&batches);
        let begin = forest.store.redo.checkpoint_lsn();
        forest.store.pool.checkpoint_now(&mut driven.task).unwrap();
        assert!(begin < forest.store.redo.checkpoint_lsn() && forest.store.redo.checkpoint_age() > 4096, "{more}");
        let left = Arc::new(memory.crash_clone(CrashKeeps::Synced));
        let mut again = Driven::open(left, &options(&text), KeyLayout::Plain).unwrap();
        assert_eq!(again.scan(b"").unwrap(), driven.scan(b"").unwrap(), "{more}");
        structure::check(again.engine.forest(), &mut again.task);
    }
}

/// Pages that their first write has torn are in no doublewrite area. One of them was another page before, of which the
/// log tells as well.
#[test]
fn a_fresh_page_that_is_torn_is_made_from_the_log() {
    for more in ["", " key_block_size=4096", " compression_algorithm=lz4"] {
        let text = format!("page_size=8192 buffer_pool_size=1048576 redo_log_capacity=4194304{more}");
        let (memory, mut driven) = Driven::fresh(&text);
        let put = |driven: &mut Driven, keys: Range<u32>| {
            keys.for_each(|n| driven.put(format!("{n:08}").as_bytes(), &[n as u8; 100]).unwrap());
        };
        put(&mut driven, 0..400);
        driven.settle();
        let written = driven.detail("pages_flushed");
        // Frees pages that the log then tells of as others.
        (100..400).for_each(|n| driven.delete(format!("{n:08}").as_bytes()).unwrap());
        put(&mut driven, 1000..1800);
        let pool = &driven.engine.forest().store.pool;
        let fresh = pool.fresh_pages();
        assert!(fresh.len() > 8, "{more}: {fresh:?}");
        let frames = pool.flush_list.oldest_frames(usize::MAX);
        pool.write_frames(&mut driven.task, &frames, true).unwrap();
        assert!(driven.detail("pages_flushed") > written + 8.0);
        let left = Arc::new(memory.crash_clone(CrashKeeps::Synced));
        let file = left.open(&mut driven.task, Tablespace::System.file_name(), FileOptions::PAGES).unwrap();
        let slot = pool.files.system().slot_bytes() as u64;
        for page_no in fresh {
            file.write_at(&mut driven.task, Purpose::PageFlush, u64::from(page_no) * slot + 512, &[0xee; 1024])
                .unwrap();
        }
        let mut again = Driven::open(left, &options(&text), KeyLayout::Plain).unwrap();
        assert_eq!(again.scan(b"").unwrap(), driven.scan(b"").unwrap(), "{more}");
        structure::check(again.engine.forest(), &mut again.task);
    }
}

/// The second crash comes while the first is recovered from.
#[test]
fn a_crash_during_recovery_changes_nothing() {
    let memory = Arc::new(MemoryStorage::new(Arc::default()));
    let mut driven = Driven::open(memory.clone(), &options(TINY), KeyLayout::Plain).unwrap();
    run(&mut driven, 1..=300).1.unwrap();
    for at in 0.. {
        let left = Arc::new(memory.crash_clone(CrashKeeps::Random { seed: 5 }));
        let faulty = Arc::new(FaultyStorage::new(left.clone()));
        faulty.fail_writes_after(at);
        let recovered = Driven::open(faulty, &options(TINY), KeyLayout::Plain).is_ok();
        check_survivor(left.crash_clone(CrashKeeps::Random { seed: at }), TINY, 300, &format!("again after {at}"));
        if recovered {
            break;
        }
    }
}

/// A crash tears a hole into the log and leaves whole frames behind it; the next life writes frames of the same lengths
/// up to them. They belong to nobody and must stay dead. Frames are 124 bytes and end with their blocks, so that no
/// padding overwrites the dead ones.
#[test]
fn frames_behind_a_torn_end_never_come_back() {
    let text = format!("{TINY} flush_log_at_trx_commit=2");
    // Keys alone: they have no undo.
    let frame = |driven: &mut Driven, key: String| driven.put(format!("{key:-<112}").as_bytes(), b"").unwrap();
    let into_block = |driven: &Driven| driven.detail("lsn") as usize % PAYLOAD as usize;
    let mut torn_early = 0;
    for seed in 0..40 {
        let memory = Arc::new(MemoryStorage::new(Arc::default()));
        let mut driven = Driven::open(memory.clone(), &options(&text), KeyLayout::Plain).unwrap();
        let mut first = WriteBatch::default();
        let filler = (2 * PAYLOAD as usize - into_block(&driven) - 12) % PAYLOAD as usize;
        first.put(&vec![b'a'; if filler < 128 { filler } else { filler - 1 }], b"");
        driven.write(&mut first, Commit::Synced).unwrap();
        assert_eq!(into_block(&driven), 0);
        (1..=20).for_each(|n| frame(&mut driven, format!("a{n:03}")));
        assert_eq!(into_block(&driven), 0);
        let torn = Arc::new(memory.crash_clone(CrashKeeps::Random { seed }));
        let mut driven = Driven::open(torn.clone(), &options(&text), KeyLayout::Plain).unwrap();
        let survived = driven.scan(b"").unwrap().len();
        torn_early += usize::from(survived < 17);
        (0..4).for_each(|n| frame(&mut driven, format!("b{n:03}")));
        assert_eq!(into_block(&driven), 0);
        let left = Arc::new(torn.crash_clone(CrashKeeps::Everything));
        let mut driven = Driven::open(left, &options(&text), KeyLayout::Plain).unwrap();
        assert_eq!(driven.scan(b"").unwrap().len(), survived + 4, "seed {seed}");
    }
    assert!(torn_early > 3, "no log was torn early enough");
}

/// A batch is in the log, but only some of its changes are: the rest is applied at recovery.
#[test]
fn an_interrupted_batch_is_rolled_forward() {
    let mut seen = BTreeMap::<usize, usize>::new();
    for at in 0..120u64 {
        let memory = Arc::new(MemoryStorage::new(Arc::default()));
        let text = format!("{TINY} flush_log_at_trx_commit=0 log_buffer_size=16384");
        let mut driven = Driven::open(memory.clone(), &options(&text), KeyLayout::Plain).unwrap();
        let mut batch = WriteBatch::default();
        for n in 0..60u32 {
            batch.put(format!("k{:05}", n * 7919 % 1000).as_bytes(), &[n as u8; 600]);
        }
        driven.write(&mut batch, Commit::Configured).unwrap();
        // The log as if the machine had stopped after so many bytes of it.
        let log = memory.open(&mut driven.task, "redo.log", FileOptions::DIRECT).unwrap();
        let clone = memory.crash_clone(CrashKeeps::Everything);
        let cut = clone.open(&mut driven.task, "redo.log", FileOptions::DIRECT).unwrap();
        let keep = (at * 512 + 2048).min(log.len());
        cut.set_len(&mut driven.task, keep).unwrap();
        let mut again = Driven::open(Arc::new(clone), &options(&text), KeyLayout::Plain).unwrap();
        *seen.entry(again.scan(b"").unwrap().len()).or_default() += 1;
        structure::check(again.engine.forest(), &mut again.task);
    }
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), [0, 60], "nothing or all, and both cases were met");
}

/// Rows of which a batch changes a few bytes, one of them twice, are all old or all new, wherever the log ends.
#[test]
fn an_interrupted_batch_of_updates_is_rolled_forward() {
    interrupt_updates(TINY);
}

/// As above, on pages whose slots get whole records though the log has spans of them.
#[test]
fn an_interrupted_batch_of_updates_of_compressed_pages_is_rolled_forward() {
    let text = "page_size=8192 key_block_size=4096 buffer_pool_size=524288 redo_log_capacity=262144";
    interrupt_updates(text);
}

fn interrupt_updates(text: &str) {
    let text = format!("{text} flush_log_at_trx_commit=0 log_buffer_size=16384");
    let rows = 40u32;
    let key = |n: u32| format!("k{:05}", n * 7919 % 1000).into_bytes();
    let memory = Arc::new(MemoryStorage::new(Arc::default()));
    let mut driven = Driven::open(memory.clone(), &options(&text), KeyLayout::Plain).unwrap();
    (0..rows).for_each(|n| driven.put(&key(n), &[n as u8; 300]).unwrap());
    driven.engine.close(&mut driven.task).unwrap();
    let before = driven.detail("lsn");
    let mut batch = WriteBatch::default();
    for n in (0..rows).chain([7]) {
        let mut value = vec![n as u8; 300];
        value[100..150].fill(0xee + batch.len() as u8 / rows as u8);
        batch.put(&key(n), &value);
    }
    driven.write(&mut batch, Commit::Synced).unwrap();
    let grown = driven.detail("lsn") - before;
    assert!((6_000.0..14_000.0).contains(&grown), "the log has the changed bytes, and undo their old ones: {grown}");
    let expected = driven.scan(b"").unwrap();
    let block = offset_of(driven.engine.forest().store.redo.header(), before as u64 / PAYLOAD * PAYLOAD) / 512 * 512;
    let (mut old, mut new) = (0, 0);
    for at in 0..30u64 {
        let clone = memory.crash_clone(CrashKeeps::Everything);
        let log = clone.open(&mut driven.task, "redo.log", FileOptions::DIRECT).unwrap();
        log.set_len(&mut driven.task, (block + at * 512).min(log.len())).unwrap();
        let mut again = Driven::open(Arc::new(clone), &options(&text), KeyLayout::Plain).unwrap();
        let found = again.scan(b"").unwrap();
        structure::check(again.engine.forest(), &mut again.task);
        if found == expected {
            new += 1;
        } else {
            assert!(found.iter().all(|(_, value)| value[100] == value[0]), "a part of the batch after {at} blocks");
            old += 1;
        }
    }
    assert!(old > 2 && new > 2, "both cases were met: {old} {new}");
}

#[test]
fn a_full_disk_stops_the_engine_and_loses_nothing() {
    let memory = Arc::new(MemoryStorage::new(Arc::default()));
    let faulty = Arc::new(FaultyStorage::new(memory.clone()));
    let mut driven = Driven::open(faulty.clone(), &options(TINY), KeyLayout::Plain).unwrap();
    run(&mut driven, 1..=50).1.unwrap();
    faulty.limit_space(300_000);
    let (acknowledged, result) = run(&mut driven, 51..=100_000);
    assert!(matches!(result, Err(Error::Io { .. } | Error::Poisoned { .. })), "{result:?}");
    assert!(matches!(driven.put(b"k", b"v"), Err(Error::Poisoned { .. })));
    assert!(driven.get(b"k").is_err());
    faulty.heal();
    check_survivor(memory.crash_clone(CrashKeeps::Everything), TINY, acknowledged, "after a full disk");
}

#[test]
fn a_flipped_bit_is_an_error_or_repaired_but_never_silent() {
    let memory = Arc::new(MemoryStorage::new(Arc::default()));
    let mut driven = Driven::open(memory.clone(), &options(TINY), KeyLayout::Plain).unwrap();
    run(&mut driven, 1..=200).1.unwrap();
    let expected = driven.scan(b"").unwrap();
    driven.engine.close(&mut driven.task).unwrap();
    let bits = file_bytes(&*memory, Tablespace::System) * 8;
    let (mut errors, mut whole) = (0, 0);
    for n in 0..400u64 {
        let clone = Arc::new(memory.crash_clone(CrashKeeps::Everything));
        clone.flip_bit(Tablespace::System.file_name(), n * 2_654_435_761 % bits).unwrap();
        let scanned = Driven::open(clone, &options(TINY), KeyLayout::Plain).and_then(|mut driven| driven.scan(b""));
        match scanned {
            // The bit was in a free page.
            Ok(found) => {
                assert!(found == expected, "bit {n} was taken for data");
                whole += 1;
            }
            Err(Error::Corruption { file, .. }) => {
                assert_eq!(file, Tablespace::System.file_name());
                errors += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(errors > 100, "{errors} errors, {whole} whole");
}

#[test]
fn the_log_goes_round_many_times() {
    let (memory, mut driven) = Driven::fresh(TINY);
    run(&mut driven, 1..=3000).1.unwrap();
    let lsn = driven.detail("lsn");
    assert!(lsn > 5.0 * 262_144.0, "{lsn}");
    check_survivor(memory.crash_clone(CrashKeeps::Synced), TINY, 3000, "after many rounds");
}

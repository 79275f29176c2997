//! Compressed tables beside others that are not: what each kind takes on storage and in the pool, and what is refused.

use super::{Driven, ZIP, assert_meters_agree, file_bytes, half_noise, options, spread, structure};
use crate::btree::page::EXTENT_PAGES;
use crate::btree::space::Tablespace;
use crate::engine::{Commit, Engine, KeyLayout, WriteBatch};
use crate::error::Error;
use crate::metrics::Purpose;
use crate::storage::{MemoryStorage, Storage};
use std::sync::Arc;

const COMPRESSED: u32 = 1;
const WHOLE: u32 = 2;
const PAGE: u64 = 16384;
const SLOT: u64 = 8192;

fn mixed() -> String {
    format!("{ZIP} compressed_indexes=\"{COMPRESSED}\"")
}

fn key(index: u32, n: u32) -> Vec<u8> {
    [index.to_be_bytes(), spread(n)].concat()
}

fn row(n: u32) -> Vec<u8> {
    half_noise(u64::from(n), 200)
}

fn opened(storage: &Arc<MemoryStorage>, text: &str) -> crate::error::Result<Driven> {
    Driven::open(storage.clone(), &options(text), KeyLayout::Indexed)
}

/// As many rows in each table, in random order.
fn loaded(text: &str, rows: u32) -> (Arc<MemoryStorage>, Driven) {
    let storage = Arc::new(MemoryStorage::new(Arc::default()));
    let mut driven = opened(&storage, text).unwrap();
    for n in 0..rows {
        for index in [COMPRESSED, WHOLE] {
            driven.put(&key(index, n), &row(n)).unwrap();
        }
    }
    driven.engine.close(&mut driven.task).unwrap();
    (storage, driven)
}

fn tree_pages(driven: &Driven, tablespace: Tablespace) -> u64 {
    driven.engine.forest().store.spaces.lock().of(tablespace).taken_pages()
}

/// Frames that hold a page of a compressed table in its compressed form alone, or in both, and frames with other pages.
fn frames(driven: &Driven) -> [u64; 3] {
    let (pool, mut frames) = (&driven.engine.forest().store.pool, [0; 3]);
    for frame in 0..pool.frames() as u32 {
        let kind = pool.with_body(frame, true, |_, body| match (body.has_zip(), body.has_page()) {
            (true, false) => 0,
            (true, true) => 1,
            (false, _) => 2,
        });
        if let Some(kind) = kind {
            frames[kind] += 1;
        }
    }
    frames
}

#[test]
fn each_kind_takes_its_own_bytes_in_a_file_of_its_own() {
    let (storage, mut driven) = loaded(&mixed(), 15_000);
    structure::check(driven.engine.forest(), &mut driven.task);
    let extent = u64::from(EXTENT_PAGES);
    for (tablespace, bytes) in [(Tablespace::System, PAGE), (Tablespace::Compressed, SLOT)] {
        let (taken, len) = (tree_pages(&driven, tablespace), file_bytes(&*storage, tablespace));
        assert!(taken * bytes <= len && len < (taken * 23 / 20 + extent) * bytes, "{len} for {taken} pages");
    }
    let (_, all) = loaded(ZIP, 15_000);
    let plain = ZIP.replace("key_block_size=8192", "");
    let (_, none) = loaded(&plain, 15_000);
    // Undo is in the system tablespace, whatever it is about.
    let system = |driven: &Driven| tree_pages(driven, Tablespace::System) as f64 - driven.detail("undo_pages");
    let zip = 2.0 * tree_pages(&driven, Tablespace::Compressed) as f64 / system(&all);
    let whole = 2.0 * system(&driven) / system(&none);
    assert!((0.95..1.05).contains(&zip) && (0.95..1.05).contains(&whole), "{zip} {whole}");
}

#[test]
fn what_belongs_to_no_table_is_not_compressed() {
    let (_, driven) = loaded(&format!("{} change_buffering=all", mixed()), 2000);
    let forest = driven.engine.forest();
    let changes = forest.store.changes.tree.get().unwrap().root;
    for page_no in forest.undo.segments.pages().into_iter().chain([0, changes]) {
        let file = forest.store.pool.files.of_page(page_no);
        assert_eq!((file.slot_bytes(), file.zip_bytes()), (PAGE as usize, 0), "page {page_no}");
    }
}

#[test]
fn a_batch_writes_each_page_in_its_size_behind_a_doublewrite_of_whole_pages() {
    for neighbors in [0, 2] {
        let (storage, mut driven) = loaded(&format!("{} server=mysql flush_neighbors={neighbors}", mixed()), 4000);
        let before = storage.meters().snapshot();
        let flushed = driven.detail("pages_flushed");
        for n in 0..300 {
            driven.put(&key(COMPRESSED, n), b"changed").unwrap();
            driven.put(&key(WHOLE, n), b"changed").unwrap();
        }
        driven.engine.close(&mut driven.task).unwrap();
        let pages = (driven.detail("pages_flushed") - flushed) as u64;
        let written = storage.meters().snapshot().since(&before);
        let bytes = |purpose| written.of(purpose).written_bytes;
        let in_place = bytes(Purpose::PageFlush) + bytes(Purpose::Undo);
        assert!(in_place % SLOT == 0 && in_place > pages * SLOT && in_place < pages * PAGE, "{in_place} of {pages}");
        assert_eq!(bytes(Purpose::Doublewrite), pages * PAGE);
        assert_meters_agree(&*storage);
    }
}

#[test]
fn the_pool_counts_both_kinds_by_what_they_take() {
    let (_, mut driven) = loaded(&mixed(), 15_000);
    let mut held = [Vec::new(), Vec::new()];
    for round in 0..6u32 {
        let index = if round % 2 == 0 { COMPRESSED } else { WHOLE };
        for n in 0..8000u32 {
            let n = n.wrapping_mul(7919) % 15_000;
            assert_eq!(driven.get(&key(index, n)).unwrap().unwrap(), row(n));
            if n % 50 == 0 {
                driven.put(&key(index, n), &row(n)).unwrap();
                driven.pass(20).unwrap();
            }
        }
        let [zip, both, whole] = frames(&driven);
        let bytes = (zip + both) * SLOT + (both + whole) * PAGE;
        assert_eq!(driven.engine.forest().store.pool.zip_held_bytes(), bytes);
        let spare = 2_097_152 / 16;
        assert!(bytes <= 2_097_152 + spare && bytes > 1_600_000, "{bytes}");
        held[(round % 2) as usize].push((zip + both, whole));
    }
    let [after_zip, after_whole] = held;
    for ((zip, fewer_whole), (fewer_zip, whole)) in after_zip.into_iter().skip(1).zip(after_whole) {
        assert!(zip > 2 * fewer_zip, "compressed pages make room: {zip} {fewer_zip}");
        assert!(whole > 2 * fewer_whole, "other pages make room: {whole} {fewer_whole}");
    }
    assert!(driven.detail("pages_unzipped") > 0.0);
}

#[test]
fn a_scan_of_either_kind_reads_ahead() {
    let text = format!("{} read_ahead_threshold=48 lru_scan_depth=8", mixed());
    let storage = Arc::new(MemoryStorage::new(Arc::default()));
    let mut driven = opened(&storage, &text).unwrap();
    for index in [COMPRESSED, WHOLE] {
        for n in 0..30_000u32 {
            driven.put(&[index.to_be_bytes(), n.to_be_bytes()].concat(), &row(n)).unwrap();
        }
    }
    driven.settle();
    for index in [COMPRESSED, WHOLE] {
        let before = driven.detail("pages_read_ahead");
        let engine = driven.engine.clone();
        let mut cursor = engine.iterator(&mut driven.task).unwrap();
        cursor.seek(&mut driven.task, &index.to_be_bytes()).unwrap();
        for n in 0..30_000 {
            assert_eq!(cursor.value(), row(n), "row {n} of index {index}");
            cursor.next(&mut driven.task).unwrap();
            driven.run_jobs().unwrap();
        }
        assert!(driven.detail("pages_read_ahead") - before > 100.0, "index {index}");
    }
}

#[test]
fn each_table_takes_the_keys_and_values_that_its_pages_take() {
    let (_, mut driven) = loaded(&mixed(), 10);
    let forest = driven.engine.forest();
    let longest = [COMPRESSED, WHOLE].map(|index| (forest.max_key_bytes(index), forest.max_value_bytes(index)));
    assert!(longest[0].0 < longest[1].0 && longest[0].1 < longest[1].1, "{longest:?}");
    for (index, (key_bytes, value_bytes)) in [COMPRESSED, WHOLE].into_iter().zip(longest) {
        let named = |len: usize| [&index.to_be_bytes()[..], &vec![b'k'; len]].concat();
        for len in [100, key_bytes / 2, key_bytes] {
            driven.put(&named(len), &vec![7; value_bytes]).unwrap();
            assert_eq!(driven.get(&named(len)).unwrap().unwrap(), vec![7; value_bytes]);
        }
        assert!(matches!(driven.put(&named(key_bytes + 1), b""), Err(Error::Invalid { .. })));
        assert!(matches!(driven.put(&named(1), &vec![7; value_bytes + 1]), Err(Error::Invalid { .. })));
    }
    assert_eq!(structure::check(driven.engine.forest(), &mut driven.task).entries, 26);
}

#[test]
fn what_was_made_with_one_list_is_not_opened_with_another() {
    let refuses = |storage: &Arc<MemoryStorage>, text: &str| {
        let refused = opened(storage, text).map(drop);
        assert!(
            matches!(&refused, Err(Error::Invalid { field, .. }) if field == "options.compressed_indexes"),
            "{text}: {refused:?}"
        );
    };
    let list = |list: &str| format!("{ZIP} compressed_indexes=\"{list}\"");
    let (some, driven) = loaded(&mixed(), 100);
    drop(driven);
    for text in [ZIP, &list("2"), &list("1:2"), &list("3")] {
        refuses(&some, text);
    }
    // A table that is yet to be made may be either.
    let mut driven = opened(&some, &list("7:1")).unwrap();
    driven.put(&key(7, 1), &row(1)).unwrap();
    drop(driven);
    refuses(&some, &mixed());
    assert!(opened(&some, &list("1:7")).is_ok());
    let (all, driven) = loaded(ZIP, 100);
    drop(driven);
    refuses(&all, &mixed());
    let (none, driven) = loaded(&ZIP.replace("key_block_size=8192", "compressed_indexes=\"1\""), 100);
    drop(driven);
    let error = opened(&none, &mixed()).map(drop).unwrap_err();
    assert!(error.to_string().contains("key_block_size"), "{error}");
}

#[test]
fn a_list_that_names_no_indexes_is_refused() {
    for list in ["", "none", "1,2", "1:", "1::2", "-1", "4294967294", "all:1"] {
        let result = options(&format!("{ZIP} compressed_indexes=\"{list}\"")).check();
        assert!(
            matches!(&result, Err(Error::Invalid { field, .. }) if field == "options.compressed_indexes"),
            "{list}"
        );
    }
}

/// One batch changes both tables, so that one frame of the log does.
#[test]
fn a_batch_over_both_tables_is_whole_after_a_crash_that_kept_its_log_alone() {
    let text = format!("{} flush_log_at_trx_commit=1", mixed());
    let (storage, mut driven) = loaded(&text, 500);
    let mut batch = WriteBatch::default();
    for n in 0..200 {
        batch.put(&key(COMPRESSED, n), &row(n + 1));
        batch.put(&key(WHOLE, n), &row(n + 1));
        batch.delete(&key([COMPRESSED, WHOLE][n as usize % 2], n + 200));
    }
    driven.write(&mut batch, Commit::Synced).unwrap();
    let left = Arc::new(storage.crash_clone(crate::storage::memory::CrashKeeps::Synced));
    let mut again = opened(&left, &text).unwrap();
    for index in [COMPRESSED, WHOLE] {
        let of_index = |driven: &mut Driven| driven.scan(&index.to_be_bytes()).unwrap();
        let found = of_index(&mut again);
        assert_eq!(found.len(), 400);
        assert!(found == of_index(&mut driven));
    }
    structure::check(again.engine.forest(), &mut again.task);
}

//! Compressed tables: what they take on storage, when pages are compressed and split, and what is refused.

use super::{Driven, TINY, ZIP, file_bytes, half_noise, noise, options, spread, structure};
use crate::btree::log::{RedoOp, frames_in, read_frames, read_header};
use crate::btree::page::EXTENT_PAGES;
use crate::btree::space::{REDO_FILE, Tablespace};
use crate::engine::{Commit, Engine, KeyLayout, WriteBatch};
use crate::error::Error;
use crate::metrics::Purpose;
use crate::storage::FileOptions;
use crate::storage::Storage;
use crate::storage::memory::CrashKeeps;
use crate::task::Task;
use std::sync::atomic::Ordering;

/// Rows below `end` in random order, again and again.
fn random_rows(end: u32) -> impl Iterator<Item = u32> {
    let mut state = 7u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as u32 % end
    })
}

fn loaded(text: &str, rows: u32) -> (std::sync::Arc<crate::storage::MemoryStorage>, Driven) {
    let (storage, mut driven) = Driven::fresh(text);
    for n in 0..rows {
        driven.put(&spread(n), &half_noise(u64::from(n), 200)).unwrap();
    }
    driven.engine.close(&mut driven.task).unwrap();
    (storage, driven)
}

#[test]
fn every_page_takes_a_slot_of_key_block_size() {
    let (storage, driven) = loaded(ZIP, 20_000);
    let pages = driven.detail("tree_pages");
    let bytes = file_bytes(&*storage, Tablespace::System) as f64;
    // Undo has extents of its own: of a second, and of its segments.
    let undo = 3.0 * f64::from(EXTENT_PAGES) * 8192.0;
    assert!(bytes >= pages * 8192.0 && bytes < pages * 8192.0 * 1.15 + undo, "{bytes} for {pages} pages");
    assert_eq!(storage.used_bytes().unwrap() / 8192, {
        let others = ["redo.log", "doublewrite.db"];
        let open = |name: &&str| storage.open(&mut Task::wall(0), name, FileOptions::DIRECT).unwrap().len();
        (file_bytes(&*storage, Tablespace::System) + others.iter().map(open).sum::<u64>()) / 8192
    });
}

#[test]
fn rows_that_halve_take_half_and_rows_that_do_not_take_no_more_than_uncompressed() {
    let bytes = |text: &str, row: &dyn Fn(u64) -> Vec<u8>| {
        let (_, mut driven) = Driven::fresh(text);
        for n in 0..15_000u32 {
            driven.put(&spread(n), &row(u64::from(n))).unwrap();
        }
        driven.engine.close(&mut driven.task).unwrap();
        structure::check(driven.engine.forest(), &mut driven.task);
        driven.detail("tree_pages") * driven.engine.forest().store.pool.files.system().slot_bytes() as f64
    };
    let plain = ZIP.replace("key_block_size=8192", "");
    let halves = bytes(ZIP, &|n| half_noise(n, 200)) / bytes(&plain, &|n| half_noise(n, 200));
    assert!((0.5..0.75).contains(&halves), "{halves}");
    let noisy = bytes(ZIP, &|n| noise(n, 200).collect()) / bytes(&plain, &|n| noise(n, 200).collect());
    assert!((0.9..1.25).contains(&noisy), "{noisy}");
}

#[test]
fn what_cannot_be_compressed_is_split_until_it_fits() {
    let (_, mut driven) = Driven::fresh("page_size=16384 key_block_size=4096 buffer_pool_size=2097152");
    let longest = driven.engine.forest().max_key_bytes(0);
    let inline = driven.engine.forest().max_inline_bytes(0);
    for n in 0..400u64 {
        let key = noise(n * 7919 + 1, if n % 3 == 0 { longest } else { 20 }).collect::<Vec<_>>();
        let row = noise(n, inline + usize::from(n % 10 == 0)).collect::<Vec<_>>();
        driven.put(&key, &row).unwrap();
    }
    assert_eq!(structure::check(driven.engine.forest(), &mut driven.task).entries, 400);
    assert!(driven.detail("pack_failures") > 0.0);
}

#[test]
fn failures_make_the_padding_grow_until_they_are_rare() {
    let (_, driven) = loaded(ZIP, 60_000);
    let padding = driven.detail("pack_padding");
    let failures = driven.detail("pack_failures") / (driven.detail("packs") + driven.detail("pack_failures"));
    assert!((128.0..8192.0).contains(&padding), "{padding}");
    assert!(failures < 0.2, "{failures}");
}

#[test]
fn a_put_goes_to_the_modification_log_and_a_full_one_logs_the_whole_page() {
    let (_, mut driven) = loaded(ZIP, 2000);
    let mut grown = Vec::new();
    for n in 0..400u32 {
        let before = (driven.detail("lsn"), driven.detail("packs"));
        driven.put(&spread(n % 50), &half_noise(u64::from(n) + 77_777, 200)).unwrap();
        grown.push((driven.detail("packs") > before.1, driven.detail("lsn") - before.0));
    }
    let of = |zip: bool| grown.iter().filter(move |(one, _)| *one == zip).map(|(_, bytes)| *bytes);
    assert!(of(true).count() > 5 && of(true).count() < 200, "{}", of(true).count());
    // The new bytes, 100 of them, and their undo.
    assert!(of(false).all(|bytes| bytes < 500.0));
    assert!(of(true).all(|bytes| (2000.0..20_000.0).contains(&bytes)));
}

#[test]
fn a_page_is_written_as_a_slot_behind_a_doublewrite_of_a_whole_page() {
    let (storage, mut driven) = loaded(&format!("{ZIP} server=mysql"), 4000);
    let bytes = |purpose| storage.meters().snapshot().of(purpose).written_bytes;
    let in_place = || bytes(Purpose::PageFlush) + bytes(Purpose::Undo);
    let before = (in_place(), bytes(Purpose::Doublewrite), driven.detail("pages_flushed"), bytes(Purpose::Undo));
    for n in 0..200u32 {
        driven.put(&spread(n), b"changed").unwrap();
    }
    driven.engine.close(&mut driven.task).unwrap();
    let pages = (driven.detail("pages_flushed") - before.2) as u64;
    assert!(pages > 20 && bytes(Purpose::Undo) > before.3);
    assert_eq!(in_place() - before.0, pages * 8192);
    assert_eq!(bytes(Purpose::Doublewrite) - before.1, pages * 16384);
}

#[test]
fn sizes_that_do_not_go_together_are_refused() {
    for (text, field) in [
        ("page_size=4096 key_block_size=8192", "key_block_size"),
        ("page_size=32768 key_block_size=8192", "key_block_size"),
        ("key_block_size=8192 compression_algorithm=zlib", "key_block_size"),
    ] {
        let result = options(text).check();
        assert!(matches!(&result, Err(Error::Invalid { field: found, .. }) if found.ends_with(field)), "{text}");
    }
    let (storage, driven) = Driven::fresh(&format!("{TINY} key_block_size=4096"));
    drop(driven);
    let other = Driven::open(storage, &options(TINY), KeyLayout::Plain);
    assert!(other.is_err_and(|error| error.to_string().contains("key_block_size")));
}

/// A put that the slot refuses begins anew with a split, and its undo is not logged again.
#[test]
fn a_change_is_in_the_undo_log_once_though_its_page_is_split_for_it() {
    let text = "page_size=16384 key_block_size=8192 buffer_pool_size=16777216 redo_log_capacity=67108864";
    let (storage, mut driven) = Driven::fresh(text);
    let file = storage.open(&mut driven.task, REDO_FILE, FileOptions::DIRECT).unwrap();
    let (header, start) = read_header(&*file, &mut driven.task).unwrap();
    let puts = 3000;
    for n in 0..puts {
        driven.put(&spread(n), &half_noise(u64::from(n), 200)).unwrap();
    }
    assert!(driven.detail("pack_failures") > 20.0);
    let bytes = read_frames(&*file, &mut driven.task, header, start).unwrap();
    let mut appended = 0;
    for (_, _, mut payload) in frames_in(&bytes, start.lsn) {
        while let Some((op, rest)) = RedoOp::decode(payload) {
            appended += u32::from(matches!(op, RedoOp::Append { .. }));
            payload = rest;
        }
    }
    assert_eq!(appended, 2 * puts, "a header and a record of each");
}

/// A batch of this many rows and one is nearly as large as the log has room for.
const LAST_OF_BATCH: u32 = 115;

#[test]
fn a_batch_about_as_large_as_the_log_has_room_for_pages_that_are_compressed_again() {
    let text = "page_size=8192 key_block_size=4096 buffer_pool_size=1048576 redo_log_capacity=262144";
    let (storage, mut driven) = Driven::fresh(text);
    // An ordered load leaves no room in the slots, so that every change makes a page be compressed again.
    for n in 0..4000u32 {
        driven.put(&n.to_be_bytes(), &half_noise(u64::from(n), 210)).unwrap();
    }
    for round in 0..10u32 {
        let mut batch = WriteBatch::default();
        for n in 0..=LAST_OF_BATCH {
            batch.put(&(n * 33 + round).to_be_bytes(), &half_noise(u64::from(round * 100 + n), 210));
        }
        driven.engine.write(&mut driven.task, &mut batch, Commit::Synced).unwrap();
        let left = std::sync::Arc::new(storage.crash_clone(CrashKeeps::Synced));
        let mut again = Driven::open(left, &options(text), KeyLayout::Plain).unwrap();
        assert_eq!(structure::check(again.engine.forest(), &mut again.task).entries, 4000);
        let found = again.get(&(LAST_OF_BATCH * 33 + round).to_be_bytes()).unwrap();
        assert_eq!(found, Some(half_noise(u64::from(round * 100 + LAST_OF_BATCH), 210)));
    }
    assert!(driven.engine.forest().counters.moved_intents.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_pool_that_reads_keeps_compressed_pages_and_drops_the_pages_themselves() {
    let pool = 2_097_152.0;
    let (_, mut driven) = loaded(ZIP, 30_000);
    let before = (driven.detail("pages_read"), driven.detail("pages_unzipped"));
    for n in random_rows(30_000).take(20_000) {
        assert_eq!(driven.get(&spread(n)).unwrap().unwrap(), half_noise(u64::from(n), 200));
    }
    let (pages, held) = (driven.detail("tree_pages"), driven.detail("pages_read") - before.0);
    assert!(driven.detail("pages_unzipped") - before.1 > 1000.0);
    // Nine of ten pages in compressed form alone: 24 KiB for the tenth, 8 KiB for each other.
    let resident = (pool / (24.0 + 9.0 * 8.0) / 1024.0 * 10.0 / pages).min(1.0);
    let misses = held / 20_000.0;
    assert!((misses - (1.0 - resident)).abs() < 0.1, "{misses} for {resident} resident of {pages}");
    assert!(driven.engine.forest().store.pool.zip_held_bytes() as f64 <= pool);
}

#[test]
fn pages_whose_compressed_forms_fit_the_pool_are_decompressed_and_not_read() {
    let (_, mut driven) = loaded(ZIP, 7000);
    let pages = driven.detail("tree_pages");
    assert!(pages * 24_576.0 > 2_097_152.0 && pages * 9_900.0 < 2_097_152.0, "{pages} pages");
    for row in random_rows(7000).take(10_000) {
        driven.get(&spread(row)).unwrap();
    }
    assert!(driven.detail("pages_read") < 10.0, "{}", driven.detail("pages_read"));
    assert!(driven.detail("pages_unzipped") > 5000.0, "{}", driven.detail("pages_unzipped"));
}

//! Indexes that are added as files of their own, behind rows that are there.

use super::{get, memory, open, put, run_jobs, scan, settle, tiny, write};
use crate::codec::Compression;
use crate::engine::{Commit, Engine, WriteBatch};
use crate::error::Result;
use crate::lsm::Lsm;
use crate::random::{Random, Stream};
use crate::storage::memory::CrashKeeps;
use crate::task::Task;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

const ENTRIES: u32 = 6000;

fn row(number: u32) -> Vec<u8> {
    format!("0{number:08}").into_bytes()
}

fn entry(index: u8, number: u32) -> Vec<u8> {
    format!("{index}{number:08}").into_bytes()
}

fn add_index(lsm: &Lsm, index: u8) -> Result<()> {
    let mut entries = WriteBatch::default();
    (0..ENTRIES).for_each(|number| entries.put(&entry(index, number), b""));
    lsm.add_index(&mut Task::wall(0), &mut entries)
}

/// Rows of digits, which only an entropy coder makes smaller.
fn load_rows(lsm: &Lsm) {
    let mut random = Random::derive(7, Stream::Client(0));
    for number in 0..3000 {
        let digits: Vec<u8> = (0..100).map(|_| b'0' + random.below(10) as u8).collect();
        put(lsm, &row(number), &digits).unwrap();
        run_jobs(lsm).unwrap();
    }
}

fn files_by_level(lsm: &Lsm) -> Vec<usize> {
    lsm.db.super_version.load().version.metas.iter().map(|files| files.len()).collect()
}

fn bytes_of_rows(lsm: &Lsm) -> u64 {
    let version = lsm.db.super_version.load().version.clone();
    version.all_files().filter(|file| file.meta.smallest[0] == b'0').map(|file| file.meta.data_bytes).sum()
}

#[test]
fn an_index_goes_into_the_last_level_in_files_of_the_target_size() {
    let storage = memory();
    let settings = json!({
        "target_file_size_base": 32768, "level_compaction_dynamic_level_bytes": false,
        "compression": "kNoCompression", "block_restart_interval": 1,
    });
    let lsm = open(&storage, &tiny(&settings)).unwrap();
    load_rows(&lsm);
    let before = files_by_level(&lsm);
    assert_eq!(before[4], 0);
    add_index(&lsm, 1).unwrap();
    add_index(&lsm, 2).unwrap();
    let after = files_by_level(&lsm);
    assert_eq!(after[..4], before[..4]);
    assert!(after[4] > 4, "{after:?}");
    let version = lsm.db.super_version.load().version.clone();
    let (last, full): (Vec<_>, Vec<_>) = version.metas[4].iter().partition(|file| file.largest.ends_with(b"00005999"));
    assert_eq!(last.len(), 2);
    assert!(full.iter().all(|file| file.data_bytes >= 32768 && file.bytes < 2 * 32768));
}

#[test]
fn entries_are_found_change_and_go_and_outlive_a_restart() {
    let storage = memory();
    let options = tiny(&json!({}));
    let lsm = open(&storage, &options).unwrap();
    load_rows(&lsm);
    add_index(&lsm, 1).unwrap();
    let mut model: BTreeMap<_, _> = scan(&lsm).unwrap().into_iter().collect();
    assert_eq!(model.len(), 3000 + ENTRIES as usize);
    for number in 0..ENTRIES {
        let mut batch = WriteBatch::default();
        let (old, new) = (entry(1, number), entry(1, number + ENTRIES));
        batch.delete(&old);
        batch.put(&new, b"");
        write(&lsm, &mut batch, Commit::Configured).unwrap();
        model.remove(&old);
        model.insert(new, Vec::new());
        if number == ENTRIES / 2 {
            settle(&lsm).unwrap();
        }
    }
    drop(lsm);
    let lsm = open(&storage, &options).unwrap();
    settle(&lsm).unwrap();
    assert_eq!(scan(&lsm).unwrap(), model.into_iter().collect::<Vec<_>>());
    assert_eq!(get(&lsm, &entry(1, 5)).unwrap(), None);
    assert_eq!(get(&lsm, &entry(1, ENTRIES + 5)).unwrap(), Some(Vec::new()));
}

#[test]
fn an_index_outlives_a_crash() {
    let storage = memory();
    let options = tiny(&json!({}));
    let lsm = open(&storage, &options).unwrap();
    put(&lsm, &row(1), b"row").unwrap();
    add_index(&lsm, 1).unwrap();
    let crashed = Arc::new(storage.crash_clone(CrashKeeps::Synced));
    let found = scan(&open(&crashed, &options).unwrap()).unwrap();
    assert_eq!(found.iter().filter(|(key, _)| key[0] == b'1').count(), ENTRIES as usize);
}

#[test]
fn what_is_merged_above_an_index_is_not_of_the_last_level_any_more() {
    let settings = json!({
        "compression": "kLZ4Compression", "bottommost_compression": "kZSTD",
        "level_compaction_dynamic_level_bytes": false,
    });
    let load = |indexed: bool| {
        let lsm = open(&memory(), &tiny(&settings)).unwrap();
        if indexed {
            add_index(&lsm, 1).unwrap();
        }
        load_rows(&lsm);
        settle(&lsm).unwrap();
        bytes_of_rows(&lsm)
    };
    let (above, alone) = (load(true), load(false));
    assert!(above * 2 > alone * 3, "{above} {alone}");
}

#[test]
fn an_index_has_the_codec_of_the_last_level() {
    let codec = |settings| crate::lsm::policy::ingested_compression(&tiny(&settings).parse().unwrap().codecs);
    let usual = json!({"compression": "kLZ4Compression"});
    assert_eq!(codec(usual), Compression::Lz4);
    let per_level = json!({"compression": "kLZ4Compression", "compression_per_level": "kNoCompression:kZSTD"});
    assert_eq!(codec(per_level), Compression::Zstd);
    let both = json!({"compression_per_level": "kNoCompression", "bottommost_compression": "kZlibCompression"});
    assert_eq!(codec(both), Compression::Zlib);
}

#[test]
fn an_index_of_no_entries_makes_no_file() {
    let storage = memory();
    let lsm = open(&storage, &tiny(&json!({}))).unwrap();
    lsm.add_index(&mut Task::wall(0), &mut WriteBatch::default()).unwrap();
    assert_eq!(files_by_level(&lsm), [0; 5]);
}

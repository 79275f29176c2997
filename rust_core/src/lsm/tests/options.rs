//! Each option does what its text says.

use super::*;
use crate::error::Error;
use crate::metrics::Purpose;
use crate::scale::Scale;
use crate::storage::FileOptions;
use serde_json::json;

/// Puts `keys` keys of 8 bytes with values of `bytes`, in scattered order, and runs jobs now and then.
fn load(lsm: &Lsm, keys: u64, bytes: usize) {
    for n in 0..keys {
        let key = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        put(lsm, &key, &vec![b'v'; bytes]).unwrap();
        if n % 100 == 0 {
            run_jobs(lsm).unwrap();
        }
    }
}

fn key_of(n: u64) -> [u8; 8] {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

fn purpose_writes(storage: &MemoryStorage, purpose: Purpose) -> u64 {
    storage.meters().snapshot().of(purpose).written_bytes
}

#[test]
fn a_synced_write_is_synced_and_others_are_not() {
    let storage = memory();
    let lsm = open(&storage, &tiny(&json!({}))).unwrap();
    let syncs = || storage.meters().snapshot().of(Purpose::Wal).syncs;
    put(&lsm, b"a", b"1").unwrap();
    assert_eq!(syncs(), 0);
    let mut batch = WriteBatch::default();
    batch.put(b"b", b"2");
    write(&lsm, &mut batch, Commit::Synced).unwrap();
    assert_eq!(syncs(), 1);
    let storage = memory();
    let lsm = open(&storage, &tiny(&json!({"sync": true}))).unwrap();
    put(&lsm, b"a", b"1").unwrap();
    assert_eq!(storage.meters().snapshot().of(Purpose::Wal).syncs, 1);
}

#[test]
fn one_commit_is_one_write_unless_the_log_is_flushed_by_hand() {
    for (manual, expected) in [(false, 50), (true, 0)] {
        let storage = memory();
        let lsm = open(&storage, &tiny(&json!({"manual_wal_flush": manual}))).unwrap();
        (0..50u64).for_each(|n| put(&lsm, &key_of(n), b"v").unwrap());
        assert_eq!(storage.meters().snapshot().of(Purpose::Wal).writes, expected);
        lsm.close(&mut Task::wall(0)).unwrap();
        assert!(purpose_writes(&storage, Purpose::Wal) > 50 * 20);
    }
}

#[test]
fn without_a_log_a_clean_close_loses_nothing_and_synced_writes_are_refused() {
    let (storage, options) = (memory(), tiny(&json!({"disable_wal": true})));
    let lsm = open(&storage, &options).unwrap();
    put(&lsm, b"a", b"1").unwrap();
    let mut batch = WriteBatch::default();
    batch.put(b"b", b"2");
    assert!(matches!(write(&lsm, &mut batch, Commit::Synced), Err(Error::Invalid { .. })));
    lsm.close(&mut Task::wall(0)).unwrap();
    assert_eq!(purpose_writes(&storage, Purpose::Wal), 0);
    let lsm = open(&storage, &options).unwrap();
    assert_eq!(scan(&lsm).unwrap(), [(b"a".to_vec(), b"1".to_vec())]);
}

#[test]
fn writers_wait_at_the_memtable_limit_and_are_delayed_by_level_0() {
    let storage = memory();
    let options = tiny(&json!({"disable_auto_compactions": false, "level0_file_num_compaction_trigger": 2,
        "level0_slowdown_writes_trigger": 2, "level0_stop_writes_trigger": 3, "max_write_buffer_number": 2,
        "delayed_write_rate": 1_000_000}));
    let lsm = open(&storage, &options).unwrap();
    let mut task = Task::wall(0);
    task.now_ns = 1_000_000_000;
    let mut n = 0;
    let mut batch = WriteBatch::default();
    while lsm.admit(&mut task, 100).unwrap() == Admission::Go {
        batch.clear();
        batch.put(&key_of(n), &[1; 100]);
        lsm.write(&mut task, &mut batch, Commit::Configured).unwrap();
        n += 1;
    }
    assert_eq!(lsm.admit(&mut task, 100).unwrap(), Admission::Wait);
    assert_eq!(lsm.stats().details["immutable_memtables"], 2.0);
    let mut flush = lsm.next_job(0).unwrap();
    flush.run(&mut task).unwrap();
    assert_eq!(lsm.admit(&mut task, 100).unwrap(), Admission::Wait, "not before the flush is installed");
    flush.install(&mut task).unwrap();
    assert_eq!(lsm.admit(&mut task, 100).unwrap(), Admission::Go);
    while lsm.stats().details["immutable_memtables"] < 2.0 {
        batch.clear();
        batch.put(&key_of(n), &[1; 100]);
        lsm.write(&mut task, &mut batch, Commit::Configured).unwrap();
        n += 1;
    }
    let mut flush = lsm.next_job(0).unwrap();
    flush.run(&mut task).unwrap();
    flush.install(&mut task).unwrap();
    assert_eq!(lsm.admit(&mut task, 900).unwrap(), Admission::Go, "the first millisecond is credited");
    let began = task.now_ns;
    while let Admission::Delay { micros } = lsm.admit(&mut task, 50_000).unwrap() {
        task.now_ns += micros * 1000;
    }
    let micros = (task.now_ns - began) / 1000;
    assert!((49_000..52_000).contains(&micros), "{micros} us for 50 kB at 1 MB/s");
    assert_ne!(lsm.admit(&mut task, 50_000).unwrap(), Admission::Go, "the next write is delayed for itself");
    let mut compaction = lsm.next_job(0).unwrap();
    compaction.run(&mut task).unwrap();
    compaction.install(&mut task).unwrap();
    assert_eq!(lsm.admit(&mut task, 50_000).unwrap(), Admission::Go, "level 0 is empty again");
}

#[test]
fn compactions_are_off_when_disabled() {
    let storage = memory();
    let lsm = open(&storage, &tiny(&json!({"disable_auto_compactions": true}))).unwrap();
    load(&lsm, 3000, 200);
    settle(&lsm).unwrap();
    let details = lsm.stats().details;
    assert!(details["level0_files"] > 5.0);
    assert_eq!(details["compactions"] + details["trivial_moves"], 0.0);
}

#[test]
fn memtables_are_merged_before_they_are_flushed() {
    let files = |merge: u64| {
        let storage = memory();
        let options = tiny(&json!({"disable_auto_compactions": true, "max_write_buffer_number": 6,
            "min_write_buffer_number_to_merge": merge}));
        let lsm = open(&storage, &options).unwrap();
        load(&lsm, 3000, 200);
        settle(&lsm).unwrap();
        lsm.stats().details["flushes"]
    };
    let (alone, in_threes) = (files(1), files(3));
    assert!(in_threes <= alone / 2.0, "{in_threes} flushes of three, {alone} of one");
}

#[test]
fn smaller_files_are_more_files() {
    let files = |bytes: u64| {
        let storage = memory();
        let lsm =
            open(&storage, &tiny(&json!({"target_file_size_base": bytes, "compression": "kNoCompression"}))).unwrap();
        load(&lsm, 4000, 200);
        settle(&lsm).unwrap();
        lsm.stats().details["table_files"]
    };
    assert!(files(65536) > 2.0 * files(1 << 20));
}

#[test]
fn compression_saves_space_and_a_bottommost_one_reaches_only_the_last_level() {
    let bytes = |settings: Value| {
        let storage = memory();
        let lsm = open(&storage, &tiny(&settings)).unwrap();
        load(&lsm, 3000, 200);
        settle(&lsm).unwrap();
        let level0 = purpose_writes(&storage, Purpose::Flush);
        (level0, lsm.stats().details["level_4_bytes"])
    };
    let plain = bytes(json!({"compression": "kNoCompression"}));
    let fast = bytes(json!({"compression": "kLZ4Compression"}));
    let last = bytes(json!({"compression": "kNoCompression", "bottommost_compression": "kZSTD"}));
    assert!(fast.0 < plain.0 / 2 && fast.1 < plain.1 / 2.0);
    assert_eq!(last.0, plain.0);
    assert!(last.1 < plain.1 / 2.0);
}

#[test]
fn a_list_of_codecs_starts_at_level_0_and_goes_on_below() {
    let bytes = |settings: Value| {
        let storage = memory();
        let lsm = open(&storage, &tiny(&settings)).unwrap();
        load(&lsm, 3000, 200);
        settle(&lsm).unwrap();
        (purpose_writes(&storage, Purpose::Flush), lsm.stats().details["level_4_bytes"])
    };
    let plain = bytes(json!({"compression": "kNoCompression"}));
    let below = bytes(json!({"compression_per_level": "kNoCompression:kLZ4Compression"}));
    let all = bytes(json!({"compression": "kNoCompression", "compression_per_level": "kLZ4Compression"}));
    assert_eq!(below.0, plain.0);
    assert!(below.1 < plain.1 / 2.0, "{} of {}", below.1, plain.1);
    assert!(all.0 < plain.0 / 2 && all.1 < plain.1 / 2.0);
}

#[test]
fn the_level_of_a_codec_reaches_flushes_and_compactions() {
    let bytes = |settings: Value| {
        let storage = memory();
        let lsm = open(&storage, &tiny(&settings)).unwrap();
        for n in 0..2000u64 {
            // Words of four letters: enough to find for a codec that looks longer.
            let words = (0..50u64).flat_map(|at| {
                let word = (n * 50 + at).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
                [b'a' + (word / 8) as u8, b'a' + (word % 8) as u8, b'e', b' ']
            });
            put(&lsm, &key_of(n), &words.collect::<Vec<_>>()).unwrap();
            if n % 100 == 0 {
                run_jobs(&lsm).unwrap();
            }
        }
        settle(&lsm).unwrap();
        let tables = (0..5).map(|level| lsm.stats().details[&format!("level_{level}_bytes")]).sum::<f64>();
        (purpose_writes(&storage, Purpose::Flush), tables)
    };
    for (codec, low, high) in [("kZlibCompression", 1, 9), ("kZSTD", 1, 19)] {
        let quick = bytes(json!({"compression": codec, "compression_opts_level": low}));
        let usual = bytes(json!({"compression": codec}));
        let thorough = bytes(json!({"compression": codec, "compression_opts_level": high}));
        assert!(quick.0 > thorough.0 && quick.1 > thorough.1, "{codec}: {quick:?}, {thorough:?}");
        assert_ne!(usual, quick, "{codec}");
    }
    // As in RocksDB, a level that zlib does not have leaves blocks as they are.
    let refused = bytes(json!({"compression": "kZlibCompression", "compression_opts_level": 22}));
    assert_eq!(refused, bytes(json!({"compression": "kNoCompression"})));
}

#[test]
fn filters_spare_absent_keys_a_block_and_can_be_left_out_of_the_last_level() {
    let asked = |settings: Value| {
        let storage = memory();
        let lsm = open(&storage, &tiny(&settings)).unwrap();
        load(&lsm, 3000, 200);
        settle(&lsm).unwrap();
        let mut task = Task::wall(0);
        for n in 10_000..12_000 {
            lsm.get(&mut task, &key_of(n), &mut Vec::new()).unwrap();
        }
        (task.blocks_asked, lsm.stats())
    };
    let (without, _) = asked(json!({"filter_policy": "nullptr"}));
    let (with, stats) = asked(json!({}));
    let (last_without, _) = asked(json!({"optimize_filters_for_hits": true}));
    let (prefixes_only, _) = asked(json!({"whole_key_filtering": false, "prefix_extractor": "fixed:8"}));
    assert!(without > 1500 && with < without / 20, "{with} blocks with filters, {without} without");
    assert!(stats.bloom_useful > 1500 && stats.bloom_true_positive == 0);
    assert!(last_without > 1000, "{last_without}");
    assert!(prefixes_only < without / 20, "{prefixes_only}");
}

#[test]
fn a_prefix_filter_spares_seeks_the_files_without_the_prefix() {
    let asked = |prefix: &str| {
        let storage = memory();
        let settings = json!({"prefix_extractor": prefix, "disable_auto_compactions": true});
        let lsm = open(&storage, &tiny(&settings)).unwrap();
        for n in 0..3000u32 {
            let key = [&n.wrapping_mul(2_654_435_761).to_be_bytes()[..], b"row"].concat();
            put(&lsm, &key, &[b'v'; 200]).unwrap();
        }
        settle(&lsm).unwrap();
        assert!(lsm.stats().details["level0_files"] > 5.0);
        let mut task = Task::wall(0);
        let mut found = Vec::new();
        for n in 0..3000u32 {
            let prefix = n.wrapping_mul(2_654_435_761).to_be_bytes();
            let mut iterator = lsm.iterator(&mut task).unwrap();
            let mut note = |iterator: &dyn crate::engine::EngineIterator| {
                found.push((iterator.key().to_vec(), iterator.value().to_vec()));
            };
            iterator.seek(&mut task, &prefix).unwrap();
            note(&*iterator);
            iterator.seek_for_prev(&mut task, &[&prefix[..], b"s"].concat()).unwrap();
            note(&*iterator);
        }
        (task.blocks_asked, found)
    };
    let ((with, found), (without, expected)) = (asked("fixed:4"), asked("nullptr"));
    assert_eq!(found, expected);
    assert!(with < without / 4, "{with} blocks with a prefix filter, {without} without");
}

#[test]
fn index_and_filter_blocks_live_where_they_are_told_to() {
    let gauges = |settings: Value| {
        let storage = memory();
        let lsm = open(&storage, &tiny(&settings)).unwrap();
        load(&lsm, 3000, 200);
        lsm.begin_settle(&mut Task::wall(0)).unwrap();
        run_jobs(&lsm).unwrap();
        let stats = lsm.stats();
        let sum = stats.details["block_cache_bytes"]
            + stats.details["index_and_filter_bytes"]
            + stats.details["memtable_bytes"];
        assert!((stats.memory_bytes as f64 - sum).abs() < 1.0);
        stats.details["index_and_filter_bytes"]
    };
    let beside = gauges(json!({}));
    let cached = gauges(json!({"cache_index_and_filter_blocks": true, "disable_auto_compactions": true}));
    let pinned = gauges(json!({"cache_index_and_filter_blocks": true, "disable_auto_compactions": true,
        "pin_l0_filter_and_index_blocks_in_cache": true}));
    assert!(beside > 3000.0);
    assert_eq!(cached, 0.0);
    assert!(pinned > 3000.0);
}

#[test]
fn index_and_filter_blocks_that_the_cache_keeps_take_their_room_in_it() {
    let run = |evicts: bool, block_cache: u64| {
        let storage = memory();
        let settings = json!({"cache_index_and_filter_blocks": true, "block_cache": block_cache,
            "filter_policy": "bloomfilter:10:false"});
        let scale = if evicts { Scale::FULL } else { Scale::standing_for(2.0) };
        let lsm = open(&storage, &tiny(&settings).at_scale(scale)).unwrap();
        load(&lsm, 3000, 200);
        settle(&lsm).unwrap();
        let before = storage.meters().snapshot().of(Purpose::UserRead).reads;
        for n in (0..3000).step_by(7) {
            assert!(get(&lsm, &key_of(n)).unwrap().is_some());
        }
        let stats = lsm.stats();
        let (cached, kept) = (stats.details["block_cache_bytes"], stats.details["index_and_filter_bytes"]);
        (storage.meters().snapshot().of(Purpose::UserRead).reads - before, cached, kept)
    };
    let (whole, _, none) = run(true, 32768);
    let (copy, cached, kept) = run(false, 32768);
    assert!(none == 0.0 && kept > 3000.0);
    assert!(cached <= (32768.0 - kept).max(0.0), "{cached} beside {kept}");
    assert_eq!(copy, whole, "what fits the high part stays in either");
    // Where they do not fit, a copy evicts them as the whole does.
    let (whole, ..) = run(true, 8192);
    let (other, _, kept) = run(false, 8192);
    assert_eq!(kept, 8192.0);
    assert!(other > copy + 50, "{other} reads with evictions, {copy} without");
    assert!(other.abs_diff(whole) * 5 < whole, "{other} reads in a copy, {whole} at full size");
}

#[test]
fn the_cache_answers_repeated_reads_within_its_size() {
    let hits = |bytes: u64| {
        let storage = memory();
        let lsm = open(&storage, &tiny(&json!({"block_cache": bytes}))).unwrap();
        load(&lsm, 3000, 200);
        settle(&lsm).unwrap();
        let before = lsm.stats();
        for n in (0..3000).chain(0..3000) {
            assert!(get(&lsm, &key_of(n)).unwrap().is_some());
        }
        let after = lsm.stats();
        assert!(after.details["block_cache_bytes"] <= bytes as f64);
        (after.cache_hits - before.cache_hits) as f64 / 6000.0
    };
    assert!(hits(0) == 0.0);
    assert!(hits(8 << 20) > 0.7);
}

#[test]
fn a_compaction_reads_as_many_bytes_at_a_time_as_it_is_told_to() {
    let reads = |readahead: u64| {
        let storage = memory();
        let lsm = open(&storage, &tiny(&json!({"compaction_readahead_size": readahead}))).unwrap();
        load(&lsm, 3000, 200);
        settle(&lsm).unwrap();
        let meters = storage.meters().snapshot();
        (0..5).map(|level| meters.of(Purpose::Compaction { level }).reads).sum::<u64>()
    };
    assert!(reads(0) > 10 * reads(64 << 10));
}

#[test]
fn a_scan_reads_ahead_and_scattered_reads_do_not() {
    let storage = memory();
    let lsm = open(&storage, &tiny(&json!({"block_cache": 0, "compression": "kNoCompression"}))).unwrap();
    load(&lsm, 3000, 200);
    settle(&lsm).unwrap();
    let of = |purpose| storage.meters().snapshot().of(purpose);
    (0..100).for_each(|n| assert!(get(&lsm, &key_of(n)).unwrap().is_some()));
    assert_eq!(of(Purpose::ReadAhead).reads, 0);
    let single = of(Purpose::UserRead).reads;
    scan(&lsm).unwrap();
    assert!(of(Purpose::ReadAhead).read_bytes > 400_000);
    assert!(of(Purpose::UserRead).reads - single < 60);
}

#[test]
fn the_work_of_an_operation_is_charged() {
    use crate::cost::Work;
    let storage = memory();
    let lsm = open(&storage, &tiny(&json!({}))).unwrap();
    load(&lsm, 2000, 200);
    settle(&lsm).unwrap();
    let mut task = Task::wall(0);
    lsm.get(&mut task, &key_of(5), &mut Vec::new()).unwrap();
    let work = task.work();
    for kind in [Work::Call, Work::FilterProbe, Work::CacheLookup, Work::Record, Work::CopyByte] {
        assert!(work.get(kind) > 0, "{}", kind.name());
    }
    let mut batch = WriteBatch::default();
    batch.put(b"k", b"v");
    let mut task = Task::wall(0);
    lsm.write(&mut task, &mut batch, Commit::Configured).unwrap();
    assert!(task.work().get(Work::StorageWrite) == 1 && task.work().get(Work::ChecksumByte) > 0);
}

#[test]
fn a_scan_is_charged_the_comparisons_that_merge_its_sources() {
    use crate::cost::Work;
    const KEYS: u64 = 2000;
    let compared = |sources: u64| {
        let storage = memory();
        let lsm = open(&storage, &tiny(&json!({"level0_file_num_compaction_trigger": 100}))).unwrap();
        for source in 0..sources {
            let mut batch = WriteBatch::default();
            (source..KEYS).step_by(sources as usize).for_each(|n| batch.put(&key_of(n), b"v"));
            lsm.write(&mut Task::wall(0), &mut batch, Commit::Configured).unwrap();
            settle(&lsm).unwrap();
        }
        let (mut task, mut iterator) = (Task::wall(0), lsm.iterator(&mut Task::wall(0)).unwrap());
        iterator.seek(&mut task, b"").unwrap();
        while iterator.valid() {
            iterator.next(&mut task).unwrap();
        }
        assert_eq!(task.work().get(Work::IteratorStep), KEYS);
        task.work().get(Work::Compare)
    };
    let (one, two, eight) = (compared(1), compared(2), compared(8));
    assert!(one < 100, "{one}");
    assert!((KEYS..KEYS + 100).contains(&two), "{two}");
    // Keys that take turns go from the top of the heap to its bottom: two comparisons on each of three levels.
    assert!((4 * KEYS..6 * KEYS + 100).contains(&eight), "{eight}");
}

/// Entries that a scan from a to c steps over forward and backward, with `versions` of b between them, and what it
/// finds. `last` is what the newest of them does; later ones come behind the iterator's back.
fn steps_past(versions: u32, last: fn(&mut WriteBatch, &[u8]), later: u32) -> ([u64; 2], Vec<Vec<u8>>) {
    use crate::cost::Work;
    let lsm = open(&memory(), &tiny(&json!({"write_buffer_size": 64 << 20}))).unwrap();
    let change = |change: &dyn Fn(&mut WriteBatch)| {
        let mut batch = WriteBatch::default();
        change(&mut batch);
        lsm.write(&mut Task::wall(0), &mut batch, Commit::Configured).unwrap();
    };
    change(&|batch| ["a", "c"].iter().for_each(|key| batch.put(key.as_bytes(), b"once")));
    (1..versions).for_each(|_| change(&|batch| batch.put(b"b", b"old")));
    change(&|batch| last(batch, b"b"));
    let mut task = Task::wall(0);
    let mut iterator = lsm.iterator(&mut task).unwrap();
    (0..later).for_each(|_| change(&|batch| batch.put(b"b", b"later")));
    let mut found = Vec::new();
    let mut steps = [0; 2];
    iterator.seek(&mut task, b"a").unwrap();
    while iterator.valid() {
        found.push([iterator.key(), iterator.value()].concat());
        iterator.next(&mut task).unwrap();
    }
    steps[0] = task.work().get(Work::IteratorStep);
    iterator.seek_for_prev(&mut task, b"c").unwrap();
    let forward = found.len();
    while iterator.valid() {
        found.push([iterator.key(), iterator.value()].concat());
        iterator.prev(&mut task).unwrap();
    }
    steps[1] = task.work().get(Work::IteratorStep) - steps[0];
    let back: Vec<_> = found.drain(forward..).rev().collect();
    assert_eq!(found, back, "both directions find the same");
    (steps, found)
}

#[test]
fn a_scan_seeks_past_old_and_too_new_versions_of_a_key_after_eight() {
    let put: fn(&mut WriteBatch, &[u8]) = |batch, key| batch.put(key, b"new");
    let delete: fn(&mut WriteBatch, &[u8]) = |batch, key| batch.delete(key);
    for (last, later) in [(put, 0), (put, 5000), (delete, 0), (delete, 5000)] {
        let (few, with_few) = steps_past(5, last, later.min(5));
        let (many, with_many) = steps_past(5000, last, later);
        assert_eq!(with_many, with_few);
        assert!(few.iter().all(|steps| (4..=12).contains(steps)), "{few:?}");
        assert!(many.iter().all(|steps| (8..=32).contains(steps)), "{many:?}");
    }
}

#[test]
fn a_manifest_beyond_its_size_is_begun_anew() {
    let manifest = |most: u64| {
        let storage = memory();
        let options = tiny(&json!({"max_manifest_file_size": most}));
        let lsm = open(&storage, &options).unwrap();
        (0..5).for_each(|_| load(&lsm, 3000, 200));
        settle(&lsm).unwrap();
        let mut names = storage.list().unwrap();
        names.retain(|name| name.starts_with("MANIFEST-"));
        let bytes = names
            .iter()
            .map(|name| storage.open(&mut Task::wall(0), name, FileOptions::DIRECT).unwrap().len())
            .sum::<u64>();
        let held = scan(&lsm).unwrap();
        drop(lsm);
        assert_eq!(scan(&open(&storage, &options).unwrap()).unwrap(), held);
        (names, bytes)
    };
    let (first, all_edits) = manifest(1 << 30);
    assert_eq!(first, ["MANIFEST-000001"]);
    let (rolled, bytes) = manifest(4096);
    assert!(rolled.len() == 1 && rolled != first, "{rolled:?}");
    assert!(bytes < all_edits / 2, "{bytes} of {all_edits}");
}

#[test]
fn fewer_levels_than_there_are_files_in_is_refused() {
    let storage = memory();
    let lsm = open(&storage, &tiny(&json!({"num_levels": 7}))).unwrap();
    load(&lsm, 3000, 200);
    settle(&lsm).unwrap();
    lsm.close(&mut Task::wall(0)).unwrap();
    let Err(error) = open(&storage, &tiny(&json!({"num_levels": 3}))) else { panic!("opened") };
    assert!(error.to_string().starts_with("options.num_levels"), "{error}");
}

#[test]
fn files_of_another_program_are_left_alone() {
    let storage = memory();
    let mut task = Task::wall(0);
    storage
        .create(&mut task, "notes.txt", FileOptions::DIRECT)
        .unwrap()
        .write_at(&mut task, Purpose::Manifest, 0, b"hi")
        .unwrap();
    storage.create(&mut task, "000099.sst.bak", FileOptions::DIRECT).unwrap();
    drop(open(&storage, &tiny(&json!({}))).unwrap());
    let names = storage.list().unwrap();
    assert!(names.contains(&"notes.txt".to_owned()) && names.contains(&"000099.sst.bak".to_owned()));
}

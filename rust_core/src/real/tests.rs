//! RocksDB against a map. Runs where a library is found: the one that `TUNEBENCH_ROCKSDB` names, or a distribution's.

use super::test_library::library;
use super::{RocksDb, RocksDbOptions};
use crate::engine::{Commit, Engine, WriteBatch};
use crate::error::Error;
use crate::run::workers::settle;
use crate::task::{Signal, Task};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// RocksDB in a directory; `None` without a library.
fn opened(directory: &Path, options_file: &str) -> Option<Result<RocksDb, Error>> {
    let library = library()?;
    let options = RocksDbOptions { library, options_file: options_file.into(), ..RocksDbOptions::default() };
    Some(RocksDb::open(directory, &options))
}

const SMALL: &str = "[Version]\n  rocksdb_version=7.0.0\n  options_file_version=1.1\n[DBOptions]\n\
                     [CFOptions \"default\"]\n  write_buffer_size=65536\n  target_file_size_base=65536\n\
                     [TableOptions/BlockBasedTable \"default\"]\n  filter_policy=bloomfilter:10:false\n";

fn agree(engine: &RocksDb, model: &BTreeMap<Vec<u8>, Vec<u8>>, task: &mut Task) {
    let mut value = Vec::new();
    for key in (0..=u16::MAX).step_by(977).map(u16::to_be_bytes) {
        let found = engine.get(task, &key, &mut value).unwrap();
        assert_eq!(found.then_some(&value), model.get(key.as_slice()), "{key:?}");
    }
    let mut entries = engine.iterator(task).unwrap();
    entries.seek(task, &[]).unwrap();
    for (key, value) in model {
        assert!(entries.valid());
        assert_eq!((entries.key(), entries.value()), (key.as_slice(), value.as_slice()));
        entries.next(task).unwrap();
    }
    assert!(!entries.valid());
    entries.seek_for_prev(task, &[0x80; 3]).unwrap();
    let before = model.range(..=vec![0x80; 3]).next_back();
    assert_eq!(entries.valid().then(|| entries.key()), before.map(|(key, _)| key.as_slice()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]
    #[test]
    fn it_agrees_with_a_map(batches in prop::collection::vec(
        prop::collection::vec((any::<u16>(), prop::option::of(0..300_usize)), 1..40), 1..60,
    )) {
        let directory = tempfile::tempdir().unwrap();
        let Some(engine) = opened(directory.path(), SMALL) else { return Ok(()) };
        let (engine, mut task, mut model) = (engine.unwrap(), Task::wall(0), BTreeMap::new());
        for (n, changes) in batches.iter().enumerate() {
            let mut batch = WriteBatch::default();
            for (key, bytes) in changes {
                let key = key.to_be_bytes();
                if let Some(bytes) = bytes {
                    batch.put(&key, &vec![n as u8; *bytes]);
                    model.insert(key.to_vec(), vec![n as u8; *bytes]);
                } else {
                    batch.delete(&key);
                    model.remove(key.as_slice());
                }
            }
            let commit = [Commit::Configured, Commit::Synced, Commit::Open][n % 3];
            engine.write(&mut task, &mut batch, commit).unwrap();
        }
        agree(&engine, &model, &mut task);
        engine.begin_settle(&mut task).unwrap();
        agree(&engine, &model, &mut task);
        let stats = engine.stats();
        prop_assert!(stats.user_bytes_written > 0);
    }
}

#[test]
fn level0_is_merged_where_it_is_asked_for_and_fills_again_after() {
    let directory = tempfile::tempdir().unwrap();
    let Some(engine) = opened(directory.path(), SMALL) else { return };
    let (engine, mut task) = (engine.unwrap(), Task::wall(0));
    let mut flush_twice_and_count = |is_asked: bool| {
        for n in 0..2_u8 {
            let mut batch = WriteBatch::default();
            (0..100_u8).for_each(|key| batch.put(&[key], &[n; 10]));
            engine.write(&mut task, &mut batch, Commit::Configured).unwrap();
            rest(&engine, &mut task);
        }
        engine.empty_level0(is_asked).unwrap();
        rest(&engine, &mut task);
        engine.empty_level0(false).unwrap();
        let details = engine.stats().details;
        details.into_iter().find(|(name, _)| name == "level0_files").unwrap().1
    };
    assert_eq!([false, true, false].map(&mut flush_twice_and_count), [2.0, 0.0, 2.0]);
}

fn rest(engine: &RocksDb, task: &mut Task) {
    engine.begin_settle(task).unwrap();
    settle(engine, &Signal::default(), &|| false).unwrap();
}

#[test]
fn what_it_refuses_is_said_in_its_own_words() {
    let directory = tempfile::tempdir().unwrap();
    for (wrong, says) in [("write_buffer_sise=65536", "write_buffer_sise"), ("compression=kFoo", "compression")] {
        let Some(opened) = opened(directory.path(), &SMALL.replace("write_buffer_size=65536", wrong)) else { return };
        let message = opened.err().expect("wrong options").to_string();
        assert!(message.starts_with("options.options_file: found Invalid argument"), "{message}");
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn a_library_that_is_not_rocksdb_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for (library, says) in
        [("", "found nothing"), ("/no/such/library.so", "cannot open shared object"), ("libm.so.6", "rocksdb_")]
    {
        let options = RocksDbOptions { library: library.into(), ..RocksDbOptions::default() };
        let message = RocksDb::open(directory.path(), &options).err().expect("no RocksDB").to_string();
        assert!(message.starts_with("options.library: ") && message.contains(says), "{message}");
    }
}

#[test]
fn a_poisoned_one_answers_no_more() {
    let directory = tempfile::tempdir().unwrap();
    let Some(engine) = opened(directory.path(), SMALL) else { return };
    let (engine, mut task) = (engine.unwrap(), Task::wall(0));
    engine.poison(&Error::Cancelled);
    let mut batch = WriteBatch::default();
    batch.put(b"key", b"value");
    assert!(matches!(engine.write(&mut task, &mut batch, Commit::Configured), Err(Error::Poisoned { .. })));
    assert!(matches!(engine.get(&mut task, b"key", &mut Vec::new()), Err(Error::Poisoned { .. })));
}

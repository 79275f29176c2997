//! Records whose checksums match and which say what cannot be: each is named as corruption.

use super::*;
use crate::error::Error;
use crate::lsm::log::Framer;
use crate::lsm::version::VersionEdit;
use crate::metrics::Purpose;
use crate::storage::FileOptions;
use serde_json::json;

/// Replaces a file by these records.
fn write_records(storage: &MemoryStorage, name: &str, records: &[Vec<u8>]) {
    let number = name.trim_end_matches(".log").trim_start_matches("MANIFEST-").parse().unwrap();
    let (mut framer, mut bytes, task) = (Framer::new(number), Vec::new(), &mut Task::wall(0));
    for record in records {
        framer.frame(record, None, &mut bytes);
    }
    storage.create(task, name, FileOptions::DIRECT).unwrap().write_at(task, Purpose::Wal, 0, &bytes).unwrap();
}

fn current(storage: &MemoryStorage) -> String {
    let mut name = [0; 15];
    storage
        .open(&mut Task::wall(0), "CURRENT", FileOptions::DIRECT)
        .unwrap()
        .read_at(&mut Task::wall(0), Purpose::Recovery, 0, &mut name)
        .unwrap();
    String::from_utf8(name.to_vec()).unwrap()
}

fn assert_corrupt(storage: &Arc<MemoryStorage>, file: &str) {
    match open(storage, &tiny(&json!({}))).map(drop) {
        Err(Error::Corruption { file: found, .. }) => assert_eq!(found, file),
        other => panic!("{file}: {other:?}"),
    }
}

#[test]
fn a_log_with_sequence_numbers_out_of_range_is_corruption() {
    for (sequence, puts) in [(u64::MAX, 2), (u64::MAX, 1), (1 << 56, 1), (0, 0)] {
        let storage = memory();
        open(&storage, &tiny(&json!({}))).unwrap();
        let mut batch = WriteBatch::default();
        (0..puts).for_each(|_| batch.put(b"key", b"value"));
        write_records(&storage, "000099.log", &[batch.encode(sequence).to_vec()]);
        assert_corrupt(&storage, "000099.log");
    }
}

#[test]
fn files_of_one_level_that_overlap_are_corruption() {
    let storage = memory();
    let lsm = open(&storage, &tiny(&json!({"target_file_size_base": 16384}))).unwrap();
    for n in 0..3000u32 {
        put(&lsm, format!("{:05}", n * 7 % 3000).as_bytes(), &[7; 100]).unwrap();
    }
    settle(&lsm).unwrap();
    let mut edit = lsm.db.super_version.load().version.to_edit();
    lsm.close(&mut Task::wall(0)).unwrap();
    let level = edit.added[edit.added.len() - 1].0;
    let mut files = edit.added.iter_mut().filter(|(of, _)| *of == level && level > 0).map(|(_, file)| file);
    let (first, second) = (files.next().unwrap(), files.next().unwrap());
    first.largest.clone_from(&second.largest);
    let name = format!("{:06}.sst", second.number);
    let edit = VersionEdit { log_number: Some(1000), next_file: Some(1000), last_sequence: Some(3000), ..edit };
    write_records(&storage, &current(&storage), &[edit.encode()]);
    assert_corrupt(&storage, &name);
}

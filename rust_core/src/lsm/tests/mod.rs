//! Tests of the whole engine, on storage in memory and with jobs run one after the other.

mod crash;
mod damage;
mod golden;
mod ingest;
mod like;
mod matrix;
mod model;
mod options;
mod threads;
mod whole_but_wrong;

use super::{Lsm, Options};
use crate::engine::{Commit, Engine, WriteBatch};
use crate::error::Result;
use crate::metrics::Meters;
use crate::storage::{MemoryStorage, Storage};
use crate::task::{Admission, Signal, Task};
use serde_json::Value;
use std::sync::Arc;

/// Options from JSON, on top of sizes so small that a few thousand keys make several levels.
fn tiny(settings: &Value) -> Options {
    let Value::Object(mut map) = serde_json::json!({
        "write_buffer_size": 65536, "max_bytes_for_level_base": 131_072, "target_file_size_base": 65536,
        "max_bytes_for_level_multiplier": 3.0, "level0_file_num_compaction_trigger": 2, "block_cache": 65536,
        "block_size": 512, "filter_policy": "bloomfilter:10", "num_levels": 5,
    }) else {
        unreachable!()
    };
    map.extend(settings.as_object().unwrap().clone());
    Options::from_json(&map).unwrap()
}

fn memory() -> Arc<MemoryStorage> {
    Arc::new(MemoryStorage::new(Arc::new(Meters::default())))
}

fn open(storage: &Arc<MemoryStorage>, options: &Options) -> Result<Arc<Lsm>> {
    open_on(storage.clone(), options)
}

fn open_on(storage: Arc<dyn Storage>, options: &Options) -> Result<Arc<Lsm>> {
    Lsm::open(storage, options.clone(), Arc::new(Signal::default()), &mut Task::wall(0))
}

/// Runs background jobs until there are none.
fn run_jobs(lsm: &Lsm) -> Result<()> {
    let mut task = Task::wall(1);
    while let Some(mut job) = lsm.next_job(0) {
        if let Err(error) = job.run(&mut task).and_then(|()| job.install(&mut task)) {
            lsm.poison(&error);
            return Err(error);
        }
    }
    Ok(())
}

/// Flushes and compacts until nothing is due.
fn settle(lsm: &Lsm) -> Result<()> {
    lsm.begin_settle(&mut Task::wall(0))?;
    run_jobs(lsm)?;
    assert!(lsm.is_settled());
    Ok(())
}

/// Writes a batch as a driver does: admission first, jobs while the engine says wait.
fn write(lsm: &Lsm, batch: &mut WriteBatch, commit: Commit) -> Result<()> {
    let mut task = Task::wall(0);
    while lsm.admit(&mut task, batch.encoded_bytes() as u64)? == Admission::Wait {
        run_jobs(lsm)?;
    }
    lsm.write(&mut task, batch, commit)
}

fn put(lsm: &Lsm, key: &[u8], value: &[u8]) -> Result<()> {
    let mut batch = WriteBatch::default();
    batch.put(key, value);
    write(lsm, &mut batch, Commit::Configured)
}

fn get(lsm: &Lsm, key: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut value = Vec::new();
    Ok(lsm.get(&mut Task::wall(0), key, &mut value)?.then_some(value))
}

/// All live keys and values, in order.
fn scan(lsm: &Lsm) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut task = Task::wall(0);
    let mut iterator = lsm.iterator(&mut task)?;
    let mut all = Vec::new();
    iterator.seek(&mut task, b"")?;
    while iterator.valid() {
        all.push((iterator.key().to_vec(), iterator.value().to_vec()));
        iterator.next(&mut task)?;
    }
    Ok(all)
}

/// What every test may check at its end: the bytes by purpose are the bytes that the storage saw.
fn assert_meters(storage: &MemoryStorage) {
    let total = storage.meters().snapshot().total();
    assert_eq!((total.written_bytes, total.read_bytes), (storage.written_bytes(), storage.read_bytes()));
}

//! Tests of the whole engine.

mod change_buffer;
mod concurrent;
mod crash;
mod dropped_jobs;
mod jobs;
mod large_batches;
mod lost_files;
mod matrix;
mod mixed;
mod model;
mod own_keys;
mod page_zip;
mod purge;
mod range_count;
mod redo_bytes;
mod redo_rot;
mod shape;
pub(super) mod slow_storage;
mod structure;
mod whole_but_wrong;

use crate::btree::space::Tablespace;
use crate::btree::{Btree, Options};
use crate::engine::{Commit, Engine, KeyLayout, WriteBatch};
use crate::error::Result;
use crate::scale::Scale;
use crate::storage::{FileOptions, MemoryStorage, Storage};
use crate::task::{Admission, Signal, Task};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an engine should hold.
type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Options from `name=value` words; `innodb_` is left out. `second_us` is the scale's.
fn options(text: &str) -> Options {
    let (mut map, mut scale) = (serde_json::Map::new(), Scale::FULL);
    for pair in text.split_whitespace() {
        let (name, value) = pair.split_once('=').unwrap();
        if name == "second_us" {
            scale = scale.with_second_us(value.parse().unwrap());
            continue;
        }
        let value = serde_json::from_str(value).unwrap_or_else(|_| serde_json::Value::from(value));
        let plain = ["merge_threshold", "key_block_size", "compressed_indexes"].contains(&name);
        let name = if plain { name.to_owned() } else { format!("innodb_{name}") };
        map.insert(name, value);
    }
    Options::from_json(&map).unwrap().at_scale(scale)
}

/// The smallest engine: 64 pages of 4 KiB and a log of 256 KiB, so that everything happens all the time.
const TINY: &str = "page_size=4096 buffer_pool_size=262144 redo_log_capacity=262144 io_capacity_max=4000";

/// Compressed tables, in a pool of 128 whole pages.
const ZIP: &str = "page_size=16384 key_block_size=8192 buffer_pool_size=2097152 redo_log_capacity=2097152";

/// An engine with the task that drives it.
struct Driven {
    engine: Arc<Btree>,
    task: Task,
}

impl Driven {
    fn open(storage: Arc<dyn Storage>, options: &Options, layout: KeyLayout) -> Result<Self> {
        let mut task = Task::wall(0);
        let engine = Btree::open(storage, options.clone(), layout, Arc::new(Signal::default()), &mut task)?;
        Ok(Self { engine, task })
    }

    fn fresh(text: &str) -> (Arc<MemoryStorage>, Self) {
        let storage = Arc::new(MemoryStorage::new(Arc::default()));
        let driven = Self::open(storage.clone(), &options(text), KeyLayout::Plain).unwrap();
        (storage, driven)
    }

    /// Runs all jobs that are due, as a runtime would.
    fn run_jobs(&mut self) -> Result<()> {
        while let Some(mut job) = self.engine.next_job(self.task.now_ns) {
            job.run(&mut self.task)
                .and_then(|()| job.install(&mut self.task))
                .inspect_err(|e| self.engine.poison(e))?;
        }
        Ok(())
    }

    /// Lets time pass, and the jobs that it brings.
    fn pass(&mut self, milliseconds: u64) -> Result<()> {
        self.task.now_ns += milliseconds * 1_000_000;
        self.run_jobs()
    }

    fn write(&mut self, batch: &mut WriteBatch, commit: Commit) -> Result<()> {
        while self.engine.admit(&mut self.task, batch.encoded_bytes() as u64)? == Admission::Wait {
            self.pass(100)?;
        }
        self.engine.write(&mut self.task, batch, commit)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut batch = WriteBatch::default();
        batch.put(key, value);
        self.write(&mut batch, Commit::Configured)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        let mut batch = WriteBatch::default();
        batch.delete(key);
        self.write(&mut batch, Commit::Configured)
    }

    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut value = Vec::new();
        Ok(self.engine.get(&mut self.task, key, &mut value)?.then_some(value))
    }

    /// All entries from `start` on.
    fn scan(&mut self, start: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut found = Vec::new();
        let engine = self.engine.clone();
        let mut cursor = engine.iterator(&mut self.task)?;
        cursor.seek(&mut self.task, start)?;
        while cursor.valid() {
            found.push((cursor.key().to_vec(), cursor.value().to_vec()));
            cursor.next(&mut self.task)?;
        }
        Ok(found)
    }

    /// All entries of the first so many indexes; for none, those of a plain tree.
    fn everything(&mut self, indexes: u32) -> Model {
        if indexes == 0 {
            return self.scan(b"").unwrap().into_iter().collect();
        }
        (0..indexes).flat_map(|index| self.scan(&index.to_be_bytes()).unwrap()).collect()
    }

    /// Writes everything that is dirty.
    fn settle(&mut self) {
        self.engine.begin_settle(&mut self.task).unwrap();
        self.run_jobs().unwrap();
        assert!(self.engine.is_settled());
    }

    fn detail(&self, name: &str) -> f64 {
        self.engine.stats().details[name]
    }
}

/// Bytes that do not compress, for a key that is told by its number.
fn noise(number: u64, len: usize) -> impl Iterator<Item = u8> {
    let mut state = number.wrapping_mul(2_654_435_761) | 1;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
    .take(len)
}

/// A row of which half is noise.
fn half_noise(number: u64, len: usize) -> Vec<u8> {
    noise(number, len / 2).chain(std::iter::repeat_n(b'x', len.div_ceil(2))).collect()
}

/// Part of a key, so that rows in the order of their numbers are in random order.
fn spread(n: u32) -> [u8; 4] {
    n.wrapping_mul(2_654_435_761).to_be_bytes()
}

fn file_bytes(storage: &dyn Storage, tablespace: Tablespace) -> u64 {
    storage.open(&mut Task::wall(0), tablespace.file_name(), FileOptions::DIRECT).unwrap().len()
}

/// Bytes by purpose are the bytes that the storage saw.
fn assert_meters_agree(storage: &dyn Storage) {
    let total = storage.meters().snapshot().total();
    assert_eq!((total.written_bytes, total.read_bytes), (storage.written_bytes(), storage.read_bytes()));
}

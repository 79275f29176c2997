//! An ordered map behind the `Engine` trait: what tests of workloads, tables and the driver run on.

use crate::engine::{Change, Commit, Engine, EngineIterator, EngineStats, Poison, WriteBatch};
use crate::error::{Error, Result};
use crate::task::{Admission, Job, Task};
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use xxhash_rust::xxh3::Xxh3;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// The engine.
#[derive(Default)]
pub struct ModelEngine {
    map: RwLock<Map>,
    poison: Poison,
    user_bytes: AtomicU64,
    /// Keys asked for.
    pub gets: AtomicU64,
    /// Those that were there.
    pub found: AtomicU64,
    /// Ranges whose keys were counted.
    pub counted: AtomicU64,
    /// Positions that iterators were moved to by key.
    pub seeks: AtomicU64,
    /// Puts and deletes.
    pub changes: AtomicU64,
    /// What admission answers; `None` is `Go`.
    pub admission: Mutex<Option<Admission>>,
    /// Memory that the engine claims to use.
    pub memory_bytes: AtomicU64,
    /// Writes that still succeed, counted down; `None` is without limit.
    pub writes_left: Mutex<Option<u64>>,
    /// Whether writes panic.
    pub panics: AtomicBool,
}

impl ModelEngine {
    /// All keys and values in order.
    pub fn entries(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.map.read().iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// One number for all keys and values.
    pub fn state_hash(&self) -> u64 {
        let mut hash = Xxh3::new();
        for (key, value) in &*self.map.read() {
            hash.update(&(key.len() as u64).to_le_bytes());
            hash.update(key);
            hash.update(&(value.len() as u64).to_le_bytes());
            hash.update(value);
        }
        hash.digest()
    }

    /// Bytes of all keys and values.
    pub fn live_bytes(&self) -> u64 {
        self.map.read().iter().map(|(key, value)| (key.len() + value.len()) as u64).sum()
    }
}

impl Engine for ModelEngine {
    fn get(&self, task: &mut Task, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        self.poison.check()?;
        task.blocks_asked += 1;
        self.gets.fetch_add(1, Ordering::Relaxed);
        value.clear();
        let map = self.map.read();
        let found = map.get(key);
        if let Some(found) = found {
            self.found.fetch_add(1, Ordering::Relaxed);
            value.extend_from_slice(found);
        }
        Ok(found.is_some())
    }

    fn count_in_range(&self, _task: &mut Task, from: &[u8], to: &[u8]) -> Result<Option<u64>> {
        self.poison.check()?;
        self.counted.fetch_add(1, Ordering::Relaxed);
        Ok(Some(self.map.read().range(from.to_vec()..to.to_vec()).count() as u64))
    }

    fn write(&self, _task: &mut Task, batch: &mut WriteBatch, _commit: Commit) -> Result<()> {
        self.poison.check()?;
        assert!(!self.panics.load(Ordering::Relaxed), "told to panic");
        if let Some(left) = &mut *self.writes_left.lock() {
            *left = left.checked_sub(1).ok_or_else(|| Error::corruption("model", 0, "no writes left"))?;
        }
        let mut map = self.map.write();
        for change in batch.changes() {
            match change {
                Change::Put { key, value } => drop(map.insert(key.to_vec(), value.to_vec())),
                Change::Delete { key } => drop(map.remove(key)),
            }
        }
        self.changes.fetch_add(batch.len() as u64, Ordering::Relaxed);
        self.user_bytes.fetch_add(batch.user_bytes(), Ordering::Relaxed);
        Ok(())
    }

    fn iterator<'a>(&'a self, _task: &mut Task) -> Result<Box<dyn EngineIterator + 'a>> {
        self.poison.check()?;
        Ok(Box::new(ModelIterator { map: &self.map, seeks: &self.seeks, current: None }))
    }

    fn admit(&self, task: &mut Task, _bytes: u64) -> Result<Admission> {
        self.poison.check()?;
        let admission = self.admission.lock().unwrap_or(Admission::Go);
        let is_delay = matches!(admission, Admission::Delay { .. });
        // A delay is told once for each write.
        if is_delay && task.delayed_until_us().take().is_some() {
            return Ok(Admission::Go);
        }
        *task.delayed_until_us() = is_delay.then_some(u64::MAX);
        Ok(admission)
    }

    fn next_job(&self, _now_ns: u64) -> Option<Box<dyn Job>> {
        None
    }

    fn next_timer(&self, _now_ns: u64) -> Option<u64> {
        None
    }

    fn background_threads(&self) -> usize {
        1
    }

    fn begin_settle(&self, _task: &mut Task) -> Result<()> {
        Ok(())
    }

    fn is_settled(&self) -> bool {
        true
    }

    fn close(&self, _task: &mut Task) -> Result<()> {
        Ok(())
    }

    fn poison(&self, error: &Error) {
        self.poison.set(error);
    }

    fn check(&self) -> Result<()> {
        self.poison.check()
    }

    fn stats(&self) -> EngineStats {
        EngineStats {
            user_bytes_written: self.user_bytes.load(Ordering::Relaxed),
            memory_bytes: self.memory_bytes.load(Ordering::Relaxed),
            details: BTreeMap::from([("entries".to_owned(), self.map.read().len() as f64)]),
            ..EngineStats::default()
        }
    }
}

struct ModelIterator<'a> {
    map: &'a RwLock<Map>,
    seeks: &'a AtomicU64,
    current: Option<(Vec<u8>, Vec<u8>)>,
}

impl ModelIterator<'_> {
    fn first_from(&mut self, bound: Bound<&[u8]>) {
        let map = self.map.read();
        let next = map.range::<[u8], _>((bound, Bound::Unbounded)).next();
        self.current = next.map(|(key, value)| (key.clone(), value.clone()));
    }

    fn last_to(&mut self, bound: Bound<&[u8]>) {
        let map = self.map.read();
        let last = map.range::<[u8], _>((Bound::Unbounded, bound)).next_back();
        self.current = last.map(|(key, value)| (key.clone(), value.clone()));
    }

    fn take_key(&mut self) -> Vec<u8> {
        self.current.take().expect("the iterator is valid").0
    }
}

impl EngineIterator for ModelIterator<'_> {
    fn seek(&mut self, task: &mut Task, key: &[u8]) -> Result<()> {
        task.blocks_asked += 1;
        self.seeks.fetch_add(1, Ordering::Relaxed);
        self.first_from(Bound::Included(key));
        Ok(())
    }

    fn seek_for_prev(&mut self, task: &mut Task, key: &[u8]) -> Result<()> {
        task.blocks_asked += 1;
        self.seeks.fetch_add(1, Ordering::Relaxed);
        self.last_to(Bound::Included(key));
        Ok(())
    }

    fn next(&mut self, _task: &mut Task) -> Result<()> {
        let key = self.take_key();
        self.first_from(Bound::Excluded(&key));
        Ok(())
    }

    fn prev(&mut self, _task: &mut Task) -> Result<()> {
        let key = self.take_key();
        self.last_to(Bound::Excluded(&key));
        Ok(())
    }

    fn valid(&self) -> bool {
        self.current.is_some()
    }

    fn key(&self) -> &[u8] {
        &self.current.as_ref().expect("the iterator is valid").0
    }

    fn value(&self) -> &[u8] {
        &self.current.as_ref().expect("the iterator is valid").1
    }
}

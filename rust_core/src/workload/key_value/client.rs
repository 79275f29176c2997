//! Loaders, which write batches of keys, and clients, which draw from the mix.

use super::{INSERT, OVERWRITE, READ, READ_ABSENT, SCAN, Shared, Weights};
use crate::engine::{Commit, Engine, WriteBatch};
use crate::error::Result;
use crate::random::{Random, Stream};
use crate::task::Task;
use crate::transaction;
use crate::workload::scan::scan;
use crate::workload::values::push_bytes;
use crate::workload::{Client, Plan};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Shared {
    fn draw_value(&self, random: &mut Random, value: &mut Vec<u8>) {
        value.clear();
        let bytes = self.value_sizes.draw(random) as usize;
        push_bytes(random, bytes, self.parameters.compressible_share, value);
    }
}

/// Writes batches of keys, all of them and then some again; each batch has random numbers of its own.
pub struct Loader {
    shared: Arc<Shared>,
    batch: WriteBatch,
    written: Vec<Written>,
}

/// One key of a batch.
struct Written {
    number: u64,
    value_bytes: u64,
    /// Whether the load has written the key before.
    exists: bool,
}

impl Loader {
    /// One of the loaders.
    pub fn new(shared: Arc<Shared>) -> Self {
        Self { shared, batch: WriteBatch::default(), written: Vec::new() }
    }
}

impl Client for Loader {
    fn plan(&mut self, _now_ns: u64) -> Option<Plan> {
        let Self { shared, batch, written } = self;
        let rows = shared.load_rows.take(shared.parameters.load_batch_rows);
        let (keys, kind) =
            (shared.parameters.keys, if rows.start < shared.parameters.keys { INSERT } else { OVERWRITE });
        let mut random = Random::derive(shared.seed, Stream::LoadChunk(rows.start));
        let (mut key, mut value) = (Vec::new(), Vec::new());
        for row in rows {
            let exists = row >= keys;
            let number = match &shared.load_order {
                _ if exists => shared.choose(&mut random),
                Some(order) => order.at(row),
                None => row,
            };
            shared.key(number, &mut key);
            shared.draw_value(&mut random, &mut value);
            batch.put(&key, &value);
            written.push(Written { number, value_bytes: value.len() as u64, exists });
        }
        let operations = written.len() as u64;
        (operations > 0).then(|| Plan { operations, ..Plan::write(kind, batch.user_bytes()) })
    }

    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        transaction::write(engine, task, &mut self.batch, Commit::Configured)?;
        self.batch.clear();
        let live_bytes = &self.shared.live_bytes;
        for Written { number, value_bytes, exists } in self.written.drain(..) {
            if exists {
                live_bytes.overwrite(number, value_bytes);
            } else {
                live_bytes.insert(number, value_bytes);
            }
        }
        Ok(())
    }
}

/// One client of the mix, or one of its writers.
pub struct Requester {
    shared: Arc<Shared>,
    random: Random,
    weights: Weights,
    /// The planned operation, and the number that it is about; inserts get theirs when they execute.
    kind: usize,
    number: u64,
    key: Vec<u8>,
    /// What a write brings, or what was read last.
    value: Vec<u8>,
    batch: WriteBatch,
}

impl Requester {
    /// The client `index`.
    pub fn new(shared: Arc<Shared>, index: u32) -> Self {
        Self {
            random: Random::derive(shared.seed, Stream::Client(index)),
            weights: shared.parameters.weights_of(index),
            kind: READ,
            number: 0,
            key: Vec::new(),
            value: Vec::new(),
            batch: WriteBatch::default(),
            shared,
        }
    }

    fn draw_kind(&mut self) -> usize {
        let mut left = self.random.below(self.weights.iter().sum());
        let mut kind = READ;
        while left >= self.weights[kind] {
            left -= self.weights[kind];
            kind += 1;
        }
        let is_absent = kind == READ && self.random.chance(self.shared.parameters.absent_share);
        if is_absent { READ_ABSENT } else { kind }
    }

    /// Writes the drawn value, whatever is there.
    fn put(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        self.shared.key(self.number, &mut self.key);
        self.batch.put(&self.key, &self.value);
        transaction::write(engine, task, &mut self.batch, self.shared.parameters.commit())?;
        self.batch.clear();
        Ok(())
    }

    fn insert(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        self.number = self.shared.next_number.fetch_add(1, Ordering::Relaxed);
        self.put(engine, task)?;
        self.shared.live_bytes.insert(self.number, self.value.len() as u64);
        self.shared.existing.fetch_max(self.number + 1, Ordering::Relaxed);
        Ok(())
    }

    fn overwrite(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        self.put(engine, task)?;
        self.shared.live_bytes.overwrite(self.number, self.value.len() as u64);
        Ok(())
    }

    fn scan(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        self.shared.key(self.number, &mut self.key);
        scan(engine, task, &self.key, self.shared.parameters.seek_nexts, &mut self.value)
    }
}

impl Client for Requester {
    fn plan(&mut self, _now_ns: u64) -> Option<Plan> {
        self.kind = self.draw_kind();
        if self.kind != INSERT {
            self.number = self.shared.choose(&mut self.random);
        }
        let mut write_bytes = 0;
        if matches!(self.kind, OVERWRITE | INSERT) {
            self.shared.draw_value(&mut self.random, &mut self.value);
            write_bytes = self.shared.parameters.key_bytes + self.value.len() as u64;
        }
        Some(Plan::write(self.kind, write_bytes))
    }

    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        match self.kind {
            OVERWRITE => self.overwrite(engine, task),
            INSERT => self.insert(engine, task),
            SCAN => self.scan(engine, task),
            READ_ABSENT => {
                self.shared.absent_key(self.number, &mut self.key);
                engine.get(task, &self.key, &mut self.value).map(drop)
            }
            _ => {
                self.shared.key(self.number, &mut self.key);
                engine.get(task, &self.key, &mut self.value).map(drop)
            }
        }
    }

    #[cfg(test)]
    fn next_random(&self) -> Option<u64> {
        Some(self.random.clone().bits())
    }
}

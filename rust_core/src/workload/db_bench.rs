//! RocksDB's db_bench: loops over numbered keys, without transactions or indexes.

use super::counter::Counter;
use super::load_rows::LoadRows;
use super::permute::RandomOrder;
use super::scan::scan;
use super::values::Compressible;
use super::{Client, Plan, Rate, RateUnit, Workload, with_kind};
use crate::engine::{Commit, Engine, KeyLayout, WriteBatch};
use crate::engine_options;
use crate::error::{Error, Result};
use crate::options::Accepts;
use crate::random::{Random, Stream};
use crate::task::Task;
use crate::transaction;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Its name in a spec.
pub const KIND: &str = "db_bench";

engine_options! {
    /// What a spec may say about db_bench.
    Parameters {
        benchmark: String = "readrandom",
            Accepts::Words(&["fillseq", "fillrandom", "overwrite", "readrandom", "readwhilewriting", "seekrandom"]),
            "The loop. The fills start empty, fillseq ends at its last key; the others start on all keys.";
        keys: u64 = 1_000_000u64, Accepts::Range(1.0, 1e10),
            "Keys (num).";
        key_bytes: u64 = 16u64, Accepts::Range(8.0, 1024.0),
            "Key size: 8 bytes of big-endian number, then zeros (key_size).";
        value_bytes: u64 = 100u64, Accepts::Range(0.0, 1e7),
            "Value size (value_size).";
        compression_ratio: f64 = 0.5, Accepts::Range(0.01, 1.0),
            "What values compress to, as a share of their size (compression_ratio).";
        batch: u64 = 1u64, Accepts::Range(1.0, 100_000.0),
            "Keys that the fills and overwrite write at once (batch_size).";
        sync: bool = false, Accepts::Switch,
            "Whether each write survives a power failure when it returns (sync).";
        seek_nexts: u64 = 10u64, Accepts::Range(0.0, 1e6),
            "Entries that seekrandom reads behind each seek (seek_nexts).";
        write_rate: u64 = 0u64, Accepts::Range(0.0, 1e12),
            "Bytes per second that the writer of readwhilewriting may write; 0 for no limit \
             (benchmark_write_rate_limit).";
        load_order: String = "random", Accepts::Words(&["random", "sequential"]),
            "In which order keys are loaded before a benchmark that needs them.";
        load_batch_rows: u64 = 100u64, Accepts::Range(1.0, 100_000.0),
            "Keys that a loader writes at once.";
    }
}

const OPERATIONS: [&str; 3] = ["put", "get", "seek"];
const PUT: usize = 0;
const GET: usize = 1;
const SEEK: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    FillSequential,
    WriteRandom,
    Read,
    Seek,
}

/// What all clients share.
#[derive(Clone)]
struct Shared {
    parameters: Parameters,
    clients: u32,
    seed: u64,
    values: Compressible,
    load_order: Option<RandomOrder>,
    load_rows: LoadRows,
    /// One bit for each key that exists; empty when all do, after a load.
    present: Vec<Counter<AtomicU64>>,
    present_keys: Counter<AtomicU64>,
}

impl Shared {
    fn key(&self, number: u64, key: &mut Vec<u8>) {
        key.clear();
        key.extend_from_slice(&number.to_be_bytes());
        key.resize(self.parameters.key_bytes as usize, b'0');
    }

    fn entry_bytes(&self) -> u64 {
        self.parameters.key_bytes + self.parameters.value_bytes
    }

    fn note_written(&self, number: u64) {
        let Some(word) = self.present.get((number / 64) as usize) else { return };
        let bit = 1 << (number % 64);
        if word.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
            self.present_keys.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn role(&self, index: u32) -> Role {
        match self.parameters.benchmark.as_str() {
            "fillseq" => Role::FillSequential,
            "fillrandom" | "overwrite" => Role::WriteRandom,
            "seekrandom" => Role::Seek,
            "readwhilewriting" if index == 0 => Role::WriteRandom,
            _ => Role::Read,
        }
    }
}

/// Whether a benchmark starts on an empty database.
fn starts_empty(parameters: &Parameters) -> bool {
    parameters.benchmark.starts_with("fill")
}

/// The workload.
pub struct DbBench {
    shared: Arc<Shared>,
}

/// From the parameters of a spec.
pub fn build(parameters: Parameters, clients: u32, seed: u64) -> Result<Arc<dyn Workload>> {
    if parameters.benchmark == "readwhilewriting" && clients < 2 {
        return Err(Error::invalid("clients", clients, "2 or more: readwhilewriting needs one writer and a reader"));
    }
    Ok(Arc::new(DbBench::new(parameters, clients, seed)))
}

impl DbBench {
    /// A database that is not filled yet.
    pub fn new(parameters: Parameters, clients: u32, seed: u64) -> Self {
        let mut random = Random::derive(seed, Stream::Shared(0));
        let keys = parameters.keys;
        let tracked = if starts_empty(&parameters) { keys.div_ceil(64) } else { 0 };
        let shared = Shared {
            clients,
            seed,
            values: Compressible::new(&mut random, parameters.compression_ratio, parameters.value_bytes as usize),
            load_order: (parameters.load_order == "random").then(|| RandomOrder::new(&mut random, keys)),
            load_rows: LoadRows::new(0..if starts_empty(&parameters) { 0 } else { keys }),
            present: (0..tracked).map(|_| Counter::at(0)).collect(),
            present_keys: Counter::at(0),
            parameters,
        };
        Self { shared: Arc::new(shared) }
    }
}

impl Workload for DbBench {
    fn layout(&self) -> KeyLayout {
        KeyLayout::Plain
    }

    fn operations(&self) -> &'static [&'static str] {
        &OPERATIONS
    }

    fn parameters(&self) -> Map<String, Value> {
        with_kind(KIND, self.shared.parameters.to_json())
    }

    fn loader(&self, _index: u32) -> Box<dyn Client> {
        Box::new(Loader { writer: Writer::new(self.shared.clone()) })
    }

    fn client(&self, index: u32) -> Box<dyn Client> {
        let (shared, role) = (&self.shared, self.shared.role(index));
        let (keys, clients) = (shared.parameters.keys, u64::from(shared.clients));
        let share = |n: u64| (u128::from(keys) * u128::from(n) / u128::from(clients)) as u64;
        Box::new(Looper {
            role,
            random: Random::derive(shared.seed, Stream::Client(index)),
            sequence: share(index.into())..share(u64::from(index) + 1),
            writer: Writer::new(shared.clone()),
            number: 0,
            key: Vec::new(),
            value: Vec::new(),
        })
    }

    fn rate(&self, index: u32) -> Rate {
        let Parameters { benchmark, write_rate, .. } = &self.shared.parameters;
        match (benchmark.as_str(), index, *write_rate) {
            ("readwhilewriting", 0, rate @ 1..) => Rate::Throttled(rate, RateUnit::Bytes),
            _ => Rate::Requests,
        }
    }

    fn writes(&self) -> bool {
        (0..self.shared.clients).any(|index| !matches!(self.shared.role(index), Role::Read | Role::Seek))
    }

    fn fork(&self, seed: u64) -> Arc<dyn Workload> {
        Arc::new(Self { shared: Arc::new(Shared { seed, ..(*self.shared).clone() }) })
    }

    fn live_bytes(&self) -> u64 {
        self.shared.present_keys.load(Ordering::Relaxed) * self.shared.entry_bytes()
    }
}

/// Batches of puts, with values from the shared buffer.
struct Writer {
    shared: Arc<Shared>,
    batch: WriteBatch,
    numbers: Vec<u64>,
    position: usize,
    key: Vec<u8>,
}

impl Writer {
    fn new(shared: Arc<Shared>) -> Self {
        Self { shared, batch: WriteBatch::default(), numbers: Vec::new(), position: 0, key: Vec::new() }
    }

    /// Prepares puts of these keys.
    fn prepare(&mut self, numbers: impl Iterator<Item = u64>) -> Option<Plan> {
        self.numbers.clear();
        self.numbers.extend(numbers);
        let operations = self.numbers.len() as u64;
        let bytes = operations * self.shared.entry_bytes();
        (operations > 0).then(|| Plan { operations, ..Plan::write(PUT, bytes) })
    }

    fn write(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        let Self { shared, batch, numbers, position, key } = self;
        for &number in &*numbers {
            shared.key(number, key);
            batch.put(key, shared.values.value(position, shared.parameters.value_bytes as usize));
        }
        let commit = if shared.parameters.sync { Commit::Synced } else { Commit::Configured };
        transaction::write(engine, task, batch, commit)?;
        batch.clear();
        for &number in &*numbers {
            shared.note_written(number);
        }
        Ok(())
    }
}

/// Writes every key once.
struct Loader {
    writer: Writer,
}

impl Client for Loader {
    fn plan(&mut self, _now_ns: u64) -> Option<Plan> {
        let shared = self.writer.shared.clone();
        let rows = shared.load_rows.take(shared.parameters.load_batch_rows);
        self.writer.prepare(rows.map(|row| shared.load_order.as_ref().map_or(row, |order| order.at(row))))
    }

    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        self.writer.write(engine, task)?;
        self.writer.shared.present_keys.fetch_add(self.writer.numbers.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// One thread of a benchmark.
struct Looper {
    role: Role,
    random: Random,
    /// Keys that fillseq still has to write.
    sequence: std::ops::Range<u64>,
    writer: Writer,
    /// The key that the next read starts at.
    number: u64,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Looper {
    fn plan_random_write(&mut self) -> Option<Plan> {
        let shared = self.writer.shared.clone();
        let (keys, random) = (shared.parameters.keys, &mut self.random);
        self.writer.prepare((0..shared.parameters.batch).map(|_| random.below(keys)))
    }
}

impl Client for Looper {
    fn plan(&mut self, _now_ns: u64) -> Option<Plan> {
        let keys = self.writer.shared.parameters.keys;
        match self.role {
            Role::FillSequential => {
                let batch = self.writer.shared.parameters.batch as usize;
                self.writer.prepare(self.sequence.by_ref().take(batch))
            }
            Role::WriteRandom => self.plan_random_write(),
            Role::Read => {
                self.number = self.random.below(keys);
                Some(Plan::read(GET))
            }
            Role::Seek => {
                self.number = self.random.below(keys);
                Some(Plan::read(SEEK))
            }
        }
    }

    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        self.writer.shared.key(self.number, &mut self.key);
        match self.role {
            Role::FillSequential | Role::WriteRandom => self.writer.write(engine, task),
            Role::Read => engine.get(task, &self.key, &mut self.value).map(drop),
            Role::Seek => scan(engine, task, &self.key, self.writer.shared.parameters.seek_nexts, &mut self.value),
        }
    }

    #[cfg(test)]
    fn next_random(&self) -> Option<u64> {
        Some(self.random.clone().bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::model_engine::ModelEngine;

    fn bench(benchmark: &str, clients: u32, change: impl FnOnce(&mut Parameters)) -> DbBench {
        let mut parameters = Parameters { benchmark: benchmark.into(), keys: 1000, ..Parameters::default() };
        change(&mut parameters);
        DbBench::new(parameters, clients, 1)
    }

    fn drive(mut client: Box<dyn Client>, engine: &ModelEngine, most: u64) -> Vec<Plan> {
        let mut task = Task::wall(0);
        let mut plans = Vec::new();
        while (plans.len() as u64) < most {
            let Some(plan) = client.plan(0) else { break };
            client.execute(engine, &mut task).unwrap();
            plans.push(plan);
        }
        plans
    }

    #[test]
    fn keys_are_big_endian_numbers_padded_with_zeros() {
        let (bench, mut key) = (bench("readrandom", 1, |_| ()), Vec::new());
        bench.shared.key(0x0102, &mut key);
        assert_eq!(key, b"\0\0\0\0\0\0\x01\x0200000000");
    }

    #[test]
    fn fillseq_writes_each_key_once_in_order_whatever_the_clients() {
        for clients in [1, 3] {
            let (bench, engine) = (bench("fillseq", clients, |p| p.batch = 7), ModelEngine::default());
            let written: u64 = (0..clients)
                .flat_map(|index| drive(bench.client(index), &engine, u64::MAX))
                .map(|plan| plan.operations)
                .sum();
            assert_eq!((written, engine.entries().len()), (1000, 1000));
            assert_eq!(bench.live_bytes(), engine.live_bytes());
        }
    }

    #[test]
    fn fillrandom_leaves_63_percent_of_its_keys() {
        let (bench, engine) = (bench("fillrandom", 1, |p| p.keys = 100_000), ModelEngine::default());
        assert!(drive(bench.loader(0), &engine, 1).is_empty());
        drive(bench.client(0), &engine, 100_000);
        let share = engine.entries().len() as f64 / 1e5;
        assert!((share - 0.632).abs() < 0.005, "{share}");
        assert_eq!(bench.live_bytes(), engine.live_bytes());
    }

    #[test]
    fn a_load_writes_each_key_once_in_any_order() {
        for order in ["random", "sequential"] {
            let (bench, engine) = (bench("readrandom", 1, |p| p.load_order = order.into()), ModelEngine::default());
            let rows: u64 = drive(bench.loader(0), &engine, u64::MAX).iter().map(|plan| plan.operations).sum();
            assert_eq!((rows, engine.entries().len()), (1000, 1000), "{order}");
            assert_eq!(bench.live_bytes(), engine.live_bytes());
        }
    }

    #[test]
    fn the_first_client_writes_while_the_others_read() {
        let (bench, engine) = (bench("readwhilewriting", 2, |_| ()), ModelEngine::default());
        assert!(drive(bench.client(0), &engine, 100).iter().all(|plan| plan.kind == PUT));
        assert!(drive(bench.client(1), &engine, 100).iter().all(|plan| plan.kind == GET && plan.write_bytes == 0));
    }

    #[test]
    fn seeks_start_on_existing_keys() {
        let (bench, engine) = (bench("seekrandom", 1, |_| ()), ModelEngine::default());
        drive(bench.loader(0), &engine, u64::MAX);
        assert!(drive(bench.client(0), &engine, 100).iter().all(|plan| plan.kind == SEEK));
    }
}

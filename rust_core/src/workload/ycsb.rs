//! The core workloads of YCSB (Cooper et al., SoCC 2010) on one key-value table: a record is one value of all its
//! fields, and an update of one field rewrites the record.

use super::counter::Counter;
use super::load_rows::LoadRows;
use super::permute::fnv_hash;
use super::values::push_ycsb_field;
use super::zipf::Zipf;
use super::{Client, Plan, Workload, with_kind};
use crate::engine::{Commit, Engine, KeyLayout, WriteBatch};
use crate::engine_options;
use crate::error::Result;
use crate::options::Accepts;
use crate::random::{Random, Stream};
use crate::table::RowLocks;
use crate::task::Task;
use crate::transaction;
use serde_json::{Map, Value};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Its name in a spec.
pub const KIND: &str = "ycsb";

engine_options! {
    /// What a spec may say about YCSB.
    Parameters {
        mix: String = "A", Accepts::Words(&["A", "B", "C", "D", "E", "F"]),
            "The core workload: A updates half, B 5%, C reads only, D reads the latest, E scans, F reads and \
             modifies half.";
        records: u64 = 100_000u64, Accepts::Range(1.0, 1e9),
            "Records that are loaded (recordcount).";
        fields: u64 = 10u64, Accepts::Range(1.0, 1000.0),
            "Fields of a record (fieldcount).";
        field_bytes: u64 = 100u64, Accepts::Range(1.0, 100_000.0),
            "Bytes of a field (fieldlength).";
        zipf_shape: f64 = 0.99, Accepts::Range(0.01, 0.9999),
            "Skew of the requests (zipfian constant).";
        scan_most: u64 = 100u64, Accepts::Range(1.0, 100_000.0),
            "Most records of a scan; lengths are uniform from 1 (maxscanlength).";
        load_batch_rows: u64 = 100u64, Accepts::Range(1.0, 100_000.0),
            "Records that a loader writes at once.";
    }
}

const OPERATIONS: [&str; 5] = ["read", "update", "insert", "scan", "read_modify_write"];
const READ: usize = 0;
const UPDATE: usize = 1;
const INSERT: usize = 2;
const SCAN: usize = 3;
const READ_MODIFY_WRITE: usize = 4;

/// Bytes of `user` and a hash of 19 digits.
const KEY_BYTES: u64 = 23;

/// Shares of the operations, in the order of [`OPERATIONS`].
fn shares(mix: &str) -> [f64; 5] {
    match mix {
        "A" => [0.5, 0.5, 0.0, 0.0, 0.0],
        "B" => [0.95, 0.05, 0.0, 0.0, 0.0],
        "C" => [1.0, 0.0, 0.0, 0.0, 0.0],
        "D" => [0.95, 0.0, 0.05, 0.0, 0.0],
        "E" => [0.0, 0.0, 0.05, 0.95, 0.0],
        _ => [0.5, 0.0, 0.0, 0.0, 0.5],
    }
}

/// What all clients share.
#[derive(Clone)]
struct Shared {
    parameters: Parameters,
    seed: u64,
    zipf: Zipf,
    locks: RowLocks,
    load_rows: LoadRows,
    /// Numbers given to inserts, and the end of those that were inserted.
    next_number: Counter<AtomicU64>,
    inserted: Counter<AtomicU64>,
    live_bytes: Counter<AtomicU64>,
}

impl Shared {
    fn record_bytes(&self) -> u64 {
        self.parameters.fields * self.parameters.field_bytes
    }

    fn push_record(&self, random: &mut Random, value: &mut Vec<u8>) {
        value.clear();
        (0..self.parameters.fields).for_each(|_| push_ycsb_field(random, self.parameters.field_bytes as usize, value));
    }

    /// How many records are asked for more often than the one that a request is about.
    fn draw_rank(&self, random: &mut Random) -> u64 {
        self.parameters.scale.standing_in(self.zipf.draw(random))
    }

    /// The record that a request is about. D goes by distance from the newest record; the others scatter the ranks of
    /// the loaded records by a hash.
    fn choose(&self, random: &mut Random) -> u64 {
        let rank = self.draw_rank(random);
        if self.parameters.mix == "D" {
            return self.inserted.load(Ordering::Relaxed).saturating_sub(rank + 1);
        }
        fnv_hash(rank) % self.parameters.records
    }
}

/// Keys come in the order of a hash, as YCSB inserts them by default.
fn push_key(number: u64, key: &mut Vec<u8>) {
    key.clear();
    write!(key, "user{}", fnv_hash(number)).expect("a vector takes any bytes");
}

/// The workload.
pub struct Ycsb {
    shared: Arc<Shared>,
}

/// From the parameters of a spec.
pub fn build(parameters: Parameters, _clients: u32, seed: u64) -> Result<Arc<dyn Workload>> {
    Ok(Arc::new(Ycsb::new(parameters, seed)))
}

impl Ycsb {
    /// A table that is not loaded yet.
    pub fn new(parameters: Parameters, seed: u64) -> Self {
        let (records, scale) = (parameters.records, parameters.scale);
        let shared = Shared {
            // At a shape near 1 the share of the hottest hundredth grows with the number of records: a trial draws from
            // as many as there are at full size.
            zipf: Zipf::new(scale.full_count(records), parameters.zipf_shape),
            parameters,
            seed,
            locks: RowLocks::at_scale(scale),
            load_rows: LoadRows::new(0..records),
            next_number: Counter::at(records),
            inserted: Counter::at(records),
            live_bytes: Counter::at(0),
        };
        Self { shared: Arc::new(shared) }
    }
}

impl Workload for Ycsb {
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
        Box::new(Loader { shared: self.shared.clone(), batch: WriteBatch::default() })
    }

    fn client(&self, index: u32) -> Box<dyn Client> {
        Box::new(Requester {
            shares: shares(&self.shared.parameters.mix),
            random: Random::derive(self.shared.seed, Stream::Client(index)),
            shared: self.shared.clone(),
            next: Operation::Read { number: 0 },
            batch: WriteBatch::default(),
            key: Vec::new(),
            value: Vec::new(),
            record: Vec::new(),
        })
    }

    fn writes(&self) -> bool {
        let [_, updates, inserts, _, read_modify_writes] = shares(&self.shared.parameters.mix);
        updates + inserts + read_modify_writes > 0.0
    }

    fn fork(&self, seed: u64) -> Arc<dyn Workload> {
        Arc::new(Self { shared: Arc::new(Shared { seed, ..(*self.shared).clone() }) })
    }

    fn live_bytes(&self) -> u64 {
        self.shared.live_bytes.load(Ordering::Relaxed)
    }
}

/// Writes batches of records; each batch has random numbers of its own.
struct Loader {
    shared: Arc<Shared>,
    batch: WriteBatch,
}

impl Client for Loader {
    fn plan(&mut self, _now_ns: u64) -> Option<Plan> {
        let rows = self.shared.load_rows.take(self.shared.parameters.load_batch_rows);
        let mut random = Random::derive(self.shared.seed, Stream::LoadChunk(rows.start));
        let (mut key, mut value) = (Vec::new(), Vec::new());
        for number in rows {
            push_key(number, &mut key);
            self.shared.push_record(&mut random, &mut value);
            self.batch.put(&key, &value);
        }
        let operations = self.batch.len() as u64;
        (operations > 0).then(|| Plan { operations, ..Plan::write(INSERT, self.batch.user_bytes()) })
    }

    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        transaction::write(engine, task, &mut self.batch, Commit::Configured)?;
        self.shared.live_bytes.fetch_add(self.batch.user_bytes(), Ordering::Relaxed);
        self.batch.clear();
        Ok(())
    }
}

/// An operation with all its random choices; new bytes wait in the client's value.
enum Operation {
    Read { number: u64 },
    Update { number: u64, field: u64, reads_first: bool },
    Insert { number: u64 },
    Scan { number: u64, records: u64 },
}

/// One client.
struct Requester {
    shared: Arc<Shared>,
    random: Random,
    shares: [f64; 5],
    next: Operation,
    batch: WriteBatch,
    key: Vec<u8>,
    /// New bytes of the planned operation.
    value: Vec<u8>,
    /// The record read last.
    record: Vec<u8>,
}

impl Requester {
    fn read(&mut self, engine: &dyn Engine, task: &mut Task, number: u64) -> Result<()> {
        push_key(number, &mut self.key);
        engine.get(task, &self.key, &mut self.record).map(drop)
    }

    /// Replaces one field of a record, if the record is there.
    fn update(&mut self, engine: &dyn Engine, task: &mut Task, number: u64, field: u64) -> Result<()> {
        push_key(number, &mut self.key);
        let start = (field * self.shared.parameters.field_bytes) as usize;
        let Self { shared, batch, key, value, record, .. } = self;
        shared.locks.with(task, &[key], |task| {
            if !engine.get(task, key, record)? {
                return Ok(());
            }
            record[start..start + value.len()].copy_from_slice(value);
            batch.put(key, record);
            engine.write(task, batch, Commit::Configured)
        })?;
        self.batch.clear();
        Ok(())
    }

    fn insert(&mut self, engine: &dyn Engine, task: &mut Task, number: u64) -> Result<()> {
        push_key(number, &mut self.key);
        self.batch.put(&self.key, &self.value);
        engine.write(task, &mut self.batch, Commit::Configured)?;
        self.shared.live_bytes.fetch_add(self.batch.user_bytes(), Ordering::Relaxed);
        self.shared.inserted.fetch_max(number + 1, Ordering::Relaxed);
        self.batch.clear();
        Ok(())
    }

    fn scan(&mut self, engine: &dyn Engine, task: &mut Task, number: u64, records: u64) -> Result<()> {
        push_key(number, &mut self.key);
        let mut entries = engine.iterator(task)?;
        entries.seek(task, &self.key)?;
        for read in 1..=records {
            if !entries.valid() {
                break;
            }
            self.record.clear();
            self.record.extend_from_slice(entries.value());
            if read < records {
                entries.next(task)?;
            }
        }
        Ok(())
    }
}

impl Client for Requester {
    fn plan(&mut self, _now_ns: u64) -> Option<Plan> {
        let Self { shared, random, value, .. } = self;
        let (mut kind, mut share) = (0, random.unit());
        while kind < SCAN + 1 && share >= self.shares[kind] {
            share -= self.shares[kind];
            kind += 1;
        }
        let update = |random: &mut Random, value: &mut Vec<u8>, reads_first| {
            value.clear();
            push_ycsb_field(random, shared.parameters.field_bytes as usize, value);
            let number = shared.choose(random);
            Operation::Update { number, field: random.below(shared.parameters.fields), reads_first }
        };
        let record_bytes = KEY_BYTES + shared.record_bytes();
        let (operation, write_bytes) = match kind {
            READ => (Operation::Read { number: shared.choose(random) }, 0),
            UPDATE => (update(random, value, false), record_bytes),
            READ_MODIFY_WRITE => (update(random, value, true), record_bytes),
            INSERT => {
                shared.push_record(random, value);
                (Operation::Insert { number: shared.next_number.fetch_add(1, Ordering::Relaxed) }, record_bytes)
            }
            _ => {
                let records = 1 + random.below(shared.parameters.scan_most);
                (Operation::Scan { number: shared.choose(random), records }, 0)
            }
        };
        self.next = operation;
        Some(Plan::write(kind, write_bytes))
    }

    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        match self.next {
            Operation::Read { number } => self.read(engine, task, number),
            Operation::Update { number, field, reads_first } => {
                if reads_first {
                    self.read(engine, task, number)?;
                }
                self.update(engine, task, number, field)
            }
            Operation::Insert { number } => self.insert(engine, task, number),
            Operation::Scan { number, records } => self.scan(engine, task, number, records),
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
    use crate::scale::Scale;
    use crate::workload::model_engine::ModelEngine;

    fn loaded(mix: &str, records: u64) -> (Ycsb, ModelEngine) {
        let workload = Ycsb::new(Parameters { mix: mix.into(), records, ..Parameters::default() }, 1);
        let engine = ModelEngine::default();
        drive(&mut *workload.loader(0), &engine, u64::MAX);
        (workload, engine)
    }

    fn drive(client: &mut dyn Client, engine: &ModelEngine, most: u64) -> Vec<Plan> {
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
    fn each_mix_has_its_published_shares_and_counts_its_bytes() {
        for mix in ["A", "B", "C", "D", "E", "F"] {
            let (workload, engine) = loaded(mix, 500);
            let mut counts = [0_u32; 5];
            for plan in drive(&mut *workload.client(0), &engine, 20_000) {
                counts[plan.kind] += 1;
            }
            for (count, share) in counts.into_iter().zip(shares(mix)) {
                let found = f64::from(count) / 2e4;
                assert!((found - share).abs() < 0.015, "{mix}: {counts:?}");
            }
            assert_eq!(workload.live_bytes(), engine.live_bytes(), "{mix}");
        }
    }

    #[test]
    fn mixes_keep_within_half_a_percent_over_200_000_requests() {
        for mix in ["A", "B", "D", "E", "F"] {
            let workload = Ycsb::new(Parameters { mix: mix.into(), records: 100, ..Parameters::default() }, 1);
            let mut client = workload.client(0);
            let mut counts = [0_u32; 5];
            (0..200_000).for_each(|_| counts[client.plan(0).unwrap().kind] += 1);
            for (count, share) in counts.into_iter().zip(shares(mix)) {
                assert!((f64::from(count) / 2e5 - share).abs() < 0.005, "{mix}: {counts:?}");
            }
        }
    }

    #[test]
    fn a_scaled_trial_keeps_the_share_of_the_hottest_tenth() {
        let share = |records: u64, stands_for: f64| {
            let workload =
                Ycsb::new(Parameters { records, scale: Scale::standing_for(stands_for), ..Parameters::default() }, 1);
            let mut random = Random::from_seed(1);
            (0..200_000).filter(|_| workload.shared.draw_rank(&mut random) < records / 10).count() as f64 / 2e5
        };
        let (full, folded, drawn_anew) = (share(10_000, 1.0), share(500, 20.0), share(500, 1.0));
        assert!((folded - full).abs() < 0.005, "{folded} against {full}");
        assert!((drawn_anew - full).abs() > 0.05, "{drawn_anew} against {full}");
    }

    #[test]
    fn an_update_rewrites_one_field_of_one_record() {
        let (workload, engine) = loaded("A", 100);
        let before = engine.entries();
        let mut client = workload.client(0);
        let mut task = Task::wall(0);
        while client.plan(0).unwrap().kind != UPDATE {}
        client.execute(&engine, &mut task).unwrap();
        let after = engine.entries();
        let changed: Vec<_> = before.iter().zip(&after).filter(|(old, new)| old != new).collect();
        let [((old_key, old), (new_key, new))] = changed[..] else { panic!("{} records changed", changed.len()) };
        assert!(old_key == new_key && old.len() == 1000 && new.len() == 1000);
        let fields = old.chunks(100).zip(new.chunks(100)).filter(|(old, new)| old != new).count();
        assert_eq!(fields, 1);
    }

    #[test]
    fn the_hottest_percent_of_the_records_gets_its_share_and_is_scattered() {
        const RECORDS: u64 = 100_000;
        let workload = Ycsb::new(Parameters { records: RECORDS, ..Parameters::default() }, 1);
        let mut random = Random::from_seed(1);
        let mut hits = vec![0_u32; RECORDS as usize];
        (0..1_000_000).for_each(|_| hits[workload.shared.choose(&mut random) as usize] += 1);
        let first_half: u32 = hits[..RECORDS as usize / 2].iter().sum();
        assert!((300_000..700_000).contains(&first_half), "{first_half} of the requests go to the first half");
        hits.sort_unstable_by(|a, b| b.cmp(a));
        let hottest: u32 = hits[..RECORDS as usize / 100].iter().sum();
        // 61.0% by rank; hash collisions add a little.
        assert!((600_000..650_000).contains(&hottest), "{hottest}");
    }

    #[test]
    fn reads_of_the_latest_follow_the_inserts() {
        let (workload, engine) = loaded("D", 1000);
        drive(&mut *workload.client(0), &engine, 20_000);
        let inserted = workload.shared.inserted.load(Ordering::Relaxed);
        assert!(inserted > 1_900, "{inserted}");
        let mut random = Random::from_seed(1);
        let recent = (0..1000).filter(|_| workload.shared.choose(&mut random) > inserted - 100).count();
        assert!(recent > 500, "{recent} of 1000 reads go to the last 100 records");
    }
}

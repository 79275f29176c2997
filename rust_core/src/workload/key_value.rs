//! A key-value store as an application uses it: one space of plain keys, written without looking, in a mix, with sizes
//! and at a rate that are all parameters. It follows no program, so that the same stream can run on any engine.
//!
//! Keys have numbers. Those from 0 on exist, as many as were loaded and inserted: nothing is deleted. A key is 8 bytes,
//! twice its number or a hash of that, padded as db_bench's are. Those of odd numbers are never written, so reads that
//! should miss fall among the keys that exist, where bounds of files tell nothing and only filters do.

mod client;
mod live_bytes;

use super::counter::Counter;
use super::distributions::{Around, LogNormal};
use super::load_rows::LoadRows;
use super::paced::MOST_PER_SECOND;
use super::permute::RandomOrder;
use super::zipf::Zipf;
use super::{Client, Rate, Workload, with_kind};
use crate::engine::{Commit, KeyLayout};
use crate::engine_options;
use crate::error::{Error, Result};
use crate::options::Accepts;
use crate::random::{Random, Stream, mix};
use client::{Loader, Requester};
use live_bytes::LiveBytes;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Its name in a spec.
pub const KIND: &str = "key_value";

engine_options! {
    /// What a spec may say about a key-value store.
    Parameters {
        keys: u64 = 1_000_000u64, Accepts::Range(1.0, 1e10),
            "Keys that are loaded.";
        key_bytes: u64 = 16u64, Accepts::Range(8.0, 64.0),
            "Key size: 8 bytes that tell the keys apart, then zeros.";
        key_order: String = "hashed", Accepts::Words(&["hashed", "sequential"]),
            "Where keys lie: scattered by a hash of their numbers, so that inserts go everywhere, or by their numbers, \
             so that inserts append.";
        value_bytes: u64 = 400u64, Accepts::Range(0.0, 1e7),
            "Mean size of a value.";
        value_size_distribution: String = "fixed", Accepts::Words(&["fixed", "uniform", "normal", "lognormal"]),
            "How sizes of values lie around their mean; normal has 6 standard deviations in its range and is clipped \
             there (value_size_distribution_type of db_bench); lognormal has a long tail: most values are smaller than \
             the mean, and few are much larger.";
        value_size_spread: f64 = 0.5, Accepts::Range(0.0, 1.0),
            "How far uniform and normal sizes of values are from their mean at most, as a share of it.";
        value_size_sigma: f64 = 1.0, Accepts::Range(0.01, 4.0),
            "Standard deviation of the logarithm of lognormal sizes.";
        largest_value_bytes: u64 = 1_048_576u64, Accepts::Range(1.0, 1e7),
            "Where lognormal sizes are clipped; their mean stays value_bytes.";
        compressible_share: f64 = 0.5, Accepts::Range(0.0, 1.0),
            "Share of each value that compresses: zeros. The others are random bytes.";
        reads: u64 = 1u64, Accepts::Range(0.0, 1e6),
            "How often keys are read, in proportion to overwrites, inserts and scans.";
        overwrites: u64 = 1u64, Accepts::Range(0.0, 1e6),
            "How often keys that exist get a new value, unread.";
        inserts: u64 = 0u64, Accepts::Range(0.0, 1e6),
            "How often the next new key is written, unread.";
        scans: u64 = 0u64, Accepts::Range(0.0, 1e6),
            "How often entries are read in order, from a key that exists on.";
        seek_nexts: u64 = 10u64, Accepts::Range(0.0, 1e6),
            "Entries that a scan reads behind its seek (seek_nexts of db_bench).";
        absent_share: f64 = 0.0, Accepts::Range(0.0, 1.0),
            "Share of the reads that ask for keys which do not exist, among those that do.";
        distribution: String = "uniform", Accepts::Words(&["uniform", "zipfian"]),
            "Which keys are asked for: all that exist as often, or those that were loaded by Zipf's law, the often \
             asked scattered over all.";
        zipf_shape: f64 = 0.99, Accepts::Range(0.01, 0.9999),
            "Skew of zipfian requests (theta).";
        writers: u64 = 0u64, Accepts::Range(0.0, 1e6),
            "How many of the clients make all writes, and the others none; 0 for clients that are alike.";
        writes_per_second: u64 = 0u64, Accepts::Range(0.0, MOST_PER_SECOND),
            "Operations per second that the writers together are held to, apart from requests_per_second; 0 for no \
             limit.";
        sync: bool = false, Accepts::Switch,
            "Whether each write survives a power failure when it returns (WriteOptions::sync of RocksDB).";
        load_order: String = "random", Accepts::Words(&["random", "sequential"]),
            "In which order of their numbers keys are loaded.";
        load_batch_rows: u64 = 100u64, Accepts::Range(1.0, 100_000.0),
            "Keys that a loader writes at once.";
        load_overwrites: f64 = 0.25, Accepts::Range(0.0, 10.0),
            "Writes behind the load that give keys which exist new values, as a share of the keys, at most: how \
             many the seed draws, so that reads find the levels anywhere between two compactions and not as a load \
             left them.";
    }
}

/// Names of the operations.
const OPERATIONS: [&str; 5] = ["read", "overwrite", "insert", "scan", "read_absent"];
const READ: usize = 0;
const OVERWRITE: usize = 1;
const INSERT: usize = 2;
const SCAN: usize = 3;
const READ_ABSENT: usize = 4;

/// The kinds that have weights: all but reads of absent keys, which are reads.
const WEIGHED: usize = READ_ABSENT;
type Weights = [u64; WEIGHED];

impl Parameters {
    fn weights(&self) -> Weights {
        [self.reads, self.overwrites, self.inserts, self.scans]
    }

    /// What the client with this index does, as weights.
    fn weights_of(&self, index: u32) -> Weights {
        let writes = u64::from(index) < self.writers;
        let mut weights = self.weights();
        for (kind, weight) in weights.iter_mut().enumerate() {
            if self.writers > 0 && writes != matches!(kind, OVERWRITE | INSERT) {
                *weight = 0;
            }
        }
        weights
    }

    fn value_sizes(&self) -> Around {
        let spread = (self.value_bytes as f64 * self.value_size_spread).round() as u64;
        let (smallest, largest) = (self.value_bytes - spread, self.value_bytes + spread);
        match self.value_size_distribution.as_str() {
            "uniform" => Around::Uniform(smallest, largest),
            "normal" => Around::Normal(smallest, largest),
            "lognormal" if self.value_bytes > 0 => {
                let (mean, largest) = (self.value_bytes as f64, self.largest_value_bytes);
                Around::LogNormal(LogNormal::of_mean(mean, self.value_size_sigma, largest))
            }
            _ => Around::Fixed(self.value_bytes),
        }
    }

    /// How many writes follow the load of this seed.
    fn drawn_load_overwrites(&self, seed: u64) -> u64 {
        let most = (self.keys as f64 * self.load_overwrites) as u64;
        Random::derive(seed, Stream::Shared(2)).below(most + 1)
    }

    fn commit(&self) -> Commit {
        if self.sync { Commit::Synced } else { Commit::Configured }
    }
}

/// Ranks by Zipf's law, and the keys that have them.
#[derive(Clone)]
struct HotKeys {
    zipf: Zipf,
    order: RandomOrder,
}

/// What all clients share.
#[derive(Clone)]
struct Shared {
    parameters: Parameters,
    seed: u64,
    value_sizes: Around,
    hot_keys: Option<HotKeys>,
    load_order: Option<RandomOrder>,
    load_rows: LoadRows,
    next_number: Counter<AtomicU64>,
    /// The end of the numbers that were loaded and inserted. Under threads, a few inserts before it may be under way.
    existing: Counter<AtomicU64>,
    live_bytes: LiveBytes,
}

impl Shared {
    /// The key of a number.
    fn key(&self, number: u64, key: &mut Vec<u8>) {
        self.key_of(number << 1, key);
    }

    /// A key that is never written, beside that of a number if keys lie by their numbers.
    fn absent_key(&self, number: u64, key: &mut Vec<u8>) {
        self.key_of(number << 1 | 1, key);
    }

    fn key_of(&self, word: u64, key: &mut Vec<u8>) {
        let word = if self.parameters.key_order == "hashed" { mix(word) } else { word };
        key.clear();
        key.extend_from_slice(&word.to_be_bytes());
        key.resize(self.parameters.key_bytes as usize, b'0');
    }

    /// The number of the key that a request is about.
    fn choose(&self, random: &mut Random) -> u64 {
        let Some(HotKeys { zipf, order }) = &self.hot_keys else {
            return random.below(self.existing.load(Ordering::Relaxed));
        };
        order.at(self.parameters.scale.standing_in(zipf.draw(random)).min(self.parameters.keys - 1))
    }
}

/// The workload.
pub struct KeyValue {
    shared: Arc<Shared>,
}

/// From the parameters of a spec.
pub fn build(parameters: Parameters, clients: u32, seed: u64) -> Result<Arc<dyn Workload>> {
    check(&parameters, clients)?;
    Ok(Arc::new(KeyValue::new(parameters, seed)))
}

fn check(parameters: &Parameters, clients: u32) -> Result<()> {
    if parameters.writers > clients.into() {
        let accepted = format!("at most the {clients} clients of the run");
        return Err(Error::invalid("workload.writers", parameters.writers, accepted));
    }
    if parameters.writers == 0 && parameters.writes_per_second > 0 {
        return Err(Error::invalid("workload.writers", 0, "1 or more: writes_per_second is theirs"));
    }
    let Parameters { value_bytes, largest_value_bytes, .. } = *parameters;
    if parameters.value_size_distribution == "lognormal" && value_bytes >= largest_value_bytes {
        let accepted = format!("more than value_bytes, which is {value_bytes}");
        return Err(Error::invalid("workload.largest_value_bytes", largest_value_bytes, accepted));
    }
    // Writers come first, so the last client is one only if all are.
    for index in [0, clients.saturating_sub(1)] {
        if parameters.weights_of(index).iter().all(|&weight| weight == 0) {
            let (field, accepted) = match (parameters.writers, u64::from(index) < parameters.writers) {
                (0, _) => ("workload.reads", "1 or more where overwrites, inserts and scans are 0"),
                (_, true) => ("workload.overwrites", "1 or more where there are writers, and inserts are 0"),
                (_, false) => ("workload.reads", "1 or more where clients are no writers, and scans are 0"),
            };
            return Err(Error::invalid(field, 0, accepted));
        }
    }
    Ok(())
}

impl KeyValue {
    /// A store that is not loaded yet.
    pub fn new(parameters: Parameters, seed: u64) -> Self {
        let keys = parameters.keys;
        let order = |what| RandomOrder::new(&mut Random::derive(seed, Stream::Shared(what)), keys);
        let value_sizes = parameters.value_sizes();
        let shared = Shared {
            seed,
            value_sizes,
            // As in YCSB: a copy draws from as many ranks as there are keys at full size.
            hot_keys: (parameters.distribution == "zipfian").then(|| HotKeys {
                zipf: Zipf::new(parameters.scale.full_count(keys), parameters.zipf_shape),
                order: order(0),
            }),
            load_order: (parameters.load_order == "random").then(|| order(1)),
            load_rows: LoadRows::new(0..keys + parameters.drawn_load_overwrites(seed)),
            next_number: Counter::at(keys),
            existing: Counter::at(keys),
            live_bytes: LiveBytes::new(parameters.key_bytes, value_sizes),
            parameters,
        };
        Self { shared: Arc::new(shared) }
    }
}

impl Workload for KeyValue {
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
        Box::new(Loader::new(self.shared.clone()))
    }

    fn client(&self, index: u32) -> Box<dyn Client> {
        Box::new(Requester::new(self.shared.clone(), index))
    }

    fn rate(&self, index: u32) -> Rate {
        let Parameters { writers, writes_per_second, .. } = self.shared.parameters;
        if u64::from(index) < writers { Rate::Apart(writes_per_second) } else { Rate::Requests }
    }

    fn writes(&self) -> bool {
        let Parameters { overwrites, inserts, .. } = self.shared.parameters;
        overwrites + inserts > 0
    }

    fn fork(&self, seed: u64) -> Arc<dyn Workload> {
        Arc::new(Self { shared: Arc::new(Shared { seed, ..(*self.shared).clone() }) })
    }

    fn live_bytes(&self) -> u64 {
        self.shared.live_bytes.now()
    }
}

#[cfg(test)]
mod tests;

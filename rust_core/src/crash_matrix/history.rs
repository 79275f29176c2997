//! What is written, and what the engine should hold after it: batch `n` is a function of its number alone, and sets a
//! key that tells the number, so that the last batch that survived says what all the others must be.

use super::{Commits, Subject};
use crate::engine::{Change, KeyLayout, WriteBatch};
use parking_lot::Mutex;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// What an engine should hold.
pub type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Keys that half of all changes go to.
const HOT_KEYS: u64 = 40;
/// The index whose keys are long and have no values, as those of a secondary index.
const SECONDARY: u32 = 3;
/// Indexes under [`KeyLayout::Indexed`], that of the last batch's number included.
pub const INDEXES: u32 = 4;

/// The key of the last batch's number.
pub fn last_key(layout: KeyLayout) -> &'static [u8] {
    match layout {
        KeyLayout::Plain => b"last",
        KeyLayout::Indexed => b"\0\0\0\0last",
    }
}

/// Keys in all: under [`KeyLayout::Indexed`] more than fit the smallest buffer pool.
fn keys(layout: KeyLayout) -> u64 {
    if layout == KeyLayout::Plain { 500 } else { 3000 }
}

/// The key with this number.
pub fn key(layout: KeyLayout, number: u64) -> Vec<u8> {
    let text = format!("key{number:04}");
    if layout == KeyLayout::Plain {
        return text.into_bytes();
    }
    let index = 1 + number as u32 % (INDEXES - 1);
    let mut key = [&index.to_be_bytes()[..], text.as_bytes()].concat();
    if index == SECONDARY {
        let mut coin = Xoshiro256PlusPlus::seed_from_u64(number);
        key.extend((0..190).map(|_| coin.random::<u8>()));
    }
    key
}

fn has_values(key: &[u8]) -> bool {
    !key.starts_with(&SECONDARY.to_be_bytes())
}

/// A number of some key.
pub fn some_key(layout: KeyLayout, coin: &mut impl Rng) -> u64 {
    if coin.random() { coin.random_range(0..HOT_KEYS) } else { coin.random_range(0..keys(layout)) }
}

/// Zeros, one byte again and again, or noise.
fn value(coin: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let len = match coin.random_range(0..40) {
        0 => 0,
        1 => coin.random_range(2000..5000),
        2..8 => coin.random_range(600..1400),
        _ => coin.random_range(1..250),
    };
    match coin.random_range(0..3) {
        0 => vec![0; len],
        1 => vec![coin.random(); len],
        _ => (0..len).map(|_| coin.random()).collect(),
    }
}

/// Batch `number`, from 1 on.
pub fn batch(layout: KeyLayout, number: u64) -> WriteBatch {
    let mut coin = Xoshiro256PlusPlus::seed_from_u64(number);
    let mut batch = WriteBatch::default();
    let changes = if coin.random_range(0..60) == 0 { 40 } else { coin.random_range(1..5) };
    for _ in 0..changes {
        let key = key(layout, some_key(layout, &mut coin));
        let value = if has_values(&key) { value(&mut coin) } else { Vec::new() };
        if coin.random_range(0..5) == 0 { batch.delete(&key) } else { batch.put(&key, &value) }
    }
    batch.put(last_key(layout), &number.to_be_bytes());
    batch
}

/// How far a script has come, and the states that it went through.
pub struct History {
    layout: KeyLayout,
    commits: Commits,
    started: AtomicU64,
    acknowledged: AtomicU64,
    synced: AtomicU64,
    /// The state after some batch that most questions are about later ones than.
    base: Mutex<(u64, Model)>,
}

impl History {
    pub fn new(subject: &impl Subject) -> Self {
        let (started, acknowledged, synced) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let (layout, commits) = (subject.layout(), subject.commits());
        Self { layout, commits, started, acknowledged, synced, base: Mutex::default() }
    }

    /// Batch `number` is about to be written.
    pub fn note_started(&self, number: u64) {
        self.started.store(number, Ordering::SeqCst);
    }

    /// Batch `number` was acknowledged, and whether it asked for a sync.
    pub fn note_acknowledged(&self, number: u64, asked_for_sync: bool) {
        self.acknowledged.store(number, Ordering::SeqCst);
        if asked_for_sync || self.commits == Commits::Synced {
            self.synced.store(number, Ordering::SeqCst);
        }
    }

    /// All that was acknowledged is durable.
    pub fn note_closed(&self) {
        self.synced.store(self.acknowledged(), Ordering::SeqCst);
    }

    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::SeqCst)
    }

    /// The least batch that must be there after a power cut that loses what it may, and after one that loses nothing.
    pub fn least(&self, loses_nothing: bool) -> u64 {
        let survives_death = matches!(self.commits, Commits::Synced | Commits::Written);
        if loses_nothing && survives_death { self.acknowledged() } else { self.synced.load(Ordering::SeqCst) }
    }

    /// The last batch that may be there.
    pub fn most(&self) -> u64 {
        self.started.load(Ordering::SeqCst)
    }

    /// The state after batch `number`.
    pub fn state_after(&self, number: u64) -> Model {
        let mut base = self.base.lock();
        let (reached, model) = &mut *base;
        let synced = self.synced.load(Ordering::SeqCst);
        if number < *reached {
            (*reached, *model) = (0, Model::new());
        }
        while *reached < synced.min(number) {
            *reached += 1;
            apply(model, &batch(self.layout, *reached));
        }
        let mut state = model.clone();
        (*reached + 1..=number).for_each(|later| apply(&mut state, &batch(self.layout, later)));
        state
    }
}

/// Does a batch to a model.
pub fn apply(model: &mut Model, batch: &WriteBatch) {
    for change in batch.changes() {
        match change {
            Change::Put { key, value } => _ = model.insert(key.to_vec(), value.to_vec()),
            Change::Delete { key } => _ = model.remove(key),
        }
    }
}

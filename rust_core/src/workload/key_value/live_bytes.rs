//! How many bytes of keys and values are there, while values are replaced by longer and shorter ones.

use crate::workload::counter::Counter;
use crate::workload::distributions::Around;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

/// Locks over the sizes, so that clients hardly meet.
const STRIPES: u64 = 64;

/// Live bytes. Exact, but where two threads write one key at once: then it may be off by what their last two values
/// differ in, until that key is written again.
pub struct LiveBytes {
    key_bytes: u64,
    bytes: Counter<AtomicI64>,
    /// Size of each key's value by its number, striped; none where all are of one size.
    value_bytes: Option<Vec<Mutex<Vec<u32>>>>,
}

impl Clone for LiveBytes {
    fn clone(&self) -> Self {
        let sizes = |stripe: &Mutex<Vec<u32>>| Mutex::new(stripe.lock().clone());
        Self {
            key_bytes: self.key_bytes,
            bytes: self.bytes.clone(),
            value_bytes: self.value_bytes.as_ref().map(|stripes| stripes.iter().map(sizes).collect()),
        }
    }
}

impl LiveBytes {
    /// Of no keys yet.
    pub fn new(key_bytes: u64, value_sizes: Around) -> Self {
        let vary = !matches!(value_sizes, Around::Fixed(_));
        Self {
            key_bytes,
            bytes: Counter::at(0),
            value_bytes: vary.then(|| (0..STRIPES).map(|_| Mutex::default()).collect()),
        }
    }

    /// A new key got a value.
    pub fn insert(&self, number: u64, value_bytes: u64) {
        let old = self.replace(number, value_bytes).unwrap_or(0);
        self.grew(self.key_bytes as i64 + value_bytes as i64 - old as i64);
    }

    /// A key that exists got another value.
    pub fn overwrite(&self, number: u64, value_bytes: u64) {
        let old = self.replace(number, value_bytes).unwrap_or(value_bytes);
        self.grew(value_bytes as i64 - old as i64);
    }

    /// All of them.
    pub fn now(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed).max(0) as u64
    }

    fn grew(&self, by: i64) {
        self.bytes.fetch_add(by, Ordering::Relaxed);
    }

    /// The size that was known before; 0 of a key without a value, `None` where all are of one size.
    fn replace(&self, number: u64, value_bytes: u64) -> Option<u64> {
        let stripes = self.value_bytes.as_ref()?;
        let (mut stripe, place) = (stripes[(number % STRIPES) as usize].lock(), (number / STRIPES) as usize);
        if place >= stripe.len() {
            stripe.resize(place + 1, 0);
        }
        Some(std::mem::replace(&mut stripe[place], value_bytes as u32).into())
    }
}

//! Speed of both engines beside fjall (LSM) and redb (B-tree), in one run on one machine: one client, 16-byte keys,
//! 100-byte values that compress to half, the log on without fsync, one operation per commit, equal cache.
//!
//! `peers [KEYS] [CACHE_BYTES]` prints thousands of operations per second and ratios.

mod stores;

use std::time::Instant;
use stores::{BtreeStore, FjallStore, LsmStore, RedbStore, Store};

type Anyhow<T> = Result<T, Box<dyn std::error::Error>>;

const VALUE_BYTES: usize = 100;
const SEEK_NEXTS: usize = 10;
const PHASES: [&str; 4] = ["fillseq", "fillrandom", "readrandom", "seekrandom"];

/// One row of results: operations per second of each phase.
type Speeds = [f64; PHASES.len()];

/// splitmix64: the same draws for every store.
fn mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn key(number: u64) -> [u8; 16] {
    let mut key = [b'0'; 16];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key
}

/// Half random, half zeros: compresses to about half.
fn fill_value(state: &mut u64, value: &mut [u8; VALUE_BYTES]) {
    for chunk in value[..VALUE_BYTES / 2].chunks_mut(8) {
        chunk.copy_from_slice(&mix(state).to_le_bytes()[..chunk.len()]);
    }
}

fn timed(operations: u64, mut operation: impl FnMut(u64) -> Anyhow<()>) -> Anyhow<f64> {
    let start = Instant::now();
    for n in 0..operations {
        operation(n)?;
    }
    Ok(operations as f64 / start.elapsed().as_secs_f64())
}

fn fill(store: &mut dyn Store, keys: u64, number: impl Fn(u64, &mut u64) -> u64) -> Anyhow<f64> {
    let (mut state, mut value) = (1, [0; VALUE_BYTES]);
    let speed = timed(keys, |n| {
        let number = number(n, &mut state);
        fill_value(&mut state, &mut value);
        store.put(&key(number), &value)
    })?;
    store.settle()?;
    Ok(speed)
}

fn measure(open: &dyn Fn() -> Anyhow<Box<dyn Store>>, keys: u64) -> Anyhow<Speeds> {
    let fillseq = fill(&mut *open()?, keys, |n, _| n)?;
    let mut store = open()?;
    let fillrandom = fill(&mut *store, keys, |_, state| mix(state) % keys)?;
    store.begin_reads()?;
    let reads = keys / 5;
    let (mut state, mut found) = (2, 0u64);
    let readrandom = timed(reads, |_| {
        found += u64::from(store.get(&key(mix(&mut state) % keys))?);
        Ok(())
    })?;
    // N draws over N keys leave 1 - 1/e of them present.
    let share = found as f64 / reads as f64;
    assert!((share - 0.632).abs() < 0.01, "{share} of the keys were found");
    let seekrandom = timed(reads / 5, |_| store.scan(&key(mix(&mut state) % keys), SEEK_NEXTS))?;
    Ok([fillseq, fillrandom, readrandom, seekrandom])
}

fn main() -> Anyhow<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let keys = number(5_000_000)?;
    let cache = number(1 << 30)?;
    let pairs: [(&str, &str, Speeds, Speeds); 2] = [
        (
            "lsm",
            "fjall",
            measure(&|| LsmStore::open(cache), keys)?,
            measure(&|| FjallStore::open(cache), keys)?,
        ),
        (
            "btree",
            "redb",
            measure(&|| BtreeStore::open(cache), keys)?,
            measure(&|| RedbStore::open(cache), keys)?,
        ),
    ];
    println!("{keys} keys, {cache} bytes of cache; thousands of operations per second\n");
    println!("| phase | engine | peer | engine k/s | peer k/s | ratio |");
    println!("|---|---|---|---:|---:|---:|");
    for (engine, peer, ours, theirs) in pairs {
        for (n, phase) in PHASES.iter().enumerate() {
            let (a, b) = (ours[n] / 1e3, theirs[n] / 1e3);
            println!("| {phase} | {engine} | {peer} | {a:.0} | {b:.0} | {:.2} |", a / b);
        }
    }
    Ok(())
}

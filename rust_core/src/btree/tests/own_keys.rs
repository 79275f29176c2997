//! What a cursor owes its client while others change the tree: every key that the client wrote before the cursor came
//! by, with the value of then, and none that the client removed.

use super::slow_storage::SlowStorage;
use super::{Driven, TINY, options, structure};
use crate::btree::Btree;
use crate::engine::{Commit, Engine, EngineIterator, KeyLayout, WriteBatch};
use crate::run::workers::{Workers, admit};
use crate::storage::{MemoryStorage, Storage};
use crate::task::wall::{WallClock, spawn};
use crate::task::{Signal, Task};
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

const OWNERS: u32 = 5;
/// Keys of one owner.
const KEYS: u32 = 400;

/// A client that alone writes every `OWNERS`th key, and so knows what is there.
struct Owner {
    engine: Arc<dyn Engine>,
    signal: Arc<Signal>,
    clock: WallClock,
    task: Task,
    id: u32,
    random: Xoshiro256PlusPlus,
    live: BTreeMap<Vec<u8>, Vec<u8>>,
    batch: WriteBatch,
    written: u64,
}

/// One walk of a cursor.
struct Walk {
    forward: bool,
    /// What it sought, and every key that it has shown since.
    trail: Vec<Vec<u8>>,
}

fn key(number: u32, id: u32) -> Vec<u8> {
    format!("{:06}", number * OWNERS + id).into_bytes()
}

impl Owner {
    fn live_in_steps(&mut self, steps: u32) {
        for _ in 0..steps {
            self.task.now_ns = self.clock.now_ns();
            match self.random.random_range(0..12) {
                0 => self.write_run(),
                1..8 => {
                    let number = self.random.random_range(0..KEYS);
                    let removes = self.random.random_range(0..5) < 2;
                    self.write(number, removes);
                }
                _ => self.walk(),
            }
        }
    }

    /// Rows side by side, ascending as in a load or descending, or a gap where they were.
    fn write_run(&mut self) {
        let first = self.random.random_range(0..KEYS - 40);
        let (removes, ascends) = (self.random.random(), self.random.random());
        for n in 0..self.random.random_range(5..40) {
            self.write(if ascends { first + n } else { first + 39 - n }, removes);
        }
    }

    fn write(&mut self, number: u32, removes: bool) {
        let key = key(number, self.id);
        self.batch.clear();
        if removes {
            self.batch.delete(&key);
            self.live.remove(&key);
        } else {
            let longest = if self.random.random_range(0..60) == 0 { 5000 } else { 500 };
            let mut value = vec![0; self.random.random_range(0..longest)];
            self.random.fill_bytes(&mut value);
            self.batch.put(&key, &value);
            self.live.insert(key, value);
        }
        let bytes = self.batch.encoded_bytes() as u64;
        admit(&*self.engine, &self.signal, self.clock, &mut self.task, bytes, &|| false).unwrap();
        self.engine.write(&mut self.task, &mut self.batch, Commit::Configured).unwrap();
        self.written += 1;
    }

    /// A cursor over some entries from a random key on. Between its steps the others write, and now and then its own
    /// client.
    fn walk(&mut self) {
        let (start, forward) = (self.random.random_range(0..KEYS * OWNERS), self.random.random());
        let start = key(start / OWNERS, start % OWNERS);
        let writes = [0, 0, 5, 20][self.random.random_range(0..4)];
        let engine = self.engine.clone();
        let mut cursor = engine.iterator(&mut self.task).unwrap();
        let mut walk = Walk { forward, trail: vec![start] };
        let at = &walk.trail[0];
        if forward { cursor.seek(&mut self.task, at) } else { cursor.seek_for_prev(&mut self.task, at) }.unwrap();
        for _ in 0..self.random.random_range(1..200) {
            self.see(&mut walk, &*cursor);
            if !cursor.valid() {
                return;
            }
            if self.random.random_range(0..100) < writes {
                self.write_ahead(&walk);
            }
            if forward { cursor.next(&mut self.task) } else { cursor.prev(&mut self.task) }.unwrap();
        }
    }

    /// Writes a key that the cursor may be about to come to.
    fn write_ahead(&mut self, walk: &Walk) {
        let here = std::str::from_utf8(walk.here()).unwrap().parse::<u32>().unwrap() / OWNERS;
        let ahead = self.random.random_range(0..3);
        let number = if walk.forward { (here + ahead).min(KEYS - 1) } else { here.saturating_sub(ahead) };
        let removes = self.random.random_range(0..3) == 0;
        self.write(number, removes);
    }

    /// Holds the entry that the cursor shows now, and all that lies between it and the one before, against what is
    /// known.
    fn see(&mut self, walk: &mut Walk, cursor: &dyn EngineIterator) {
        let now = cursor.valid().then(|| cursor.key().to_vec());
        let from = match walk.trail.len() {
            1 => Bound::Included(walk.here().to_vec()),
            _ => Bound::Excluded(walk.here().to_vec()),
        };
        let to = now.clone().map_or(Bound::Unbounded, Bound::Excluded);
        let range = if walk.forward { (from, to) } else { (to, from) };
        if let Some(now) = &now {
            let in_order = if walk.forward { range.0.as_ref() } else { range.1.as_ref() };
            let moved = match in_order {
                Bound::Included(here) if here == now => true,
                Bound::Included(here) | Bound::Excluded(here) => (here < now) == walk.forward && here != now,
                Bound::Unbounded => true,
            };
            assert!(moved, "client {} is shown a key out of order: {}", self.id, walk.describe(now));
        }
        if let Some((passed, _)) = self.live.range(range).next() {
            let (passed, end) = (passed.clone(), now.unwrap_or_else(|| b"end".to_vec()));
            let mut value = Vec::new();
            let found = self.engine.get(&mut self.task, &passed, &mut value).unwrap();
            let right = self.live.get(&passed) == Some(&value);
            panic!(
                "client {} after {} writes: passed over {}, which a get finds: {found}, with its value: {right}; {}",
                self.id,
                self.written,
                String::from_utf8_lossy(&passed),
                walk.describe(&end),
            );
        }
        let Some(now) = now else { return };
        if std::str::from_utf8(&now).unwrap().parse::<u32>().unwrap() % OWNERS == self.id {
            let known = self.live.get(&now).map(Vec::as_slice);
            assert!(known == Some(cursor.value()), "client {} is shown an old value: {}", self.id, walk.describe(&now));
        }
        walk.trail.push(now);
    }
}

impl Walk {
    fn here(&self) -> &[u8] {
        &self.trail[self.trail.len() - 1]
    }

    /// The last few keys of the walk, and the one that it came to.
    fn describe(&self, now: &[u8]) -> String {
        let text = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
        let tail = self.trail.iter().rev().take(6).rev().map(|key| text(key)).collect::<Vec<_>>();
        let way = if self.forward { "forward" } else { "back" };
        format!(
            "{way} from {}, {} steps, .. {} -> {}",
            text(&self.trail[0]),
            self.trail.len(),
            tail.join(" "),
            text(now)
        )
    }
}

fn owners_see_their_keys(text: &str, seed: u64, steps: u32) {
    let storage: Arc<dyn Storage> = Arc::new(SlowStorage(Arc::new(MemoryStorage::new(Arc::default()))));
    let (signal, clock) = (Arc::new(Signal::default()), WallClock::default());
    let mut task = Task::wall(99);
    let tree = Btree::open(storage, options(text), KeyLayout::Plain, signal.clone(), &mut task).unwrap();
    let engine: Arc<dyn Engine> = tree.clone();
    let workers = Workers::start(&engine, &signal, clock);
    let owners = (0..OWNERS).map(|id| {
        let mut owner = Owner {
            engine: engine.clone(),
            signal: signal.clone(),
            clock,
            task: Task::wall(id),
            id,
            random: Xoshiro256PlusPlus::seed_from_u64(seed * u64::from(OWNERS) + u64::from(id)),
            live: BTreeMap::new(),
            batch: WriteBatch::default(),
            written: 0,
        };
        spawn(format!("owner-{id}"), move || {
            owner.live_in_steps(steps);
            owner.live.len()
        })
    });
    let owners = owners.collect::<Vec<_>>();
    let left = owners.into_iter().map(|owner| owner.join().unwrap()).sum::<usize>();
    workers.stop();
    engine.check().unwrap();
    assert_eq!(structure::check(tree.forest(), &mut task).entries, left);
}

#[test]
fn a_cursor_passes_over_no_key_of_its_client() {
    let text = TINY.replace("buffer_pool_size=262144", "buffer_pool_size=524288");
    (1..4).for_each(|seed| owners_see_their_keys(&text, seed, 400));
}

#[test]
fn a_cursor_at_the_end_of_a_leaf_sees_what_is_added_behind_it() {
    let (_, mut driven) = Driven::fresh(TINY);
    let engine = driven.engine.clone();
    let mut cursor = engine.iterator(&mut driven.task).unwrap();
    let key = |n: u32| format!("{n:06}").into_bytes();
    driven.put(&key(0), &[7; 100]).unwrap();
    cursor.seek(&mut driven.task, &key(0)).unwrap();
    for n in 1..500 {
        driven.put(&key(n), &[7; 100]).unwrap();
        cursor.next(&mut driven.task).unwrap();
        assert!(cursor.valid(), "{n}");
        assert_eq!(cursor.key(), key(n));
    }
}

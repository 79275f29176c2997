//! Many clients and workers at once, under the wall clock.

use super::slow_storage::SlowStorage;
use super::{Driven, Model, TINY, noise, options, structure};
use crate::btree::Btree;
use crate::btree::pool::PassLimits;
use crate::engine::{Commit, Engine, KeyLayout, WriteBatch};
use crate::run::workers::{Workers, admit};
use crate::storage::memory::CrashKeeps;
use crate::storage::{MemoryStorage, Storage};
use crate::task::wall::{WallClock, spawn};
use crate::task::{Signal, Task};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;

const CLIENTS: u32 = 6;
/// 64 pages of 16 KiB, for many more on storage.
const COMPRESSED: &str = "page_size=16384 buffer_pool_size=1048576 redo_log_capacity=1048576 io_capacity_max=4000";

/// Keys that a client has, and how long its values are.
#[derive(Debug, Clone, Copy)]
struct Load {
    keys: u32,
    most_bytes: usize,
    key_bytes: usize,
    /// Indexes that the keys are spread over; 0 is the plain layout.
    indexes: u32,
}

const ROWS: Load = Load { keys: 500, most_bytes: 1500, key_bytes: 6, indexes: 0 };
/// Entries of a secondary index, with more bytes in their keys.
const ENTRIES: Load = Load { keys: 3000, most_bytes: 1, key_bytes: 40, indexes: 0 };

impl Load {
    fn key(self, n: u32) -> Vec<u8> {
        let mut key = if self.indexes == 0 { Vec::new() } else { (n % self.indexes).to_be_bytes().to_vec() };
        key.extend_from_slice(format!("{n:06}").as_bytes());
        key.extend(noise(u64::from(n), self.key_bytes - 6));
        key
    }

    fn layout(self) -> KeyLayout {
        if self.indexes == 0 { KeyLayout::Plain } else { KeyLayout::Indexed }
    }
}

/// A client that owns every sixth key, reads its own writes, and scans across those of all others.
fn client(engine: &Arc<dyn Engine>, signal: &Signal, clock: WallClock, id: u32, (load, steps): (Load, u32)) -> Model {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(u64::from(id));
    let (mut task, mut model, mut batch) = (Task::wall(id), Model::new(), WriteBatch::default());
    for _ in 0..steps {
        task.now_ns = clock.now_ns();
        batch.clear();
        for _ in 0..random.random_range(1..4) {
            let key = load.key(random.random_range(0..load.keys) * CLIENTS + id);
            if random.random_range(0..3) == 0 {
                batch.delete(&key);
                model.remove(&key);
            } else {
                let value = vec![id as u8; random.random_range(0..load.most_bytes)];
                batch.put(&key, &value);
                model.insert(key, value);
            }
        }
        admit(&**engine, signal, clock, &mut task, batch.encoded_bytes() as u64, &|| false).unwrap();
        engine.write(&mut task, &mut batch, Commit::Configured).unwrap();
        let key = load.key(random.random_range(0..load.keys) * CLIENTS + id);
        if load.most_bytes == 1 && random.random_range(0..4) > 0 {
            // Most changes are not followed by a look, which would bring pages in.
            continue;
        }
        let mut value = Vec::new();
        let found = engine.get(&mut task, &key, &mut value).unwrap();
        assert_eq!(found.then_some(&value), model.get(&key));
        scan(&**engine, &mut task, &key, random.random());
    }
    model
}

/// Twenty steps from a key must be in order, whatever the others do.
fn scan(engine: &dyn Engine, task: &mut Task, key: &[u8], forward: bool) {
    let mut cursor = engine.iterator(task).unwrap();
    let sought = if forward { cursor.seek(task, key) } else { cursor.seek_for_prev(task, key) };
    sought.unwrap();
    let mut last = None::<Vec<u8>>;
    for _ in 0..20 {
        if !cursor.valid() {
            return;
        }
        let now = cursor.key().to_vec();
        assert!(last.is_none_or(|last| if forward { last < now } else { last > now }));
        last = Some(now);
        let stepped = if forward { cursor.next(task) } else { cursor.prev(task) };
        stepped.unwrap();
    }
}

/// Clients and workers on an engine with these options; whatever they did must be there, also after a crash. Returns
/// how many changes were buffered.
fn disturb(text: &str, load: Load, steps: u32) -> f64 {
    let memory = Arc::new(MemoryStorage::new(Arc::default()));
    let storage: Arc<dyn Storage> = Arc::new(SlowStorage(memory.clone()));
    let (signal, clock) = (Arc::new(Signal::default()), WallClock::default());
    let mut task = Task::wall(99);
    let tree = Btree::open(storage, options(text), load.layout(), signal.clone(), &mut task).unwrap();
    let engine: Arc<dyn Engine> = tree.clone();
    let workers = Workers::start(&engine, &signal, clock);
    let clients = (0..CLIENTS).map(|id| {
        let (engine, signal) = (engine.clone(), signal.clone());
        spawn(format!("client-{id}"), move || client(&engine, &signal, clock, id, (load, steps)))
    });
    let clients = clients.collect::<Vec<_>>();
    let model = clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Model>();
    workers.stop();
    engine.check().unwrap();
    let left = Arc::new(memory.crash_clone(CrashKeeps::Synced));
    let buffered = tree.stats().details.get("changes_buffered").copied().unwrap_or_default();
    let shape = structure::check(tree.forest(), &mut task);
    assert_eq!(shape.entries, model.len());
    let mut again = Driven::open(left, &options(text), load.layout()).unwrap();
    assert!(again.everything(load.indexes) == model, "acknowledged writes survive a crash");
    buffered
}

#[test]
fn buffered_changes_stand_clients_and_workers() {
    for max_size in [5, 50] {
        let options = format!("{TINY} change_buffering=all change_buffer_max_size={max_size} io_capacity=1000");
        let buffered = disturb(&options, ENTRIES, 2000);
        assert!(buffered > 100.0, "{buffered} with {max_size}");
    }
    let options = "page_size=8192 key_block_size=4096 buffer_pool_size=524288 redo_log_capacity=1048576";
    let buffered = disturb(&format!("{options} change_buffering=all"), Load { key_bytes: 140, ..ENTRIES }, 2000);
    assert!(buffered > 10.0, "{buffered} of compressed tables");
}

#[test]
fn clients_and_workers_do_not_disturb_one_another() {
    disturb(&TINY.replace("buffer_pool_size=262144", "buffer_pool_size=524288"), ROWS, 3000);
}

#[test]
fn compressed_pages_with_holes_stand_clients_and_workers() {
    for (algorithm, rest) in [("lz4", "doublewrite=true"), ("snappy", "doublewrite=false flush_neighbors=2")] {
        disturb(&format!("{COMPRESSED} compression_algorithm={algorithm} {rest}"), ROWS, 500);
    }
}

#[test]
fn compressed_tables_beside_others_stand_clients_and_workers() {
    let options = "page_size=8192 key_block_size=4096 compressed_indexes=0:2 redo_log_capacity=1048576";
    disturb(&format!("{options} buffer_pool_size=786432 flush_neighbors=2"), Load { indexes: 3, ..ROWS }, 1500);
    let entries = Load { key_bytes: 140, indexes: 3, ..ENTRIES };
    let buffered = disturb(&format!("{options} buffer_pool_size=524288 change_buffering=all"), entries, 2000);
    assert!(buffered > 10.0, "{buffered}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the others are to get in between")]
fn a_flush_that_meets_a_latched_page_writes_the_others_first() {
    let (_, mut driven) = Driven::fresh("page_size=4096 buffer_pool_size=4194304 redo_log_capacity=16777216");
    // Keys alone: they have no undo.
    (0..200).for_each(|n| driven.put(format!("{n:0500}").as_bytes(), b"").unwrap());
    let pool = driven.engine.forest().store.pool.clone();
    let frames = pool.flush_list.oldest_frames(64);
    let count = frames.len();
    assert!(count > 10);
    let last = frames.iter().map(|frame| pool.page_hint(*frame)).max().unwrap();
    let latched = pool.write_resident(&mut driven.task, last).unwrap();
    let job = {
        let pool = pool.clone();
        spawn("job".to_owned(), move || {
            let batches = pool.write_frames(&mut Task::wall(1), &frames, true).unwrap();
            pool.complete_all(&batches);
        })
    };
    // The owner of the latch gets frames meanwhile: all but its own are written without it.
    for _ in 0..20_000_000 {
        pool.complete_written();
        if pool.flush_list.len() == 1 {
            break;
        }
        std::thread::yield_now();
    }
    assert_eq!((pool.flush_list.len(), pool.flush_list.is_dirty(latched.frame)), (1, true), "of {count} pages");
    drop(latched);
    job.join().unwrap();
    assert_eq!(pool.flush_list.len(), 0);
}

#[test]
fn a_page_read_ahead_does_not_replace_one_written_since() {
    let (_, mut driven) = Driven::fresh(TINY);
    driven.put(b"key", b"value").unwrap();
    let pool = driven.engine.forest().store.pool.clone();
    let root = driven.engine.forest().trees()[0].root;
    let writes = pool.table.entry(root).writes();
    let frame = pool.table.entry(root).frame().unwrap();
    let body = pool.with_body(frame, true, |_, body| body.clone()).unwrap();
    driven.put(b"key", b"newer").unwrap();
    pool.flush_all(&mut driven.task).unwrap();
    while pool.table.entry(root).frame().is_some() {
        let limits = PassLimits { free: usize::MAX, least_len: 0, dirty: 0, pages: usize::MAX };
        assert!(pool.pass_cold_end(&mut driven.task, true, limits).freed > 0);
    }
    assert!(!pool.offer(root, writes, &body));
    assert_eq!(driven.get(b"key").unwrap().unwrap(), b"newer");
}

//! Jobs that are dropped before they run, between their halves, or by a panic give back what they hold: nobody waits
//! for them for ever.

use super::{Driven, options};
use crate::engine::{Commit, Engine, KeyLayout, WriteBatch};
use crate::error::Result;
use crate::storage::gated::{Gate, GatedStorage, Operation, Pass};
use crate::storage::{MemoryStorage, Storage};
use crate::task::{Admission, Job};
use Fate::{DroppedBeforeItRuns, DroppedBetweenItsHalves, Installed, Panics};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Panics in the next access to pages when it is told to.
#[derive(Default)]
struct Trap(AtomicBool);

impl Gate for Trap {
    fn before(&self, _operation: Operation, name: &str) -> Result<Pass> {
        assert!(name == "redo.log" || !self.0.swap(false, Ordering::SeqCst), "a trap");
        Ok(Pass::Through)
    }
}

type TrappedStorage = GatedStorage<Trap>;

/// What becomes of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    DroppedBeforeItRuns,
    DroppedBetweenItsHalves,
    Panics,
    Installed,
}

fn meet(driven: &mut Driven, mut job: Box<dyn Job>, trap: &Trap, fate: Fate) -> Result<()> {
    match fate {
        DroppedBeforeItRuns => Ok(()),
        DroppedBetweenItsHalves => job.run(&mut driven.task),
        Installed => job.run(&mut driven.task).and_then(|()| job.install(&mut driven.task)),
        Panics => {
            trap.0.store(true, Ordering::SeqCst);
            // A job that touches no pages is dropped between its halves.
            let _ = catch_unwind(AssertUnwindSafe(|| job.run(&mut driven.task)));
            trap.0.store(false, Ordering::SeqCst);
            Ok(())
        }
    }
}

fn batch(n: u32) -> WriteBatch {
    let mut batch = WriteBatch::default();
    for (index, value) in [(1u32, &[n as u8; 150][..]), (2, b"")] {
        let key = n.wrapping_mul(2_654_435_761) % 3000;
        batch.put(&[&index.to_be_bytes()[..], &key.to_be_bytes(), &[b'-'; 60]].concat(), value);
    }
    batch
}

/// Writes that wait for admission no longer than so many tenths of a second.
const PATIENCE: usize = 600;

/// Runs with jobs of changing fates, then without; returns how many jobs met each fate.
fn run(text: &str, fates: &[Fate]) -> BTreeMap<Fate, usize> {
    let storage = Arc::new(TrappedStorage::behind(Trap::default(), Arc::new(MemoryStorage::new(Arc::default()))));
    let mut driven = Driven::open(storage.clone() as Arc<dyn Storage>, &options(text), KeyLayout::Indexed).unwrap();
    let (trap, mut met, mut jobs) = (storage.gate(), BTreeMap::new(), 0);
    let mut some_jobs = |driven: &mut Driven, fates: &[Fate]| {
        // Those that are dropped may come again at once: only so many are taken at a time.
        for _ in 0..8 {
            let Some(job) = driven.engine.next_job(driven.task.now_ns) else { break };
            let fate = fates[jobs % fates.len()];
            jobs += 1;
            *met.entry(fate).or_default() += 1;
            meet(driven, job, trap, fate).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    };
    let mut write = |driven: &mut Driven, n: u32, fates: &[Fate]| {
        let mut batch = batch(n);
        let mut waited = 0;
        while driven.engine.admit(&mut driven.task, batch.encoded_bytes() as u64).unwrap() == Admission::Wait {
            waited += 1;
            let fates = if waited < 20 { fates } else { &[Installed] };
            driven.task.now_ns += 100_000_000;
            some_jobs(driven, fates);
            assert!(waited < PATIENCE, "{text}: batch {n} waits for ever");
        }
        driven.engine.write(&mut driven.task, &mut batch, Commit::Configured).unwrap();
        if n.is_multiple_of(8) {
            driven.task.now_ns += 300_000_000;
            some_jobs(driven, fates);
        }
    };
    (0..800).for_each(|n| write(&mut driven, n, fates));
    (800..1000).for_each(|n| write(&mut driven, n, &[Installed]));
    driven.engine.begin_settle(&mut driven.task).unwrap();
    (0..PATIENCE).any(|_| {
        driven.pass(100).unwrap();
        driven.engine.is_settled()
    });
    assert!(driven.engine.is_settled() && driven.detail("dirty_pages") == 0.0, "{text}: it never settles");
    let expected = (0..1000).flat_map(|n| batch(n).changes().map(|c| c.key().to_vec()).collect::<Vec<_>>());
    let expected = expected.collect::<std::collections::BTreeSet<_>>();
    assert_eq!(driven.everything(3).into_keys().collect::<std::collections::BTreeSet<_>>(), expected, "{text}");
    met
}

/// 48 combinations.
fn option_sets() -> Vec<String> {
    let pages = [
        "page_size=4096 buffer_pool_size=262144",
        "page_size=8192 buffer_pool_size=524288 compression_algorithm=lz4",
        "page_size=8192 key_block_size=4096 buffer_pool_size=524288",
    ];
    let area = ["", " doublewrite=false", " doublewrite_files=3 page_cleaners=2", " page_cleaners=1"];
    let log = [
        "",
        " flush_log_at_trx_commit=0",
        " flush_log_at_trx_commit=2 change_buffering=all",
        " flush_sync=false adaptive_flushing=false",
    ];
    let mut sets = Vec::new();
    for pages in pages {
        for area in area {
            sets.extend(log.map(|log| format!("{pages} redo_log_capacity=262144 lru_scan_depth=64{area}{log}")));
        }
    }
    sets
}

#[test]
fn jobs_that_are_dropped_or_panic_hold_nobody_up() {
    let mut met = BTreeMap::<Fate, usize>::new();
    let sets = option_sets();
    assert_eq!(sets.len(), 48);
    for text in &sets {
        let mixed = [DroppedBetweenItsHalves, Installed, Panics, DroppedBeforeItRuns, Installed];
        for fates in [&[DroppedBeforeItRuns][..], &[DroppedBetweenItsHalves], &[Panics], &mixed] {
            for (fate, count) in run(text, fates) {
                *met.entry(fate).or_default() += count;
            }
        }
    }
    for fate in [DroppedBeforeItRuns, DroppedBetweenItsHalves, Panics, Installed] {
        assert!(met[&fate] > 1000, "{met:?}");
    }
}

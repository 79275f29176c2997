//! Background work: what each option makes it do.

use super::{Driven, TINY, assert_meters_agree, options};
use crate::btree::{Btree, Options};
use crate::cost::Prices;
use crate::cost::Work;
use crate::device::{CloudVolume, CloudVolumeSpec};
use crate::engine::{Commit, Engine, KeyLayout, WriteBatch};
use crate::error::Result;
use crate::metrics::{MetersSnapshot, Purpose};
use crate::run::simulation::{Observer, Simulation};
use crate::run::world::World;
use crate::scale::Scale;
use crate::storage::{MemoryStorage, SimulatedStorage, Storage};
use crate::task::{Admission, Signal, Task};
use parking_lot::Mutex;
use std::sync::Arc;

fn load(driven: &mut Driven, from: u32, to: u32) {
    for n in from..to {
        driven.put(format!("{n:08}").as_bytes(), &[7; 200]).unwrap();
    }
}

const POOL: &str = "page_size=4096 buffer_pool_size=4194304 redo_log_capacity=16777216";

/// Bytes of page writes, and of the doublewrite area, since the meters stood so.
fn doublewritten(storage: &MemoryStorage, before: &MetersSnapshot) -> (u64, u64) {
    let written = storage.meters().snapshot().since(before);
    let of = |purpose| written.of(purpose).written_bytes;
    (of(Purpose::PageFlush) + of(Purpose::Undo), of(Purpose::Doublewrite))
}

#[test]
fn the_doublewrite_area_doubles_writes_of_pages_that_are_not_fresh_and_of_all_in_mysql() {
    for (server, fresh, others) in
        [("server=mariadb", 0.0, 1.0), ("server=mysql", 1.0, 1.0), ("doublewrite=false", 0.0, 0.0)]
    {
        let (storage, mut driven) = Driven::fresh(&format!("{POOL} {server} io_capacity_max=100000"));
        driven.settle();
        let before = storage.meters().snapshot();
        // Keys alone: purge would write their pages once more.
        let key = |n: u32| format!("{n:0200}").into_bytes();
        (0..5000u32).for_each(|n| driven.put(&key(n), b"").unwrap());
        driven.settle();
        let (pages, guarded) = doublewritten(&storage, &before);
        assert!(pages > 1_000_000);
        // Beside the root, the directory and the map, all pages of a load are made during it.
        assert!((guarded as f64 / pages as f64 - fresh).abs() < 0.02, "{server}: {guarded} of {pages}");
        // But for new undo pages.
        let before = storage.meters().snapshot();
        let mut batch = WriteBatch::default();
        (0..5000u32).step_by(10).for_each(|n| batch.delete(&key(n)));
        driven.write(&mut batch, Commit::Configured).unwrap();
        driven.settle();
        let (pages, guarded) = doublewritten(&storage, &before);
        assert!(pages > 1_000_000 && (guarded as f64 / pages as f64 - others).abs() < 0.2, "{guarded} of {pages}");
        assert_meters_agree(&*storage);
    }
}

struct Unseen;

impl Observer for Unseen {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn tick(&mut self, _now_ns: u64) -> Result<()> {
        Ok(())
    }
}

/// Milliseconds of virtual time in which a thousand dirty pages and more are written back to a volume that takes 1 ms
/// for any request, however many there are.
fn settle_ms(text: &str) -> f64 {
    let volume = CloudVolume::new(CloudVolumeSpec {
        capacity_bytes: 1 << 40,
        iops: 1e9,
        mb_per_s: 1e9,
        request_bytes: 1 << 20,
        read_latency_us: 1000.0,
        write_latency_us: 1000.0,
    });
    let prices = Prices::of([0.0; Work::COUNT]);
    let world = Arc::new(Mutex::new(World::new(1, prices, Box::new(volume), Scale::FULL)));
    let storage = Arc::new(SimulatedStorage::new(Arc::default(), 1 << 40, 0, Scale::FULL));
    let signal = Arc::<Signal>::default();
    let mut task = Simulation::task(&world, 0, 0);
    let options = options(&format!("page_size=4096 buffer_pool_size=16777216 flush_log_at_trx_commit=0 {text}"));
    let engine = Btree::open(storage, options, KeyLayout::Plain, signal.clone(), &mut task).unwrap();
    // Keys alone: they leave nothing to purge.
    for n in 0..60_000u32 {
        let mut batch = WriteBatch::default();
        batch.put(format!("{n:0200}").as_bytes(), b"");
        engine.write(&mut task, &mut batch, Commit::Configured).unwrap();
    }
    assert!(engine.stats().details["dirty_pages"] > 1000.0);
    let mut simulation = Simulation::new(world, engine.clone(), signal, task.now_ns);
    simulation.settle(0, 1_000_000_000, &mut Unseen).unwrap();
    assert!(engine.stats().details["dirty_pages"] == 0.0);
    (simulation.now_ns() - task.now_ns) as f64 / 1e6
}

#[test]
fn so_many_doublewrite_batches_as_there_are_files_are_on_their_way_at_once() {
    let [one, two, four] = [1, 2, 4].map(|files| settle_ms(&format!("server=mysql doublewrite_files={files}")));
    assert!((1.7..2.1).contains(&(one / two)), "{one} ms, {two} ms with two");
    assert!((3.0..4.2).contains(&(one / four)), "{one} ms, {four} ms with four");
    let without = settle_ms("doublewrite=false");
    assert!(without < four, "{without} ms without a doublewrite area, {four} ms with four files");
}

#[test]
fn who_found_no_frame_waits_before_the_next_operation_until_the_cleaner_has_some() {
    let text = "page_size=4096 buffer_pool_size=2097152 redo_log_capacity=67108864 old_blocks_time=0";
    let (_, mut driven) = Driven::fresh(text);
    load(&mut driven, 0, 20_000);
    driven.settle();
    let mut n = 0u32;
    while !driven.task.has_to_ask() {
        let mut batch = WriteBatch::default();
        batch.put(format!("{:08}", n * 37 % 20_000).as_bytes(), &[8; 200]);
        driven.engine.write(&mut driven.task, &mut batch, Commit::Configured).unwrap();
        n += 1;
        assert!(n < 20_000, "the pool never runs out of frames");
    }
    assert_eq!(driven.detail("client_flushes"), 0.0, "the client takes a spare frame");
    assert_eq!(driven.engine.admit(&mut driven.task, 0).unwrap(), Admission::Wait);
    driven.run_jobs().unwrap();
    assert_eq!(driven.engine.admit(&mut driven.task, 0).unwrap(), Admission::Go);
    assert!(!driven.task.has_to_ask(), "it need not ask again");
}

#[test]
fn who_finds_no_spare_frame_either_writes_a_batch_and_in_mysql_a_page() {
    let flushed = |server: &str| {
        let (_, mut driven) = Driven::fresh(&format!("{POOL} redo_log_capacity=268435456 server={server}"));
        for n in 0u32.. {
            let mut batch = WriteBatch::default();
            batch.put(format!("{n:08}").as_bytes(), &[8; 200]);
            driven.engine.write(&mut driven.task, &mut batch, Commit::Configured).unwrap();
            if driven.detail("client_flushes") > 0.0 {
                break;
            }
        }
        driven.detail("pages_flushed") / driven.detail("client_flushes")
    };
    assert!((100.0..=128.0).contains(&flushed("mariadb")), "but for what the client itself has latched");
    assert_eq!(flushed("mysql"), 1.0);
}

#[test]
fn commits_sync_as_configured() {
    // Setting, then for 100 commits without time passing: log writes and syncs.
    for (setting, writes, syncs) in [(1, 100, 100), (2, 100, 0), (0, 0, 0)] {
        let (storage, mut driven) = Driven::fresh(&format!("{POOL} flush_log_at_trx_commit={setting}"));
        let before = storage.meters().snapshot();
        load(&mut driven, 0, 100);
        let redo = storage.meters().snapshot().since(&before).of(Purpose::Redo);
        assert_eq!((redo.writes, redo.syncs), (writes, syncs), "setting {setting}");
        driven.pass(1500).unwrap();
        // Purge has written too.
        driven.pass(1500).unwrap();
        let redo = storage.meters().snapshot().since(&before).of(Purpose::Redo);
        assert!(redo.syncs >= 1, "a second later the log is durable");
        assert_eq!(driven.engine.forest().store.redo.durable_lsn(), driven.engine.forest().store.redo.lsn());
    }
}

#[test]
fn a_synced_commit_is_durable_whatever_the_setting() {
    let (_, mut driven) = Driven::fresh(&format!("{POOL} flush_log_at_trx_commit=0"));
    let mut batch = WriteBatch::default();
    batch.put(b"k", b"v");
    driven.write(&mut batch, Commit::Synced).unwrap();
    assert_eq!(driven.engine.forest().store.redo.durable_lsn(), driven.engine.forest().store.redo.lsn());
}

#[test]
fn the_cleaner_flushes_io_capacity_pages_a_second_over_the_dirty_limit() {
    let (_, mut driven) = Driven::fresh(&format!(
        "{POOL} io_capacity=50 io_capacity_max=50 max_dirty_pages_pct=10 adaptive_flushing=false lru_scan_depth=100"
    ));
    load(&mut driven, 0, 3000);
    let before = driven.detail("pages_flushed");
    driven.pass(1000).unwrap();
    assert_eq!(driven.detail("pages_flushed") - before, 50.0);
    driven.pass(300).unwrap();
    assert_eq!(driven.detail("pages_flushed") - before, 50.0, "not before the next second");
}

#[test]
fn short_rounds_are_saved_up_for_a_burst() {
    let text = "page_size=4096 buffer_pool_size=67108864 io_capacity=1000 io_capacity_max=1000 \
                max_dirty_pages_pct=10 adaptive_flushing=false";
    let options = Options { scale: Scale::FULL.with_second_us(10_000), ..options(text) };
    let mut driven = Driven::open(Arc::new(MemoryStorage::new(Arc::default())), &options, KeyLayout::Plain).unwrap();
    load(&mut driven, 0, 60_000);
    let bursts = (0..100).map(|_| {
        let before = driven.detail("pages_flushed");
        driven.pass(10).unwrap();
        driven.detail("pages_flushed") - before
    });
    let bursts = bursts.filter(|pages| *pages > 0.0).collect::<Vec<_>>();
    // A doublewrite batch of 128 pages, in rounds of 10.
    assert_eq!(bursts, [130.0; 7]);
}

#[test]
fn writers_wait_when_the_log_is_full_and_go_on_when_it_was_flushed() {
    let (_, mut driven) = Driven::fresh(&format!("{TINY} buffer_pool_size=1048576"));
    let mut n = 0u32;
    while driven.engine.admit(&mut driven.task, 100).unwrap() == Admission::Go {
        let mut batch = WriteBatch::default();
        batch.put(&n.to_be_bytes(), &[1; 100]);
        driven.engine.write(&mut driven.task, &mut batch, Commit::Configured).unwrap();
        n += 1;
        assert!(n < 10_000, "the log never fills");
    }
    let share = driven.detail("checkpoint_age") / driven.detail("checkpoint_max_age");
    assert!(share > 0.95, "{share}");
    driven.run_jobs().unwrap();
    assert_eq!(driven.engine.admit(&mut driven.task, 100).unwrap(), Admission::Go);
}

#[test]
fn without_sync_flushing_writers_wait_for_the_cleaners_second() {
    let (_, mut driven) = Driven::fresh(&format!("{TINY} flush_sync=false adaptive_flushing=false"));
    let mut batch = WriteBatch::default();
    batch.put(b"k", &[1; 500]);
    while driven.engine.admit(&mut driven.task, 1500).unwrap() == Admission::Go {
        driven.engine.write(&mut driven.task, &mut batch, Commit::Configured).unwrap();
    }
    driven.pass(500).unwrap();
    assert_eq!(driven.engine.admit(&mut driven.task, 1500).unwrap(), Admission::Wait);
    driven.pass(500).unwrap();
    assert_eq!(driven.engine.admit(&mut driven.task, 1500).unwrap(), Admission::Go);
}

#[test]
fn a_write_that_was_not_asked_for_makes_its_own_room() {
    let (_, mut driven) = Driven::fresh(TINY);
    for n in 0..5000u32 {
        let mut batch = WriteBatch::default();
        batch.put(&n.to_be_bytes(), &[1; 100]);
        driven.engine.write(&mut driven.task, &mut batch, Commit::Configured).unwrap();
    }
    let mut huge = WriteBatch::default();
    (0..200u32).for_each(|n| huge.put(&n.to_be_bytes(), &[2; 1000]));
    assert!(
        driven
            .engine
            .write(&mut driven.task, &mut huge, Commit::Configured)
            .is_err_and(|e| matches!(e, crate::Error::Invalid { .. }))
    );
    assert!(driven.engine.check().is_ok());
}

#[test]
fn a_page_in_flight_may_change_and_stays_dirty() {
    let (storage, mut driven) = Driven::fresh(POOL);
    load(&mut driven, 0, 50);
    driven.engine.begin_settle(&mut driven.task).unwrap();
    let mut job = driven.engine.next_job(driven.task.now_ns).unwrap();
    job.run(&mut driven.task).unwrap();
    driven.put(b"00000007", b"changed in flight").unwrap();
    job.install(&mut driven.task).unwrap();
    assert!(driven.detail("dirty_pages") >= 1.0);
    driven.run_jobs().unwrap();
    assert!(driven.engine.is_settled());
    let crashed = storage.crash_clone(crate::storage::memory::CrashKeeps::Synced);
    let options = super::options(POOL);
    let mut again = Driven::open(std::sync::Arc::new(crashed), &options, crate::engine::KeyLayout::Plain).unwrap();
    assert_eq!(again.get(b"00000007").unwrap().unwrap(), b"changed in flight");
}

#[test]
fn a_pool_smaller_than_the_data_is_refilled_from_its_cold_end() {
    let (_, mut driven) = Driven::fresh("page_size=4096 buffer_pool_size=2097152 redo_log_capacity=67108864");
    for round in 0..20 {
        load(&mut driven, round * 1000, round * 1000 + 1000);
        driven.pass(1000).unwrap();
        assert!(driven.detail("free_pages") >= 16.0, "round {round}");
    }
    assert!(driven.detail("pages_evicted") > 500.0);
}

/// Pages written for each of so many updates that hit two thirds of the pool evenly.
fn pages_per_update(text: &str) -> f64 {
    let pool = "page_size=4096 buffer_pool_size=6291456 redo_log_capacity=268435456 io_capacity_max=10000";
    let (_, mut driven) = Driven::fresh(&format!("{pool} flush_log_at_trx_commit=0 {text}"));
    load(&mut driven, 0, 15_000);
    driven.settle();
    let before = driven.detail("pages_flushed");
    for n in 0..4000u32 {
        driven.put(format!("{:08}", n.wrapping_mul(2_654_435_761) % 15_000).as_bytes(), &[8; 200]).unwrap();
        driven.run_jobs().unwrap();
    }
    (driven.detail("pages_flushed") - before) / 4000.0
}

#[test]
fn a_scan_depth_of_the_whole_pool_has_it_written_and_freed_again_and_again() {
    let [small, large] = [100, 1536].map(|depth| pages_per_update(&format!("lru_scan_depth={depth}")));
    assert!(small < 0.05 && large > 0.5, "{small} pages an update, {large} with the larger depth");
    // MySQL's cleaner frees pages once a second only, and no time passes here.
    let mysql = pages_per_update("lru_scan_depth=1536 server=mysql");
    assert!(mysql < 0.05, "{mysql}");
}

#[test]
fn who_takes_one_of_the_last_free_frames_wakes_the_cleaner() {
    let text = "page_size=4096 buffer_pool_size=6291456 redo_log_capacity=268435456 flush_log_at_trx_commit=0 \
                lru_scan_depth=512";
    let signal = Arc::<Signal>::default();
    let mut task = Task::wall(0);
    let storage = Arc::new(MemoryStorage::new(Arc::default()));
    let engine = Btree::open(storage, options(text), KeyLayout::Plain, signal.clone(), &mut task).unwrap();
    let mut driven = Driven { engine, task };
    load(&mut driven, 0, 60_000);
    driven.settle();
    let before = driven.detail("pages_evicted");
    for n in 0..4000u32 {
        let seen = signal.ready_generation();
        driven.get(format!("{:08}", n.wrapping_mul(2_654_435_761) % 60_000).as_bytes()).unwrap();
        // No second ends, and nobody else looks after the cleaner.
        if signal.ready_generation() != seen {
            driven.run_jobs().unwrap();
        }
        assert!(driven.detail("free_pages") >= 255.0, "{} after {n} reads", driven.detail("free_pages"));
    }
    assert!(driven.detail("pages_evicted") - before > 1000.0);
}

#[test]
fn batches_of_a_small_pool_are_those_of_a_large_one() {
    let text = "page_size=16384 buffer_pool_size=6291456 redo_log_capacity=268435456 flush_log_at_trx_commit=0";
    let (storage, mut driven) = Driven::fresh(text);
    load(&mut driven, 0, 60_000);
    driven.settle();
    let (before, flushed) = (storage.meters().snapshot(), driven.detail("pages_flushed"));
    for n in 0..4000u32 {
        driven.put(format!("{:08}", n.wrapping_mul(2_654_435_761) % 60_000).as_bytes(), &[8; 200]).unwrap();
        driven.run_jobs().unwrap();
    }
    let batches = storage.meters().snapshot().since(&before).of(Purpose::Doublewrite).syncs as f64;
    let pages = (driven.detail("pages_flushed") - flushed) / batches;
    assert!((60.0..=128.0).contains(&pages), "{pages} pages a batch");
}

#[test]
fn inner_pages_stay_in_a_pool_full_of_dirty_leaves() {
    let text = "page_size=4096 buffer_pool_size=1048576 redo_log_capacity=67108864 old_blocks_time=0 lru_scan_depth=16 \
                second_us=1000";
    let (_, mut driven) = Driven::fresh(&format!("{text} flush_log_at_trx_commit=0"));
    load(&mut driven, 0, 16_000);
    let before = driven.detail("pages_read");
    for n in 0..4000u32 {
        let key = n.wrapping_mul(2_654_435_761) % 16_000;
        driven.put(format!("{key:08}").as_bytes(), &[8; 200]).unwrap();
    }
    let read = (driven.detail("pages_read") - before) / 4000.0;
    // The pool holds a quarter of the leaves, and some reads are of undo. Were clean pages taken before colder dirty
    // ones, each change would read the page above its leaf as well.
    assert!((0.6..1.05).contains(&read), "{read} pages read per change");
}

#[test]
fn a_scan_reads_the_next_extents_ahead() {
    for (threshold, ahead) in [(56, true), (0, false)] {
        let text = format!("page_size=4096 buffer_pool_size=2097152 read_ahead_threshold={threshold}");
        let (storage, mut driven) = Driven::fresh(&text);
        load(&mut driven, 0, 20_000);
        driven.engine.begin_settle(&mut driven.task).unwrap();
        driven.run_jobs().unwrap();
        let before = storage.meters().snapshot();
        let engine = driven.engine.clone();
        let mut cursor = engine.iterator(&mut driven.task).unwrap();
        cursor.seek(&mut driven.task, b"").unwrap();
        let mut found = 0;
        while cursor.valid() {
            found += 1;
            cursor.next(&mut driven.task).unwrap();
            driven.run_jobs().unwrap();
        }
        assert_eq!(found, 20_000);
        let read = storage.meters().snapshot().since(&before);
        assert_eq!(read.of(Purpose::ReadAhead).read_bytes > 1_000_000, ahead, "threshold {threshold}");
        assert_eq!(driven.detail("pages_read_ahead") > 100.0, ahead);
    }
}

#[test]
fn the_same_run_twice_ends_the_same() {
    let run = || {
        let (storage, mut driven) = Driven::fresh(TINY);
        load(&mut driven, 0, 3000);
        driven.pass(2500).unwrap();
        (driven.engine.stats(), storage.meters().snapshot(), driven.task.work())
    };
    assert!(run() == run());
}

//! The event queue, on an engine small enough to be calculated by hand: writes fill a buffer of 4 slots, and a job that
//! writes 1 MiB empties it.

use super::*;
use crate::cost::Prices;
use crate::cost::{Work, WorkCounts};
use crate::device::{CloudVolume, CloudVolumeSpec, DiskArray, DiskArraySpec};
use crate::engine::{Commit, EngineIterator, EngineStats, WriteBatch};
use crate::metrics::{Meters, Purpose};
use crate::scale::Scale;
use crate::session::charge_statements;
use crate::storage::FileOptions;
use crate::storage::{SimulatedStorage, Storage};
use crate::task::Pace;
use crate::task::{Serial, Stream};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const SLOTS: u64 = 4;

fn prices(unit_ns: &[f64; Work::COUNT]) -> Prices {
    Prices::of(*unit_ns)
}

struct Toy {
    storage: Arc<SimulatedStorage>,
    signal: Arc<Signal>,
    used: Arc<AtomicU64>,
    running: Arc<AtomicBool>,
}

struct Drain {
    storage: Arc<SimulatedStorage>,
    used: Arc<AtomicU64>,
    running: Arc<AtomicBool>,
}

impl Job for Drain {
    fn kind(&self) -> JobKind {
        JobKind::Flush
    }

    fn run(&mut self, task: &mut Task) -> Result<()> {
        let file = self.storage.create(task, "out", FileOptions::DIRECT)?;
        (0..4).try_for_each(|part| file.write_at(task, Purpose::Flush, part << 18, &vec![1; 1 << 18]))
    }

    fn install(self: Box<Self>, _task: &mut Task) -> Result<()> {
        self.used.store(0, Ordering::SeqCst);
        self.running.store(false, Ordering::SeqCst);
        Ok(())
    }
}

impl Engine for Toy {
    fn get(&self, _task: &mut Task, _key: &[u8], _value: &mut Vec<u8>) -> Result<bool> {
        Ok(false)
    }

    fn write(&self, task: &mut Task, _batch: &mut WriteBatch, _commit: Commit) -> Result<()> {
        task.charge(Work::Call, 1);
        if self.used.fetch_add(1, Ordering::SeqCst) + 1 == SLOTS {
            self.signal.wake();
        }
        Ok(())
    }

    fn iterator<'a>(&'a self, _task: &mut Task) -> Result<Box<dyn EngineIterator + 'a>> {
        Err(Error::Cancelled)
    }

    fn admit(&self, _task: &mut Task, _bytes: u64) -> Result<Admission> {
        Ok(if self.used.load(Ordering::SeqCst) < SLOTS { Admission::Go } else { Admission::Wait })
    }

    fn next_job(&self, _now_ns: u64) -> Option<Box<dyn Job>> {
        let due = self.used.load(Ordering::SeqCst) == SLOTS && !self.running.swap(true, Ordering::SeqCst);
        due.then(|| {
            let (storage, used, running) = (self.storage.clone(), self.used.clone(), self.running.clone());
            Box::new(Drain { storage, used, running }) as Box<dyn Job>
        })
    }

    fn next_timer(&self, _now_ns: u64) -> Option<u64> {
        None
    }

    fn background_threads(&self) -> usize {
        1
    }

    fn begin_settle(&self, _task: &mut Task) -> Result<()> {
        Ok(())
    }

    fn is_settled(&self) -> bool {
        !self.running.load(Ordering::SeqCst)
    }

    fn close(&self, _task: &mut Task) -> Result<()> {
        Ok(())
    }

    fn poison(&self, _error: &Error) {}

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn stats(&self) -> EngineStats {
        EngineStats::default()
    }
}

#[derive(Default)]
struct Writer {
    left: u64,
    ended: Vec<(u64, u64, u64)>,
}

struct Seated<'a> {
    writer: &'a mut Writer,
    engine: Arc<dyn Engine>,
}

impl Process for Seated<'_> {
    fn plan(&mut self, _now_ns: u64) -> Option<Arrival> {
        self.writer.left = self.writer.left.checked_sub(1)?;
        Some(Arrival { write_bytes: 100, earliest_ns: 0 })
    }

    fn execute(&mut self, task: &mut Task, _began_ns: u64) -> Result<()> {
        self.engine.write(task, &mut WriteBatch::default(), Commit::Configured)
    }

    fn ended(&mut self, began_ns: u64, ended_ns: u64, stalled_ns: u64) {
        self.writer.ended.push((began_ns, ended_ns, stalled_ns));
    }
}

#[derive(Default)]
struct Ticks(Vec<u64>);

impl Observer for Ticks {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn tick(&mut self, now_ns: u64) -> Result<()> {
        self.0.push(now_ns);
        Ok(())
    }
}

/// Stops the simulation after so many events.
struct Stop(Cell<u32>);

impl Observer for Stop {
    fn check(&self) -> Result<()> {
        let left = self.0.get().checked_sub(1).ok_or(Error::Cancelled)?;
        self.0.set(left);
        Ok(())
    }

    fn tick(&mut self, _now_ns: u64) -> Result<()> {
        Ok(())
    }
}

/// One core at 1 us per call, and a volume that takes 10 ms for the job's 1 MiB.
fn simulate(writers: &mut [Writer]) -> (Simulation, Ticks) {
    simulate_until(writers, u64::MAX)
}

fn simulate_until(writers: &mut [Writer], until_ns: u64) -> (Simulation, Ticks) {
    let mut ticks = Ticks::default();
    let (simulation, result) = simulate_under(writers, until_ns, &mut ticks);
    result.unwrap();
    (simulation, ticks)
}

fn simulate_under(writers: &mut [Writer], until_ns: u64, observer: &mut dyn Observer) -> (Simulation, Result<()>) {
    let (mut simulation, engine) = toy();
    let mut seated: Vec<Seated<'_>> =
        writers.iter_mut().map(|writer| Seated { writer, engine: engine.clone() }).collect();
    let mut clients: Vec<&mut dyn Process> = seated.iter_mut().map(|one| one as &mut dyn Process).collect();
    let result = simulation.run(&mut clients, until_ns, 1_000_000, observer);
    (simulation, result)
}

fn toy() -> (Simulation, Arc<dyn Engine>) {
    toy_that_turns_for(0)
}

fn toy_that_turns_for(turning_ns: u64) -> (Simulation, Arc<dyn Engine>) {
    let volume = CloudVolume::new(CloudVolumeSpec {
        capacity_bytes: 1 << 40,
        iops: 1e9,
        mb_per_s: 104.857_6,
        request_bytes: 1 << 20,
        read_latency_us: 0.0,
        write_latency_us: 0.0,
    });
    let mut cost_ns = [0.0; Work::COUNT];
    cost_ns[Work::Call as usize] = 1000.0;
    let prices = Prices { turning_ns, ..prices(&cost_ns) };
    let world = Arc::new(Mutex::new(World::new(1, prices, Box::new(volume), Scale::FULL)));
    let signal = Arc::<Signal>::default();
    let storage = Arc::new(SimulatedStorage::new(Arc::<Meters>::default(), 1 << 30, 0, Scale::FULL));
    let (used, running) = Default::default();
    let engine: Arc<dyn Engine> = Arc::new(Toy { storage, signal: signal.clone(), used, running });
    (Simulation::new(world, engine.clone(), signal, 0), engine)
}

#[test]
fn a_full_buffer_stalls_the_writer_until_the_job_is_replayed() {
    let mut writers = [Writer { left: 6, ..Writer::default() }];
    let (simulation, ticks) = simulate(&mut writers);
    let us = |n: u64| n * 1000;
    let full = us(4);
    assert_eq!(writers[0].ended[3], (us(3), us(4), 0));
    // The volume's 10 ms, to the nanosecond that the division loses.
    let (began, ended, stalled) = writers[0].ended[4];
    assert_eq!(began, full);
    assert!(stalled.abs_diff(us(10_000)) < 10, "{stalled}");
    assert_eq!(ended, full + stalled + us(1));
    assert_eq!(ticks.0.len(), 10);
    assert_eq!(simulation.now_ns(), ended + us(1));
}

#[test]
fn a_file_takes_space_as_its_job_is_replayed() {
    let unwritten_at = |until_ns| {
        let (simulation, _) = simulate_until(&mut [Writer { left: 6, ..Writer::default() }], until_ns);
        simulation.world.lock().unwritten_bytes()
    };
    // Each quarter takes 2.5 ms.
    assert_eq!([0, 4_000_000, 6_000_000, u64::MAX].map(unwritten_at), [0, 2 << 18, 1 << 18, 0]);
}

#[test]
fn clients_share_the_core_and_the_run_repeats_to_the_nanosecond() {
    let run = || {
        let mut writers: Vec<Writer> = (0..3).map(|_| Writer { left: 50, ..Writer::default() }).collect();
        let (simulation, _) = simulate(&mut writers);
        (simulation.now_ns(), writers.into_iter().map(|writer| writer.ended).collect::<Vec<_>>())
    };
    let (now_ns, ended) = run();
    assert!(now_ns >= 150 * 1000);
    assert_eq!(run(), (now_ns, ended));
}

fn unused_volume() -> CloudVolume {
    CloudVolume::new(CloudVolumeSpec {
        capacity_bytes: 1 << 40,
        iops: 1.0,
        mb_per_s: 1.0,
        request_bytes: 1,
        read_latency_us: 0.0,
        write_latency_us: 0.0,
    })
}

#[test]
fn a_round_trip_waits_without_a_core_and_is_no_part_of_the_server() {
    let mut cost_ns = [0.0; Work::COUNT];
    cost_ns[Work::RoundTrip as usize] = 400.0;
    cost_ns[Work::Statement as usize] = 600.0;
    let world =
        World::new(1, Prices { statement_wait_ns: 5000.0, ..prices(&cost_ns) }, Box::new(unused_volume()), Scale::FULL);
    let world = Arc::new(Mutex::new(world));
    let ends = [1, 2].map(|statements| {
        let mut task = Simulation::task(&world, 0, 0);
        charge_statements(&mut task, statements);
        task.settle();
        task.now_ns
    });
    let used = world.lock().cpu_use();
    assert_eq!((ends, used.ns, used.own_ns()), ([6_000, 13_000], 3_000, 1_800));
}

#[test]
fn a_client_is_colder_the_longer_its_server_computed_for_the_statement_before() {
    let mut cost_ns = [0.0; Work::COUNT];
    cost_ns[Work::RoundTrip as usize] = 400.0;
    cost_ns[Work::Statement as usize] = 600.0;
    cost_ns[Work::Call as usize] = 1.0;
    let cold = Prices { statement_cold_ns: 10_000.0, statement_cools_ns: 1e6, ..prices(&cost_ns) };
    let world = Arc::new(Mutex::new(World::new(1, cold, Box::new(unused_volume()), Scale::FULL)));
    let mut task = Simulation::task(&world, 0, 0);
    let mut takes = |statements, computes| {
        let before = task.now_ns;
        charge_statements(&mut task, statements);
        task.settle();
        let ends = task.now_ns;
        task.charge(Work::Call, computes);
        task.settle();
        ends - before
    };
    let first = takes(1, 999_400);
    let second = takes(1, 0);
    assert_eq!((first, second), (1000, 1000 + 6321), "(1 - 1/e) of 10 us");
    let third = takes(2, 0);
    assert_eq!(third, 2000 + 11, "the work of one of the two and of that before is between them");
    let used = world.lock().cpu_use();
    assert_eq!(used.ns, 1000 + 999_400 + 7321 + 2011);
    assert!(used.own_ns().abs_diff(4 * 600 + 999_400) <= 2, "the rest is the client's");
}

#[test]
fn a_phase_that_ends_between_two_ticks_is_not_ticked_after_its_end() {
    let mut writers = [Writer { left: 6, ..Writer::default() }];
    let (simulation, ticks) = simulate_until(&mut writers, 2_500_000);
    assert_eq!(ticks.0, [1_000_000, 2_000_000]);
    assert_eq!(simulation.now_ns(), 2_500_000);
}

#[test]
fn a_simulation_that_is_stopped_carries_out_no_further_event() {
    let mut writers = [Writer { left: 6, ..Writer::default() }];
    let (_, result) = simulate_under(&mut writers, u64::MAX, &mut Stop(Cell::new(3)));
    assert!(matches!(result, Err(Error::Cancelled)));
    assert_eq!(writers[0].ended.len(), 3);
}

fn done(turn: Turn) -> u64 {
    let Turn::Done(end_ns) = turn else { panic!("{turn:?}") };
    end_ns
}

#[test]
fn a_long_cpu_step_is_replayed_in_slices_that_add_up() {
    let mut world = World::new(1, prices(&[1.0; Work::COUNT]), Box::new(unused_volume()), Scale::FULL);
    let mut work = WorkCounts::default();
    work.count(Work::Call, 2_600_000);
    let mut asker = Asker { seat: Seat::of_job(0, 0, Scale::FULL), ..Asker::default() };
    let (mut now_ns, mut step, mut slices, mut is_over) = (0, Step::Cpu(Box::new(work)), 0, false);
    while !is_over {
        let turn;
        (turn, is_over) = replay(&mut world, now_ns, &mut step, &mut asker);
        now_ns = done(turn);
        slices += 1;
    }
    assert_eq!((now_ns, slices), (2_600_000, 26));
}

#[test]
fn a_job_of_a_copy_that_nobody_watches_is_replayed_in_fewer_pieces() {
    let costs = prices(&[1.0; Work::COUNT]);
    let world = World::new(1, costs, Box::new(unused_volume()), Scale::standing_for(100.0));
    let pieces_of = |calls: u64| {
        let mut work = WorkCounts::default();
        work.count(Work::Call, calls);
        let seat = world.seat_of_job(0, &[Step::Cpu(Box::new(work))]);
        [seat, seat.unwatched()].map(|seat| seat.piece_ns())
    };
    assert_eq!(pieces_of(12_800_000), [10_000, 80_000]);
    assert_eq!(pieces_of(128_000_000), [100_000, 100_000], "as at full size");
}

#[test]
fn a_read_takes_a_core_before_it_takes_the_drive() {
    let mut costs = [0.0; Work::COUNT];
    costs[Work::StorageWait as usize] = 20_000.0;
    let mut world = World::new(1, prices(&costs), Box::new(disks()), Scale::FULL);
    let read = Access::Read { address: 0, bytes: 4096 };
    let ask = |world: &mut World, now_ns, asker: &mut Asker| replay(world, now_ns, &mut Step::Io(read), asker).0;
    let free_ns = ask(&mut world_of_disks(1.0), 0, &mut Asker::default());
    let mut seats = [0, 1].map(|n| Asker { seat: Seat::of_client(n), ..Asker::default() });
    assert_eq!(done(ask(&mut world, 0, &mut seats[0])), 20_000 + done(free_ns));
    let Turn::Later(later_ns) = ask(&mut world, 0, &mut seats[1]) else { panic!("the core is the first one's") };
    assert!(later_ns > 20_000 && done(ask(&mut world, later_ns, &mut seats[1])) >= later_ns + 20_000);
    assert_eq!((world.cpu_use().ns, world.cpu_use().work.get(Work::StorageWait)), (40_000, 2));
}

#[test]
fn work_behind_a_read_that_was_waited_for_finds_cold_caches_until_it_has_filled_them() {
    let mut costs = [0.0; Work::COUNT];
    (costs[Work::Call as usize], costs[Work::ColdWork as usize]) = (1.0, 2.0);
    let mut world = World::new(1, prices(&costs), Box::new(disks()), Scale::FULL);
    let (mut now_ns, mut asker) = (0, Asker { seat: Seat::of_client(0), ..Asker::default() });
    let mut takes = |mut step| {
        let began_ns = now_ns;
        now_ns = done(replay(&mut world, now_ns, &mut step, &mut asker).0);
        now_ns - began_ns
    };
    let calls = || {
        let mut work = WorkCounts::default();
        work.count(Work::Call, 50_000);
        Step::Cpu(Box::new(work))
    };
    assert_eq!(takes(calls()), 50_000);
    takes(Step::Io(Access::Read { address: 0, bytes: 4096 }));
    assert_eq!(takes(calls()), 50_000 + 2 * 31_606, "(1 - 1/e) of 50 us");
    assert_eq!(takes(calls()), 50_000 + 2 * 11_627);
    assert_eq!((world.cpu_use().ns, world.cpu_use().work.get(Work::ColdWork)), (150_000 + 2 * 43_233, 43_233));
}

fn disks() -> DiskArray {
    DiskArray::new(DiskArraySpec {
        disks: 4,
        capacity_bytes: 1 << 40,
        stripe_bytes: 1 << 20,
        max_seek_us: 8000.0,
        min_seek_us: 500.0,
        rpm: 10_000.0,
        mb_per_s: 150.0,
        write_cache_bytes: 0,
    })
}

/// Disks that stand for `stands_for` times the data, and work that costs nothing.
fn world_of_disks(stands_for: f64) -> World {
    World::new(1, prices(&[0.0; Work::COUNT]), Box::new(disks()), Scale::standing_for(stands_for))
}

/// The time that each access takes a client.
fn client_times(stands_for: f64, accesses: &[Access]) -> Vec<u64> {
    let mut task = Simulation::task(&Arc::new(Mutex::new(world_of_disks(stands_for))), 0, 0);
    let mut time = |access: &Access| {
        let began_ns = task.now_ns;
        task.access(*access);
        task.now_ns - began_ns
    };
    accesses.iter().map(&mut time).collect()
}

/// The time that each access takes a job whose requests have 1 MiB.
fn job_times(stands_for: f64, accesses: &[Access]) -> Vec<u64> {
    let mut world = world_of_disks(stands_for);
    let stream = Stream { read_bytes: 1 << 20, write_bytes: 1 << 20 };
    let (mut now_ns, mut asker) = (0, Asker { stream: Some(stream), ..Asker::default() });
    let mut time = |access: &Access| {
        let (turn, is_over) = replay(&mut world, now_ns, &mut Step::Io(*access), &mut asker);
        assert!(is_over);
        let done_ns = done(turn);
        done_ns - std::mem::replace(&mut now_ns, done_ns)
    };
    accesses.iter().map(&mut time).collect()
}

const FAR: u64 = 1 << 36;

/// A write, a sync and a read elsewhere.
fn round(bytes: u64) -> [Access; 3] {
    let write = Access::Write { address: FAR, bytes, pace: Pace::Acknowledged };
    [write, Access::Sync, Access::Read { address: 0, bytes }]
}

#[test]
fn a_job_of_a_smaller_copy_pays_seeks_and_syncs_by_what_it_stands_for() {
    let full = job_times(1.0, &round(1 << 20));
    for times in [4, 16, 256] {
        let small = job_times(times as f64, &round((1 << 20) / times));
        for (full, small) in full.iter().zip(small) {
            // The heads come from places that lie a few requests apart.
            assert!((small * times).abs_diff(*full) < full / 1000, "{small} x {times} is not {full}");
        }
    }
}

#[test]
fn a_request_of_its_full_size_pays_all_of_a_seek_whatever_the_job_stands_for() {
    let [write, _, read] = round(1 << 20);
    assert_eq!(job_times(100.0, &[write, read]), job_times(1.0, &[write, read]));
}

#[test]
fn a_record_that_is_as_small_at_full_size_pays_by_the_job() {
    let [full, small] = [1.0, 50.0].map(|stands_for| job_times(stands_for, &round(100))[0]);
    assert!((small * 50).abs_diff(full) < 50_000, "the transfer of 100 bytes takes less than a microsecond");
}

#[test]
fn a_job_that_stands_for_itself_pays_what_a_client_pays() {
    assert_eq!(job_times(1.0, &round(4096)), client_times(1.0, &round(4096)));
}

#[test]
fn a_client_pays_in_full_whatever_the_data_stands_for() {
    assert_eq!(client_times(1000.0, &round(16384)), client_times(1.0, &round(16384)));
}

#[test]
fn the_next_sync_waits_for_what_the_task_queued_and_for_nothing_that_another_did() {
    let world = || Arc::new(Mutex::new(world_of_disks(1.0)));
    let four_pages = |world: &Arc<Mutex<World>>, pace| {
        let mut task = Simulation::task(world, 0, 0);
        for disk in 0..4 {
            task.access(Access::Write { address: (disk << 20) + (1 << 30), bytes: 16384, pace });
        }
        task.access(Access::Sync);
        task.now_ns
    };
    let shared = world();
    let queued = four_pages(&shared, Pace::Queued);
    assert!(four_pages(&world(), Pace::Acknowledged) > 2 * queued, "the disks seek at the same time");
    let mut other = Simulation::task(&shared, 1, 0);
    other.access(Access::Sync);
    assert!(other.now_ns < queued);
}

#[test]
fn a_sync_waits_for_bytes_that_went_back_before_it_and_not_for_later_ones() {
    let world = Arc::new(Mutex::new(world_of_disks(1.0)));
    let at = |now_ns, accesses: &[Access]| {
        let mut task = Simulation::task(&world, 0, now_ns);
        for access in accesses {
            task.access(*access);
        }
        task.now_ns
    };
    let megabytes = Access::Write { address: 0, bytes: 8 << 20, pace: Pace::Buffered };
    at(1_000_000_000, &[megabytes]);
    let earlier = at(500_000_000, &[Access::Sync]);
    assert!(earlier < 600_000_000, "{earlier}");
    let later = at(1_000_000_001, &[Access::Sync]);
    assert!(later > 1_015_000_000, "{later}");
}

/// A client with one operation, which reads so many pages one after the other, in a line if it has one.
struct Reader {
    at_ns: Option<u64>,
    reads: u64,
    line: Option<Arc<Serial<()>>>,
    /// When its operation ended, and when what it left for its end was done.
    ended_ns: u64,
    then_ns: Arc<AtomicU64>,
}

impl Reader {
    fn new(at_ns: u64, reads: u64) -> Self {
        Self { at_ns: Some(at_ns), reads, line: None, ended_ns: 0, then_ns: Arc::default() }
    }

    fn in_line(self, line: &Arc<Serial<()>>) -> Self {
        Self { line: Some(line.clone()), ..self }
    }

    fn read(&self, task: &mut Task) {
        (0..self.reads).for_each(|page| task.access(Access::Read { address: page << 20, bytes: 1 << 20 }));
    }
}

impl Process for Reader {
    fn plan(&mut self, _now_ns: u64) -> Option<Arrival> {
        self.at_ns.take().map(|earliest_ns| Arrival { write_bytes: 0, earliest_ns })
    }

    fn execute(&mut self, task: &mut Task, _began_ns: u64) -> Result<()> {
        match &self.line {
            Some(line) => line.with(task, |task, ()| self.read(task)),
            None => self.read(task),
        }
        let then_ns = self.then_ns.clone();
        task.then(move |task| {
            then_ns.store(task.now_ns, Ordering::SeqCst);
            Ok(())
        })
    }

    fn ended(&mut self, _began_ns: u64, ended_ns: u64, _stalled_ns: u64) {
        self.ended_ns = ended_ns;
    }
}

const MS: u64 = 1_000_000;

/// Milliseconds at which the operations end, on the volume that takes 10 ms for a read.
fn ends(readers: &mut [Reader]) -> Vec<u64> {
    ends_in(&mut toy().0, readers)
}

fn ends_in(simulation: &mut Simulation, readers: &mut [Reader]) -> Vec<u64> {
    let mut clients: Vec<&mut dyn Process> = readers.iter_mut().map(|one| one as &mut dyn Process).collect();
    simulation.run(&mut clients, u64::MAX, MS, &mut Ticks::default()).unwrap();
    readers.iter().map(|reader| (reader.ended_ns + MS / 2) / MS).collect()
}

#[test]
fn requests_reach_the_device_in_the_order_of_their_times() {
    assert_eq!(ends(&mut [Reader::new(0, 3), Reader::new(5 * MS, 1)]), [40, 20]);
}

#[test]
fn an_operation_does_what_it_left_for_its_end_when_its_steps_have_taken_their_time() {
    let mut readers = [Reader::new(0, 3), Reader::new(5 * MS, 1)];
    ends(&mut readers);
    assert_eq!(readers.map(|reader| (reader.then_ns.load(Ordering::SeqCst) + MS / 2) / MS), [40, 20]);
}

#[test]
fn clients_have_their_turns_in_the_order_in_which_they_come() {
    let line = Arc::<Serial<()>>::default();
    let mut readers = [Reader::new(2 * MS, 1), Reader::new(0, 2), Reader::new(3 * MS, 1)].map(|one| one.in_line(&line));
    assert_eq!(ends(&mut readers), [30, 20, 40]);
}

#[test]
fn a_client_in_a_line_that_nobody_leaves_fails_the_run() {
    let line = Arc::<Serial<()>>::default();
    let (mut simulation, _) = toy();
    let mut task = Simulation::task(&simulation.world, 1, 0);
    task.begin_operation(Vec::new());
    line.with(&mut task, |_, ()| ());
    for step in task.end_operation() {
        if let Step::Enter(turns) = step {
            assert!(turns.enter(usize::MAX));
        }
    }
    let mut reader = Reader::new(0, 1).in_line(&line);
    let ended = simulation.run(&mut [&mut reader], u64::MAX, MS, &mut Ticks::default());
    assert!(matches!(ended, Err(Error::Poisoned { .. })), "{ended:?}");
}

#[test]
fn clients_that_turn_hold_their_core_until_they_sleep_or_have_their_turns() {
    let line = Arc::<Serial<()>>::default();
    let busy_ms = |at: [u64; 3], turning_ns: u64| {
        let (mut simulation, _) = toy_that_turns_for(turning_ns);
        let world = simulation.world.clone();
        let mut readers = at.map(|at| Reader::new(at * MS, 1).in_line(&line));
        let ends = ends_in(&mut simulation, &mut readers);
        let busy_ns = world.lock().cpu_use().ns;
        (ends, (busy_ns + MS / 2) / MS)
    };
    assert_eq!(busy_ms([0, 1, 50], 0), (vec![10, 20, 60], 0), "nobody waits on a core");
    assert_eq!(busy_ms([0, 1, 50], 4 * MS), (vec![10, 20, 60], 4), "the second turns, and sleeps for the rest");
    assert_eq!(busy_ms([0, 8, 50], 4 * MS), (vec![10, 20, 60], 2), "until its turn comes; the last waits for nobody");
    assert_eq!(busy_ms([0, 1, 2], 4 * MS), (vec![10, 20, 30], 8), "both, behind one another on the only core");
}

#[test]
fn an_operation_that_began_before_the_end_of_a_phase_is_finished() {
    let mut reader = Reader::new(0, 3);
    let (mut simulation, _) = toy();
    simulation.run(&mut [&mut reader as &mut dyn Process], 5 * MS, MS, &mut Ticks::default()).unwrap();
    assert_eq!(((reader.ended_ns + MS / 2) / MS, simulation.now_ns()), (30, 5 * MS));
}

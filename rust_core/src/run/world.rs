//! What all tasks of a simulation share: cores and a device.

use super::cores::{Cores, Seat, Thread, Turn};
use crate::cost::{CpuUse, Prices, Work, WorkCounts};
use crate::device::{Device, DeviceStats, Request};
use crate::scale::Scale;
use crate::storage::simulated::WRITE_BACK_BYTES;
use crate::task::queues::MEMORY_NS;
use crate::task::{Access, Charge, Pace, Step, Stream};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// The operating system lets a writer run ahead of the device by this much before it makes the writer wait.
const WRITE_BACK_LEAD_NS: u64 = 200_000_000;

/// Nanoseconds of work after which the caches of a core lack one part in e of what a thread needs that had waited.
/// Assumption, about a statement of a server: until then what was calibrated on an Intel Sapphire Rapids is nearly in
/// proportion to the work. A read made what followed take 14 us longer where that was 8 us of RocksDB's work, 48 of 40
/// in InnoDB's point selects, 83 of 50 in MyRocks'.
const CACHES_FILL_NS: f64 = 50_000.0;
/// Below it caches count as warm.
const LEAST_COLD: f64 = 1e-3;

/// Cores and a device, shared by all tasks of a simulation.
pub struct World {
    cores: Cores,
    prices: Prices,
    /// What the cores did so far.
    done: WorkCounts,
    /// The part of it that was the clients' of servers.
    clients_ns: f64,
    device: Box<dyn Device>,
    /// A replayed job holds the device for at most this many bytes at once.
    turn_bytes: u64,
    /// What the data stands for, and so a job with a stream.
    scale: Scale,
    written_back: WrittenBack,
    /// Bytes of new files that jobs have still to write: a job executes at once, and its files are there from then on.
    pub(super) unwritten_bytes: u64,
}

impl World {
    /// So many idle cores that work at these prices, and an idle device, for data at this scale.
    pub fn new(cores: usize, prices: Prices, device: Box<dyn Device>, scale: Scale) -> Self {
        let turn_bytes = device.turn_bytes();
        let (cores, done) = (Cores::new(cores), WorkCounts::default());
        let (written_back, unwritten_bytes) = (WrittenBack::default(), 0);
        Self { cores, prices, done, clients_ns: 0.0, device, turn_bytes, scale, written_back, unwritten_bytes }
    }

    /// A machine in the same state, which goes its own way from here.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self {
            cores: self.cores.clone(),
            prices: self.prices.clone(),
            done: self.done.clone(),
            clients_ns: self.clients_ns,
            device: self.device.fork(),
            turn_bytes: self.turn_bytes,
            scale: self.scale,
            written_back: self.written_back.clone(),
            unwritten_bytes: self.unwritten_bytes,
        }
    }

    /// What the data stands for.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// How long a client whose turn has not come turns on its core.
    pub(super) fn turning_ns(&self) -> u64 {
        self.prices.turning_ns
    }

    /// A client that waits holds its core for so long, and computes nothing; one that `offers` it may lose it.
    pub(super) fn hold_core(&mut self, now_ns: u64, service_ns: u64, offers: bool, asker: &mut Asker) -> Turn {
        if offers {
            self.cores.offer(&mut asker.seat, now_ns);
        }
        self.cores.serve(&mut asker.seat, now_ns, service_ns)
    }

    /// See [`Cores::take_woken`].
    pub(super) fn take_woken(&mut self) -> Vec<(Thread, u64)> {
        self.cores.take_woken()
    }

    /// See [`Cores::forget_waiting`].
    pub(super) fn forget_waiting(&mut self) {
        self.cores.forget_waiting();
    }

    /// The seat of a job that consists of these steps.
    pub(super) fn seat_of_job(&self, n: usize, steps: &[Step]) -> Seat {
        let cpu_ns = steps.iter().map(|step| if let Step::Cpu(work) = step { self.work_ns(work) } else { 0 }).sum();
        Seat::of_job(n, cpu_ns, self.scale)
    }

    fn work_ns(&self, work: &WorkCounts) -> u64 {
        work.counted().map(|(kind, units)| units as f64 * self.prices.unit_ns[kind]).sum::<f64>() as u64
    }

    fn wait_ns(&self, work: &WorkCounts) -> u64 {
        (work.get(Work::RoundTrip) as f64 * self.prices.statement_wait_ns) as u64
    }

    /// What `work` of a task takes that is worth `work_ns`, and how much of that is its client's of a server: a
    /// statement is charged before the server's work for it, so that of several at once all but the last are behind
    /// their work.
    fn service(&self, work: &WorkCounts, work_ns: u64, asker: &Asker) -> Service {
        let statements = work.get(Work::RoundTrip) as f64;
        let clients_ns = statements * self.prices.unit_ns[Work::RoundTrip as usize];
        let warm_ns = work_ns as f64 - clients_ns;
        let (cold, coldness) = self.cold_part(warm_ns, asker.coldness);
        let own_ns = warm_ns + cold * self.prices.unit_ns[Work::ColdWork as usize];
        if statements == 0.0 {
            let served_ns = asker.served_ns + own_ns;
            return Service { ns: own_ns as u64, clients_ns: 0.0, served_ns, cold, coldness };
        }
        let last_ns = own_ns / statements;
        let served_ns = (asker.served_ns + last_ns * (statements - 1.0)) / statements;
        let clients_ns = clients_ns + statements * self.prices.cold_ns(served_ns);
        Service { ns: (own_ns + clients_ns) as u64, clients_ns, served_ns: last_ns, cold, coldness }
    }

    /// The part of so much work that finds cold caches, and how cold they are afterwards.
    fn cold_part(&self, warm_ns: f64, coldness: f64) -> (f64, f64) {
        if coldness == 0.0 || self.prices.unit_ns[Work::ColdWork as usize] == 0.0 {
            return (0.0, 0.0);
        }
        let left = coldness * libm::exp(-warm_ns / CACHES_FILL_NS);
        ((coldness - left) * CACHES_FILL_NS, if left < LEAST_COLD { 0.0 } else { left })
    }

    /// Does `work` of a task that is worth `work_ns`, with what passes in its round trips.
    fn cpu(&mut self, now_ns: u64, work: &WorkCounts, work_ns: u64, asker: &mut Asker) -> Turn {
        let service = self.service(work, work_ns, asker);
        let turn = self.core(now_ns, service.ns, asker);
        let Turn::Done(done_ns) = turn else { return turn };
        self.note(work, &service, asker);
        Turn::Done(done_ns + self.wait_ns(work))
    }

    fn note(&mut self, work: &WorkCounts, service: &Service, asker: &mut Asker) {
        self.done.add(work);
        if service.cold > 0.0 {
            self.done.count(Work::ColdWork, service.cold.round() as u64);
        }
        self.clients_ns += service.clients_ns;
        asker.served_ns = service.served_ns;
        asker.coldness = service.coldness;
    }

    fn core(&mut self, now_ns: u64, service_ns: u64, asker: &mut Asker) -> Turn {
        if service_ns > 0 {
            return self.cores.serve(&mut asker.seat, now_ns, service_ns);
        }
        self.cores.leave(&asker.seat, now_ns);
        Turn::Done(now_ns)
    }

    /// A client needs no core for now: it sleeps, or has ended its operation.
    pub(super) fn leave_core(&mut self, now_ns: u64, asker: &Asker) {
        self.cores.leave(&asker.seat, now_ns);
    }

    /// The part of its latency that a transfer pays. A job of a smaller copy of the data takes as many requests and
    /// syncs as one of the full size for fewer bytes, so it would pay as much latency for each as the other pays for
    /// many. Its requests pay by the bytes that a request has at full size, or by the job where they are one request
    /// there too. So do those of the operating system, which writes buffered bytes back in smaller pieces.
    fn latency_share(&self, bytes: u64, whole_bytes: Option<u64>) -> f64 {
        let Some(whole) = whole_bytes else { return 1.0 };
        let whole = whole.clamp(1, self.turn_bytes);
        (bytes as f64 / whole as f64).max(self.scale.least_latency_share()).min(1.0)
    }

    /// What the operating system computes for an access: of a read, or of a write that its thread queues, and of one
    /// that stands for part of another its part.
    fn access_ns(&mut self, now_ns: u64, access: Access, asker: &Asker) -> u64 {
        let (bytes, known_ns, whole_bytes) = match access {
            Access::Read { bytes, .. } => {
                (bytes, self.device.read_cpu_ns(now_ns, bytes), asker.stream.map(|stream| stream.read_bytes))
            }
            Access::Write { bytes, pace: Pace::Queued, .. } => {
                (bytes, self.device.queued_cpu_ns(now_ns, bytes), asker.stream.map(|stream| stream.write_bytes))
            }
            _ => return 0,
        };
        let full_ns = known_ns.map_or(self.prices.unit_ns[Work::StorageWait as usize], |ns| ns as f64);
        (full_ns * self.latency_share(bytes, whole_bytes)) as u64
    }

    /// Performs an access of a task.
    fn io(&mut self, now_ns: u64, access: Access, asker: &mut Asker) -> Turn {
        let service_ns = self.access_ns(now_ns, access, asker);
        match self.core(now_ns, service_ns, asker) {
            Turn::Done(asked_ns) => {
                asker.served_ns += service_ns as f64;
                Turn::Done(self.transfer(asked_ns, access, asker))
            }
            later => later,
        }
    }

    fn core_at_once(&mut self, now_ns: u64, service_ns: u64, asker: &mut Asker) -> u64 {
        if service_ns == 0 { now_ns } else { self.cores.serve_at_once(&mut asker.seat, now_ns, service_ns) }
    }

    fn transfer(&mut self, now_ns: u64, access: Access, asker: &mut Asker) -> u64 {
        match access {
            Access::Read { address, bytes } => {
                self.done.count(Work::StorageWait, 1);
                asker.coldness = 1.0;
                let latency_share = self.latency_share(bytes, asker.stream.map(|stream| stream.read_bytes));
                self.device.read(now_ns, Request { address, bytes, latency_share })
            }
            Access::Write { address, bytes, pace } => {
                let whole_bytes = match pace {
                    Pace::Buffered => Some(WRITE_BACK_BYTES),
                    _ => asker.stream.map(|stream| stream.write_bytes),
                };
                let latency_share = self.latency_share(bytes, whole_bytes);
                let done = self.device.write(now_ns, Request { address, bytes, latency_share });
                match pace {
                    Pace::Acknowledged => done,
                    Pace::Queued => {
                        self.done.count(Work::StorageWait, 1);
                        asker.queued_ns = done.max(asker.queued_ns);
                        now_ns
                    }
                    Pace::Buffered => {
                        self.written_back.note(now_ns, done);
                        now_ns.max(done.saturating_sub(WRITE_BACK_LEAD_NS))
                    }
                }
            }
            Access::Sync => {
                let written_ns = self.written_back.done_ns(now_ns).max(asker.queued_ns);
                let share = self.latency_share(0, asker.stream.map(|stream| stream.write_bytes));
                self.device.sync(written_ns, share)
            }
            Access::Trim { address, bytes } => {
                self.device.trim(address, bytes);
                now_ns
            }
        }
    }

    /// What the device counted.
    pub fn device_stats(&self) -> DeviceStats {
        self.device.stats()
    }

    /// Bytes of files that are there already, but that the jobs that make them have still to write.
    pub fn unwritten_bytes(&self) -> u64 {
        self.unwritten_bytes
    }

    /// What all cores did, and for how long.
    pub fn cpu_use(&self) -> CpuUse {
        CpuUse { ns: self.cores.busy_ns(), clients_ns: self.clients_ns as u64, work: self.done.clone() }
    }
}

/// What the operating system wrote back lately: when it began and when the device had it, in the order of the
/// beginnings. What an operation does at its end executes whole, so some begin after the time of the task that asks.
#[derive(Debug, Clone, Default)]
struct WrittenBack {
    pieces: VecDeque<(u64, u64)>,
}

impl WrittenBack {
    /// The device takes pieces nearly in the order of their beginnings, so the last of them to begin are the last to
    /// end.
    const LAST: usize = 8;

    fn note(&mut self, begin_ns: u64, end_ns: u64) {
        let at = self.pieces.partition_point(|(begin, _)| *begin <= begin_ns);
        self.pieces.insert(at, (begin_ns, end_ns));
        while self.pieces.front().is_some_and(|(_, end)| end + MEMORY_NS < begin_ns) {
            self.pieces.pop_front();
        }
    }

    /// When the device has all that was written back until `now_ns`, at the earliest then.
    fn done_ns(&self, now_ns: u64) -> u64 {
        let begun = self.pieces.partition_point(|(begin, _)| *begin <= now_ns);
        let last = self.pieces.range(begun.saturating_sub(Self::LAST)..begun);
        last.map(|(_, end)| *end).fold(now_ns, u64::max)
    }
}

/// Who asks: what it takes from one access to the next.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asker {
    /// Where its thread was.
    pub seat: Seat,
    /// When the writes that the task queued will all be done.
    pub queued_ns: u64,
    /// How its job moves files.
    pub stream: Option<Stream>,
    /// What a server computed for a client since that sent its last statement, nanoseconds.
    pub served_ns: f64,
    /// How cold it finds the caches of its core: 1 behind a read that it waited for.
    pub coldness: f64,
}

/// What work of a task takes.
struct Service {
    ns: u64,
    /// Of it.
    clients_ns: f64,
    /// What its asker's `served_ns` is afterwards.
    served_ns: f64,
    /// Units of [`Work::ColdWork`].
    cold: f64,
    /// What its asker's `coldness` is afterwards.
    coldness: f64,
}

/// A task's way into the world.
pub(super) struct Ticket {
    pub world: Arc<Mutex<World>>,
    pub asker: Arc<Mutex<Asker>>,
}

impl Charge for Ticket {
    fn cpu(&mut self, now_ns: u64, work: &WorkCounts) -> u64 {
        let (mut world, mut asker) = (self.world.lock(), self.asker.lock());
        let (service, wait_ns) = (world.service(work, world.work_ns(work), &asker), world.wait_ns(work));
        world.note(work, &service, &mut asker);
        world.core_at_once(now_ns, service.ns, &mut asker) + wait_ns
    }

    fn io(&mut self, now_ns: u64, access: Access) -> u64 {
        let (mut world, mut asker) = (self.world.lock(), self.asker.lock());
        let service_ns = world.access_ns(now_ns, access, &asker);
        let asked_ns = world.core_at_once(now_ns, service_ns, &mut asker);
        world.transfer(asked_ns, access, &mut asker)
    }
}

/// Replays the first chunk or slice of a step of a job, or of a client as a whole, and leaves the rest of it: all of it
/// where there is no core for it yet. Says when it is done, and whether nothing is left.
pub(super) fn replay(world: &mut World, now_ns: u64, step: &mut Step, asker: &mut Asker) -> (Turn, bool) {
    match step {
        Step::Cpu(work) => {
            let work_ns = world.work_ns(work);
            let Some((slice, slice_ns)) = slice_of(world, work, work_ns, asker) else {
                let turn = world.cpu(now_ns, work, work_ns, asker);
                return (turn, turn.is_done());
            };
            let turn = world.cpu(now_ns, &slice, slice_ns, asker);
            if turn.is_done() {
                work.subtract(&slice);
            }
            (turn, false)
        }
        Step::Io(access) => {
            let (first, rest) = if asker.seat.is_job() { parted(*access, world.turn_bytes) } else { (*access, None) };
            let turn = world.io(now_ns, first, asker);
            if let (true, Some(rest)) = (turn.is_done(), rest) {
                *access = rest;
                return (turn, false);
            }
            (turn, turn.is_done())
        }
        Step::Enter(_) | Step::Leave(_) | Step::Join(_) | Step::Then(_) => (Turn::Done(now_ns), true),
    }
}

/// What fills a slice of a job's work of so many nanoseconds, and how long it takes; `None` for all of it.
fn slice_of(world: &World, work: &WorkCounts, work_ns: u64, asker: &Asker) -> Option<(WorkCounts, u64)> {
    if !asker.seat.is_job() {
        return None;
    }
    let piece_ns = asker.seat.piece_ns();
    if work_ns <= piece_ns {
        return None;
    }
    let slice = work.part(work_ns.div_ceil(piece_ns));
    let slice_ns = world.work_ns(&slice);
    (slice_ns > 0).then_some((slice, slice_ns))
}

/// The first so many bytes of an access, and the rest.
fn parted(access: Access, most: u64) -> (Access, Option<Access>) {
    match access {
        Access::Read { address, bytes } if bytes > most => {
            (Access::Read { address, bytes: most }, Some(Access::Read { address: address + most, bytes: bytes - most }))
        }
        Access::Write { address, bytes, pace } if bytes > most => (
            Access::Write { address, bytes: most, pace },
            Some(Access::Write { address: address + most, bytes: bytes - most, pace }),
        ),
        whole => (whole, None),
    }
}

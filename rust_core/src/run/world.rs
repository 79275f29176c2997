//! What all tasks of a simulation share: cores and a device.

use super::cores::{Cores, SLICE_NS, Seat};
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

/// Cores and a device, shared by all tasks of a simulation.
pub struct World {
    cores: Cores,
    prices: Prices,
    /// What the cores did so far.
    done: WorkCounts,
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
        Self { cores, prices, done, device, turn_bytes, scale, written_back, unwritten_bytes }
    }

    /// A machine in the same state, which goes its own way from here.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self {
            cores: self.cores.clone(),
            prices: self.prices.clone(),
            done: self.done.clone(),
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

    /// A client holds its core for so long, and computes nothing.
    pub(super) fn hold_core(&mut self, now_ns: u64, service_ns: u64, asker: &mut Asker) -> u64 {
        self.cores.serve(&mut asker.seat, now_ns, service_ns)
    }

    fn work_ns(&self, work: &WorkCounts) -> u64 {
        work.counted().map(|(kind, units)| units as f64 * self.prices.unit_ns[kind]).sum::<f64>() as u64
    }

    fn wait_ns(&self, work: &WorkCounts) -> u64 {
        (work.get(Work::RoundTrip) as f64 * self.prices.statement_wait_ns) as u64
    }

    /// Does `work`, which takes `service_ns` where `serve` finds a core.
    fn cpu(&mut self, now_ns: u64, work: &WorkCounts, service_ns: u64, seat: &mut Seat, serve: Serve) -> u64 {
        self.done.add(work);
        if service_ns == 0 { now_ns } else { serve(&mut self.cores, seat, now_ns, service_ns) }
    }

    /// Does a client's `work`, with what passes in its round trips.
    pub(super) fn client_cpu(&mut self, now_ns: u64, work: &WorkCounts, asker: &mut Asker) -> u64 {
        let service_ns = self.work_ns(work);
        self.cpu(now_ns, work, service_ns, &mut asker.seat, Cores::serve) + self.wait_ns(work)
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

    /// Does what the operating system computes for a read, of which one that stands for part of another pays its part.
    fn read_cpu(&mut self, now_ns: u64, bytes: u64, share: f64, seat: &mut Seat, serve: Serve) -> u64 {
        let known_ns = self.device.read_cpu_ns(now_ns, bytes).map(|ns| ns as f64);
        let full_ns = known_ns.unwrap_or(self.prices.unit_ns[Work::StorageWait as usize]);
        let service_ns = (full_ns * share) as u64;
        self.done.count(Work::StorageWait, 1);
        if service_ns == 0 { now_ns } else { serve(&mut self.cores, seat, now_ns, service_ns) }
    }

    /// Performs an access of a task that `serve` gives its cores.
    pub(super) fn io(&mut self, now_ns: u64, access: Access, asker: &mut Asker, serve: Serve) -> u64 {
        match access {
            Access::Read { address, bytes } => {
                let latency_share = self.latency_share(bytes, asker.stream.map(|stream| stream.read_bytes));
                let asked_ns = self.read_cpu(now_ns, bytes, latency_share, &mut asker.seat, serve);
                self.device.read(asked_ns, Request { address, bytes, latency_share })
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
        let clients_ns = self.done.get(Work::RoundTrip) as f64 * self.prices.unit_ns[Work::RoundTrip as usize];
        CpuUse { ns: self.cores.busy_ns(), clients_ns: clients_ns as u64, work: self.done.clone() }
    }
}

/// How a task gets time of a core: from when, for how long, and until when that is.
pub(super) type Serve = fn(&mut Cores, &mut Seat, u64, u64) -> u64;

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
}

/// A task's way into the world.
pub(super) struct Ticket {
    pub world: Arc<Mutex<World>>,
    pub asker: Asker,
}

impl Charge for Ticket {
    fn cpu(&mut self, now_ns: u64, work: &WorkCounts) -> u64 {
        self.world.lock().client_cpu(now_ns, work, &mut self.asker)
    }

    fn io(&mut self, now_ns: u64, access: Access) -> u64 {
        self.world.lock().io(now_ns, access, &mut self.asker, Cores::serve)
    }
}

/// Replays the first chunk or slice of a step, and returns the time after it and what is left.
pub(super) fn replay(world: &mut World, now_ns: u64, step: Step, asker: &mut Asker) -> (u64, Option<Step>) {
    match step {
        Step::Cpu(work) => {
            let service_ns = world.work_ns(&work);
            if service_ns > SLICE_NS {
                let (slice, rest) = work.split(service_ns.div_ceil(SLICE_NS));
                let slice_ns = world.work_ns(&slice);
                if slice_ns > 0 {
                    let now_ns = world.cpu(now_ns, &slice, slice_ns, &mut asker.seat, Cores::serve_slice);
                    return (now_ns, Some(Step::Cpu(Box::new(rest))));
                }
            }
            (world.cpu(now_ns, &work, service_ns, &mut asker.seat, Cores::serve_slice), None)
        }
        Step::Io(Access::Read { address, bytes }) if bytes > world.turn_bytes => {
            let turn = world.turn_bytes;
            let now_ns = world.io(now_ns, Access::Read { address, bytes: turn }, asker, Cores::serve_slice);
            let rest = Access::Read { address: address + turn, bytes: bytes - turn };
            (now_ns, Some(Step::Io(rest)))
        }
        Step::Io(Access::Write { address, bytes, pace }) if bytes > world.turn_bytes => {
            let turn = world.turn_bytes;
            let now_ns = world.io(now_ns, Access::Write { address, bytes: turn, pace }, asker, Cores::serve_slice);
            let rest = Access::Write { address: address + turn, bytes: bytes - turn, pace };
            (now_ns, Some(Step::Io(rest)))
        }
        Step::Io(access) => (world.io(now_ns, access, asker, Cores::serve_slice), None),
        Step::Enter(_) | Step::Leave(_) | Step::Then(_) => (now_ns, None),
    }
}

//! The virtual clock: an event queue over clients, background jobs and timers. The one with the smallest time goes next: a
//! client by one whole operation, a job by one step. One thread, no real time: the same inputs give the same run.

use super::cores::{Cores, SLICE_NS};
use super::queues::MEMORY_NS;
use super::task::{Access, Charge, Pace, Step};
use super::{Admission, CpuUse, Job, JobKind, Signal, Stream, Task, Work, WorkCounts};
use crate::device::{Device, DeviceStats, Request};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::storage::simulated::WRITE_BACK_BYTES;
use parking_lot::Mutex;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// The operating system lets a writer run ahead of the device by this much before it makes the writer wait.
const WRITE_BACK_LEAD_NS: u64 = 200_000_000;

/// First task number of background jobs.
const JOB_TASKS: u32 = 1_000_000;

/// Cores and a device, shared by all tasks of a simulation.
pub struct World {
    cores: Cores,
    cost_ns: [f64; Work::COUNT],
    /// What passes in each statement while neither client nor server computes.
    statement_wait_ns: f64,
    /// What the cores did so far.
    done: WorkCounts,
    device: Box<dyn Device>,
    /// A replayed job holds the device for at most this many bytes at once.
    turn_bytes: u64,
    /// How many times larger a job is that a job with a stream speaks for.
    stands_for: f64,
    written_back: WrittenBack,
    /// Bytes of new files that jobs have still to write: a job executes at once, and its files are there from then on.
    unwritten_bytes: u64,
}

impl World {
    /// `cores` idle cores that need `cost_ns` per unit of each kind of work, and an idle device, for data that stands for
    /// `stands_for` times as much.
    pub fn new(cores: usize, cost_ns: [f64; Work::COUNT], device: Box<dyn Device>, stands_for: f64) -> Self {
        let turn_bytes = device.turn_bytes();
        let (cores, done) = (Cores::new(cores), WorkCounts::default());
        let (written_back, statement_wait_ns) = (WrittenBack::default(), 0.0);
        let unwritten_bytes = 0;
        Self { cores, cost_ns, statement_wait_ns, done, device, turn_bytes, stands_for, written_back, unwritten_bytes }
    }

    /// Lets each statement wait so long, beside what it takes of a core.
    #[must_use]
    pub fn with_statement_wait(mut self, wait_ns: f64) -> Self {
        self.statement_wait_ns = wait_ns;
        self
    }

    fn work_ns(&self, work: &WorkCounts) -> u64 {
        work.counted().map(|(kind, units)| units as f64 * self.cost_ns[kind]).sum::<f64>() as u64
    }

    fn wait_ns(&self, work: &WorkCounts) -> u64 {
        (work.get(Work::Statement) as f64 * self.statement_wait_ns) as u64
    }

    /// Does `work`, which takes `service_ns` where `serve` finds a core.
    fn cpu(
        &mut self,
        now_ns: u64,
        work: &WorkCounts,
        service_ns: u64,
        serve: impl FnOnce(&mut Cores, u64, u64) -> u64,
    ) -> u64 {
        self.done.add(work);
        if service_ns == 0 { now_ns } else { serve(&mut self.cores, now_ns, service_ns) }
    }

    /// The part of its latency that a transfer pays. A job of a smaller copy of the data takes as many requests and syncs as
    /// one of the full size for fewer bytes, so it would pay as much latency for each as the other pays for many. Its
    /// requests pay by the bytes that a request has at full size, or by the job where they are one request there too. So do
    /// those of the operating system, which writes buffered bytes back in smaller pieces.
    fn latency_share(&self, bytes: u64, whole_bytes: Option<u64>) -> f64 {
        let Some(whole) = whole_bytes else { return 1.0 };
        let whole = whole.clamp(1, self.turn_bytes);
        (bytes as f64 / whole as f64).max(1.0 / self.stands_for).min(1.0)
    }

    /// Performs an access.
    fn io(&mut self, now_ns: u64, access: Access, asker: &mut Asker) -> u64 {
        match access {
            Access::Read { address, bytes } => {
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
                let sync_ns = self.device.sync(written_ns) - written_ns;
                let share = self.latency_share(0, asker.stream.map(|stream| stream.write_bytes));
                written_ns + (sync_ns as f64 * share) as u64
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
        CpuUse { ns: self.cores.busy_ns(), work: self.done.clone() }
    }
}

/// What the operating system wrote back lately: when it began and when the device had it, in the order of the beginnings. An
/// operation executes whole before the next one starts, so some begin after the time of the task that asks.
#[derive(Debug, Default)]
struct WrittenBack {
    pieces: VecDeque<(u64, u64)>,
}

impl WrittenBack {
    /// The device takes pieces nearly in the order of their beginnings, so the last of them to begin are the last to end.
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

/// Who asks the device: what it takes from one access to the next.
#[derive(Debug, Clone, Copy, Default)]
struct Asker {
    /// When the writes that the task queued will all be done.
    queued_ns: u64,
    /// How its job moves files.
    stream: Option<Stream>,
}

/// A task's way into the world.
struct Ticket {
    world: Arc<Mutex<World>>,
    asker: Asker,
}

impl Charge for Ticket {
    fn cpu(&mut self, now_ns: u64, work: &WorkCounts) -> u64 {
        let mut world = self.world.lock();
        let service_ns = world.work_ns(work);
        world.cpu(now_ns, work, service_ns, Cores::serve) + world.wait_ns(work)
    }

    fn io(&mut self, now_ns: u64, access: Access) -> u64 {
        self.world.lock().io(now_ns, access, &mut self.asker)
    }
}

/// What a client is about to do.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    /// Bytes that it may write: what admission is asked for. 0 for a read.
    pub write_bytes: u64,
    /// When it may start, for clients with a rate limit; 0 for at once.
    pub earliest_ns: u64,
}

/// A client of a simulation. Its operations are planned, admitted, and executed whole.
pub trait Client {
    /// Plans the next operation; `None` ends the client.
    fn plan(&mut self, now_ns: u64) -> Option<Turn>;

    /// Executes the planned operation. It began at `began_ns`, before it waited for admission.
    fn execute(&mut self, task: &mut Task, began_ns: u64) -> Result<()>;

    /// The operation that executed last ended at `ended_ns`, after waiting `stalled_ns` for admission.
    fn ended(&mut self, began_ns: u64, ended_ns: u64, stalled_ns: u64);
}

/// Watches a simulation from outside its time.
pub trait Observer {
    /// Asked before every event, however little virtual time lies between two of them. An error ends the run.
    fn check(&self) -> Result<()>;

    /// Virtual time reached `now_ns`, a multiple of the period. An error ends the run.
    fn tick(&mut self, now_ns: u64) -> Result<()>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Tick,
    Job(usize),
    Client(usize),
    Timer,
}

/// What happens next, the earliest first.
type EventQueue = BinaryHeap<Reverse<(u64, Event)>>;

struct Seat<'a> {
    client: &'a mut dyn Client,
    task: Task,
    /// When the planned operation was first tried; `None` if none is planned.
    began_ns: Option<u64>,
    bytes: u64,
    admitted: bool,
}

struct Running {
    job: Box<dyn Job>,
    steps: VecDeque<Step>,
    now_ns: u64,
    asker: Asker,
}

impl Running {
    /// Bytes of a step that take space which nothing took before.
    fn new_bytes(&self, step: &Step) -> u64 {
        match (self.job.kind(), step) {
            (JobKind::Flush | JobKind::Compaction, Step::Io(Access::Write { bytes, .. })) => *bytes,
            _ => 0,
        }
    }
}

/// An engine under the virtual clock.
pub struct Simulation {
    world: Arc<Mutex<World>>,
    engine: Arc<dyn Engine>,
    signal: Arc<Signal>,
    jobs: Vec<Option<Running>>,
    now_ns: u64,
    /// Time that each run starts from: no client is behind it.
    timer_ns: Option<u64>,
}

impl Simulation {
    /// Runs `engine`'s background jobs and clients in `world`, from `now_ns` on.
    pub fn new(world: Arc<Mutex<World>>, engine: Arc<dyn Engine>, signal: Arc<Signal>, now_ns: u64) -> Self {
        let threads = engine.background_threads().max(1);
        Self { world, engine, signal, jobs: (0..threads).map(|_| None).collect(), now_ns, timer_ns: None }
    }

    /// A task of this world that starts now.
    pub fn task(world: &Arc<Mutex<World>>, id: u32, now_ns: u64) -> Task {
        Self::task_of(world, id, now_ns, Asker::default())
    }

    fn task_of(world: &Arc<Mutex<World>>, id: u32, now_ns: u64, asker: Asker) -> Task {
        let stands_for = world.lock().stands_for;
        Task::simulated(id, now_ns, Box::new(Ticket { world: world.clone(), asker })).standing_for(stands_for)
    }

    /// Virtual time reached.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Runs the clients until all have ended or virtual time passes `until_ns`. An operation that began before is finished.
    pub fn run(
        &mut self,
        clients: &mut [&mut dyn Client],
        until_ns: u64,
        period_ns: u64,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let start_ns = self.now_ns;
        let mut seats: Vec<Seat<'_>> = clients
            .iter_mut()
            .enumerate()
            .map(|(n, client)| Seat {
                client: &mut **client,
                task: Self::task(&self.world, n as u32, start_ns),
                began_ns: None,
                bytes: 0,
                admitted: false,
            })
            .collect();
        let mut queue = self.queue(period_ns);
        (0..seats.len()).for_each(|n| queue.push(Reverse((start_ns, Event::Client(n)))));
        let mut waiting = Vec::new();
        let mut active = seats.len();
        while active > 0 {
            observer.check()?;
            let seen = self.signal.ready_generation();
            let Some(Reverse((now_ns, event))) = queue.pop() else { return Err(starved()) };
            if now_ns >= until_ns {
                self.now_ns = until_ns;
                return Ok(());
            }
            self.now_ns = self.now_ns.max(now_ns);
            // Work that an operation made ready is ready when the operation ends.
            let mut ready_ns = now_ns;
            match event {
                Event::Tick => {
                    observer.tick(now_ns)?;
                    if queue.is_empty() && !waiting.is_empty() {
                        return Err(starved());
                    }
                    queue.push(Reverse((now_ns + period_ns, Event::Tick)));
                }
                Event::Client(n) => match self.step_client(&mut seats[n])? {
                    Next::Again(at_ns) => {
                        ready_ns = at_ns;
                        queue.push(Reverse((at_ns, Event::Client(n))));
                    }
                    Next::Wait => waiting.push(n),
                    Next::Ended => active -= 1,
                },
                Event::Job(n) => {
                    if !self.step_job(n, &mut queue)? {
                        continue;
                    }
                    for n in waiting.drain(..) {
                        let seat = &mut seats[n];
                        seat.task.now_ns = seat.task.now_ns.max(now_ns);
                        queue.push(Reverse((seat.task.now_ns, Event::Client(n))));
                    }
                    self.start_jobs(now_ns, &mut queue)?;
                }
                Event::Timer => {
                    if self.timer_ns == Some(now_ns) {
                        self.timer_ns = None;
                    }
                    self.start_jobs(now_ns, &mut queue)?;
                }
            }
            if self.signal.ready_generation() != seen {
                self.start_jobs(ready_ns, &mut queue)?;
            }
        }
        self.now_ns = seats.iter().map(|seat| seat.task.now_ns).fold(self.now_ns, u64::max).min(until_ns);
        Ok(())
    }

    /// Runs background jobs until the engine is settled.
    pub fn settle(&mut self, period_ns: u64, observer: &mut dyn Observer) -> Result<()> {
        let mut task = Self::task(&self.world, JOB_TASKS, self.now_ns);
        self.engine.begin_settle(&mut task)?;
        self.now_ns = self.now_ns.max(task.now_ns);
        let mut queue = self.queue(period_ns);
        self.start_jobs(self.now_ns, &mut queue)?;
        while !self.engine.is_settled() || self.jobs.iter().any(Option::is_some) {
            observer.check()?;
            self.engine.check()?;
            let Some(Reverse((now_ns, event))) = queue.pop() else { return Err(starved()) };
            self.now_ns = self.now_ns.max(now_ns);
            match event {
                Event::Tick => {
                    observer.tick(now_ns)?;
                    queue.push(Reverse((now_ns + period_ns, Event::Tick)));
                    self.start_jobs(now_ns, &mut queue)?;
                }
                Event::Job(n) => {
                    if self.step_job(n, &mut queue)? {
                        self.start_jobs(self.now_ns, &mut queue)?;
                    }
                }
                Event::Timer => {
                    self.timer_ns = None;
                    self.start_jobs(now_ns, &mut queue)?;
                }
                Event::Client(_) => {}
            }
        }
        Ok(())
    }

    /// The queue at the start of a phase: ticks, and jobs that an earlier phase left.
    fn queue(&mut self, period_ns: u64) -> EventQueue {
        let mut queue = BinaryHeap::new();
        queue.push(Reverse(((self.now_ns / period_ns + 1) * period_ns, Event::Tick)));
        for (n, running) in self.jobs.iter().enumerate() {
            if let Some(running) = running {
                queue.push(Reverse((running.now_ns, Event::Job(n))));
            }
        }
        self.timer_ns = self.engine.next_timer(self.now_ns);
        if let Some(at_ns) = self.timer_ns {
            queue.push(Reverse((at_ns.max(self.now_ns), Event::Timer)));
        }
        queue
    }

    fn step_client(&self, seat: &mut Seat<'_>) -> Result<Next> {
        let began_ns = if let Some(began_ns) = seat.began_ns {
            began_ns
        } else {
            let Some(turn) = seat.client.plan(seat.task.now_ns) else { return Ok(Next::Ended) };
            let began_ns = seat.task.now_ns.max(turn.earliest_ns);
            let asks = seat.task.has_to_ask() || turn.write_bytes > 0;
            (seat.bytes, seat.admitted, seat.began_ns) = (turn.write_bytes, !asks, Some(began_ns));
            if began_ns > seat.task.now_ns {
                seat.task.now_ns = began_ns;
                return Ok(Next::Again(began_ns));
            }
            began_ns
        };
        if !seat.admitted {
            match self.engine.admit(&mut seat.task, seat.bytes)? {
                Admission::Go => {}
                Admission::Delay { micros } => {
                    seat.admitted = true;
                    seat.task.now_ns += micros * 1000;
                    return Ok(Next::Again(seat.task.now_ns));
                }
                Admission::Wait => return Ok(Next::Wait),
            }
        }
        let stalled_ns = seat.task.now_ns - began_ns;
        seat.client.execute(&mut seat.task, began_ns)?;
        seat.task.settle();
        seat.began_ns = None;
        seat.client.ended(began_ns, seat.task.now_ns, stalled_ns);
        Ok(Next::Again(seat.task.now_ns))
    }

    /// Starts every job that is due while workers are idle.
    fn start_jobs(&mut self, now_ns: u64, queue: &mut EventQueue) -> Result<()> {
        while let Some(n) = self.jobs.iter().position(Option::is_none) {
            let Some(mut job) = self.engine.next_job(now_ns) else { break };
            let stands_for = self.world.lock().stands_for;
            let mut task = Task::recording(JOB_TASKS + n as u32, now_ns).standing_for(stands_for);
            job.run(&mut task)?;
            let steps = task.into_steps().into();
            let asker = Asker { stream: job.stream(), queued_ns: 0 };
            let running = Running { job, steps, now_ns, asker };
            self.world.lock().unwritten_bytes += running.steps.iter().map(|step| running.new_bytes(step)).sum::<u64>();
            self.jobs[n] = Some(running);
            queue.push(Reverse((now_ns, Event::Job(n))));
        }
        // A timer that is due while all workers are busy is looked at when one of them is done.
        if let Some(at_ns) = self.engine.next_timer(now_ns)
            && at_ns > now_ns
            && self.timer_ns.is_none_or(|planned| at_ns < planned || planned <= now_ns)
        {
            self.timer_ns = Some(at_ns);
            queue.push(Reverse((at_ns, Event::Timer)));
        }
        Ok(())
    }

    /// Replays one step of a job, and says whether the job is done and installed.
    fn step_job(&mut self, n: usize, queue: &mut EventQueue) -> Result<bool> {
        let Some(running) = &mut self.jobs[n] else { return Ok(true) };
        let Some(step) = running.steps.pop_front() else {
            self.install_job(n)?;
            return Ok(true);
        };
        let mut now_ns = running.now_ns;
        match step {
            Step::Enter(ref line) => {
                if !line.enter(n) {
                    running.steps.push_front(step);
                    return Ok(false);
                }
            }
            Step::Leave(line) => {
                if let Some(next) = line.leave(n)
                    && let Some(woken) = &mut self.jobs[next]
                {
                    woken.now_ns = woken.now_ns.max(now_ns);
                    queue.push(Reverse((woken.now_ns, Event::Job(next))));
                }
            }
            Step::Cpu(_) | Step::Io(_) => {
                let mut world = self.world.lock();
                let bytes = running.new_bytes(&step);
                let rest;
                (now_ns, rest) = replay(&mut world, now_ns, step, &mut running.asker);
                running.now_ns = now_ns;
                world.unwritten_bytes -= bytes - rest.as_ref().map_or(0, |rest| running.new_bytes(rest));
                if let Some(rest) = rest {
                    running.steps.push_front(rest);
                }
            }
        }
        queue.push(Reverse((now_ns, Event::Job(n))));
        Ok(false)
    }

    fn install_job(&mut self, n: usize) -> Result<()> {
        let Some(running) = self.jobs[n].take() else { return Ok(()) };
        let asker = Asker { stream: running.asker.stream, queued_ns: 0 };
        let mut task = Self::task_of(&self.world, JOB_TASKS + n as u32, running.now_ns, asker);
        running.job.install(&mut task)?;
        task.settle();
        self.signal.complete();
        Ok(())
    }
}

/// Replays the first chunk or slice of a step, and returns the time after it and what is left.
fn replay(world: &mut World, now_ns: u64, step: Step, asker: &mut Asker) -> (u64, Option<Step>) {
    match step {
        Step::Cpu(work) => {
            let service_ns = world.work_ns(&work);
            if service_ns > SLICE_NS {
                let (slice, rest) = work.split(service_ns.div_ceil(SLICE_NS));
                let slice_ns = world.work_ns(&slice);
                if slice_ns > 0 {
                    let now_ns = world.cpu(now_ns, &slice, slice_ns, Cores::serve_slice);
                    return (now_ns, Some(Step::Cpu(Box::new(rest))));
                }
            }
            (world.cpu(now_ns, &work, service_ns, Cores::serve_slice), None)
        }
        Step::Io(Access::Read { address, bytes }) if bytes > world.turn_bytes => {
            let turn = world.turn_bytes;
            let now_ns = world.io(now_ns, Access::Read { address, bytes: turn }, asker);
            let rest = Access::Read { address: address + turn, bytes: bytes - turn };
            (now_ns, Some(Step::Io(rest)))
        }
        Step::Io(Access::Write { address, bytes, pace }) if bytes > world.turn_bytes => {
            let turn = world.turn_bytes;
            let now_ns = world.io(now_ns, Access::Write { address, bytes: turn, pace }, asker);
            let rest = Access::Write { address: address + turn, bytes: bytes - turn, pace };
            (now_ns, Some(Step::Io(rest)))
        }
        Step::Io(access) => (world.io(now_ns, access, asker), None),
        Step::Enter(_) | Step::Leave(_) => (now_ns, None),
    }
}

enum Next {
    Again(u64),
    Wait,
    Ended,
}

fn starved() -> Error {
    Error::poisoned("clients wait for background work that never comes")
}

#[cfg(test)]
mod tests;

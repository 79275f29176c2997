//! The virtual clock: an event queue over clients, background jobs and timers. The one with the smallest time goes
//! next, by one step. An operation and a job both execute at once when they begin, so that no latch outlasts an event;
//! what they ask of cores, device and lines is recorded and replayed, in the order of the times. One thread, no real
//! time: the same inputs give the same run.

use super::agenda::{Agenda, Event};
use super::cores::{Seat, Thread, Turn};
use super::turning::{Adaptation, Pause, Wait};
use super::world::{Asker, Ticket, World, replay};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::task::{Access, Admission, Job, JobKind, Signal, Step, Task};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// First task number of background jobs.
const JOB_TASKS: u32 = 1_000_000;

/// First number of clients in the lines that they share with jobs.
const CLIENTS_IN_LINE: usize = 1 << 32;

/// What a client is about to do.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Bytes that it may write: what admission is asked for. 0 for a read.
    pub write_bytes: u64,
    /// When it may start, for clients with a rate limit; 0 for at once.
    pub earliest_ns: u64,
}

/// A client of a simulation. Its operations are planned, admitted, executed at once, and replayed.
pub trait Process {
    /// Plans the next operation; `None` ends the client.
    fn plan(&mut self, now_ns: u64) -> Option<Arrival>;

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

struct ProcessState<'a> {
    client: &'a mut dyn Process,
    task: Task,
    /// When the planned operation was first tried; `None` if none is planned.
    began_ns: Option<u64>,
    bytes: u64,
    admitted: bool,
    /// It has executed, and is being replayed.
    is_executed: bool,
    /// What is left to replay, the next step last.
    steps: Vec<Step>,
    /// How long it waited for admission.
    stalled_ns: u64,
    /// The thread, which its task is as well.
    asker: Arc<Mutex<Asker>>,
}

impl<'a> ProcessState<'a> {
    fn new(client: &'a mut dyn Process, task: Task, asker: Arc<Mutex<Asker>>) -> Self {
        Self {
            client,
            task,
            began_ns: None,
            bytes: 0,
            admitted: false,
            steps: Vec::new(),
            is_executed: false,
            stalled_ns: 0,
            asker,
        }
    }
}

struct RunningJob {
    job: Box<dyn Job>,
    steps: VecDeque<Step>,
    now_ns: u64,
    asker: Asker,
}

impl RunningJob {
    /// Bytes of a step that take space which nothing took before.
    fn new_bytes(&self, step: &Step) -> u64 {
        match (self.job.kind(), step) {
            (JobKind::Flush | JobKind::Compaction, Step::Io(Access::Write { bytes, .. })) => *bytes,
            _ => 0,
        }
    }
}

/// Whether a job of this kind pays debt: flushes of memtables are short beside what they bring into level 0.
fn pays_debt(kind: JobKind) -> bool {
    matches!(kind, JobKind::Compaction | JobKind::PageFlush)
}

/// For how long at least one job has run that pays debt.
#[derive(Debug, Default)]
struct BusyTime {
    jobs: u32,
    began_ns: u64,
    ended_ns: u64,
}

impl BusyTime {
    fn begin(&mut self, now_ns: u64) {
        if self.jobs == 0 {
            self.began_ns = now_ns;
        }
        self.jobs += 1;
    }

    fn end(&mut self, now_ns: u64) {
        self.jobs -= 1;
        if self.jobs == 0 {
            self.ended_ns += now_ns.saturating_sub(self.began_ns);
        }
    }

    fn until(&self, now_ns: u64) -> u64 {
        self.ended_ns + if self.jobs > 0 { now_ns.saturating_sub(self.began_ns) } else { 0 }
    }
}

/// An engine under the virtual clock.
pub struct Simulation {
    world: Arc<Mutex<World>>,
    engine: Arc<dyn Engine>,
    signal: Arc<Signal>,
    jobs: Vec<Option<RunningJob>>,
    busy: BusyTime,
    now_ns: u64,
    /// What clients that waited for their turns awake have learned.
    adaptation: Adaptation,
    /// Waits of clients that stand in a line awake: nobody wakes them.
    waits: Vec<Option<Wait>>,
    /// Time that each run starts from: no client is behind it.
    timer_ns: Option<u64>,
    /// Whether somebody looks at how clients and jobs meet. Else a job is replayed in fewer pieces.
    is_watched: bool,
}

impl Simulation {
    /// Runs `engine`'s background jobs and clients in `world`, from `now_ns` on.
    pub fn new(world: Arc<Mutex<World>>, engine: Arc<dyn Engine>, signal: Arc<Signal>, now_ns: u64) -> Self {
        let threads = engine.background_threads().max(1);
        let jobs = (0..threads).map(|_| None).collect();
        let (busy, adaptation, waits) = (BusyTime::default(), Adaptation::default(), Vec::new());
        Self { world, engine, signal, jobs, busy, now_ns, adaptation, waits, timer_ns: None, is_watched: true }
    }

    /// A task of this world that starts now.
    pub fn task(world: &Arc<Mutex<World>>, id: u32, now_ns: u64) -> Task {
        Self::task_of(world, id, now_ns, Arc::default())
    }

    fn task_of(world: &Arc<Mutex<World>>, id: u32, now_ns: u64, asker: Arc<Mutex<Asker>>) -> Task {
        let scale = world.lock().scale();
        Task::simulated(id, now_ns, Box::new(Ticket { world: world.clone(), asker })).at_scale(scale)
    }

    /// Virtual time reached.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// For how long compactions or writes of dirty pages have run so far, one of them at least.
    pub fn busy_ns(&self) -> u64 {
        self.busy.until(self.now_ns)
    }

    /// Says whether somebody looks at the latencies of the clients that run from now on. A load is over before anybody
    /// asks, and pieces of jobs as fine as a copy needs for that were a third of its time.
    pub fn watch(&mut self, is_watched: bool) {
        self.is_watched = is_watched;
    }

    /// Runs the clients until all have ended or virtual time passes `until_ns`. An operation that began before is
    /// finished.
    pub fn run(
        &mut self,
        clients: &mut [&mut dyn Process],
        until_ns: u64,
        period_ns: u64,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let start_ns = self.now_ns;
        let state = |n: usize, client| {
            let asker = Asker { seat: Seat::of_client(n), ..Asker::default() };
            let asker = Arc::new(Mutex::new(asker));
            let task = Self::task_of(&self.world, n as u32, start_ns, Arc::clone(&asker));
            ProcessState::new(client, task, asker)
        };
        let mut seats: Vec<ProcessState<'_>> =
            clients.iter_mut().enumerate().map(|(n, client)| state(n, &mut **client)).collect();
        let mut agenda = self.agenda(period_ns);
        (0..seats.len()).for_each(|n| agenda.add(start_ns, Event::Client(n)));
        let mut waiting = Vec::new();
        let mut active = seats.len();
        self.waits = seats.iter().map(|_| None).collect();
        while active > 0 {
            observer.check()?;
            let seen = self.signal.ready_generation();
            let Some((now_ns, event)) = agenda.next() else { return Err(starved()) };
            if now_ns >= until_ns {
                // What began before is finished.
                active -= waiting.drain(..).count();
                match event {
                    Event::Client(n) if !seats[n].is_executed => {
                        active -= 1;
                        continue;
                    }
                    Event::Tick => continue,
                    _ => {}
                }
            }
            self.now_ns = self.now_ns.max(now_ns).min(until_ns);
            // Work that an operation made ready is ready where its replay stands.
            let mut ready_ns = now_ns;
            match event {
                Event::Tick => {
                    observer.tick(now_ns)?;
                    if agenda.is_empty() {
                        return Err(starved());
                    }
                    agenda.add(now_ns + period_ns, Event::Tick);
                }
                Event::Client(n) => {
                    let next = self.step_client(n, now_ns, &mut seats[n], &mut agenda)?;
                    ready_ns = seats[n].task.now_ns;
                    match next {
                        Next::Again => agenda.add(ready_ns, Event::Client(n)),
                        Next::Wait => waiting.push(n),
                        Next::Stands => {}
                        Next::Ended => active -= 1,
                    }
                }
                Event::Job(n) => {
                    if self.step_job(n, &mut agenda)? {
                        for n in waiting.drain(..) {
                            let seat = &mut seats[n];
                            seat.task.now_ns = seat.task.now_ns.max(now_ns);
                            agenda.add(seat.task.now_ns, Event::Client(n));
                        }
                        self.start_jobs(now_ns, &mut agenda)?;
                    }
                }
                Event::Timer => {
                    if self.timer_ns == Some(now_ns) {
                        self.timer_ns = None;
                    }
                    self.start_jobs(now_ns, &mut agenda)?;
                }
            }
            if self.signal.ready_generation() != seen {
                self.start_jobs(ready_ns, &mut agenda)?;
            }
            self.wake_for_cores(&mut agenda);
        }
        self.now_ns = seats.iter().map(|seat| seat.task.now_ns).fold(self.now_ns, u64::max).min(until_ns);
        Ok(())
    }

    /// Runs background jobs until the engine is settled, or owes no more than `debt_bytes`; 0 stands for settled.
    pub fn settle(&mut self, debt_bytes: u64, period_ns: u64, observer: &mut dyn Observer) -> Result<()> {
        let mut task = Self::task(&self.world, JOB_TASKS, self.now_ns);
        self.engine.begin_settle(&mut task)?;
        self.now_ns = self.now_ns.max(task.now_ns);
        let mut agenda = self.agenda(period_ns);
        self.start_jobs(self.now_ns, &mut agenda)?;
        while !self.engine.is_settled() || self.jobs.iter().any(Option::is_some) {
            observer.check()?;
            self.engine.check()?;
            let Some((now_ns, event)) = agenda.next() else { return Err(starved()) };
            self.now_ns = self.now_ns.max(now_ns);
            match event {
                Event::Tick => {
                    observer.tick(now_ns)?;
                    self.start_jobs(now_ns, &mut agenda)?;
                    if agenda.is_empty() && self.jobs.iter().any(Option::is_some) {
                        return Err(starved());
                    }
                    agenda.add(now_ns + period_ns, Event::Tick);
                }
                Event::Job(n) => {
                    if self.step_job(n, &mut agenda)? {
                        if debt_bytes > 0 && self.engine.stats().debt_bytes <= debt_bytes {
                            return Ok(());
                        }
                        self.start_jobs(self.now_ns, &mut agenda)?;
                    }
                }
                Event::Timer => {
                    self.timer_ns = None;
                    self.start_jobs(now_ns, &mut agenda)?;
                }
                Event::Client(_) => {}
            }
            self.wake_for_cores(&mut agenda);
        }
        Ok(())
    }

    /// Those that have become the first to wait for a core ask for it again.
    fn wake_for_cores(&mut self, agenda: &mut Agenda) {
        for (thread, at_ns) in self.world.lock().take_woken() {
            match thread {
                Thread::Client(n) => agenda.add(at_ns, Event::Client(n)),
                Thread::Job(n) => {
                    let Some(running) = &mut self.jobs[n] else { continue };
                    running.now_ns = running.now_ns.max(at_ns);
                    agenda.add(running.now_ns, Event::Job(n));
                }
            }
        }
    }

    /// The agenda at the start of a phase: ticks, and jobs that an earlier phase left.
    fn agenda(&mut self, period_ns: u64) -> Agenda {
        self.world.lock().forget_waiting();
        let mut agenda = Agenda::default();
        agenda.add((self.now_ns / period_ns + 1) * period_ns, Event::Tick);
        for (n, running) in self.jobs.iter().enumerate() {
            if let Some(running) = running {
                agenda.add(running.now_ns, Event::Job(n));
            }
        }
        self.timer_ns = self.engine.next_timer(self.now_ns);
        if let Some(at_ns) = self.timer_ns {
            agenda.add(at_ns.max(self.now_ns), Event::Timer);
        }
        agenda
    }

    /// Plans, admits and executes an operation, or replays what is left of it.
    fn step_client(&mut self, n: usize, now_ns: u64, seat: &mut ProcessState<'_>, agenda: &mut Agenda) -> Result<Next> {
        seat.task.now_ns = seat.task.now_ns.max(now_ns);
        if seat.is_executed {
            return self.replay_client(n, seat, agenda);
        }
        let began_ns = if let Some(began_ns) = seat.began_ns {
            began_ns
        } else {
            let Some(turn) = seat.client.plan(seat.task.now_ns) else { return Ok(Next::Ended) };
            let began_ns = seat.task.now_ns.max(turn.earliest_ns);
            let asks = seat.task.has_to_ask() || turn.write_bytes > 0;
            (seat.bytes, seat.admitted, seat.began_ns) = (turn.write_bytes, !asks, Some(began_ns));
            if began_ns > seat.task.now_ns {
                seat.task.now_ns = began_ns;
                return Ok(Next::Again);
            }
            began_ns
        };
        if !seat.admitted {
            match self.engine.admit(&mut seat.task, seat.bytes)? {
                Admission::Go => {}
                Admission::Delay { micros } => {
                    seat.task.now_ns += micros * 1000;
                    return Ok(Next::Again);
                }
                Admission::Wait => return Ok(Next::Wait),
            }
        }
        seat.stalled_ns = seat.task.now_ns - began_ns;
        seat.task.begin_operation(std::mem::take(&mut seat.steps));
        let executed = seat.client.execute(&mut seat.task, began_ns);
        seat.steps = seat.task.end_operation();
        executed?;
        seat.steps.reverse();
        seat.is_executed = true;
        self.replay_client(n, seat, agenda)
    }

    /// Replays steps of a client's operation until something else is to happen before the next one.
    fn replay_client(&mut self, n: usize, seat: &mut ProcessState<'_>, agenda: &mut Agenda) -> Result<Next> {
        while let Some(mut step) = seat.steps.pop() {
            let now_ns = seat.task.now_ns;
            match step {
                Step::Cpu(_) | Step::Io(_) => {
                    let (turn, is_over) = replay(&mut self.world.lock(), now_ns, &mut step, &mut seat.asker.lock());
                    if !is_over {
                        seat.steps.push(step);
                    }
                    match turn {
                        Turn::Done(done_ns) => seat.task.now_ns = done_ns,
                        Turn::Later(at_ns) => {
                            seat.task.now_ns = at_ns;
                            return Ok(Next::Again);
                        }
                        Turn::Waits => return Ok(Next::Stands),
                    }
                }
                Step::Then(then) => {
                    then.run(&mut seat.task)?;
                    seat.task.settle();
                }
                Step::Enter(ref line) | Step::Join(ref line) => {
                    let number = CLIENTS_IN_LINE + n;
                    let goes_on = if matches!(step, Step::Join(_)) { line.is_over(number) } else { line.enter(number) };
                    if !goes_on {
                        let next = self.wait_for_turn(n, seat);
                        seat.steps.push(step);
                        return Ok(next);
                    }
                    if let Some(wait) = self.waits[n].take() {
                        self.adaptation.came(&wait);
                    }
                }
                Step::Leave(line) => {
                    for next in line.leave(CLIENTS_IN_LINE + n) {
                        self.wake(next, now_ns, agenda);
                    }
                }
            }
            if !seat.steps.is_empty() && agenda.next_ns().is_some_and(|next_ns| next_ns < seat.task.now_ns) {
                return Ok(Next::Again);
            }
        }
        seat.is_executed = false;
        self.world.lock().leave_core(seat.task.now_ns, &seat.asker.lock());
        let began_ns = seat.began_ns.take().unwrap_or(seat.task.now_ns);
        seat.client.ended(began_ns, seat.task.now_ns, seat.stalled_ns);
        Ok(Next::Again)
    }

    /// What a client does until its turn comes.
    fn wait_for_turn(&mut self, n: usize, seat: &mut ProcessState<'_>) -> Next {
        let mut world = self.world.lock();
        let turning_ns = world.turning_ns();
        if turning_ns == 0 {
            return Next::Stands;
        }
        let wait = self.waits[n].get_or_insert_default();
        let pause = wait.interrupted.take();
        match pause.unwrap_or_else(|| self.adaptation.next(wait, seat.task.now_ns, turning_ns)) {
            Pause::Core { ns, offers } => {
                let turn = world.hold_core(seat.task.now_ns, ns, offers, &mut seat.asker.lock());
                if let Turn::Done(at_ns) | Turn::Later(at_ns) = turn {
                    seat.task.now_ns = at_ns;
                }
                if !matches!(turn, Turn::Done(_)) {
                    wait.interrupted = Some(Pause::Core { ns, offers: false });
                }
                if turn == Turn::Waits { Next::Stands } else { Next::Again }
            }
            Pause::Sleep => {
                world.leave_core(seat.task.now_ns, &seat.asker.lock());
                self.waits[n] = None;
                Next::Stands
            }
        }
    }

    /// The next one in a line has its turn, and sees it if it is awake.
    fn wake(&mut self, next: usize, now_ns: u64, agenda: &mut Agenda) {
        if let Some(client) = next.checked_sub(CLIENTS_IN_LINE) {
            if self.waits[client].is_none() {
                agenda.add(now_ns, Event::Client(client));
            }
        } else if let Some(woken) = &mut self.jobs[next] {
            woken.now_ns = woken.now_ns.max(now_ns);
            agenda.add(woken.now_ns, Event::Job(next));
        }
    }

    /// Starts every job that is due while workers are idle.
    fn start_jobs(&mut self, now_ns: u64, agenda: &mut Agenda) -> Result<()> {
        while let Some(n) = self.jobs.iter().position(Option::is_none) {
            let Some(mut job) = self.engine.next_job(now_ns) else { break };
            let scale = self.world.lock().scale();
            let mut task = Task::recording(JOB_TASKS + n as u32, now_ns).at_scale(scale);
            job.run(&mut task)?;
            let steps = task.into_steps();
            let seat = self.world.lock().seat_of_job(n, &steps);
            let seat = if self.is_watched { seat } else { seat.unwatched() };
            let asker = Asker { stream: job.stream(), seat, ..Asker::default() };
            let running = RunningJob { job, steps: steps.into(), now_ns, asker };
            if pays_debt(running.job.kind()) {
                self.busy.begin(now_ns);
            }
            self.world.lock().unwritten_bytes += running.steps.iter().map(|step| running.new_bytes(step)).sum::<u64>();
            self.jobs[n] = Some(running);
            agenda.add(now_ns, Event::Job(n));
        }
        // A timer that is due while all workers are busy is looked at when one of them is done.
        if let Some(at_ns) = self.engine.next_timer(now_ns)
            && at_ns > now_ns
            && self.timer_ns.is_none_or(|planned| at_ns < planned || planned <= now_ns)
        {
            self.timer_ns = Some(at_ns);
            agenda.add(at_ns, Event::Timer);
        }
        Ok(())
    }

    /// Replays one step of a job, and says whether the job is done and installed.
    fn step_job(&mut self, n: usize, agenda: &mut Agenda) -> Result<bool> {
        let Some(running) = &mut self.jobs[n] else { return Ok(true) };
        let Some(mut step) = running.steps.pop_front() else {
            self.install_job(n)?;
            return Ok(true);
        };
        let mut now_ns = running.now_ns;
        let mut is_asleep = false;
        match step {
            Step::Enter(ref line) => {
                if !line.enter(n) {
                    running.steps.push_front(step);
                    return Ok(false);
                }
            }
            Step::Leave(line) => {
                for next in line.leave(n) {
                    self.wake(next, now_ns, agenda);
                }
            }
            Step::Cpu(_) | Step::Io(_) | Step::Join(_) | Step::Then(_) => {
                let mut world = self.world.lock();
                let bytes = running.new_bytes(&step);
                let (turn, is_over) = replay(&mut world, now_ns, &mut step, &mut running.asker);
                is_asleep = turn == Turn::Waits;
                if let Turn::Done(at_ns) | Turn::Later(at_ns) = turn {
                    now_ns = at_ns;
                    running.now_ns = now_ns;
                }
                let left = if is_over { 0 } else { running.new_bytes(&step) };
                world.unwritten_bytes -= bytes - left;
                if !is_over {
                    running.steps.push_front(step);
                }
            }
        }
        if !is_asleep {
            agenda.add(now_ns, Event::Job(n));
        }
        Ok(false)
    }

    fn install_job(&mut self, n: usize) -> Result<()> {
        let Some(running) = self.jobs[n].take() else { return Ok(()) };
        if pays_debt(running.job.kind()) {
            self.busy.end(running.now_ns);
        }
        let asker = Arc::new(Mutex::new(running.asker));
        let mut task = Self::task_of(&self.world, JOB_TASKS + n as u32, running.now_ns, asker);
        running.job.install(&mut task)?;
        task.settle();
        self.signal.complete();
        Ok(())
    }
}

/// What a client does next.
enum Next {
    /// It goes on when its time has come.
    Again,
    /// It waits for background work.
    Wait,
    /// It stands in a line, and whoever leaves that wakes it.
    Stands,
    /// It has no more to do.
    Ended,
}

fn starved() -> Error {
    Error::poisoned("clients or jobs wait for what never comes")
}

#[cfg(test)]
mod tests;

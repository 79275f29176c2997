//! One logical thread of execution: a client or a background worker.

use super::access::Access;
use super::turns::Turns;
use crate::cost::{Work, WorkCounts, is_local, larger_search, memory_misses, misses};
use crate::error::Result;
use crate::scale::Scale;
use std::fmt;
use std::sync::Arc;

/// One step of a recorded job or operation, replayed later under the virtual clock.
#[derive(Debug)]
pub enum Step {
    /// CPU work.
    Cpu(Box<WorkCounts>),
    /// A storage access.
    Io(Access),
    /// It waits for its turn in a line, and has it until it leaves.
    Enter(Arc<Turns>),
    /// It has had its turn.
    Leave(Arc<Turns>),
    /// It waits until those that went together with it have had their turns.
    Join(Arc<Turns>),
    /// What an operation does when its time has come.
    Then(Then),
}

type Action = dyn FnOnce(&mut Task) -> Result<()> + Send;

/// What a task does at a time that is not known before.
pub struct Then(Box<Action>);

impl Then {
    /// Does it.
    pub fn run(self, task: &mut Task) -> Result<()> {
        (self.0)(task)
    }
}

impl fmt::Debug for Then {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Then")
    }
}

/// What moves a task's clock. The wall clock has no charge: time passes by itself.
pub trait Charge: Send {
    /// Performs `work` from `now_ns` on and returns when it is done.
    fn cpu(&mut self, now_ns: u64, work: &WorkCounts) -> u64;
    /// Performs a storage access from `now_ns` on and returns when it is done.
    fn io(&mut self, now_ns: u64, access: Access) -> u64;
}

enum Mode {
    Wall,
    Virtual(Box<dyn Charge>),
    Recording(Vec<Step>),
    /// An operation that executes at once. What moves the clock waits until it is replayed.
    Operation(Vec<Step>, Box<dyn Charge>),
}

/// One logical thread of execution. Every engine call takes one.
pub struct Task {
    /// Which client or worker this is.
    pub id: u32,
    /// Nanoseconds since the start of the run. Under the wall clock the driver refreshes it before each operation.
    pub now_ns: u64,
    /// Work done since the counters were last settled.
    pending: WorkCounts,
    /// Work done in all, without what is still pending.
    settled: WorkCounts,
    /// Blocks or pages asked for, whether cached or not (the numerator of `read_amp`).
    pub blocks_asked: u64,
    /// What the data that it works on stands for.
    scale: Scale,
    asks: bool,
    /// When the delay of the write that the task is about to make ends, if one has begun.
    delayed_until_us: Option<u64>,
    mode: Mode,
}

impl Task {
    /// A task under the wall clock.
    pub fn wall(id: u32) -> Self {
        Self::with_mode(id, 0, Mode::Wall)
    }

    /// A task under the virtual clock, starting at `now_ns`.
    pub fn simulated(id: u32, now_ns: u64, charge: Box<dyn Charge>) -> Self {
        Self::with_mode(id, now_ns, Mode::Virtual(charge))
    }

    /// A task that executes at once and records what it does, to be replayed.
    pub fn recording(id: u32, now_ns: u64) -> Self {
        Self::with_mode(id, now_ns, Mode::Recording(Vec::new()))
    }

    fn with_mode(id: u32, now_ns: u64, mode: Mode) -> Self {
        let (pending, settled) = (WorkCounts::default(), WorkCounts::default());
        Self {
            id,
            now_ns,
            pending,
            settled,
            blocks_asked: 0,
            scale: Scale::FULL,
            asks: false,
            delayed_until_us: None,
            mode,
        }
    }

    /// Microseconds since the start of the run.
    pub fn now_us(&self) -> u64 {
        self.now_ns / 1000
    }

    /// Counts `units` of CPU work.
    #[inline]
    pub fn charge(&mut self, work: Work, units: u64) {
        self.pending.count(work, units);
    }

    /// Units of one kind so far.
    #[inline]
    pub fn units(&self, work: Work) -> u64 {
        self.settled.get(work) + self.pending.get(work)
    }

    /// Says what the data stands for that the task works on.
    #[must_use]
    pub fn at_scale(mut self, scale: Scale) -> Self {
        self.scale = scale;
        self
    }

    /// Bytes at full size of what has so many in the task's data.
    pub fn full_bytes(&self, bytes: u64) -> u64 {
        self.scale.full_bytes(bytes)
    }

    /// Does something to bytes of which there are as many more at full size as the data is larger, and counts those.
    pub fn at_full_size<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        if self.scale.is_full() {
            return f(self);
        }
        let before = self.work();
        let result = f(self);
        for (kind, units) in self.work().since(&before).counted() {
            let kind = Work::ALL[kind];
            if kind.is_of_bytes() {
                self.charge(kind, self.full_bytes(units) - units);
            }
        }
        result
    }

    /// Counts the misses of a search that looked at `lines` places of a structure of `bytes`. A shrunk structure would
    /// fit the processor's caches where the one that it stands for does not.
    #[inline]
    pub fn charge_misses(&mut self, lines: u64, bytes: u64) {
        self.charge_misses_of(lines, self.scale.full_bytes(bytes));
    }

    /// Counts the steps of `searches` in a memtable of `bytes`, each of which looks at `step_lines` places, and what
    /// they miss. Those that begin near their goals take no more of either in a memtable of full size.
    #[inline]
    pub fn charge_memtable_steps(&mut self, (searches, steps): (u64, u64), step_lines: u64, bytes: u64) {
        let is_larger = !self.scale.is_full() && !is_local(searches, steps, bytes);
        let full_bytes = if is_larger { self.scale.full_bytes(bytes) } else { bytes };
        let steps = if is_larger { larger_search(steps, bytes, full_bytes) } else { steps };
        self.charge(Work::MemtableStep, steps);
        self.charge(Work::MemtableMiss, memory_misses(step_lines * steps, full_bytes));
        self.charge_misses_of(step_lines * steps, full_bytes);
    }

    #[inline]
    fn charge_misses_of(&mut self, lines: u64, full_bytes: u64) {
        self.charge(Work::CacheMiss, misses(lines, full_bytes));
        self.charge(Work::MemoryMiss, memory_misses(lines, full_bytes));
    }

    /// Turns the pending work into time (virtual clock) or into a step (recording).
    pub fn settle(&mut self) {
        match &mut self.mode {
            Mode::Wall => {}
            Mode::Virtual(charge) => self.now_ns = charge.cpu(self.now_ns, &self.pending),
            Mode::Recording(steps) | Mode::Operation(steps, _) => {
                if !self.pending.is_zero() {
                    steps.push(Step::Cpu(Box::new(self.pending.clone())));
                }
            }
        }
        self.settled.add(&self.pending);
        self.pending.clear();
    }

    /// Charges a storage access. Only simulated storage calls this; a real device takes its own time.
    pub fn access(&mut self, access: Access) {
        self.settle();
        match &mut self.mode {
            Mode::Wall => {}
            Mode::Virtual(charge) => self.now_ns = charge.io(self.now_ns, access),
            // Who is given the space next may be replayed before.
            Mode::Operation(_, charge) if matches!(access, Access::Trim { .. }) => _ = charge.io(self.now_ns, access),
            Mode::Recording(steps) | Mode::Operation(steps, _) => steps.push(Step::Io(access)),
        }
    }

    /// Does it, and has the replay of a task that records stand in line for it.
    pub(super) fn in_turn<R>(&mut self, turns: &Arc<Turns>, f: impl FnOnce(&mut Self) -> R) -> R {
        self.record(|| Step::Enter(turns.clone()));
        let result = f(self);
        self.record(|| Step::Leave(turns.clone()));
        if turns.is_of_groups() {
            self.record(|| Step::Join(turns.clone()));
        }
        result
    }

    /// Records a step that is neither work nor an access, if this task records.
    fn record(&mut self, step: impl FnOnce() -> Step) {
        if matches!(self.mode, Mode::Recording(_) | Mode::Operation(..)) {
            self.settle();
        }
        if let Mode::Recording(steps) | Mode::Operation(steps, _) = &mut self.mode {
            steps.push(step());
        }
    }

    /// Does something whose outcome depends on what others do until then: under the virtual clock, when all that the
    /// operation did before has taken its time.
    pub fn then(&mut self, f: impl FnOnce(&mut Self) -> Result<()> + Send + 'static) -> Result<()> {
        if !self.is_operation() {
            return f(self);
        }
        self.record(|| Step::Then(Then(Box::new(f))));
        Ok(())
    }

    /// The same with bytes, which are copied if they are to outlast the caller.
    pub fn then_with(
        &mut self,
        bytes: &[u8],
        f: impl FnOnce(&mut Self, &[u8]) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        if !self.is_operation() {
            return f(self, bytes);
        }
        let bytes = bytes.to_vec();
        self.then(move |task| f(task, &bytes))
    }

    /// Begins an operation, which executes at once and whose steps are replayed.
    pub fn begin_operation(&mut self, mut steps: Vec<Step>) {
        steps.clear();
        self.mode = match std::mem::replace(&mut self.mode, Mode::Wall) {
            Mode::Virtual(charge) => Mode::Operation(steps, charge),
            other => other,
        };
    }

    /// Ends it, and yields its steps.
    pub fn end_operation(&mut self) -> Vec<Step> {
        self.settle();
        match std::mem::replace(&mut self.mode, Mode::Wall) {
            Mode::Operation(steps, charge) => {
                self.mode = Mode::Virtual(charge);
                steps
            }
            other => {
                self.mode = other;
                Vec::new()
            }
        }
    }

    /// Whether the task executes an operation at once whose steps will be replayed.
    pub(super) fn is_operation(&self) -> bool {
        matches!(self.mode, Mode::Operation(..))
    }

    /// Has the task's next operation ask the engine for admission, whether it writes or not: this one used up what
    /// background work has to supply.
    pub fn ask_before_next(&mut self) {
        self.asks = true;
    }

    /// Whether the operation that begins has to ask for that reason.
    pub fn has_to_ask(&self) -> bool {
        self.asks
    }

    /// The engine has supplied it.
    pub fn has_asked(&mut self) {
        self.asks = false;
    }

    /// When the delay of the next write ends, for the engine that admits it.
    pub fn delayed_until_us(&mut self) -> &mut Option<u64> {
        &mut self.delayed_until_us
    }

    /// Whether time passes by itself.
    pub fn is_wall(&self) -> bool {
        matches!(self.mode, Mode::Wall)
    }

    /// Whether time is virtual for this task and passes at once; not while it records (`Serial` asks).
    pub fn is_simulated(&self) -> bool {
        matches!(self.mode, Mode::Virtual(_))
    }

    /// Work done in all.
    pub fn work(&self) -> WorkCounts {
        let mut all = self.settled.clone();
        all.add(&self.pending);
        all
    }

    /// Ends a recording and yields its steps.
    pub fn into_steps(mut self) -> Vec<Step> {
        self.settle();
        match self.mode {
            Mode::Recording(steps) => steps,
            _ => Vec::new(),
        }
    }
}

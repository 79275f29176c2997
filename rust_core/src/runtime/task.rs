//! One logical thread of execution: a client or a background worker.

use super::line::Turns;
use super::work::{is_local, larger_search, memory_misses, misses};
use super::{Work, WorkCounts};
use std::sync::Arc;

/// What a writer waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// The device's acknowledgement.
    Acknowledged,
    /// Nothing now: the device has the request, and the writer's next sync waits for it (asynchronous I/O).
    Queued,
    /// Nothing: the operating system took the bytes.
    Buffered,
}

/// One storage access, as the device sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Bytes read at an address.
    Read {
        /// Address on the device.
        address: u64,
        /// Length in bytes.
        bytes: u64,
    },
    /// Bytes written at an address.
    Write {
        /// Address on the device.
        address: u64,
        /// Length in bytes.
        bytes: u64,
        /// What the writer waits for.
        pace: Pace,
    },
    /// A barrier: everything written before is durable after.
    Sync,
    /// A range that holds no data any more (a deleted file).
    Trim {
        /// Address on the device.
        address: u64,
        /// Length in bytes.
        bytes: u64,
    },
}

/// One step of a recorded job, replayed later under the virtual clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// CPU work.
    Cpu(Box<WorkCounts>),
    /// A storage access.
    Io(Access),
    /// The job waits for its turn in a line, and has it until it leaves.
    Enter(Arc<Turns>),
    /// The job has had its turn.
    Leave(Arc<Turns>),
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
    /// How many times larger the data is that this task's speak for.
    stands_for: f64,
    asks: bool,
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
        Self { id, now_ns, pending, settled, blocks_asked: 0, stands_for: 1.0, asks: false, mode }
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

    /// Says that the data that the task works on stands for `times` as much.
    #[must_use]
    pub fn standing_for(mut self, times: f64) -> Self {
        self.stands_for = times;
        self
    }

    /// Counts the misses of a search that looked at `lines` places of a structure of `bytes`. A shrunk structure would fit
    /// the processor's caches where the one that it stands for does not.
    #[inline]
    pub fn charge_misses(&mut self, lines: u64, bytes: u64) {
        self.charge_misses_of(lines, self.full_size(bytes));
    }

    /// Counts the steps of `searches` in a structure of `bytes`, each of which looks at `step_lines` places, and what they
    /// miss. Those that begin near their goals take no more of either in the structure of full size.
    #[inline]
    pub fn charge_steps(&mut self, work: Work, (searches, steps): (u64, u64), step_lines: u64, bytes: u64) {
        let is_larger = self.stands_for != 1.0 && !is_local(searches, steps, bytes);
        let full_bytes = if is_larger { self.full_size(bytes) } else { bytes };
        let steps = if is_larger { larger_search(steps, bytes, full_bytes) } else { steps };
        self.charge(work, steps);
        self.charge_misses_of(step_lines * steps, full_bytes);
    }

    #[inline]
    fn charge_misses_of(&mut self, lines: u64, full_bytes: u64) {
        self.charge(Work::CacheMiss, misses(lines, full_bytes));
        self.charge(Work::MemoryMiss, memory_misses(lines, full_bytes));
    }

    #[inline]
    fn full_size(&self, bytes: u64) -> u64 {
        (bytes as f64 * self.stands_for) as u64
    }

    /// Turns the pending work into time (virtual clock) or into a step (recording).
    pub fn settle(&mut self) {
        match &mut self.mode {
            Mode::Wall => {}
            Mode::Virtual(charge) => self.now_ns = charge.cpu(self.now_ns, &self.pending),
            Mode::Recording(steps) => {
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
            Mode::Recording(steps) => steps.push(Step::Io(access)),
        }
    }

    /// Records a step that is neither work nor an access, if this task records.
    pub(super) fn record(&mut self, step: impl FnOnce() -> Step) {
        if matches!(self.mode, Mode::Recording(_)) {
            self.settle();
        }
        if let Mode::Recording(steps) = &mut self.mode {
            steps.push(step());
        }
    }

    /// Has the task's next operation ask the engine for admission, whether it writes or not: this one used up what background
    /// work has to supply.
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

    /// Whether time passes by itself.
    pub(super) fn is_wall(&self) -> bool {
        matches!(self.mode, Mode::Wall)
    }

    /// Whether time is virtual for this task and passes through queues ([`super::Serial`] asks).
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

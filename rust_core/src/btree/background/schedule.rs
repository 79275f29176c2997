//! Which job is next: checkpoints go before the log's second, that before the page cleaner, then read-ahead, merges of
//! buffered changes and purge; and when all of them have settled.

use super::log_jobs::{CheckpointJob, LogJob};
use super::read_ahead::ReadAheadJob;
use super::state::{Background, SECOND_NS, Slot, Worker};
use crate::error::Result;
use crate::task::{Job, JobKind, Task};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Background {
    /// The next job that is due.
    pub fn next_job(self: &Arc<Self>, now_ns: u64) -> Option<Box<dyn Job>> {
        if self.pool.poison.check().is_err() {
            return None;
        }
        let mut state = self.state.lock();
        self.tick(&mut state, now_ns);
        if self.checkpoint_is_due(&state, now_ns) {
            state.checkpoint_runs = true;
            state.checkpoint_at_ns = now_ns + SECOND_NS;
            return Some(Box::new(CheckpointJob { slot: self.slot(Worker::LogCheckpointer) }));
        }
        if self.log_is_due(&mut state, now_ns) {
            state.log_runs = true;
            return Some(Box::new(LogJob { slot: self.slot(Worker::LogFlusher) }));
        }
        if let Some(job) = self.next_flush(&mut state) {
            return Some(Box::new(job));
        }
        if !state.read_ahead_runs
            && let Some(extent) = self.pool.next_wanted_extent(&self.forest.store.spaces)
        {
            state.read_ahead_runs = true;
            let job = ReadAheadJob::new(self.pool.clone(), extent);
            return Some(Box::new(WithSlot { slot: self.slot(Worker::ReadAhead), job: Box::new(job) }));
        }
        if let Some(job) = self.next_merge(&mut state) {
            return Some(Box::new(job));
        }
        self.next_purge(&mut state).map(|job| Box::new(job) as Box<dyn Job>)
    }

    /// When something is due by time alone.
    pub fn next_timer(&self) -> u64 {
        let state = self.state.lock();
        state.cleaner_at_ns.min(state.log_at_ns)
    }

    /// A writer waits for room in the log: flushing and a checkpoint do not wait for their second.
    pub fn note_waiting_writer(&self) {
        self.writer_waits.store(true, Ordering::Release);
        self.pool.signal.wake();
    }

    /// Everything dirty is to be written.
    pub fn begin_settle(&self) {
        self.state.lock().settling = true;
    }

    /// Whether nothing is ready or running.
    pub fn is_settled(&self) -> bool {
        let mut state = self.state.lock();
        let purges = self.has_to_purge(&state);
        let flushes = state.flush_jobs > 0 || self.idle_dirty() > 0;
        if state.settling && !purges && !flushes && !self.checkpoint_lags() {
            state.settling = false;
        }
        let flushes = state.flush_jobs > 0 || state.log_runs || state.checkpoint_runs;
        let runs = flushes || state.read_ahead_runs || state.merge_runs;
        !state.settling && !runs && !purges && state.pages_due.min(self.idle_dirty()) == 0
    }
}

/// A job that keeps its slot until it is installed.
struct WithSlot {
    slot: Slot,
    job: Box<dyn Job>,
}

impl Job for WithSlot {
    fn kind(&self) -> JobKind {
        self.job.kind()
    }

    fn run(&mut self, task: &mut Task) -> Result<()> {
        self.job.run(task)
    }

    fn install(self: Box<Self>, task: &mut Task) -> Result<()> {
        let Self { slot, job } = *self;
        let installed = job.install(task);
        drop(slot);
        installed
    }
}

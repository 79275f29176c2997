//! Background work in two halves, so that one engine code serves two clocks.

use super::task::Task;
use crate::error::Result;

/// What a job does, for meters and for the choice of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// A memtable becomes a table file.
    Flush,
    /// Table files are merged.
    Compaction,
    /// Dirty pages are written back.
    PageFlush,
    /// A log is synced or written on a timer.
    LogSync,
}

/// How a job moves whole files in order, however large they are: in requests of so many bytes, all but the last of a
/// file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    /// Bytes of one read.
    pub read_bytes: u64,
    /// Bytes of one write.
    pub write_bytes: u64,
}

/// One piece of background work. The wall clock runs both halves on a pool thread. The virtual clock executes `run` at
/// once, replays its recorded steps through the device, and calls `install` when the last step completes.
pub trait Job: Send {
    /// What this job does.
    fn kind(&self) -> JobKind;

    /// How it moves its bytes, if there are as many such jobs in a smaller copy of the data, each with less to do.
    /// `None` if it does as much at once in any data.
    fn stream(&self) -> Option<Stream> {
        None
    }

    /// Does the work. Nothing of it is visible to clients yet.
    fn run(&mut self, task: &mut Task) -> Result<()>;

    /// Makes the work visible. Short: no bulk reads or writes here.
    fn install(self: Box<Self>, task: &mut Task) -> Result<()>;
}

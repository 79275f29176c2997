//! Whose time passes. A [`Task`] is one logical thread of execution; storage accesses and named pieces of CPU [`Work`]
//! are charged to it. Under the wall clock a charge is a counter; under the virtual clock it moves `now_ns` through the
//! queues of the cores and the device. Nothing outside this folder reads a clock, sleeps or starts a thread.

pub mod cores;
pub mod group_sync;
pub mod hardware;
pub mod job;
pub mod line;
pub mod panics;
pub mod queues;
pub mod serial;
pub mod signal;
pub mod simulation;
pub mod task;
pub mod threads;
pub mod work;

pub use group_sync::GroupSync;
pub use job::{Job, JobKind, Stream};
pub use line::Line;
pub use serial::Serial;
pub use signal::Signal;
pub use task::{Charge, Step, Task};
pub use work::{CpuUse, Work, WorkCounts};

/// The answer of an engine to a client that wants to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Write now.
    Go,
    /// Write after this delay, in microseconds (write slowdown).
    Delay {
        /// Microseconds to wait.
        micros: u64,
    },
    /// Wait until background work completes, then ask again (write stop, full redo log).
    Wait,
}

//! Whose time passes. A [`Task`] is one logical thread of execution; storage accesses and named pieces of CPU work are
//! charged to it. Under the wall clock a charge is a counter; under the virtual clock it moves `now_ns` through the
//! queues of the cores and the device. Here is also what tasks wait for: semaphores, serial resources, group syncs,
//! signals; and the one file that reads a clock, sleeps or starts a thread ([`wall`]). Of other rooms this one knows
//! costs and the scale.

mod access;
mod admission;
mod group_sync;
mod job;
pub mod panics;
pub mod queues;
mod semaphore;
pub mod serial;
mod signal;
#[expect(clippy::module_inception, reason = "the task, in the room of what tasks are made of")]
mod task;
mod turns;
pub mod wall;

pub use access::{Access, Pace};
pub use admission::Admission;
pub use group_sync::GroupSync;
pub use job::{Job, JobKind, Stream};
pub use semaphore::Semaphore;
pub use serial::Serial;
pub use signal::Signal;
pub use task::{Charge, Step, Task};
pub use turns::Turns;

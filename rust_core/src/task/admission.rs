//! What an engine answers to a client that wants to write.

/// The answer of an engine to a client that wants to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Write now.
    Go,
    /// Wait for this long, in microseconds, then ask again (write slowdown).
    Delay {
        /// Microseconds to wait.
        micros: u64,
    },
    /// Wait until background work completes, then ask again (write stop, full redo log).
    Wait,
}

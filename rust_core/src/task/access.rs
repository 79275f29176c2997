//! What storage asks of a device.

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

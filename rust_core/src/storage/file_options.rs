//! How a file is opened: what its I/O is like. What an access is for (its purpose) only meters.

/// Which accesses of a file go through the operating system's page cache. All others go past it (`O_DIRECT`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageCached {
    /// Reads.
    pub reads: bool,
    /// Writes.
    pub writes: bool,
}

/// What a writer waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Writes {
    /// The device's acknowledgement.
    #[default]
    Acknowledged,
    /// Nothing until its next sync: a page cleaner queues the pages of a batch and waits for them all.
    Queued,
    /// Nothing: the operating system holds the bytes back, and writes them in larger pieces.
    Buffered,
}

/// How a file is opened. Only simulated storage needs all of it: memory has no page cache, and real files always go
/// through the one of the operating system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileOptions {
    /// What goes through the page cache.
    pub cached: PageCached,
    /// What a writer waits for.
    pub writes: Writes,
    /// A file that grows by its end: its blocks are written whole, and a sync after it grew commits its length.
    pub is_log: bool,
    /// A sync makes the file's times durable as well, as fsync does and fdatasync does not.
    pub syncs_times: bool,
    /// Nobody reads the file but who comes back from a crash: simulated storage, which has none, does not keep its
    /// bytes.
    pub is_for_crashes: bool,
}

impl FileOptions {
    /// Read and written past the page cache.
    pub const DIRECT: Self = Self {
        cached: PageCached { reads: false, writes: false },
        writes: Writes::Acknowledged,
        is_log: false,
        syncs_times: false,
        is_for_crashes: false,
    };

    /// Copies of pages, for the case that a crash tears them.
    pub const DOUBLEWRITE: Self = Self { is_for_crashes: true, ..Self::DIRECT };

    /// Written through the page cache. (A manifest is synced once for each table file: at a small scale the blocks
    /// around its few bytes would weigh as they never do at full size, so it is no log.)
    pub const BUFFERED: Self =
        Self { cached: PageCached { reads: false, writes: true }, writes: Writes::Buffered, ..Self::DIRECT };

    /// A log, which is synced once for each commit, whatever the size of the data.
    pub const LOG: Self = Self { is_log: true, ..Self::BUFFERED };

    /// Pages that a page cleaner writes in batches.
    pub const PAGES: Self = Self { writes: Writes::Queued, ..Self::DIRECT };

    /// A table file.
    pub fn table(cached: PageCached) -> Self {
        Self { cached, ..Self::DIRECT }
    }

    /// The same with syncs that make the file's times durable, or do not.
    #[must_use]
    pub fn with_times(self, syncs_times: bool) -> Self {
        Self { syncs_times, ..self }
    }
}

//! Bytes and calls by purpose. Amplification is arithmetic on these meters and on nothing else.

use std::sync::atomic::{AtomicU64, Ordering};

/// Deepest level that has a meter of its own.
pub const MAX_LEVELS: u8 = 12;

/// Why bytes are written or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The write-ahead log of the LSM.
    Wal,
    /// A memtable written as a level-0 table.
    Flush,
    /// Tables written, or read, by a compaction into `level`.
    Compaction {
        /// Output level.
        level: u8,
    },
    /// Tables written by compactions of a product that does not count by level.
    AllCompactions,
    /// Whatever a product reads that does not count by purpose.
    AllReads,
    /// The log of table-file changes.
    Manifest,
    /// The redo log of the B-tree.
    Redo,
    /// Pages written to the doublewrite area.
    Doublewrite,
    /// Pages written in place, and page-file metadata.
    PageFlush,
    /// Pages of undo logs written in place.
    Undo,
    /// Blocks or pages read for a client.
    UserRead,
    /// Pages read ahead of a scan, or to merge buffered changes in the background.
    ReadAhead,
    /// Logs and files read when an engine opens.
    Recovery,
    /// The log of transactions that a server keeps beside its engine.
    BinaryLog,
    /// What a file system writes at a sync besides the bytes of the file: the rest of partly filled blocks, and its
    /// journal. Known for simulated storage only.
    FileSystem,
}

impl Purpose {
    const FIXED: usize = 14;
    /// Number of distinct meters.
    pub const COUNT: usize = Self::FIXED + MAX_LEVELS as usize + 1;

    /// Position of this purpose's meter.
    pub fn index(self) -> usize {
        match self {
            Self::Wal => 0,
            Self::Flush => 1,
            Self::Manifest => 2,
            Self::Redo => 3,
            Self::Doublewrite => 4,
            Self::PageFlush => 5,
            Self::UserRead => 6,
            Self::ReadAhead => 7,
            Self::Recovery => 8,
            Self::BinaryLog => 9,
            Self::FileSystem => 10,
            Self::Undo => 11,
            Self::AllCompactions => 12,
            Self::AllReads => 13,
            Self::Compaction { level } => Self::FIXED + level.min(MAX_LEVELS) as usize,
        }
    }

    /// All purposes, in the order of their meters.
    pub fn all() -> impl Iterator<Item = Self> {
        [
            Self::Wal,
            Self::Flush,
            Self::Manifest,
            Self::Redo,
            Self::Doublewrite,
            Self::PageFlush,
            Self::UserRead,
            Self::ReadAhead,
            Self::Recovery,
            Self::BinaryLog,
            Self::FileSystem,
            Self::Undo,
            Self::AllCompactions,
            Self::AllReads,
        ]
        .into_iter()
        .chain((0..=MAX_LEVELS).map(|level| Self::Compaction { level }))
    }

    /// Name in reports: `wal`, `compaction_l3`, ….
    pub fn name(self) -> String {
        match self {
            Self::Wal => "wal".into(),
            Self::Flush => "flush".into(),
            Self::Manifest => "manifest".into(),
            Self::Redo => "redo".into(),
            Self::Doublewrite => "doublewrite".into(),
            Self::PageFlush => "page_flush".into(),
            Self::Undo => "undo".into(),
            Self::UserRead => "user_read".into(),
            Self::ReadAhead => "read_ahead".into(),
            Self::Recovery => "recovery".into(),
            Self::BinaryLog => "binary_log".into(),
            Self::FileSystem => "file_system".into(),
            Self::AllCompactions => "compaction".into(),
            Self::AllReads => "read".into(),
            Self::Compaction { level } => format!("compaction_l{level}"),
        }
    }
}

#[derive(Debug, Default)]
struct Counters {
    written_bytes: AtomicU64,
    writes: AtomicU64,
    read_bytes: AtomicU64,
    reads: AtomicU64,
    syncs: AtomicU64,
}

/// Counters of one storage, shared by everybody who uses it.
#[derive(Debug, Default)]
pub struct Meters {
    counters: [Counters; Purpose::COUNT],
}

impl Meters {
    /// Counts one write.
    pub fn wrote(&self, purpose: Purpose, bytes: u64) {
        let counters = &self.counters[purpose.index()];
        counters.written_bytes.fetch_add(bytes, Ordering::Relaxed);
        counters.writes.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one read.
    pub fn read(&self, purpose: Purpose, bytes: u64) {
        let counters = &self.counters[purpose.index()];
        counters.read_bytes.fetch_add(bytes, Ordering::Relaxed);
        counters.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one sync.
    pub fn synced(&self, purpose: Purpose) {
        self.counters[purpose.index()].syncs.fetch_add(1, Ordering::Relaxed);
    }

    /// All counters now.
    pub fn snapshot(&self) -> MetersSnapshot {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        MetersSnapshot(std::array::from_fn(|n| {
            let counters = &self.counters[n];
            PurposeCounts {
                written_bytes: load(&counters.written_bytes),
                writes: load(&counters.writes),
                read_bytes: load(&counters.read_bytes),
                reads: load(&counters.reads),
                syncs: load(&counters.syncs),
            }
        }))
    }
}

/// Counters of one purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PurposeCounts {
    /// Bytes written.
    pub written_bytes: u64,
    /// Write calls.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Read calls.
    pub reads: u64,
    /// Syncs.
    pub syncs: u64,
}

/// Counters of all purposes at one moment, or the difference of two moments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetersSnapshot([PurposeCounts; Purpose::COUNT]);

impl Default for MetersSnapshot {
    fn default() -> Self {
        Self([PurposeCounts::default(); Purpose::COUNT])
    }
}

impl MetersSnapshot {
    /// Of the counters that somebody else keeps.
    pub fn of_counts(counts: impl IntoIterator<Item = (Purpose, PurposeCounts)>) -> Self {
        let mut all = Self::default();
        counts.into_iter().for_each(|(purpose, counts)| all.0[purpose.index()] = counts);
        all
    }

    /// Counters of one purpose.
    pub fn of(&self, purpose: Purpose) -> PurposeCounts {
        self.0[purpose.index()]
    }

    /// Sum over all purposes.
    pub fn total(&self) -> PurposeCounts {
        self.0.iter().fold(PurposeCounts::default(), |sum, one| PurposeCounts {
            written_bytes: sum.written_bytes + one.written_bytes,
            writes: sum.writes + one.writes,
            read_bytes: sum.read_bytes + one.read_bytes,
            reads: sum.reads + one.reads,
            syncs: sum.syncs + one.syncs,
        })
    }

    /// What happened since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self(std::array::from_fn(|n| {
            let (now, then) = (self.0[n], earlier.0[n]);
            PurposeCounts {
                written_bytes: now.written_bytes - then.written_bytes,
                writes: now.writes - then.writes,
                read_bytes: now.read_bytes - then.read_bytes,
                reads: now.reads - then.reads,
                syncs: now.syncs - then.syncs,
            }
        }))
    }
}

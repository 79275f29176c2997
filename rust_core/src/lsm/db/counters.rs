//! What an engine counts since it was opened.

use std::sync::atomic::AtomicU64;

/// Counters since open.
#[derive(Default)]
pub struct Counters {
    /// Key and value bytes written by clients.
    pub user_bytes: AtomicU64,
    /// Flushes installed.
    pub flushes: AtomicU64,
    /// Compactions installed, moves not counted.
    pub compactions: AtomicU64,
    /// Compactions out of level 0 installed, moves not counted.
    pub level0_merges: AtomicU64,
    /// Compactions that only moved files.
    pub trivial_moves: AtomicU64,
    /// Bytes of logs that the replay left out.
    pub wal_dropped_bytes: AtomicU64,
    /// Records among them that begin intact.
    pub wal_dropped_records: AtomicU64,
}

//! What readers look at: RocksDB's `SuperVersion`. One never changes; another takes its place.

use crate::lsm::memtable::MemTable;
use crate::lsm::version::Version;
use std::sync::Arc;

/// Everything that a reader looks at.
pub struct SuperVersion {
    /// The memtable that takes writes.
    pub memtable: Arc<MemTable>,
    /// Full memtables, newest first.
    pub immutables: Vec<Arc<MemTable>>,
    /// The table files.
    pub version: Arc<Version>,
}

//! What one place, a memtable or a table, answers when it is asked for a key.

/// The answer of one place to a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// The value was copied out.
    Found,
    /// The newest entry is a tombstone.
    Deleted,
    /// No entry: look further down.
    Absent,
}

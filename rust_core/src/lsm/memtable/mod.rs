//! The newest entries, in memory: an arena, a skip list in it, and the memtable that writers fill and everybody reads.
//! It knows keys and write batches, neither files nor when it is flushed.

mod arena;
mod cursor;
mod inserter;
#[allow(clippy::module_inception)]
mod memtable;
mod node;
mod skiplist;
#[cfg(test)]
mod tests;

pub use cursor::MemTableCursor;
pub use memtable::MemTable;

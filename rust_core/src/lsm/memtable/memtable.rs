//! The newest entries, in memory: filled by writers under the write lock, read by everybody without one, and turned
//! into a level-0 table when its arena is full by RocksDB's accounting.

use super::cursor::MemTableCursor;
use super::inserter::Inserter;
use super::skiplist::SkipList;
use crate::cost::Work;
use crate::engine::{Change, WriteBatch};
use crate::lsm::keys::Lookup;
use crate::lsm::keys::key::{self, Kind};
use crate::task::Task;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A memtable. Its log file holds the same entries.
pub struct MemTable {
    /// Counts memtables; older ones have smaller numbers.
    pub number: u64,
    /// The log file of its entries.
    pub wal_number: u64,
    list: Arc<SkipList>,
    entries: AtomicU64,
    last_sequence: AtomicU64,
}

/// What one step of a search looks at: the pointer to a node, and its key.
const STEP_LINES: u64 = 2;

/// Changes of a batch from which on it goes in by the order of its keys: rows of several tables, or of an index and its
/// table, each follow one another then, and a search begins where the last one ended.
const SORTED_FROM: usize = 16;

/// Whether an arena is full (RocksDB's `MemTable::ShouldFlushNow`): the last block may overshoot the limit by 60% of a
/// block, and then counts as full when less than a quarter of it is left.
fn is_full(allocated: usize, unused: usize, block: usize, limit: usize) -> bool {
    let overshoot = (block as f64 * 0.6) as usize;
    if allocated + block < limit + overshoot {
        return false;
    }
    allocated > limit + overshoot || unused < block / 4
}

impl MemTable {
    /// An empty memtable.
    pub fn new(number: u64, wal_number: u64, arena_block_bytes: usize) -> Self {
        Self {
            number,
            wal_number,
            list: Arc::new(SkipList::new(arena_block_bytes, number)),
            entries: AtomicU64::new(0),
            last_sequence: AtomicU64::new(0),
        }
    }

    /// Adds the changes of a batch, the first with `sequence`, and says whether the memtable is full now.
    pub fn insert(
        &self,
        task: &mut Task,
        batch: &WriteBatch,
        sequence: u64,
        arena_block_bytes: usize,
        limit: u64,
    ) -> bool {
        let mut inserter = Inserter::new(&self.list);
        let mut insert = |(at, change)| match change {
            Change::Put { key, value } => inserter.insert(key, key::trailer(at, Kind::Put), value),
            Change::Delete { key } => inserter.insert(key, key::trailer(at, Kind::Delete), &[]),
        };
        let steps = if batch.len() < SORTED_FROM {
            (sequence..).zip(batch.changes()).map(&mut insert).sum::<u64>()
        } else {
            let mut changes = (sequence..).zip(batch.changes()).collect::<Vec<_>>();
            changes.sort_by_key(|(_, change)| change.key());
            changes.into_iter().map(insert).sum()
        };
        let (allocated, unused) = inserter.arena_bytes();
        let searches = (batch.len() as u64, steps);
        task.charge_memtable_steps(searches, STEP_LINES, (allocated - unused) as u64);
        task.charge(Work::Record, batch.len() as u64);
        self.entries.fetch_add(batch.len() as u64, Ordering::Relaxed);
        self.last_sequence.store(sequence + batch.len() as u64 - 1, Ordering::Relaxed);
        is_full(allocated, unused, arena_block_bytes, limit as usize)
    }

    /// Looks for the newest entry of a key at `sequence` and copies its value.
    #[inline]
    pub fn get(&self, task: &mut Task, user_key: &[u8], sequence: u64, value: &mut Vec<u8>) -> Lookup {
        let (entry, steps) = self.list.find(user_key, key::seek_trailer(sequence));
        task.charge_memtable_steps((1, steps), STEP_LINES, self.memory_bytes());
        let Some((internal, found)) = entry else { return Lookup::Absent };
        let (found_key, trailer) = key::split(internal);
        if found_key != user_key {
            return Lookup::Absent;
        }
        if key::is_delete(trailer) {
            return Lookup::Deleted;
        }
        value.extend_from_slice(found);
        task.charge(Work::CopyByte, value.len() as u64);
        Lookup::Found
    }

    /// A cursor that is not positioned.
    pub fn cursor(&self) -> MemTableCursor {
        MemTableCursor::new(self.list.clone())
    }

    /// Number of entries.
    pub fn entries(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }

    /// Sequence number of the newest entry.
    pub fn last_sequence(&self) -> u64 {
        self.last_sequence.load(Ordering::Relaxed)
    }

    /// Bytes of memory in use.
    pub fn memory_bytes(&self) -> u64 {
        self.list.allocated_bytes() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries that fit into a memtable of `limit` bytes with 16-byte keys and 100-byte values in scattered order.
    fn entries_per_flush(limit: u64, block: usize) -> u64 {
        let (mut task, memtable) = (Task::wall(0), MemTable::new(1, 1, block));
        let mut batch = WriteBatch::default();
        for n in 1u64.. {
            let mut key = [0; 16];
            key[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
            batch.clear();
            batch.put(&key, &[b'v'; 100]);
            if memtable.insert(&mut task, &batch, n, block, limit) {
                return memtable.entries();
            }
        }
        unreachable!()
    }

    #[test]
    fn a_memtable_holds_as_many_entries_as_rocksdbs() {
        let entries = entries_per_flush(16 << 20, 1 << 20);
        assert!((113_700..113_960).contains(&entries), "{entries}, RocksDB holds 113,830");
    }

    #[test]
    fn the_newest_visible_entry_answers() {
        let (mut task, memtable) = (Task::wall(0), MemTable::new(1, 1, 4096));
        let mut batch = WriteBatch::default();
        batch.put(b"k", b"one");
        batch.delete(b"k");
        batch.put(b"k", b"three");
        memtable.insert(&mut task, &batch, 1, 4096, 1 << 20);
        let mut get = |sequence| {
            let mut value = Vec::new();
            let lookup = memtable.get(&mut task, b"k", sequence, &mut value);
            (lookup, value)
        };
        assert_eq!(get(0), (Lookup::Absent, vec![]));
        assert_eq!(get(1), (Lookup::Found, b"one".to_vec()));
        assert_eq!(get(2), (Lookup::Deleted, vec![]));
        assert_eq!(get(9), (Lookup::Found, b"three".to_vec()));
    }
}

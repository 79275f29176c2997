//! Room in the log for a batch. A batch reserves it before its first change, so that no client finds the log full half
//! way.

use super::btree::Btree;
use crate::engine::WriteBatch;
use crate::error::{Error, Result};
use crate::task::Task;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Redo bytes that a change may take beside its key and value.
const CHANGE_OVERHEAD: u64 = 160;
/// Assumption: changes of a compressed table for one page that is compressed again.
const CHANGES_PER_RECOMPRESSION: u64 = 8;
/// Rounds after which a client gives up, of those without any gain while nobody holds room and no page is being
/// written: then only a latch that others hold for a moment can be in the way.
const FUTILE_ROUNDS: usize = 100;
/// How long a client waits for what others do before it looks again.
const ROOM_WAIT: Duration = Duration::from_millis(10);

/// Counts a client as one that waits, so that whoever gives room back tells it.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn among(clients: &'a AtomicUsize) -> Self {
        clients.fetch_add(1, Ordering::SeqCst);
        Self(clients)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Btree {
    /// Redo bytes that a batch is counted for: itself, its changes and their undo, images of the two pages of a split
    /// for every half page that it adds, and for one more, and a long old value. In compressed tables, some changes log
    /// a page that is compressed again; when there is no room for it, they do not.
    pub(super) fn estimate(&self, batch: &WriteBatch) -> u64 {
        6 * batch.encoded_bytes() as u64
            + CHANGE_OVERHEAD * batch.len() as u64
            + 2 * self.options.innodb_page_size
            + self.forest.max_inline_bytes_of_all() as u64
            + self.options.key_block_size * (batch.len() as u64).div_ceil(CHANGES_PER_RECOMPRESSION)
    }

    /// Reserves room in the log for a batch, beside what other clients have reserved. Usually admission has seen to it;
    /// if not, the client flushes pages itself, and waits while others use the room.
    pub(super) fn reserve(&self, task: &mut Task, need: u64) -> Result<()> {
        let store = &self.forest.store;
        let redo = &store.redo;
        let mut waiting = None;
        let mut futile = 0;
        while need <= redo.usable_bytes() && futile < FUTILE_ROUNDS {
            // Before anything is looked at: what others do from here on ends the wait below.
            let seen = waiting.as_ref().map(|_| self.signal.completed_generation());
            let others = self.forest.reserved.load(Ordering::SeqCst);
            let usable = redo.usable_bytes();
            let limit = if others == 0 { usable } else { redo.thresholds.hard.min(usable) };
            if redo.checkpoint_age() + others + need <= limit {
                let reserved = &self.forest.reserved;
                if reserved.compare_exchange(others, others + need, Ordering::SeqCst, Ordering::Acquire).is_ok() {
                    return Ok(());
                }
                continue;
            }
            if store.pool.make_log_room(task)? {
                continue;
            }
            self.poison.check()?;
            futile += usize::from(others == 0 && store.pool.flush_list.writing() == 0);
            match seen {
                // Under the virtual clock nobody else does anything meanwhile.
                _ if !task.is_wall() => {}
                Some(seen) => self.signal.wait_completed(seen, ROOM_WAIT),
                None => waiting = Some(Waiting::among(&self.room_waiters)),
            }
        }
        let accepted = format!("a batch whose redo fits into innodb_redo_log_capacity, {}", redo.header().capacity);
        Err(Error::invalid("batch bytes", need, accepted))
    }

    /// Gives back what a batch reserved, and tells those who wait for it.
    pub(super) fn give_back(&self, reserved: u64) {
        self.forest.reserved.fetch_sub(reserved, Ordering::SeqCst);
        if self.room_waiters.load(Ordering::SeqCst) > 0 {
            self.signal.complete();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btree::options::Options;
    use crate::engine::{Commit, Engine, KeyLayout};
    use crate::storage::MemoryStorage;
    use crate::task::Signal;
    use crate::task::wall::{sleep, spawn};
    use std::sync::Arc;

    fn engine() -> Arc<Btree> {
        let storage = Arc::new(MemoryStorage::new(Arc::default()));
        let options = Options { innodb_redo_log_capacity: 256 << 10, ..Options::default() };
        let signal = Arc::new(Signal::default());
        Btree::open(storage, options, KeyLayout::Plain, signal, &mut Task::wall(0)).unwrap()
    }

    fn put(engine: &Btree, number: u32) -> Result<()> {
        let mut batch = WriteBatch::default();
        batch.put(&number.to_be_bytes(), &[7; 1000]);
        engine.write(&mut Task::wall(1), &mut batch, Commit::Configured)
    }

    #[test]
    fn a_client_waits_for_room_until_another_gives_it_back() {
        let engine = engine();
        let held = engine.forest.store.redo.thresholds.hard;
        engine.forest.reserved.store(held, Ordering::SeqCst);
        let client = engine.clone();
        let write = spawn("client".to_owned(), move || put(&client, 0));
        while engine.room_waiters.load(Ordering::SeqCst) == 0 {
            sleep(Duration::from_millis(1));
        }
        engine.give_back(held);
        write.join().unwrap().unwrap();
        assert_eq!(engine.room_waiters.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_client_gives_up_where_nobody_can_make_room() {
        let engine = engine();
        // A batch that never ends keeps the checkpoint where it is.
        engine.forest.store.redo.begin_batch();
        let refused = (0..1000).find_map(|number| put(&engine, number).err());
        assert!(matches!(refused, Some(Error::Invalid { .. })), "{refused:?}");
        assert_eq!(engine.room_waiters.load(Ordering::SeqCst), 0);
    }
}

//! Room in the log for a batch. A batch reserves it before its first change, so that no client finds the log full half
//! way. InnoDB looks for room before each change (`log_free_check`), and so does a batch that splits more pages than it
//! was counted for.

use super::btree::Btree;
use crate::btree::log::RedoOp;
use crate::btree::tree::{Forest, Intent, Origin, Span, UndoLog};
use crate::engine::Change;
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

/// A batch in the log that is under way.
pub(super) struct Logged {
    /// LSN of its intent.
    pub intent: u64,
    /// No checkpoint passes this LSN while the batch runs.
    pub floor: u64,
    /// Bytes of log that are reserved for it.
    pub need: u64,
    /// LSN from which on the log is counted against its room.
    pub counted_from: u64,
    /// Bytes of log that it may take from there on.
    pub room: u64,
}

impl Logged {
    /// Where one of its changes comes from.
    pub fn origin(&self, index: u32, span: Option<Span>) -> Origin {
        Origin::Batch { intent: self.intent, floor: self.floor, index, span }
    }
}

/// How an attempt to take room in the log ended.
enum Attempt {
    Taken,
    /// Something changed meanwhile.
    Again,
    /// The log is too full. A client that is alone has nobody to wait for.
    Short {
        is_alone: bool,
    },
}

/// Redo bytes of an intent.
fn intent_bytes(plan: &Intent) -> u64 {
    plan.encoded().len() as u64 + CHANGE_OVERHEAD
}

impl Btree {
    /// Redo bytes that a batch of so many bytes and changes is counted for: itself, its changes and their undo, images
    /// of the two pages of a split for every half page that it adds, and for one more, and a long old value. In
    /// compressed tables, some changes log a page that is compressed again; when there is no room for it, they do not.
    pub(super) fn estimate(&self, bytes: u64, changes: usize) -> u64 {
        6 * bytes
            + CHANGE_OVERHEAD * changes as u64
            + self.most_beside_values()
            + self.options.key_block_size * (changes as u64).div_ceil(CHANGES_PER_RECOMPRESSION)
    }

    /// Redo bytes that a change may take beside its key, its value and their undo: those of a split, and a long old
    /// value.
    fn most_beside_values(&self) -> u64 {
        2 * self.options.innodb_page_size + self.forest.max_inline_bytes_of_all() as u64
    }

    /// Sees to it that the log has room for the next change of a batch. One that has used up what it was counted for
    /// is counted anew, if the log has that room; if not, its intent moves, so that the checkpoint may pass where it
    /// began, and it waits for room like one that begins. What others log meanwhile counts as its own.
    pub(super) fn keep_room(
        &self,
        task: &mut Task,
        logged: &mut Logged,
        plan: &Intent,
        (index, change): (u32, &Change),
        undo: &mut UndoLog,
    ) -> Result<()> {
        let redo = &self.forest.store.redo;
        let change_bytes = 4 * change.bytes() as u64 + CHANGE_OVERHEAD + self.most_beside_values();
        let used = redo.lsn() - logged.counted_from;
        if used + change_bytes + intent_bytes(plan) <= logged.room {
            return Ok(());
        }
        self.count_anew(task, logged, plan, index, undo)
    }

    /// Counts a batch's room from here on, and waits for it where the log is too full.
    pub(super) fn count_anew(
        &self,
        task: &mut Task,
        logged: &mut Logged,
        plan: &Intent,
        index: u32,
        undo: &mut UndoLog,
    ) -> Result<()> {
        let redo = &self.forest.store.redo;
        // A batch about as large as the log goes on in halves of the log.
        logged.room = logged.need.min(redo.thresholds.hard / 2);
        let others = self.forest.reserved.load(Ordering::SeqCst) - logged.need;
        if redo.checkpoint_age() + others + logged.room > redo.thresholds.hard {
            self.wait_half_way(task, logged, plan, index, undo)?;
        }
        logged.counted_from = redo.lsn();
        Ok(())
    }

    /// Waits for room. What the batch has reserved stays closed to batches that begin, but not to others that wait half
    /// way: all of them have moved their intents, so one at least goes on.
    fn wait_half_way(
        &self,
        task: &mut Task,
        logged: &mut Logged,
        plan: &Intent,
        applied: u32,
        undo: &mut UndoLog,
    ) -> Result<()> {
        let Forest { store, reserved, parked, .. } = &*self.forest;
        let redo = &store.redo;
        let intent_bytes = intent_bytes(plan);
        undo.let_go();
        self.move_intent(task, logged, plan, applied)?;
        parked.fetch_add(logged.need, Ordering::SeqCst);
        self.tell_waiting();
        self.until_room(task, logged.room, |task| {
            let waiting = parked.load(Ordering::SeqCst);
            let others = reserved.load(Ordering::SeqCst).saturating_sub(waiting);
            let age = redo.checkpoint_age();
            if age + others + logged.room <= redo.thresholds.hard {
                let rest = waiting - logged.need;
                let is_taken = parked.compare_exchange(waiting, rest, Ordering::SeqCst, Ordering::Acquire).is_ok();
                return Ok(if is_taken { Attempt::Taken } else { Attempt::Again });
            }
            let held_back = redo.lsn() - logged.floor;
            let is_oldest = redo.batch_floor() == Some(logged.floor);
            if is_oldest && held_back > 2 * intent_bytes && age + others + intent_bytes <= redo.usable_bytes() {
                self.move_intent(task, logged, plan, applied)?;
                return Ok(Attempt::Again);
            }
            Ok(Attempt::Short { is_alone: others == 0 })
        })
    }

    /// Logs the intent of a batch again, of which the first `applied` changes are made, and makes it durable: the pages
    /// that have them may be written before the log goes on.
    fn move_intent(&self, task: &mut Task, logged: &mut Logged, plan: &Intent, applied: u32) -> Result<()> {
        let redo = &self.forest.store.redo;
        let floor = redo.begin_batch();
        let op = RedoOp::Intent { applied, replaces: logged.intent, batch: plan.encoded() };
        let (intent, end) = redo.append(task, |out| op.encode(out))?;
        redo.sync_to(task, end)?;
        redo.end_batch(logged.floor);
        self.forest.counters.moved_intents.fetch_add(1, Ordering::Relaxed);
        (logged.intent, logged.floor) = (intent, floor);
        Ok(())
    }

    /// Reserves room in the log for a batch, beside what other clients have reserved. Usually admission has seen to it;
    /// if not, the client flushes pages itself, and waits while others use the room.
    pub(super) fn reserve(&self, task: &mut Task, need: u64) -> Result<()> {
        let (redo, reserved) = (&self.forest.store.redo, &self.forest.reserved);
        self.until_room(task, need, |_| {
            let others = reserved.load(Ordering::SeqCst);
            let usable = redo.usable_bytes();
            let limit = if others == 0 { usable } else { redo.thresholds.hard.min(usable) };
            if redo.checkpoint_age() + others + need > limit {
                return Ok(Attempt::Short { is_alone: others == 0 });
            }
            let taken = reserved.compare_exchange(others, others + need, Ordering::SeqCst, Ordering::Acquire);
            Ok(if taken.is_ok() { Attempt::Taken } else { Attempt::Again })
        })
    }

    /// Makes room in the log, or waits for others to give it back, until `attempt` has taken it.
    fn until_room(
        &self,
        task: &mut Task,
        need: u64,
        mut attempt: impl FnMut(&mut Task) -> Result<Attempt>,
    ) -> Result<()> {
        let store = &self.forest.store;
        let mut waiting = None;
        let mut futile = 0;
        while need <= store.redo.usable_bytes() && futile < FUTILE_ROUNDS {
            // Before anything is looked at: what others do from here on ends the wait below.
            let seen = waiting.as_ref().map(|_| self.signal.completed_generation());
            let is_alone = match attempt(task)? {
                Attempt::Taken => return Ok(()),
                Attempt::Again => continue,
                Attempt::Short { is_alone } => is_alone,
            };
            if store.pool.make_log_room(task)? {
                continue;
            }
            self.poison.check()?;
            futile += usize::from(is_alone && store.pool.flush_list.writing() == 0);
            match seen {
                // Under the virtual clock nobody else does anything meanwhile.
                _ if !task.is_wall() => {}
                Some(seen) => self.signal.wait_completed(seen, ROOM_WAIT),
                None => waiting = Some(Waiting::among(&self.room_waiters)),
            }
        }
        let accepted =
            format!("a batch whose redo fits into innodb_redo_log_capacity, {}", store.redo.header().capacity);
        Err(Error::invalid("batch bytes", need, accepted))
    }

    /// Gives back what a batch reserved, and tells those who wait for it.
    pub(super) fn give_back(&self, reserved: u64) {
        self.forest.reserved.fetch_sub(reserved, Ordering::SeqCst);
        self.tell_waiting();
    }

    fn tell_waiting(&self) {
        if self.room_waiters.load(Ordering::SeqCst) > 0 {
            self.signal.complete();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btree::options::Options;
    use crate::engine::{Commit, Engine, KeyLayout, WriteBatch};
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

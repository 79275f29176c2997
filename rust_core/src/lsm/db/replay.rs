//! The replay of logs: what is in no table yet goes into tables of level 0. Where a log breaks off, `wal_recovery_mode`
//! says whether that is an error, the end, or passed over; what is left out is counted.

use super::db_impl::DbImpl;
use super::wal::log_name;
use crate::engine::WriteBatch;
use crate::error::{Error, Result};
use crate::lsm::keys::key::MAX_SEQUENCE;
use crate::lsm::log::{Break, Reader, Record, read_all};
use crate::lsm::memtable::MemTable;
use crate::lsm::options::WalRecoveryMode;
use crate::lsm::version::VersionEdit;
use crate::storage::FileOptions;
use crate::task::Task;
use std::cmp::Ordering::{Equal, Greater, Less};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A log that is in memory.
struct Log {
    number: u64,
    bytes: Vec<u8>,
}

impl Log {
    /// Bytes from `offset` on, without zeros at the end: those may be a length that was reserved.
    fn bytes_from(&self, offset: usize) -> usize {
        self.bytes[offset..].iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
    }

    fn reader(&self) -> Reader<'_> {
        Reader::new(self.number, &self.bytes)
    }
}

/// What becomes of a whole record.
enum Fate {
    Taken,
    Refused { what: &'static str, may_be_torn: bool },
}

struct Replay<'a> {
    db: &'a Arc<DbImpl>,
    memtable: MemTable,
    /// All entries up to this sequence number are in tables.
    in_tables: u64,
    /// The sequence number of the last entry so far.
    last: u64,
    /// The logs that are still to come, oldest first.
    newer: Vec<u64>,
}

impl DbImpl {
    /// Puts the entries of logs, told by their numbers, into tables of level 0.
    pub fn replay_logs(self: &Arc<Self>, task: &mut Task, mut logs: Vec<u64>) -> Result<()> {
        logs.sort_unstable_by(|one, other| other.cmp(one));
        let in_tables = self.sequence.load(Ordering::Relaxed);
        let memtable = MemTable::new(0, 0, self.options.arena_block_bytes());
        let mut replay = Replay { db: self, memtable, in_tables, last: in_tables, newer: logs };
        while let Some(number) = replay.newer.pop() {
            let log = replay.read(task, number)?;
            if !replay.log(task, &log)? {
                break;
            }
        }
        if replay.memtable.entries() > 0 { self.install_replayed(task, replay.memtable) } else { Ok(()) }
    }

    fn install_replayed(self: &Arc<Self>, task: &mut Task, memtable: MemTable) -> Result<()> {
        let last = memtable.last_sequence();
        let file = self.write_level0_table(task, &[Arc::new(memtable)])?;
        self.storage.sync_directory(task)?;
        // The log number stays until all logs are replayed; if that is cut short, the next replay passes over the
        // entries up to `last_sequence`.
        let edit = VersionEdit { last_sequence: Some(last), ..VersionEdit::default() };
        self.log_and_apply(task, &mut self.manifest.lock(), edit, &[(0, file)], &[])?;
        self.sequence.store(last, Ordering::Release);
        Ok(())
    }
}

impl Replay<'_> {
    fn read(&self, task: &mut Task, number: u64) -> Result<Log> {
        let file = self.db.storage.open(task, &log_name(number), FileOptions::LOG)?;
        Ok(Log { number, bytes: read_all(task, &*file)? })
    }

    /// Replays a log, and tells whether to go on with the next.
    fn log(&mut self, task: &mut Task, log: &Log) -> Result<bool> {
        let mut reader = log.reader();
        loop {
            let broken = match reader.next_record() {
                Record::End => return Ok(true),
                Record::Broken(broken) => broken,
                Record::Whole { payload, offset } => match self.record(task, payload, offset)? {
                    Fate::Taken => continue,
                    Fate::Refused { what, may_be_torn } => Break { offset, what, may_be_torn },
                },
            };
            match self.db.parsed.wal_recovery_mode {
                WalRecoveryMode::AbsoluteConsistency => return Err(damage(log, broken, "")),
                WalRecoveryMode::TolerateCorruptedTailRecords => {
                    self.expect_tail(task, log, broken)?;
                    return self.drop_rest(task, log, broken.offset);
                }
                WalRecoveryMode::PointInTimeRecovery => return self.drop_rest(task, log, broken.offset),
                WalRecoveryMode::SkipAnyCorruptedRecords => {
                    let next = reader.skip_behind(broken.offset);
                    self.count_dropped(next.unwrap_or(log.bytes.len()) - broken.offset, 0);
                }
            }
        }
    }

    /// Puts a record into the memtable.
    fn record(&mut self, task: &mut Task, payload: &[u8], offset: usize) -> Result<Fate> {
        let skips = self.db.parsed.wal_recovery_mode == WalRecoveryMode::SkipAnyCorruptedRecords;
        let refused = |what, may_be_torn| Ok(Fate::Refused { what, may_be_torn });
        let Some((sequence, batch)) = WriteBatch::decode(payload) else { return refused("not a write batch", false) };
        let end = sequence.checked_add(batch.len() as u64).and_then(|behind| behind.checked_sub(1));
        let Some(end) = end.filter(|end| *end <= MAX_SEQUENCE) else {
            return refused("a sequence number out of range", false);
        };
        if end <= self.in_tables {
            return Ok(Fate::Taken);
        }
        match sequence.cmp(&(self.last + 1)) {
            Less => return refused("a sequence number that was used before", false),
            // Within a log nothing is missing between two whole records.
            Greater if !skips => return refused("the records before it are missing", offset == 0),
            Equal | Greater => self.last = end,
        }
        let options = &self.db.options;
        let block = options.arena_block_bytes();
        if self.memtable.insert(task, &batch, sequence, block, options.write_buffer_size) {
            let full = std::mem::replace(&mut self.memtable, MemTable::new(0, 0, block));
            self.db.install_replayed(task, full)?;
        }
        Ok(Fate::Taken)
    }

    /// Fails unless a power cut may have broken off the log here: nothing behind was known to be synced.
    fn expect_tail(&self, task: &mut Task, log: &Log, broken: Break) -> Result<()> {
        if !broken.may_be_torn {
            return Err(damage(log, broken, ""));
        }
        let reader = log.reader();
        let mut was_synced =
            reader.was_synced_behind(broken.offset) || broken.offset == 0 && reader.follows_synced_logs();
        for number in self.newer.iter().rev() {
            was_synced = was_synced || self.read(task, *number)?.reader().follows_synced_logs();
        }
        if was_synced { Err(damage(log, broken, ", and a later record says that it was synced")) } else { Ok(()) }
    }

    /// Leaves out the rest of a log and all newer ones.
    fn drop_rest(&self, task: &mut Task, log: &Log, offset: usize) -> Result<bool> {
        self.count_dropped(log.bytes_from(offset), log.reader().records_from(offset));
        for number in &self.newer {
            let newer = self.read(task, *number)?;
            self.count_dropped(newer.bytes_from(0), newer.reader().records_from(0));
        }
        Ok(false)
    }

    fn count_dropped(&self, bytes: usize, records: u64) {
        let counters = &self.db.counters;
        counters.wal_dropped_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        counters.wal_dropped_records.fetch_add(records, Ordering::Relaxed);
    }
}

fn damage(log: &Log, broken: Break, why: &str) -> Error {
    let what = broken.what;
    let hint = "wal_recovery_mode=kPointInTimeRecovery opens with what is before it";
    Error::corruption(log_name(log.number), broken.offset as u64, format!("{what}{why}; {hint}"))
}

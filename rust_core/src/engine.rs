//! What a workload may ask of any engine: ordered keys and values, atomic batches, iterators in both directions, and
//! the background work that a runtime carries out for it.

use crate::cost::Work;
use crate::error::{Error, Result};
pub use crate::metrics::EngineStats;
use crate::task::{Admission, Job, Task};
use serde::Deserialize;
use strum::{EnumString, IntoStaticStr, VariantNames};

/// The engines of this core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, EnumString, IntoStaticStr, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum EngineKind {
    /// The LSM tree, with RocksDB's options.
    Lsm,
    /// The B-tree, with InnoDB's options.
    Btree,
    /// RocksDB itself, which keeps its own time.
    Rocksdb,
    /// InnoDB itself, in a SQL server.
    Innodb,
    /// RocksDB itself, in a SQL server.
    Myrocks,
}

impl EngineKind {
    /// Its name in specs and reports.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether it is a product itself, with its own threads, stalls and files.
    pub fn is_real(self) -> bool {
        !matches!(self, Self::Lsm | Self::Btree)
    }

    /// Whether its background merges what writers leave to it, in a time of its own. That of a B-tree writes pages when
    /// it is made to.
    pub fn merges(self) -> bool {
        !matches!(self, Self::Btree | Self::Innodb)
    }
}

/// How keys are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyLayout {
    /// One space of plain keys (db_bench, YCSB).
    Plain,
    /// The first 4 bytes of every key are a big-endian index number, as MyRocks encodes them. A B-tree engine keeps one
    /// tree for each index number and does not store those bytes.
    Indexed,
}

/// Bytes of the index number in front of a key under [`KeyLayout::Indexed`].
pub const INDEX_NUMBER_BYTES: usize = 4;

/// How durable a write is when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commit {
    /// As the engine's options say.
    Configured,
    /// Survives a power failure, whatever the options say.
    Synced,
    /// Not yet: a later write of the same transaction commits, and nothing waits for the log until then.
    Open,
}

/// One change in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// Sets a key.
    Put {
        /// The key.
        key: &'a [u8],
        /// Its new value.
        value: &'a [u8],
    },
    /// Removes a key.
    Delete {
        /// The key.
        key: &'a [u8],
    },
}

impl<'a> Change<'a> {
    /// The key that it is about.
    pub fn key(&self) -> &'a [u8] {
        match self {
            Self::Put { key, .. } | Self::Delete { key } => key,
        }
    }

    /// Bytes of its key and its value.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Put { key, value } => key.len() + value.len(),
            Self::Delete { key } => key.len(),
        }
    }
}

/// Changes that take effect together. The bytes are those of a RocksDB write batch: 8 bytes of sequence number and 4 of
/// count, then for each change a tag, a varint length and the key, and for a put a varint length and the value.
#[derive(Debug, Clone)]
pub struct WriteBatch {
    rep: Vec<u8>,
    count: u32,
    user_bytes: u64,
    /// Rows of tables among the changes, and those of them that are new.
    rows: u64,
    new_rows: u64,
    images: RowImages,
    calls_in_line: bool,
}

/// Bytes of changed rows' images in a server's log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowImages {
    /// The key before, the changed columns after.
    pub minimal_bytes: u64,
    /// All columns, before and after.
    pub full_bytes: u64,
}

const HEADER_BYTES: usize = 12;
const TAG_DELETE: u8 = 0;
const TAG_PUT: u8 = 1;

impl Default for WriteBatch {
    fn default() -> Self {
        Self {
            rep: vec![0; HEADER_BYTES],
            count: 0,
            user_bytes: 0,
            rows: 0,
            new_rows: 0,
            images: RowImages::default(),
            calls_in_line: false,
        }
    }
}

impl WriteBatch {
    /// Adds a put.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        self.rep.push(TAG_PUT);
        push_slice(&mut self.rep, key);
        push_slice(&mut self.rep, value);
        self.count += 1;
        self.user_bytes += (key.len() + value.len()) as u64;
    }

    /// Adds a change.
    pub fn push(&mut self, change: &Change) {
        match change {
            Change::Put { key, value } => self.put(key, value),
            Change::Delete { key } => self.delete(key),
        }
    }

    /// Adds a delete.
    pub fn delete(&mut self, key: &[u8]) {
        self.rep.push(TAG_DELETE);
        push_slice(&mut self.rep, key);
        self.count += 1;
        self.user_bytes += key.len() as u64;
    }

    /// Removes all changes and keeps the allocation.
    pub fn clear(&mut self) {
        self.rep.truncate(HEADER_BYTES);
        self.count = 0;
        self.user_bytes = 0;
        self.rows = 0;
        self.new_rows = 0;
        self.images = RowImages::default();
        self.calls_in_line = false;
    }

    /// Leaves it to an engine whose writers stand in line to count what a product's calls take of the batch
    /// ([`Self::charge_calls`]): each has to wait until those before it have done that too.
    pub fn leave_calls_to_line(&mut self) {
        self.calls_in_line = true;
    }

    /// Whether it is left to the line.
    pub fn calls_in_line(&self) -> bool {
        self.calls_in_line
    }

    /// Counts a product's calls of the batch.
    pub fn charge_calls(&self, task: &mut Task, commit: Commit) {
        task.charge(Work::KeyChange, self.len() as u64);
        task.charge(Work::Commit, u64::from(commit != Commit::Open));
    }

    /// Notes that one of the changes is a row of a table, with these images in a server's log.
    pub fn note_row(&mut self, images: RowImages) {
        self.rows += 1;
        self.images.minimal_bytes += images.minimal_bytes;
        self.images.full_bytes += images.full_bytes;
    }

    /// Notes such a row that is new.
    pub fn note_new_row(&mut self, images: RowImages) {
        self.note_row(images);
        self.new_rows += 1;
    }

    /// Notes the rows of another batch, whose last changes these are.
    pub fn note_rows_of(&mut self, whole: &Self) {
        (self.rows, self.new_rows, self.images) = (whole.rows, whole.new_rows, whole.images);
    }

    /// Rows of tables among the changes.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Those of them that are new.
    pub fn new_rows(&self) -> u64 {
        self.new_rows
    }

    /// The images of all rows.
    pub fn images(&self) -> RowImages {
        self.images
    }

    /// Number of changes.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is no change.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Key and value bytes, without encoding.
    pub fn user_bytes(&self) -> u64 {
        self.user_bytes
    }

    /// The encoded batch with `sequence` in its header: the payload of a log record.
    pub fn encode(&mut self, sequence: u64) -> &[u8] {
        self.rep[..8].copy_from_slice(&sequence.to_le_bytes());
        self.rep[8..HEADER_BYTES].copy_from_slice(&self.count.to_le_bytes());
        &self.rep
    }

    /// Bytes of the encoded batch.
    pub fn encoded_bytes(&self) -> usize {
        self.rep.len()
    }

    /// The changes in order.
    pub fn changes(&self) -> Changes<'_> {
        Changes { rest: &self.rep[HEADER_BYTES..] }
    }

    /// Reads an encoded batch back: its sequence number and itself. `None` if the bytes are not a batch.
    pub fn decode(rep: &[u8]) -> Option<(u64, Self)> {
        let sequence = u64::from_le_bytes(rep.get(..8)?.try_into().ok()?);
        let count = u32::from_le_bytes(rep.get(8..HEADER_BYTES)?.try_into().ok()?);
        let mut changes = Changes { rest: &rep[HEADER_BYTES..] };
        let (mut found, mut user_bytes) = (0, 0);
        for change in changes.by_ref() {
            found += 1;
            user_bytes += match change {
                Change::Put { key, value } => key.len() + value.len(),
                Change::Delete { key } => key.len(),
            } as u64;
        }
        let whole = changes.rest.is_empty() && found == count;
        whole.then(|| (sequence, Self { rep: rep.to_vec(), count, user_bytes, ..Self::default() }))
    }
}

fn push_slice(rep: &mut Vec<u8>, bytes: &[u8]) {
    crate::codec::varint::push_u32(rep, bytes.len() as u32);
    rep.extend_from_slice(bytes);
}

/// Iterator over the changes of a batch; it stops at the first malformed one.
#[derive(Debug, Clone)]
pub struct Changes<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Changes<'a> {
    type Item = Change<'a>;

    fn next(&mut self) -> Option<Change<'a>> {
        let (tag, rest) = self.rest.split_first()?;
        let (key, rest) = crate::codec::varint::take_slice(rest)?;
        let (change, rest) = match *tag {
            TAG_DELETE => (Change::Delete { key }, rest),
            TAG_PUT => {
                let (value, rest) = crate::codec::varint::take_slice(rest)?;
                (Change::Put { key, value }, rest)
            }
            _ => return None,
        };
        self.rest = rest;
        Some(change)
    }
}

/// A cursor over keys in order. A fresh one is not positioned.
pub trait EngineIterator {
    /// Moves to the first key at or after `key`.
    fn seek(&mut self, task: &mut Task, key: &[u8]) -> Result<()>;
    /// Moves to the last key at or before `key`.
    fn seek_for_prev(&mut self, task: &mut Task, key: &[u8]) -> Result<()>;
    /// Moves to the next key. The iterator must be valid.
    fn next(&mut self, task: &mut Task) -> Result<()>;
    /// Moves to the previous key. The iterator must be valid.
    fn prev(&mut self, task: &mut Task) -> Result<()>;
    /// Whether there is a current entry. An indexed B-tree is invalid past the end of the current index; an LSM goes on
    /// into the next one, so callers check the bounds of their keys.
    fn valid(&self) -> bool;
    /// The current key, index number included.
    fn key(&self) -> &[u8];
    /// The current value.
    fn value(&self) -> &[u8];
}

/// A storage engine under either clock. It never sleeps, reads a clock or starts a thread.
pub trait Engine: Send + Sync {
    /// Reads a key into `value` (cleared first) and says whether it is there.
    fn get(&self, task: &mut Task, key: &[u8], value: &mut Vec<u8>) -> Result<bool>;

    /// Applies a batch atomically. The driver has asked [`Engine::admit`] before. Transactions of any size go through
    /// [`crate::transaction::write`].
    fn write(&self, task: &mut Task, batch: &mut WriteBatch, commit: Commit) -> Result<()>;

    /// Whether these changes of a transaction are so many that the engine takes them before there are more.
    fn takes_in_pieces(&self, _changes: &WriteBatch) -> bool {
        false
    }

    /// Whether an index of rows that are there is added as a whole, by [`Engine::add_index`], and not entry by entry.
    fn adds_indexes(&self) -> bool {
        false
    }

    /// Adds the entries of an index, in key order, of which none was ever there.
    fn add_index(&self, task: &mut Task, entries: &mut WriteBatch) -> Result<()> {
        self.write(task, entries, Commit::Configured)
    }

    /// A cursor. It shows every key that was there before this call and stays, and no key that was gone before and
    /// stays away. Of what changes later, the LSM shows nothing: its cursor is a snapshot. The B-tree, which keeps no
    /// versions, shows what is there when the cursor comes to it: all writes acknowledged before that step, perhaps a
    /// part of a batch under way.
    fn iterator<'a>(&'a self, task: &mut Task) -> Result<Box<dyn EngineIterator + 'a>>;

    /// Keys in `from..to`, as a query planner asks before it picks an index. None if the engine does not read to tell,
    /// or would have to read too much; an engine that reads does so at the price of other reads.
    fn count_in_range(&self, _task: &mut Task, _from: &[u8], _to: &[u8]) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Whether a client may write `bytes` now.
    fn admit(&self, task: &mut Task, bytes: u64) -> Result<Admission>;

    /// Background work that is due at `now_ns`, if the engine's own limits on concurrent jobs allow one more. The
    /// caller runs and installs it.
    fn next_job(&self, now_ns: u64) -> Option<Box<dyn Job>>;

    /// When a timed job is due next, in nanoseconds of run time; `None` if only writes bring work.
    fn next_timer(&self, now_ns: u64) -> Option<u64>;

    /// Threads that the engine's options grant to background work.
    fn background_threads(&self) -> usize;

    /// Starts settling: everything buffered goes to storage as jobs (memtables flush and compactions drain, or dirty
    /// pages are written back) until [`Engine::is_settled`].
    fn begin_settle(&self, task: &mut Task) -> Result<()>;

    /// Whether no background work is ready or running, after [`Engine::begin_settle`] or by itself.
    fn is_settled(&self) -> bool;

    /// While it is asked for, level 0 of an LSM is merged down as soon as it holds a file. Other engines have none.
    fn empty_level0(&self, _is_asked: bool) -> Result<()> {
        Ok(())
    }

    /// How many cycles have ended in which reads become dearer until they are cheap again: in an LSM, those in which
    /// level 0 fills until it is merged into the next level. `None` where background work goes on evenly.
    fn cycles(&self) -> Option<u64> {
        None
    }

    /// Makes all acknowledged writes durable and leaves the files ready to be opened. No job runs any more.
    fn close(&self, task: &mut Task) -> Result<()>;

    /// A background error: from now on every call answers [`Error::Poisoned`].
    fn poison(&self, error: &Error);

    /// The poison, if any.
    fn check(&self) -> Result<()>;

    /// Counters and gauges.
    fn stats(&self) -> EngineStats;
}

/// What an engine around another one, its field `engine`, leaves to that: all but reads, writes, its end and its
/// counters.
macro_rules! forward_to_engine {
    () => {
        fn count_in_range(
            &self,
            task: &mut $crate::task::Task,
            from: &[u8],
            to: &[u8],
        ) -> $crate::error::Result<Option<u64>> {
            self.engine.count_in_range(task, from, to)
        }

        fn takes_in_pieces(&self, changes: &$crate::engine::WriteBatch) -> bool {
            self.engine.takes_in_pieces(changes)
        }

        fn adds_indexes(&self) -> bool {
            self.engine.adds_indexes()
        }

        fn add_index(
            &self,
            task: &mut $crate::task::Task,
            entries: &mut $crate::engine::WriteBatch,
        ) -> $crate::error::Result<()> {
            self.engine.add_index(task, entries)
        }

        fn admit(&self, task: &mut $crate::task::Task, bytes: u64) -> $crate::error::Result<$crate::task::Admission> {
            self.engine.admit(task, bytes)
        }

        fn next_job(&self, now_ns: u64) -> Option<Box<dyn $crate::task::Job>> {
            self.engine.next_job(now_ns)
        }

        fn next_timer(&self, now_ns: u64) -> Option<u64> {
            self.engine.next_timer(now_ns)
        }

        fn background_threads(&self) -> usize {
            self.engine.background_threads()
        }

        fn begin_settle(&self, task: &mut $crate::task::Task) -> $crate::error::Result<()> {
            self.engine.begin_settle(task)
        }

        fn is_settled(&self) -> bool {
            self.engine.is_settled()
        }

        fn empty_level0(&self, is_asked: bool) -> $crate::error::Result<()> {
            self.engine.empty_level0(is_asked)
        }

        fn cycles(&self) -> Option<u64> {
            self.engine.cycles()
        }

        fn poison(&self, error: &$crate::error::Error) {
            self.engine.poison(error);
        }

        fn check(&self) -> $crate::error::Result<()> {
            self.engine.check()
        }
    };
}
pub(crate) use forward_to_engine;

/// A background error kept for all later callers.
#[derive(Debug, Default)]
pub struct Poison {
    first: parking_lot::RwLock<Option<(String, bool)>>,
    set: std::sync::atomic::AtomicBool,
}

impl Poison {
    /// Keeps the first error.
    pub fn set(&self, error: &Error) {
        let mut first = self.first.write();
        if first.is_none() {
            let why = match error {
                Error::Poisoned { why, .. } => why.clone(),
                other => other.to_string(),
            };
            *first = Some((why, error.is_disk_full()));
            self.set.store(true, std::sync::atomic::Ordering::Release);
        }
    }

    /// Fails if there was an error.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if !self.set.load(std::sync::atomic::Ordering::Acquire) {
            return Ok(());
        }
        let (why, disk_full) = self.first.read().clone().unwrap_or_default();
        Err(Error::Poisoned { why, disk_full })
    }
}

//! Files in memory over a simulated device: each file has extents on the device, and every access is charged to the task.
//! Logs go through the operating system's page cache, and a file system keeps a journal; tables and pages are written
//! directly.

use super::memory::MemoryStorage;
use super::space::{BLOCK_BYTES, Extent, Placement, Space};
use super::{Storage, StorageFile};
use crate::error::{Error, Result};
use crate::metrics::{Meters, Purpose};
use crate::runtime::Task;
use crate::runtime::task::{Access, Pace};
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Assumption: the operating system writes buffered bytes back in pieces of this size.
const WRITE_BACK_BYTES: u64 = 1 << 20;

/// Blocks of a journal commit: descriptor, the block with the inode, commit (Linux kernel documentation, ext4, "Journal
/// (jbd2)").
const COMMIT_BLOCKS: u64 = 3;

/// The journal takes this part of the device, as ext4 gives 128 MiB to file systems of some hundred gigabytes.
const JOURNAL_PART: u64 = 4096;

/// The journal of the file system: a ring at the start of the device.
#[derive(Debug)]
struct Journal {
    blocks: u64,
    next: AtomicU64,
}

/// What all files of a device share.
#[derive(Debug)]
struct Volume {
    space: Mutex<Space>,
    journal: Journal,
    meters: Arc<Meters>,
    /// Bytes that the file system wrote besides those of the files.
    own_bytes: AtomicU64,
}

impl Volume {
    fn new(meters: Arc<Meters>, capacity_bytes: u64) -> Self {
        let mut space = Space::new(capacity_bytes);
        let blocks = (capacity_bytes / BLOCK_BYTES / JOURNAL_PART).max(COMMIT_BLOCKS);
        space.take(None, blocks);
        let journal = Journal { blocks, next: AtomicU64::new(0) };
        Self { space: Mutex::new(space), journal, meters, own_bytes: AtomicU64::new(0) }
    }

    /// Counts bytes that the file system writes on its own account.
    fn count(&self, bytes: u64) {
        self.meters.wrote(Purpose::FileSystem, bytes);
        self.own_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Commits the change of a file's size to the journal.
    fn commit(&self, task: &mut Task) {
        let next = self.journal.next.fetch_add(COMMIT_BLOCKS, Ordering::Relaxed);
        let first = next % (self.journal.blocks / COMMIT_BLOCKS * COMMIT_BLOCKS);
        let bytes = COMMIT_BLOCKS * BLOCK_BYTES;
        self.count(bytes);
        task.access(Access::Write { address: first * BLOCK_BYTES, bytes, pace: Pace::Acknowledged });
    }

    fn give_back(&self, task: &mut Task, extents: Vec<Extent>) {
        let mut space = self.space.lock();
        for extent in extents {
            task.access(Access::Trim { address: extent.first * BLOCK_BYTES, bytes: extent.blocks * BLOCK_BYTES });
            space.give(extent);
        }
    }
}

/// A file on the device, and what the operating system holds back of it.
#[derive(Debug, Default)]
struct Layout {
    placement: RwLock<Placement>,
    /// Appended bytes that the device has not been given yet: offset of the first and of the one past the last.
    pending: Mutex<(u64, u64)>,
    /// Length that the journal knows.
    committed: AtomicU64,
}

impl Layout {
    fn write(&self, task: &mut Task, offset: u64, bytes: u64, pace: Pace) {
        let placement = self.placement.read();
        placement.runs(offset, bytes, |address, bytes| task.access(Access::Write { address, bytes, pace }));
    }
}

/// A directory on a simulated device of `capacity` bytes.
pub struct SimulatedStorage {
    inner: MemoryStorage,
    volume: Arc<Volume>,
    files: Mutex<BTreeMap<String, Arc<Layout>>>,
}

impl SimulatedStorage {
    /// An empty directory on a device of `capacity_bytes`.
    pub fn new(meters: Arc<Meters>, capacity_bytes: u64) -> Self {
        let volume = Arc::new(Volume::new(meters.clone(), capacity_bytes));
        Self { inner: MemoryStorage::forgetful(meters), volume, files: Mutex::default() }
    }

    fn handle(&self, name: &str, inner: Arc<dyn StorageFile>, layout: Arc<Layout>) -> Arc<dyn StorageFile> {
        Arc::new(SimulatedFile { name: name.to_owned(), inner, layout, volume: self.volume.clone() })
    }

    /// Frees the blocks of a file that is gone. What the operating system held back of it is written first: a log of full
    /// size would have been written by then but for its end.
    fn give_back(&self, task: &mut Task, name: &str) {
        let Some(layout) = self.files.lock().remove(name) else { return };
        let (start, end) = std::mem::take(&mut *layout.pending.lock());
        layout.write(task, start, end - start, Pace::Buffered);
        let extents = layout.placement.write().cut(0, u64::MAX);
        self.volume.give_back(task, extents);
    }
}

impl Storage for SimulatedStorage {
    fn create(&self, task: &mut Task, name: &str) -> Result<Arc<dyn StorageFile>> {
        self.give_back(task, name);
        let inner = self.inner.create(task, name)?;
        let layout = Arc::<Layout>::default();
        self.files.lock().insert(name.to_owned(), layout.clone());
        Ok(self.handle(name, inner, layout))
    }

    fn open(&self, task: &mut Task, name: &str) -> Result<Arc<dyn StorageFile>> {
        let inner = self.inner.open(task, name)?;
        let layout = self.files.lock().get(name).cloned().unwrap_or_default();
        Ok(self.handle(name, inner, layout))
    }

    fn remove(&self, task: &mut Task, name: &str) -> Result<()> {
        self.inner.remove(task, name)?;
        self.give_back(task, name);
        Ok(())
    }

    fn rename(&self, task: &mut Task, from: &str, to: &str) -> Result<()> {
        self.inner.rename(task, from, to)?;
        self.give_back(task, to);
        let mut files = self.files.lock();
        if let Some(layout) = files.remove(from) {
            files.insert(to.to_owned(), layout);
        }
        Ok(())
    }

    fn list(&self) -> Result<Vec<String>> {
        self.inner.list()
    }

    fn sync_directory(&self, task: &mut Task) -> Result<()> {
        self.inner.sync_directory(task)?;
        task.access(Access::Sync);
        Ok(())
    }

    fn meters(&self) -> &Arc<Meters> {
        self.inner.meters()
    }

    fn used_bytes(&self) -> Result<u64> {
        self.inner.used_bytes()
    }

    fn written_bytes(&self) -> u64 {
        self.inner.written_bytes() + self.volume.own_bytes.load(Ordering::Relaxed)
    }

    fn read_bytes(&self) -> u64 {
        self.inner.read_bytes()
    }
}

/// Whether writes of this purpose go through the operating system's cache, so that the writer does not wait for the
/// device.
fn is_buffered(purpose: Purpose) -> bool {
    is_log(purpose) || purpose == Purpose::Manifest
}

/// Logs are synced once for each commit, whatever the size of the data. (The manifest is synced once for each table file:
/// at a small scale the blocks around its few bytes would weigh as they never do at full size.)
fn is_log(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::Wal | Purpose::Redo | Purpose::BinaryLog)
}

/// What the writer of tables and pages waits for: a page cleaner queues the pages of a batch and waits for them all.
fn pace(purpose: Purpose) -> Pace {
    match purpose {
        Purpose::PageFlush => Pace::Queued,
        _ => Pace::Acknowledged,
    }
}

struct SimulatedFile {
    name: String,
    inner: Arc<dyn StorageFile>,
    layout: Arc<Layout>,
    volume: Arc<Volume>,
}

impl SimulatedFile {
    /// Gives the pending bytes of a file to the device. Those of a log are written in whole blocks, the first and the last
    /// of which may have been written before.
    fn write_back(&self, task: &mut Task, purpose: Purpose, pace: Pace) {
        let (start, end) = std::mem::take(&mut *self.layout.pending.lock());
        if start == end {
            return;
        }
        let (mut first, mut last) = (start, end);
        if is_log(purpose) {
            (first, last) = (start / BLOCK_BYTES * BLOCK_BYTES, end.next_multiple_of(BLOCK_BYTES));
            self.volume.count(last - first - (end - start));
        }
        self.layout.write(task, first, last - first, pace);
    }

    /// Holds appended bytes back, until enough of them make a write. What is written over meanwhile, as the last block of a
    /// redo log is, changes in the page cache alone.
    fn hold(&self, task: &mut Task, purpose: Purpose, offset: u64, bytes: u64) {
        let (start, end) = *self.layout.pending.lock();
        let goes_on = start < end && (start..=end).contains(&offset);
        if !goes_on {
            self.write_back(task, purpose, Pace::Buffered);
        }
        let mut pending = self.layout.pending.lock();
        *pending = if goes_on { (start, end.max(offset + bytes)) } else { (offset, offset + bytes) };
        let full = pending.1 - pending.0 >= WRITE_BACK_BYTES;
        drop(pending);
        if full {
            self.write_back(task, purpose, Pace::Buffered);
        }
    }
}

impl StorageFile for SimulatedFile {
    fn read_at(&self, task: &mut Task, purpose: Purpose, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.inner.read_at(task, purpose, offset, buffer)?;
        let placement = self.layout.placement.read();
        placement.runs(offset, buffer.len() as u64, |address, bytes| task.access(Access::Read { address, bytes }));
        Ok(())
    }

    fn write_at(&self, task: &mut Task, purpose: Purpose, offset: u64, data: &[u8]) -> Result<()> {
        let bytes = data.len() as u64;
        if !self.layout.placement.write().reach(&mut self.volume.space.lock(), offset, bytes) {
            return Err(Error::io(&*self.name, "write", io::Error::from(io::ErrorKind::StorageFull)));
        }
        self.inner.write_at(task, purpose, offset, data)?;
        if is_buffered(purpose) {
            self.hold(task, purpose, offset, bytes);
        } else {
            self.layout.write(task, offset, bytes, pace(purpose));
        }
        Ok(())
    }

    fn sync(&self, task: &mut Task, purpose: Purpose) -> Result<()> {
        self.inner.sync(task, purpose)?;
        self.write_back(task, purpose, Pace::Acknowledged);
        let length = self.len();
        if is_log(purpose) && self.layout.committed.swap(length, Ordering::Relaxed) != length {
            self.volume.commit(task);
        }
        task.access(Access::Sync);
        Ok(())
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn set_len(&self, task: &mut Task, bytes: u64) -> Result<()> {
        self.inner.set_len(task, bytes)?;
        let (start, end) = &mut *self.layout.pending.lock();
        (*start, *end) = ((*start).min(bytes), (*end).min(bytes));
        let cut = self.layout.placement.write().cut(bytes.next_multiple_of(BLOCK_BYTES), u64::MAX);
        self.volume.give_back(task, cut);
        Ok(())
    }

    fn punch_hole(&self, task: &mut Task, offset: u64, bytes: u64) -> Result<()> {
        self.inner.punch_hole(task, offset, bytes)?;
        let cut = self.layout.placement.write().cut(offset, bytes);
        self.volume.give_back(task, cut);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::WorkCounts;
    use crate::runtime::task::Charge;

    /// Notes what the device is asked for.
    #[derive(Clone, Default)]
    struct Asked(Arc<Mutex<Vec<Access>>>);

    impl Charge for Asked {
        fn cpu(&mut self, now_ns: u64, _work: &WorkCounts) -> u64 {
            now_ns
        }
        fn io(&mut self, now_ns: u64, access: Access) -> u64 {
            self.0.lock().push(access);
            now_ns
        }
    }

    impl Asked {
        fn written(&self) -> Vec<u64> {
            let bytes = |access: &Access| match access {
                Access::Write { bytes, .. } => Some(*bytes),
                _ => None,
            };
            self.0.lock().iter().filter_map(bytes).collect()
        }
    }

    fn storage() -> (SimulatedStorage, Asked, Task) {
        let asked = Asked::default();
        let task = Task::simulated(0, 0, Box::new(asked.clone()));
        (SimulatedStorage::new(Arc::default(), 1 << 30), asked, task)
    }

    fn is_balanced(storage: &SimulatedStorage, asked: &Asked) {
        let metered = storage.meters().snapshot().total().written_bytes;
        assert_eq!((metered, metered), (storage.written_bytes(), asked.written().iter().sum()));
    }

    #[test]
    fn a_synced_log_that_grows_writes_whole_blocks_and_a_journal_commit() {
        let (storage, asked, mut task) = storage();
        let log = storage.create(&mut task, "log").unwrap();
        for n in 0..2 {
            log.write_at(&mut task, Purpose::Wal, n * 100, &[7; 100]).unwrap();
            log.sync(&mut task, Purpose::Wal).unwrap();
        }
        log.sync(&mut task, Purpose::Wal).unwrap();
        assert_eq!(asked.written(), [4096, 3 * 4096, 4096, 3 * 4096]);
        assert_eq!(storage.meters().snapshot().of(Purpose::Wal).written_bytes, 200);
        is_balanced(&storage, &asked);
    }

    #[test]
    fn a_log_of_fixed_length_needs_no_journal() {
        let (storage, asked, mut task) = storage();
        let log = storage.create(&mut task, "redo").unwrap();
        log.write_at(&mut task, Purpose::Redo, 0, &vec![0; 65536]).unwrap();
        log.sync(&mut task, Purpose::Redo).unwrap();
        log.write_at(&mut task, Purpose::Redo, 4000, &[7; 512]).unwrap();
        log.sync(&mut task, Purpose::Redo).unwrap();
        assert_eq!(asked.written(), [65536, 3 * 4096, 8192]);
        is_balanced(&storage, &asked);
    }

    #[test]
    fn a_log_that_is_not_synced_is_written_in_large_pieces_and_when_it_is_removed() {
        let (storage, asked, mut task) = storage();
        let log = storage.create(&mut task, "log").unwrap();
        (0..300).for_each(|n| log.write_at(&mut task, Purpose::Wal, n * 4096, &[7; 4096]).unwrap());
        assert_eq!(asked.written(), [1 << 20]);
        storage.remove(&mut task, "log").unwrap();
        assert_eq!(asked.written().iter().sum::<u64>(), 300 * 4096);
        is_balanced(&storage, &asked);
    }

    #[test]
    fn a_removed_file_is_trimmed_and_its_space_used_again() {
        let (storage, asked, mut task) = storage();
        for name in ["1.sst", "2.sst"] {
            let table = storage.create(&mut task, name).unwrap();
            table.write_at(&mut task, Purpose::Flush, 0, &[7; 10_000]).unwrap();
            storage.remove(&mut task, name).unwrap();
        }
        let asked = asked.0.lock().clone();
        assert_eq!(asked.len(), 4);
        assert!(matches!(asked[1], Access::Trim { bytes: 12_288, .. }));
        assert_eq!((asked[0], asked[1]), (asked[2], asked[3]));
    }
}

//! Files in memory over a simulated device: each file has extents on the device, and every access is charged to the
//! task. Logs, and the files that say so, go through the operating system's page cache, and a file system keeps a
//! journal. Writers of tables and pages wait for the device, whether the page cache keeps a copy or not.

use super::contract::{Decoded, Storage, StorageFile};
use super::decoded::{self, KeptBytes};
use super::file_options::{FileOptions, Writes};
use super::memory::{MemoryFile, MemoryStorage};
use super::page_cache::{FileId, PAGE_BYTES, PageCache, PageCounts};
use super::space::{BLOCK_BYTES, Extent, Placement, Space};
use crate::cost::Work;
use crate::error::{Error, Result};
use crate::metrics::{Meters, Purpose};
use crate::scale::Scale;
use crate::task::Task;
use crate::task::{Access, Pace};
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Assumption: the operating system writes buffered bytes back in pieces of this size.
pub const WRITE_BACK_BYTES: u64 = 1 << 20;

/// The logical block of a device, on which what goes past the page cache begins and ends (open(2), O_DIRECT; RocksDB
/// `RandomAccessFileReader::Read`, `GetRequiredBufferAlignment`). Assumption: 512 bytes, as most drives say.
const SECTOR_BYTES: u64 = 512;

/// Blocks of a journal commit before its record: descriptor and the block with the inode (Linux kernel documentation,
/// ext4, "Journal (jbd2)").
const LISTED_BLOCKS: u64 = 2;
/// With the record, which is written behind a flush of the device's cache (`journal_submit_commit_record`,
/// `REQ_PREFLUSH`). Measured on ext4 (Linux 6.18, counters of the block device): an fdatasync of a log that grew within
/// blocks set aside for it writes 3 blocks besides its own, in 2 requests, and flushes twice; one of a log that did not
/// grow flushes once.
const COMMIT_BLOCKS: u64 = LISTED_BLOCKS + 1;

/// Assumption: the clock of a file's times goes on in these steps, one of the kernel's ticks at its default of 250 a
/// second (Linux, `current_time`, `CONFIG_HZ`).
const TICK_NS: u64 = 4_000_000;

/// The journal takes this part of the device, as ext4 gives 128 MiB to file systems of some hundred gigabytes.
const JOURNAL_PART: u64 = 4096;

/// The journal of the file system: a ring at the start of the device.
#[derive(Debug)]
struct Journal {
    blocks: u64,
    commits: AtomicU64,
}

/// What all files of a device share.
#[derive(Debug)]
struct Volume {
    space: Mutex<Space>,
    journal: Journal,
    meters: Arc<Meters>,
    /// The pieces in which buffered bytes are written back.
    piece_bytes: u64,
    /// Bytes that the file system wrote besides those of the files.
    own_bytes: AtomicU64,
    page_cache: Mutex<PageCache>,
    /// Bytes of what is kept decoded of all files.
    decoded_bytes: KeptBytes,
}

impl Volume {
    fn new(meters: Arc<Meters>, capacity_bytes: u64, piece_bytes: u64, page_cache: PageCache) -> Self {
        let mut space = Space::new(capacity_bytes);
        let blocks = (capacity_bytes / BLOCK_BYTES / JOURNAL_PART).max(COMMIT_BLOCKS);
        space.take(None, blocks);
        let (journal, page_cache) = (Journal { blocks, commits: AtomicU64::new(0) }, Mutex::new(page_cache));
        Self {
            space: Mutex::new(space),
            journal,
            meters,
            piece_bytes,
            own_bytes: AtomicU64::new(0),
            page_cache,
            decoded_bytes: KeptBytes::default(),
        }
    }

    /// The same device with other meters and another page cache, which is empty.
    fn fork(&self, meters: Arc<Meters>, page_cache: PageCache) -> Self {
        let commits = AtomicU64::new(self.journal.commits.load(Ordering::Relaxed));
        Self {
            space: Mutex::new(self.space.lock().clone()),
            journal: Journal { blocks: self.journal.blocks, commits },
            meters,
            piece_bytes: self.piece_bytes,
            own_bytes: AtomicU64::new(0),
            page_cache: Mutex::new(page_cache),
            decoded_bytes: KeptBytes::default(),
        }
    }

    /// The name of a new file in the page cache, if there is one.
    fn known_to_page_cache(&self) -> Option<FileId> {
        let mut pages = self.page_cache.lock();
        pages.holds_pages().then(|| pages.add_file())
    }

    /// Counts bytes that the file system writes on its own account.
    fn count(&self, bytes: u64) {
        self.meters.wrote(Purpose::FileSystem, bytes);
        self.own_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Commits what changed of files' sizes and times to the journal, but for the flush behind its record.
    fn commit(&self, task: &mut Task) {
        let next = self.journal.commits.fetch_add(1, Ordering::Relaxed) * COMMIT_BLOCKS;
        let first = next % (self.journal.blocks / COMMIT_BLOCKS * COMMIT_BLOCKS);
        self.write_journal(task, first, LISTED_BLOCKS);
        task.access(Access::Sync);
        self.write_journal(task, first + LISTED_BLOCKS, 1);
    }

    fn write_journal(&self, task: &mut Task, first: u64, blocks: u64) {
        let (address, bytes) = (first * BLOCK_BYTES, blocks * BLOCK_BYTES);
        self.count(bytes);
        task.access(Access::Write { address, bytes, pace: Pace::Acknowledged });
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
    /// When the file was last written to, in ticks from 1 on, and which commit of the journal has that.
    time: Mutex<(u64, u64)>,
    /// The file in the page cache; `None` once it is removed, and where there is no page cache.
    cached: Mutex<Option<FileId>>,
}

impl Layout {
    /// The same file where it is `cached` in another page cache.
    fn fork(&self, cached: Option<FileId>) -> Self {
        Self {
            placement: RwLock::new(self.placement.read().clone()),
            pending: Mutex::new(*self.pending.lock()),
            committed: AtomicU64::new(self.committed.load(Ordering::Relaxed)),
            time: Mutex::new(*self.time.lock()),
            cached: Mutex::new(cached),
        }
    }

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
    rotates: bool,
}

impl SimulatedStorage {
    /// An empty directory on a device of `capacity_bytes` for data at this scale, with so much memory for a page cache.
    /// Without any, each read is the device's, of the sectors that hold the bytes.
    ///
    /// Bytes are written back in pieces that are smaller by as much: those of the full size would hold the device for a
    /// larger part of the time that all else takes.
    pub fn new(meters: Arc<Meters>, capacity_bytes: u64, page_cache_bytes: u64, scale: Scale) -> Self {
        let piece_bytes = scale.shrunk_bytes(WRITE_BACK_BYTES).max(BLOCK_BYTES);
        let page_cache = PageCache::new(page_cache_bytes);
        let volume = Arc::new(Volume::new(meters.clone(), capacity_bytes, piece_bytes, page_cache));
        Self { inner: MemoryStorage::forgetful(meters), volume, files: Mutex::default(), rotates: true }
    }

    /// On a device that rotates, or does not.
    #[must_use]
    pub fn on_device(self, rotates: bool) -> Self {
        Self { rotates, ..self }
    }

    /// The same files on the same device, with so much memory for a page cache, which is empty, and with meters that
    /// begin anew. What either of the two does from here on, the other does not see. No file may be open.
    #[must_use]
    pub fn fork(&self, page_cache_bytes: u64) -> Self {
        let meters = Arc::<Meters>::default();
        let volume = Arc::new(self.volume.fork(meters.clone(), PageCache::new(page_cache_bytes)));
        let layouts = self.files.lock();
        let copy = |layout: &Layout| Arc::new(layout.fork(volume.known_to_page_cache()));
        let files = layouts.iter().map(|(name, layout)| (name.clone(), copy(layout))).collect();
        Self { inner: self.inner.fork(meters), volume, files: Mutex::new(files), rotates: self.rotates }
    }

    /// Bytes of memory that the files take, with what is kept decoded of them.
    pub fn memory_bytes(&self) -> u64 {
        self.inner.memory_bytes()
    }

    /// Pages that buffered reads looked for so far.
    pub fn page_counts(&self) -> PageCounts {
        self.volume.page_cache.lock().counts()
    }

    fn handle(&self, name: &str, inner: MemoryFile, layout: Arc<Layout>, options: FileOptions) -> Arc<dyn StorageFile> {
        Arc::new(SimulatedFile { name: name.to_owned(), inner, layout, volume: self.volume.clone(), options })
    }

    /// Frees the blocks of a file that is gone. What the operating system held back of it is written first: a log of
    /// full size would have been written by then but for its end.
    fn give_back(&self, task: &mut Task, name: &str) {
        let Some(layout) = self.files.lock().remove(name) else { return };
        let (start, end) = std::mem::take(&mut *layout.pending.lock());
        layout.write(task, start, end - start, Pace::Buffered);
        if let Some(file) = layout.cached.lock().take() {
            self.volume.page_cache.lock().remove_file(file);
        }
        let extents = layout.placement.write().cut(0, u64::MAX);
        self.volume.give_back(task, extents);
    }
}

impl Storage for SimulatedStorage {
    fn create(&self, task: &mut Task, name: &str, options: FileOptions) -> Result<Arc<dyn StorageFile>> {
        self.give_back(task, name);
        let inner = self.inner.create_file(name);
        let cached = Mutex::new(self.volume.known_to_page_cache());
        let layout = Arc::new(Layout { cached, ..Layout::default() });
        self.files.lock().insert(name.to_owned(), layout.clone());
        Ok(self.handle(name, inner, layout, options))
    }

    fn open(&self, _task: &mut Task, name: &str, options: FileOptions) -> Result<Arc<dyn StorageFile>> {
        let inner = self.inner.open_file(name)?;
        let layout = self.files.lock().get(name).cloned().unwrap_or_default();
        Ok(self.handle(name, inner, layout, options))
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

    fn rotates(&self) -> bool {
        self.rotates
    }

    fn written_bytes(&self) -> u64 {
        self.inner.written_bytes() + self.volume.own_bytes.load(Ordering::Relaxed)
    }

    fn read_bytes(&self) -> u64 {
        self.inner.read_bytes()
    }
}

struct SimulatedFile {
    name: String,
    inner: MemoryFile,
    layout: Arc<Layout>,
    volume: Arc<Volume>,
    options: FileOptions,
}

impl SimulatedFile {
    fn note_time(&self, tick: u64) {
        let mut time = self.layout.time.lock();
        if time.0 != tick {
            *time = (tick, self.volume.journal.commits.load(Ordering::Relaxed) + 1);
        }
    }

    /// Whether the file was written to since the last commit of the journal, which has the times of all files.
    fn time_is_uncommitted(&self) -> bool {
        self.layout.time.lock().1 > self.volume.journal.commits.load(Ordering::Relaxed)
    }

    /// Counts a read and makes it: of whole units of so many bytes, which stand for so many `times` as much.
    fn fetch(&self, task: &mut Task, purpose: Purpose, units: Range<u64>, unit_bytes: u64, times: f64) {
        let as_read = |bytes: u64| ((bytes as f64 * times) as u64).next_multiple_of(unit_bytes);
        let (offset, bytes) = (units.start * unit_bytes, (units.end - units.start) * unit_bytes);
        self.inner.count_read(purpose, as_read(bytes));
        let placement = self.layout.placement.read();
        placement.runs(offset, bytes, |address, bytes| task.access(Access::Read { address, bytes: as_read(bytes) }));
    }

    /// Writes past the page cache.
    fn write_direct(&self, task: &mut Task, offset: u64, bytes: u64, pace: Pace) {
        if pace == Pace::Acknowledged {
            task.charge(Work::StorageWait, 1);
        }
        self.layout.write(task, offset, bytes, pace);
    }

    /// Pages under a range of bytes that the page cache lacks, and has from now on. `None` if the read goes past it.
    fn missing(&self, offset: u64, bytes: u64) -> Option<Vec<Range<u64>>> {
        if !self.options.cached.reads {
            return None;
        }
        let cached = self.layout.cached.lock();
        Some(self.volume.page_cache.lock().read((*cached)?, offset, bytes))
    }

    /// Gets from the device what the page cache lacks of a read, which stands for one of `full_bytes`.
    fn fetch_missing(&self, task: &mut Task, purpose: Purpose, offset: u64, bytes: u64, full_bytes: u64) {
        let units_of = |unit_bytes: u64| offset / unit_bytes..(offset + bytes).div_ceil(unit_bytes);
        // Small blocks fill parts of a unit, as that of full size does not.
        let times = |unit_bytes: u64| {
            let units = units_of(unit_bytes);
            if full_bytes == bytes { 1.0 } else { full_bytes as f64 / ((units.end - units.start) * unit_bytes) as f64 }
        };
        let Some(missing) = self.missing(offset, bytes) else {
            self.fetch(task, purpose, units_of(SECTOR_BYTES), SECTOR_BYTES, times(SECTOR_BYTES));
            return;
        };
        for pages in missing {
            self.fetch(task, purpose, pages, PAGE_BYTES, times(PAGE_BYTES));
        }
    }

    fn forget(&self, pages: Range<u64>) {
        if let Some(file) = *self.layout.cached.lock() {
            self.volume.page_cache.lock().forget(file, pages);
        }
    }

    /// Gives the pending bytes of a file to the device. Those of a log are written in whole blocks, the first and the
    /// last of which may have been written before.
    fn write_back(&self, task: &mut Task, pace: Pace) {
        let (start, end) = std::mem::take(&mut *self.layout.pending.lock());
        if start == end {
            return;
        }
        let (mut first, mut last) = (start, end);
        if self.options.is_log {
            (first, last) = (start / BLOCK_BYTES * BLOCK_BYTES, end.next_multiple_of(BLOCK_BYTES));
            self.volume.count(last - first - (end - start));
        }
        self.layout.write(task, first, last - first, pace);
    }

    /// Holds appended bytes back, until enough of them make a write. What is written over meanwhile, as the last block
    /// of a redo log is, changes in the page cache alone.
    fn hold(&self, task: &mut Task, offset: u64, bytes: u64) {
        let (start, end) = *self.layout.pending.lock();
        let goes_on = start < end && (start..=end).contains(&offset);
        if !goes_on {
            self.write_back(task, Pace::Buffered);
        }
        let mut pending = self.layout.pending.lock();
        *pending = if goes_on { (start, end.max(offset + bytes)) } else { (offset, offset + bytes) };
        if pending.1 - pending.0 < self.volume.piece_bytes {
            return;
        }
        // Small pieces end with a whole block, or their ends would be a large part of what is written.
        let ends_whole = self.volume.piece_bytes < WRITE_BACK_BYTES && self.options.is_log;
        let end = pending.1;
        let whole = if ends_whole { end / BLOCK_BYTES * BLOCK_BYTES } else { end };
        pending.1 = whole;
        drop(pending);
        self.write_back(task, Pace::Buffered);
        if whole < end {
            *self.layout.pending.lock() = (whole, end);
        }
    }
}

impl StorageFile for SimulatedFile {
    fn read_at(&self, task: &mut Task, purpose: Purpose, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.inner.copy_out(task, offset, buffer)?;
        let bytes = buffer.len() as u64;
        self.fetch_missing(task, purpose, offset, bytes, bytes);
        Ok(())
    }

    fn read_growing(&self, task: &mut Task, purpose: Purpose, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let bytes = buffer.len() as u64;
        task.at_full_size(|task| self.inner.copy_out(task, offset, buffer))?;
        self.fetch_missing(task, purpose, offset, bytes, task.full_bytes(bytes));
        Ok(())
    }

    fn cannot_rot(&self) -> bool {
        true
    }

    fn read_again(&self, task: &mut Task, purpose: Purpose, offset: u64, bytes: usize) -> Result<()> {
        self.inner.read_over(task, offset, bytes as u64)?;
        self.fetch_missing(task, purpose, offset, bytes as u64, bytes as u64);
        Ok(())
    }

    fn decoded(&self, offset: u64) -> Option<Decoded> {
        self.inner.decoded(offset)
    }

    fn keeps_decoded(&self) -> bool {
        decoded::has_room(&self.volume.decoded_bytes)
    }

    fn keep_decoded(&self, offset: u64, bytes: u64, decoded: Decoded) {
        self.inner.keep_decoded(&self.volume.decoded_bytes, offset, bytes, decoded);
    }

    fn write_at(&self, task: &mut Task, purpose: Purpose, offset: u64, data: &[u8]) -> Result<()> {
        let bytes = data.len() as u64;
        if !self.layout.placement.write().reach(&mut self.volume.space.lock(), offset, bytes) {
            return Err(Error::io(&*self.name, "write", io::Error::from(io::ErrorKind::StorageFull)));
        }
        if self.options.is_for_crashes {
            self.inner.write_over(task, purpose, offset, bytes);
        } else {
            self.inner.write_at(task, purpose, offset, data)?;
        }
        self.note_time(1 + task.now_ns / TICK_NS);
        if self.options.cached.writes
            && let Some(file) = *self.layout.cached.lock()
        {
            self.volume.page_cache.lock().write(file, offset, bytes);
        }
        match self.options.writes {
            Writes::Buffered => self.hold(task, offset, bytes),
            Writes::Queued => self.write_direct(task, offset, bytes, Pace::Queued),
            Writes::Acknowledged => self.write_direct(task, offset, bytes, Pace::Acknowledged),
        }
        Ok(())
    }

    fn sync(&self, task: &mut Task, purpose: Purpose) -> Result<()> {
        self.inner.sync(task, purpose)?;
        self.write_back(task, Pace::Acknowledged);
        let length = self.len();
        let has_grown = self.options.is_log && self.layout.committed.swap(length, Ordering::Relaxed) != length;
        if has_grown || (self.options.syncs_times && self.time_is_uncommitted()) {
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
        self.forget(bytes.div_ceil(PAGE_BYTES)..u64::MAX);
        let cut = self.layout.placement.write().cut(bytes.next_multiple_of(BLOCK_BYTES), u64::MAX);
        self.volume.give_back(task, cut);
        Ok(())
    }

    fn punch_hole(&self, task: &mut Task, offset: u64, bytes: u64) -> Result<()> {
        self.inner.punch_hole(task, offset, bytes)?;
        self.forget(offset.div_ceil(PAGE_BYTES)..(offset + bytes) / PAGE_BYTES);
        let cut = self.layout.placement.write().cut(offset, bytes);
        self.volume.give_back(task, cut);
        Ok(())
    }

    fn lay(&self, offset: u64, data: &[u8]) {
        self.inner.fill_hole(offset, data);
    }

    fn lift(&self, offset: u64, buffer: &mut [u8]) {
        self.inner.see_hole(offset, buffer);
    }
}

#[cfg(test)]
mod tests;

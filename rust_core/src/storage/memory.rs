//! Files in memory, with what a crash would leave of them. Tests run on it, and simulated hardware puts a device under
//! it.

use super::contract::{Decoded, Storage, StorageFile};
use super::decoded::{DecodedParts, KeptBytes};
use super::file_options::FileOptions;
use super::power_cut::{Change, Content, Directory, EntryChange, SharedContent, Unsynced};
use crate::cost::Work;
use crate::error::{Error, Result};
use crate::metrics::{Meters, Purpose};
use crate::task::Task;
use parking_lot::{Mutex, RwLock};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use super::power_cut::{CrashKeeps, SECTOR_BYTES};

/// Unit in which holes give space back, as common file systems do.
const HOLE_UNIT_BYTES: u64 = 4096;

fn used_bytes(content: &Content) -> u64 {
    content.live.len() as u64 - content.holes.len() as u64 * HOLE_UNIT_BYTES
}

#[derive(Debug, Default)]
struct Totals {
    written: AtomicU64,
    read: AtomicU64,
}

/// The order of changes, unless no crash will ask for it.
#[derive(Debug, Clone)]
enum Memory {
    Forgetful,
    Ordered(Arc<AtomicU64>),
}

impl Memory {
    /// The place of a change that is made now.
    fn next_place(&self) -> Option<u64> {
        match self {
            Self::Forgetful => None,
            Self::Ordered(places) => Some(places.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

/// A directory in memory.
#[derive(Debug)]
pub struct MemoryStorage {
    directory: Arc<Mutex<Directory>>,
    meters: Arc<Meters>,
    totals: Arc<Totals>,
    memory: Memory,
}

impl MemoryStorage {
    /// An empty directory.
    pub fn new(meters: Arc<Meters>) -> Self {
        let memory = Memory::Ordered(Arc::default());
        Self { directory: Arc::default(), meters, totals: Arc::default(), memory }
    }

    /// An empty directory that keeps no durable images: half the memory, but no [`MemoryStorage::crash_clone`].
    #[must_use]
    pub fn forgetful(meters: Arc<Meters>) -> Self {
        Self { memory: Memory::Forgetful, ..Self::new(meters) }
    }

    /// What a power failure now would leave, as a directory of its own with fresh meters. Nothing else happens
    /// meanwhile.
    #[must_use]
    pub fn crash_clone(&self, keeps: CrashKeeps) -> Self {
        let left = self.directory.lock().survivors(keeps).into_iter().map(|(name, bytes)| {
            let content = Content { durable: bytes.clone(), live: Arc::new(bytes), ..Content::default() };
            (name, Arc::new(RwLock::new(content)))
        });
        let clone = Self::new(Arc::default());
        {
            let mut directory = clone.directory.lock();
            directory.live = left.collect();
            directory.sync();
        }
        clone
    }

    /// A directory with the same files, for one that keeps no durable images, and with meters of its own. The two share
    /// the bytes of a file until one of them writes to it.
    #[must_use]
    pub fn fork(&self, meters: Arc<Meters>) -> Self {
        let fork = Self::forgetful(meters);
        let files = self.directory.lock().live.clone();
        let copy = |content: &SharedContent| {
            let content = content.read();
            let (live, decoded, holes) = (content.live.clone(), content.decoded.clone(), content.holes.clone());
            Arc::new(RwLock::new(Content { live, decoded, holes, ..Content::default() }))
        };
        fork.directory.lock().live = files.iter().map(|(name, content)| (name.clone(), copy(content))).collect();
        fork
    }

    /// Bytes of memory that the files take, with what was made of them and is kept beside them.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.sum_of_files(|content| used_bytes(content) + content.decoded.as_ref().map_or(0, |parts| parts.bytes()))
    }

    fn sum_of_files(&self, bytes_of: impl Fn(&Content) -> u64) -> u64 {
        let files = self.directory.lock().live.values().cloned().collect::<Vec<_>>();
        files.iter().map(|content| bytes_of(&content.read())).sum()
    }

    /// What a failed sync does to a file: its pages count as clean from then on, so that no later sync writes them.
    pub fn lose_unsynced(&self, name: &str) {
        if let Ok(content) = self.find(name) {
            content.write().unsynced.clear();
        }
    }

    /// Flips one bit of a file, at rest.
    pub fn flip_bit(&self, name: &str, bit: u64) -> Result<()> {
        let content = self.find(name)?;
        let mut content = content.write();
        let (byte, mask) = ((bit / 8) as usize, 1 << (bit % 8));
        Arc::make_mut(&mut content.live)[byte] ^= mask;
        if let Some(durable) = content.durable.get_mut(byte) {
            *durable ^= mask;
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<SharedContent> {
        let missing = || Error::io(name, "open", io::Error::from(io::ErrorKind::NotFound));
        self.directory.lock().live.get(name).cloned().ok_or_else(missing)
    }

    fn change_entries(&self, change: EntryChange) {
        let mut directory = self.directory.lock();
        match self.memory.next_place() {
            Some(place) => directory.change(place, change),
            None => change.apply(&mut directory.live),
        }
    }

    fn handle(&self, name: &str, content: SharedContent) -> MemoryFile {
        let (meters, totals, memory) = (self.meters.clone(), self.totals.clone(), self.memory.clone());
        MemoryFile { name: name.to_owned(), content, meters, totals, memory }
    }

    /// Creates a file, as [`Storage::create`] does.
    pub(super) fn create_file(&self, name: &str) -> MemoryFile {
        let content = SharedContent::default();
        self.change_entries(EntryChange::Create { name: name.to_owned(), content: content.clone() });
        self.handle(name, content)
    }

    /// Opens a file, as [`Storage::open`] does.
    pub(super) fn open_file(&self, name: &str) -> Result<MemoryFile> {
        Ok(self.handle(name, self.find(name)?))
    }
}

impl Storage for MemoryStorage {
    fn create(&self, _task: &mut Task, name: &str, _options: FileOptions) -> Result<Arc<dyn StorageFile>> {
        Ok(Arc::new(self.create_file(name)))
    }

    fn open(&self, _task: &mut Task, name: &str, _options: FileOptions) -> Result<Arc<dyn StorageFile>> {
        Ok(Arc::new(self.open_file(name)?))
    }

    fn remove(&self, _task: &mut Task, name: &str) -> Result<()> {
        self.find(name)?;
        self.change_entries(EntryChange::Remove { name: name.to_owned() });
        Ok(())
    }

    fn rename(&self, _task: &mut Task, from: &str, to: &str) -> Result<()> {
        let content = self.find(from)?;
        self.change_entries(EntryChange::Rename { from: from.to_owned(), to: to.to_owned(), content });
        Ok(())
    }

    fn list(&self) -> Result<Vec<String>> {
        Ok(self.directory.lock().live.keys().cloned().collect())
    }

    fn sync_directory(&self, task: &mut Task) -> Result<()> {
        task.charge(Work::StorageSync, 1);
        if matches!(self.memory, Memory::Ordered(_)) {
            self.directory.lock().sync();
        }
        Ok(())
    }

    fn meters(&self) -> &Arc<Meters> {
        &self.meters
    }

    fn used_bytes(&self) -> Result<u64> {
        Ok(self.sum_of_files(used_bytes))
    }

    fn written_bytes(&self) -> u64 {
        self.totals.written.load(Ordering::Relaxed)
    }

    fn read_bytes(&self) -> u64 {
        self.totals.read.load(Ordering::Relaxed)
    }
}

pub(super) struct MemoryFile {
    name: String,
    content: SharedContent,
    meters: Arc<Meters>,
    totals: Arc<Totals>,
    memory: Memory,
}

impl MemoryFile {
    /// Notes a change that the next sync makes durable.
    fn note_unsynced(&self, content: &mut Content, change: impl FnOnce() -> Change) {
        if let Some(order) = self.memory.next_place() {
            content.unsynced.push(Unsynced { order, change: change() });
        }
    }

    /// Fills `buffer` from `offset` without counting the bytes as read from below.
    pub(super) fn copy_out(&self, task: &mut Task, offset: u64, buffer: &mut [u8]) -> Result<()> {
        task.charge(Work::StorageCall, 1);
        task.charge(Work::StorageReadByte, buffer.len() as u64);
        let content = self.content.read();
        let start = offset as usize;
        let Some(bytes) = content.live.get(start..start + buffer.len()) else {
            return Err(self.ends_before());
        };
        buffer.copy_from_slice(bytes);
        Ok(())
    }

    /// Charges for a read as [`MemoryFile::copy_out`] does, for one who has the bytes already.
    pub(super) fn read_over(&self, task: &mut Task, offset: u64, bytes: u64) -> Result<()> {
        task.charge(Work::StorageCall, 1);
        task.charge(Work::StorageReadByte, bytes);
        if offset + bytes <= self.len() { Ok(()) } else { Err(self.ends_before()) }
    }

    /// Charges for a write, of which the file keeps the length alone.
    pub(super) fn write_over(&self, task: &mut Task, purpose: Purpose, offset: u64, bytes: u64) {
        self.count_write(task, purpose, bytes);
        let (mut content, end) = (self.content.write(), (offset + bytes) as usize);
        if content.live.len() < end {
            Arc::make_mut(&mut content.live).resize(end, 0);
        }
    }

    /// Puts bytes into a hole, which stays one.
    pub(super) fn fill_hole(&self, offset: u64, data: &[u8]) {
        let (mut content, start) = (self.content.write(), offset as usize);
        Arc::make_mut(&mut content.live)[start..start + data.len()].copy_from_slice(data);
    }

    /// What was put into a hole; nothing where the file ends before.
    pub(super) fn see_hole(&self, offset: u64, buffer: &mut [u8]) {
        let (content, start) = (self.content.read(), offset as usize);
        if let Some(bytes) = content.live.get(start..start + buffer.len()) {
            buffer.copy_from_slice(bytes);
        }
    }

    fn count_write(&self, task: &mut Task, purpose: Purpose, bytes: u64) {
        task.charge(Work::StorageWrite, 1);
        task.charge(Work::StorageWriteByte, bytes);
        self.meters.wrote(purpose, bytes);
        self.totals.written.fetch_add(bytes, Ordering::Relaxed);
    }

    fn ends_before(&self) -> Error {
        Error::io(&*self.name, "read", io::Error::from(io::ErrorKind::UnexpectedEof))
    }

    /// What was made of the bytes at `offset`, if they are still there.
    pub(super) fn decoded(&self, offset: u64) -> Option<Decoded> {
        self.content.read().decoded.as_ref()?.get(offset)
    }

    /// Keeps what was made of the bytes at `offset`, beside what is kept of all files.
    pub(super) fn keep_decoded(&self, of_all: &KeptBytes, offset: u64, bytes: u64, decoded: Decoded) {
        let known = self.content.read().decoded.clone();
        let parts = known.unwrap_or_else(|| {
            let mut content = self.content.write();
            content.decoded.get_or_insert_with(|| Arc::new(DecodedParts::new(of_all.clone()))).clone()
        });
        parts.keep(offset, bytes, decoded);
    }

    /// Counts one read from below.
    pub(super) fn count_read(&self, purpose: Purpose, bytes: u64) {
        self.meters.read(purpose, bytes);
        self.totals.read.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl StorageFile for MemoryFile {
    fn read_at(&self, task: &mut Task, purpose: Purpose, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.copy_out(task, offset, buffer)?;
        self.count_read(purpose, buffer.len() as u64);
        Ok(())
    }

    fn write_at(&self, task: &mut Task, purpose: Purpose, offset: u64, data: &[u8]) -> Result<()> {
        self.count_write(task, purpose, data.len() as u64);
        let mut content = self.content.write();
        content.decoded = None;
        let (start, end) = (offset as usize, offset as usize + data.len());
        let live = Arc::make_mut(&mut content.live);
        if live.len() == start {
            live.extend_from_slice(data);
        } else {
            live.resize(live.len().max(end), 0);
            live[start..end].copy_from_slice(data);
        }
        self.note_unsynced(&mut content, || Change::Write { offset: start, bytes: data.to_vec() });
        if !content.holes.is_empty() {
            for unit in offset / HOLE_UNIT_BYTES..(end as u64).div_ceil(HOLE_UNIT_BYTES) {
                content.holes.remove(&unit);
            }
        }
        Ok(())
    }

    fn sync(&self, task: &mut Task, purpose: Purpose) -> Result<()> {
        task.charge(Work::StorageSync, 1);
        self.meters.synced(purpose);
        self.content.write().sync();
        Ok(())
    }

    fn len(&self) -> u64 {
        self.content.read().live.len() as u64
    }

    fn set_len(&self, _task: &mut Task, bytes: u64) -> Result<()> {
        let mut content = self.content.write();
        content.decoded = None;
        Arc::make_mut(&mut content.live).resize(bytes as usize, 0);
        self.note_unsynced(&mut content, || Change::Resize { bytes: bytes as usize });
        let units = bytes.div_ceil(HOLE_UNIT_BYTES);
        content.holes.retain(|unit| *unit < units);
        Ok(())
    }

    fn punch_hole(&self, _task: &mut Task, offset: u64, bytes: u64) -> Result<()> {
        let mut content = self.content.write();
        content.decoded = None;
        let end = (offset + bytes).min(content.live.len() as u64);
        for unit in offset.div_ceil(HOLE_UNIT_BYTES)..end / HOLE_UNIT_BYTES {
            let start = (unit * HOLE_UNIT_BYTES) as usize;
            let stop = start + HOLE_UNIT_BYTES as usize;
            Arc::make_mut(&mut content.live)[start..stop].fill(0);
            let zeros = || vec![0; HOLE_UNIT_BYTES as usize];
            self.note_unsynced(&mut content, || Change::Write { offset: start, bytes: zeros() });
            content.holes.insert(unit);
        }
        Ok(())
    }
}

//! Files in memory, with what a crash would leave of them. Tests run on it, and simulated hardware puts a device under it.

use super::{PageCached, Storage, StorageFile};
use crate::error::{Error, Result};
use crate::metrics::{Meters, Purpose};
use crate::runtime::{Task, Work};
use parking_lot::{Mutex, RwLock};
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that a device writes or loses as a whole.
pub const SECTOR_BYTES: usize = 512;

/// Unit in which holes give space back, as common file systems do.
const HOLE_UNIT_BYTES: u64 = 4096;

#[derive(Debug, Default)]
struct Content {
    live: Vec<u8>,
    /// The image at the last sync.
    durable: Vec<u8>,
    /// Ranges written since the last sync.
    unsynced: Vec<(usize, usize)>,
    /// Units given back.
    holes: BTreeSet<u64>,
    /// Whether no crash will ask for the durable image.
    forgetful: bool,
}

impl Content {
    fn note_unsynced(&mut self, start: usize, end: usize) {
        match self.unsynced.last_mut() {
            _ if self.forgetful => {}
            Some((_, last)) if *last == start => *last = end,
            _ => self.unsynced.push((start, end)),
        }
    }
}

#[derive(Debug, Default)]
struct Directory {
    live: BTreeMap<String, Arc<RwLock<Content>>>,
    durable: BTreeMap<String, Arc<RwLock<Content>>>,
}

#[derive(Debug, Default)]
struct Totals {
    written: AtomicU64,
    read: AtomicU64,
}

/// Which unsynced bytes a crash leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashKeeps {
    /// Only what was synced.
    Synced,
    /// Everything that was written.
    Everything,
    /// Each unsynced sector by the toss of a coin from this seed: torn and reordered writes.
    Random {
        /// Seed of the coin.
        seed: u64,
    },
}

/// A directory in memory.
#[derive(Debug)]
pub struct MemoryStorage {
    directory: Arc<Mutex<Directory>>,
    meters: Arc<Meters>,
    totals: Arc<Totals>,
    forgetful: bool,
}

impl MemoryStorage {
    /// An empty directory.
    pub fn new(meters: Arc<Meters>) -> Self {
        Self { directory: Arc::default(), meters, totals: Arc::default(), forgetful: false }
    }

    /// An empty directory that keeps no durable images: half the memory, but no [`MemoryStorage::crash_clone`].
    #[must_use]
    pub fn forgetful(meters: Arc<Meters>) -> Self {
        Self { forgetful: true, ..Self::new(meters) }
    }

    /// What a power failure now would leave, as a directory of its own with fresh meters.
    #[must_use]
    pub fn crash_clone(&self, keeps: CrashKeeps) -> Self {
        let directory = self.directory.lock();
        let names = if keeps == CrashKeeps::Everything { &directory.live } else { &directory.durable };
        let mut coin = match keeps {
            CrashKeeps::Random { seed } => Some(Xoshiro256PlusPlus::seed_from_u64(seed)),
            _ => None,
        };
        let mut files = BTreeMap::new();
        for (name, content) in names {
            let content = content.read();
            let left = match (&mut coin, keeps) {
                (Some(coin), _) => torn(&content, coin),
                (None, CrashKeeps::Everything) => content.live.clone(),
                (None, _) => content.durable.clone(),
            };
            let content = Content { durable: left.clone(), live: left, ..Content::default() };
            files.insert(name.clone(), Arc::new(RwLock::new(content)));
        }
        let clone = Self::new(Arc::default());
        *clone.directory.lock() = Directory { live: files.clone(), durable: files };
        clone
    }

    /// Flips one bit of a file, at rest.
    pub fn flip_bit(&self, name: &str, bit: u64) -> Result<()> {
        let content = self.find(name)?;
        let mut content = content.write();
        let (byte, mask) = ((bit / 8) as usize, 1 << (bit % 8));
        content.live[byte] ^= mask;
        if let Some(durable) = content.durable.get_mut(byte) {
            *durable ^= mask;
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<Arc<RwLock<Content>>> {
        let missing = || Error::io(name, "open", io::Error::from(io::ErrorKind::NotFound));
        self.directory.lock().live.get(name).cloned().ok_or_else(missing)
    }

    fn handle(&self, name: &str, content: Arc<RwLock<Content>>) -> MemoryFile {
        MemoryFile { name: name.to_owned(), content, meters: self.meters.clone(), totals: self.totals.clone() }
    }

    /// Creates a file, as [`Storage::create`] does.
    pub(super) fn create_file(&self, name: &str) -> MemoryFile {
        let content = Content { forgetful: self.forgetful, ..Content::default() };
        let content = Arc::new(RwLock::new(content));
        self.directory.lock().live.insert(name.to_owned(), content.clone());
        self.handle(name, content)
    }

    /// Opens a file, as [`Storage::open`] does.
    pub(super) fn open_file(&self, name: &str) -> Result<MemoryFile> {
        Ok(self.handle(name, self.find(name)?))
    }
}

/// The durable image, with each sector written since by the toss of a coin.
fn torn(content: &Content, coin: &mut impl Rng) -> Vec<u8> {
    let mut left = content.durable.clone();
    for &(start, end) in &content.unsynced {
        let mut at = start;
        while at < end {
            let stop = end.min((at / SECTOR_BYTES + 1) * SECTOR_BYTES);
            if coin.random::<bool>() {
                let stop = stop.min(content.live.len());
                if left.len() < stop {
                    left.resize(stop, 0);
                }
                if at < stop {
                    left[at..stop].copy_from_slice(&content.live[at..stop]);
                }
            }
            at = (at / SECTOR_BYTES + 1) * SECTOR_BYTES;
        }
    }
    left
}

impl Storage for MemoryStorage {
    fn create(&self, _task: &mut Task, name: &str) -> Result<Arc<dyn StorageFile>> {
        Ok(Arc::new(self.create_file(name)))
    }

    fn open(&self, _task: &mut Task, name: &str) -> Result<Arc<dyn StorageFile>> {
        Ok(Arc::new(self.open_file(name)?))
    }

    fn remove(&self, _task: &mut Task, name: &str) -> Result<()> {
        self.find(name)?;
        self.directory.lock().live.remove(name);
        Ok(())
    }

    fn rename(&self, _task: &mut Task, from: &str, to: &str) -> Result<()> {
        let content = self.find(from)?;
        let mut directory = self.directory.lock();
        directory.live.remove(from);
        directory.live.insert(to.to_owned(), content);
        Ok(())
    }

    fn list(&self) -> Result<Vec<String>> {
        Ok(self.directory.lock().live.keys().cloned().collect())
    }

    fn sync_directory(&self, task: &mut Task) -> Result<()> {
        task.charge(Work::StorageSync, 1);
        let mut directory = self.directory.lock();
        if !self.forgetful {
            directory.durable = directory.live.clone();
        }
        Ok(())
    }

    fn meters(&self) -> &Arc<Meters> {
        &self.meters
    }

    fn used_bytes(&self) -> Result<u64> {
        let files = self.directory.lock().live.values().cloned().collect::<Vec<_>>();
        Ok(files
            .iter()
            .map(|content| {
                let content = content.read();
                content.live.len() as u64 - content.holes.len() as u64 * HOLE_UNIT_BYTES
            })
            .sum())
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
    content: Arc<RwLock<Content>>,
    meters: Arc<Meters>,
    totals: Arc<Totals>,
}

impl MemoryFile {
    /// Fills `buffer` from `offset` without counting the bytes as read from below.
    pub(super) fn copy_out(&self, task: &mut Task, offset: u64, buffer: &mut [u8]) -> Result<()> {
        task.charge(Work::StorageCall, 1);
        task.charge(Work::StorageReadByte, buffer.len() as u64);
        let content = self.content.read();
        let start = offset as usize;
        let Some(bytes) = content.live.get(start..start + buffer.len()) else {
            return Err(Error::io(&*self.name, "read", io::Error::from(io::ErrorKind::UnexpectedEof)));
        };
        buffer.copy_from_slice(bytes);
        Ok(())
    }

    /// Counts one read from below.
    pub(super) fn count_read(&self, purpose: Purpose, bytes: u64) {
        self.meters.read(purpose, bytes);
        self.totals.read.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl StorageFile for MemoryFile {
    fn use_page_cache(&self, _cached: PageCached) {}

    fn sync_times(&self) {}

    fn read_at(&self, task: &mut Task, purpose: Purpose, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.copy_out(task, offset, buffer)?;
        self.count_read(purpose, buffer.len() as u64);
        Ok(())
    }

    fn write_at(&self, task: &mut Task, purpose: Purpose, offset: u64, data: &[u8]) -> Result<()> {
        task.charge(Work::StorageWrite, 1);
        task.charge(Work::StorageWriteByte, data.len() as u64);
        self.meters.wrote(purpose, data.len() as u64);
        let mut content = self.content.write();
        let (start, end) = (offset as usize, offset as usize + data.len());
        if content.live.len() < end {
            content.live.resize(end, 0);
        }
        content.live[start..end].copy_from_slice(data);
        content.note_unsynced(start, end);
        if !content.holes.is_empty() {
            for unit in offset / HOLE_UNIT_BYTES..(end as u64).div_ceil(HOLE_UNIT_BYTES) {
                content.holes.remove(&unit);
            }
        }
        self.totals.written.fetch_add(data.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn sync(&self, task: &mut Task, purpose: Purpose) -> Result<()> {
        task.charge(Work::StorageSync, 1);
        self.meters.synced(purpose);
        let mut guard = self.content.write();
        let content = &mut *guard;
        if content.forgetful {
            return Ok(());
        }
        content.durable.resize(content.live.len(), 0);
        for (start, end) in content.unsynced.drain(..) {
            let end = end.min(content.live.len());
            if start < end {
                content.durable[start..end].copy_from_slice(&content.live[start..end]);
            }
        }
        Ok(())
    }

    fn len(&self) -> u64 {
        self.content.read().live.len() as u64
    }

    fn set_len(&self, _task: &mut Task, bytes: u64) -> Result<()> {
        let mut content = self.content.write();
        content.live.resize(bytes as usize, 0);
        let units = bytes.div_ceil(HOLE_UNIT_BYTES);
        content.holes.retain(|unit| *unit < units);
        Ok(())
    }

    fn punch_hole(&self, _task: &mut Task, offset: u64, bytes: u64) -> Result<()> {
        let mut content = self.content.write();
        let end = (offset + bytes).min(content.live.len() as u64);
        for unit in offset.div_ceil(HOLE_UNIT_BYTES)..end / HOLE_UNIT_BYTES {
            let start = (unit * HOLE_UNIT_BYTES) as usize;
            let stop = start + HOLE_UNIT_BYTES as usize;
            content.live[start..stop].fill(0);
            content.note_unsynced(start, stop);
            content.holes.insert(unit);
        }
        Ok(())
    }
}

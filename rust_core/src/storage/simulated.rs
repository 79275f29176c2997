//! Files in memory over a simulated device: each file has extents on the device, and every access is charged to the task.

use super::memory::MemoryStorage;
use super::{Storage, StorageFile};
use crate::error::{Error, Result};
use crate::metrics::{Meters, Purpose};
use crate::runtime::Task;
use crate::runtime::task::Access;
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

/// Bytes of the device given to a file at once.
const EXTENT_BYTES: u64 = 256 << 10;

#[derive(Debug, Default)]
struct Space {
    /// Extents given back, lowest first, as file systems prefer.
    free: BTreeSet<u64>,
    next: u64,
    limit: u64,
}

impl Space {
    fn take(&mut self) -> Option<u64> {
        if let Some(extent) = self.free.pop_first() {
            return Some(extent);
        }
        let extent = self.next;
        self.next += 1;
        ((extent + 1) * EXTENT_BYTES <= self.limit).then_some(extent)
    }
}

/// Where a file lies, and what the operating system holds back of it.
#[derive(Debug, Default)]
struct Placement {
    extents: RwLock<Vec<u64>>,
    /// Appended bytes that the device has not been given yet: offset of the first and of the one past the last.
    pending: Mutex<(u64, u64)>,
}

/// The operating system writes buffered bytes back in pieces of this size.
const WRITE_BACK_BYTES: u64 = 1 << 20;

/// A directory on a simulated device of `capacity` bytes.
pub struct SimulatedStorage {
    inner: MemoryStorage,
    space: Arc<Mutex<Space>>,
    files: Mutex<BTreeMap<String, Arc<Placement>>>,
}

impl SimulatedStorage {
    /// An empty directory on a device of `capacity_bytes`.
    pub fn new(meters: Arc<Meters>, capacity_bytes: u64) -> Self {
        let space = Space { limit: capacity_bytes, ..Space::default() };
        Self { inner: MemoryStorage::forgetful(meters), space: Arc::new(Mutex::new(space)), files: Mutex::default() }
    }

    fn handle(&self, name: &str, inner: Arc<dyn StorageFile>, placement: Arc<Placement>) -> Arc<dyn StorageFile> {
        Arc::new(SimulatedFile { name: name.to_owned(), inner, placement, space: self.space.clone() })
    }

    fn give_back(&self, task: &mut Task, name: &str) {
        let Some(placement) = self.files.lock().remove(name) else { return };
        placement.write_back(task, true);
        let mut space = self.space.lock();
        for extent in placement.extents.read().iter() {
            task.access(Access::Trim { address: extent * EXTENT_BYTES, bytes: EXTENT_BYTES });
            space.free.insert(*extent);
        }
    }
}

impl Storage for SimulatedStorage {
    fn create(&self, task: &mut Task, name: &str) -> Result<Arc<dyn StorageFile>> {
        self.give_back(task, name);
        let inner = self.inner.create(task, name)?;
        let placement = Arc::<Placement>::default();
        self.files.lock().insert(name.to_owned(), placement.clone());
        Ok(self.handle(name, inner, placement))
    }

    fn open(&self, task: &mut Task, name: &str) -> Result<Arc<dyn StorageFile>> {
        let inner = self.inner.open(task, name)?;
        let placement = self.files.lock().get(name).cloned().unwrap_or_default();
        Ok(self.handle(name, inner, placement))
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
        if let Some(placement) = files.remove(from) {
            files.insert(to.to_owned(), placement);
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
        self.inner.written_bytes()
    }

    fn read_bytes(&self) -> u64 {
        self.inner.read_bytes()
    }
}

impl Placement {
    /// Calls `charge` with each run of adjacent device addresses under a range of the file.
    fn runs(&self, offset: u64, bytes: u64, mut charge: impl FnMut(u64, u64)) {
        let extents = self.extents.read();
        let (mut at, end) = (offset, offset + bytes);
        let mut run: Option<(u64, u64)> = None;
        while at < end {
            let within = at % EXTENT_BYTES;
            let part = (EXTENT_BYTES - within).min(end - at);
            let Some(extent) = extents.get((at / EXTENT_BYTES) as usize) else { break };
            let address = extent * EXTENT_BYTES + within;
            run = match run {
                Some((start, len)) if start + len == address => Some((start, len + part)),
                Some((start, len)) => {
                    charge(start, len);
                    Some((address, part))
                }
                None => Some((address, part)),
            };
            at += part;
        }
        if let Some((start, len)) = run {
            charge(start, len);
        }
    }

    fn write(&self, task: &mut Task, offset: u64, bytes: u64, buffered: bool) {
        self.runs(offset, bytes, |address, bytes| task.access(Access::Write { address, bytes, buffered }));
    }

    /// Gives pending bytes to the device.
    fn write_back(&self, task: &mut Task, buffered: bool) {
        let (start, end) = std::mem::take(&mut *self.pending.lock());
        if start < end {
            self.write(task, start, end - start, buffered);
        }
    }

    /// Holds appended bytes back, until enough of them make a write.
    fn hold(&self, task: &mut Task, offset: u64, bytes: u64) {
        if self.pending.lock().1 != offset {
            self.write_back(task, true);
        }
        let mut pending = self.pending.lock();
        *pending = if pending.0 < pending.1 { (pending.0, offset + bytes) } else { (offset, offset + bytes) };
        let full = pending.1 - pending.0 >= WRITE_BACK_BYTES;
        drop(pending);
        if full {
            self.write_back(task, true);
        }
    }
}

/// Whether writes of this purpose go through the operating system's cache, so that the writer does not wait for the
/// device. Tables and pages are written directly.
fn is_buffered(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::Wal | Purpose::Redo | Purpose::Manifest)
}

struct SimulatedFile {
    name: String,
    inner: Arc<dyn StorageFile>,
    placement: Arc<Placement>,
    space: Arc<Mutex<Space>>,
}

impl SimulatedFile {
    /// Gives the file extents up to `bytes`.
    fn reach(&self, bytes: u64) -> Result<()> {
        let needed = bytes.div_ceil(EXTENT_BYTES) as usize;
        if self.placement.extents.read().len() >= needed {
            return Ok(());
        }
        let mut extents = self.placement.extents.write();
        while extents.len() < needed {
            let full = || Error::io(&*self.name, "write", io::Error::from(io::ErrorKind::StorageFull));
            extents.push(self.space.lock().take().ok_or_else(full)?);
        }
        Ok(())
    }
}

impl StorageFile for SimulatedFile {
    fn read_at(&self, task: &mut Task, purpose: Purpose, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.inner.read_at(task, purpose, offset, buffer)?;
        let bytes = buffer.len() as u64;
        self.placement.runs(offset, bytes, |address, bytes| task.access(Access::Read { address, bytes }));
        Ok(())
    }

    fn write_at(&self, task: &mut Task, purpose: Purpose, offset: u64, data: &[u8]) -> Result<()> {
        let bytes = data.len() as u64;
        self.reach(offset + bytes)?;
        self.inner.write_at(task, purpose, offset, data)?;
        if is_buffered(purpose) {
            self.placement.hold(task, offset, bytes);
        } else {
            self.placement.write(task, offset, bytes, false);
        }
        Ok(())
    }

    fn sync(&self, task: &mut Task, purpose: Purpose) -> Result<()> {
        self.inner.sync(task, purpose)?;
        self.placement.write_back(task, false);
        task.access(Access::Sync);
        Ok(())
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn set_len(&self, task: &mut Task, bytes: u64) -> Result<()> {
        self.inner.set_len(task, bytes)?;
        self.placement.write_back(task, true);
        let mut extents = self.placement.extents.write();
        let needed = bytes.div_ceil(EXTENT_BYTES) as usize;
        while extents.len() > needed {
            let Some(extent) = extents.pop() else { break };
            task.access(Access::Trim { address: extent * EXTENT_BYTES, bytes: EXTENT_BYTES });
            self.space.lock().free.insert(extent);
        }
        Ok(())
    }

    fn punch_hole(&self, task: &mut Task, offset: u64, bytes: u64) -> Result<()> {
        self.inner.punch_hole(task, offset, bytes)?;
        self.placement.runs(offset, bytes, |address, bytes| task.access(Access::Trim { address, bytes }));
        Ok(())
    }
}

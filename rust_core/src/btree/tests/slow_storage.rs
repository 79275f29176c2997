//! A storage that gives other threads their chance at every turn: between the halves of a write or a read, and between
//! looking up a length and acting on it.

use crate::error::Result;
use crate::metrics::{Meters, Purpose};
use crate::storage::{FileOptions, MemoryStorage, Storage, StorageFile};
use crate::task::Task;
use std::sync::Arc;

/// Turns that a pause gives away.
const TURNS: usize = 3;

#[expect(clippy::disallowed_methods, reason = "the others are to get in between")]
fn pause() {
    (0..TURNS).for_each(|_| std::thread::yield_now());
}

/// The storage, over one in memory.
pub struct SlowStorage(pub Arc<MemoryStorage>);

impl SlowStorage {
    fn slow(inner: Arc<dyn StorageFile>) -> Arc<dyn StorageFile> {
        Arc::new(SlowFile(inner))
    }
}

impl Storage for SlowStorage {
    fn create(&self, task: &mut Task, name: &str, options: FileOptions) -> Result<Arc<dyn StorageFile>> {
        self.0.create(task, name, options).map(Self::slow)
    }

    fn open(&self, task: &mut Task, name: &str, options: FileOptions) -> Result<Arc<dyn StorageFile>> {
        self.0.open(task, name, options).map(Self::slow)
    }

    fn remove(&self, task: &mut Task, name: &str) -> Result<()> {
        self.0.remove(task, name)
    }

    fn rename(&self, task: &mut Task, from: &str, to: &str) -> Result<()> {
        self.0.rename(task, from, to)
    }

    fn list(&self) -> Result<Vec<String>> {
        self.0.list()
    }

    fn sync_directory(&self, task: &mut Task) -> Result<()> {
        self.0.sync_directory(task)
    }

    fn meters(&self) -> &Arc<Meters> {
        self.0.meters()
    }

    fn used_bytes(&self) -> Result<u64> {
        self.0.used_bytes()
    }

    fn written_bytes(&self) -> u64 {
        self.0.written_bytes()
    }

    fn read_bytes(&self) -> u64 {
        self.0.read_bytes()
    }
}

struct SlowFile(Arc<dyn StorageFile>);

impl StorageFile for SlowFile {
    fn read_at(&self, task: &mut Task, purpose: Purpose, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let half = buffer.len() / 2;
        let (first, second) = buffer.split_at_mut(half);
        self.0.read_at(task, purpose, offset, first)?;
        pause();
        self.0.read_at(task, purpose, offset + half as u64, second)
    }

    fn write_at(&self, task: &mut Task, purpose: Purpose, offset: u64, data: &[u8]) -> Result<()> {
        let (first, second) = data.split_at(data.len() / 2);
        self.0.write_at(task, purpose, offset, first)?;
        pause();
        self.0.write_at(task, purpose, offset + first.len() as u64, second)
    }

    fn sync(&self, task: &mut Task, purpose: Purpose) -> Result<()> {
        pause();
        self.0.sync(task, purpose)
    }

    fn len(&self) -> u64 {
        let len = self.0.len();
        pause();
        len
    }

    fn set_len(&self, task: &mut Task, bytes: u64) -> Result<()> {
        self.0.set_len(task, bytes)
    }

    fn punch_hole(&self, task: &mut Task, offset: u64, bytes: u64) -> Result<()> {
        pause();
        self.0.punch_hole(task, offset, bytes)
    }
}

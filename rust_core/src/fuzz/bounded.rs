//! A storage whose files end at a limit. A damaged page number can send a page far behind the end of its file: there a
//! real file gets a hole, and one in memory would fill it.

use crate::error::{Error, Result};
use crate::metrics::{Meters, Purpose};
use crate::storage::{FileOptions, MemoryStorage, Storage, StorageFile};
use crate::task::Task;
use std::io;
use std::sync::Arc;

/// Where files end.
const MOST_BYTES: u64 = 16 << 20;

/// Files in memory that end at [`MOST_BYTES`].
pub struct BoundedStorage(pub MemoryStorage);

struct BoundedFile {
    name: String,
    file: Arc<dyn StorageFile>,
}

impl BoundedFile {
    fn check(&self, end: u64) -> Result<()> {
        let full = || Error::io(&*self.name, "extend", io::Error::from(io::ErrorKind::StorageFull));
        if end <= MOST_BYTES { Ok(()) } else { Err(full()) }
    }
}

impl BoundedStorage {
    fn bounded(name: &str, file: Arc<dyn StorageFile>) -> Arc<dyn StorageFile> {
        Arc::new(BoundedFile { name: name.to_owned(), file })
    }
}

impl Storage for BoundedStorage {
    fn create(&self, task: &mut Task, name: &str, options: FileOptions) -> Result<Arc<dyn StorageFile>> {
        self.0.create(task, name, options).map(|file| Self::bounded(name, file))
    }

    fn open(&self, task: &mut Task, name: &str, options: FileOptions) -> Result<Arc<dyn StorageFile>> {
        self.0.open(task, name, options).map(|file| Self::bounded(name, file))
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

impl StorageFile for BoundedFile {
    fn read_at(&self, task: &mut Task, purpose: Purpose, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.file.read_at(task, purpose, offset, buffer)
    }

    fn write_at(&self, task: &mut Task, purpose: Purpose, offset: u64, data: &[u8]) -> Result<()> {
        self.check(offset + data.len() as u64)?;
        self.file.write_at(task, purpose, offset, data)
    }

    fn sync(&self, task: &mut Task, purpose: Purpose) -> Result<()> {
        self.file.sync(task, purpose)
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn set_len(&self, task: &mut Task, bytes: u64) -> Result<()> {
        self.check(bytes)?;
        self.file.set_len(task, bytes)
    }

    fn punch_hole(&self, task: &mut Task, offset: u64, bytes: u64) -> Result<()> {
        self.file.punch_hole(task, offset, bytes)
    }
}

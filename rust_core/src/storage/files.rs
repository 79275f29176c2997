//! Real files in a directory of the user's disk.

#![allow(clippy::disallowed_methods)]

use super::contract::{Storage, StorageFile};
use super::file_options::FileOptions;
use crate::cost::Work;
use crate::error::{Error, Result};
use crate::metrics::{Meters, Purpose};
use crate::task::Task;
use rustix::fs::{FallocateFlags, fallocate, major, minor};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Totals below the meters.
#[derive(Debug, Default)]
struct Totals {
    written: AtomicU64,
    read: AtomicU64,
}

/// A directory on the user's disk.
#[derive(Debug)]
pub struct FileStorage {
    directory: PathBuf,
    meters: Arc<Meters>,
    totals: Arc<Totals>,
}

impl FileStorage {
    /// Uses `directory`, creating it if needed.
    pub fn new(directory: &Path, meters: Arc<Meters>) -> Result<Self> {
        fs::create_dir_all(directory).map_err(|e| Error::io(directory.display().to_string(), "create", e))?;
        Ok(Self { directory: directory.to_path_buf(), meters, totals: Arc::default() })
    }

    /// Makes every file of this directory durable, one after the other, and asks before each whether to go on. To sync
    /// the whole file system would wait for what other processes wrote to it.
    pub fn sync_everything(&self, go_on: impl Fn() -> Result<()>) -> Result<()> {
        for name in self.list()? {
            go_on()?;
            match File::open(self.directory.join(&name)) {
                Ok(file) => file.sync_all().map_err(|e| Error::io(name, "sync", e))?,
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(Error::io(name, "open", e)),
            }
        }
        go_on()?;
        self.sync_names()
    }

    fn sync_names(&self) -> Result<()> {
        let fail = |e| Error::io(self.directory.display().to_string(), "sync", e);
        File::open(&self.directory).map_err(fail)?.sync_all().map_err(fail)
    }

    fn handle(
        &self,
        name: &str,
        action: &'static str,
        how: &OpenOptions,
        options: FileOptions,
    ) -> Result<Arc<dyn StorageFile>> {
        let path = self.directory.join(name);
        let file = how.open(&path).map_err(|e| Error::io(path.display().to_string(), action, e))?;
        let len = file.metadata().map_err(|e| Error::io(name, action, e))?.len();
        Ok(Arc::new(RealFile {
            name: name.to_owned(),
            file,
            len: AtomicU64::new(len),
            syncs_times: options.syncs_times,
            meters: self.meters.clone(),
            totals: self.totals.clone(),
        }))
    }
}

impl Storage for FileStorage {
    fn create(&self, _task: &mut Task, name: &str, options: FileOptions) -> Result<Arc<dyn StorageFile>> {
        self.handle(name, "create", OpenOptions::new().read(true).write(true).create(true).truncate(true), options)
    }

    fn open(&self, _task: &mut Task, name: &str, options: FileOptions) -> Result<Arc<dyn StorageFile>> {
        self.handle(name, "open", OpenOptions::new().read(true).write(true), options)
    }

    fn remove(&self, _task: &mut Task, name: &str) -> Result<()> {
        fs::remove_file(self.directory.join(name)).map_err(|e| Error::io(name, "remove", e))
    }

    fn rename(&self, _task: &mut Task, from: &str, to: &str) -> Result<()> {
        fs::rename(self.directory.join(from), self.directory.join(to)).map_err(|e| Error::io(from, "rename", e))
    }

    fn list(&self) -> Result<Vec<String>> {
        let fail = |e| Error::io(self.directory.display().to_string(), "list", e);
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            if entry.file_type().map_err(fail)?.is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    fn sync_directory(&self, task: &mut Task) -> Result<()> {
        task.charge(Work::StorageSync, 1);
        self.sync_names()
    }

    fn meters(&self) -> &Arc<Meters> {
        &self.meters
    }

    fn used_bytes(&self) -> Result<u64> {
        let mut bytes = 0;
        for name in self.list()? {
            match fs::metadata(self.directory.join(&name)) {
                Ok(metadata) => bytes += metadata.blocks() * 512,
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(Error::io(name, "inspect", e)),
            }
        }
        Ok(bytes)
    }

    /// As the kernel says of the drive, or of the drive whose partition it is (`queue/rotational`).
    fn rotates(&self) -> bool {
        let Ok(about) = fs::metadata(&self.directory) else { return true };
        let device = format!("/sys/dev/block/{}:{}", major(about.dev()), minor(about.dev()));
        let told = ["queue", "../queue"].map(|queue| fs::read_to_string(format!("{device}/{queue}/rotational")));
        told.into_iter().flatten().next().is_none_or(|rotational| rotational.trim() != "0")
    }

    fn written_bytes(&self) -> u64 {
        self.totals.written.load(Ordering::Relaxed)
    }

    fn read_bytes(&self) -> u64 {
        self.totals.read.load(Ordering::Relaxed)
    }
}

struct RealFile {
    name: String,
    file: File,
    len: AtomicU64,
    syncs_times: bool,
    meters: Arc<Meters>,
    totals: Arc<Totals>,
}

impl StorageFile for RealFile {
    fn read_at(&self, task: &mut Task, purpose: Purpose, offset: u64, buffer: &mut [u8]) -> Result<()> {
        task.charge(Work::StorageCall, 1);
        task.charge(Work::StorageReadByte, buffer.len() as u64);
        self.meters.read(purpose, buffer.len() as u64);
        self.file.read_exact_at(buffer, offset).map_err(|e| Error::io(&*self.name, "read", e))?;
        self.totals.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn write_at(&self, task: &mut Task, purpose: Purpose, offset: u64, data: &[u8]) -> Result<()> {
        task.charge(Work::StorageWrite, 1);
        task.charge(Work::StorageWriteByte, data.len() as u64);
        self.meters.wrote(purpose, data.len() as u64);
        self.file.write_all_at(data, offset).map_err(|e| Error::io(&*self.name, "write", e))?;
        self.totals.written.fetch_add(data.len() as u64, Ordering::Relaxed);
        self.len.fetch_max(offset + data.len() as u64, Ordering::AcqRel);
        Ok(())
    }

    fn sync(&self, task: &mut Task, purpose: Purpose) -> Result<()> {
        task.charge(Work::StorageSync, 1);
        self.meters.synced(purpose);
        let synced = if self.syncs_times { self.file.sync_all() } else { self.file.sync_data() };
        synced.map_err(|e| Error::io(&*self.name, "sync", e))
    }

    fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    fn set_len(&self, _task: &mut Task, bytes: u64) -> Result<()> {
        self.file.set_len(bytes).map_err(|e| Error::io(&*self.name, "resize", e))?;
        self.len.store(bytes, Ordering::Release);
        Ok(())
    }

    fn punch_hole(&self, _task: &mut Task, offset: u64, bytes: u64) -> Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&self.file, flags, offset, bytes) {
            // Without holes the space stays taken; the file reads the same only because the caller never reads a hole.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
            Err(e) => Err(Error::io(&*self.name, "punch a hole in", e.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn syncing_everything_ends_between_two_files_when_it_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let storage = FileStorage::new(folder.path(), Arc::default()).unwrap();
        let mut task = Task::wall(0);
        for name in ["000001.sst", "000002.sst", "000003.sst"] {
            storage.create(&mut task, name, FileOptions::DIRECT).unwrap();
        }
        let asked = Cell::new(0);
        let told = storage.sync_everything(|| {
            asked.set(asked.get() + 1);
            if asked.get() == 2 { Err(Error::Cancelled) } else { Ok(()) }
        });
        assert!(matches!(told, Err(Error::Cancelled)));
        assert_eq!(asked.get(), 2);
        storage.sync_everything(|| Ok(())).unwrap();
    }
}

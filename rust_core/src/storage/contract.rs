//! What an engine may ask of storage.

use super::file_options::FileOptions;
use crate::error::Result;
use crate::metrics::{Meters, Purpose};
use crate::task::Task;
use std::any::Any;
use std::sync::Arc;

/// A directory of files.
pub trait Storage: Send + Sync {
    /// Creates an empty file, replacing one of the same name. Its directory entry is durable after
    /// [`Storage::sync_directory`].
    fn create(&self, task: &mut Task, name: &str, options: FileOptions) -> Result<Arc<dyn StorageFile>>;

    /// Opens an existing file.
    fn open(&self, task: &mut Task, name: &str, options: FileOptions) -> Result<Arc<dyn StorageFile>>;

    /// Removes a file and frees its space. Open handles stay readable.
    fn remove(&self, task: &mut Task, name: &str) -> Result<()>;

    /// Renames a file, replacing a file at `to` atomically.
    fn rename(&self, task: &mut Task, from: &str, to: &str) -> Result<()>;

    /// Names of all files, sorted.
    fn list(&self) -> Result<Vec<String>>;

    /// Makes creations, removals and renames durable.
    fn sync_directory(&self, task: &mut Task) -> Result<()>;

    /// Bytes by purpose.
    fn meters(&self) -> &Arc<Meters>;

    /// Bytes that all files occupy.
    fn used_bytes(&self) -> Result<u64>;

    /// Whether the device below rotates, as one does of which nobody knows better.
    fn rotates(&self) -> bool {
        true
    }

    /// Bytes written in all, as the layer below saw them.
    fn written_bytes(&self) -> u64;

    /// Bytes read in all, as the layer below saw them.
    fn read_bytes(&self) -> u64;
}

/// What a reader made of bytes.
pub type Decoded = Arc<dyn Any + Send + Sync>;

/// An open file. Reads and writes may come from many tasks at once.
pub trait StorageFile: Send + Sync {
    /// Fills `buffer` from `offset`. Fails if the file ends before.
    fn read_at(&self, task: &mut Task, purpose: Purpose, offset: u64, buffer: &mut [u8]) -> Result<()>;

    /// Reads as [`StorageFile::read_at`] does what is the larger, the larger the file is. That of a copy takes as long
    /// as that of full size.
    fn read_growing(&self, task: &mut Task, purpose: Purpose, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.read_at(task, purpose, offset, buffer)
    }

    /// Writes `data` at `offset`, extending the file if needed.
    fn write_at(&self, task: &mut Task, purpose: Purpose, offset: u64, data: &[u8]) -> Result<()>;

    /// Whether reads give what was written, so that nobody need check it: bytes that never leave memory do not rot.
    fn cannot_rot(&self) -> bool {
        false
    }

    /// Reads as [`StorageFile::read_at`] does, for one who has the bytes already.
    fn read_again(&self, task: &mut Task, purpose: Purpose, offset: u64, bytes: usize) -> Result<()> {
        self.read_at(task, purpose, offset, &mut vec![0; bytes])
    }

    /// What was made of the bytes at `offset` when they were read or written before, where the file keeps that.
    fn decoded(&self, _offset: u64) -> Option<Decoded> {
        None
    }

    /// Whether what is made of bytes now shall be offered.
    fn keeps_decoded(&self) -> bool {
        false
    }

    /// Offers what was made of the bytes at `offset`, which takes so many bytes, to be found until the file changes. A
    /// file that said that it shall be keeps it.
    fn keep_decoded(&self, _offset: u64, _bytes: u64, _decoded: Decoded) {}

    /// Makes all written bytes durable.
    fn sync(&self, task: &mut Task, purpose: Purpose) -> Result<()>;

    /// Length in bytes.
    fn len(&self) -> u64;

    /// Whether the file is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Cuts or extends (with zeros, without writing them) to `bytes`.
    fn set_len(&self, task: &mut Task, bytes: u64) -> Result<()>;

    /// Gives the space of a range back while the file keeps its length (hole punching). Reads there return zeros.
    fn punch_hole(&self, task: &mut Task, offset: u64, bytes: u64) -> Result<()>;

    /// Lays bytes into a hole that was punched, where they take neither space nor time, to be found by
    /// [`StorageFile::lift`] until the range is written: of what is counted as compressed and is not. A file that
    /// cannot rot keeps them.
    fn lay(&self, _offset: u64, _data: &[u8]) {}

    /// Fills `buffer` with what was laid at `offset`, if all of it is in the file.
    fn lift(&self, _offset: u64, _buffer: &mut [u8]) {}
}

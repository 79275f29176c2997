//! A file that others rely on to be durable: its first failed write or sync is its last.
//!
//! What a failed sync has not made durable, no later one does, though it succeeds: the operating system has forgotten
//! by then that the pages were dirty. And a log that goes on behind a failed write has a hole in front of what it
//! acknowledges.

use crate::engine::Poison;
use crate::error::Result;
use crate::metrics::Purpose;
use crate::storage::StorageFile;
use crate::task::Task;
use std::sync::Arc;

/// The file.
pub struct DurableFile {
    file: Arc<dyn StorageFile>,
    failure: Poison,
}

impl DurableFile {
    /// Over a file that has not failed.
    pub fn new(file: Arc<dyn StorageFile>) -> Self {
        Self { file, failure: Poison::default() }
    }

    /// For everything but writes and syncs.
    pub fn inner(&self) -> &dyn StorageFile {
        &*self.file
    }

    /// Bytes.
    pub fn len(&self) -> u64 {
        self.file.len()
    }

    /// Writes `data` at `offset`.
    pub fn write_at(&self, task: &mut Task, purpose: Purpose, offset: u64, data: &[u8]) -> Result<()> {
        self.once(|| self.file.write_at(task, purpose, offset, data))
    }

    /// Makes all written bytes durable. Fails if another sync failed meanwhile: that one may have been told of this
    /// one's pages.
    pub fn sync(&self, task: &mut Task, purpose: Purpose) -> Result<()> {
        self.once(|| self.file.sync(task, purpose))?;
        self.failure.check()
    }

    fn once(&self, act: impl FnOnce() -> Result<()>) -> Result<()> {
        self.failure.check()?;
        act().inspect_err(|error| self.failure.set(error))
    }
}

/// Reads what the file has and takes the rest for zeros.
pub fn read_padded(
    file: &dyn StorageFile,
    task: &mut Task,
    purpose: Purpose,
    offset: u64,
    buffer: &mut [u8],
) -> Result<()> {
    let there = file.len().saturating_sub(offset).min(buffer.len() as u64) as usize;
    buffer[there..].fill(0);
    if there == 0 { Ok(()) } else { file.read_at(task, purpose, offset, &mut buffer[..there]) }
}

//! A storage with a gate before its accesses: the gate lets an access through, leaves it out, or answers with an error.

use super::contract::{Decoded, Storage, StorageFile};
use super::file_options::FileOptions;
use crate::error::{Error, Result};
use crate::metrics::{Meters, Purpose};
use crate::task::Task;
use std::io;
use std::sync::Arc;

/// What is about to be done to a file, or to the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Create a file.
    Create,
    /// Open a file.
    Open,
    /// Remove a file.
    Remove,
    /// Rename a file.
    Rename,
    /// Read from a file.
    Read,
    /// Write so many bytes into a file.
    Write {
        /// Length in bytes.
        bytes: u64,
    },
    /// Make a file, or the directory, durable.
    Sync,
    /// Set the length of a file.
    Resize,
    /// Give the space of a range back.
    PunchHole,
}

/// How an operation goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// It is done.
    Through,
    /// It is left out, and answered as if it had been done. Only syncs can be.
    LeftOut,
    /// So many bytes of a write are done before it fails.
    Short {
        /// The first so many.
        bytes: u64,
    },
}

/// Looks at operations before they are done; its error takes their place.
pub trait Gate: Send + Sync + 'static {
    /// `name` is the file, or `.` for the directory.
    fn before(&self, operation: Operation, name: &str) -> Result<Pass>;
}

/// The name under which a gate sees the directory.
const DIRECTORY: &str = ".";

/// A storage behind a gate.
pub struct GatedStorage<G> {
    inner: Arc<dyn Storage>,
    gate: Arc<G>,
}

impl<G: Gate> GatedStorage<G> {
    /// Puts `gate` in front of `inner`.
    pub fn behind(gate: G, inner: Arc<dyn Storage>) -> Self {
        Self { inner, gate: Arc::new(gate) }
    }

    /// The gate.
    pub fn gate(&self) -> &G {
        &self.gate
    }

    fn wrap(&self, name: &str, inner: Arc<dyn StorageFile>) -> Arc<dyn StorageFile> {
        Arc::new(GatedFile { name: name.to_owned(), inner, gate: self.gate.clone() })
    }
}

impl<G: Gate> Storage for GatedStorage<G> {
    fn create(&self, task: &mut Task, name: &str, options: FileOptions) -> Result<Arc<dyn StorageFile>> {
        self.gate.before(Operation::Create, name)?;
        Ok(self.wrap(name, self.inner.create(task, name, options)?))
    }

    fn open(&self, task: &mut Task, name: &str, options: FileOptions) -> Result<Arc<dyn StorageFile>> {
        self.gate.before(Operation::Open, name)?;
        Ok(self.wrap(name, self.inner.open(task, name, options)?))
    }

    fn remove(&self, task: &mut Task, name: &str) -> Result<()> {
        self.gate.before(Operation::Remove, name)?;
        self.inner.remove(task, name)
    }

    fn rename(&self, task: &mut Task, from: &str, to: &str) -> Result<()> {
        self.gate.before(Operation::Rename, from)?;
        self.inner.rename(task, from, to)
    }

    fn list(&self) -> Result<Vec<String>> {
        self.inner.list()
    }

    fn sync_directory(&self, task: &mut Task) -> Result<()> {
        match self.gate.before(Operation::Sync, DIRECTORY)? {
            Pass::LeftOut => Ok(()),
            _ => self.inner.sync_directory(task),
        }
    }

    fn meters(&self) -> &Arc<Meters> {
        self.inner.meters()
    }

    fn used_bytes(&self) -> Result<u64> {
        self.inner.used_bytes()
    }

    fn rotates(&self) -> bool {
        self.inner.rotates()
    }

    fn written_bytes(&self) -> u64 {
        self.inner.written_bytes()
    }

    fn read_bytes(&self) -> u64 {
        self.inner.read_bytes()
    }
}

struct GatedFile<G> {
    name: String,
    inner: Arc<dyn StorageFile>,
    gate: Arc<G>,
}

impl<G: Gate> StorageFile for GatedFile<G> {
    fn read_at(&self, task: &mut Task, purpose: Purpose, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.gate.before(Operation::Read, &self.name)?;
        self.inner.read_at(task, purpose, offset, buffer)
    }

    fn read_growing(&self, task: &mut Task, purpose: Purpose, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.gate.before(Operation::Read, &self.name)?;
        self.inner.read_growing(task, purpose, offset, buffer)
    }

    fn cannot_rot(&self) -> bool {
        self.inner.cannot_rot()
    }

    fn read_again(&self, task: &mut Task, purpose: Purpose, offset: u64, bytes: usize) -> Result<()> {
        self.gate.before(Operation::Read, &self.name)?;
        self.inner.read_again(task, purpose, offset, bytes)
    }

    fn decoded(&self, offset: u64) -> Option<Decoded> {
        self.inner.decoded(offset)
    }

    fn keeps_decoded(&self) -> bool {
        self.inner.keeps_decoded()
    }

    fn keep_decoded(&self, offset: u64, bytes: u64, decoded: Decoded) {
        self.inner.keep_decoded(offset, bytes, decoded);
    }

    fn write_at(&self, task: &mut Task, purpose: Purpose, offset: u64, data: &[u8]) -> Result<()> {
        let pass = self.gate.before(Operation::Write { bytes: data.len() as u64 }, &self.name)?;
        let Pass::Short { bytes } = pass else { return self.inner.write_at(task, purpose, offset, data) };
        if bytes > 0 {
            self.inner.write_at(task, purpose, offset, &data[..bytes as usize])?;
        }
        Err(Error::io(&*self.name, "write", io::Error::from(io::ErrorKind::WriteZero)))
    }

    fn sync(&self, task: &mut Task, purpose: Purpose) -> Result<()> {
        match self.gate.before(Operation::Sync, &self.name)? {
            Pass::LeftOut => Ok(()),
            _ => self.inner.sync(task, purpose),
        }
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn set_len(&self, task: &mut Task, bytes: u64) -> Result<()> {
        self.gate.before(Operation::Resize, &self.name)?;
        self.inner.set_len(task, bytes)
    }

    fn punch_hole(&self, task: &mut Task, offset: u64, bytes: u64) -> Result<()> {
        self.gate.before(Operation::PunchHole, &self.name)?;
        self.inner.punch_hole(task, offset, bytes)
    }

    fn lay(&self, offset: u64, data: &[u8]) {
        self.inner.lay(offset, data);
    }

    fn lift(&self, offset: u64, buffer: &mut [u8]) {
        self.inner.lift(offset, buffer);
    }
}

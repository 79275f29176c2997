//! The manifest: a log of version edits, named by the file `CURRENT`. Every edit is synced before it counts.

use super::version::Version;
use super::version_edit::VersionEdit;
use crate::error::{Error, Result};
use crate::lsm::log::{Break, Framer, Reader, Record, read_all};
use crate::metrics::Purpose;
use crate::storage::FileOptions;
use crate::storage::{Storage, StorageFile};
use crate::task::Task;
use std::sync::Arc;

/// The file that names the manifest.
pub const CURRENT: &str = "CURRENT";
const NEXT_CURRENT: &str = "CURRENT.tmp";

/// The name of a manifest file.
pub fn manifest_name(number: u64) -> String {
    format!("MANIFEST-{number:06}")
}

/// A manifest is not rolled before it has this many times the bytes that it began with, however low
/// `max_manifest_file_size` is: RocksDB since 10.10 (`max_manifest_space_amp_pct` of 500). Earlier ones then write a
/// snapshot with each edit.
const LEAST_GROWTH: u64 = 6;

/// The manifest that is being written.
pub struct Manifest {
    file: Arc<dyn StorageFile>,
    framer: Framer,
    number: u64,
    offset: u64,
    snapshot_bytes: u64,
    log_number: Option<u64>,
    last_sequence: Option<u64>,
}

impl Manifest {
    /// Begins a manifest with everything that holds now, and makes `CURRENT` name it.
    pub fn create(task: &mut Task, storage: &dyn Storage, number: u64, snapshot: &VersionEdit) -> Result<Self> {
        let name = manifest_name(number);
        let mut manifest = Self {
            file: storage.create(task, &name, FileOptions::BUFFERED)?,
            framer: Framer::new(number),
            number,
            offset: 0,
            snapshot_bytes: 0,
            log_number: None,
            last_sequence: None,
        };
        manifest.append(task, snapshot)?;
        manifest.snapshot_bytes = manifest.offset;
        let next = storage.create(task, NEXT_CURRENT, FileOptions::BUFFERED)?;
        next.write_at(task, Purpose::Manifest, 0, format!("{name}\n").as_bytes())?;
        next.sync(task, Purpose::Manifest)?;
        // The manifest and the tables that it names must be found before CURRENT names it.
        storage.sync_directory(task)?;
        storage.rename(task, NEXT_CURRENT, CURRENT)?;
        storage.sync_directory(task)?;
        Ok(manifest)
    }

    /// The number in its file's name.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Adds an edit and makes it durable.
    pub fn append(&mut self, task: &mut Task, edit: &VersionEdit) -> Result<()> {
        let mut bytes = Vec::new();
        self.framer.frame(&edit.encode(), None, &mut bytes);
        self.file.write_at(task, Purpose::Manifest, self.offset, &bytes)?;
        self.offset += bytes.len() as u64;
        self.log_number = edit.log_number.or(self.log_number);
        self.last_sequence = edit.last_sequence.or(self.last_sequence);
        self.file.sync(task, Purpose::Manifest)
    }

    /// Whether it has grown beyond `max_manifest_file_size` and should be rolled.
    pub fn is_full(&self, most_bytes: u64) -> bool {
        self.offset > most_bytes.max(LEAST_GROWTH * self.snapshot_bytes)
    }

    /// Goes on in a new file, which begins with this version and what the edits before said of logs and sequence
    /// numbers.
    pub fn roll(&mut self, task: &mut Task, storage: &dyn Storage, number: u64, version: &Version) -> Result<()> {
        let snapshot = VersionEdit {
            log_number: self.log_number,
            last_sequence: self.last_sequence,
            next_file: Some(number + 1),
            ..version.to_edit()
        };
        let rolled = Self::create(task, storage, number, &snapshot)?;
        let old = std::mem::replace(self, rolled);
        storage.remove(task, &manifest_name(old.number))
    }
}

/// Reads the edits of the manifest that `CURRENT` names. A torn last record was never acknowledged and is left out.
pub fn read_manifest(task: &mut Task, storage: &dyn Storage) -> Result<Vec<VersionEdit>> {
    let current = storage.open(task, CURRENT, FileOptions::BUFFERED)?;
    let current = read_all(task, &*current)?;
    let (name, number) = std::str::from_utf8(&current)
        .ok()
        .and_then(|text| text.strip_suffix('\n'))
        .and_then(|name| Some((name, name.strip_prefix("MANIFEST-")?.parse().ok()?)))
        .filter(|(name, number)| manifest_name(*number) == *name)
        .ok_or_else(|| Error::corruption(CURRENT, 0, "does not name a manifest"))?;
    let file = storage
        .open(task, name, FileOptions::BUFFERED)
        .map_err(|_| Error::corruption(CURRENT, 0, format!("{name} is missing")))?;
    let bytes = read_all(task, &*file)?;
    let mut reader = Reader::new(number, &bytes);
    let mut edits = Vec::new();
    let broken = loop {
        match reader.next_record() {
            Record::Whole { payload, offset } => {
                let edit = VersionEdit::decode(payload)
                    .ok_or_else(|| Error::corruption(name, offset as u64, "not a version edit"))?;
                edits.push(edit);
            }
            Record::End => break None,
            Record::Broken(broken) => break Some(broken),
        }
    };
    // Each record was synced before the next was begun, so only the last can be torn, and never the first, since
    // CURRENT came after it.
    match broken {
        Some(Break { offset, what, may_be_torn }) => {
            if may_be_torn && !edits.is_empty() && reader.skip_behind(offset).is_none() {
                return Ok(edits);
            }
            Err(Error::corruption(name, offset as u64, what))
        }
        None if edits.is_empty() => Err(Error::corruption(name, 0, "there is no record")),
        None => Ok(edits),
    }
}

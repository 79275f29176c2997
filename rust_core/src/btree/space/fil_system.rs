//! The files of an engine's tablespaces (`fil_system`): who needs the bytes of a page asks here.

use super::fil_space::FilSpace;
use super::file_names::REDO_FILE;
use super::tablespace::{FIRST_COMPRESSED, Tablespace};
use crate::btree::options::Options;
use crate::error::{Error, Result};
use crate::storage::FileOptions;
use crate::storage::Storage;
use crate::task::Task;

/// The files of an engine's tablespaces.
pub struct FilSystem {
    system: FilSpace,
    compressed: Option<FilSpace>,
    /// Numbers of the indexes in the second one, in order.
    indexes: Vec<u32>,
}

impl FilSystem {
    /// Makes the files, empty.
    pub fn create(storage: &dyn Storage, options: &Options, task: &mut Task) -> Result<Self> {
        for tablespace in Tablespace::all(options) {
            storage.create(task, tablespace.file_name(), FileOptions::PAGES)?;
        }
        Self::open(storage, options, task)
    }

    /// Opens the files.
    pub fn open(storage: &dyn Storage, options: &Options, task: &mut Task) -> Result<Self> {
        let names = storage.list()?;
        let mut open = |tablespace: Tablespace| {
            let name = tablespace.file_name();
            if !names.iter().any(|other| other == name) {
                return Err(Error::corruption(name, 0, format!("missing, though there is {REDO_FILE}")));
            }
            Ok(FilSpace::new(storage.open(task, name, options.opened(FileOptions::PAGES))?, tablespace, options))
        };
        let system = open(Tablespace::System)?;
        let compressed = options.is_mixed().then(|| open(Tablespace::Compressed)).transpose()?;
        let indexes = options.compressed_numbers().unwrap_or_default();
        Ok(Self { system, compressed, indexes })
    }

    /// The file of a page.
    #[inline]
    pub fn of_page(&self, page_no: u32) -> &FilSpace {
        match &self.compressed {
            Some(compressed) if page_no >= FIRST_COMPRESSED => compressed,
            _ => &self.system,
        }
    }

    /// The file of a tree's pages.
    #[inline]
    pub fn of_tree(&self, number: u32) -> &FilSpace {
        match &self.compressed {
            Some(compressed) if self.indexes.binary_search(&number).is_ok() => compressed,
            _ => &self.system,
        }
    }

    /// The file of the system tablespace. No pages are larger than its own: where there are two, they are not
    /// compressed.
    pub fn system(&self) -> &FilSpace {
        &self.system
    }

    /// Bytes that a power cut leaves of each file at least; of one that does not exist, 0.
    pub fn durable_bytes(&self) -> [u64; 2] {
        [self.system.durable_bytes(), self.compressed.as_ref().map_or(0, FilSpace::durable_bytes)]
    }

    /// Fails if a file is shorter than it was once known to be.
    pub fn check_lengths(&self, [system, compressed]: [u64; 2]) -> Result<()> {
        self.system.check_length(system)?;
        self.compressed.as_ref().map_or(Ok(()), |file| file.check_length(compressed))
    }

    /// Makes what was written of these pages durable.
    pub fn sync(&self, task: &mut Task, pages: &[u32]) -> Result<()> {
        let files = std::iter::once(&self.system).chain(&self.compressed);
        let written = |file: &&FilSpace| pages.iter().any(|page_no| std::ptr::eq(self.of_page(*page_no), *file));
        files.filter(written).try_for_each(|file| file.sync(task))
    }

    /// The images of these pages, which follow one another.
    pub fn images<'i>(&self, pages: &[u32], images: &'i [u8]) -> impl Iterator<Item = &'i [u8]> {
        let mut rest = images;
        pages.iter().map(move |page_no| {
            let (image, behind) = rest.split_at(self.of_page(*page_no).slot_bytes());
            rest = behind;
            image
        })
    }
}

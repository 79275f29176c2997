//! Where pages lie: in the system tablespace, or, where some tables are compressed and others are not, in that of the
//! compressed ones. As in InnoDB, whose general tablespaces have pages of one size, the two kinds share no file.
//!
//! Which one a page lies in follows from its number alone, so that redo, recovery, doublewrite and read-ahead need to know
//! no more than that. Where both kinds exist, what belongs to no table (directory, map pages, undo, buffered changes) lies in
//! the system tablespace and is not compressed; where all tables are compressed, it fills slots like theirs.

use super::options::Options;
use super::page_file::PageFile;
use super::page_table::PageTable;
use super::redo;
use crate::error::{Error, Result};
use crate::storage::Storage;
use crate::task::Task;
use std::ops::Range;

/// The number of the first page of the compressed tables' tablespace.
const FIRST_COMPRESSED: u32 = PageTable::MAX_PAGES as u32 / 2;

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tablespace {
    /// All pages but those of the other.
    System,
    /// Pages of compressed tables beside others.
    Compressed,
}

impl Tablespace {
    /// Those that an engine with these options has.
    pub fn all(options: &Options) -> &'static [Self] {
        if options.is_mixed() { &[Self::System, Self::Compressed] } else { &[Self::System] }
    }

    /// The file of its pages.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::System => "pages.db",
            Self::Compressed => "compressed.db",
        }
    }

    /// The number of its first page.
    pub fn first_page(self) -> u32 {
        match self {
            Self::System => 0,
            Self::Compressed => FIRST_COMPRESSED,
        }
    }

    /// The numbers that its pages may have.
    pub fn pages(self, options: &Options) -> Range<u32> {
        let shares = self == Self::System && options.is_mixed();
        self.first_page()..if shares { FIRST_COMPRESSED } else { PageTable::MAX_PAGES as u32 }
    }
}

/// The files of an engine's tablespaces.
pub struct Tablespaces {
    system: PageFile,
    compressed: Option<PageFile>,
    /// Numbers of the indexes in the second one, in order.
    indexes: Vec<u32>,
}

impl Tablespaces {
    /// Makes the files, empty.
    pub fn create(storage: &dyn Storage, options: &Options, task: &mut Task) -> Result<Self> {
        for tablespace in Tablespace::all(options) {
            storage.create(task, tablespace.file_name())?;
        }
        Self::open(storage, options, task)
    }

    /// Opens the files.
    pub fn open(storage: &dyn Storage, options: &Options, task: &mut Task) -> Result<Self> {
        let names = storage.list()?;
        let mut open = |tablespace: Tablespace| {
            let name = tablespace.file_name();
            if !names.iter().any(|other| other == name) {
                return Err(Error::corruption(name, 0, format!("missing, though there is {}", redo::FILE)));
            }
            Ok(PageFile::new(storage.open(task, name)?, tablespace, options))
        };
        let system = open(Tablespace::System)?;
        let compressed = options.is_mixed().then(|| open(Tablespace::Compressed)).transpose()?;
        let indexes = options.compressed_numbers().unwrap_or_default();
        Ok(Self { system, compressed, indexes })
    }

    /// The file of a page.
    #[inline]
    pub fn of_page(&self, page_no: u32) -> &PageFile {
        match &self.compressed {
            Some(compressed) if page_no >= FIRST_COMPRESSED => compressed,
            _ => &self.system,
        }
    }

    /// The file of a tree's pages.
    #[inline]
    pub fn of_tree(&self, number: u32) -> &PageFile {
        match &self.compressed {
            Some(compressed) if self.indexes.binary_search(&number).is_ok() => compressed,
            _ => &self.system,
        }
    }

    /// The file of the system tablespace. No pages are larger than its own: where there are two, they are not compressed.
    pub fn system(&self) -> &PageFile {
        &self.system
    }

    /// Bytes that a power cut leaves of each file at least; of one that does not exist, 0.
    pub fn durable_bytes(&self) -> [u64; 2] {
        [self.system.durable_bytes(), self.compressed.as_ref().map_or(0, PageFile::durable_bytes)]
    }

    /// Fails if a file is shorter than it was once known to be.
    pub fn check_lengths(&self, [system, compressed]: [u64; 2]) -> Result<()> {
        self.system.check_length(system)?;
        self.compressed.as_ref().map_or(Ok(()), |file| file.check_length(compressed))
    }

    /// Bytes of these pages on storage.
    pub fn bytes_of(&self, pages: &[u32]) -> usize {
        pages.iter().map(|page_no| self.of_page(*page_no).slot_bytes()).sum()
    }

    /// Makes what was written of these pages durable.
    pub fn sync(&self, task: &mut Task, pages: &[u32]) -> Result<()> {
        let files = std::iter::once(&self.system).chain(&self.compressed);
        let written = |file: &&PageFile| pages.iter().any(|page_no| std::ptr::eq(self.of_page(*page_no), *file));
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

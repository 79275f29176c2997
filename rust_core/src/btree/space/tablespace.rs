//! Which tablespaces there are, and which pages lie in which. As in InnoDB, whose general tablespaces have pages of one
//! size, compressed tables and others share no file.
//!
//! Which one a page lies in follows from its number alone, so that redo, recovery, doublewrite and read-ahead need to
//! know no more than that. Where both kinds exist, what belongs to no table (directory, map pages, undo, buffered
//! changes) lies in the system tablespace and is not compressed; where all tables are compressed, it fills slots like
//! theirs.

use crate::btree::options::Options;
use crate::btree::page::MAX_PAGES;
use std::ops::Range;

/// The number of the first page of the compressed tables' tablespace.
pub(super) const FIRST_COMPRESSED: u32 = MAX_PAGES / 2;

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

    /// Whether its tables are compressed.
    pub fn is_zip(self, options: &Options) -> bool {
        options.has_zip_tables() && (self == Self::Compressed || !options.is_mixed())
    }

    /// Bytes of a page in its file.
    pub fn slot_bytes(self, options: &Options) -> usize {
        if self.is_zip(options) { options.key_block_size as usize } else { options.innodb_page_size as usize }
    }

    /// The numbers that its pages may have.
    pub fn pages(self, options: &Options) -> Range<u32> {
        let shares = self == Self::System && options.is_mixed();
        self.first_page()..if shares { FIRST_COMPRESSED } else { MAX_PAGES }
    }
}

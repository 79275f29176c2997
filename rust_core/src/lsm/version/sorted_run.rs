//! Open table files, and runs of them.

use crate::lsm::keys::SortedKeys;
use crate::lsm::keys::key::compare_bytes;
use crate::lsm::table::{FileMetaData, TableReader};
use std::cmp::Ordering;
use std::sync::Arc;

/// An open table file with its description.
pub struct TableFile {
    /// What the policies know of it.
    pub meta: Arc<FileMetaData>,
    /// Its reader.
    pub table: Arc<TableReader>,
}

/// Files that do not overlap, sorted by key: a level, or one file of level 0.
pub struct SortedRun {
    /// The files.
    pub files: Vec<Arc<TableFile>>,
    /// The largest key of each.
    pub largest: SortedKeys,
}

impl SortedRun {
    /// A run of files that are sorted already.
    pub fn new(files: Vec<Arc<TableFile>>) -> Self {
        let largest = SortedKeys::from_sorted(files.iter().map(|file| &file.meta.largest[..]));
        Self { files, largest }
    }

    /// The file that may hold a key.
    #[inline]
    pub fn find(&self, user_key: &[u8]) -> Option<&TableFile> {
        let file = self.files.get(self.largest.lower_bound(user_key))?;
        (compare_bytes(&file.meta.smallest, user_key) != Ordering::Greater).then_some(file)
    }
}

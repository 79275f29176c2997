//! A compaction that was picked, in whatever style: its inputs are any number of levels with files of them.

use crate::lsm::table::FileMetaData;
use std::sync::Arc;

/// Input files of one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionInputFiles {
    /// The level.
    pub level: usize,
    /// Its files, in the order of the level.
    pub files: Vec<Arc<FileMetaData>>,
}

/// A compaction to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// Input files, from the level that needs it downwards. No level comes twice, and none is without files.
    pub inputs: Vec<CompactionInputFiles>,
    /// The level that is written.
    pub output_level: usize,
    /// Files below the output level in the range of the inputs, at which outputs are cut.
    pub grandparents: Vec<Arc<FileMetaData>>,
    /// Whether the inputs only change their level.
    pub is_trivial_move: bool,
    /// Whether no deeper level holds keys in the range of the inputs.
    pub bottommost: bool,
}

impl Compaction {
    /// All input files with their levels.
    pub fn files(&self) -> impl Iterator<Item = (usize, &Arc<FileMetaData>)> {
        self.inputs.iter().flat_map(|input| input.files.iter().map(|file| (input.level, file)))
    }

    /// The range of user keys, and where it goes.
    pub fn in_progress(&self) -> CompactionInProgress {
        let (smallest, largest) = range_of(self.files().map(|(_, file)| file));
        CompactionInProgress { output_level: self.output_level, smallest: smallest.to_vec(), largest: largest.to_vec() }
    }
}

/// A compaction under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionInProgress {
    /// The level it writes to.
    pub output_level: usize,
    /// First user key of its inputs.
    pub smallest: Vec<u8>,
    /// Last user key of its inputs.
    pub largest: Vec<u8>,
}

/// The first and the last user key of some files.
pub fn range_of<'a>(files: impl Iterator<Item = &'a Arc<FileMetaData>>) -> (&'a [u8], &'a [u8]) {
    let mut range: Option<(&[u8], &[u8])> = None;
    for file in files {
        let (smallest, largest) = (&file.smallest[..], &file.largest[..]);
        range = Some(range.map_or((smallest, largest), |(low, high)| (low.min(smallest), high.max(largest))));
    }
    range.unwrap_or_default()
}

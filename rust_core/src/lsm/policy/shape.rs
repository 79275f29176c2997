//! What the policies look at: the files of each level and which of them are being compacted.

use super::compaction::CompactionInProgress;
use crate::lsm::table::{FileMetaData, total_bytes};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// The files of a tree. Level 0 is sorted newest first, every other level by key, without overlap.
#[derive(Debug, Clone)]
pub struct Shape<'a> {
    /// Files by level.
    pub levels: Vec<&'a [Arc<FileMetaData>]>,
    /// Numbers of the files that are inputs of a running compaction.
    pub being_compacted: &'a BTreeSet<u64>,
    /// Compactions under way.
    pub in_progress: &'a [CompactionInProgress],
}

impl Shape<'_> {
    /// Whether a file is an input of a running compaction.
    pub fn is_being_compacted(&self, file: &FileMetaData) -> bool {
        self.being_compacted.contains(&file.number)
    }

    /// Bytes of a level's files.
    pub fn bytes(&self, level: usize) -> u64 {
        total_bytes(self.levels[level])
    }

    /// Positions of the files of a sorted level that overlap a range.
    pub fn overlapping(&self, level: usize, smallest: &[u8], largest: &[u8]) -> Range<usize> {
        let files = self.levels[level];
        let start = files.partition_point(|file| *file.largest < *smallest);
        let end = files.partition_point(|file| *file.smallest <= *largest);
        start..end.max(start)
    }

    /// Whether some file is an input of a running compaction.
    pub fn any_being_compacted(&self, files: &[Arc<FileMetaData>]) -> bool {
        files.iter().any(|file| self.is_being_compacted(file))
    }

    /// Widens a range of positions until no file outside of it shares a user key with one inside
    /// (`ExpandInputsToCleanCut`).
    pub fn clean_cut(&self, level: usize, mut range: Range<usize>) -> Range<usize> {
        let files = self.levels[level];
        while range.start > 0 && files[range.start - 1].largest == files[range.start].smallest {
            range.start -= 1;
        }
        while range.end < files.len() && files[range.end - 1].largest == files[range.end].smallest {
            range.end += 1;
        }
        range
    }

    /// As [`Shape::overlapping`], with a clean cut.
    pub fn overlapping_cut(&self, level: usize, smallest: &[u8], largest: &[u8]) -> Range<usize> {
        let range = self.overlapping(level, smallest, largest);
        if range.is_empty() { range } else { self.clean_cut(level, range) }
    }

    /// Whether a running compaction writes to the same level and range (`FilesRangeOverlapWithCompaction`).
    pub fn collides(&self, output_level: usize, smallest: &[u8], largest: &[u8]) -> bool {
        self.in_progress.iter().any(|other| {
            other.output_level == output_level && *other.smallest <= *largest && *other.largest >= *smallest
        })
    }

    /// Bytes of the files below which no level holds any of their range; of level 0 the oldest file counts if there are
    /// no levels below (`GenerateBottommostFiles`, `RangeMightExistAfterSortedRun`).
    pub fn bottommost_bytes(&self) -> u64 {
        if self.last_level() == 0 {
            return self.levels[0].last().map_or(0, |file| file.bytes);
        }
        let is_bottommost = |level: usize, file: &FileMetaData| {
            let mut below = level + 1..self.levels.len();
            below.all(|level| self.overlapping(level, &file.smallest, &file.largest).is_empty())
        };
        let files = (1..self.levels.len()).flat_map(|level| self.levels[level].iter().map(move |file| (level, file)));
        files.filter(|(level, file)| is_bottommost(*level, file)).map(|(_, file)| file.bytes).sum()
    }

    /// The deepest level with files; 0 if there are none.
    pub fn last_level(&self) -> usize {
        self.levels.iter().rposition(|files| !files.is_empty()).unwrap_or(0)
    }
}

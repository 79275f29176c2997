//! In which order the files of a level are compacted: RocksDB's `VersionStorageInfo::UpdateFilesByCompactionPri`.

use super::builder::LevelCompactionBuilder;
use crate::lsm::options::CompactionPri;
use crate::lsm::table::{FileMetaData, total_bytes};
use std::sync::Arc;

/// Only so many files of a level are put into order; the rest follow by position (`kNumberFilesToSort`).
const FILES_SORTED: usize = 50;

impl LevelCompactionBuilder<'_> {
    /// Positions of a level's files in the order in which they are to be compacted.
    pub(super) fn order(&self, level: usize) -> Vec<usize> {
        let files = self.shape.levels[level];
        let overlaps = match self.priority {
            CompactionPri::MinOverlappingRatio => self.overlap_bytes(level),
            _ => Vec::new(),
        };
        let rank = |at: &usize| -> (u64, &[u8]) {
            let file = &files[*at];
            match self.priority {
                CompactionPri::MinOverlappingRatio => (
                    (u128::from(overlaps[*at]) * 1024 / u128::from(file.compensated_bytes.max(1))) as u64,
                    &file.smallest,
                ),
                CompactionPri::ByCompensatedSize => (u64::MAX - file.compensated_bytes, &file.smallest),
                CompactionPri::OldestLargestSeqFirst => (file.largest_sequence, &file.smallest),
                CompactionPri::OldestSmallestSeqFirst => (file.smallest_sequence, &file.smallest),
            }
        };
        let mut order = (0..files.len()).collect::<Vec<_>>();
        if order.len() > FILES_SORTED {
            order.select_nth_unstable_by(FILES_SORTED, |a, b| rank(a).cmp(&rank(b)));
            order[FILES_SORTED..].sort_unstable();
            order[..FILES_SORTED].sort_by(|a, b| rank(a).cmp(&rank(b)));
        } else {
            order.sort_by(|a, b| rank(a).cmp(&rank(b)));
        }
        order
    }

    /// For each file of a level, the bytes of the whole files of the next level that it overlaps.
    fn overlap_bytes(&self, level: usize) -> Vec<u64> {
        let next = self.shape.levels[level + 1];
        let overlap = |file: &Arc<FileMetaData>| {
            let range = self.shape.overlapping(level + 1, &file.smallest, &file.largest);
            total_bytes(&next[range])
        };
        self.shape.levels[level].iter().map(overlap).collect()
    }
}

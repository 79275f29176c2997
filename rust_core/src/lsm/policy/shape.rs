//! What the policies look at: the files of each level and which of them are being compacted.

use std::collections::BTreeSet;
use std::sync::Arc;

/// What the policies know of a table file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileMeta {
    /// Number in the file's name.
    pub number: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes, with tombstones weighing as much as what they hide.
    pub compensated_bytes: u64,
    /// End of the data blocks.
    pub data_bytes: u64,
    /// Entries, tombstones included.
    pub entries: u64,
    /// Tombstones.
    pub deletions: u64,
    /// Bytes of internal keys before compression.
    pub raw_key_bytes: u64,
    /// Bytes of values before compression.
    pub raw_value_bytes: u64,
    /// First user key.
    pub smallest: Vec<u8>,
    /// Last user key.
    pub largest: Vec<u8>,
    /// Smallest sequence number.
    pub smallest_sequence: u64,
    /// Largest sequence number.
    pub largest_sequence: u64,
}

impl FileMeta {
    /// Whether the file holds keys from `smallest` to `largest`, both included.
    pub fn overlaps(&self, smallest: &[u8], largest: &[u8]) -> bool {
        *self.smallest <= *largest && *self.largest >= *smallest
    }

    /// Sets the compensated size (RocksDB's `ComputeCompensatedSizes`): where tombstones are at least half of the
    /// entries, each beyond that counts as two values of average size.
    pub fn compensate(&mut self, average_value_bytes: u64) {
        let excess = (2 * self.deletions).saturating_sub(self.entries);
        let weight = excess.saturating_mul(average_value_bytes).saturating_mul(2);
        self.compensated_bytes = self.bytes.saturating_add(weight);
    }
}

/// Average bytes of a value on storage over some files (RocksDB's `GetAverageValueSize`).
pub fn average_value_bytes<'a>(files: impl Iterator<Item = &'a FileMeta>) -> u64 {
    let (mut values, mut value_bytes, mut key_bytes, mut file_bytes) = (0, 0, 0, 0);
    for file in files {
        values += file.entries - file.deletions;
        value_bytes += file.raw_value_bytes;
        key_bytes += file.raw_key_bytes;
        file_bytes += file.bytes;
    }
    if values == 0 || key_bytes + value_bytes == 0 {
        return 0;
    }
    let ratio = file_bytes as f64 / (key_bytes + value_bytes) as f64;
    ((value_bytes / values) as f64 * ratio) as u64
}

/// A compaction under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// The level it writes to.
    pub output_level: usize,
    /// First user key of its inputs.
    pub smallest: Vec<u8>,
    /// Last user key of its inputs.
    pub largest: Vec<u8>,
}

/// The files of a tree. Level 0 is sorted newest first, every other level by key, without overlap.
#[derive(Debug, Clone)]
pub struct Shape<'a> {
    /// Files by level.
    pub levels: Vec<&'a [Arc<FileMeta>]>,
    /// Numbers of the files that are inputs of a running compaction.
    pub busy: &'a BTreeSet<u64>,
    /// Compactions under way.
    pub running: &'a [Running],
}

impl Shape<'_> {
    /// Whether a file is an input of a running compaction.
    pub fn is_busy(&self, file: &FileMeta) -> bool {
        self.busy.contains(&file.number)
    }

    /// Bytes of a level's files.
    pub fn bytes(&self, level: usize) -> u64 {
        total_bytes(self.levels[level])
    }

    /// Positions of the files of a sorted level that overlap a range.
    pub fn overlapping(&self, level: usize, smallest: &[u8], largest: &[u8]) -> std::ops::Range<usize> {
        let files = self.levels[level];
        let start = files.partition_point(|file| *file.largest < *smallest);
        let end = files.partition_point(|file| *file.smallest <= *largest);
        start..end.max(start)
    }

    /// The deepest level with files; 0 if there are none.
    pub fn last_level(&self) -> usize {
        self.levels.iter().rposition(|files| !files.is_empty()).unwrap_or(0)
    }
}

/// Bytes of some files.
pub fn total_bytes(files: &[Arc<FileMeta>]) -> u64 {
    files.iter().map(|file| file.bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_tombstones_weigh_more_than_their_bytes() {
        let meta = |entries, deletions| {
            let mut meta = FileMeta { bytes: 1000, entries, deletions, ..FileMeta::default() };
            meta.compensate(100);
            meta.compensated_bytes
        };
        assert_eq!([meta(10, 4), meta(10, 5), meta(10, 6), meta(10, 10)], [1000, 1000, 1400, 3000]);
    }

    #[test]
    fn the_average_value_is_scaled_by_compression() {
        let file = FileMeta {
            bytes: 500,
            entries: 11,
            deletions: 1,
            raw_key_bytes: 200,
            raw_value_bytes: 800,
            ..FileMeta::default()
        };
        assert_eq!(average_value_bytes([&file].into_iter()), 40);
        assert_eq!(average_value_bytes(std::iter::empty()), 0);
    }
}

//! What the manifest and the policies know of a table file.

use std::sync::Arc;

/// What is known of a table file without opening it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileMetaData {
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

impl FileMetaData {
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
pub fn average_value_bytes<'a>(files: impl Iterator<Item = &'a FileMetaData>) -> u64 {
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

/// Bytes of some files.
pub fn total_bytes(files: &[Arc<FileMetaData>]) -> u64 {
    files.iter().map(|file| file.bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_tombstones_weigh_more_than_their_bytes() {
        let meta = |entries, deletions| {
            let mut meta = FileMetaData { bytes: 1000, entries, deletions, ..FileMetaData::default() };
            meta.compensate(100);
            meta.compensated_bytes
        };
        assert_eq!([meta(10, 4), meta(10, 5), meta(10, 6), meta(10, 10)], [1000, 1000, 1400, 3000]);
    }

    #[test]
    fn the_average_value_is_scaled_by_compression() {
        let file = FileMetaData {
            bytes: 500,
            entries: 11,
            deletions: 1,
            raw_key_bytes: 200,
            raw_value_bytes: 800,
            ..FileMetaData::default()
        };
        assert_eq!(average_value_bytes([&file].into_iter()), 40);
        assert_eq!(average_value_bytes(std::iter::empty()), 0);
    }
}

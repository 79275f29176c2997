//! Where a compaction ends one output file and begins the next: RocksDB's `CompactionOutputs::ShouldStopBefore`. Since
//! RocksDB 7.8 outputs end at boundaries of the level below the output level, so that later compactions overlap fewer
//! files; before, they ended at the target size (`level_compaction_dynamic_file_size`, fixed on since 9.0).

use crate::lsm::table::FileMetaData;
use std::sync::Arc;

/// Limits and progress of one compaction's outputs.
#[derive(Debug, Clone)]
pub struct OutputSplitter {
    grandparents: Vec<Arc<FileMetaData>>,
    target_bytes: u64,
    max_bytes: u64,
    max_compaction_bytes: u64,
    splits: bool,
    dynamic_file_size: bool,
    /// The grandparent that the current key is in or before.
    at: usize,
    in_gap: bool,
    seen_key: bool,
    /// Boundaries crossed, and bytes of grandparents overlapped, by the current output.
    boundaries: u64,
    overlapped_bytes: u64,
}

impl OutputSplitter {
    /// For outputs of `target_bytes` into `output_level`. Files of level 0 are not split; files above other files may
    /// grow to twice the target to find a good end, if their size is dynamic.
    pub fn new(
        output_level: usize,
        target_bytes: u64,
        max_compaction_bytes: u64,
        dynamic_file_size: bool,
        grandparents: Vec<Arc<FileMetaData>>,
        bottommost: bool,
    ) -> Self {
        let grows = dynamic_file_size && !bottommost && !grandparents.is_empty();
        let max_bytes = if grows { 2 * target_bytes } else { target_bytes };
        Self {
            grandparents,
            target_bytes,
            max_bytes,
            max_compaction_bytes,
            splits: output_level > 0,
            dynamic_file_size,
            at: 0,
            in_gap: true,
            seen_key: false,
            boundaries: 0,
            overlapped_bytes: 0,
        }
    }

    /// Whether the current output, `file_bytes` so far, ends before `user_key`. Called for every key in order;
    /// `file_bytes` is `None` if no output is open.
    pub fn stops_before(&mut self, user_key: &[u8], file_bytes: Option<u64>) -> bool {
        if !self.splits {
            return false;
        }
        let overlapped_before = self.overlapped_bytes;
        let crossed = self.advance(user_key);
        let Some(file_bytes) = file_bytes else { return false };
        if file_bytes >= self.max_bytes {
            return true;
        }
        if crossed == 0 {
            return false;
        }
        if self.overlapped_bytes + file_bytes > self.max_compaction_bytes {
            return true;
        }
        if !self.dynamic_file_size {
            return false;
        }
        let skips_a_file = crossed >= if self.in_gap { 2 } else { 3 };
        if skips_a_file && self.overlapped_bytes - overlapped_before > self.target_bytes / 8 {
            return true;
        }
        file_bytes >= self.target_bytes.div_ceil(100) * (50 + (self.boundaries * 5).min(40))
    }

    /// A new output begins with the key that was last asked about.
    pub fn begin_output(&mut self) {
        self.boundaries = 0;
        self.overlapped_bytes = self.current_bytes();
    }

    fn current_bytes(&self) -> u64 {
        if self.in_gap { 0 } else { self.grandparents.get(self.at).map_or(0, |file| file.bytes) }
    }

    /// Moves to the grandparent of a key and counts the boundaries crossed (`UpdateGrandparentBoundaryInfo`).
    fn advance(&mut self, user_key: &[u8]) -> usize {
        let mut crossed = 0;
        while let Some(file) = self.grandparents.get(self.at) {
            if self.in_gap {
                if *user_key < *file.smallest {
                    break;
                }
                if self.seen_key {
                    crossed += 1;
                    self.boundaries += 1;
                    self.overlapped_bytes += file.bytes;
                }
                self.in_gap = false;
            } else {
                let next_begins_here =
                    self.grandparents.get(self.at + 1).is_some_and(|next| *next.smallest <= *user_key);
                if *user_key < *file.largest || (*user_key == *file.largest && !next_begins_here) {
                    break;
                }
                if self.seen_key {
                    crossed += 1;
                    self.boundaries += 1;
                }
                self.in_gap = true;
                self.at += 1;
            }
        }
        if !self.seen_key {
            self.overlapped_bytes = self.current_bytes();
        }
        self.seen_key = true;
        crossed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grandparents(ranges: &[(&str, &str, u64)]) -> Vec<Arc<FileMetaData>> {
        let meta = |&(smallest, largest, bytes): &(&str, &str, u64)| {
            let (smallest, largest) = (smallest.as_bytes().to_vec(), largest.as_bytes().to_vec());
            Arc::new(FileMetaData { bytes, smallest, largest, ..FileMetaData::default() })
        };
        ranges.iter().map(meta).collect()
    }

    /// Feeds keys `a0`, `a1`, … of `step` bytes each and returns the first keys of the outputs.
    fn outputs(mut splitter: OutputSplitter, step: u64) -> Vec<String> {
        let (mut firsts, mut bytes) = (Vec::new(), None);
        for letter in 'a'..='h' {
            for digit in '0'..='9' {
                let key = format!("{letter}{digit}");
                if splitter.stops_before(key.as_bytes(), bytes) {
                    bytes = None;
                }
                if bytes.is_none() {
                    splitter.begin_output();
                    firsts.push(key);
                }
                bytes = Some(bytes.unwrap_or(0) + step);
            }
        }
        firsts
    }

    #[test]
    fn without_grandparents_outputs_end_at_the_target() {
        let splitter = OutputSplitter::new(6, 250, 10_000, true, Vec::new(), true);
        assert_eq!(outputs(splitter, 10), ["a0", "c5", "f0", "h5"]);
    }

    #[test]
    fn outputs_end_at_a_boundary_once_they_are_half_full() {
        let below = grandparents(&[("a0", "b9", 100), ("c0", "d9", 100), ("e0", "f9", 100), ("g0", "h9", 100)]);
        let splitter = OutputSplitter::new(5, 300, 10_000, true, below, false);
        assert_eq!(outputs(splitter, 10), ["a0", "c0", "e0", "g0"]);
    }

    #[test]
    fn outputs_of_a_fixed_size_end_at_the_target_whatever_lies_below() {
        let below = grandparents(&[("a0", "b9", 100), ("c0", "d9", 100), ("e0", "f9", 100), ("g0", "h9", 100)]);
        let splitter = OutputSplitter::new(5, 300, 10_000, false, below, false);
        assert_eq!(outputs(splitter, 10), ["a0", "d0", "g0"]);
    }

    #[test]
    fn an_output_never_overlaps_more_than_one_compaction_may_read() {
        for dynamic in [true, false] {
            let below = grandparents(&[("a0", "b9", 500), ("c0", "d9", 500), ("e0", "f9", 500), ("g0", "h9", 500)]);
            let splitter = OutputSplitter::new(5, 10_000, 1100, dynamic, below, false);
            assert_eq!(outputs(splitter, 1), ["a0", "e0"]);
        }
    }

    #[test]
    fn files_of_level_0_are_not_split() {
        assert_eq!(outputs(OutputSplitter::new(0, 100, 100, true, Vec::new(), false), 50), ["a0"]);
    }
}

//! What is picked from a level whose files do not overlap: the first file by `compaction_pri` that is free, with its
//! neighbours where they cost nothing more.

use super::builder::LevelCompactionBuilder;
use crate::lsm::policy::compaction::{Compaction, range_of};
use crate::lsm::table::{FileMetaData, total_bytes};
use std::ops::Range;

/// Files moved at most at a time (`kMaxMultiTrivialMove`).
const MAX_MOVES: usize = 4;

impl LevelCompactionBuilder<'_> {
    /// Files of a sorted level, in order of priority, with what they overlap of the next.
    pub(super) fn out_of_level(&self, level: usize) -> Option<Compaction> {
        let (files, output_level) = (self.shape.levels[level], level + 1);
        for at in self.order(level) {
            if self.shape.is_being_compacted(&files[at]) {
                continue;
            }
            let range = self.shape.clean_cut(level, at..at + 1);
            let (smallest, largest) = range_of(files[range.clone()].iter());
            if self.shape.any_being_compacted(&files[range.clone()])
                || self.shape.collides(output_level, smallest, largest)
            {
                continue;
            }
            let below = self.shape.overlapping_cut(output_level, smallest, largest);
            if self.shape.any_being_compacted(&self.shape.levels[output_level][below.clone()]) {
                continue;
            }
            let (range, below) = if below.is_empty() {
                (self.extend_move(level, range), below)
            } else {
                self.grow_inputs(level, output_level, range, below)
            };
            let inputs = files[range].to_vec();
            if let Some(compaction) = self.complete(level, output_level, inputs, below, true) {
                return Some(compaction);
            }
        }
        None
    }

    /// More files next to a file that only moves, while none overlaps the output level (`TryExtendNonL0TrivialMove`).
    /// RocksDB leaves this out where levels have their own codecs.
    fn extend_move(&self, level: usize, mut range: Range<usize>) -> Range<usize> {
        if range.len() > 1 || !self.options.compression_per_level.is_empty() {
            return range;
        }
        let files = self.shape.levels[level];
        let mut bytes = files[range.start].bytes;
        let fits = |range: &Range<usize>, file: &FileMetaData, bytes: u64| {
            let (smallest, largest) = range_of(files[range.clone()].iter());
            !self.shape.is_being_compacted(file)
                && self.shape.overlapping(level + 1, smallest, largest).is_empty()
                && self.shape.clean_cut(level, range.clone()) == *range
                && bytes <= self.options.max_compaction_bytes
        };
        while range.end < files.len() && range.len() < MAX_MOVES {
            let (wider, file) = (range.start..range.end + 1, &files[range.end]);
            if !fits(&wider, file, bytes + file.bytes) {
                break;
            }
            bytes += file.bytes;
            range = wider;
        }
        while range.start > 0 && range.len() < MAX_MOVES {
            let (wider, file) = (range.start - 1..range.end, &files[range.start - 1]);
            if !fits(&wider, file, bytes + file.bytes) {
                break;
            }
            bytes += file.bytes;
            range = wider;
        }
        range
    }

    /// More files of the start level where they cost no more files of the output level (`SetupOtherInputs`).
    fn grow_inputs(
        &self,
        level: usize,
        output_level: usize,
        inputs: Range<usize>,
        below: Range<usize>,
    ) -> (Range<usize>, Range<usize>) {
        let (files, output) = (self.shape.levels[level], self.shape.levels[output_level]);
        let limit = 2 * self.options.max_compaction_bytes;
        let all = files[inputs.clone()].iter().chain(&output[below.clone()]);
        let (smallest, largest) = range_of(all);
        let affordable = |wider: &Range<usize>| {
            wider.len() > inputs.len()
                && total_bytes(&files[wider.clone()]) + total_bytes(&output[below.clone()]) < limit
                && !self.shape.any_being_compacted(&files[wider.clone()])
        };
        let wider = self.shape.overlapping_cut(level, smallest, largest);
        if affordable(&wider) {
            let (smallest, largest) = range_of(files[wider.clone()].iter());
            if self.shape.overlapping_cut(output_level, smallest, largest) == below {
                return (wider, below);
            }
        }
        // Only files that lie wholly within the range of the outputs.
        let mut within = self.shape.overlapping(level, smallest, largest);
        while !within.is_empty() && *files[within.start].smallest < *smallest {
            within.start += 1;
        }
        while !within.is_empty() && *files[within.end - 1].largest > *largest {
            within.end -= 1;
        }
        if within.start <= inputs.start
            && within.end >= inputs.end
            && self.shape.clean_cut(level, within.clone()) == within
            && affordable(&within)
        {
            return (within, below);
        }
        (inputs, below)
    }
}

//! What is picked from level 0, whose files overlap: RocksDB's `LevelCompactionBuilder::SetupInitialFiles` where it
//! comes to level 0, and the merges within it.

use super::builder::LevelCompactionBuilder;
use crate::lsm::policy::compaction::{Compaction, CompactionInputFiles, range_of};
use crate::lsm::table::{FileMetaData, total_bytes};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Level-0 files at least in a compaction within level 0 (`kMinFilesForIntraL0Compaction`).
const MIN_WITHIN_LEVEL0: usize = 4;

impl LevelCompactionBuilder<'_> {
    /// The files of level 0 that go down, or into one of their own level.
    pub(super) fn out_of_level0(&self) -> Option<Compaction> {
        let files = self.shape.levels[0];
        if files.is_empty() {
            return None;
        }
        if self.shape.any_being_compacted(files) {
            return self.many_within_level0();
        }
        let output_level = self.targets.base_level;
        if let Some(compaction) = self.move_from_level0(output_level).or_else(|| self.many_within_level0()) {
            return Some(compaction);
        }
        let first = *self.order(0).first()?;
        let inputs = self.level0_in(&files[first].smallest, &files[first].largest);
        let (smallest, largest) = range_of(inputs.iter());
        if self.shape.collides(output_level, smallest, largest) {
            return None;
        }
        let below = self.shape.overlapping_cut(output_level, smallest, largest);
        if self.shape.any_being_compacted(&self.shape.levels[output_level][below.clone()]) {
            return None;
        }
        let (inputs, below) = self.grow_level0(inputs, output_level, below);
        let disjoint = are_disjoint(self.shape.levels[0]);
        self.complete(0, output_level, inputs, below, disjoint)
    }

    /// The files of level 0 that overlap a range, those that overlap them, and so on.
    fn level0_in(&self, smallest: &[u8], largest: &[u8]) -> Vec<Arc<FileMetaData>> {
        let files = self.shape.levels[0];
        let (mut smallest, mut largest) = (smallest, largest);
        loop {
            let inside = files.iter().filter(|file| file.overlaps(smallest, largest));
            let (low, high) = inside.clone().fold((smallest, largest), |(low, high), file| {
                (low.min(&file.smallest[..]), high.max(&file.largest[..]))
            });
            if (low, high) == (smallest, largest) {
                return inside.cloned().collect();
            }
            (smallest, largest) = (low, high);
        }
    }

    fn grow_level0(
        &self,
        inputs: Vec<Arc<FileMetaData>>,
        output_level: usize,
        below: Range<usize>,
    ) -> (Vec<Arc<FileMetaData>>, Range<usize>) {
        if below.is_empty() || inputs.len() == self.shape.levels[0].len() {
            return (inputs, below);
        }
        let output = &self.shape.levels[output_level][below.clone()];
        let (smallest, largest) = range_of(inputs.iter().chain(output));
        let wider = self.level0_in(smallest, largest);
        let limit = 2 * self.options.max_compaction_bytes;
        if wider.len() > inputs.len() && total_bytes(&wider) + total_bytes(output) < limit {
            let (smallest, largest) = range_of(wider.iter());
            if self.shape.overlapping_cut(output_level, smallest, largest) == below {
                return (wider, below);
            }
        }
        (inputs, below)
    }

    /// The oldest files of level 0 that overlap neither each other nor the base level (`TryPickL0TrivialMove`). RocksDB
    /// leaves this out where levels have their own codecs.
    fn move_from_level0(&self, output_level: usize) -> Option<Compaction> {
        if self.shape.levels[output_level].is_empty() || !self.options.compression_per_level.is_empty() {
            return None;
        }
        let mut moved: Vec<Arc<FileMetaData>> = Vec::new();
        for file in self.shape.levels[0].iter().rev() {
            let (smallest, largest) = range_of(moved.iter());
            if !moved.is_empty() && *file.largest >= *smallest && *file.smallest <= *largest {
                break;
            }
            let (smallest, largest) = range_of(moved.iter().chain([file]));
            if !self.shape.overlapping(output_level, smallest, largest).is_empty()
                || self.shape.collides(output_level, smallest, largest)
            {
                break;
            }
            moved.push(file.clone());
        }
        if moved.is_empty() {
            return None;
        }
        moved.sort_by(|a, b| a.smallest.cmp(&b.smallest));
        self.complete(0, output_level, moved, 0..0, true)
    }

    /// The newest files of level 0 as far as they are idle into one, when the base level is so large that merging with
    /// it would cost too much (`PickSizeBasedIntraL0Compaction`, which older releases do not have).
    fn many_within_level0(&self) -> Option<Compaction> {
        let files = self.shape.levels[0];
        let at_least = self.options.level0_file_num_compaction_trigger.max(2) as usize;
        if !self.options.size_based_intra_l0_compaction || files.len() < at_least {
            return None;
        }
        let level0 = files.iter().map(|file| file.compensated_bytes).sum::<u64>();
        let multiplier = self.options.max_bytes_for_level_multiplier.max(10.0) * 2.0;
        let is_small = self.shape.bytes(self.targets.base_level) as f64 > level0 as f64 * multiplier;
        let idle = files.iter().take_while(|file| !self.shape.is_being_compacted(file)).count();
        (is_small && idle >= at_least).then(|| merge_within_level0(&files[..idle]))
    }

    /// The newest files of level 0 into one, while its way down is blocked (`PickIntraL0Compaction`).
    pub(super) fn within_level0(&self) -> Option<Compaction> {
        let files = self.shape.levels[0];
        let trigger = self.options.level0_file_num_compaction_trigger as usize;
        if files.len() < trigger + 2 || self.shape.is_being_compacted(&files[0]) {
            return None;
        }
        let mut bytes = files[0].bytes;
        let mut bytes_per_file = u64::MAX;
        let mut end = 1;
        while let Some(file) = files.get(end) {
            bytes += file.bytes;
            let now = bytes / end as u64;
            if self.shape.is_being_compacted(file) || now > bytes_per_file || bytes > self.options.max_compaction_bytes
            {
                break;
            }
            bytes_per_file = now;
            end += 1;
        }
        (end >= MIN_WITHIN_LEVEL0).then(|| merge_within_level0(&files[..end]))
    }
}

fn merge_within_level0(files: &[Arc<FileMetaData>]) -> Compaction {
    Compaction {
        inputs: vec![CompactionInputFiles { level: 0, files: files.to_vec() }],
        output_level: 0,
        grandparents: Vec::new(),
        is_trivial_move: false,
        bottommost: false,
    }
}

/// Whether no two of some files overlap.
fn are_disjoint(files: &[Arc<FileMetaData>]) -> bool {
    let by_key = files.iter().map(|file| (&file.smallest, &file.largest)).collect::<BTreeMap<_, _>>();
    by_key.len() == files.len() && by_key.iter().zip(by_key.iter().skip(1)).all(|((_, end), (start, _))| end < start)
}

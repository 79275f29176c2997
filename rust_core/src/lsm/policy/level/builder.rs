//! What the picks of all levels have in common: RocksDB's `LevelCompactionBuilder`.

use super::targets::LevelTargets;
use crate::lsm::options::{CompactionPri, Options};
use crate::lsm::policy::compaction::{Compaction, CompactionInputFiles, range_of};
use crate::lsm::policy::shape::Shape;
use crate::lsm::table::{FileMetaData, total_bytes};
use std::ops::Range;
use std::sync::Arc;

/// What leveled picking looks at.
pub struct LevelCompactionBuilder<'a> {
    /// The files.
    pub shape: &'a Shape<'a>,
    /// What each level shall hold.
    pub targets: &'a LevelTargets,
    /// The settings.
    pub options: &'a Options,
    /// Which file of a level is first.
    pub priority: CompactionPri,
    /// Whether blocks of a level may stay as they are when their file moves to another.
    pub same_compression: &'a dyn Fn(usize, usize) -> bool,
}

impl LevelCompactionBuilder<'_> {
    /// The compaction of these inputs and the files at `below` in the output level, unless another one collides with
    /// it.
    pub(super) fn complete(
        &self,
        start_level: usize,
        output_level: usize,
        inputs: Vec<Arc<FileMetaData>>,
        below: Range<usize>,
        inputs_disjoint: bool,
    ) -> Option<Compaction> {
        let overlapped = self.shape.levels[output_level][below].to_vec();
        let (smallest, largest) = range_of(inputs.iter().chain(&overlapped));
        if self.shape.collides(output_level, smallest, largest) {
            return None;
        }
        let levels = self.shape.levels.len();
        // Those of the first level below that has any (`GetGrandparents`).
        let below_output = |level: usize| &self.shape.levels[level][self.shape.overlapping(level, smallest, largest)];
        let overlapping = (output_level + 1..levels).map(below_output);
        let grandparents = overlapping.into_iter().find(|files| !files.is_empty()).unwrap_or_default().to_vec();
        let bottommost = grandparents.is_empty();
        let is_trivial_move = overlapped.is_empty()
            && inputs_disjoint
            && (self.same_compression)(start_level, output_level)
            && inputs.iter().all(|file| {
                let below = output_level + 1;
                let overlap = if below < levels {
                    total_bytes(&self.shape.levels[below][self.shape.overlapping(below, &file.smallest, &file.largest)])
                } else {
                    0
                };
                below >= levels || file.bytes + overlap <= self.options.max_compaction_bytes
            });
        let mut inputs = vec![CompactionInputFiles { level: start_level, files: inputs }];
        if !overlapped.is_empty() {
            inputs.push(CompactionInputFiles { level: output_level, files: overlapped });
        }
        Some(Compaction { inputs, output_level, grandparents, is_trivial_move, bottommost })
    }
}

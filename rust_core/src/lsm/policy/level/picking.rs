//! Which level is compacted next: RocksDB's `LevelCompactionPicker`.

use super::builder::LevelCompactionBuilder;
use super::scores::scores;
use super::targets::LevelTargets;
use crate::lsm::options::{CompactionPri, Options};
use crate::lsm::policy::compaction::Compaction;
use crate::lsm::policy::shape::Shape;

/// The next compaction, if a level is due and its files are free. `same_compression` says whether blocks of a level may
/// stay as they are when their file moves to another.
pub fn pick_compaction(
    shape: &Shape,
    targets: &LevelTargets,
    options: &Options,
    priority: CompactionPri,
    same_compression: &dyn Fn(usize, usize) -> bool,
) -> Option<Compaction> {
    let builder = LevelCompactionBuilder { shape, targets, options, priority, same_compression };
    let mut level0_waits = false;
    for (level, score) in scores(shape, targets, options) {
        if score < 1.0 {
            break;
        }
        if level == 0 {
            if let Some(compaction) = builder.out_of_level0() {
                return Some(compaction);
            }
            level0_waits = true;
            if let Some(compaction) = builder.within_level0() {
                return Some(compaction);
            }
        } else if !(level0_waits && level == targets.base_level)
            && let Some(compaction) = builder.out_of_level(level)
        {
            // A base level below a waiting level 0 is left alone, lest level 0 starve.
            return Some(compaction);
        }
    }
    None
}

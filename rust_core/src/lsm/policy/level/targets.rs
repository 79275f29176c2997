//! Target sizes of levels: RocksDB's `VersionStorageInfo::CalculateBaseBytes`.

use crate::lsm::options::Options;

/// What each level shall hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelTargets {
    /// The level that level 0 is compacted into.
    pub base_level: usize,
    /// Target bytes by level; `u64::MAX` above the base level of a dynamic tree.
    pub bytes: Vec<u64>,
    /// The deepest level that a tree of this size does not need and that is to be emptied.
    pub lowest_unnecessary: Option<usize>,
}

/// Targets from the bytes of each level.
pub fn level_targets(level_bytes: &[u64], options: &Options) -> LevelTargets {
    if options.level_compaction_dynamic_level_bytes {
        dynamic(level_bytes, options)
    } else {
        let (base, multiplier) = (options.max_bytes_for_level_base, options.max_bytes_for_level_multiplier);
        let targets = std::iter::successors(Some(base), |target| Some(multiplied(*target, multiplier)));
        let bytes = std::iter::once(base).chain(targets).take(level_bytes.len()).collect();
        LevelTargets { base_level: 1, bytes, lowest_unnecessary: None }
    }
}

fn multiplied(bytes: u64, factor: f64) -> u64 {
    (bytes as f64 * factor) as u64
}

fn divided(bytes: u64, multiplier: f64) -> u64 {
    (bytes as f64 / multiplier) as u64
}

/// Levels sized from the last one upwards: the largest level is taken as it is, and the base level is the first whose
/// target is at most `max_bytes_for_level_base`.
fn dynamic(level_bytes: &[u64], options: &Options) -> LevelTargets {
    let (levels, multiplier) = (level_bytes.len(), options.max_bytes_for_level_multiplier);
    let (base_max, base_min) =
        (options.max_bytes_for_level_base, divided(options.max_bytes_for_level_base, multiplier));
    let mut targets = LevelTargets { base_level: levels - 1, bytes: vec![u64::MAX; levels], lowest_unnecessary: None };
    let first = (1..levels).find(|level| level_bytes[*level] > 0);
    let largest = level_bytes[1..].iter().copied().max().unwrap_or(0);
    let Some(first) = first else { return targets };

    let mut size = largest;
    for level in (first..levels - 1).rev() {
        size = divided(size, multiplier);
        if targets.lowest_unnecessary.is_none() && size <= base_min {
            targets.lowest_unnecessary = Some(level);
        }
    }
    targets.base_level = first;
    let base_size = if size <= base_min {
        base_min + 1
    } else {
        while targets.base_level > 1 && size > base_max {
            targets.base_level -= 1;
            size = divided(size, multiplier);
        }
        size.min(base_max).max(1)
    };
    let mut target = base_size;
    for level in targets.base_level..levels {
        if level > targets.base_level {
            target = multiplied(target, multiplier);
        }
        // Never below the base, lest a level be smaller than level 0 (an hourglass).
        targets.bytes[level] = target.max(base_max);
    }
    targets
}

//! How badly each level needs compaction: RocksDB's `ComputeCompactionScore` and `EstimateCompactionBytesNeeded`.

use super::targets::LevelTargets;
use crate::lsm::options::Options;
use crate::lsm::policy::shape::Shape;

const SCALE: f64 = 10.0;

/// Scores of all levels but the last, the neediest first. A level with a score of at least 1 is due.
pub fn scores(shape: &Shape, targets: &LevelTargets, options: &Options) -> Vec<(usize, f64)> {
    let mut incoming = 0;
    let mut scores = Vec::with_capacity(shape.levels.len());
    for level in 0..shape.levels.len() - 1 {
        let score = if level == 0 {
            incoming += shape.bytes(0);
            level0_score(shape, targets, options)
        } else {
            let score = level_score(shape, targets, options, level, incoming);
            let bytes = shape.bytes(level);
            if targets.lowest_unnecessary.is_some_and(|lowest| level <= lowest) {
                incoming += bytes;
            } else {
                incoming += bytes.saturating_sub(targets.bytes[level]);
            }
            score
        };
        scores.push((level, score));
    }
    scores.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    scores
}

fn idle_compensated(shape: &Shape, level: usize) -> u64 {
    shape.levels[level].iter().filter(|file| !shape.is_being_compacted(file)).map(|file| file.compensated_bytes).sum()
}

fn level0_score(shape: &Shape, targets: &LevelTargets, options: &Options) -> f64 {
    let files = shape.levels[0].iter().filter(|file| !shape.is_being_compacted(file)).count();
    let bytes = idle_compensated(shape, 0);
    let mut score = files as f64 / options.level0_file_num_compaction_trigger as f64;
    if !options.level_compaction_dynamic_level_bytes {
        return score.max(bytes as f64 / options.max_bytes_for_level_base as f64);
    }
    if bytes >= options.max_bytes_for_level_base {
        score = score.max(1.01);
    }
    let base = targets.base_level;
    if bytes > targets.bytes[base] {
        let base_bytes = shape.levels[base].iter().map(|file| file.compensated_bytes).sum::<u64>();
        score = score.max(bytes as f64 / base_bytes.max(targets.bytes[base]) as f64);
    }
    if score > 1.0 { score * SCALE } else { score }
}

fn level_score(shape: &Shape, targets: &LevelTargets, options: &Options, level: usize, incoming: u64) -> f64 {
    let (bytes, target) = (idle_compensated(shape, level), targets.bytes[level]);
    if !options.level_compaction_dynamic_level_bytes || bytes < target {
        let score = bytes as f64 / target as f64;
        return score.max(draining(targets, options, level, bytes));
    }
    // A level that will receive much soon can wait: what arrives is compacted together with it.
    let score = bytes as f64 / (target as f64 + incoming as f64) * SCALE;
    score.max(draining(targets, options, level, bytes))
}

fn draining(targets: &LevelTargets, options: &Options, level: usize, bytes: u64) -> f64 {
    match targets.lowest_unnecessary {
        Some(lowest) if options.level_compaction_dynamic_level_bytes && bytes > 0 && level <= lowest => {
            SCALE * (1.001 + 0.001 * (lowest - level) as f64)
        }
        _ => 0.0,
    }
}

/// Bytes that compactions must rewrite until every level is within its target.
pub fn pending_compaction_bytes(shape: &Shape, targets: &LevelTargets, options: &Options) -> u64 {
    let level0 = shape.bytes(0);
    let due = shape.levels[0].len() as u64 >= options.level0_file_num_compaction_trigger
        || level0 >= options.max_bytes_for_level_base;
    if !due {
        return descent_bytes(shape, targets, 0);
    }
    // RocksDB leaves out a base level that is the last one.
    let base = if targets.base_level + 1 < shape.levels.len() { shape.bytes(targets.base_level) } else { 0 };
    level0 + base + descent_bytes(shape, targets, level0)
}

/// Bytes that flushes and compactions have still to write: those of the memtables once more than the others, and all of
/// level 0 whether it is due or not, since it goes down in the end. The base level is rewritten once in what level 0
/// holds when it is due, or in what it holds now if that is more; a part of that pays its part.
pub fn debt_bytes(shape: &Shape, targets: &LevelTargets, options: &Options, memtable_bytes: u64) -> u64 {
    let arriving = memtable_bytes + shape.bytes(0);
    let flushed = options.write_buffer_size * options.min_write_buffer_number_to_merge;
    let merged = (options.level0_file_num_compaction_trigger * flushed).min(options.max_bytes_for_level_base);
    let part = (arriving as f64 / merged.max(1) as f64).min(1.0);
    let base = (shape.bytes(targets.base_level) as f64 * part) as u64;
    memtable_bytes + arriving + base + descent_bytes(shape, targets, arriving)
}

/// Bytes that compactions of the sorted levels rewrite when so many come down from level 0: what each holds above its
/// target, with as much of the next one as that holds more than it.
fn descent_bytes(shape: &Shape, targets: &LevelTargets, mut descending: u64) -> u64 {
    let mut pending = 0;
    for level in targets.base_level..shape.levels.len() - 1 {
        let bytes = shape.bytes(level) + descending;
        descending = bytes.saturating_sub(targets.bytes[level]);
        if descending > 0 {
            let next = shape.bytes(level + 1);
            if next > 0 {
                pending += (descending as f64 * (next as f64 / bytes as f64 + 1.0)) as u64;
            }
        }
    }
    pending
}

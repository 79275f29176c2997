//! Which files are compacted next: RocksDB's `LevelCompactionBuilder` and what it uses of `CompactionPicker`.

use super::scores::scores;
use super::shape::{FileMeta, Running, Shape, total_bytes};
use super::targets::LevelTargets;
use crate::lsm::options::{CompactionPri, Options};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Files moved at most at a time (`kMaxMultiTrivialMove`).
const MAX_MOVES: usize = 4;
/// Only so many files of a level are put into order; the rest follow by position (`kNumberFilesToSort`).
const FILES_SORTED: usize = 50;
/// Level-0 files at least in a compaction within level 0 (`kMinFilesForIntraL0Compaction`).
const MIN_WITHIN_LEVEL0: usize = 4;

/// A compaction to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pick {
    /// The level that needs it.
    pub start_level: usize,
    /// The level that is written.
    pub output_level: usize,
    /// Input files of the start level.
    pub inputs: Vec<Arc<FileMeta>>,
    /// Input files of the output level.
    pub overlapped: Vec<Arc<FileMeta>>,
    /// Files below the output level in the range of the inputs, at which outputs are cut.
    pub grandparents: Vec<Arc<FileMeta>>,
    /// Whether the inputs only change their level.
    pub is_move: bool,
    /// Whether no deeper level holds keys in the range of the inputs.
    pub bottommost: bool,
}

impl Pick {
    /// All input files with their levels.
    pub fn files(&self) -> impl Iterator<Item = (usize, &Arc<FileMeta>)> {
        let inputs = self.inputs.iter().map(|file| (self.start_level, file));
        inputs.chain(self.overlapped.iter().map(|file| (self.output_level, file)))
    }

    /// The range of user keys, and where it goes.
    pub fn running(&self) -> Running {
        let (smallest, largest) = range_of(self.files().map(|(_, file)| file));
        Running { output_level: self.output_level, smallest: smallest.to_vec(), largest: largest.to_vec() }
    }
}

/// The next compaction, if a level is due and its files are free. `same_compression` says whether blocks of a level may
/// stay as they are when their file moves to another.
pub fn pick_compaction(
    shape: &Shape,
    targets: &LevelTargets,
    options: &Options,
    priority: CompactionPri,
    same_compression: &dyn Fn(usize, usize) -> bool,
) -> Option<Pick> {
    let picker = Picker { shape, targets, options, priority, same_compression };
    let mut level0_waits = false;
    for (level, score) in scores(shape, targets, options) {
        if score < 1.0 {
            break;
        }
        if level == 0 {
            if let Some(pick) = picker.out_of_level0() {
                return Some(pick);
            }
            level0_waits = true;
            if let Some(pick) = picker.within_level0() {
                return Some(pick);
            }
        } else if !(level0_waits && level == targets.base_level)
            && let Some(pick) = picker.out_of_level(level)
        {
            // A base level below a waiting level 0 is left alone, lest level 0 starve.
            return Some(pick);
        }
    }
    None
}

fn range_of<'a>(files: impl Iterator<Item = &'a Arc<FileMeta>>) -> (&'a [u8], &'a [u8]) {
    let mut range: Option<(&[u8], &[u8])> = None;
    for file in files {
        let (smallest, largest) = (&file.smallest[..], &file.largest[..]);
        range = Some(range.map_or((smallest, largest), |(low, high)| (low.min(smallest), high.max(largest))));
    }
    range.unwrap_or_default()
}

struct Picker<'a> {
    shape: &'a Shape<'a>,
    targets: &'a LevelTargets,
    options: &'a Options,
    priority: CompactionPri,
    same_compression: &'a dyn Fn(usize, usize) -> bool,
}

impl Picker<'_> {
    fn any_busy(&self, files: &[Arc<FileMeta>]) -> bool {
        files.iter().any(|file| self.shape.is_busy(file))
    }

    /// Widens a range of positions until no file outside of it shares a user key with one inside
    /// (`ExpandInputsToCleanCut`).
    fn clean_cut(&self, level: usize, mut range: Range<usize>) -> Range<usize> {
        let files = self.shape.levels[level];
        while range.start > 0 && files[range.start - 1].largest == files[range.start].smallest {
            range.start -= 1;
        }
        while range.end < files.len() && files[range.end - 1].largest == files[range.end].smallest {
            range.end += 1;
        }
        range
    }

    fn overlapping(&self, level: usize, smallest: &[u8], largest: &[u8]) -> Range<usize> {
        let range = self.shape.overlapping(level, smallest, largest);
        if range.is_empty() { range } else { self.clean_cut(level, range) }
    }

    /// Whether a running compaction writes to the same level and range.
    fn collides(&self, output_level: usize, smallest: &[u8], largest: &[u8]) -> bool {
        self.shape.running.iter().any(|running| {
            running.output_level == output_level && *running.smallest <= *largest && *running.largest >= *smallest
        })
    }

    /// Positions of a level's files in the order in which they are to be compacted.
    fn order(&self, level: usize) -> Vec<usize> {
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
        let overlap = |file: &Arc<FileMeta>| {
            let range = self.shape.overlapping(level + 1, &file.smallest, &file.largest);
            total_bytes(&next[range])
        };
        self.shape.levels[level].iter().map(overlap).collect()
    }

    fn out_of_level(&self, level: usize) -> Option<Pick> {
        let (files, output_level) = (self.shape.levels[level], level + 1);
        for at in self.order(level) {
            if self.shape.is_busy(&files[at]) {
                continue;
            }
            let range = self.clean_cut(level, at..at + 1);
            let (smallest, largest) = range_of(files[range.clone()].iter());
            if self.any_busy(&files[range.clone()]) || self.collides(output_level, smallest, largest) {
                continue;
            }
            let below = self.overlapping(output_level, smallest, largest);
            if self.any_busy(&self.shape.levels[output_level][below.clone()]) {
                continue;
            }
            let (range, below) = if below.is_empty() {
                (self.extend_move(level, range), below)
            } else {
                self.grow_inputs(level, output_level, range, below)
            };
            let inputs = files[range].to_vec();
            if let Some(pick) = self.complete(level, output_level, inputs, below, true) {
                return Some(pick);
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
        let fits = |range: &Range<usize>, file: &FileMeta, bytes: u64| {
            let (smallest, largest) = range_of(files[range.clone()].iter());
            !self.shape.is_busy(file)
                && self.shape.overlapping(level + 1, smallest, largest).is_empty()
                && self.clean_cut(level, range.clone()) == *range
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
                && !self.any_busy(&files[wider.clone()])
        };
        let wider = self.overlapping(level, smallest, largest);
        if affordable(&wider) {
            let (smallest, largest) = range_of(files[wider.clone()].iter());
            if self.overlapping(output_level, smallest, largest) == below {
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
            && self.clean_cut(level, within.clone()) == within
            && affordable(&within)
        {
            return (within, below);
        }
        (inputs, below)
    }

    fn out_of_level0(&self) -> Option<Pick> {
        let files = self.shape.levels[0];
        if files.is_empty() || self.any_busy(files) {
            return None;
        }
        if let Some(pick) = self.all_within_level0() {
            return Some(pick);
        }
        let output_level = self.targets.base_level;
        if let Some(pick) = self.move_from_level0(output_level) {
            return Some(pick);
        }
        let first = *self.order(0).first()?;
        let inputs = self.level0_in(&files[first].smallest, &files[first].largest);
        let (smallest, largest) = range_of(inputs.iter());
        if self.collides(output_level, smallest, largest) {
            return None;
        }
        let below = self.overlapping(output_level, smallest, largest);
        if self.any_busy(&self.shape.levels[output_level][below.clone()]) {
            return None;
        }
        let (inputs, below) = self.grow_level0(inputs, output_level, below);
        let disjoint = are_disjoint(self.shape.levels[0]);
        self.complete(0, output_level, inputs, below, disjoint)
    }

    /// The files of level 0 that overlap a range, those that overlap them, and so on.
    fn level0_in(&self, smallest: &[u8], largest: &[u8]) -> Vec<Arc<FileMeta>> {
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
        inputs: Vec<Arc<FileMeta>>,
        output_level: usize,
        below: Range<usize>,
    ) -> (Vec<Arc<FileMeta>>, Range<usize>) {
        if below.is_empty() || inputs.len() == self.shape.levels[0].len() {
            return (inputs, below);
        }
        let output = &self.shape.levels[output_level][below.clone()];
        let (smallest, largest) = range_of(inputs.iter().chain(output));
        let wider = self.level0_in(smallest, largest);
        let limit = 2 * self.options.max_compaction_bytes;
        if wider.len() > inputs.len() && total_bytes(&wider) + total_bytes(output) < limit {
            let (smallest, largest) = range_of(wider.iter());
            if self.overlapping(output_level, smallest, largest) == below {
                return (wider, below);
            }
        }
        (inputs, below)
    }

    /// The oldest files of level 0 that overlap neither each other nor the base level (`TryPickL0TrivialMove`). RocksDB
    /// leaves this out where levels have their own codecs.
    fn move_from_level0(&self, output_level: usize) -> Option<Pick> {
        if self.shape.levels[output_level].is_empty() || !self.options.compression_per_level.is_empty() {
            return None;
        }
        let mut moved: Vec<Arc<FileMeta>> = Vec::new();
        for file in self.shape.levels[0].iter().rev() {
            let (smallest, largest) = range_of(moved.iter());
            if !moved.is_empty() && *file.largest >= *smallest && *file.smallest <= *largest {
                break;
            }
            let (smallest, largest) = range_of(moved.iter().chain([file]));
            if !self.shape.overlapping(output_level, smallest, largest).is_empty()
                || self.collides(output_level, smallest, largest)
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

    /// All idle files of level 0 into one, when the base level is so large that merging with it would cost too much
    /// (`PickSizeBasedIntraL0Compaction`).
    fn all_within_level0(&self) -> Option<Pick> {
        let files = self.shape.levels[0];
        let at_least = self.options.level0_file_num_compaction_trigger.max(2) as usize;
        if files.len() < at_least {
            return None;
        }
        let level0 = files.iter().map(|file| file.compensated_bytes).sum::<u64>();
        let multiplier = self.options.max_bytes_for_level_multiplier.max(10.0) * 2.0;
        let is_small = self.shape.bytes(self.targets.base_level) as f64 > level0 as f64 * multiplier;
        is_small.then(|| Pick {
            start_level: 0,
            output_level: 0,
            inputs: files.to_vec(),
            overlapped: Vec::new(),
            grandparents: Vec::new(),
            is_move: false,
            bottommost: false,
        })
    }

    /// The newest files of level 0 into one, while its way down is blocked (`PickIntraL0Compaction`).
    fn within_level0(&self) -> Option<Pick> {
        let files = self.shape.levels[0];
        let trigger = self.options.level0_file_num_compaction_trigger as usize;
        if files.len() < trigger + 2 || self.shape.is_busy(&files[0]) {
            return None;
        }
        let mut bytes = files[0].bytes;
        let mut bytes_per_file = u64::MAX;
        let mut end = 1;
        while let Some(file) = files.get(end) {
            bytes += file.bytes;
            let now = bytes / end as u64;
            if self.shape.is_busy(file) || now > bytes_per_file || bytes > self.options.max_compaction_bytes {
                break;
            }
            bytes_per_file = now;
            end += 1;
        }
        (end >= MIN_WITHIN_LEVEL0).then(|| Pick {
            start_level: 0,
            output_level: 0,
            inputs: files[..end].to_vec(),
            overlapped: Vec::new(),
            grandparents: Vec::new(),
            is_move: false,
            bottommost: false,
        })
    }

    fn complete(
        &self,
        start_level: usize,
        output_level: usize,
        inputs: Vec<Arc<FileMeta>>,
        below: Range<usize>,
        inputs_disjoint: bool,
    ) -> Option<Pick> {
        let overlapped = self.shape.levels[output_level][below].to_vec();
        let (smallest, largest) = range_of(inputs.iter().chain(&overlapped));
        if self.collides(output_level, smallest, largest) {
            return None;
        }
        let levels = self.shape.levels.len();
        let grandparents = if output_level + 1 < levels {
            self.shape.levels[output_level + 1][self.shape.overlapping(output_level + 1, smallest, largest)].to_vec()
        } else {
            Vec::new()
        };
        let bottommost =
            (output_level + 1..levels).all(|level| self.shape.overlapping(level, smallest, largest).is_empty());
        let is_move = overlapped.is_empty()
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
        Some(Pick { start_level, output_level, inputs, overlapped, grandparents, is_move, bottommost })
    }
}

/// Whether no two of some files overlap.
fn are_disjoint(files: &[Arc<FileMeta>]) -> bool {
    let by_key = files.iter().map(|file| (&file.smallest, &file.largest)).collect::<BTreeMap<_, _>>();
    by_key.len() == files.len() && by_key.iter().zip(by_key.iter().skip(1)).all(|((_, end), (start, _))| end < start)
}

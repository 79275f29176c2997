//! Blocks of a simulated device, and which of them hold which part of a file, as an extent-based file system keeps
//! them.

use std::collections::BTreeMap;

/// Unit of allocation, and of the operating system's page cache.
pub const BLOCK_BYTES: u64 = 4096;

/// Assumption: a growing file is given up to this many blocks (256 KiB) more than it needs, at most an eighth of its
/// size.
const MOST_AHEAD: u64 = 64;

/// Blocks in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// First block on the device.
    pub first: u64,
    /// Number of blocks.
    pub blocks: u64,
}

impl Extent {
    fn end(self) -> u64 {
        self.first + self.blocks
    }
}

/// Free blocks of a device.
#[derive(Debug, Clone, Default)]
pub struct Space {
    /// Length of each free run that was given back, by its first block. Runs do not touch.
    free: BTreeMap<u64, u64>,
    /// Blocks from here on were never used.
    next: u64,
    limit: u64,
}

impl Space {
    /// The space of an empty device.
    pub fn new(capacity_bytes: u64) -> Self {
        Self { limit: capacity_bytes / BLOCK_BYTES, ..Self::default() }
    }

    /// Up to `blocks` blocks in a row: at `after` if they are free there, else in the lowest gap that holds them all,
    /// else where none were used yet, else whatever is left. `None` if the device is full.
    pub fn take(&mut self, after: Option<u64>, blocks: u64) -> Option<Extent> {
        if let Some(at) = after
            && let Some(&free) = self.free.get(&at)
        {
            return Some(self.cut(at, free.min(blocks)));
        }
        let is_last = after == Some(self.next);
        let fits = || self.free.iter().find(|(_, free)| **free >= blocks).map(|(at, _)| *at);
        if let Some(at) = (!is_last).then(fits).flatten() {
            return Some(self.cut(at, blocks));
        }
        if self.next < self.limit {
            let extent = Extent { first: self.next, blocks: blocks.min(self.limit - self.next) };
            self.next = extent.end();
            return Some(extent);
        }
        let (&at, &free) = self.free.iter().max_by_key(|(_, free)| **free)?;
        Some(self.cut(at, free.min(blocks)))
    }

    /// Takes the first `blocks` blocks of the free run at `at`.
    fn cut(&mut self, at: u64, blocks: u64) -> Extent {
        if let Some(free) = self.free.remove(&at)
            && free > blocks
        {
            self.free.insert(at + blocks, free - blocks);
        }
        Extent { first: at, blocks }
    }

    /// Takes blocks back.
    pub fn give(&mut self, extent: Extent) {
        let (mut first, mut end) = (extent.first, extent.end());
        if let Some((&before, &blocks)) = self.free.range(..first).next_back()
            && before + blocks == first
        {
            self.free.remove(&before);
            first = before;
        }
        if let Some(blocks) = self.free.remove(&end) {
            end += blocks;
        }
        self.free.insert(first, end - first);
    }
}

/// Where the blocks of one file lie. A file may have holes.
#[derive(Debug, Clone, Default)]
pub struct Placement {
    /// By the first block of the file that it holds.
    extents: BTreeMap<u64, Extent>,
}

impl Placement {
    /// Gives the file blocks under a range of bytes. Fails with `false` if the device is full.
    #[must_use]
    pub fn reach(&mut self, space: &mut Space, offset: u64, bytes: u64) -> bool {
        let (mut at, end) = (offset / BLOCK_BYTES, (offset + bytes).div_ceil(BLOCK_BYTES));
        while at < end {
            if let Some((start, extent)) = self.at(at) {
                at = start + extent.blocks;
                continue;
            }
            let next = self.extents.range(at..).next().map(|(start, _)| *start);
            let wanted = match next {
                Some(next) => next.min(end) - at,
                None => (end - at).max(end + (at / 8).min(MOST_AHEAD) - at),
            };
            let before = self.extents.range(..at).next_back().map(|(start, extent)| (*start, *extent));
            let before = before.filter(|(start, extent)| start + extent.blocks == at);
            let Some(taken) = space.take(before.map(|(_, extent)| extent.end()), wanted) else { return false };
            match before {
                Some((start, extent)) if extent.end() == taken.first => {
                    self.extents.insert(start, Extent { blocks: extent.blocks + taken.blocks, ..extent });
                }
                _ => drop(self.extents.insert(at, taken)),
            }
            at += taken.blocks;
        }
        true
    }

    /// The extent that holds a block of the file, and the first block that it holds.
    fn at(&self, block: u64) -> Option<(u64, Extent)> {
        let (&start, &extent) = self.extents.range(..=block).next_back()?;
        (block < start + extent.blocks).then_some((start, extent))
    }

    /// Calls `each` with every run of device bytes under a range of the file's bytes, holes left out.
    pub fn runs(&self, offset: u64, bytes: u64, mut each: impl FnMut(u64, u64)) {
        let end = offset + bytes;
        let first = self.at(offset / BLOCK_BYTES).map_or(offset / BLOCK_BYTES, |(start, _)| start);
        let mut run: Option<(u64, u64)> = None;
        for (&start, extent) in self.extents.range(first..end.div_ceil(BLOCK_BYTES)) {
            let from = offset.max(start * BLOCK_BYTES);
            let to = end.min((start + extent.blocks) * BLOCK_BYTES);
            let address = extent.first * BLOCK_BYTES + (from - start * BLOCK_BYTES);
            match &mut run {
                Some((begin, length)) if *begin + *length == address => *length += to - from,
                _ => {
                    if let Some((begin, length)) = run.replace((address, to - from)) {
                        each(begin, length);
                    }
                }
            }
        }
        if let Some((begin, length)) = run {
            each(begin, length);
        }
    }

    /// Takes the whole blocks inside a range of the file's bytes out of the file.
    pub fn cut(&mut self, offset: u64, bytes: u64) -> Vec<Extent> {
        let (from, to) = (offset.div_ceil(BLOCK_BYTES), offset.saturating_add(bytes) / BLOCK_BYTES);
        if from >= to {
            return Vec::new();
        }
        let first = self.at(from).map_or(from, |(start, _)| start);
        let touched: Vec<_> = self.extents.range(first..to).map(|(start, extent)| (*start, *extent)).collect();
        let mut removed = Vec::with_capacity(touched.len());
        for (start, extent) in touched {
            let (keep_before, keep_after) = (from.saturating_sub(start), (start + extent.blocks).saturating_sub(to));
            self.extents.remove(&start);
            if keep_before > 0 {
                self.extents.insert(start, Extent { first: extent.first, blocks: keep_before });
            }
            if keep_after > 0 {
                self.extents.insert(to, Extent { first: extent.end() - keep_after, blocks: keep_after });
            }
            let blocks = extent.blocks - keep_before - keep_after;
            if blocks > 0 {
                removed.push(Extent { first: extent.first + keep_before, blocks });
            }
        }
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const B: u64 = BLOCK_BYTES;

    fn runs(file: &Placement, offset: u64, bytes: u64) -> Vec<(u64, u64)> {
        let mut runs = Vec::new();
        file.runs(offset, bytes, |address, bytes| runs.push((address, bytes)));
        runs
    }

    #[test]
    fn a_file_that_grows_alone_is_one_run() {
        let (mut space, mut file) = (Space::new(1 << 20), Placement::default());
        for n in 0..100 {
            assert!(file.reach(&mut space, n * 1000, 1000));
        }
        assert_eq!(runs(&file, 10, 99_000), [(10, 99_000)]);
    }

    #[test]
    fn files_that_grow_in_turn_are_given_runs_ahead() {
        let (mut space, mut a, mut b) = (Space::new(1 << 30), Placement::default(), Placement::default());
        for n in 0..1024 {
            assert!(a.reach(&mut space, n * B, B) && b.reach(&mut space, n * B, B));
        }
        assert!(runs(&a, 0, 1024 * B).len() < 64);
    }

    #[test]
    fn space_that_is_given_back_is_used_again_lowest_first() {
        let (mut space, mut a, mut b) = (Space::new(10 * B), Placement::default(), Placement::default());
        assert!(a.reach(&mut space, 0, 4 * B) && b.reach(&mut space, 0, 4 * B));
        a.cut(0, u64::MAX).into_iter().for_each(|extent| space.give(extent));
        let mut c = Placement::default();
        assert!(c.reach(&mut space, 0, 3 * B));
        assert_eq!(runs(&c, 0, 3 * B), [(0, 3 * B)]);
        assert!(c.reach(&mut space, 3 * B, 3 * B), "the rest is in pieces");
        assert!(!c.reach(&mut space, 6 * B, B), "the device is full");
    }

    #[test]
    fn a_hole_gives_whole_blocks_back() {
        let (mut space, mut file) = (Space::new(1 << 20), Placement::default());
        assert!(file.reach(&mut space, 0, 8 * B));
        assert_eq!(file.cut(B + 1, 3 * B), [Extent { first: 2, blocks: 2 }]);
        assert_eq!(runs(&file, 0, 8 * B), [(0, 2 * B), (4 * B, 4 * B)]);
        assert_eq!(file.cut(B + 1, 3 * B), []);
    }

    proptest! {
        #[test]
        fn no_block_is_used_twice_or_lost(
            steps in proptest::collection::vec((0..3usize, 0..40u64, 1..20u64, any::<bool>()), 1..80)
        ) {
            const BLOCKS: u64 = 400;
            let mut space = Space::new(BLOCKS * B);
            let mut files: [Placement; 3] = Default::default();
            for (n, at, blocks, grows) in steps {
                if grows {
                    prop_assert!(files[n].reach(&mut space, at * B, blocks * B));
                    let covered: u64 = {
                        let mut sum = 0;
                        files[n].runs(at * B, blocks * B, |_, bytes| sum += bytes);
                        sum
                    };
                    prop_assert_eq!(covered, blocks * B);
                } else {
                    files[n].cut(at * B, blocks * B).into_iter().for_each(|extent| space.give(extent));
                }
                let mut owners = vec![0; BLOCKS as usize];
                let extents = files.iter().flat_map(|file| file.extents.values());
                let held = extents.map(|extent| (extent.first, extent.blocks));
                let free = space.free.iter().map(|(first, blocks)| (*first, *blocks));
                for (first, blocks) in held.chain(free).chain([(space.next, BLOCKS - space.next)]) {
                    (first..first + blocks).for_each(|block| owners[block as usize] += 1);
                }
                prop_assert!(owners.iter().all(|owners| *owners == 1));
            }
        }
    }
}

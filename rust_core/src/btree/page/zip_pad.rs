//! InnoDB's compression padding: pages of an index are split before they are too full to be compressed.
//!
//! The rounds are InnoDB's, whatever the scale of a trial: a trial with a thousandth of the data has a thousandth of
//! the compressions, but a round is 128 of them, and the padding is found within the load.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// `ZIP_PAD_ROUND_LEN`: compressions of one round.
const ROUND: u32 = 128;
/// `ZIP_PAD_SUCCESSFUL_ROUND_LIMIT`: rounds in a row with few failures after which the padding shrinks.
const GOOD_ROUNDS: u32 = 5;
/// `ZIP_PAD_INCR`: bytes by which the padding changes.
const STEP: usize = 128;
/// The default of `innodb_compression_failure_threshold_pct`.
const FAILURE_PCT: u32 = 5;
/// The default of `innodb_compression_pad_pct_max`.
const MOST_PCT: usize = 50;

/// The padding of one index.
#[derive(Debug, Clone, Copy, Default)]
struct ZipPad {
    bytes: usize,
    successes: u32,
    failures: u32,
    good_rounds: u32,
}

impl ZipPad {
    fn note(&mut self, fits: bool, page_bytes: usize) {
        *if fits { &mut self.successes } else { &mut self.failures } += 1;
        let total = self.successes + self.failures;
        if total < ROUND {
            return;
        }
        let failed = self.failures * 100 / total;
        (self.successes, self.failures) = (0, 0);
        if failed > FAILURE_PCT {
            if self.bytes + STEP < page_bytes * MOST_PCT / 100 {
                self.bytes += STEP;
            }
            self.good_rounds = 0;
        } else {
            self.good_rounds += 1;
            if self.good_rounds >= GOOD_ROUNDS && self.bytes > 0 {
                self.bytes -= STEP;
                self.good_rounds = 0;
            }
        }
    }
}

/// The paddings of all indexes, and how often their pages were compressed.
#[derive(Debug)]
pub struct ZipPads {
    page_bytes: usize,
    by_tree: Mutex<BTreeMap<u32, ZipPad>>,
}

impl ZipPads {
    /// Without padding, for pages of so many bytes.
    pub fn new(page_bytes: usize) -> Self {
        Self { page_bytes, by_tree: Mutex::default() }
    }

    /// A leaf was compressed, or did not fit its slot.
    pub fn note(&self, tree: u32, fits: bool) {
        self.by_tree.lock().entry(tree).or_default().note(fits, self.page_bytes);
    }

    /// Whether a leaf with so many bytes of records is likely not to fit its slot.
    pub fn is_too_full(&self, tree: u32, used: usize) -> bool {
        let padding = self.by_tree.lock().get(&tree).map_or(0, |padding| padding.bytes);
        used >= self.page_bytes - padding
    }

    /// The largest padding of all.
    pub fn largest(&self) -> usize {
        self.by_tree.lock().values().map(|padding| padding.bytes).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_grows_with_failures_and_shrinks_after_five_good_rounds() {
        let mut padding = ZipPad::default();
        let mut rounds = |failures: u32, rounds: u32| {
            for n in 0..rounds * ROUND {
                padding.note(n % ROUND >= failures, 16384);
            }
            padding.bytes
        };
        // 7 of 128 are 5%, 8 are 6%.
        assert_eq!([rounds(7, 1), rounds(8, 1), rounds(8, 2)], [0, 128, 384]);
        assert_eq!([rounds(0, 4), rounds(0, 1), rounds(0, 4), rounds(0, 1)], [384, 256, 256, 128]);
        assert_eq!(rounds(128, 100), 8192 - 128, "less than half of the page");
    }
}

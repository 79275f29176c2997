//! The rows of a load as a queue: loaders take them in batches, each row once, and what a batch holds does not depend
//! on who takes it.

use super::counter::Counter;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows that no loader took yet.
#[derive(Clone)]
pub struct LoadRows {
    next: Counter<AtomicU64>,
    end: u64,
}

impl LoadRows {
    /// All of `rows`.
    pub fn new(rows: Range<u64>) -> Self {
        Self { next: Counter::at(rows.start), end: rows.end }
    }

    /// The next batch of at most this many rows; empty when all are taken.
    pub fn take(&self, most: u64) -> Range<u64> {
        let first = self.next.fetch_add(most, Ordering::Relaxed).min(self.end);
        first..(first + most).min(self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_taken_once_and_the_last_batch_is_what_is_left() {
        let rows = LoadRows::new(1..8);
        let taken: Vec<_> = (0..4).map(|_| rows.take(3)).collect();
        assert_eq!(taken, [1..4, 4..7, 7..8, 8..8]);
    }
}

//! Many sorted keys in one buffer, searched by number: the 8 bytes behind their common prefix decide most comparisons
//! without touching the keys. Index blocks and levels look keys up here.

use super::key::{compare_bytes, head};
use std::cmp::Ordering;

/// Sorted keys.
#[derive(Debug, Default)]
pub struct SortedKeys {
    bytes: Vec<u8>,
    /// End of each key in `bytes`.
    ends: Vec<u32>,
    /// Bytes that all keys begin with.
    shared: usize,
    /// The next 8 bytes of each key.
    heads: Vec<u64>,
}

impl SortedKeys {
    /// Takes keys that are sorted already.
    pub fn from_sorted<'a>(keys: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut all = Self::default();
        for key in keys {
            all.bytes.extend_from_slice(key);
            all.ends.push(all.bytes.len() as u32);
        }
        all.finish();
        all
    }

    fn finish(&mut self) {
        let Some(last) = self.len().checked_sub(1) else { return };
        let (first, last) = (self.key(0), self.key(last));
        self.shared = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        self.heads = (0..self.len()).map(|n| head(&self.key(n)[self.shared..])).collect();
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The key at `n`.
    #[inline]
    pub fn key(&self, n: usize) -> &[u8] {
        let start = if n == 0 { 0 } else { self.ends[n - 1] as usize };
        &self.bytes[start..self.ends[n] as usize]
    }

    /// Position of the first key that is at least `key`; `len()` if there is none.
    #[inline]
    pub fn lower_bound(&self, key: &[u8]) -> usize {
        let first = &self.bytes[..self.shared];
        // A comparison of no bytes is not free where there are no keys: their pointer dangles, and vector instructions
        // that mask all bytes of an unmapped page take a hundred nanoseconds to find that out.
        if !first.is_empty() && !key.starts_with(first) {
            return if compare_bytes(key, first) == Ordering::Less { 0 } else { self.len() };
        }
        let wanted = head(&key[self.shared..]);
        let mut low = self.heads.partition_point(|head| *head < wanted);
        let mut high = low + equal_run(&self.heads[low..], wanted);
        while low < high {
            let middle = usize::midpoint(low, high);
            if compare_bytes(self.key(middle), key) == Ordering::Less {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// Length of the run of `wanted` at the front of sorted `heads`; it is 0 or 1 almost always.
#[inline]
fn equal_run(heads: &[u64], wanted: u64) -> usize {
    match heads {
        [first, second, ..] if *first == wanted && *second == wanted => heads.partition_point(|head| *head == wanted),
        [first, ..] if *first == wanted => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn search_agrees_with_a_linear_scan(
            mut keys in proptest::collection::vec(proptest::collection::vec(0u8..3, 0..14), 0..40),
            wanted in proptest::collection::vec(0u8..3, 0..14),
            prefix in proptest::collection::vec(0u8..3, 0..3),
        ) {
            for key in &mut keys { key.splice(0..0, prefix.iter().copied()); }
            keys.sort();
            let sorted = SortedKeys::from_sorted(keys.iter().map(Vec::as_slice));
            let expected = keys.iter().filter(|key| **key < wanted).count();
            prop_assert_eq!(sorted.lower_bound(&wanted), expected);
            for (n, key) in keys.iter().enumerate() {
                prop_assert_eq!(sorted.key(n), &key[..]);
                prop_assert!(sorted.lower_bound(key) <= n);
            }
        }
    }
}

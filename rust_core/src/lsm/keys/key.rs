//! Internal keys: a user key and 8 bytes of sequence number and kind. They are ordered by user key, then newest first.

use std::cmp::Ordering;

/// Bytes behind the user key.
pub const TRAILER_BYTES: usize = 8;
/// Largest sequence number.
pub const MAX_SEQUENCE: u64 = (1 << 56) - 1;
/// Sorts before every entry of its user key.
pub const FIRST_TRAILER: u64 = u64::MAX;
/// Sorts behind every entry of its user key.
pub const LAST_TRAILER: u64 = 0;

/// What an entry says about its key; the numbers are RocksDB's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The key is gone.
    Delete = 0,
    /// The key has a value.
    Put = 1,
}

/// Sequence number and kind in one number: larger is newer.
#[inline]
pub fn trailer(sequence: u64, kind: Kind) -> u64 {
    sequence << 8 | kind as u64
}

/// The trailer that sorts just before the newest entry visible at `sequence`.
#[inline]
pub fn seek_trailer(sequence: u64) -> u64 {
    trailer(sequence, Kind::Put)
}

/// The sequence number of a trailer.
#[inline]
pub fn sequence_of(trailer: u64) -> u64 {
    trailer >> 8
}

/// Whether a trailer marks a tombstone.
#[inline]
pub fn is_delete(trailer: u64) -> bool {
    trailer as u8 == Kind::Delete as u8
}

/// Writes an internal key into `out` (cleared first).
#[inline]
pub fn encode(user_key: &[u8], trailer: u64, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(user_key);
    out.extend_from_slice(&trailer.to_le_bytes());
}

/// Splits an internal key into the user key and the trailer. Shorter bytes are taken for a bare user key, which no
/// checked block contains.
#[inline]
pub fn split(internal: &[u8]) -> (&[u8], u64) {
    match internal.split_last_chunk::<TRAILER_BYTES>() {
        Some((user_key, trailer)) => (user_key, u64::from_le_bytes(*trailer)),
        None => (internal, 0),
    }
}

/// The user key of an internal key.
#[inline]
pub fn user_key(internal: &[u8]) -> &[u8] {
    split(internal).0
}

/// The first 8 bytes as a number that orders as the bytes do, zeros standing in for missing ones.
#[inline]
pub fn head(bytes: &[u8]) -> u64 {
    if let Some(first) = bytes.first_chunk::<8>() {
        return u64::from_be_bytes(*first);
    }
    let mut padded = [0; 8];
    padded[..bytes.len()].copy_from_slice(bytes);
    u64::from_be_bytes(padded)
}

/// Compares bytes; the first 8 as one number, since most comparisons end there.
#[inline]
pub fn compare_bytes(a: &[u8], b: &[u8]) -> Ordering {
    if let (Some((x, rest_a)), Some((y, rest_b))) = (a.split_first_chunk::<8>(), b.split_first_chunk::<8>()) {
        if x == y {
            if let (Some((x, rest_a)), Some((y, rest_b))) =
                (rest_a.split_first_chunk::<8>(), rest_b.split_first_chunk::<8>())
            {
                return u64::from_be_bytes(*x).cmp(&u64::from_be_bytes(*y)).then_with(|| rest_a.cmp(rest_b));
            }
            return rest_a.cmp(rest_b);
        }
        return u64::from_be_bytes(*x).cmp(&u64::from_be_bytes(*y));
    }
    a.cmp(b)
}

/// Compares internal keys.
#[inline]
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let ((user_a, trailer_a), (user_b, trailer_b)) = (split(a), split(b));
    compare_bytes(user_a, user_b).then_with(|| trailer_b.cmp(&trailer_a))
}

/// Bytes that two keys begin with alike.
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let (chunks_a, chunks_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let equal = chunks_a.zip(chunks_b).take_while(|(a, b)| a == b).count() * 8;
    equal + a[equal..].iter().zip(&b[equal..]).take_while(|(a, b)| a == b).count()
}

/// Shortens `start` to a short key that is at least `start` and below `limit` (RocksDB's
/// `BytewiseComparator::FindShortestSeparator`). Whether there is one.
pub fn shorten_separator(start: &mut Vec<u8>, limit: &[u8]) -> bool {
    let shared = start.iter().zip(limit).take_while(|(a, b)| a == b).count();
    if shared >= start.len() || shared >= limit.len() {
        return false;
    }
    let (low, high) = (start[shared], limit[shared]);
    if low >= high {
        return false;
    }
    if shared < limit.len() - 1 || low + 1 < high {
        start[shared] += 1;
        start.truncate(shared + 1);
        return true;
    }
    let Some(step) = start[shared + 1..].iter().position(|byte| *byte < 0xff) else { return false };
    let at = shared + 1 + step;
    start[at] += 1;
    start.truncate(at + 1);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn short() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xff), any::<u8>()], 0..20)
    }

    proptest! {
        #[test]
        fn fast_comparison_agrees_with_byte_order(a in short(), b in short()) {
            prop_assert_eq!(compare_bytes(&a, &b), a.cmp(&b));
            if head(&a) < head(&b) { prop_assert!(a < b); }
        }

        #[test]
        fn separators_lie_between_and_are_no_longer(a in short(), b in short()) {
            prop_assume!(a < b);
            let mut separator = a.clone();
            shorten_separator(&mut separator, &b);
            prop_assert!(a <= separator && separator < b, "{:?}", separator);
            prop_assert!(separator.len() <= a.len());
        }
    }

    #[test]
    fn newer_entries_of_a_key_come_first() {
        let key = |user: &[u8], sequence, kind| {
            let mut out = Vec::new();
            encode(user, trailer(sequence, kind), &mut out);
            out
        };
        let ordered = [
            key(b"a", 9, Kind::Put),
            key(b"a", 9, Kind::Delete),
            key(b"a", 3, Kind::Put),
            key(b"a\0", 1, Kind::Put),
            key(b"b", 1, Kind::Put),
        ];
        assert!(ordered.windows(2).all(|pair| compare(&pair[0], &pair[1]) == Ordering::Less));
    }
}

//! Integers in the bytes of a page, and where byte strings agree and differ.

use std::ops::Range;

/// The little-endian integer at `at`.
#[inline]
pub fn get_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The little-endian integer at `at`.
#[inline]
pub fn get_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The little-endian integer at `at`.
#[inline]
pub fn get_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|n| bytes[at + n]))
}

/// Writes a little-endian integer at `at`.
#[inline]
pub fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

/// Writes a little-endian integer at `at`.
#[inline]
pub fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Writes a little-endian integer at `at`.
#[inline]
pub fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// The first four bytes of `suffix`, zero padded, in an order that agrees with that of the bytes.
#[inline]
pub fn head_of(suffix: &[u8]) -> u32 {
    match suffix {
        [a, b, c, d, ..] => u32::from_be_bytes([*a, *b, *c, *d]),
        short => short.iter().enumerate().fold(0, |head, (n, byte)| head | u32::from(*byte) << (24 - 8 * n)),
    }
}

/// Length of the common prefix.
#[inline]
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// The bytes of the old value between what both values begin and end with.
pub fn changed(old: &[u8], new: &[u8]) -> Range<usize> {
    let start = common_prefix(old, new);
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let same = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    start..old.len() - same
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_lies_between_the_common_ends() {
        assert_eq!(changed(b"abcdef", b"abXdef"), 2..3);
        assert_eq!(changed(b"abcdef", b"abdef"), 2..3);
        assert_eq!(changed(b"aaa", b"aaaa"), 3..3);
        assert_eq!(changed(b"old", b"new"), 0..3);
        assert_eq!(changed(b"same", b"same"), 4..4);
    }
}

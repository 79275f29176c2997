//! LEB128 integers, as RocksDB and LevelDB write them.

/// Appends a 32-bit integer.
#[inline]
pub fn push_u32(out: &mut Vec<u8>, value: u32) {
    push_u64(out, u64::from(value));
}

/// Appends a 64-bit integer.
#[inline]
pub fn push_u64(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Splits an integer off the front.
#[inline]
pub fn take_u64(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (n, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * n);
        if byte < 0x80 {
            return Some((value, &bytes[n + 1..]));
        }
    }
    None
}

/// Splits a 32-bit integer off the front.
#[inline]
pub fn take_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    match bytes {
        [first, rest @ ..] if *first < 0x80 => Some((u32::from(*first), rest)),
        _ => take_u64(bytes).and_then(|(value, rest)| Some((u32::try_from(value).ok()?, rest))),
    }
}

/// Splits a length-prefixed slice off the front.
#[inline]
pub fn take_slice(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = take_u32(bytes)?;
    rest.split_at_checked(len as usize)
}

/// Bytes that `value` takes.
#[inline]
pub fn len_u64(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_round_trip(value: u64) {
            let mut out = Vec::new();
            push_u64(&mut out, value);
            prop_assert_eq!(out.len(), len_u64(value));
            prop_assert_eq!(take_u64(&out), Some((value, &[][..])));
        }
    }

    #[test]
    fn a_cut_integer_is_refused() {
        assert_eq!(take_u64(&[0x80, 0x80]), None);
        assert_eq!(take_slice(&[5, 1, 2]), None);
    }
}

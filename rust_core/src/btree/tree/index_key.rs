//! The index number that a key begins with.

use crate::engine::{INDEX_NUMBER_BYTES, KeyLayout};

/// Index number and key within the index. A key that is too short for an index number, as only a seek may have, is
/// taken as the start of the index that it is a prefix of.
#[inline]
pub fn split_key(layout: KeyLayout, key: &[u8]) -> (u32, &[u8]) {
    match (layout, key.split_first_chunk::<INDEX_NUMBER_BYTES>()) {
        (KeyLayout::Plain, _) => (0, key),
        (KeyLayout::Indexed, Some((number, rest))) => (u32::from_be_bytes(*number), rest),
        (KeyLayout::Indexed, None) => {
            let mut number = [0; INDEX_NUMBER_BYTES];
            number[..key.len()].copy_from_slice(key);
            (u32::from_be_bytes(number), &[])
        }
    }
}

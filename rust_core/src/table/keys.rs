//! Keys that sort as their columns do, as MyRocks encodes them: the index number in 4 big-endian bytes, then the
//! columns.
//!
//! | column | bytes |
//! |---|---|
//! | unsigned integer | big-endian at natural width; all bits inverted where the index descends |
//! | byte string | chunks of 8 data bytes (zeros fill the last), then 255 if more follow, else 247 + its data bytes |

use crate::engine::INDEX_NUMBER_BYTES;

const CHUNK_BYTES: usize = 8;
const MORE_FOLLOWS: u8 = 255;
const LAST_CHUNK: u8 = 247;

/// Starts the key of an entry of index `number`.
pub fn begin(key: &mut Vec<u8>, number: u32) {
    key.clear();
    key.extend_from_slice(&number.to_be_bytes());
}

/// A key behind all keys that start with `prefix`, but for those that go on with eight bytes of 255.
pub fn behind(prefix: &[u8]) -> Vec<u8> {
    [prefix, &[u8::MAX; 8]].concat()
}

/// Appends an unsigned column.
pub fn push_u64(key: &mut Vec<u8>, column: u64) {
    key.extend_from_slice(&column.to_be_bytes());
}

/// Appends an unsigned column that sorts from high to low.
pub fn push_u64_descending(key: &mut Vec<u8>, column: u64) {
    push_u64(key, !column);
}

/// Appends an unsigned column.
pub fn push_u32(key: &mut Vec<u8>, column: u32) {
    key.extend_from_slice(&column.to_be_bytes());
}

/// Appends an unsigned column.
pub fn push_u16(key: &mut Vec<u8>, column: u16) {
    key.extend_from_slice(&column.to_be_bytes());
}

/// Appends an unsigned column of 5 bytes, which is what MySQL's DATETIME takes.
pub fn push_u40(key: &mut Vec<u8>, column: u64) {
    key.extend_from_slice(&column.to_be_bytes()[3..]);
}

/// Appends a text of at most 255 bytes to a value: its length in one byte, then itself.
pub fn push_text(value: &mut Vec<u8>, column: &[u8]) {
    value.push(column.len() as u8);
    value.extend_from_slice(column);
}

/// Appends an unsigned column.
pub fn push_u8(key: &mut Vec<u8>, column: u8) {
    key.push(column);
}

/// Appends a byte string of any length.
pub fn push_bytes(key: &mut Vec<u8>, column: &[u8]) {
    let whole = column.len() / CHUNK_BYTES * CHUNK_BYTES;
    for chunk in column[..whole].chunks(CHUNK_BYTES) {
        key.extend_from_slice(chunk);
        key.push(MORE_FOLLOWS);
    }
    let rest = &column[whole..];
    key.extend_from_slice(rest);
    key.extend_from_slice(&[0; CHUNK_BYTES][rest.len()..]);
    key.push(LAST_CHUNK + rest.len() as u8);
}

/// Takes the columns of a key, or of a value of fixed-width integers, off again, in order.
#[derive(Debug, Clone, Copy)]
pub struct Columns<'a> {
    rest: &'a [u8],
}

impl<'a> Columns<'a> {
    /// The columns behind the index number of `key`.
    pub fn of_key(key: &'a [u8]) -> Option<Self> {
        Some(Self { rest: key.get(INDEX_NUMBER_BYTES..)? })
    }

    /// The columns of `value`.
    pub fn of_value(value: &'a [u8]) -> Self {
        Self { rest: value }
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (column, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*column)
    }

    /// The next unsigned column.
    pub fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    /// The next unsigned column of those that sort from high to low.
    pub fn u64_descending(&mut self) -> Option<u64> {
        self.u64().map(|column| !column)
    }

    /// The next unsigned column.
    pub fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    /// The next unsigned column.
    pub fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    /// The next unsigned column of 5 bytes.
    pub fn u40(&mut self) -> Option<u64> {
        self.take().map(|[a, b, c, d, e]| u64::from_be_bytes([0, 0, 0, a, b, c, d, e]))
    }

    /// The next text of a value.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let bytes = self.u8()?;
        let (column, rest) = self.rest.split_at_checked(usize::from(bytes))?;
        self.rest = rest;
        Some(column)
    }

    /// The next unsigned column.
    pub fn u8(&mut self) -> Option<u8> {
        self.take().map(u8::from_be_bytes)
    }

    /// The next byte string.
    pub fn bytes(&mut self) -> Option<Vec<u8>> {
        let mut column = Vec::new();
        loop {
            let [chunk @ .., marker] = self.take::<{ CHUNK_BYTES + 1 }>()?;
            match marker {
                MORE_FOLLOWS => column.extend_from_slice(&chunk),
                LAST_CHUNK..MORE_FOLLOWS => {
                    column.extend_from_slice(&chunk[..usize::from(marker - LAST_CHUNK)]);
                    return Some(column);
                }
                _ => return None,
            }
        }
    }

    /// Whatever is left.
    pub fn rest(self) -> &'a [u8] {
        self.rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn byte_strings_sort_as_themselves_and_come_back(a: Vec<u8>, b: Vec<u8>, x: u64, y: u64) {
            let encode = |bytes: &[u8], after: u64| {
                let mut key = Vec::new();
                begin(&mut key, 7);
                push_bytes(&mut key, bytes);
                push_u64(&mut key, after);
                key
            };
            let (first, second) = (encode(&a, x), encode(&b, y));
            prop_assert_eq!(first.cmp(&second), (&a, x).cmp(&(&b, y)));
            let mut columns = Columns::of_key(&first).unwrap();
            prop_assert_eq!(columns.bytes(), Some(a));
            prop_assert_eq!(columns.u64(), Some(x));
            prop_assert!(columns.rest().is_empty());
        }

        #[test]
        fn integers_sort_up_or_down_and_come_back(a: u64, b: u64, c: u32, d: u8) {
            let encode = |number: u64, push: fn(&mut Vec<u8>, u64)| {
                let mut key = Vec::new();
                push(&mut key, number);
                key
            };
            prop_assert_eq!(encode(a, push_u64).cmp(&encode(b, push_u64)), a.cmp(&b));
            prop_assert_eq!(encode(a, push_u64_descending).cmp(&encode(b, push_u64_descending)), b.cmp(&a));
            let mut value = encode(a, push_u64_descending);
            push_u32(&mut value, c);
            push_u8(&mut value, d);
            let mut columns = Columns::of_value(&value);
            prop_assert_eq!((columns.u64_descending(), columns.u32(), columns.u8()), (Some(a), Some(c), Some(d)));
            prop_assert_eq!(columns.u8(), None);
        }

        #[test]
        fn dates_and_texts_come_back(a: u16, b in 0..1_u64 << 40, c in prop::collection::vec(any::<u8>(), 0..256)) {
            let mut value = Vec::new();
            push_u16(&mut value, a);
            push_u40(&mut value, b);
            push_text(&mut value, &c);
            prop_assert_eq!(value.len(), 2 + 5 + 1 + c.len());
            let mut columns = Columns::of_value(&value);
            prop_assert_eq!((columns.u16(), columns.u40(), columns.text()), (Some(a), Some(b), Some(&c[..])));
            prop_assert_eq!(columns.text(), None);
        }
    }
}

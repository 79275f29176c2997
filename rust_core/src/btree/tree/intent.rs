//! What a batch of several changes logs before the first of them, so that recovery can complete it: the keys, and of
//! each value what is not yet on the page. InnoDB logs an update in place by its changed bytes; so does this, if the
//! row is in the pool and keeps its length.
//!
//! A patch holds the checksum of the value that it was made for. If recovery finds another value, then a later write of
//! the key has gone to the log, which stands: it replaces the whole value whatever was there before.

use crate::btree::page::changed;
use crate::codec::varint::{push_u32, take_slice, take_u32};
use crate::engine::{Change, WriteBatch};
use std::collections::HashSet;

const DELETE: u8 = 0;
const PUT: u8 = 1;
const PATCH: u8 = 2;
/// Bytes that a patch takes beside those that it writes: it must save more.
const PATCH_BYTES: usize = 8;

/// A change that is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planned<'a> {
    Put { key: &'a [u8], value: &'a [u8] },
    Delete { key: &'a [u8] },
    Patch { key: &'a [u8], base: u32, at: u32, bytes: &'a [u8] },
}

impl<'a> Planned<'a> {
    /// What of it is known without the row: of a patch, the bytes that it writes.
    pub fn change(self) -> Change<'a> {
        match self {
            Self::Put { key, value } | Self::Patch { key, bytes: value, .. } => Change::Put { key, value },
            Self::Delete { key } => Change::Delete { key },
        }
    }
}

/// Bytes of a value that a patch writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub at: usize,
    pub len: usize,
}

impl Span {
    /// Whether a patch of these bytes turns the old value into the new one.
    pub fn turns(self, old: &[u8], new: &[u8]) -> bool {
        let range = changed(old, new);
        old.len() == new.len() && (range.is_empty() || (self.at <= range.start && range.end <= self.at + self.len))
    }
}

/// The changes of a batch, encoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intent {
    bytes: Vec<u8>,
    /// Of each change: what of its value is here, if it is not all.
    pub spans: Vec<Option<Span>>,
}

fn push_slice(out: &mut Vec<u8>, bytes: &[u8]) {
    push_u32(out, bytes.len() as u32);
    out.extend_from_slice(bytes);
}

/// Checksum of a value that a patch is made for.
pub fn base_of(value: &[u8]) -> u32 {
    crc32c::crc32c(value)
}

impl Intent {
    /// The intent of a batch. `patch` says what of the value that a key has now differs from its new one.
    pub fn of(batch: &WriteBatch, mut patch: impl FnMut(&[u8], &[u8]) -> Option<(u32, Span)>) -> Self {
        let mut intent = Self::default();
        let mut seen = HashSet::new();
        for change in batch.changes() {
            intent.push(&change, |key, value| {
                // What a key that comes twice will have by then is not on the page yet.
                let patch = if seen.insert(key) { patch(key, value) } else { None };
                patch.filter(|(_, span)| span.len + PATCH_BYTES < value.len())
            });
            if let Change::Delete { key } = change {
                seen.insert(key);
            }
        }
        intent
    }

    fn push<'b>(&mut self, change: &Change<'b>, patch: impl FnOnce(&'b [u8], &[u8]) -> Option<(u32, Span)>) {
        let out = &mut self.bytes;
        let mut kept = None;
        match *change {
            Change::Delete { key } => {
                out.push(DELETE);
                push_slice(out, key);
            }
            Change::Put { key, value } => {
                let patch = patch(key, value);
                out.push(if patch.is_some() { PATCH } else { PUT });
                push_slice(out, key);
                if let Some((base, span)) = patch {
                    out.extend_from_slice(&base.to_le_bytes());
                    push_u32(out, span.at as u32);
                    push_slice(out, &value[span.at..span.at + span.len]);
                    kept = Some(span);
                } else {
                    push_slice(out, value);
                }
            }
        }
        self.spans.push(kept);
    }

    /// Reads an intent back; `None` if the bytes are none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut intent = Self { bytes: bytes.to_vec(), spans: Vec::new() };
        let mut rest = bytes;
        while !rest.is_empty() {
            let (planned, after) = take(rest)?;
            intent.spans.push(match planned {
                Planned::Patch { at, bytes, .. } => Some(Span { at: at as usize, len: bytes.len() }),
                _ => None,
            });
            rest = after;
        }
        Some(intent)
    }

    /// The changes as the log has them.
    pub fn encoded(&self) -> &[u8] {
        &self.bytes
    }

    /// Number of changes.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// The changes in order.
    pub fn changes(&self) -> impl Iterator<Item = Planned<'_>> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            let (planned, after) = take(rest)?;
            rest = after;
            Some(planned)
        })
    }
}

fn take(bytes: &[u8]) -> Option<(Planned<'_>, &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (key, rest) = take_slice(rest)?;
    Some(match *tag {
        DELETE => (Planned::Delete { key }, rest),
        PUT => {
            let (value, rest) = take_slice(rest)?;
            (Planned::Put { key, value }, rest)
        }
        PATCH => {
            let (base, rest) = rest.split_first_chunk()?;
            let (at, rest) = take_u32(rest)?;
            let (bytes, rest) = take_slice(rest)?;
            (Planned::Patch { key, base: u32::from_le_bytes(*base), at, bytes }, rest)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intent_has_of_a_long_value_what_changes() {
        let mut batch = WriteBatch::default();
        batch.put(b"row", &[7; 50]);
        batch.delete(b"entry");
        batch.put(b"entry", b"");
        batch.put(b"row", &[8; 50]);
        let intent =
            Intent::of(&batch, |key, value| (key == b"row").then_some((base_of(&value[1..]), Span { at: 20, len: 3 })));
        let base = base_of(&[7; 49]);
        let planned = [
            Planned::Patch { key: b"row", base, at: 20, bytes: &[7; 3] },
            Planned::Delete { key: b"entry" },
            Planned::Put { key: b"entry", value: b"" },
            Planned::Put { key: b"row", value: &[8; 50] },
        ];
        assert_eq!(intent.changes().collect::<Vec<_>>(), planned);
        assert_eq!(Intent::decode(intent.encoded()), Some(intent));
        assert_eq!(Intent::decode(&[9, 9]), None);
    }

    #[test]
    fn a_span_turns_values_that_differ_only_inside_it() {
        let span = Span { at: 1, len: 2 };
        assert!(span.turns(b"abcd", b"aXYd") && span.turns(b"abcd", b"abYd") && span.turns(b"abcd", b"abcd"));
        assert!(!span.turns(b"abcd", b"XbYd") && !span.turns(b"abcd", b"abc") && !span.turns(b"abcd", b"abcX"));
    }
}

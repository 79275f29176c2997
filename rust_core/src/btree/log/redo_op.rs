//! What a redo frame says: a sequence of page changes that belong together. Replay applies each to the page it names.

use crate::btree::page::{AT_PAGE_NO, AT_TREE, HEADER_BYTES, Kind, Payload, SLOT_BYTES, Stored, View, put_u32};
use crate::codec::varint::{push_u32, push_u64, take_slice, take_u32, take_u64};

/// One change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedoOp<'a> {
    /// A leaf record is set.
    Put { page: u32, key: &'a [u8], field: u16, value: &'a [u8] },
    /// A leaf record is set to change `index` of the batch at `intent`.
    PutOf { page: u32, intent: u64, index: u32 },
    /// A child pointer is added to an internal page.
    Link { page: u32, key: &'a [u8], child: u32 },
    /// A record is removed.
    Remove { page: u32, key: &'a [u8] },
    /// The leaf record of change `index` of the batch at `intent` is removed.
    RemoveOf { page: u32, intent: u64, index: u32 },
    /// A leaf record is delete-marked.
    DeleteMark { page: u32, key: &'a [u8] },
    /// The leaf record of change `index` of the batch at `intent` is delete-marked.
    DeleteMarkOf { page: u32, intent: u64, index: u32 },
    /// Purge removes a leaf record.
    Purge { page: u32, slot: u32 },
    /// The undo record of change `index` of the batch at `intent`, which delete-marks an entry, is added to an undo
    /// page.
    UndoOf { page: u32, intent: u64, index: u32 },
    /// The whole content of a page, without the gap between heap and directory.
    Image { page: u32, heap: &'a [u8], directory: &'a [u8] },
    /// The compressed form of a page of a tree, without its free room.
    ZipPageCompress { page: u32, front: &'a [u8], end: &'a [u8] },
    /// Only the slots from `start` to `end` stay.
    Keep { page: u32, start: u32, end: u32 },
    /// Bytes are overwritten.
    Write { page: u32, at: u32, bytes: &'a [u8] },
    /// Bytes are added to an undo page.
    Append { page: u32, bytes: &'a [u8] },
    /// Bytes of the value of a leaf record are overwritten, from `at` on.
    Patch { page: u32, key: &'a [u8], at: u32, bytes: &'a [u8] },
    /// A page of an extent is taken for a tree (`owner`: see `fsp`).
    Take { page: u32, extent_slot: u32, bit: u8, owner: u8, tree: u32 },
    /// A page of an extent is given back.
    GiveBack { page: u32, extent_slot: u32, bit: u8 },
    /// A batch of several changes begins: how many are already applied, and the encoded batch. One that goes on names
    /// the intent that this one replaces; 0 is none.
    Intent { applied: u32, replaces: u64, batch: &'a [u8] },
    /// Change `index` of the batch at `intent` is applied.
    Applied { intent: u64, index: u32 },
}

const PUT: u8 = 1;
const PUT_OF: u8 = 2;
const LINK: u8 = 3;
const REMOVE: u8 = 4;
const IMAGE: u8 = 5;
const KEEP: u8 = 6;
const WRITE: u8 = 7;
const TAKE: u8 = 8;
const GIVE_BACK: u8 = 9;
const INTENT: u8 = 10;
const APPLIED: u8 = 11;
const ZIP_PAGE_COMPRESS: u8 = 12;
const APPEND: u8 = 14;
const PATCH: u8 = 15;
const REMOVE_OF: u8 = 16;
const DELETE_MARK: u8 = 17;
const DELETE_MARK_OF: u8 = 18;
const PURGE: u8 = 20;
const UNDO_OF: u8 = 21;

fn push_slice(out: &mut Vec<u8>, bytes: &[u8]) {
    push_u32(out, bytes.len() as u32);
    out.extend_from_slice(bytes);
}

impl<'a> RedoOp<'a> {
    /// A leaf or internal record that is set.
    pub fn put(page: u32, key: &'a [u8], payload: Payload<'a>) -> Self {
        match payload {
            Payload::Value(value) => Self::Put { page, key, field: value.length_field(), value: value.bytes() },
            Payload::Child(child) => Self::Link { page, key, child },
        }
    }

    /// The image of a page.
    pub fn image(view: View<'a>) -> Self {
        let directory = if view.kind() == Kind::Tree { SLOT_BYTES * view.count() } else { 0 };
        let heap_top = if matches!(view.kind(), Kind::Meta | Kind::Map) { view.size() } else { view.heap_top() };
        let heap = &view.0[AT_TREE..heap_top];
        Self::Image { page: view.page_no(), heap, directory: &view.0[view.size() - directory..] }
    }

    /// Appends the encoding.
    #[inline]
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Put { page, key, field, value } => {
                out.push(PUT);
                push_u32(out, page);
                push_slice(out, key);
                push_u32(out, u32::from(field));
                out.extend_from_slice(value);
            }
            Self::PutOf { page, intent, index } => {
                out.push(PUT_OF);
                push_u32(out, page);
                push_u64(out, intent);
                push_u32(out, index);
            }
            Self::Link { page, key, child } => {
                out.push(LINK);
                push_u32(out, page);
                push_slice(out, key);
                push_u32(out, child);
            }
            Self::Remove { page, key } => {
                out.push(REMOVE);
                push_u32(out, page);
                push_slice(out, key);
            }
            Self::RemoveOf { page, intent, index } => {
                out.push(REMOVE_OF);
                push_u32(out, page);
                push_u64(out, intent);
                push_u32(out, index);
            }
            Self::DeleteMark { page, key } => {
                out.push(DELETE_MARK);
                push_u32(out, page);
                push_slice(out, key);
            }
            Self::DeleteMarkOf { page, intent, index } => {
                out.push(DELETE_MARK_OF);
                push_u32(out, page);
                push_u64(out, intent);
                push_u32(out, index);
            }
            Self::Purge { page, slot } => {
                out.push(PURGE);
                push_u32(out, page);
                push_u32(out, slot);
            }
            Self::UndoOf { page, intent, index } => {
                out.push(UNDO_OF);
                push_u32(out, page);
                push_u64(out, intent);
                push_u32(out, index);
            }
            Self::Image { page, heap, directory } => {
                out.push(IMAGE);
                push_u32(out, page);
                push_slice(out, heap);
                push_slice(out, directory);
            }
            Self::ZipPageCompress { page, front, end } => {
                out.push(ZIP_PAGE_COMPRESS);
                push_u32(out, page);
                push_slice(out, front);
                push_slice(out, end);
            }
            Self::Keep { page, start, end } => {
                out.push(KEEP);
                push_u32(out, page);
                push_u32(out, start);
                push_u32(out, end);
            }
            Self::Write { page, at, bytes } => {
                out.push(WRITE);
                push_u32(out, page);
                push_u32(out, at);
                push_slice(out, bytes);
            }
            Self::Append { page, bytes } => {
                out.push(APPEND);
                push_u32(out, page);
                push_slice(out, bytes);
            }
            Self::Patch { page, key, at, bytes } => {
                out.push(PATCH);
                push_u32(out, page);
                push_slice(out, key);
                push_u32(out, at);
                push_slice(out, bytes);
            }
            Self::Take { page, extent_slot, bit, owner, tree } => {
                out.push(TAKE);
                push_u32(out, page);
                push_u32(out, extent_slot);
                out.extend_from_slice(&[bit, owner]);
                push_u32(out, tree);
            }
            Self::GiveBack { page, extent_slot, bit } => {
                out.push(GIVE_BACK);
                push_u32(out, page);
                push_u32(out, extent_slot);
                out.push(bit);
            }
            Self::Intent { applied, replaces, batch } => {
                out.push(INTENT);
                push_u32(out, applied);
                push_u64(out, replaces);
                push_slice(out, batch);
            }
            Self::Applied { intent, index } => {
                out.push(APPLIED);
                push_u64(out, intent);
                push_u32(out, index);
            }
        }
    }

    /// Splits one change off the front.
    pub fn decode(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (tag, rest) = bytes.split_first()?;
        if matches!(*tag, INTENT | APPLIED) {
            return Self::decode_batch(*tag, rest);
        }
        let (page, rest) = take_u32(rest)?;
        Some(match *tag {
            PUT => {
                let (key, rest) = take_slice(rest)?;
                let (field, rest) = take_u32(rest)?;
                let field = u16::try_from(field).ok()?;
                let (value, rest) = rest.split_at_checked(Stored::field_bytes(field))?;
                (Self::Put { page, key, field, value }, rest)
            }
            PUT_OF => {
                let (intent, rest) = take_u64(rest)?;
                let (index, rest) = take_u32(rest)?;
                (Self::PutOf { page, intent, index }, rest)
            }
            REMOVE_OF => {
                let (intent, rest) = take_u64(rest)?;
                let (index, rest) = take_u32(rest)?;
                (Self::RemoveOf { page, intent, index }, rest)
            }
            LINK => {
                let (key, rest) = take_slice(rest)?;
                let (child, rest) = take_u32(rest)?;
                (Self::Link { page, key, child }, rest)
            }
            REMOVE => {
                let (key, rest) = take_slice(rest)?;
                (Self::Remove { page, key }, rest)
            }
            DELETE_MARK => {
                let (key, rest) = take_slice(rest)?;
                (Self::DeleteMark { page, key }, rest)
            }
            DELETE_MARK_OF => {
                let (intent, rest) = take_u64(rest)?;
                let (index, rest) = take_u32(rest)?;
                (Self::DeleteMarkOf { page, intent, index }, rest)
            }
            PURGE => {
                let (slot, rest) = take_u32(rest)?;
                (Self::Purge { page, slot }, rest)
            }
            UNDO_OF => {
                let (intent, rest) = take_u64(rest)?;
                let (index, rest) = take_u32(rest)?;
                (Self::UndoOf { page, intent, index }, rest)
            }
            IMAGE => {
                let (heap, rest) = take_slice(rest)?;
                let (directory, rest) = take_slice(rest)?;
                (Self::Image { page, heap, directory }, rest)
            }
            ZIP_PAGE_COMPRESS => {
                let (front, rest) = take_slice(rest)?;
                let (end, rest) = take_slice(rest)?;
                (Self::ZipPageCompress { page, front, end }, rest)
            }
            KEEP => {
                let (start, rest) = take_u32(rest)?;
                let (end, rest) = take_u32(rest)?;
                (Self::Keep { page, start, end }, rest)
            }
            WRITE => {
                let (at, rest) = take_u32(rest)?;
                let (bytes, rest) = take_slice(rest)?;
                (Self::Write { page, at, bytes }, rest)
            }
            APPEND => {
                let (bytes, rest) = take_slice(rest)?;
                (Self::Append { page, bytes }, rest)
            }
            PATCH => {
                let (key, rest) = take_slice(rest)?;
                let (at, rest) = take_u32(rest)?;
                let (bytes, rest) = take_slice(rest)?;
                (Self::Patch { page, key, at, bytes }, rest)
            }
            TAKE => {
                let (extent_slot, rest) = take_u32(rest)?;
                let (&[bit, owner], rest) = rest.split_first_chunk()?;
                let (tree, rest) = take_u32(rest)?;
                (Self::Take { page, extent_slot, bit, owner, tree }, rest)
            }
            GIVE_BACK => {
                let (extent_slot, rest) = take_u32(rest)?;
                let (bit, rest) = rest.split_first()?;
                (Self::GiveBack { page, extent_slot, bit: *bit }, rest)
            }
            _ => return None,
        })
    }

    fn decode_batch(tag: u8, rest: &'a [u8]) -> Option<(Self, &'a [u8])> {
        if tag == INTENT {
            let (applied, rest) = take_u32(rest)?;
            let (replaces, rest) = take_u64(rest)?;
            let (batch, rest) = take_slice(rest)?;
            return Some((Self::Intent { applied, replaces, batch }, rest));
        }
        let (intent, rest) = take_u64(rest)?;
        let (index, rest) = take_u32(rest)?;
        Some((Self::Applied { intent, index }, rest))
    }

    /// The page that the change touches; none for marks of batches.
    pub fn page(&self) -> Option<u32> {
        match *self {
            Self::Put { page, .. }
            | Self::PutOf { page, .. }
            | Self::RemoveOf { page, .. }
            | Self::Link { page, .. }
            | Self::Remove { page, .. }
            | Self::DeleteMark { page, .. }
            | Self::DeleteMarkOf { page, .. }
            | Self::Purge { page, .. }
            | Self::UndoOf { page, .. }
            | Self::Image { page, .. }
            | Self::ZipPageCompress { page, .. }
            | Self::Keep { page, .. }
            | Self::Write { page, .. }
            | Self::Append { page, .. }
            | Self::Patch { page, .. }
            | Self::Take { page, .. }
            | Self::GiveBack { page, .. } => Some(page),
            Self::Intent { .. } | Self::Applied { .. } => None,
        }
    }
}

/// Writes an image over a page; false if it does not fit.
pub fn restore_image(bytes: &mut [u8], page: u32, heap: &[u8], directory: &[u8]) -> bool {
    let start = AT_TREE;
    if heap.len() + start < HEADER_BYTES || start + heap.len() + directory.len() > bytes.len() {
        return false;
    }
    let directory_at = bytes.len() - directory.len();
    put_u32(bytes, AT_PAGE_NO, page);
    bytes[start..start + heap.len()].copy_from_slice(heap);
    bytes[start + heap.len()..directory_at].fill(0);
    bytes[directory_at..].copy_from_slice(directory);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_survives_encoding() {
        let ops = [
            RedoOp::Put { page: 7, key: b"k", field: 5, value: b"value" },
            RedoOp::Put { page: 7, key: b"k", field: 0x8008, value: b"pointer!" },
            RedoOp::PutOf { page: 300, intent: 1 << 40, index: 3 },
            RedoOp::Link { page: 1, key: b"", child: 9 },
            RedoOp::Remove { page: 1, key: b"gone" },
            RedoOp::RemoveOf { page: 300, intent: 1 << 40, index: 4 },
            RedoOp::DeleteMark { page: 1, key: b"marked" },
            RedoOp::DeleteMarkOf { page: 300, intent: 1 << 40, index: 5 },
            RedoOp::Purge { page: 1, slot: 300 },
            RedoOp::UndoOf { page: 9, intent: 1 << 40, index: 6 },
            RedoOp::Image { page: 2, heap: b"heap", directory: b"slots" },
            RedoOp::ZipPageCompress { page: 2, front: b"front", end: b"end" },
            RedoOp::Keep { page: 2, start: 0, end: 17 },
            RedoOp::Write { page: 0, at: 140, bytes: &[1, 2, 3] },
            RedoOp::Append { page: 9, bytes: b"record" },
            RedoOp::Patch { page: 9, key: b"k", at: 200, bytes: &[4, 5] },
            RedoOp::Take { page: 1, extent_slot: 5, bit: 63, owner: 2, tree: 77 },
            RedoOp::GiveBack { page: 1, extent_slot: 5, bit: 63 },
            RedoOp::Intent { applied: 2, replaces: 1 << 40, batch: b"batch" },
            RedoOp::Applied { intent: 12345, index: 2 },
        ];
        let mut bytes = Vec::new();
        for op in &ops {
            op.encode(&mut bytes);
        }
        let mut rest = &bytes[..];
        for op in ops {
            let (read, after) = RedoOp::decode(rest).unwrap();
            assert_eq!(read, op);
            rest = after;
        }
        assert!(rest.is_empty());
    }
}

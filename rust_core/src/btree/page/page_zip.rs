//! The compressed form of a tree's page (`ROW_FORMAT=COMPRESSED`): what storage holds of it in its slot of
//! `key_block_size` bytes, and the pool beside the page itself.
//!
//! As in InnoDB, a slot is a header, a zlib stream of the records, a log of the records that were put since (the
//! modification log, not compressed), and at the end what is never compressed: the directory, the transaction fields of
//! rows and the children of internal pages. A record is known by its number; one that is put anew has a new number, and
//! a removed one only leaves the directory, so its bytes stay until the page is compressed again.

use super::bytes::{get_u16, get_u32, put_u16, put_u32};
use super::edit::{Edit, Payload};
use super::layout::{
    AT_COUNT, AT_GARBAGE, AT_HEAP_TOP, AT_LAST_INSERT, AT_PAGE_NO, AT_PREFIX, AT_TREE, BARE_FLAG, DELETED_FLAG,
    HEADER_BYTES, Kind, LEAF_RECORD_HEADER, NODE_RECORD_HEADER, SLOT_BYTES, Stored, View,
};
use crate::codec::Compression;
use crate::error::Result;
use crate::task::Task;
use std::cell::RefCell;
use std::ops::Range;

/// Bytes in front of the stream: InnoDB's `PAGE_DATA`.
const PAGE_ZIP_HEADER: usize = 94;
/// A zero byte behind the modification log.
const END_OF_LOG: usize = 1;
/// Bytes of one entry of the directory.
const DIRECTORY_BYTES: usize = 2;
/// Bytes of a row's transaction fields: `DATA_TRX_ID_LEN` and `DATA_ROLL_PTR_LEN`. Nothing is stored in them here.
const TRANSACTION_BYTES: usize = 13;
/// Bytes of a child on an internal page (`REC_NODE_PTR_SIZE`).
const CHILD_BYTES: usize = 4;
/// Bytes by which a zlib stream may exceed its input, for records that fill less than 16 KiB.
const STREAM_SLACK: usize = 64;

const AT_STREAM: usize = AT_PREFIX;
const AT_RAW: usize = AT_PREFIX + 2;
const AT_LOG: usize = AT_PREFIX + 4;
const AT_NUMBERS: usize = AT_PREFIX + 6;
const AT_TRAILER: usize = AT_PREFIX + 8;

thread_local! {
    static RAW: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static STREAM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Bytes that records may take on an empty page when none of them can be compressed.
pub fn zip_empty_bytes(slot_bytes: usize) -> usize {
    slot_bytes - PAGE_ZIP_HEADER - END_OF_LOG - STREAM_SLACK
}

/// Uncompressed bytes of a record at the end of the slot.
fn trailer_of(payload: Payload) -> usize {
    match payload {
        _ if payload.is_bare() => DIRECTORY_BYTES,
        Payload::Value(_) => DIRECTORY_BYTES + TRANSACTION_BYTES,
        Payload::Child(_) => DIRECTORY_BYTES + CHILD_BYTES,
    }
}

/// Bytes of a record in the stream or in the modification log.
fn stored_len(key: &[u8], payload: Payload) -> usize {
    match payload {
        _ if payload.is_bare() => 2 + key.len(),
        Payload::Value(value) => 4 + key.len() + value.bytes().len(),
        Payload::Child(_) => 2 + key.len(),
    }
}

fn push_record(key: &[u8], payload: Payload, mut push: impl FnMut(&[u8])) {
    match payload {
        _ if payload.is_bare() => push(&(key.len() as u16 | BARE_FLAG).to_le_bytes()),
        Payload::Value(value) => {
            push(&(key.len() as u16).to_le_bytes());
            push(&value.length_field().to_le_bytes());
        }
        Payload::Child(_) => push(&(key.len() as u16).to_le_bytes()),
    }
    push(key);
    if let Payload::Value(value) = payload {
        push(value.bytes());
    }
}

/// What the record at `slot` of a page carries.
fn payload_at(view: View<'_>, slot: usize) -> Payload<'_> {
    if view.is_leaf() { Payload::Value(view.value(slot)) } else { Payload::Child(view.child(slot)) }
}

/// Splits one stored record off the front. None of them is delete-marked.
fn take_record(bytes: &[u8], is_leaf: bool) -> Option<(&[u8], &[u8])> {
    let field = get_u16(bytes.get(..2)?, 0);
    if field & DELETED_FLAG != 0 {
        return None;
    }
    let key = usize::from(field & !BARE_FLAG);
    let len = if is_leaf && field & BARE_FLAG == 0 {
        4 + key + Stored::field_bytes(get_u16(bytes.get(2..4)?, 0))
    } else {
        2 + key
    };
    bytes.split_at_checked(len)
}

fn number_bytes(number: usize) -> usize {
    if number < 0x80 { 1 } else { 2 }
}

/// A slot to read.
#[derive(Clone, Copy)]
pub struct PageZip<'a>(pub &'a [u8]);

impl<'a> PageZip<'a> {
    fn field(self, at: usize) -> usize {
        usize::from(get_u16(self.0, at))
    }

    fn log_end(self) -> usize {
        PAGE_ZIP_HEADER + self.field(AT_STREAM) + self.field(AT_LOG)
    }

    /// Bytes between the modification log and the uncompressed end.
    pub fn room(self) -> usize {
        (self.0.len() - self.field(AT_TRAILER)).saturating_sub(self.log_end() + END_OF_LOG)
    }

    fn number_at(self, slot: usize) -> usize {
        usize::from(get_u16(self.0, self.0.len() - DIRECTORY_BYTES * (slot + 1)))
    }

    fn child_of(self, number: usize) -> u32 {
        let end = self.0.len() - DIRECTORY_BYTES * self.field(AT_NUMBERS);
        get_u32(self.0, end - CHILD_BYTES * (number + 1))
    }

    /// Whether the record of `slot`, which has `old` bytes in the page if it is there, can go into the modification
    /// log.
    pub fn has_room(self, slot: usize, old: Option<usize>, key: &[u8], payload: Payload) -> bool {
        let number = self.number_for(slot, old, key, payload);
        let trailer = if number == self.field(AT_NUMBERS) { trailer_of(payload) } else { 0 };
        number_bytes(number) + stored_len(key, payload) + trailer <= self.room()
    }

    /// The number of a record that is put: its own if it does not grow, else a new one.
    fn number_for(self, slot: usize, old: Option<usize>, key: &[u8], payload: Payload) -> usize {
        match old {
            Some(old) if payload.record_len(key) <= old => self.number_at(slot),
            _ => self.field(AT_NUMBERS),
        }
    }

    /// The two parts that are in use: header, stream and log from the tree's number on, and the end.
    pub fn parts(self) -> (&'a [u8], &'a [u8]) {
        (&self.0[AT_TREE..self.log_end()], &self.0[self.0.len() - self.field(AT_TRAILER)..])
    }

    /// Makes the page of the slot; what is wrong with the slot if it cannot be.
    pub fn decompress(self, task: &mut Task, page: &mut [u8]) -> std::result::Result<(), &'static str> {
        let trailer = self.field(AT_TRAILER);
        let (numbers, count, is_leaf) = (self.field(AT_NUMBERS), View(self.0).count(), View(self.0).is_leaf());
        let end = if is_leaf { DIRECTORY_BYTES } else { DIRECTORY_BYTES + CHILD_BYTES };
        if self.log_end() + trailer > self.0.len() || numbers * end > trailer || count > numbers {
            return Err("the parts of a compressed page do not fit");
        }
        let stream_end = PAGE_ZIP_HEADER + self.field(AT_STREAM);
        RAW.with_borrow_mut(|raw| {
            raw.clear();
            raw.resize(self.field(AT_RAW), 0);
            Compression::Zlib
                .decompress(task, &self.0[PAGE_ZIP_HEADER..stream_end], raw)
                .map_err(|_| "a compressed page does not decompress")?;
            let records = self.records(raw, is_leaf).ok_or("a compressed page has a broken record")?;
            if records.len() != numbers {
                return Err("a compressed page has more or fewer records than numbers");
            }
            self.lay_out(&records, is_leaf, page).ok_or("the records of a compressed page do not fit the page")
        })
    }

    /// The stored records by number.
    fn records<'r>(self, raw: &'r [u8], is_leaf: bool) -> Option<Vec<&'r [u8]>>
    where
        'a: 'r,
    {
        let mut records = Vec::with_capacity(self.field(AT_NUMBERS));
        let mut rest = raw;
        while !rest.is_empty() {
            let (record, after) = take_record(rest, is_leaf)?;
            records.push(record);
            rest = after;
        }
        let mut log = &self.0[PAGE_ZIP_HEADER + self.field(AT_STREAM)..self.log_end()];
        while let Some((&low, after)) = log.split_first() {
            let (number, after) = if low & 0x80 == 0 {
                (usize::from(low), after)
            } else {
                let (&high, after) = after.split_first()?;
                (usize::from(low & 0x7f) | usize::from(high) << 7, after)
            };
            let (record, after) = take_record(after, is_leaf)?;
            match number.cmp(&records.len()) {
                std::cmp::Ordering::Less => records[number] = record,
                std::cmp::Ordering::Equal => records.push(record),
                std::cmp::Ordering::Greater => return None,
            }
            log = after;
        }
        Some(records)
    }

    fn lay_out(self, records: &[&[u8]], is_leaf: bool, page: &mut [u8]) -> Option<()> {
        let count = View(self.0).count();
        page.fill(0);
        page[..AT_PREFIX].copy_from_slice(&self.0[..AT_PREFIX]);
        let limit = page.len().checked_sub(SLOT_BYTES * count)?;
        let mut at = HEADER_BYTES;
        for slot in 0..count {
            let number = self.number_at(slot);
            let record = *records.get(number)?;
            let (fields, header) = match is_leaf {
                true if get_u16(record, 0) & BARE_FLAG == 0 => (4, LEAF_RECORD_HEADER),
                true => (2, 2),
                false => (2, NODE_RECORD_HEADER),
            };
            let end = at + header + record.len() - fields;
            if end > limit {
                return None;
            }
            page[at..at + fields].copy_from_slice(&record[..fields]);
            page[at + header..end].copy_from_slice(&record[fields..]);
            if !is_leaf {
                put_u32(page, at + 2, self.child_of(number));
            }
            let slot_end = page.len() - SLOT_BYTES * slot;
            put_u16(page, slot_end - 2, at as u16);
            at = end;
        }
        put_u16(page, AT_COUNT, count as u16);
        put_u32(page, AT_HEAP_TOP, at as u32);
        put_u32(page, AT_GARBAGE, 0);
        Edit(page).refresh_prefix();
        Some(())
    }
}

/// A slot to change.
pub struct PageZipEdit<'a>(pub &'a mut [u8]);

impl PageZipEdit<'_> {
    fn view(&self) -> PageZip<'_> {
        PageZip(self.0)
    }

    fn set(&mut self, at: usize, value: usize) {
        put_u16(self.0, at, value as u16);
    }

    /// Takes over the page's header.
    pub fn copy_header(&mut self, page: View) {
        self.0[..AT_PREFIX].copy_from_slice(&page.0[..AT_PREFIX]);
    }

    /// Compresses a page into the slot; false, with the slot as it was, if it does not fit.
    pub fn compress(&mut self, task: &mut Task, level: i32, page: View) -> Result<bool> {
        debug_assert_eq!(page.kind(), Kind::Tree);
        let mut trailer = 0;
        RAW.with_borrow_mut(|raw| {
            raw.clear();
            for slot in 0..page.count() {
                let payload = payload_at(page, slot);
                trailer += trailer_of(payload);
                push_record(page.key(slot), payload, |bytes| raw.extend_from_slice(bytes));
            }
            STREAM.with_borrow_mut(|stream| {
                Compression::Zlib.compress(task, Some(level), raw, stream)?;
                let stream_end = PAGE_ZIP_HEADER + stream.len();
                if stream_end + END_OF_LOG + trailer > self.0.len() {
                    return Ok(false);
                }
                self.0.fill(0);
                self.copy_header(page);
                self.0[PAGE_ZIP_HEADER..stream_end].copy_from_slice(stream);
                let fields = [(AT_STREAM, stream.len()), (AT_RAW, raw.len()), (AT_TRAILER, trailer)];
                for (at, value) in fields {
                    self.set(at, value);
                }
                self.set(AT_NUMBERS, page.count());
                for slot in 0..page.count() {
                    self.set_number(slot, slot);
                    if let Payload::Child(child) = payload_at(page, slot) {
                        self.set_child(slot, child);
                    }
                }
                Ok(true)
            })
        })
    }

    fn set_number(&mut self, slot: usize, number: usize) {
        let at = self.0.len() - DIRECTORY_BYTES * (slot + 1);
        self.set(at, number);
    }

    fn set_child(&mut self, number: usize, child: u32) {
        let end = self.0.len() - DIRECTORY_BYTES * self.view().field(AT_NUMBERS);
        put_u32(self.0, end - CHILD_BYTES * (number + 1), child);
    }

    /// Notes in the modification log that the record of `slot` is put; [`PageZip::has_room`] must have said so. `count`
    /// and `old` are from before: the records of the page, and the bytes of this one if it was there.
    pub fn put(&mut self, count: usize, slot: usize, old: Option<usize>, key: &[u8], payload: Payload) {
        let number = self.view().number_for(slot, old, key, payload);
        let numbers = self.view().field(AT_NUMBERS);
        if number == numbers {
            if matches!(payload, Payload::Child(_)) {
                let end = self.0.len() - DIRECTORY_BYTES * numbers;
                self.0.copy_within(end - CHILD_BYTES * numbers..end, end - CHILD_BYTES * numbers - DIRECTORY_BYTES);
            }
            self.set(AT_NUMBERS, numbers + 1);
            self.set(AT_TRAILER, self.view().field(AT_TRAILER) + trailer_of(payload));
        }
        if old.is_none() {
            let len = self.0.len();
            let moved = len - DIRECTORY_BYTES * count..len - DIRECTORY_BYTES * slot;
            self.0.copy_within(moved.clone(), moved.start - DIRECTORY_BYTES);
        }
        self.set_number(slot, number);
        if let Payload::Child(child) = payload {
            self.set_child(number, child);
        }
        let start = self.view().log_end();
        let mut at = start;
        let mut push = |bytes: &[u8]| {
            self.0[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        match number_bytes(number) {
            1 => push(&[number as u8]),
            _ => push(&[number as u8 | 0x80, (number >> 7) as u8]),
        }
        push_record(key, payload, push);
        self.set(AT_LOG, self.view().field(AT_LOG) + at - start);
    }

    /// Takes the record of `slot` out of the directory. `count` is from before.
    pub fn remove(&mut self, count: usize, slot: usize) {
        let len = self.0.len();
        let moved = len - DIRECTORY_BYTES * count..len - DIRECTORY_BYTES * (slot + 1);
        self.0.copy_within(moved.clone(), moved.start + DIRECTORY_BYTES);
    }

    /// Writes what [`PageZip::parts`] gave; false if it does not fit.
    pub fn restore(&mut self, page_no: u32, front: &[u8], end: &[u8]) -> bool {
        let start = AT_TREE;
        let whole = start + front.len() >= PAGE_ZIP_HEADER && start + front.len() + end.len() <= self.0.len();
        if whole {
            let end_at = self.0.len() - end.len();
            self.0.fill(0);
            put_u32(self.0, AT_PAGE_NO, page_no);
            self.0[start..start + front.len()].copy_from_slice(front);
            self.0[end_at..].copy_from_slice(end);
        }
        whole
    }
}

/// Makes `out` a page of some slots of another, and notes where the record that came last is among them.
pub fn part_of(source: View, slots: Range<usize>, page_no: u32, tree: u32, newest: usize, out: &mut [u8]) {
    Edit(out).format(page_no, tree, Kind::Tree, source.level());
    Edit(out).rebuild(&[(source, slots.clone())]);
    if slots.contains(&newest) {
        put_u16(out, AT_LAST_INSERT, (newest - slots.start) as u16);
    }
}

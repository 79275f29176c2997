//! What is on an undo page: undo logs one behind the other, each a header and its records. Bytes in, bytes out.

use crate::btree::page::{HEADER_BYTES, Kind, View, get_u16, put_u16, put_u64};
use crate::codec::varint::{push_u32, take_slice, take_u32};
use std::ops::Range;

/// Bytes of the header of an undo log (`TRX_UNDO_LOG_OLD_HDR_SIZE`): transaction id and number, flags, offsets of the
/// log and of its neighbours on the page, and the node of the history list.
pub const LOG_HEADER_BYTES: usize = 46;
/// What commit fills in of it: number, end of the log, whether it is to be purged, node.
pub const COMMIT_BYTES: usize = 8 + 2 + 2 + HISTORY_NODE_BYTES;
/// Where in the header that begins.
pub const AT_COMMIT: usize = LOG_HEADER_BYTES - COMMIT_BYTES;
/// `FLST_NODE_SIZE`: page and offset of the logs before and behind.
const HISTORY_NODE_BYTES: usize = 12;
/// What purge overwrites when it takes a log off the history list: that it is to be purged, and the node.
pub const PURGED_BYTES: usize = 2 + HISTORY_NODE_BYTES;
/// Where in the header that begins (`TRX_UNDO_NEEDS_PURGE`).
pub const AT_NEEDS_PURGE: usize = LOG_HEADER_BYTES - PURGED_BYTES;
const AT_START: usize = 18;
const AT_END: usize = AT_COMMIT + 8;
/// What a version before carries of its transaction: id and roll pointer, compressed, and info bits.
const OLD_VERSION_BYTES: usize = 13;

/// What a change was, by InnoDB's type of its undo record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum UndoKind {
    /// `TRX_UNDO_INSERT_REC`.
    Insert = 11,
    /// `TRX_UNDO_UPD_EXIST_REC`.
    Update = 12,
    /// `TRX_UNDO_DEL_MARK_REC`.
    DelMark = 14,
    /// An entry of a secondary index is delete-marked: InnoDB has its columns in the record of its row.
    EntryDelMark = 15,
}

impl UndoKind {
    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Insert, Self::Update, Self::DelMark, Self::EntryDelMark].into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// Where an undo log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogAt {
    pub page_no: u32,
    /// Where its header begins on the page.
    pub start: usize,
}

/// What purge reads of an undo record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndoRecord<'a> {
    pub kind: UndoKind,
    pub tree: u32,
    pub key: &'a [u8],
}

/// The header of a log that begins.
pub fn log_header(start: usize, transaction: u64) -> [u8; LOG_HEADER_BYTES] {
    let mut header = [0; LOG_HEADER_BYTES];
    put_u64(&mut header, 0, transaction);
    put_u16(&mut header, AT_START, (start + LOG_HEADER_BYTES) as u16);
    put_u16(&mut header, AT_NEEDS_PURGE, 1);
    header
}

/// What commit fills in of the header of a log that ends at `end`.
pub fn commit_fields(lsn: u64, end: usize) -> [u8; COMMIT_BYTES] {
    let mut fields = [0; COMMIT_BYTES];
    put_u64(&mut fields, 0, lsn);
    put_u16(&mut fields, AT_END - AT_COMMIT, end as u16);
    put_u16(&mut fields, AT_NEEDS_PURGE - AT_COMMIT, 1);
    fields
}

/// Encodes a record, with the fields and lengths that InnoDB gives it (`trx_undo_page_report_insert`, `_modify`), but
/// for the offsets in its first and last two bytes, which [`link_record`] fills in.
pub fn encode_record(out: &mut Vec<u8>, record: UndoRecord, number: u32, old: &[u8]) {
    let UndoRecord { kind, tree, key } = record;
    out.clear();
    out.extend_from_slice(&[0, 0, kind as u8]);
    push_u32(out, tree);
    push_u32(out, key.len() as u32);
    out.extend_from_slice(key);
    if kind == UndoKind::EntryDelMark {
        return;
    }
    push_u32(out, number);
    if kind != UndoKind::Insert {
        out.extend_from_slice(&[0; OLD_VERSION_BYTES]);
    }
    if kind == UndoKind::Update {
        out.extend_from_slice(&[1, 0]);
        push_u32(out, old.len() as u32);
        out.extend_from_slice(old);
    }
    out.extend_from_slice(&[0, 0]);
}

/// The record of a delete-marked entry, that is put at `at` of its page.
pub fn entry_record(tree: u32, key: &[u8], at: usize) -> Vec<u8> {
    let mut record = Vec::new();
    encode_record(&mut record, UndoRecord { kind: UndoKind::EntryDelMark, tree, key }, 0, &[]);
    link_record(&mut record, at);
    record
}

/// Fills in the offsets of a record that is put at `at` of its page: where it ends, and where it began.
pub fn link_record(record: &mut [u8], at: usize) {
    put_u16(record, 0, (at + record.len()) as u16);
    if record[2] != UndoKind::EntryDelMark as u8 {
        let tail = record.len() - 2;
        put_u16(record, tail, at as u16);
    }
}

/// Where the records of a log are on its page; none if the page has no log there that fits it.
pub fn records_of(view: View, log: LogAt) -> Option<Range<usize>> {
    let first = log.start.checked_add(LOG_HEADER_BYTES)?;
    let top = view.heap_top();
    if view.kind() != Kind::Undo || log.start < HEADER_BYTES || first > top || top > view.size() {
        return None;
    }
    let end = match usize::from(get_u16(view.0, log.start + AT_END)) {
        // It was not committed, and is the last on its page.
        0 => top,
        end => end,
    };
    (usize::from(get_u16(view.0, log.start + AT_START)) == first && (first..=top).contains(&end)).then_some(first..end)
}

/// Whether purge has yet to go through a log.
pub fn needs_purge(view: View, log: LogAt) -> bool {
    get_u16(view.0, log.start + AT_NEEDS_PURGE) != 0
}

/// The record at `at` of the records of a log, which begin at `first` of their page, and where the next one is.
pub fn take_record(records: &[u8], first: usize, at: usize) -> Option<(UndoRecord<'_>, usize)> {
    let record = records.get(at..)?;
    let next = usize::from(get_u16(record.get(..2)?, 0)).checked_sub(first)?;
    let record = record.get(..next.checked_sub(at)?)?;
    let kind = UndoKind::from_byte(*record.get(2)?)?;
    let (tree, rest) = take_u32(&record[3..])?;
    let (key, _) = take_slice(rest)?;
    Some((UndoRecord { kind, tree, key }, next))
}

/// The logs on an undo page that purge has yet to go through; none if the page does not hold together.
pub fn logs_to_purge(view: View) -> Option<Vec<LogAt>> {
    let (page_no, mut start, mut logs) = (view.page_no(), HEADER_BYTES, Vec::new());
    while start < view.heap_top() {
        let log = LogAt { page_no, start };
        let end = records_of(view, log)?.end;
        if needs_purge(view, log) {
            logs.push(log);
        }
        start = end;
    }
    Some(logs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btree::page::{Edit, UNDO_TREE};

    fn append(page: &mut [u8], transaction: u64, records: &[UndoRecord]) -> LogAt {
        let log = LogAt { page_no: 7, start: View(page).heap_top() };
        Edit(page).append_bytes(&log_header(log.start, transaction));
        for (number, record) in records.iter().enumerate() {
            let mut bytes = Vec::new();
            encode_record(&mut bytes, *record, number as u32, b"old");
            link_record(&mut bytes, View(page).heap_top());
            Edit(page).append_bytes(&bytes);
        }
        log
    }

    fn undo_page() -> Vec<u8> {
        let mut page = vec![0; 4096];
        Edit(&mut page).format(7, UNDO_TREE, Kind::Undo, 0);
        page
    }

    fn read(page: &[u8], log: LogAt) -> Vec<UndoRecord<'_>> {
        let range = records_of(View(page), log).unwrap();
        let (bytes, mut at, mut records) = (&page[range.clone()], 0, Vec::new());
        while at < bytes.len() {
            let (record, next) = take_record(bytes, range.start, at).unwrap();
            records.push(record);
            at = next;
        }
        records
    }

    #[test]
    fn a_page_gives_its_logs_and_their_records_back() {
        let record = |kind, key| UndoRecord { kind, tree: 300, key };
        let first = [record(UndoKind::Insert, &b"inserted"[..]), record(UndoKind::Update, b"updated")];
        let second = [record(UndoKind::EntryDelMark, &b""[..]), record(UndoKind::DelMark, b"deleted")];
        let mut page = undo_page();
        let one = append(&mut page, 1, &first);
        let end = View(&page).heap_top();
        page[one.start + AT_COMMIT..][..COMMIT_BYTES].copy_from_slice(&commit_fields(99, end));
        let two = append(&mut page, 2, &second);
        assert_eq!(logs_to_purge(View(&page)), Some(vec![one, two]));
        assert_eq!((read(&page, one), read(&page, two)), (first.to_vec(), second.to_vec()));
        page[one.start + AT_NEEDS_PURGE..][..PURGED_BYTES].fill(0);
        assert_eq!(logs_to_purge(View(&page)), Some(vec![two]));
    }

    #[test]
    fn a_page_whose_logs_do_not_hold_together_has_none() {
        let mut page = undo_page();
        let log = append(&mut page, 1, &[UndoRecord { kind: UndoKind::Insert, tree: 1, key: b"k" }]);
        for end in [log.start, 127, 4000] {
            put_u16(&mut page, log.start + AT_END, end as u16);
            assert_eq!(logs_to_purge(View(&page)), None, "{end}");
        }
    }
}

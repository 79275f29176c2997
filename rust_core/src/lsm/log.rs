//! RocksDB's log format, for the write-ahead log and the manifest: 32 KiB blocks of fragments with a 7-byte header, so
//! that a reader finds its way after any cut. Beyond RocksDB's, a checksum covers the place of its fragment, and the type of
//! a record's first fragment tells how far the log was synced when it was written: what a reader misses below that is damage,
//! what it misses behind may never have reached the disk.

use crate::cost::Work;
use crate::error::Result;
use crate::metrics::Purpose;
use crate::storage::StorageFile;
use crate::task::Task;

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 32 << 10;
/// Bytes in front of a fragment: masked CRC32C of place, type and payload, length, type.
pub const HEADER_BYTES: usize = 7;
/// Bytes that a device writes or loses as a whole.
const SECTOR_BYTES: usize = 512;

const FULL: u8 = 1;
const FIRST: u8 = 2;
const MIDDLE: u8 = 3;
const LAST: u8 = 4;
/// The bits of the type that tell the kind; those above tell what was synced.
const KIND: u8 = 7;
const KIND_BITS: u32 = KIND.count_ones();

/// How far before a record its log was synced at least, in the bits of a type: 0 if nobody knows, 1 up to the record, then
/// powers of two from 1 on.
fn synced_class(offset: u64, synced: Option<u64>) -> u8 {
    match synced.map(|synced| offset - synced) {
        None => 0,
        Some(0) => 1,
        Some(distance) => {
            let class = 2 + u64::BITS - (distance - 1).leading_zeros();
            if class < 1 << (u8::BITS - KIND_BITS) { class as u8 } else { 0 }
        }
    }
}

/// Up to where a log was synced at least when a record of this type was written at `offset`, if that is known.
fn synced_below(offset: usize, kind: u8) -> Option<usize> {
    match kind >> KIND_BITS {
        0 => None,
        1 => Some(offset),
        class => offset.checked_sub(1 << (class - 2)),
    }
}

/// Begins a checksum with the place of a fragment, so that none is taken for one of another log or place.
fn checksum_of_place(log: u64, offset: usize, kind: u8) -> u32 {
    let place = crc32c::crc32c_append(crc32c::crc32c(&log.to_le_bytes()), &(offset as u64).to_le_bytes());
    crc32c::crc32c_append(place, &[kind])
}

pub(super) fn checksum(log: u64, offset: usize, kind: u8, payload: &[u8]) -> u32 {
    masked(crc32c::crc32c_append(checksum_of_place(log, offset, kind), payload))
}

/// A stored checksum differs from a computed one, so that a log within a log does not check by chance.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Cuts the records of a log into fragments.
#[derive(Debug)]
pub struct Framer {
    log: u64,
    offset: usize,
}

impl Framer {
    /// Begins the log with this number.
    pub fn new(log: u64) -> Self {
        Self { log, offset: 0 }
    }

    /// Appends the fragments of a record to `out`, which continues the file where the last call left it. `synced`: up to where
    /// this log, and all of the logs before it, are durable, if so much is.
    pub fn frame(&mut self, mut payload: &[u8], synced: Option<u64>, out: &mut Vec<u8>) {
        let mut first = true;
        loop {
            let mut left = BLOCK_BYTES - self.offset % BLOCK_BYTES;
            if left < HEADER_BYTES {
                out.resize(out.len() + left, 0);
                self.offset += left;
                left = BLOCK_BYTES;
            }
            let (fragment, rest) = payload.split_at(payload.len().min(left - HEADER_BYTES));
            let mut kind = match (first, rest.is_empty()) {
                (true, true) => FULL,
                (true, false) => FIRST,
                (false, false) => MIDDLE,
                (false, true) => LAST,
            };
            if first {
                kind |= synced_class(self.offset as u64, synced) << KIND_BITS;
            }
            out.extend_from_slice(&checksum(self.log, self.offset, kind, fragment).to_le_bytes());
            out.extend_from_slice(&(fragment.len() as u16).to_le_bytes());
            out.push(kind);
            out.extend_from_slice(fragment);
            self.offset += HEADER_BYTES + fragment.len();
            payload = rest;
            first = false;
            if payload.is_empty() {
                return;
            }
        }
    }
}

/// What a reader found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'a> {
    /// A whole record; it begins at this offset.
    Whole {
        /// Its payload.
        payload: &'a [u8],
        /// Where its first fragment begins.
        offset: usize,
    },
    /// The clean end of the file.
    End,
    /// There is no whole record.
    Broken(Break),
}

/// Why there is no whole record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Break {
    /// Where the record begins.
    pub offset: usize,
    /// What does not hold.
    pub what: &'static str,
    /// Whether a power cut may have done it, as far as the bytes of the record tell: the file ends before it does, or some
    /// sector of it is nothing but zeros.
    pub may_be_torn: bool,
}

/// Reads the records of a log that is in memory.
#[derive(Clone)]
pub struct Reader<'a> {
    log: u64,
    bytes: &'a [u8],
    at: usize,
    joined: Vec<u8>,
}

enum Fragment {
    Good { kind: u8, start: usize, end: usize },
    End,
    Broken { what: &'static str, may_be_torn: bool },
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`, which are those of the log with this number.
    pub fn new(log: u64, bytes: &'a [u8]) -> Self {
        Self { log, bytes, at: 0, joined: Vec::new() }
    }

    /// The next record.
    pub fn next_record(&mut self) -> Record<'_> {
        self.joined.clear();
        let mut began = None;
        loop {
            let offset = began.unwrap_or(self.at);
            let broken = |what, may_be_torn| Record::Broken(Break { offset, what, may_be_torn });
            let (kind, start, end) = match self.next_fragment() {
                Fragment::Good { kind, start, end } => (kind & KIND, start, end),
                Fragment::End if began.is_none() => return Record::End,
                Fragment::End => return broken("a record without its end", true),
                Fragment::Broken { what, may_be_torn } => return broken(what, may_be_torn),
            };
            match (kind, began.is_some()) {
                (FULL, false) => {
                    return Record::Whole { payload: &self.bytes[start..end], offset: start - HEADER_BYTES };
                }
                (FIRST, false) => began = Some(start - HEADER_BYTES),
                (MIDDLE | LAST, true) => {}
                _ => return broken("a fragment out of order", false),
            }
            self.joined.extend_from_slice(&self.bytes[start..end]);
            if kind == LAST {
                return Record::Whole { payload: &self.joined, offset };
            }
        }
    }

    /// Goes on with the first record that begins intact behind `offset`, and tells where that is.
    pub fn skip_behind(&mut self, offset: usize) -> Option<usize> {
        let begin = self.begins_from(offset + 1).next().map(|(at, _)| at);
        self.at = begin.unwrap_or(self.bytes.len());
        begin
    }

    /// How many records begin intact at `offset` or behind.
    pub fn records_from(&self, offset: usize) -> u64 {
        self.begins_from(offset).count() as u64
    }

    /// Whether some record says that all up to somewhere behind `offset` was synced before it was written.
    pub fn was_synced_behind(&self, offset: usize) -> bool {
        self.begins_from(offset + 1).any(|(at, kind)| synced_below(at, kind).is_some_and(|synced| synced > offset))
    }

    /// Whether some record says that the logs before this one were synced before it was written.
    pub fn follows_synced_logs(&self) -> bool {
        self.begins_from(0).any(|(at, kind)| synced_below(at, kind).is_some())
    }

    /// Places from `at` on where a record begins intact, with the types of their first fragments. All blocks begin with a
    /// fragment, so damage in one hides nothing of the next.
    fn begins_from(&self, mut at: usize) -> impl Iterator<Item = (usize, u8)> {
        std::iter::from_fn(move || {
            while at < self.bytes.len() {
                let here = at;
                match self.intact_fragment(here) {
                    Some((kind, end)) => {
                        at = end;
                        if matches!(kind & KIND, FULL | FIRST) {
                            return Some((here, kind));
                        }
                    }
                    None => at += 1,
                }
            }
            None
        })
    }

    /// The type and the end of a fragment that matches its checksum.
    fn intact_fragment(&self, at: usize) -> Option<(u8, usize)> {
        let header = self.bytes.get(at..)?.first_chunk::<HEADER_BYTES>()?;
        let (start, len, kind) = (at + HEADER_BYTES, u16::from_le_bytes([header[4], header[5]]) as usize, header[6]);
        let (block_at, block_end) = (at % BLOCK_BYTES, (at / BLOCK_BYTES + 1) * BLOCK_BYTES);
        let end = start + len;
        // What a framer does tells most places from fragments without a look at their payloads.
        let is_framed = match kind & KIND {
            FULL => end <= block_end,
            FIRST => end == block_end,
            MIDDLE => kind == MIDDLE && block_at == 0 && end == block_end,
            LAST => kind == LAST && block_at == 0 && end <= block_end,
            _ => false,
        };
        let wanted = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        let matches = is_framed && checksum(self.log, at, kind, self.bytes.get(start..end)?) == wanted;
        matches.then_some((kind, end))
    }

    fn next_fragment(&mut self) -> Fragment {
        let broken = |what, may_be_torn| Fragment::Broken { what, may_be_torn };
        let left = BLOCK_BYTES - self.at % BLOCK_BYTES;
        if left < HEADER_BYTES {
            let pad = &self.bytes[self.at.min(self.bytes.len())..(self.at + left).min(self.bytes.len())];
            if pad.iter().any(|byte| *byte != 0) {
                return broken("padding is not zero", false);
            }
            self.at += left;
        }
        if self.at >= self.bytes.len() {
            return Fragment::End;
        }
        if let Some((kind, end)) = self.intact_fragment(self.at) {
            let start = self.at + HEADER_BYTES;
            self.at = end;
            return Fragment::Good { kind, start, end };
        }
        let Some(header) = self.bytes[self.at..].first_chunk::<HEADER_BYTES>() else {
            return broken("the header of a fragment is cut", true);
        };
        let (start, kind) = (self.at + HEADER_BYTES, header[6]);
        let end = start + u16::from_le_bytes([header[4], header[5]]) as usize;
        let wanted = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        if end > (self.at / BLOCK_BYTES + 1) * BLOCK_BYTES {
            broken("a fragment longer than its block", self.has_hole(self.at, start))
        } else if end <= self.bytes.len() {
            broken("the checksum of a fragment does not match", self.has_hole(self.at, end))
        } else if ends_earlier(checksum_of_place(self.log, self.at, kind), &self.bytes[start..], wanted) {
            broken("the length of a fragment is wrong", false)
        } else {
            broken("a fragment is cut", true)
        }
    }

    /// Whether the part of some sector within a range is nothing but zeros: what a sector that was never written reads as.
    fn has_hole(&self, start: usize, end: usize) -> bool {
        let mut at = start;
        while at < end {
            let stop = end.min((at / SECTOR_BYTES + 1) * SECTOR_BYTES);
            if self.bytes[at..stop].iter().all(|byte| *byte == 0) {
                return true;
            }
            at = stop;
        }
        false
    }
}

/// Whether some beginning of `payload` has the checksum that begins with `crc`: then the fragment was complete, and its length was changed.
fn ends_earlier(mut crc: u32, payload: &[u8], wanted: u32) -> bool {
    payload.iter().any(|byte| {
        crc = crc32c::crc32c_append(crc, std::slice::from_ref(byte));
        masked(crc) == wanted
    })
}

/// Reads a whole file in pieces of at most 1 MiB.
pub fn read_all(task: &mut Task, file: &dyn StorageFile) -> Result<Vec<u8>> {
    let mut bytes = vec![0; file.len() as usize];
    for (n, piece) in bytes.chunks_mut(1 << 20).enumerate() {
        file.read_at(task, Purpose::Recovery, (n as u64) << 20, piece)?;
        task.charge(Work::ChecksumByte, piece.len() as u64);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOG: u64 = 7;

    /// The log of some records, with how far it was synced when each of them was written.
    fn framed_with(records: &[(Vec<u8>, Option<u64>)]) -> Vec<u8> {
        let (mut framer, mut bytes) = (Framer::new(LOG), Vec::new());
        for (record, synced) in records {
            framer.frame(record, *synced, &mut bytes);
        }
        bytes
    }

    fn framed(records: &[Vec<u8>]) -> Vec<u8> {
        framed_with(&records.iter().map(|record| (record.clone(), None)).collect::<Vec<_>>())
    }

    /// The whole records up to the end or to what breaks them off.
    fn whole_records(bytes: &[u8]) -> (Vec<Vec<u8>>, Option<Break>) {
        let (mut reader, mut records) = (Reader::new(LOG, bytes), Vec::new());
        loop {
            match reader.next_record() {
                Record::Whole { payload, .. } => records.push(payload.to_vec()),
                Record::End => return (records, None),
                Record::Broken(broken) => return (records, Some(broken)),
            }
        }
    }

    fn records() -> impl Strategy<Value = Vec<Vec<u8>>> {
        proptest::collection::vec(proptest::collection::vec(1u8.., 0..40_000), 1..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn records_come_back_whole(records in records()) {
            prop_assert_eq!(whole_records(&framed(&records)), (records, None));
        }

        #[test]
        fn a_cut_log_yields_the_records_before_the_cut(records in records(), cut in 0.0..1.0) {
            let bytes = framed(&records);
            let (found, broken) = whole_records(&bytes[..(bytes.len() as f64 * cut) as usize]);
            prop_assert_eq!(&found[..], &records[..found.len()]);
            prop_assert!(broken.is_none_or(|broken| broken.may_be_torn));
        }

        #[test]
        fn a_flipped_bit_does_not_look_torn(records in records(), at in 0.0..1.0) {
            let mut bytes = framed(&records);
            let bit = (bytes.len() as f64 * 8.0 * at) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
            let broken = whole_records(&bytes).1;
            prop_assert!(broken.is_some_and(|broken| !broken.may_be_torn));
        }

        #[test]
        fn a_type_tells_never_more_than_was_synced(offset in 0u64..1 << 40, distance in 0u64..1 << 40) {
            let synced = offset.checked_sub(distance);
            let told = synced_below(offset as usize, FULL | synced_class(offset, synced) << KIND_BITS);
            prop_assert!(told.is_none_or(|told| synced.is_some_and(|synced| told as u64 <= synced)));
            if let Some(synced) = synced && distance <= 1 << 29 && 2 * distance <= offset {
                prop_assert!(told.is_some_and(|told| offset - told as u64 <= 2 * distance), "{synced} {told:?}");
            }
        }
    }

    /// Four records, of which the second lacks a sector. The third begins at byte 2114, the fourth at 2221.
    fn with_a_hole(synced: [Option<u64>; 2]) -> Vec<u8> {
        let records =
            [(vec![7; 100], None), (vec![8; 2000], None), (vec![9; 100], synced[0]), (vec![9; 100], synced[1])];
        let mut bytes = framed_with(&records);
        bytes[1024..1536].fill(0);
        bytes
    }

    #[test]
    fn a_sector_of_zeros_looks_torn_unless_a_later_record_says_that_it_was_synced() {
        for (synced, was_synced) in [
            ([None, None], false),
            ([Some(0), Some(107)], false),
            ([Some(107), Some(2114)], true),
            ([Some(2114), None], true),
        ] {
            let bytes = with_a_hole(synced);
            let mut reader = Reader::new(LOG, &bytes);
            assert!(matches!(reader.next_record(), Record::Whole { .. }));
            let Record::Broken(broken) = reader.next_record() else { panic!("a hole is no record") };
            assert_eq!((broken.offset, broken.may_be_torn), (107, true));
            assert_eq!(reader.was_synced_behind(107), was_synced, "{synced:?}");
            assert_eq!(reader.skip_behind(107), Some(2114));
            assert_eq!(reader.skip_behind(2114), Some(2221));
            assert_eq!(reader.skip_behind(2221), None);
        }
    }

    #[test]
    fn damage_hides_nothing_of_the_next_block() {
        let mut bytes = framed(&[vec![1; 1000], vec![2; 40_000], vec![3; 50]]);
        let behind = bytes.len() - 57;
        bytes[1010..BLOCK_BYTES].fill(0xa5);
        let mut reader = Reader::new(LOG, &bytes);
        assert_eq!(reader.skip_behind(0), Some(behind));
        assert_eq!(reader.next_record(), Record::Whole { payload: &[3; 50], offset: behind });
    }

    /// A value may hold the bytes of a log.
    #[test]
    fn a_log_within_a_record_is_no_log() {
        let inner = framed_with(&[(vec![5; 300], Some(0)), (vec![5; 300], Some(307))]);
        let mut bytes = framed(&[inner.clone(), inner, vec![6; 10]]);
        bytes[20] ^= 1;
        let mut reader = Reader::new(LOG, &bytes);
        assert!(matches!(reader.next_record(), Record::Broken(_)));
        assert_eq!(reader.skip_behind(0), Some(621));
        assert!(!reader.was_synced_behind(0));
    }

    #[test]
    fn rocksdbs_log_of_200_000_puts_has_the_same_size() {
        let (mut framer, mut bytes, mut ticker) = (Framer::new(LOG), 0, 0);
        let (mut batch, mut out) = (crate::engine::WriteBatch::default(), Vec::new());
        for n in 0..200_000u64 {
            let mut key = [b'0'; 16];
            key[..8].copy_from_slice(&n.to_be_bytes());
            batch.clear();
            batch.put(&key, &[b'v'; 100]);
            out.clear();
            framer.frame(batch.encode(n + 1), None, &mut out);
            ticker += batch.encoded_bytes();
            bytes += out.len();
        }
        assert_eq!((ticker, bytes), (26_200_000, 27_605_726));
    }
}

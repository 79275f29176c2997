//! RocksDB's log format, for the write-ahead log and the manifest: 32 KiB blocks of fragments with a 7-byte header, so
//! that a reader finds its way after any cut.

use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::runtime::{Task, Work};
use crate::storage::StorageFile;

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 32 << 10;
/// Bytes in front of a fragment: masked CRC32C of type and payload, length, type.
pub const HEADER_BYTES: usize = 7;
/// Bytes that a device writes or loses as a whole.
const SECTOR_BYTES: usize = 512;

const FULL: u8 = 1;
const FIRST: u8 = 2;
const MIDDLE: u8 = 3;
const LAST: u8 = 4;

fn checksum(kind: u8, payload: &[u8]) -> u32 {
    masked(crc32c::crc32c_append(crc32c::crc32c(&[kind]), payload))
}

/// A stored checksum differs from a computed one, so that a log within a log does not check by chance.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Cuts records into fragments.
#[derive(Debug, Default)]
pub struct Framer {
    block_offset: usize,
}

impl Framer {
    /// Appends the fragments of a record to `out`, which continues the file where the last call left it.
    pub fn frame(&mut self, mut payload: &[u8], out: &mut Vec<u8>) {
        let mut first = true;
        loop {
            let mut left = BLOCK_BYTES - self.block_offset;
            if left < HEADER_BYTES {
                out.resize(out.len() + left, 0);
                self.block_offset = 0;
                left = BLOCK_BYTES;
            }
            let (fragment, rest) = payload.split_at(payload.len().min(left - HEADER_BYTES));
            let kind = match (first, rest.is_empty()) {
                (true, true) => FULL,
                (true, false) => FIRST,
                (false, false) => MIDDLE,
                (false, true) => LAST,
            };
            out.extend_from_slice(&checksum(kind, fragment).to_le_bytes());
            out.extend_from_slice(&(fragment.len() as u16).to_le_bytes());
            out.push(kind);
            out.extend_from_slice(fragment);
            self.block_offset += HEADER_BYTES + fragment.len();
            payload = rest;
            first = false;
            if payload.is_empty() {
                return;
            }
        }
    }
}

/// What a reader found.
#[derive(Debug, PartialEq, Eq)]
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
    /// Bytes that a crash did not let reach the disk.
    Torn {
        /// Where the torn record begins.
        offset: usize,
    },
}

/// Reads the records of a log that is in memory.
pub struct Reader<'a> {
    name: &'a str,
    bytes: &'a [u8],
    at: usize,
    joined: Vec<u8>,
}

enum Fragment {
    Good { kind: u8, start: usize, end: usize },
    End,
    Torn,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`, which are those of the file `name`.
    pub fn new(name: &'a str, bytes: &'a [u8]) -> Self {
        Self { name, bytes, at: 0, joined: Vec::new() }
    }

    /// The next record. A fragment that is cut by the end of the file, or that covers a sector of nothing but zeros, is
    /// torn; one that is complete and does not match its checksum is corruption.
    pub fn next_record(&mut self) -> Result<Record<'_>> {
        self.joined.clear();
        let mut began = None;
        loop {
            let before = self.at;
            let offset = began.unwrap_or(before);
            match self.next_fragment()? {
                Fragment::End if began.is_none() => return Ok(Record::End),
                Fragment::End | Fragment::Torn => return Ok(Record::Torn { offset }),
                Fragment::Good { kind: FULL, start, end } if began.is_none() => {
                    return Ok(Record::Whole { payload: &self.bytes[start..end], offset: start - HEADER_BYTES });
                }
                Fragment::Good { kind: FIRST, start, end } if began.is_none() => {
                    began = Some(start - HEADER_BYTES);
                    self.joined.extend_from_slice(&self.bytes[start..end]);
                }
                Fragment::Good { kind: MIDDLE, start, end } if began.is_some() => {
                    self.joined.extend_from_slice(&self.bytes[start..end]);
                }
                Fragment::Good { kind: LAST, start, end } if began.is_some() => {
                    self.joined.extend_from_slice(&self.bytes[start..end]);
                    return Ok(Record::Whole { payload: &self.joined, offset });
                }
                Fragment::Good { .. } => return Err(self.corrupt(before, "a fragment out of order")),
            }
        }
    }

    fn corrupt(&self, offset: usize, what: &str) -> Error {
        Error::corruption(self.name, offset as u64, what)
    }

    fn next_fragment(&mut self) -> Result<Fragment> {
        let left = BLOCK_BYTES - self.at % BLOCK_BYTES;
        if left < HEADER_BYTES {
            let pad = &self.bytes[self.at.min(self.bytes.len())..(self.at + left).min(self.bytes.len())];
            if pad.iter().any(|byte| *byte != 0) {
                return Err(self.corrupt(self.at, "padding is not zero"));
            }
            self.at += left;
        }
        let block_end = (self.at / BLOCK_BYTES + 1) * BLOCK_BYTES;
        if self.at >= self.bytes.len() {
            return Ok(Fragment::End);
        }
        let Some(header) = self.bytes[self.at..].first_chunk::<HEADER_BYTES>() else { return Ok(Fragment::Torn) };
        let start = self.at + HEADER_BYTES;
        let len = u16::from_le_bytes([header[4], header[5]]) as usize;
        if start + len > block_end {
            return self.torn_or(self.at, start, "a fragment longer than its block");
        }
        let kind = header[6];
        let wanted = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        if start + len > self.bytes.len() {
            if ends_earlier(kind, &self.bytes[start..], wanted) {
                return Err(self.corrupt(self.at, "the length of a fragment is wrong"));
            }
            return Ok(Fragment::Torn);
        }
        if wanted != checksum(kind, &self.bytes[start..start + len]) {
            return self.torn_or(self.at, start + len, "the checksum of a fragment does not match");
        }
        if !(FULL..=LAST).contains(&kind) {
            return Err(self.corrupt(self.at, "a fragment of unknown type"));
        }
        self.at = start + len;
        Ok(Fragment::Good { kind, start, end: start + len })
    }

    fn torn_or(&self, start: usize, end: usize, what: &str) -> Result<Fragment> {
        if self.has_hole(start, end) { Ok(Fragment::Torn) } else { Err(self.corrupt(start, what)) }
    }

    /// Whether a record begins intact somewhere behind `offset`.
    pub fn is_followed(&self, offset: usize) -> bool {
        (offset + 1..self.bytes.len()).any(|at| {
            let Some(header) = self.bytes[at..].first_chunk::<HEADER_BYTES>() else { return false };
            let (start, len) = (at + HEADER_BYTES, u16::from_le_bytes([header[4], header[5]]) as usize);
            let wanted = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
            let begins = matches!(header[6], FULL | FIRST);
            begins && self.bytes.get(start..start + len).is_some_and(|payload| checksum(header[6], payload) == wanted)
        })
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

/// Whether some beginning of `payload` has the checksum: then the fragment was complete, and its length was changed.
fn ends_earlier(kind: u8, payload: &[u8], wanted: u32) -> bool {
    let mut crc = crc32c::crc32c(&[kind]);
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

    fn framed(records: &[Vec<u8>]) -> Vec<u8> {
        let (mut framer, mut bytes) = (Framer::default(), Vec::new());
        for record in records {
            framer.frame(record, &mut bytes);
        }
        bytes
    }

    fn whole_records(bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let (mut reader, mut records) = (Reader::new("log", bytes), Vec::new());
        while let Record::Whole { payload, .. } = reader.next_record()? {
            records.push(payload.to_vec());
        }
        Ok(records)
    }

    fn records() -> impl Strategy<Value = Vec<Vec<u8>>> {
        proptest::collection::vec(proptest::collection::vec(1u8.., 0..40_000), 1..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn records_come_back_whole(records in records()) {
            prop_assert_eq!(whole_records(&framed(&records)).unwrap(), records);
        }

        #[test]
        fn a_cut_log_yields_the_records_before_the_cut(records in records(), cut in 0.0..1.0) {
            let bytes = framed(&records);
            let found = whole_records(&bytes[..(bytes.len() as f64 * cut) as usize]).unwrap();
            prop_assert_eq!(&found[..], &records[..found.len()]);
        }

        #[test]
        fn a_flipped_bit_is_an_error(records in records(), at in 0.0..1.0) {
            let mut bytes = framed(&records);
            let bit = (bytes.len() as f64 * 8.0 * at) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(whole_records(&bytes).is_err());
        }
    }

    #[test]
    fn a_sector_that_never_reached_the_disk_is_torn_not_corrupt() {
        let records = vec![vec![7; 100], vec![8; 2000], vec![9; 100]];
        let mut bytes = framed(&records);
        bytes[1024..1536].fill(0);
        let mut reader = Reader::new("log", &bytes);
        assert!(matches!(reader.next_record().unwrap(), Record::Whole { .. }));
        assert_eq!(reader.next_record().unwrap(), Record::Torn { offset: 107 });
        assert!(reader.is_followed(107));
        assert!(!reader.is_followed(107 + 2007));
    }

    #[test]
    fn rocksdbs_log_of_200_000_puts_has_the_same_size() {
        let (mut framer, mut bytes, mut ticker) = (Framer::default(), 0, 0);
        let (mut batch, mut out) = (crate::engine::WriteBatch::default(), Vec::new());
        for n in 0..200_000u64 {
            let mut key = [b'0'; 16];
            key[..8].copy_from_slice(&n.to_be_bytes());
            batch.clear();
            batch.put(&key, &[b'v'; 100]);
            out.clear();
            framer.frame(batch.encode(n + 1), &mut out);
            ticker += batch.encoded_bytes();
            bytes += out.len();
        }
        assert_eq!((ticker, bytes), (26_200_000, 27_605_726));
    }
}

//! Reads the records of a log back, and tells where it breaks off and whether a power cut may have done it.

use super::format::{
    BLOCK_BYTES, FIRST, FULL, HEADER_BYTES, KIND, LAST, MIDDLE, checksum, checksum_of_place, masked, synced_below,
};
use crate::cost::Work;
use crate::error::Result;
use crate::metrics::Purpose;
use crate::storage::StorageFile;
use crate::task::Task;

/// Bytes that a device writes or loses as a whole.
const SECTOR_BYTES: usize = 512;

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
    /// Whether a power cut may have done it, as far as the bytes of the record tell: the file ends before it does, or
    /// some sector of it is nothing but zeros.
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

    /// Places from `at` on where a record begins intact, with the types of their first fragments. All blocks begin with
    /// a fragment, so damage in one hides nothing of the next.
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

    /// Whether the part of some sector within a range is nothing but zeros: what a sector that was never written reads
    /// as.
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

/// Whether some beginning of `payload` has the checksum that begins with `crc`: then the fragment was complete, and its
/// length was changed.
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

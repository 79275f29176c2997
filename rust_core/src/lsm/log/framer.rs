//! Cuts records into the fragments of a log.

use super::format::{BLOCK_BYTES, FIRST, FULL, HEADER_BYTES, KIND_BITS, LAST, MIDDLE, checksum, synced_class};

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

    /// Appends the fragments of a record to `out`, which continues the file where the last call left it. `synced`: up
    /// to where this log, and all of the logs before it, are durable, if so much is.
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

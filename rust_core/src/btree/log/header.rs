//! The header of the redo log's file: what the log says about itself, and its checkpoints.

use super::block::{BLOCK, PAYLOAD};
use crate::btree::page::get_u64;
use crate::btree::space::{REDO_FILE, read_padded};
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::storage::StorageFile;
use crate::task::Task;
use std::ops::RangeInclusive;

/// Bytes in front of the circular region.
pub const LOG_HEADER_BYTES: u64 = 2048;
const MAGIC: &[u8; 8] = b"tbredo05";
/// Where the two checkpoints are, used in turn.
pub const CHECKPOINT_AT: [u64; 2] = [512, 1024];
/// What `innodb_redo_log_capacity` may be.
const CAPACITIES: RangeInclusive<u64> = 256 << 10..=1 << 40;
/// More than any log reaches.
const MAX_LSN: u64 = 1 << 62;

/// What a log file says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Page size of the engine that made the log.
    pub page_bytes: u64,
    /// Bytes of a compressed table's page on storage; 0 if tables are not compressed.
    pub key_block_bytes: u64,
    /// Whether compressed tables have a tablespace of their own, beside others that are not compressed.
    pub mixed: bool,
    /// Whether keys begin with index numbers.
    pub indexed: bool,
    /// Bytes of the file, header included.
    pub capacity: u64,
    /// A random number that the page file has too: which pages this log is of.
    pub instance: u64,
}

/// Where recovery begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// Number of this checkpoint; the two slots are used in turn.
    pub sequence: u64,
    /// All changes before are in the page file.
    pub lsn: u64,
    /// The log was durable to here when the checkpoint was written: recovery must get at least this far.
    pub reach: u64,
    /// Bytes that the files of the tablespaces had at least.
    pub page_file_bytes: [u64; 2],
}

/// Gives a block of the header its checksum.
pub fn seal(block: &mut [u8]) {
    let checksum = crc32c::crc32c(&block[4..]);
    block[..4].copy_from_slice(&checksum.to_le_bytes());
}

fn is_sealed(block: &[u8]) -> bool {
    crc32c::crc32c(&block[4..]).to_le_bytes() == block[..4]
}

fn field(block: &[u8], at: usize) -> u64 {
    get_u64(block, at)
}

impl Header {
    /// As a block of the file.
    pub(super) fn encode(&self) -> [u8; BLOCK as usize] {
        let mut block = [0; BLOCK as usize];
        block[8..16].copy_from_slice(MAGIC);
        block[16..24].copy_from_slice(&self.page_bytes.to_le_bytes());
        block[24..32].copy_from_slice(&self.capacity.to_le_bytes());
        block[32] = u8::from(self.indexed);
        block[33] = u8::from(self.mixed);
        block[40..48].copy_from_slice(&self.key_block_bytes.to_le_bytes());
        block[48..56].copy_from_slice(&self.instance.to_le_bytes());
        seal(&mut block);
        block
    }

    fn decode(block: &[u8]) -> Option<Self> {
        let capacity = field(block, 24);
        let known = is_sealed(block) && block[8..16] == *MAGIC && CAPACITIES.contains(&capacity);
        known.then(|| Self {
            page_bytes: field(block, 16),
            capacity,
            indexed: block[32] == 1,
            mixed: block[33] == 1,
            key_block_bytes: field(block, 40),
            instance: field(block, 48),
        })
    }

    /// Blocks of the circular region.
    pub fn blocks(&self) -> u64 {
        (self.capacity - LOG_HEADER_BYTES) / BLOCK
    }

    /// Bytes of the log that the circular region holds.
    pub fn region(&self) -> u64 {
        self.blocks() * PAYLOAD
    }
}

impl Checkpoint {
    /// As a block of the file.
    pub(super) fn encode(&self) -> [u8; BLOCK as usize] {
        let mut block = [0; BLOCK as usize];
        let [system, compressed] = self.page_file_bytes;
        for (at, value) in [(8, self.sequence), (16, self.lsn), (24, self.reach), (32, system), (40, compressed)] {
            block[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        seal(&mut block);
        block
    }

    fn decode(block: &[u8]) -> Option<Self> {
        let found = Self {
            sequence: field(block, 8),
            lsn: field(block, 16),
            reach: field(block, 24),
            page_file_bytes: [field(block, 32), field(block, 40)],
        };
        let in_range = found.lsn <= found.reach && found.reach < MAX_LSN && (1..u64::MAX).contains(&found.sequence);
        (is_sealed(block) && in_range).then_some(found)
    }
}

/// The newest checkpoint, if its slot and the other are what they must be: storage writes a slot whole or not at all,
/// and the one before was durable when the newest was written.
fn newest_checkpoint(header: &[u8]) -> Result<Checkpoint> {
    let mut slots = [Checkpoint::default(); 2];
    for (slot, at) in slots.iter_mut().zip(CHECKPOINT_AT) {
        let block = &header[at as usize..(at + BLOCK) as usize];
        if block.iter().any(|byte| *byte != 0) {
            *slot = Checkpoint::decode(block)
                .ok_or_else(|| Error::corruption(REDO_FILE, at, "the checksum of the checkpoint does not match"))?;
        }
    }
    let newest = usize::from(slots[1].sequence > slots[0].sequence);
    let [newest, other] = [slots[newest], slots[1 - newest]];
    if newest.sequence == 0 || other.sequence + 1 != newest.sequence {
        let missing = CHECKPOINT_AT[(newest.sequence.saturating_sub(1) % 2) as usize];
        let what = format!("the checkpoint before number {} is missing", newest.sequence);
        return Err(Error::corruption(REDO_FILE, missing, what));
    }
    Ok(newest)
}

/// Reads a log's header and its newest checkpoint.
pub fn read_header(file: &dyn StorageFile, task: &mut Task) -> Result<(Header, Checkpoint)> {
    let mut bytes = vec![0; LOG_HEADER_BYTES as usize];
    read_padded(file, task, Purpose::Recovery, 0, &mut bytes)?;
    if file.len() < LOG_HEADER_BYTES {
        let what = format!("the file has {} bytes, the header of a log {LOG_HEADER_BYTES}", file.len());
        return Err(Error::corruption(REDO_FILE, file.len(), what));
    }
    let header = Header::decode(&bytes[..BLOCK as usize])
        .ok_or_else(|| Error::corruption(REDO_FILE, 0, "the header's checksum does not match"))?;
    Ok((header, newest_checkpoint(&bytes)?))
}

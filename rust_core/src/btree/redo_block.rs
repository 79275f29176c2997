//! The blocks that the log is written in, and what they prove when it is read back.
//!
//! Storage writes a block of 512 bytes whole or not at all. So a block that is neither whole nor empty was damaged later;
//! and since each block says how far the log was durable when the block was written, one that is whole proves that nothing
//! before that point can be torn. Where neither speaks against it, a log that breaks off was never synced beyond.

use super::page::{get_u32, get_u64, put_u32, put_u64};
use super::redo::{Checkpoint, FILE, HEADER_BYTES, Header, read_padded, whole_frame};
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::storage::StorageFile;
use crate::task::Task;

/// Unit in which the log is written.
pub const BLOCK: u64 = 512;
/// Bytes of the log in a block. The other 16 are what InnoDB's blocks take for header and trailer.
pub const PAYLOAD: u64 = 496;

/// Bytes of the length that a frame begins with.
const LENGTH_BYTES: usize = 4;

const AT_DURABLE: usize = 4;
const AT_LSN: usize = 8;
const AT_PAYLOAD: usize = (BLOCK - PAYLOAD) as usize;

/// Blocks read at a time.
const CHUNK: u64 = 2048;
/// Blocks without anything of this log after which no more are looked for: 16 MiB.
const MOST_FOREIGN: u64 = 32_768;

/// What a block is, to those who expect bytes of the log from some LSN on in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    /// It has them, and the log was durable to `durable` when it was written.
    Whole { durable: u64 },
    /// Never written, or written when the log was elsewhere.
    Foreign,
    /// No block that was ever written.
    Damaged,
}

/// Appends the blocks for a stretch of the log from `lsn` on, a whole number of them.
pub fn append_blocks(out: &mut Vec<u8>, mut lsn: u64, log: &[u8], durable: u64) {
    for payload in log.chunks_exact(PAYLOAD as usize) {
        let start = out.len();
        out.extend_from_slice(&[0; AT_PAYLOAD]);
        out.extend_from_slice(payload);
        let block = &mut out[start..];
        let behind = u32::try_from((lsn + PAYLOAD).saturating_sub(durable)).unwrap_or(u32::MAX);
        put_u32(block, AT_DURABLE, behind);
        put_u64(block, AT_LSN, lsn);
        let sum = crc32c::crc32c(&block[4..]);
        put_u32(block, 0, sum);
        lsn += PAYLOAD;
    }
}

fn judge(block: &[u8], lsn: u64) -> Block {
    if crc32c::crc32c(&block[4..]) != get_u32(block, 0) {
        return if block.iter().all(|byte| *byte == 0) { Block::Foreign } else { Block::Damaged };
    }
    if get_u64(block, AT_LSN) != lsn {
        return Block::Foreign;
    }
    let behind = u64::from(get_u32(block, AT_DURABLE));
    // A distance that does not fit says nothing.
    let durable = if behind == u64::from(u32::MAX) { 0 } else { (lsn + PAYLOAD).saturating_sub(behind) };
    Block::Whole { durable }
}

/// Where the byte of the log with this LSN lies in the file.
pub fn offset_of(header: Header, lsn: u64) -> u64 {
    HEADER_BYTES + lsn / PAYLOAD % header.blocks() * BLOCK + AT_PAYLOAD as u64 + lsn % PAYLOAD
}

/// What the blocks of a file hold of its log.
struct Found {
    /// The log up to the first block that does not have it.
    log: Vec<u8>,
    /// That block's LSN, and whether it is damaged.
    hole: Option<(u64, bool)>,
    /// The log was durable to here.
    durable: u64,
}

fn read_blocks(file: &dyn StorageFile, task: &mut Task, header: Header, from: Checkpoint) -> Result<Found> {
    let mut found = Found { log: Vec::new(), hole: None, durable: from.reach };
    let (first, blocks) = (from.lsn / PAYLOAD, header.blocks());
    let (mut read, mut foreign, mut chunk) = (0, 0, Vec::new());
    while read < blocks && foreign < MOST_FOREIGN {
        let place = (first + read) % blocks;
        let count = CHUNK.min(blocks - place).min(blocks - read);
        chunk.resize((count * BLOCK) as usize, 0);
        read_padded(file, task, Purpose::Recovery, HEADER_BYTES + place * BLOCK, &mut chunk)?;
        for (n, block) in chunk.chunks_exact(BLOCK as usize).enumerate() {
            let lsn = (first + read + n as u64) * PAYLOAD;
            let state = judge(block, lsn);
            match state {
                Block::Whole { durable } => {
                    (found.durable, foreign) = (found.durable.max(durable), 0);
                    if found.hole.is_none() {
                        let skipped = from.lsn.saturating_sub(lsn) as usize;
                        found.log.extend_from_slice(&block[AT_PAYLOAD + skipped..]);
                    }
                }
                Block::Foreign | Block::Damaged => {
                    foreign += 1;
                    found.hole.get_or_insert((lsn, state == Block::Damaged));
                }
            }
        }
        read += count;
    }
    Ok(found)
}

/// Reads the log from a checkpoint on: the bytes of its frames, up to the first that is not whole. Fails if that one was
/// durable, or is not whole because of a damaged block.
pub fn read_frames(file: &dyn StorageFile, task: &mut Task, header: Header, from: Checkpoint) -> Result<Vec<u8>> {
    let Found { mut log, hole, durable } = read_blocks(file, task, header, from)?;
    let mut whole = 0;
    while let Some(bytes) = whole_frame(&log[whole..], from.lsn + whole as u64) {
        whole += bytes;
    }
    let end = from.lsn + whole as u64;
    // A log that ends before is padded with zeros, which are no frame's length.
    let ends_before = whole < log.len() && log[whole..].iter().take(LENGTH_BYTES).all(|byte| *byte == 0);
    if let Some((lsn, true)) = hole.filter(|_| !ends_before) {
        let what = format!("the checksum of the block with LSN {lsn} does not match");
        return Err(Error::corruption(FILE, offset_of(header, lsn) - AT_PAYLOAD as u64, what));
    }
    if end < durable {
        let what = format!("the log ends at LSN {end}, but was durable to {durable}");
        return Err(Error::corruption(FILE, offset_of(header, end), what));
    }
    log.truncate(whole);
    Ok(log)
}

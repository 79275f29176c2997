//! Reading the log back from a checkpoint on, as recovery does, and what its blocks prove.
//!
//! Each block says how far the log was durable when the block was written, so one that is whole proves that nothing
//! before that point can be torn. Where nothing speaks against it, a log that breaks off was never synced beyond.

use super::block::{AT_PAYLOAD, BLOCK, Block, PAYLOAD, judge};
use super::frame::whole_frame;
use super::header::{Checkpoint, Header, LOG_HEADER_BYTES};
use crate::btree::space::{REDO_FILE, read_padded};
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::storage::StorageFile;
use crate::task::Task;

/// Bytes of the length that a frame begins with.
const LENGTH_BYTES: usize = 4;

/// Blocks read at a time.
const CHUNK: u64 = 2048;
/// Blocks without anything of this log after which no more are looked for: 16 MiB.
const MOST_FOREIGN: u64 = 32_768;

/// Where the byte of the log with this LSN lies in the file.
pub fn offset_of(header: Header, lsn: u64) -> u64 {
    LOG_HEADER_BYTES + lsn / PAYLOAD % header.blocks() * BLOCK + AT_PAYLOAD as u64 + lsn % PAYLOAD
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
        read_padded(file, task, Purpose::Recovery, LOG_HEADER_BYTES + place * BLOCK, &mut chunk)?;
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

/// Reads the log from a checkpoint on: the bytes of its frames, up to the first that is not whole. Fails if that one
/// was durable, or is not whole because of a damaged block.
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
        return Err(Error::corruption(REDO_FILE, offset_of(header, lsn) - AT_PAYLOAD as u64, what));
    }
    if end < durable {
        let what = format!("the log ends at LSN {end}, but was durable to {durable}");
        return Err(Error::corruption(REDO_FILE, offset_of(header, end), what));
    }
    log.truncate(whole);
    Ok(log)
}

//! The blocks that the log is written in. Storage writes a block of 512 bytes whole or not at all, so one that is
//! neither whole nor empty was damaged later.

use crate::btree::page::{get_u32, get_u64, put_u32, put_u64};

/// Unit in which the log is written.
pub const BLOCK: u64 = 512;
/// Bytes of the log in a block. The other 16 are what InnoDB's blocks take for header and trailer.
pub const PAYLOAD: u64 = 496;

const AT_DURABLE: usize = 4;
const AT_LSN: usize = 8;
/// Where the bytes of the log begin in a block.
pub const AT_PAYLOAD: usize = (BLOCK - PAYLOAD) as usize;

/// What a block is, to those who expect bytes of the log from some LSN on in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
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

/// What a block is, where the log should go on at `lsn`.
pub fn judge(block: &[u8], lsn: u64) -> Block {
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

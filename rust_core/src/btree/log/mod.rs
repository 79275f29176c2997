//! What makes changes outlive a crash: the redo log with its blocks, frames and limits, what a frame says, and the
//! doublewrite area. It knows pages and their files; the pool and all above may know it.

mod block;
mod doublewrite;
mod frame;
mod header;
mod redo;
mod redo_op;
mod scan;
mod thresholds;

#[cfg(test)]
pub use block::append_blocks;
pub use block::{BLOCK, PAYLOAD};
pub use doublewrite::Doublewrite;
pub use frame::frames_in;
#[cfg(any(test, fuzzing))]
pub use frame::{FRAME_HEADER, frame_checksum};
pub use header::{Checkpoint, Header, read_header};
#[cfg(any(test, fuzzing))]
pub use header::{LOG_HEADER_BYTES, seal};
pub use redo::Redo;
pub use redo_op::{RedoOp, restore_image};
pub use scan::{offset_of, read_frames};
pub use thresholds::Thresholds;

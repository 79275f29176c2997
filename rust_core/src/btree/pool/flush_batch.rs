//! A batch of pages, from its write until its pages count as clean.

use std::sync::atomic::AtomicBool;

/// Pages that are written together.
pub struct FlushBatch {
    pub(super) frames: Vec<u32>,
    pub(super) completed: AtomicBool,
}

//! Pages that are written together.

use std::sync::atomic::AtomicBool;

/// Pages that are written together.
pub struct FlushBatch {
    pub(super) frames: Vec<u32>,
    pub(super) completed: AtomicBool,
}

//! A data block that its file keeps decoded (`StorageFile::decoded`), with what decoding it is charged for.

use super::block::Block;
use super::format::Handle;
use crate::codec::{Compression, compression::filled_bytes};
use crate::cost::Work;
use crate::storage::StorageFile;
use crate::task::Task;
use std::sync::Arc;

/// A decoded block.
pub struct KeptBlock {
    block: Arc<Block>,
    compression: Compression,
    /// Bytes of the block that were work for the algorithm.
    filled_bytes: u64,
}

impl KeptBlock {
    /// The block, if the file keeps it.
    pub fn of(file: &dyn StorageFile, handle: Handle) -> Option<Arc<Self>> {
        file.decoded(handle.offset)?.downcast().ok()
    }

    /// Has the file keep it, if it does such things.
    pub fn keep(file: &dyn StorageFile, handle: Handle, compression: Compression, block: &Arc<Block>) {
        file.keep_decoded(handle.offset, block.memory_bytes() as u64, &|| {
            let filled_bytes = filled_bytes(&block.data);
            Arc::new(Self { block: block.clone(), compression, filled_bytes })
        });
    }

    /// The block, charged for as if its stored bytes had been checked and decoded now.
    pub fn charged(&self, task: &mut Task, stored_bytes: usize) -> Arc<Block> {
        task.charge(Work::ChecksumByte, stored_bytes as u64);
        self.compression.charge_decompressed(task, self.filled_bytes);
        self.block.clone()
    }
}

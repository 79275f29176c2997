//! A data block that its file keeps decoded (`StorageFile::decoded`), with what decoding it is charged for.

use super::block::Block;
use super::format::{BLOCK_TRAILER_BYTES, Handle};
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

    /// A copy of the bytes of a block that was just stored, in as much memory as reading them takes: one that is stored
    /// as it is comes with its trailer.
    pub fn unstored(raw: &[u8], handle: Handle) -> Vec<u8> {
        let trailer_bytes = if is_as_it_was(raw, handle) { BLOCK_TRAILER_BYTES as usize } else { 0 };
        let mut copy = Vec::with_capacity(raw.len() + trailer_bytes);
        copy.extend_from_slice(raw);
        copy
    }

    /// The same of a block that was just written, of which `raw` are the bytes. One that was compressed in vain is
    /// stored as it is.
    pub fn keep_unstored(file: &dyn StorageFile, handle: Handle, compression: Compression, raw: Vec<u8>) {
        let compression = if is_as_it_was(&raw, handle) { Compression::None } else { compression };
        if let Some(block) = Block::decode(raw) {
            Self::keep(file, handle, compression, &Arc::new(block));
        }
    }

    /// The block, charged for as if its stored bytes had been checked and decoded now.
    pub fn charged(&self, task: &mut Task, stored_bytes: usize) -> Arc<Block> {
        task.charge(Work::ChecksumByte, stored_bytes as u64);
        self.compression.charge_decompressed(task, self.filled_bytes);
        self.block.clone()
    }
}

/// Whether a block is stored uncompressed: a compressed one is smaller.
fn is_as_it_was(raw: &[u8], handle: Handle) -> bool {
    handle.bytes == raw.len() as u64
}

#[cfg(test)]
mod tests {
    use super::super::block_builder::BlockBuilder;
    use super::super::format::{open_stored_block, push_block};
    use super::*;
    use crate::metrics::{Meters, Purpose};
    use crate::scale::Scale;
    use crate::storage::simulated::SimulatedStorage;
    use crate::storage::{FileOptions, Storage};
    use xxhash_rust::xxh3::xxh3_64;

    #[test]
    fn a_block_that_was_written_is_found_and_charged_as_if_it_were_decoded() {
        let storage = SimulatedStorage::new(Arc::<Meters>::default(), 1 << 30, 0, Scale::FULL);
        let mut task = Task::wall(0);
        let noise = |n: u32| (0..10u32).flat_map(|i| xxh3_64(&(n * 10 + i).to_le_bytes()).to_le_bytes()).collect();
        let values: [&dyn Fn(u32) -> Vec<u8>; 2] = [&|_| vec![7; 80], &noise];
        for compression in [Compression::None, Compression::Snappy, Compression::Zlib, Compression::Zstd] {
            for (kind, value) in values.iter().enumerate() {
                let mut builder = BlockBuilder::new(16);
                (0..40u32).for_each(|n| builder.add(&[&n.to_be_bytes()[..], &[0; 8]].concat(), &value(n)));
                let raw = builder.finish(<[u8]>::to_vec);
                let mut stored = Vec::new();
                let handle = push_block(&mut task, compression, None, &raw, &mut Vec::new(), &mut stored).unwrap();
                let name = format!("{compression:?}{kind}.sst");
                let file = storage.create(&mut task, &name, FileOptions::DIRECT).unwrap();
                file.write_at(&mut task, Purpose::Flush, 0, &stored).unwrap();
                assert!(file.keeps_decoded() && KeptBlock::of(&*file, handle).is_none());
                KeptBlock::keep_unstored(&*file, handle, compression, KeptBlock::unstored(&raw, handle));
                let bytes = stored.len();
                let (mut asked, mut decoding) = (Task::wall(0), Task::wall(0));
                let found = KeptBlock::of(&*file, handle).unwrap().charged(&mut asked, bytes);
                let (decoded, _) = open_stored_block(&mut decoding, &name, 0, stored.clone()).unwrap();
                let read = Block::decode(decoded).unwrap();
                assert!(found.data == read.data, "{name}");
                assert_eq!(found.memory_bytes(), read.memory_bytes(), "{name}");
                assert_eq!(asked.work(), decoding.work(), "{name}");
            }
        }
    }
}

//! A data block that its file keeps decoded (`StorageFile::decoded`), with what decoding it is charged for.

use super::block::Block;
use super::format::{BLOCK_TRAILER_BYTES, Handle};
use crate::codec::{Compression, filled_bytes};
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
        if !file.keeps_decoded() {
            return;
        }
        let filled_bytes = filled_bytes(&block.data);
        Arc::new(Self { block: block.clone(), compression, filled_bytes }).keep_written(file, handle);
    }

    /// A block of which `raw` are the bytes, that was just stored, as it would be found: one that was compressed in
    /// vain is stored as it is, and is read with its trailer, which caches count. `None` if it is no data block.
    pub fn written(raw: &[u8], handle: Handle, compression: Compression) -> Option<Arc<Self>> {
        let is_compressed = handle.bytes < raw.len() as u64;
        let (compression, trailer_bytes) =
            if is_compressed { (compression, 0) } else { (Compression::None, BLOCK_TRAILER_BYTES as usize) };
        let mut data = Vec::with_capacity(raw.len() + trailer_bytes);
        data.extend_from_slice(raw);
        let block = Arc::new(Block::decode(data)?);
        Some(Arc::new(Self { block, compression, filled_bytes: filled_bytes(raw) }))
    }

    /// Has the file keep a block that was written to it.
    pub fn keep_written(self: &Arc<Self>, file: &dyn StorageFile, handle: Handle) {
        file.keep_decoded(handle.offset, self.block.memory_bytes() as u64, self.clone());
    }

    /// The block, charged for as if its stored bytes had been checked and decoded now.
    pub fn charged(&self, task: &mut Task, stored_bytes: usize) -> Arc<Block> {
        task.charge(Work::ChecksumByte, stored_bytes as u64);
        self.compression.charge_decompressed(task, self.filled_bytes);
        self.block.clone()
    }
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
                KeptBlock::written(&raw, handle, compression).unwrap().keep_written(&*file, handle);
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

//! What readers and writers made of the bytes of simulated files, kept beside them: a block that was decompressed or
//! compressed before need not be decompressed, as long as there is memory for it, and one that will be found here need
//! not be compressed (`lsm/table/builder.rs`). Whoever finds something here is charged for the reading and decoding all
//! the same.

use super::contract::Decoded;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that are kept for the files of one storage. The data of a study's trial fits; of larger runs it is a part.
const MOST_BYTES: u64 = 512 << 20;

/// Bytes that are kept beside all files of a storage.
pub type KeptBytes = Arc<AtomicU64>;

/// Whether more shall be kept.
pub fn has_room(of_all: &KeptBytes) -> bool {
    of_all.load(Ordering::Relaxed) < MOST_BYTES
}

/// Offsets of blocks are far apart and nobody chooses them: one multiplication spreads them.
#[derive(Debug, Clone, Copy, Default)]
struct OffsetHasher(u64);

impl Hasher for OffsetHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, offset: u64) {
        self.0 = (self.0 ^ offset).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// What was made of one file, by offset.
#[derive(Debug)]
pub struct DecodedParts {
    parts: RwLock<HashMap<u64, Decoded, BuildHasherDefault<OffsetHasher>>>,
    bytes: AtomicU64,
    of_all: KeptBytes,
}

impl DecodedParts {
    /// Of a file of the storage that keeps so many bytes of all its files.
    pub fn new(of_all: KeptBytes) -> Self {
        Self { parts: RwLock::default(), bytes: AtomicU64::new(0), of_all }
    }

    /// Bytes that are kept of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// What was made of the bytes at `offset`.
    pub fn get(&self, offset: u64) -> Option<Decoded> {
        self.parts.read().get(&offset).cloned()
    }

    /// Keeps what was made of the bytes at `offset`, which takes so many bytes.
    pub fn keep(&self, offset: u64, bytes: u64, decoded: Decoded) {
        if self.parts.write().insert(offset, decoded).is_none() {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            self.of_all.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

impl Drop for DecodedParts {
    fn drop(&mut self) {
        self.of_all.fetch_sub(self.bytes(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_room_until_they_keep_enough_and_one_that_goes_makes_room() {
        let of_all = KeptBytes::default();
        let (one, other) = (DecodedParts::new(of_all.clone()), DecodedParts::new(of_all.clone()));
        one.keep(0, MOST_BYTES - 1, Arc::new(1));
        assert!(has_room(&of_all));
        other.keep(0, 2, Arc::new(2));
        assert!(!has_room(&of_all));
        drop(one);
        assert!(has_room(&of_all));
        assert_eq!(other.get(0).and_then(|found| found.downcast_ref().copied()), Some(2));
        assert_eq!(of_all.load(Ordering::Relaxed), 2);
    }
}

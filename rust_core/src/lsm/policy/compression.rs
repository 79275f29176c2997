//! Which codec the blocks of a level get: RocksDB's `GetCompressionFlush` and `GetCompressionType`.

use crate::codec::Compression;

/// The codecs of a tree, as the options name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelCodecs {
    /// Codec of every level that has no other (`compression`).
    pub usual: Compression,
    /// Codec of level 0, of the base level, and of those below it in turn; the last one goes on (`compression_per_level`).
    /// Empty: `usual` everywhere.
    pub per_level: Vec<Compression>,
    /// Codec of the deepest level with files, if it is its own (`bottommost_compression`).
    pub bottommost: Option<Compression>,
}

impl LevelCodecs {
    /// Codec of a flushed table, which is never that of the last level.
    pub fn flushed(&self) -> Compression {
        self.of_place(0)
    }

    /// Codec of a table that a compaction writes to `level`, where `last_level` is the deepest one with files.
    pub fn at(&self, level: usize, base_level: usize, last_level: usize) -> Compression {
        match self.bottommost {
            Some(bottommost) if level > 0 && level >= last_level => bottommost,
            // A level above the base, while it is being emptied, counts as level 0.
            _ => self.of_place(if level == 0 { 0 } else { (level + 1).saturating_sub(base_level) }),
        }
    }

    fn of_place(&self, place: usize) -> Compression {
        self.per_level.get(place).or(self.per_level.last()).copied().unwrap_or(self.usual)
    }
}

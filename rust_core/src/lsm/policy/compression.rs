//! Which codec the blocks of a level get: RocksDB's `GetCompressionFlush`, `GetCompressionType` and
//! `SstFileWriter::Open`.

use crate::codec::Compression;
use crate::lsm::options::LevelCodecs;

/// Codec of a flushed table, which is never that of the last level.
pub fn flush_compression(codecs: &LevelCodecs) -> Compression {
    of_place(codecs, 0)
}

/// Codec of a table that a compaction writes to `level`, where `last_level` is the deepest one with files.
pub fn level_compression(codecs: &LevelCodecs, level: usize, base_level: usize, last_level: usize) -> Compression {
    match codecs.bottommost {
        Some(bottommost) if level > 0 && level >= last_level => bottommost,
        // A level above the base, while it is being emptied, counts as level 0.
        _ => of_place(codecs, if level == 0 { 0 } else { (level + 1).saturating_sub(base_level) }),
    }
}

/// Codec of a table that is written to be ingested, whatever level that puts it into.
pub fn ingested_compression(codecs: &LevelCodecs) -> Compression {
    codecs.bottommost.or(codecs.per_level.last().copied()).unwrap_or(codecs.usual)
}

fn of_place(codecs: &LevelCodecs, place: usize) -> Compression {
    codecs.per_level.get(place).or(codecs.per_level.last()).copied().unwrap_or(codecs.usual)
}

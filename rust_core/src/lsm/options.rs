//! The options of the LSM, with RocksDB 10.4's names and defaults. Every option here is honoured; lower bounds are
//! below RocksDB's usual values so that trials can be scaled down.

use super::keys::PrefixExtractor;
use crate::codec::Compression;
use crate::engine_options;
use crate::error::{Error, Result};
use crate::options::Accepts;
use crate::storage::PageCached;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

const PRIORITIES: &[&str] =
    &["kByCompensatedSize", "kOldestLargestSeqFirst", "kOldestSmallestSeqFirst", "kMinOverlappingRatio"];
const WAL_RECOVERY_MODES: &[&str] =
    &["kTolerateCorruptedTailRecords", "kAbsoluteConsistency", "kPointInTimeRecovery", "kSkipAnyCorruptedRecords"];
const COMPRESSIONS: &[&str] = &["kNoCompression", "kSnappyCompression", "kZlibCompression", "kLZ4Compression", "kZSTD"];
const BOTTOMMOST: &[&str] = &[
    "kDisableCompressionOption",
    "kNoCompression",
    "kSnappyCompression",
    "kZlibCompression",
    "kLZ4Compression",
    "kZSTD",
];

/// The value of `compression_opts_level` that stands for each codec's own default (`kDefaultCompressionLevel`).
const DEFAULT_LEVEL: u64 = 32767;

/// Upper bound of options that count bytes.
const HUGE: u64 = 1 << 44;

const CODECS: Accepts = Accepts::Text(
    "nothing, or codecs of compression with colons between them",
    "((kNoCompression|kSnappyCompression|kZlibCompression|kLZ4Compression|kZSTD)\
     (:(kNoCompression|kSnappyCompression|kZlibCompression|kLZ4Compression|kZSTD))*)?",
);
const FILTER: Accepts = Accepts::Text(
    "nullptr or bloomfilter:BITS:false with 1 to 50 bits",
    "nullptr|bloomfilter:([1-9]|[1-4][0-9]|50):false",
);
const PREFIX: Accepts = Accepts::Text("nullptr, fixed:BYTES or capped:BYTES", "nullptr|(fixed|capped):[1-9][0-9]{0,3}");

engine_options! {
    /// Settings of an LSM engine.
    Options {
        write_buffer_size: u64 = 64 * MIB, Accepts::Bytes(16 * KIB, 16 * GIB),
            "Size of one memtable; a full one is flushed to a level-0 file.";
        max_write_buffer_number: u64 = 2u64, Accepts::Range(2.0, 64.0),
            unit "memtables", at_least min_write_buffer_number_to_merge,
            "Memtables that wait for their flush, beside the active one, at which writes stop.";
        min_write_buffer_number_to_merge: u64 = 1u64, Accepts::Range(1.0, 63.0), unit "memtables",
            "Full memtables that are merged into one level-0 file by a flush.";
        level0_file_num_compaction_trigger: u64 = 4u64, Accepts::Range(1.0, 1000.0), unit "files",
            "Files in level 0 that start a compaction into the base level.";
        level0_slowdown_writes_trigger: u64 = 20u64, Accepts::Range(1.0, 10000.0),
            unit "files", at_least level0_file_num_compaction_trigger,
            "Files in level 0 at which writes are delayed.";
        level0_stop_writes_trigger: u64 = 36u64, Accepts::Range(1.0, 10000.0),
            unit "files", at_least level0_slowdown_writes_trigger,
            "Files in level 0 at which writes stop.";
        max_bytes_for_level_base: u64 = 256 * MIB, Accepts::Bytes(16 * KIB, HUGE),
            "Target size of the base level, the first one below level 0.";
        max_bytes_for_level_multiplier: f64 = 10.0, Accepts::Range(1.1, 1000.0), unit "ratio",
            "How many times larger each level's target is than the one above it.";
        level_compaction_dynamic_level_bytes: bool = true, Accepts::Switch,
            "Derives the level targets from the size of the last level, which bounds the space that old versions \
             take.";
        target_file_size_base: u64 = 64 * MIB, Accepts::Bytes(16 * KIB, HUGE),
            "Size at which a compaction into the base level starts a new file.";
        target_file_size_multiplier: u64 = 1u64, Accepts::Range(1.0, 100.0), unit "ratio",
            "How many times larger files are on each level than on the one above it.";
        level_compaction_dynamic_file_size: bool = true, Accepts::Switch,
            "Ends the files of a compaction at boundaries of the level below, so that later compactions read fewer \
             files.";
        size_based_intra_l0_compaction: bool = true, Accepts::Switch,
            "Merges the files of level 0 with one another where the base level is so large that they are not worth a \
             merge with it.";
        num_levels: u64 = 7u64, Accepts::Range(2.0, 12.0), unit "levels",
            "Levels of the tree, level 0 included.";
        max_compaction_bytes: u64 = 0u64, Accepts::Bytes(0, HUGE),
            "Bytes that one compaction takes at most; 0 stands for 25 times target_file_size_base.";
        max_background_jobs: u64 = 2u64, Accepts::Range(1.0, 128.0), unit "jobs",
            "Flushes and compactions that run at once; a quarter of them, at least one, is kept for flushes.";
        compaction_pri: String = "kMinOverlappingRatio", Accepts::Words(PRIORITIES),
            "Which file of a level is compacted first.";
        compaction_readahead_size: u64 = 2 * MIB, Accepts::Bytes(0, GIB),
            "Bytes that a compaction reads ahead from each input file; 0 reads block by block.";
        compression: String = "kSnappyCompression", Accepts::Words(COMPRESSIONS),
            "Codec of the blocks on every level that has no other.";
        bottommost_compression: String = "kDisableCompressionOption", Accepts::Words(BOTTOMMOST),
            "Codec of the blocks on the last level, where nine tenths of the data lie; kDisableCompressionOption: as \
             compression.";
        compression_per_level: String = "", CODECS,
            "Codecs of level 0, the base level and those below it, with colons between them; the last one goes on. \
             Empty: as compression. Files then move one at a time.";
        compression_opts_level: u64 = DEFAULT_LEVEL, Accepts::Range(0.0, 32767.0),
            "Level of zlib and zstd, on every level of the tree; 32767 is the codec's own default, 6 and 3.";
        block_size: u64 = 4 * KIB, Accepts::Bytes(256, 16 * MIB),
            "Uncompressed size of a data block, the unit of reading and caching.";
        block_size_deviation: u64 = 10u64, Accepts::Range(0.0, 100.0), unit "percent",
            "A block that lacks less than this of block_size is closed when the next entry would exceed it; 0 fills \
             all.";
        block_restart_interval: u64 = 16u64, Accepts::Range(1.0, 1024.0), unit "keys",
            "Keys between two restart points of a data block; between them keys share their prefix.";
        format_version: u64 = 6u64, Accepts::Range(0.0, 7.0), unit "version",
            "How the index of a file is written: up to 2 with 9 bytes more for each block, with 1 more at 3.";
        filter_policy: String = "nullptr", FILTER,
            "Bloom filter of every file, with its bits per key; it spares reads of files that lack the key.";
        whole_key_filtering: bool = true, Accepts::Switch,
            "Puts whole keys into the Bloom filter, besides the prefixes.";
        prefix_extractor: String = "nullptr", PREFIX,
            "The part of a key that counts as its prefix, which enters the filters and lets seeks skip files.";
        optimize_filters_for_hits: bool = false, Accepts::Switch,
            "Leaves out the Bloom filters of the last level: a tenth of the memory, one read more for a key that is \
             absent.";
        block_cache: u64 = 32 * MIB, Accepts::Bytes(0, HUGE),
            "Size of the cache of uncompressed blocks.";
        high_pri_pool_ratio: f64 = 0.5, Accepts::Range(0.0, 1.0), unit "ratio",
            "Part of the block cache for indexes, filters and blocks that were asked for again, which blocks that are \
             read once do not push out.";
        cache_index_and_filter_blocks: bool = false, Accepts::Switch,
            "Keeps index and filter blocks in the block cache instead of outside of it, so that they count in its \
             size.";
        pin_l0_filter_and_index_blocks_in_cache: bool = false, Accepts::Switch,
            "Keeps the index and filter blocks of level 0 in the cache as long as their files live.";
        use_direct_reads: bool = false, Accepts::Switch,
            "Reads table files past the operating system's page cache, which otherwise holds compressed blocks in the \
             memory that is left.";
        use_direct_io_for_flush_and_compaction: bool = false, Accepts::Switch,
            "Writes table files past the operating system's page cache, so that flushes and compactions push nothing \
             out of it.";
        soft_pending_compaction_bytes_limit: u64 = 64 * GIB, Accepts::Bytes(0, HUGE), zero "none of its own",
            "Estimated bytes of outstanding compaction at which writes are delayed; 0 stands for the hard limit.";
        hard_pending_compaction_bytes_limit: u64 = 256 * GIB, Accepts::Bytes(0, HUGE),
            at_least soft_pending_compaction_bytes_limit, zero "never",
            "Estimated bytes of outstanding compaction at which writes stop; 0 stands for never.";
        delayed_write_rate: u64 = 0u64, Accepts::Bytes(0, HUGE), unit "bytes/s",
            "Bytes per second that writers may write while they are delayed; the rate adapts from there; 0 stands for \
             16 MiB.";
        sync: bool = false, Accepts::Switch,
            "Waits for the write-ahead log to reach the device before a write is acknowledged (WriteOptions::sync).";
        disable_wal: bool = false, Accepts::Switch,
            "Writes no write-ahead log: what is in a memtable is lost in a crash (WriteOptions::disableWAL).";
        manual_wal_flush: bool = false, Accepts::Switch,
            "Keeps the log in the process until it is flushed: the last writes are lost when the process dies.";
        wal_recovery_mode: String = "kTolerateCorruptedTailRecords", Accepts::Words(WAL_RECOVERY_MODES),
            "What becomes of a log that breaks off: an error unless it is an end that was never synced \
             (kTolerateCorruptedTailRecords), always an error (kAbsoluteConsistency), all before it \
             (kPointInTimeRecovery), all that is whole (kSkipAnyCorruptedRecords).";
        disable_auto_compactions: bool = false, Accepts::Switch,
            "Runs no compaction on its own; for bulk loads only.";
        max_manifest_file_size: u64 = GIB, Accepts::Bytes(0, HUGE),
            "Size at which the manifest, the record of which table files there are, is begun anew; not below six \
             times what it then holds.";
    }
}

/// Which file of a level is compacted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionPri {
    /// Least overlap with the next level per byte of the file.
    MinOverlappingRatio,
    /// Largest file, tombstones counted double.
    ByCompensatedSize,
    /// The file whose newest entry is oldest.
    OldestLargestSeqFirst,
    /// The file whose oldest entry is oldest.
    OldestSmallestSeqFirst,
}

/// What becomes of a log that breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalRecoveryMode {
    /// It may end where nothing was known to be synced; anything else is an error.
    TolerateCorruptedTailRecords,
    /// Any break is an error.
    AbsoluteConsistency,
    /// All before it is taken.
    PointInTimeRecovery,
    /// All whole records are taken.
    SkipAnyCorruptedRecords,
}

/// The size of the filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BloomPolicy {
    /// Thousandths of a bit for each key.
    pub millibits_per_key: u64,
}

impl BloomPolicy {
    /// A policy of so many bits per key.
    pub fn new(bits_per_key: f64) -> Option<Self> {
        // RocksDB takes less than half a bit for no filter, and less than one for one.
        if !(0.5..=100.0).contains(&bits_per_key) {
            return None;
        }
        Some(Self { millibits_per_key: (bits_per_key.max(1.0) * 1000.0).round() as u64 })
    }

    /// Reads `bloomfilter:BITS` or `bloomfilter:BITS:false`.
    pub fn parse(text: &str) -> Option<Self> {
        let bits = text.strip_prefix("bloomfilter:")?;
        Self::new(bits.strip_suffix(":false").unwrap_or(bits).parse().ok()?)
    }
}

/// The codecs of a tree, as the options name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelCodecs {
    /// Codec of every level that has no other (`compression`).
    pub usual: Compression,
    /// Codec of level 0, of the base level, and of those below it in turn; the last one goes on
    /// (`compression_per_level`). Empty: `usual` everywhere.
    pub per_level: Vec<Compression>,
    /// Codec of the deepest level with files, if it is its own (`bottommost_compression`).
    pub bottommost: Option<Compression>,
}

/// The options that are words or texts, parsed.
#[derive(Debug, Clone)]
pub struct ParsedOptions {
    /// Which codec on which level.
    pub codecs: LevelCodecs,
    /// Level of the codecs that have one, unless each takes its default.
    pub compression_level: Option<i32>,
    /// Order of files in a level.
    pub priority: CompactionPri,
    /// What becomes of a log that breaks off.
    pub wal_recovery_mode: WalRecoveryMode,
    /// Bloom filter, if any.
    pub bloom: Option<BloomPolicy>,
    /// Prefix that enters the filters, if any.
    pub prefix: Option<PrefixExtractor>,
}

fn compression(word: &str) -> Option<Compression> {
    match word {
        "kNoCompression" => Some(Compression::None),
        "kSnappyCompression" => Some(Compression::Snappy),
        "kZlibCompression" => Some(Compression::Zlib),
        "kLZ4Compression" => Some(Compression::Lz4),
        "kZSTD" => Some(Compression::Zstd),
        _ => None,
    }
}

fn priority(word: &str) -> Option<CompactionPri> {
    match word {
        "kMinOverlappingRatio" => Some(CompactionPri::MinOverlappingRatio),
        "kByCompensatedSize" => Some(CompactionPri::ByCompensatedSize),
        "kOldestLargestSeqFirst" => Some(CompactionPri::OldestLargestSeqFirst),
        "kOldestSmallestSeqFirst" => Some(CompactionPri::OldestSmallestSeqFirst),
        _ => None,
    }
}

fn wal_recovery_mode(word: &str) -> Option<WalRecoveryMode> {
    match word {
        "kTolerateCorruptedTailRecords" => Some(WalRecoveryMode::TolerateCorruptedTailRecords),
        "kAbsoluteConsistency" => Some(WalRecoveryMode::AbsoluteConsistency),
        "kPointInTimeRecovery" => Some(WalRecoveryMode::PointInTimeRecovery),
        "kSkipAnyCorruptedRecords" => Some(WalRecoveryMode::SkipAnyCorruptedRecords),
        _ => None,
    }
}

impl Options {
    /// Adjusts settings that only make sense together, as RocksDB's `SanitizeOptions` does.
    #[must_use]
    pub fn sanitized(&self) -> Self {
        let mut options = self.clone();
        let trigger = options.level0_file_num_compaction_trigger;
        options.level0_slowdown_writes_trigger = options.level0_slowdown_writes_trigger.max(trigger);
        options.level0_stop_writes_trigger =
            options.level0_stop_writes_trigger.max(options.level0_slowdown_writes_trigger);
        options.min_write_buffer_number_to_merge =
            options.min_write_buffer_number_to_merge.min(options.max_write_buffer_number - 1);
        if options.max_compaction_bytes == 0 {
            options.max_compaction_bytes = 25 * options.target_file_size_base;
        }
        if options.delayed_write_rate == 0 {
            options.delayed_write_rate = 16 * MIB;
        }
        let hard = options.hard_pending_compaction_bytes_limit;
        if hard > 0 {
            let soft = options.soft_pending_compaction_bytes_limit;
            options.soft_pending_compaction_bytes_limit = if soft == 0 { hard } else { soft.min(hard) };
        }
        options
    }

    /// Parses the words and texts, and refuses combinations that contradict themselves.
    pub fn parse(&self) -> Result<ParsedOptions> {
        let refuse = |field: &str, found: &str, accepted: &str| {
            Error::invalid(format!("options.{field}"), found, accepted.to_owned())
        };
        if self.sync && self.disable_wal {
            return Err(refuse("sync", "true", "false while disable_wal is true"));
        }
        let one_of = |words: &[&str]| format!("one of {}", words.join(", "));
        let codec = |field: &str, word: &str, words: &[&str]| {
            compression(word).ok_or_else(|| refuse(field, word, &one_of(words)))
        };
        let per_level = self.compression_per_level.split(':').filter(|_| !self.compression_per_level.is_empty());
        Ok(ParsedOptions {
            codecs: LevelCodecs {
                usual: codec("compression", &self.compression, COMPRESSIONS)?,
                per_level: per_level
                    .map(|word| codec("compression_per_level", word, COMPRESSIONS))
                    .collect::<Result<_>>()?,
                bottommost: match self.bottommost_compression.as_str() {
                    "kDisableCompressionOption" => None,
                    word => Some(codec("bottommost_compression", word, BOTTOMMOST)?),
                },
            },
            compression_level: Some(self.compression_opts_level)
                .filter(|level| *level != DEFAULT_LEVEL)
                .map(|level| level as i32),
            priority: priority(&self.compaction_pri)
                .ok_or_else(|| refuse("compaction_pri", &self.compaction_pri, &one_of(PRIORITIES)))?,
            wal_recovery_mode: wal_recovery_mode(&self.wal_recovery_mode)
                .ok_or_else(|| refuse("wal_recovery_mode", &self.wal_recovery_mode, &one_of(WAL_RECOVERY_MODES)))?,
            bloom: match self.filter_policy.as_str() {
                "nullptr" => None,
                text => Some(BloomPolicy::parse(text).ok_or_else(|| {
                    refuse("filter_policy", text, "nullptr, bloomfilter:BITS or bloomfilter:BITS:false")
                })?),
            },
            prefix: match self.prefix_extractor.as_str() {
                "nullptr" => None,
                text => Some(
                    PrefixExtractor::parse(text)
                        .ok_or_else(|| refuse("prefix_extractor", text, "nullptr, fixed:N or capped:N"))?,
                ),
            },
        })
    }

    /// What of a table file goes through the operating system's page cache. Compactions read as clients do: they find
    /// the tables open (RocksDB 10.4's `OptimizeForCompactionTableRead`).
    pub fn page_cached(&self) -> PageCached {
        PageCached { reads: !self.use_direct_reads, writes: !self.use_direct_io_for_flush_and_compaction }
    }

    /// Bytes of one arena block of a memtable: an eighth of the memtable, at most 1 MiB, in units of 4 KiB.
    pub fn arena_block_bytes(&self) -> usize {
        let bytes = (self.write_buffer_size / 8).min(MIB);
        bytes.next_multiple_of(4 * KIB) as usize
    }

    /// Flush jobs at a time.
    pub fn max_flushes(&self) -> usize {
        (self.max_background_jobs / 4).max(1) as usize
    }

    /// Compaction jobs at a time when compactions must speed up.
    pub fn max_compactions(&self) -> usize {
        (self.max_background_jobs as usize).saturating_sub(self.max_flushes()).max(1)
    }

    /// Target bytes of a file at `level`, where `base_level` is level 0's output.
    pub fn target_file_bytes(&self, level: usize, base_level: usize) -> u64 {
        let step =
            if self.level_compaction_dynamic_level_bytes && level >= base_level { level - base_level } else { level };
        let growth = self.target_file_size_multiplier.saturating_pow(step.saturating_sub(1) as u32);
        self.target_file_size_base.saturating_mul(growth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn options(value: Value) -> Result<Options> {
        let Value::Object(map) = value else { panic!("not an object") };
        Options::from_json(&map)
    }

    #[test]
    fn defaults_are_those_of_rocksdb_10_4() {
        let defaults = Options::default();
        assert_eq!(defaults.write_buffer_size, 67_108_864);
        assert_eq!(defaults.sanitized().max_compaction_bytes, 25 * 67_108_864);
        assert_eq!(defaults.arena_block_bytes(), 1 << 20);
        assert_eq!((defaults.max_flushes(), defaults.max_compactions()), (1, 1));
        let parsed = defaults.parse().unwrap();
        let codecs = LevelCodecs { usual: Compression::Snappy, per_level: Vec::new(), bottommost: None };
        assert_eq!((parsed.codecs, parsed.compression_level), (codecs, None));
        assert!(parsed.bloom.is_none() && parsed.prefix.is_none());
    }

    #[test]
    fn every_default_is_admitted_by_its_own_range() {
        assert_eq!(Options::from_json(&Options::default().to_json()).unwrap(), Options::default());
    }

    #[test]
    fn jobs_are_split_between_flushes_and_compactions() {
        for (jobs, flushes, compactions) in [(1, 1, 1), (2, 1, 1), (4, 1, 3), (8, 2, 6)] {
            let options = options(json!({"max_background_jobs": jobs})).unwrap();
            assert_eq!((options.max_flushes(), options.max_compactions()), (flushes, compactions));
        }
    }

    #[test]
    fn contradictions_and_bad_texts_are_named() {
        for (value, field) in [
            (json!({"sync": true, "disable_wal": true}), "options.sync"),
            (json!({"compression_per_level": "kNoCompression:"}), "options.compression_per_level"),
            (
                json!({"compression_per_level": "kNoCompression:kDisableCompressionOption"}),
                "options.compression_per_level",
            ),
            (json!({"filter_policy": "bloomfilter"}), "options.filter_policy"),
            (json!({"filter_policy": "bloomfilter:-1"}), "options.filter_policy"),
            (json!({"prefix_extractor": "fixed:0"}), "options.prefix_extractor"),
        ] {
            let message = options(value).unwrap().parse().unwrap_err().to_string();
            assert!(message.starts_with(field), "{message}");
        }
    }

    #[test]
    fn file_sizes_grow_from_the_second_level_below_the_base() {
        let options = options(json!({"target_file_size_base": 1048576, "target_file_size_multiplier": 2})).unwrap();
        let sizes = (4..7).map(|level| options.target_file_bytes(level, 4) >> 20).collect::<Vec<_>>();
        assert_eq!(sizes, [1, 1, 2]);
    }
}

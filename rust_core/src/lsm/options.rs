//! The options of the LSM, with RocksDB 10.4's names and defaults. Every option here is honoured; lower bounds are below
//! RocksDB's usual values so that trials can be scaled down.

use super::bloom::BloomPolicy;
use super::policy::LevelCodecs;
use super::prefix::PrefixExtractor;
use crate::codec::Compression;
use crate::engine_options;
use crate::error::{Error, Result};
use crate::options::Accepts;
use crate::storage::PageCached;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

const PRIORITIES: &[&str] =
    &["kMinOverlappingRatio", "kByCompensatedSize", "kOldestLargestSeqFirst", "kOldestSmallestSeqFirst"];
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
const HUGE: f64 = (1u64 << 44) as f64;

const fn bytes(low: u64) -> Accepts {
    Accepts::Range(low as f64, HUGE)
}

engine_options! {
    /// Settings of an LSM engine.
    Options {
        write_buffer_size: u64 = 64 * MIB, Accepts::Range(16384.0, 17179869184.0), "Bytes of a memtable before it is flushed.";
        max_write_buffer_number: u64 = 2u64, Accepts::Range(2.0, 64.0), "Memtables, the active one not counted, at which writes stop.";
        min_write_buffer_number_to_merge: u64 = 1u64, Accepts::Range(1.0, 63.0), "Full memtables that are merged into one flush.";
        level0_file_num_compaction_trigger: u64 = 4u64, Accepts::Range(1.0, 1000.0), "Level-0 files that start a compaction.";
        level0_slowdown_writes_trigger: u64 = 20u64, Accepts::Range(1.0, 10000.0), "Level-0 files at which writes are delayed.";
        level0_stop_writes_trigger: u64 = 36u64, Accepts::Range(1.0, 10000.0), "Level-0 files at which writes stop.";
        max_bytes_for_level_base: u64 = 256 * MIB, bytes(16 * KIB), "Target bytes of the base level.";
        max_bytes_for_level_multiplier: f64 = 10.0, Accepts::Range(1.1, 1000.0), "Ratio of the targets of adjacent levels.";
        level_compaction_dynamic_level_bytes: bool = true, Accepts::Switch, "Derive level targets from the size of the last level.";
        target_file_size_base: u64 = 64 * MIB, bytes(16 * KIB), "Bytes of a table file at the base level.";
        target_file_size_multiplier: u64 = 1u64, Accepts::Range(1.0, 100.0), "Growth of the file size from level to level.";
        level_compaction_dynamic_file_size: bool = true, Accepts::Switch, "End the files of a compaction at boundaries of the level below.";
        num_levels: u64 = 7u64, Accepts::Range(2.0, 12.0), "Levels, level 0 included.";
        max_compaction_bytes: u64 = 0u64, bytes(0), "Bound on the bytes of one compaction; 0 means 25 target files.";
        max_background_jobs: u64 = 2u64, Accepts::Range(1.0, 128.0), "Background jobs; a quarter, at least one, are flushes.";
        compaction_pri: String = "kMinOverlappingRatio", Accepts::Words(PRIORITIES), "Which file of a level is compacted first.";
        compaction_readahead_size: u64 = 2 * MIB, Accepts::Range(0.0, 1073741824.0), "Bytes of one read of a compaction; 0 reads block by block.";
        compression: String = "kSnappyCompression", Accepts::Words(COMPRESSIONS), "Compression of blocks.";
        bottommost_compression: String = "kDisableCompressionOption", Accepts::Words(BOTTOMMOST), "Compression of the last level; kDisableCompressionOption means as compression.";
        compression_per_level: String = "", Accepts::Text("nothing, or codecs with colons between them"), "Codecs of level 0, the base level and those below, with colons between them; the last one goes on. Empty: as compression.";
        compression_opts_level: u64 = DEFAULT_LEVEL, Accepts::Range(0.0, 32767.0), "Level of zlib and zstd (the level in compression_opts); 32767 is the codec's default.";
        block_size: u64 = 4 * KIB, Accepts::Range(256.0, 16777216.0), "Bytes of a data block before compression.";
        block_restart_interval: u64 = 16u64, Accepts::Range(1.0, 1024.0), "Keys between two restart points of a data block.";
        filter_policy: String = "nullptr", Accepts::Text("nullptr, bloomfilter:BITS or bloomfilter:BITS:false"), "Bloom filter bits per key.";
        whole_key_filtering: bool = true, Accepts::Switch, "Put whole keys into the filters.";
        prefix_extractor: String = "nullptr", Accepts::Text("nullptr, fixed:N or capped:N"), "Prefix of a key that is put into the filters and lets seeks skip files.";
        optimize_filters_for_hits: bool = false, Accepts::Switch, "Build no filters for the last level.";
        block_cache: u64 = 32 * MIB, bytes(0), "Bytes of the block cache.";
        cache_index_and_filter_blocks: bool = false, Accepts::Switch, "Keep index and filter blocks in the block cache, not beside it.";
        pin_l0_filter_and_index_blocks_in_cache: bool = false, Accepts::Switch, "Keep those of level-0 files in memory when they live in the cache.";
        use_direct_reads: bool = false, Accepts::Switch, "Read table files past the operating system's page cache, those of compactions too.";
        use_direct_io_for_flush_and_compaction: bool = false, Accepts::Switch, "Write table files past the operating system's page cache.";
        soft_pending_compaction_bytes_limit: u64 = 64 * GIB, bytes(0), "Compaction debt at which writes are delayed; 0 means never.";
        hard_pending_compaction_bytes_limit: u64 = 256 * GIB, bytes(0), "Compaction debt at which writes stop; 0 means never.";
        delayed_write_rate: u64 = 0u64, bytes(0), "Bytes per second at which a delay of writes begins; 0 means 16 MiB.";
        sync: bool = false, Accepts::Switch, "Sync the write-ahead log before a write returns (WriteOptions.sync).";
        disable_wal: bool = false, Accepts::Switch, "Write no write-ahead log (WriteOptions.disableWAL).";
        manual_wal_flush: bool = false, Accepts::Switch, "Keep the log in a buffer until it is full, synced or switched.";
        wal_recovery_mode: String = "kTolerateCorruptedTailRecords", Accepts::Words(WAL_RECOVERY_MODES), "What becomes of a log that breaks off: an error unless it is an end that was never synced (kTolerateCorruptedTailRecords), always an error (kAbsoluteConsistency), all before it (kPointInTimeRecovery), all that is whole (kSkipAnyCorruptedRecords).";
        max_manifest_file_size: u64 = GIB, bytes(0), "Bytes at which the manifest is begun anew, with the files that there are then; not below six times those bytes.";
        disable_auto_compactions: bool = false, Accepts::Switch, "Start no compaction.";
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

/// The options that are words or texts, parsed.
#[derive(Debug, Clone)]
pub struct Parsed {
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
    pub fn parse(&self) -> Result<Parsed> {
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
        Ok(Parsed {
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

    /// What of a table file goes through the operating system's page cache. Compactions read as clients do: they find the
    /// tables open (RocksDB 10.4's `OptimizeForCompactionTableRead`).
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

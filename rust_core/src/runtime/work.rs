//! Named pieces of CPU work. An engine counts what it does; only the virtual clock turns counts into time, with costs
//! per unit that are calibrated on measured runs.

/// One kind of CPU work and, in its comment, the unit that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Work {
    /// One engine call (get, write, seek): fixed overhead.
    Call,
    /// One key comparison that hits warm memory (binary search in a block or page).
    Compare,
    /// One pointer chase in a memtable (a comparison that misses the CPU cache).
    MemtableStep,
    /// One entry of a memtable visited in key order: a place in memory that nothing foretells.
    MemtableNext,
    /// One bloom filter probe of one table.
    FilterProbe,
    /// One lookup in a block cache or buffer pool.
    CacheLookup,
    /// One step of an iterator (next or prev).
    IteratorStep,
    /// One key-value pair encoded into or decoded from a block, page, log or batch.
    Record,
    /// One byte copied.
    CopyByte,
    /// One byte checksummed.
    ChecksumByte,
    /// One input byte compressed with LZ4 or snappy. Long runs of zeros do not count, here and below.
    CompressFastByte,
    /// One match that LZ4 or snappy found: where there are none, they soon skip most of the input.
    CompressFastMatch,
    /// One input byte compressed with zstd.
    CompressZstdByte,
    /// One block compressed with zstd, however small: its tables.
    CompressZstdBlock,
    /// One input byte compressed with zlib.
    CompressZlibByte,
    /// One block compressed with zlib, however small: its Huffman trees.
    CompressZlibBlock,
    /// One output byte decompressed with LZ4 or snappy.
    DecompressFastByte,
    /// One output byte decompressed with zstd.
    DecompressZstdByte,
    /// One output byte decompressed with zlib.
    DecompressZlibByte,
    /// One block decompressed with zlib, however small.
    DecompressZlibBlock,
    /// One step of a search beyond the processor's own caches, weighted by how far beyond: see [`misses`].
    CacheMiss,
    /// One place that a search looks at in memory, beyond the last of the processor's caches: see [`memory_misses`].
    MemoryMiss,
    /// One page or block allocated, evicted or linked in a list.
    PageTouch,
    /// One batch of changes to a B-tree: a transaction, which gets its undo log, its place in the redo log and its end.
    TreeTransaction,
    /// One change of a B-tree: its undo and redo records, beside the search for its page.
    TreeChange,
    /// One read call to storage.
    StorageCall,
    /// One write call to storage.
    StorageWrite,
    /// One sync of a file or a folder.
    StorageSync,
    /// One byte that the operating system copies out of a file.
    StorageReadByte,
    /// One byte that the operating system copies into a file.
    StorageWriteByte,
    /// One operation of a client, apart from the engine: drawing it, building its rows, timing it.
    Operation,
    /// One statement of a SQL layer (only where the profile is a server's).
    Statement,
    /// One point read, as the product that the engine stands for carries it out beyond the engine's own work: see
    /// [`crate::product`]. So are all kinds below.
    PointRead,
    /// One cursor put at its first entry.
    RangeStart,
    /// One step of a cursor.
    RangeStep,
    /// One row of a table changed.
    RowChange,
    /// One key set or removed.
    KeyChange,
    /// One batch of changes committed.
    Commit,
    /// One memtable made immutable and replaced.
    MemtableSwitch,
    /// One entry that a flush or a compaction takes in.
    MergedEntry,
    /// One byte that goes into zlib.
    ZippedByte,
    /// One byte that comes out of zlib.
    UnzippedByte,
}

impl Work {
    /// Number of kinds.
    pub const COUNT: usize = Self::UnzippedByte as usize + 1;

    /// All kinds, in the order of their counters.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Call,
        Self::Compare,
        Self::MemtableStep,
        Self::MemtableNext,
        Self::FilterProbe,
        Self::CacheLookup,
        Self::IteratorStep,
        Self::Record,
        Self::CopyByte,
        Self::ChecksumByte,
        Self::CompressFastByte,
        Self::CompressFastMatch,
        Self::CompressZstdByte,
        Self::CompressZstdBlock,
        Self::CompressZlibByte,
        Self::CompressZlibBlock,
        Self::DecompressFastByte,
        Self::DecompressZstdByte,
        Self::DecompressZlibByte,
        Self::DecompressZlibBlock,
        Self::CacheMiss,
        Self::MemoryMiss,
        Self::PageTouch,
        Self::TreeTransaction,
        Self::TreeChange,
        Self::StorageCall,
        Self::StorageWrite,
        Self::StorageSync,
        Self::StorageReadByte,
        Self::StorageWriteByte,
        Self::Operation,
        Self::Statement,
        Self::PointRead,
        Self::RangeStart,
        Self::RangeStep,
        Self::RowChange,
        Self::KeyChange,
        Self::Commit,
        Self::MemtableSwitch,
        Self::MergedEntry,
        Self::ZippedByte,
        Self::UnzippedByte,
    ];

    /// The calls of a product, and what only the engine itself can count: the last four.
    pub const CALLS: &[Self] = Self::ALL.split_at(Self::PointRead as usize).1;

    /// Name used in hardware profiles.
    pub fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Compare => "compare",
            Self::MemtableStep => "memtable_step",
            Self::MemtableNext => "memtable_next",
            Self::FilterProbe => "filter_probe",
            Self::CacheLookup => "cache_lookup",
            Self::IteratorStep => "iterator_step",
            Self::Record => "record",
            Self::CopyByte => "copy_byte",
            Self::ChecksumByte => "checksum_byte",
            Self::CompressFastByte => "compress_fast_byte",
            Self::CompressFastMatch => "compress_fast_match",
            Self::CompressZstdByte => "compress_zstd_byte",
            Self::CompressZstdBlock => "compress_zstd_block",
            Self::CompressZlibByte => "compress_zlib_byte",
            Self::CompressZlibBlock => "compress_zlib_block",
            Self::DecompressFastByte => "decompress_fast_byte",
            Self::DecompressZstdByte => "decompress_zstd_byte",
            Self::DecompressZlibByte => "decompress_zlib_byte",
            Self::DecompressZlibBlock => "decompress_zlib_block",
            Self::CacheMiss => "cache_miss",
            Self::MemoryMiss => "memory_miss",
            Self::PageTouch => "page_touch",
            Self::TreeTransaction => "tree_transaction",
            Self::TreeChange => "tree_change",
            Self::StorageCall => "storage_call",
            Self::StorageWrite => "storage_write",
            Self::StorageSync => "storage_sync",
            Self::StorageReadByte => "storage_read_byte",
            Self::StorageWriteByte => "storage_write_byte",
            Self::Operation => "operation",
            Self::Statement => "statement",
            Self::PointRead => "point_read",
            Self::RangeStart => "range_start",
            Self::RangeStep => "range_step",
            Self::RowChange => "row_change",
            Self::KeyChange => "key_change",
            Self::Commit => "commit",
            Self::MemtableSwitch => "memtable_switch",
            Self::MergedEntry => "merged_entry",
            Self::ZippedByte => "zipped_byte",
            Self::UnzippedByte => "unzipped_byte",
        }
    }
}

/// A structure up to this size is searched in the processor's own caches: a quarter of the second-level cache of a small
/// server core, because the client and the rest of the engine want their part.
const CACHED_BYTES: u64 = 256 << 10;

/// Bytes that come into the processor's caches together.
const LINE_BYTES: u64 = 64;

/// Units of [`Work::CacheMiss`] of a search that looks at `lines` places, halving the rest each time, in a structure of
/// `bytes`.
///
/// A search among `bytes / 64` lines halves `h = log2(bytes / 64)` times. The last `l = log2(bytes / CACHED_BYTES)` halvings
/// are outside the caches, so `l / h` of its places are. Each of them is the dearer the larger the structure: the next cache,
/// memory, then the page tables as well; that is taken to grow with `l` too. So `lines * l^2 / h`. Measured from 2 MB to
/// 200 MB, both engines and memtables follow the square.
#[inline]
pub fn misses(lines: u64, bytes: u64) -> u64 {
    if bytes <= CACHED_BYTES {
        return 0;
    }
    let beyond = halvings_beyond_in_16ths(bytes, CACHED_BYTES);
    lines * beyond * beyond / (16 * halvings_in_16ths(bytes))
}

/// A structure up to this size is searched in the last of the processor's caches: half of that of a small server, because
/// other programs want their part.
const LAST_CACHED_BYTES: u64 = 16 << 20;

/// Units of [`Work::MemoryMiss`] of a search that looks at `lines` places in a structure of `bytes`: those of its last
/// halvings, which are outside the caches, each as dear as the other. Where the caches grow from one to the next, as in the
/// processor behind [`misses`]'s square, they cost nothing besides; where one large cache ends in memory, they are what a
/// calibration finds (about 200 ns on an AMD EPYC of 2024, whose other misses cost next to nothing).
#[inline]
pub fn memory_misses(lines: u64, bytes: u64) -> u64 {
    if bytes <= LAST_CACHED_BYTES {
        return 0;
    }
    lines * halvings_beyond_in_16ths(bytes, LAST_CACHED_BYTES) / halvings_in_16ths(bytes)
}

/// 16 times the halvings from a structure of more than `cached_bytes` down to that.
#[inline]
fn halvings_beyond_in_16ths(bytes: u64, cached_bytes: u64) -> u64 {
    log2_in_16ths(bytes / (cached_bytes / 16)) - 64
}

/// 16 times the halvings of a search among the lines of a structure.
#[inline]
fn halvings_in_16ths(bytes: u64) -> u64 {
    log2_in_16ths((bytes / LINE_BYTES).max(2))
}

/// Whether `searches` in a structure of `bytes` that took `steps` began near their goals, as those for keys in order do: with
/// less than half of the steps of a search from the top.
#[inline]
pub fn is_local(searches: u64, steps: u64, bytes: u64) -> bool {
    32 * steps < searches * halvings_in_16ths(bytes)
}

/// Steps of a search in a structure of `full_bytes`, where one in a structure of `bytes` of the same kind took `steps`: the
/// halvings of its lines, in proportion.
#[inline]
pub fn larger_search(steps: u64, bytes: u64, full_bytes: u64) -> u64 {
    steps * halvings_in_16ths(full_bytes) / halvings_in_16ths(bytes)
}

/// 16 times the logarithm to base 2 of a number that is not 0, straight between the powers of 2.
#[inline]
fn log2_in_16ths(number: u64) -> u64 {
    let whole = number.ilog2();
    let rest = number - (1 << whole);
    u64::from(16 * whole) + ((u128::from(rest) * 16) >> whole) as u64
}

/// Units of each kind of work.
#[derive(Debug, Clone)]
pub struct WorkCounts {
    units: [u64; Work::COUNT],
    /// One bit for each kind that was counted: most pieces of work are of a few kinds.
    kinds: u64,
}

const _: () = assert!(Work::COUNT < u64::BITS as usize, "one bit for each kind");

impl Default for WorkCounts {
    fn default() -> Self {
        Self { units: [0; Work::COUNT], kinds: 0 }
    }
}

impl PartialEq for WorkCounts {
    fn eq(&self, other: &Self) -> bool {
        self.units == other.units
    }
}

impl Eq for WorkCounts {}

impl WorkCounts {
    /// Counts units of one kind.
    #[inline]
    pub fn count(&mut self, work: Work, units: u64) {
        self.units[work as usize] += units;
        self.kinds |= 1 << work as u32;
    }

    /// Positions and units of the kinds that were counted, in the order of [`Work::ALL`].
    #[inline]
    pub fn counted(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let mut kinds = self.kinds;
        std::iter::from_fn(move || {
            let kind = kinds.trailing_zeros() as usize;
            kinds &= kinds.wrapping_sub(1);
            self.units.get(kind).map(|units| (kind, *units))
        })
    }

    /// Whether there is nothing to do.
    pub fn is_zero(&self) -> bool {
        self.counted().all(|(_, units)| units == 0)
    }

    /// Forgets all counts.
    #[inline]
    pub fn clear(&mut self) {
        let mut kinds = std::mem::take(&mut self.kinds);
        while kinds != 0 {
            self.units[kinds.trailing_zeros() as usize] = 0;
            kinds &= kinds - 1;
        }
    }

    /// Adds the counts of `other`.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        for (kind, units) in other.counted() {
            self.units[kind] += units;
        }
        self.kinds |= other.kinds;
    }

    /// One of `parts` equal parts, rounded down, and the rest.
    #[must_use]
    pub fn split(&self, parts: u64) -> (Self, Self) {
        let part = Self { units: self.units.map(|units| units / parts), kinds: self.kinds };
        let rest = Self { units: std::array::from_fn(|n| self.units[n] - part.units[n]), kinds: self.kinds };
        (part, rest)
    }

    /// What was counted since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self { units: std::array::from_fn(|n| self.units[n] - before.units[n]), kinds: self.kinds }
    }

    /// Units of one kind.
    pub fn get(&self, work: Work) -> u64 {
        self.units[work as usize]
    }

    /// The kinds that occurred, by name.
    pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        Work::ALL.into_iter().map(|work| (work.name(), self.get(work))).filter(|(_, units)| *units > 0)
    }
}

/// CPU time, and the work that was done in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuUse {
    /// Nanoseconds of a core.
    pub ns: u64,
    /// What was counted meanwhile.
    pub work: WorkCounts,
}

impl CpuUse {
    /// Adds another use.
    pub fn add(&mut self, other: &Self) {
        self.ns += other.ns;
        self.work.add(&other.work);
    }

    /// What was used since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self { ns: self.ns - before.ns, work: self.work.since(&before.work) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_structure_takes_as_many_more_steps_as_it_has_halvings() {
        assert_eq!(larger_search(10, 1 << 16, 1 << 16), 10);
        assert_eq!(larger_search(10, 1 << 16, 1 << 26), 20, "ten halvings of lines, and twenty");
        assert_eq!(larger_search(10, 0, 1 << 26), 200, "an empty structure is one of two lines");
        assert!(is_local(100, 499, 1 << 16) && !is_local(100, 500, 1 << 16));
    }

    #[test]
    fn a_search_misses_more_the_larger_the_structure() {
        assert_eq!(misses(20, 256 << 10), 0);
        assert_eq!(memory_misses(20, 16 << 20), 0);
        assert_eq!(memory_misses(24, 1 << 30), 6, "six of 24 halvings");
        // 1 GiB: 12 of 24 halvings lie beyond 256 KiB, and each weighs 12.
        assert_eq!(misses(20, 1 << 30), 20 * 12 * 12 / 24);
        let by_size = (18..40).map(|bits| misses(20, (1 << bits) + 5)).collect::<Vec<_>>();
        assert!(by_size.is_sorted() && by_size[3] < by_size[6], "{by_size:?}");
    }
}

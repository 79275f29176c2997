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
    /// One input byte compressed with LZ4 or snappy.
    CompressFastByte,
    /// One input byte compressed with zstd.
    CompressZstdByte,
    /// One input byte compressed with zlib.
    CompressZlibByte,
    /// One output byte decompressed with LZ4 or snappy.
    DecompressFastByte,
    /// One output byte decompressed with zstd.
    DecompressZstdByte,
    /// One output byte decompressed with zlib.
    DecompressZlibByte,
    /// One page or block allocated, evicted or linked in a list.
    PageTouch,
    /// One system call to storage.
    StorageCall,
    /// One statement of a SQL layer (only where the profile is a server's).
    Statement,
}

impl Work {
    /// Number of kinds.
    pub const COUNT: usize = Self::Statement as usize + 1;

    /// All kinds, in the order of their counters.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Call,
        Self::Compare,
        Self::MemtableStep,
        Self::FilterProbe,
        Self::CacheLookup,
        Self::IteratorStep,
        Self::Record,
        Self::CopyByte,
        Self::ChecksumByte,
        Self::CompressFastByte,
        Self::CompressZstdByte,
        Self::CompressZlibByte,
        Self::DecompressFastByte,
        Self::DecompressZstdByte,
        Self::DecompressZlibByte,
        Self::PageTouch,
        Self::StorageCall,
        Self::Statement,
    ];

    /// Name used in hardware profiles.
    pub fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Compare => "compare",
            Self::MemtableStep => "memtable_step",
            Self::FilterProbe => "filter_probe",
            Self::CacheLookup => "cache_lookup",
            Self::IteratorStep => "iterator_step",
            Self::Record => "record",
            Self::CopyByte => "copy_byte",
            Self::ChecksumByte => "checksum_byte",
            Self::CompressFastByte => "compress_fast_byte",
            Self::CompressZstdByte => "compress_zstd_byte",
            Self::CompressZlibByte => "compress_zlib_byte",
            Self::DecompressFastByte => "decompress_fast_byte",
            Self::DecompressZstdByte => "decompress_zstd_byte",
            Self::DecompressZlibByte => "decompress_zlib_byte",
            Self::PageTouch => "page_touch",
            Self::StorageCall => "storage_call",
            Self::Statement => "statement",
        }
    }
}

/// Units of each kind of work.
#[derive(Debug, Clone)]
pub struct WorkCounts {
    units: [u64; Work::COUNT],
    /// One bit for each kind that was counted: most pieces of work are of a few kinds.
    kinds: u32,
}

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

    /// Units of one kind.
    pub fn get(&self, work: Work) -> u64 {
        self.units[work as usize]
    }
}

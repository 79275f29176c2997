//! The kinds of CPU work, each once: its name in machines' files and reports, and what a unit costs where a machine
//! does not say. An engine counts what it does; only the virtual clock turns counts into time.
//!
//! `tunebench doctor --calibrate` replaces the costs by figures of the user's own CPU; these are rounded from
//! calibrations on a virtual machine with two cores of an Intel Xeon of 2023 at 2 GHz. Calls, comparisons, lookups,
//! copies, pages and operations always come with other work there, so that a calibration tells only their sum: how it
//! is shared among them is an assumption. So is a sync: on that machine it took 60 microseconds of CPU time, most of
//! them for a virtual disk.

/// Declares the kinds: `Kind = "name", nanoseconds of a unit;`, each with a comment that says what its unit is.
macro_rules! kinds_of_work {
    ($($(#[doc = $text:literal])+ $kind:ident = $name:literal, $ns:literal;)*) => {
        /// One kind of CPU work and, in its comment, the unit that is counted.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(usize)]
        pub enum Work { $($(#[doc = $text])+ $kind,)* }

        impl Work {
            /// All kinds, in the order of their counters.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$kind),*];

            /// Name used in machines' files and in reports.
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// Whether its unit is a byte.
            pub fn is_of_bytes(self) -> bool {
                self.name().ends_with("_byte")
            }

            /// Nanoseconds of a unit where a machine does not say.
            pub fn default_ns(self) -> f64 {
                match self { $(Self::$kind => $ns,)* }
            }
        }
    };
}

kinds_of_work! {
    /// One engine call (get, write, seek): fixed overhead.
    Call = "call", 150.0;
    /// One key comparison that hits warm memory (binary search in a block or page).
    Compare = "compare", 6.0;
    /// One pointer chase in a memtable (a comparison that misses the CPU cache).
    MemtableStep = "memtable_step", 20.0;
    /// One entry of a memtable visited in key order: a place in memory that nothing foretells.
    MemtableNext = "memtable_next", 80.0;
    /// One bloom filter probe of one table.
    FilterProbe = "filter_probe", 50.0;
    /// One lookup in a block cache or buffer pool.
    CacheLookup = "cache_lookup", 10.0;
    /// One step of an iterator (next or prev).
    IteratorStep = "iterator_step", 40.0;
    /// One key-value pair encoded into or decoded from a block, page, log or batch.
    Record = "record", 12.0;
    /// One byte copied.
    CopyByte = "copy_byte", 0.05;
    /// One byte checksummed.
    ChecksumByte = "checksum_byte", 0.1;
    /// One input byte compressed with LZ4 or snappy. Long runs of zeros do not count, here and below.
    CompressFastByte = "compress_fast_byte", 0.6;
    /// One match that LZ4 or snappy found: where there are none, they soon skip most of the input.
    CompressFastMatch = "compress_fast_match", 30.0;
    /// One input byte compressed with zstd.
    CompressZstdByte = "compress_zstd_byte", 2.3;
    /// One block compressed with zstd, however small: its tables.
    CompressZstdBlock = "compress_zstd_block", 5_000.0;
    /// One input byte compressed with zlib.
    CompressZlibByte = "compress_zlib_byte", 7.0;
    /// One block compressed with zlib, however small: its Huffman trees.
    CompressZlibBlock = "compress_zlib_block", 23_000.0;
    /// One output byte decompressed with LZ4 or snappy.
    DecompressFastByte = "decompress_fast_byte", 0.2;
    /// One output byte decompressed with zstd.
    DecompressZstdByte = "decompress_zstd_byte", 0.25;
    /// One output byte decompressed with zlib.
    DecompressZlibByte = "decompress_zlib_byte", 1.2;
    /// One block decompressed with zlib, however small.
    DecompressZlibBlock = "decompress_zlib_block", 4_000.0;
    /// One step of a search beyond the processor's own caches, weighted by how far beyond: see
    /// [`super::caches::misses`].
    CacheMiss = "cache_miss", 12.0;
    /// One place that a search looks at in memory, beyond the last of the processor's caches: see
    /// [`super::caches::memory_misses`].
    MemoryMiss = "memory_miss", 0.0;
    /// One page or block allocated, evicted or linked in a list.
    PageTouch = "page_touch", 50.0;
    /// One batch of changes to a B-tree: a transaction, which gets its undo log, its place in the redo log and its end.
    TreeTransaction = "tree_transaction", 0.0;
    /// One change of a B-tree: its undo and redo records, beside the search for its page.
    TreeChange = "tree_change", 0.0;
    /// One read call to storage.
    StorageCall = "storage_call", 1000.0;
    /// One access to the drive that a thread waits for: the way through the operating system to the drive and back, the
    /// interrupt, and the thread put to sleep and woken.
    StorageWait = "storage_wait", 0.0;
    /// One write call to storage.
    StorageWrite = "storage_write", 300.0;
    /// One sync of a file or a folder.
    StorageSync = "storage_sync", 10_000.0;
    /// One byte that the operating system copies out of a file.
    StorageReadByte = "storage_read_byte", 0.05;
    /// One byte that the operating system copies into a file.
    StorageWriteByte = "storage_write_byte", 0.5;
    /// One operation of a client, apart from the engine: drawing it, building its rows, timing it.
    Operation = "operation", 100.0;
    /// One statement sent to a SQL server and its answer: the part of a client on the same machine, which is no part of
    /// the server's CPU time.
    RoundTrip = "round_trip", 0.0;
    /// One statement of a SQL server that reads or changes rows, as the product that the engine stands for carries it
    /// out beyond the engine's own work: see [`super::product`]. So are all kinds below.
    Statement = "statement", 0.0;
    /// One BEGIN or COMMIT, a statement that asks for no row.
    TransactionControl = "transaction_control", 0.0;
    /// One result that a server sorts or makes distinct: a filesort, or a temporary table.
    SortedResult = "sorted_result", 0.0;
    /// One row that goes into it.
    SortedRow = "sorted_row", 0.0;
    /// One point read.
    PointRead = "point_read", 0.0;
    /// One cursor put at its first entry.
    RangeStart = "range_start", 0.0;
    /// One step of a cursor.
    RangeStep = "range_step", 0.0;
    /// One row added to a table.
    RowInsert = "row_insert", 0.0;
    /// One row of a table changed or removed.
    RowChange = "row_change", 0.0;
    /// One key set or removed.
    KeyChange = "key_change", 0.0;
    /// One batch of changes committed.
    Commit = "commit", 0.0;
    /// One memtable made immutable and replaced.
    MemtableSwitch = "memtable_switch", 0.0;
    /// One [`Self::MemoryMiss`] of a search in a memtable: the nodes of a product's may miss more caches than this
    /// core's.
    MemtableMiss = "memtable_miss", 0.0;
    /// One entry that a flush or a compaction takes in.
    MergedEntry = "merged_entry", 0.0;
    /// One byte of such an entry.
    MergedByte = "merged_byte", 0.0;
    /// One data block that comes into the block cache: its buffer, its entry, and the ones that go for it.
    BlockFetch = "block_fetch", 0.0;
    /// One nanosecond of work that finds cold caches, behind a read of the drive that its thread waited for: its core
    /// slept, or did the work of others. Counted by the simulation, less and less the more was done since.
    ColdWork = "cold_work", 0.0;
    /// One byte that goes into snappy. Some builds of a product hold one that was not optimized.
    SnappedByte = "snapped_byte", 0.0;
    /// One match that snappy finds: it skips what has none.
    SnappedMatch = "snapped_match", 0.0;
    /// One byte that comes out of snappy.
    UnsnappedByte = "unsnapped_byte", 0.0;
    /// One byte that goes into zlib.
    ZippedByte = "zipped_byte", 0.0;
    /// One block that goes into zlib, however small.
    ZippedBlock = "zipped_block", 0.0;
    /// One byte that comes out of zlib.
    UnzippedByte = "unzipped_byte", 0.0;
    /// One block that comes out of zlib, however small: the tables of its codes.
    UnzippedBlock = "unzipped_block", 0.0;
}

impl Work {
    /// Number of kinds.
    pub const COUNT: usize = Self::ALL.len();

    /// The calls of a product, and what only the engine itself can count, from [`Self::MemtableSwitch`] on.
    pub const CALLS: &[Self] = Self::ALL.split_at(Self::Statement as usize).1;
}

//! The compression algorithms that both engines offer.

use crate::cost::Work;
use crate::error::{Error, Result};
use crate::task::Task;
use flate2::{Compress, Compression as ZlibLevel, Decompress, FlushCompress, FlushDecompress, Status};
use std::cell::RefCell;
use zstd::bulk::{Compressor, Decompressor};

thread_local! {
    /// What zstd works with, for all blocks of a thread: to make it anew takes longer than a block of a few KiB.
    static ZSTD: RefCell<(Compressor<'static>, Decompressor<'static>)> = RefCell::default();
    /// The same for snappy, with room for the output of it or LZ4: both write into bytes that are there, and to fill
    /// these with zeros for each block takes a while too.
    static FAST: RefCell<(snap::raw::Encoder, Vec<u8>)> = RefCell::new((snap::raw::Encoder::new(), Vec::new()));
}

/// The level of zlib where none is asked for.
const ZLIB_DEFAULT: i32 = 6;

/// A compression algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Compression {
    /// Bytes as they are.
    None = 0,
    /// Snappy.
    Snappy = 1,
    /// zlib (raw deflate, as RocksDB writes it).
    Zlib = 2,
    /// LZ4.
    Lz4 = 4,
    /// Zstandard.
    Zstd = 7,
}

impl Compression {
    /// The algorithm of a stored type byte.
    pub fn from_byte(byte: u8) -> Option<Self> {
        [Self::None, Self::Snappy, Self::Zlib, Self::Lz4, Self::Zstd].into_iter().find(|one| *one as u8 == byte)
    }

    /// Whether the algorithm has this level: zlib ends at 9; zstd takes any number for the nearest that it has.
    pub fn has_level(self, level: Option<i32>) -> bool {
        self != Self::Zlib || level.is_none_or(|level| (0..=9).contains(&level))
    }

    /// The level at which a block that nobody reads again shows the size that it has in a product: with levels above
    /// 4, zlib of 1.2.13 packs like level 9 of zlib-rs, which packs the digits of sysbench 5 to 8% better at level 6.
    /// Pages and blocks of 4 KiB of LinkBench, sysbench, TPC-C, YCSB, db_bench and the insert benchmark: within 1%.
    pub fn level_of_products(self, level: Option<i32>) -> Option<i32> {
        const LAZY: i32 = 5;
        if self == Self::Zlib && level.unwrap_or(ZLIB_DEFAULT) >= LAZY { Some(9) } else { level }
    }

    /// Compresses `input` into `out` (cleared first). `level` matters to zlib (0 to 9, default 6) and zstd (1 to 22,
    /// default 3); `None` takes the algorithm's default.
    pub fn compress(self, task: &mut Task, level: Option<i32>, input: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        match self {
            Self::None => out.extend_from_slice(input),
            Self::Snappy => {
                FAST.with_borrow_mut(|(encoder, room)| {
                    let room = at_least(room, snap::raw::max_compress_len(input.len()));
                    let len = encoder.compress(input, room).map_err(|e| broken("snappy", e))?;
                    out.extend_from_slice(&room[..len]);
                    Ok(())
                })?;
            }
            Self::Lz4 => {
                FAST.with_borrow_mut(|(_, room)| {
                    let room = at_least(room, lz4_flex::block::get_maximum_output_size(input.len()));
                    let len = lz4_flex::block::compress_into(input, room).map_err(|e| broken("lz4", e))?;
                    out.extend_from_slice(&room[..len]);
                    Ok(())
                })?;
            }
            Self::Zlib => {
                out.reserve(input.len() + input.len() / 8 + 64);
                let mut stream = Compress::new(zlib_level(level.unwrap_or(ZLIB_DEFAULT)), false);
                match stream.compress_vec(input, out, FlushCompress::Finish) {
                    Ok(Status::StreamEnd) => {}
                    Ok(_) => return Err(broken("zlib", "output does not fit")),
                    Err(e) => return Err(broken("zlib", e)),
                }
            }
            Self::Zstd => {
                out.reserve(zstd::zstd_safe::compress_bound(input.len()));
                ZSTD.with_borrow_mut(|(compressor, _)| {
                    compressor.set_compression_level(level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL))?;
                    compressor.compress_to_buffer(input, out)
                })
                .map_err(|e| broken("zstd", e))?;
            }
        }
        self.charge_compressed(task, input, self.matches(out));
        Ok(())
    }

    /// Matches in a block that was compressed, where they are what takes the time.
    pub(super) fn matches(self, packed: &[u8]) -> u64 {
        match self {
            Self::Snappy => snappy_matches(packed),
            Self::Lz4 => lz4_matches(packed),
            Self::None | Self::Zlib | Self::Zstd => 0,
        }
    }

    /// Charges for the compression of `input` into a block with so many matches.
    pub(super) fn charge_compressed(self, task: &mut Task, input: &[u8], matches: u64) {
        let bytes = if self == Self::None { input.len() as u64 } else { filled_bytes(input) };
        match self {
            Self::None => task.charge(Work::CopyByte, bytes),
            Self::Snappy | Self::Lz4 => {
                task.charge(Work::CompressFastByte, bytes);
                task.charge(Work::CompressFastMatch, matches);
                if self == Self::Snappy {
                    task.charge(Work::SnappedByte, bytes);
                    task.charge(Work::SnappedMatch, matches);
                }
            }
            Self::Zlib => {
                task.charge(Work::CompressZlibByte, bytes);
                task.charge(Work::CompressZlibBlock, 1);
                task.charge(Work::ZippedByte, bytes);
                task.charge(Work::ZippedBlock, 1);
            }
            Self::Zstd => {
                task.charge(Work::CompressZstdByte, bytes);
                task.charge(Work::CompressZstdBlock, 1);
            }
        }
    }

    /// Whether `input` can be so many bytes compressed: a length that was stored is not allocated before. Snappy and
    /// zstd keep the length themselves; of the others, no input grows more than this.
    pub fn can_expand_to(self, input: &[u8], len: usize) -> bool {
        /// Bytes of a block of zstd, and the fewest that one takes.
        const ZSTD_BLOCK: (usize, usize) = (128 << 10, 4);
        let grows_at_most = |factor: usize| len <= input.len().saturating_mul(factor);
        match self {
            Self::None => len == input.len(),
            Self::Snappy => snap::raw::decompress_len(input).is_ok_and(|own| own == len) && grows_at_most(64),
            Self::Lz4 => grows_at_most(255),
            Self::Zlib => grows_at_most(1032),
            Self::Zstd => {
                let own = zstd::zstd_safe::get_frame_content_size(input).ok().flatten();
                own == Some(len as u64) && len / ZSTD_BLOCK.0 <= input.len() / ZSTD_BLOCK.1
            }
        }
    }

    /// Decompresses `input` into `out`, whose length is exactly that of the original.
    pub fn decompress(self, task: &mut Task, input: &[u8], out: &mut [u8]) -> Result<()> {
        let len = match self {
            Self::None => {
                task.charge(Work::CopyByte, out.len() as u64);
                if input.len() == out.len() {
                    out.copy_from_slice(input);
                }
                input.len()
            }
            Self::Snappy => snap::raw::Decoder::new().decompress(input, out).map_err(|e| broken("snappy", e))?,
            Self::Lz4 => lz4_flex::block::decompress_into(input, out).map_err(|e| broken("lz4", e))?,
            Self::Zlib => {
                let mut stream = Decompress::new(false);
                stream.decompress(input, out, FlushDecompress::Finish).map_err(|e| broken("zlib", e))?;
                stream.total_out() as usize
            }
            Self::Zstd => ZSTD
                .with_borrow_mut(|(_, decompressor)| decompressor.decompress_to_buffer(input, out))
                .map_err(|e| broken("zstd", e))?,
        };
        self.charge_decompressed(task, filled_bytes(out));
        if len == out.len() { Ok(()) } else { Err(broken("decompression", format!("{len} bytes, not {}", out.len()))) }
    }

    /// Charges for a decompression into an output of which so many bytes are work.
    pub fn charge_decompressed(self, task: &mut Task, bytes: u64) {
        let byte = match self {
            Self::None => return,
            Self::Snappy | Self::Lz4 => Work::DecompressFastByte,
            Self::Zlib => Work::DecompressZlibByte,
            Self::Zstd => Work::DecompressZstdByte,
        };
        task.charge(byte, bytes);
        match self {
            Self::Snappy => task.charge(Work::UnsnappedByte, bytes),
            Self::Zlib => {
                task.charge(Work::DecompressZlibBlock, 1);
                task.charge(Work::UnzippedByte, bytes);
                task.charge(Work::UnzippedBlock, 1);
            }
            _ => {}
        }
    }
}

/// So many bytes at least, whatever they are.
fn at_least(room: &mut Vec<u8>, bytes: usize) -> &mut [u8] {
    if room.len() < bytes {
        room.resize(bytes, 0);
    }
    room
}

/// The level of zlib-rs that packs like this one of zlib, which the products use. Level 1 of zlib-rs has fixed Huffman
/// codes, as that of zlib-ng: rows of LinkBench take 16% more space than at level 6, where they take 6% more with zlib
/// 1.2.13 at level 1, and with zlib-rs at level 2.
fn zlib_level(level: i32) -> ZlibLevel {
    ZlibLevel::new(if level == 1 { 2 } else { level as u32 })
}

/// Bytes that are work for an algorithm: all but long runs of zeros, as the empty part of a page is one, which take
/// next to no time.
pub fn filled_bytes(bytes: &[u8]) -> u64 {
    bytes.chunks(RUN_BYTES).filter(|run| run.iter().any(|byte| *byte != 0)).map(|run| run.len() as u64).sum()
}

const RUN_BYTES: usize = 64;

/// Matches in a block of LZ4: sequences of a token, literals, an offset and the rest of the match's length; the last
/// has literals alone.
fn lz4_matches(block: &[u8]) -> u64 {
    const LONG: u8 = 15;
    let long = |at: usize| block[at..].iter().take_while(|byte| **byte == u8::MAX).count() + 1;
    let (mut at, mut matches) = (0, 0);
    while at < block.len() {
        let (literals, matched) = (block[at] >> 4, block[at] & 15);
        at += 1 + usize::from(literals);
        if literals == LONG {
            let from = at - usize::from(LONG);
            let bytes = long(from);
            at += bytes + (bytes - 1) * usize::from(u8::MAX) + usize::from(block[from + bytes - 1]);
        }
        if at >= block.len() {
            break;
        }
        matches += 1;
        at += 2;
        if matched == LONG {
            at += long(at);
        }
    }
    matches
}

/// Matches in a block of snappy: all elements after the length but its literals. A long match is several copies of the
/// same offset, all but the last of 60 or 64 bytes.
fn snappy_matches(block: &[u8]) -> u64 {
    const WHOLE: [u8; 2] = [60, 64];
    let mut at = block.iter().take_while(|byte| **byte >= 0x80).count() + 1;
    let (mut matches, mut open): (u64, Option<&[u8]>) = (0, None);
    while at < block.len() {
        let tag = block[at];
        let offset_bytes = [0, 1, 2, 4][usize::from(tag & 3)];
        let offset = &block[at + 1..][..offset_bytes];
        if offset_bytes == 0 {
            let length_bytes = usize::from(tag >> 2).saturating_sub(59);
            let length =
                block[at + 1..][..length_bytes].iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            at += 2 + length_bytes + if length_bytes == 0 { usize::from(tag >> 2) } else { length };
            open = None;
            continue;
        }
        matches += u64::from(open.is_none_or(|before| before != offset && offset_bytes != 1));
        // Copies with an offset of one byte have three of its bits in the tag, and are never whole.
        open = (offset_bytes > 1 && WHOLE.contains(&((tag >> 2) + 1))).then_some(offset);
        at += 1 + offset_bytes;
    }
    matches
}

fn broken(algorithm: &str, why: impl ToString) -> Error {
    Error::corruption(format!("({algorithm})"), 0, why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Compression; 5] =
        [Compression::None, Compression::Snappy, Compression::Zlib, Compression::Lz4, Compression::Zstd];

    proptest! {
        #[test]
        fn every_algorithm_gives_back_its_input(input in proptest::collection::vec(0u8..8, 0..5000)) {
            let mut task = Task::wall(0);
            for algorithm in ALL {
                let (mut packed, mut out) = (Vec::new(), vec![0; input.len()]);
                algorithm.compress(&mut task, None, &input, &mut packed).unwrap();
                algorithm.decompress(&mut task, &packed, &mut out).unwrap();
                prop_assert_eq!(&out, &input);
            }
        }
    }

    #[test]
    fn work_is_charged_by_what_an_input_holds() {
        let charged = |algorithm: Compression, input: &[u8]| {
            let (mut task, mut packed) = (Task::wall(0), Vec::new());
            algorithm.compress(&mut task, None, input, &mut packed).unwrap();
            task.work()
        };
        let mut state = 1u32;
        let mut random = |bytes: usize| -> Vec<u8> {
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            };
            (0..bytes).map(|_| next()).collect()
        };
        let twice: Vec<u8> = (0..40).flat_map(|_| random(50).repeat(2)).collect();
        let (long, mut half_empty) = (random(4000), random(2048));
        half_empty.resize(4096, 0);
        for algorithm in [Compression::Lz4, Compression::Snappy] {
            assert_eq!(charged(algorithm, &twice).get(Work::CompressFastMatch), 40, "{algorithm:?}");
            assert_eq!(charged(algorithm, &long).get(Work::CompressFastMatch), 0, "{algorithm:?}");
            assert_eq!(charged(algorithm, &half_empty).get(Work::CompressFastByte), 2048, "{algorithm:?}");
            assert!(charged(algorithm, &half_empty).get(Work::CompressFastMatch) <= 2, "{algorithm:?}");
        }
        assert_eq!(charged(Compression::Snappy, &half_empty).get(Work::SnappedByte), 2048);
        assert_eq!(charged(Compression::Snappy, &twice).get(Work::SnappedMatch), 40);
        for kind in [Work::SnappedByte, Work::SnappedMatch] {
            assert_eq!(charged(Compression::Lz4, &twice).get(kind), 0);
        }
        let zlib = charged(Compression::Zlib, &half_empty);
        assert_eq!((zlib.get(Work::CompressZlibBlock), zlib.get(Work::CompressZlibByte)), (1, 2048));
        assert_eq!((zlib.get(Work::ZippedBlock), zlib.get(Work::ZippedByte)), (1, 2048));
        let zstd = charged(Compression::Zstd, &half_empty);
        assert_eq!((zstd.get(Work::CompressZstdBlock), zstd.get(Work::CompressZstdByte)), (1, 2048));
    }

    /// Like rows of sysbench: zlib 1.2.13 makes 7,807 bytes of this page at level 6, zlib-rs 7,296.
    #[test]
    fn digits_take_the_room_that_they_take_a_product() {
        let mut state = 1_u64;
        let mut digit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            b'0' + (state >> 33) as u8 % 10
        };
        let mut page = Vec::new();
        for id in 0_u32..74 {
            page.extend(
                [&[0x3b, 0x77, 0, 0, id as u8, 0xbd][..], &id.to_be_bytes(), &[0; 6], &[0x80], &[0; 6]].concat(),
            );
            for place in 0..184 {
                page.push(if place % 12 == 11 { b'-' } else { digit() });
            }
        }
        page.resize(16 << 10, 0);
        let packed = |level: Option<i32>| {
            let (mut task, mut out) = (Task::wall(0), Vec::new());
            let level = Compression::Zlib.level_of_products(level);
            Compression::Zlib.compress(&mut task, level, &page, &mut out).unwrap();
            out.len()
        };
        assert!(packed(None).abs_diff(7807) * 100 < 7807, "{}", packed(None));
        assert_eq!(packed(None), packed(Some(6)));
        assert_eq!(Compression::Zlib.level_of_products(Some(1)), Some(1));
        assert_eq!(Compression::Zstd.level_of_products(None), None);
    }

    #[test]
    fn garbage_is_an_error_not_a_panic() {
        let mut task = Task::wall(0);
        for algorithm in [Compression::Snappy, Compression::Zlib, Compression::Lz4, Compression::Zstd] {
            assert!(algorithm.decompress(&mut task, &[0xff; 40], &mut [0; 100]).is_err());
        }
    }
}

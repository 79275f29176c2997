//! The compression algorithms that both engines offer.

use crate::error::{Error, Result};
use crate::runtime::{Task, Work};
use flate2::{Compress, Compression as ZlibLevel, Decompress, FlushCompress, FlushDecompress, Status};

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

    /// Compresses `input` into `out` (cleared first). `level` matters to zlib (0 to 9, default 6) and zstd (1 to 22,
    /// default 3); `None` takes the algorithm's default.
    pub fn compress(self, task: &mut Task, level: Option<i32>, input: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        let bytes = input.len() as u64;
        match self {
            Self::None => {
                task.charge(Work::CopyByte, bytes);
                out.extend_from_slice(input);
            }
            Self::Snappy => {
                task.charge(Work::CompressFastByte, bytes);
                out.resize(snap::raw::max_compress_len(input.len()), 0);
                let len = snap::raw::Encoder::new().compress(input, out).map_err(|e| broken("snappy", e))?;
                out.truncate(len);
            }
            Self::Lz4 => {
                task.charge(Work::CompressFastByte, bytes);
                out.resize(lz4_flex::block::get_maximum_output_size(input.len()), 0);
                let len = lz4_flex::block::compress_into(input, out).map_err(|e| broken("lz4", e))?;
                out.truncate(len);
            }
            Self::Zlib => {
                task.charge(Work::CompressZlibByte, bytes);
                task.charge(Work::ZippedByte, bytes);
                out.reserve(input.len() + input.len() / 8 + 64);
                let mut stream = Compress::new(zlib_level(level.unwrap_or(6)), false);
                match stream.compress_vec(input, out, FlushCompress::Finish) {
                    Ok(Status::StreamEnd) => {}
                    Ok(_) => return Err(broken("zlib", "output does not fit")),
                    Err(e) => return Err(broken("zlib", e)),
                }
            }
            Self::Zstd => {
                task.charge(Work::CompressZstdByte, bytes);
                *out = zstd::bulk::compress(input, level.unwrap_or(3)).map_err(|e| broken("zstd", e))?;
            }
        }
        Ok(())
    }

    /// Decompresses `input` into `out`, whose length is exactly that of the original.
    pub fn decompress(self, task: &mut Task, input: &[u8], out: &mut [u8]) -> Result<()> {
        let bytes = out.len() as u64;
        let len = match self {
            Self::None => {
                task.charge(Work::CopyByte, bytes);
                if input.len() == out.len() {
                    out.copy_from_slice(input);
                }
                input.len()
            }
            Self::Snappy => {
                task.charge(Work::DecompressFastByte, bytes);
                snap::raw::Decoder::new().decompress(input, out).map_err(|e| broken("snappy", e))?
            }
            Self::Lz4 => {
                task.charge(Work::DecompressFastByte, bytes);
                lz4_flex::block::decompress_into(input, out).map_err(|e| broken("lz4", e))?
            }
            Self::Zlib => {
                task.charge(Work::DecompressZlibByte, bytes);
                task.charge(Work::UnzippedByte, bytes);
                let mut stream = Decompress::new(false);
                stream.decompress(input, out, FlushDecompress::Finish).map_err(|e| broken("zlib", e))?;
                stream.total_out() as usize
            }
            Self::Zstd => {
                task.charge(Work::DecompressZstdByte, bytes);
                zstd::bulk::decompress_to_buffer(input, out).map_err(|e| broken("zstd", e))?
            }
        };
        if len == out.len() { Ok(()) } else { Err(broken("decompression", format!("{len} bytes, not {}", out.len()))) }
    }
}

/// The level of zlib-rs that packs like this one of zlib, which the products use. Level 1 of zlib-rs has fixed Huffman codes,
/// as that of zlib-ng: rows of LinkBench take 16% more space than at level 6, where they take 6% more with zlib 1.2.13 at
/// level 1, and with zlib-rs at level 2.
fn zlib_level(level: i32) -> ZlibLevel {
    ZlibLevel::new(if level == 1 { 2 } else { level as u32 })
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
    fn garbage_is_an_error_not_a_panic() {
        let mut task = Task::wall(0);
        for algorithm in [Compression::Snappy, Compression::Zlib, Compression::Lz4, Compression::Zstd] {
            assert!(algorithm.decompress(&mut task, &[0xff; 40], &mut [0; 100]).is_err());
        }
    }
}

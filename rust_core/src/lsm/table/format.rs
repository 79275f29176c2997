//! What is common to writing and reading a table file: handles, blocks with their trailers, the footer.

use crate::codec::{Compression, Packed, varint};
use crate::cost::Work;
use crate::error::{Error, Result};
use crate::task::Task;
use std::ops::RangeInclusive;
use xxhash_rust::xxh3::xxh3_64;

/// Compression type and checksum behind each block.
pub const BLOCK_TRAILER_BYTES: u64 = 5;
/// Checksum type, two handles padded to 40 bytes, format version, magic number.
pub const FOOTER_BYTES: usize = 53;
const HANDLES_BYTES: usize = 40;
/// Where the footer has its format version.
pub const FORMAT_VERSION_AT: usize = 1 + HANDLES_BYTES;
/// What `format_version` may be.
pub const FORMAT_VERSIONS: RangeInclusive<u32> = 0..=7;
const CHECKSUM_XXH3: u8 = 4;
const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;

/// A compressed block is kept if it has at most 7/8 of the bytes (`max_compressed_bytes_per_kb`).
fn is_worth_it(raw: usize, compressed: usize) -> bool {
    compressed <= raw * 896 / 1024
}

/// Where a block lies, its trailer not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Handle {
    /// Offset in the file.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl Handle {
    /// Appends the handle as two varints.
    pub fn push(self, out: &mut Vec<u8>) {
        varint::push_u64(out, self.offset);
        varint::push_u64(out, self.bytes);
    }

    /// Reads a handle, and gives what is behind it.
    pub fn take(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (offset, rest) = varint::take_u64(bytes)?;
        let (bytes, rest) = varint::take_u64(rest)?;
        Some((Self { offset, bytes }, rest))
    }

    /// End of the block and its trailer.
    pub fn end(self) -> u64 {
        self.offset + self.bytes + BLOCK_TRAILER_BYTES
    }
}

/// The checksum of a block's stored bytes and its compression type.
pub fn checksum(stored: &[u8], kind: u8) -> u32 {
    xxh3_64(stored) as u32 ^ u32::from(kind).wrapping_mul(0x6b90_83d9)
}

/// Appends a block to `out`, compressed (at `level`, if it is given) if that is worth it, with its trailer. `scratch`
/// is reused.
pub fn push_block(
    task: &mut Task,
    compression: Compression,
    level: Option<i32>,
    raw: &[u8],
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<Handle> {
    // RocksDB too writes blocks as they are where the codec refuses its level.
    if compression != Compression::None && compression.has_level(level) {
        compression.compress(task, level, raw, scratch)?;
        let length_bytes = varint::len_u64(raw.len() as u64);
        if is_worth_it(raw.len(), length_bytes + scratch.len()) {
            let offset = out.len();
            varint::push_u32(out, raw.len() as u32);
            out.extend_from_slice(scratch);
            return Ok(close(task, compression, offset, out));
        }
    }
    Ok(push_as_it_is(task, raw, out))
}

fn push_as_it_is(task: &mut Task, raw: &[u8], out: &mut Vec<u8>) -> Handle {
    let offset = out.len();
    task.charge(Work::CopyByte, raw.len() as u64);
    out.extend_from_slice(raw);
    close(task, Compression::None, offset, out)
}

/// Appends the trailer to the block that begins at `offset`.
fn close(task: &mut Task, kind: Compression, offset: usize, out: &mut Vec<u8>) -> Handle {
    let bytes = (out.len() - offset) as u64;
    task.charge(Work::ChecksumByte, bytes);
    let checksum = checksum(&out[offset..], kind as u8);
    out.push(kind as u8);
    out.extend_from_slice(&checksum.to_le_bytes());
    Handle { offset: offset as u64, bytes }
}

/// Appends a block to `out` that is taken to be as compressible as `like` was. What is compressed has its size, with
/// nothing in it, for files whose readers find the block elsewhere.
pub fn push_like(task: &mut Task, like: &mut Packed, raw: &[u8], out: &mut Vec<u8>) -> Handle {
    like.charge(task, raw, raw.len());
    let bytes = varint::len_u64(raw.len() as u64) + like.bytes_of(raw.len());
    if !is_worth_it(raw.len(), bytes) {
        return push_as_it_is(task, raw, out);
    }
    task.charge(Work::ChecksumByte, bytes as u64);
    let offset = out.len();
    out.resize(offset + bytes + BLOCK_TRAILER_BYTES as usize, 0);
    Handle { offset: offset as u64, bytes: bytes as u64 }
}

/// Checks a stored block with its trailer and gives its contents.
pub fn open_block(task: &mut Task, file: &str, offset: u64, stored: Vec<u8>) -> Result<Vec<u8>> {
    open_stored_block(task, file, offset, stored).map(|(contents, _)| contents)
}

/// The same, and how it was stored.
pub fn open_stored_block(
    task: &mut Task,
    file: &str,
    offset: u64,
    mut stored: Vec<u8>,
) -> Result<(Vec<u8>, Compression)> {
    let corrupt = |what: &str| Error::corruption(file, offset, what);
    task.charge(Work::ChecksumByte, stored.len() as u64);
    let Some((rest, wanted)) = stored.split_last_chunk::<4>() else { return Err(corrupt("a block without a trailer")) };
    let Some((kind, contents)) = rest.split_last() else { return Err(corrupt("a block without a trailer")) };
    if checksum(contents, *kind) != u32::from_le_bytes(*wanted) {
        return Err(corrupt("the checksum of a block does not match"));
    }
    let algorithm = Compression::from_byte(*kind).ok_or_else(|| corrupt("a block of unknown compression"))?;
    if algorithm == Compression::None {
        let bytes = contents.len();
        stored.truncate(bytes);
        return Ok((stored, algorithm));
    }
    let (len, packed) = varint::take_u32(contents).ok_or_else(|| corrupt("a compressed block without a length"))?;
    if !algorithm.can_expand_to(packed, len as usize) {
        return Err(corrupt("a compressed block with a wrong length"));
    }
    let mut out = vec![0; len as usize];
    algorithm.decompress(task, packed, &mut out).map_err(|error| corrupt(&error.to_string()))?;
    Ok((out, algorithm))
}

/// The end of a table, from which all else in it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footer {
    /// The metaindex block.
    pub metaindex: Handle,
    /// The index block.
    pub index: Handle,
    /// How the index is written: the option of this name.
    pub format_version: u32,
}

impl Footer {
    /// Its bytes.
    pub fn encode(self) -> Vec<u8> {
        let mut out = vec![CHECKSUM_XXH3];
        self.metaindex.push(&mut out);
        self.index.push(&mut out);
        out.resize(FORMAT_VERSION_AT, 0);
        out.extend_from_slice(&self.format_version.to_le_bytes());
        out.extend_from_slice(&MAGIC.to_le_bytes());
        out
    }

    /// Reads a footer; `None` if it is not one to the last bit.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (metaindex, rest) = Handle::take(bytes.get(1..)?)?;
        let (index, _) = Handle::take(rest)?;
        let format_version = u32::from_le_bytes(*bytes.get(FORMAT_VERSION_AT..)?.first_chunk()?);
        let footer = Self { metaindex, index, format_version };
        (FORMAT_VERSIONS.contains(&format_version) && bytes == footer.encode()).then_some(footer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_compressed_only_if_an_eighth_is_saved() {
        let mut task = Task::wall(0);
        let (mut out, mut scratch) = (Vec::new(), Vec::new());
        let noise = (0..4000u32).map(|n| xxh3_64(&n.to_le_bytes()) as u8).collect::<Vec<_>>();
        for (raw, shrinks) in [(vec![7; 4000], true), (noise, false)] {
            out.clear();
            let handle = push_block(&mut task, Compression::Lz4, None, &raw, &mut scratch, &mut out).unwrap();
            assert_eq!(handle.bytes < 3500, shrinks);
            assert_eq!(open_block(&mut task, "t", 0, out.clone()).unwrap(), raw);
        }
    }

    #[test]
    fn every_flipped_bit_of_a_block_is_an_error() {
        let mut task = Task::wall(0);
        for compression in [Compression::None, Compression::Snappy] {
            let (mut out, mut scratch) = (Vec::new(), Vec::new());
            push_block(&mut task, compression, None, &[5; 90], &mut scratch, &mut out).unwrap();
            for bit in 0..out.len() * 8 {
                let mut flipped = out.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(open_block(&mut task, "t", 0, flipped).is_err(), "bit {bit}");
            }
        }
    }

    #[test]
    fn a_length_that_a_block_cannot_have_is_refused_before_it_is_allocated() {
        for compression in [Compression::Snappy, Compression::Zlib, Compression::Lz4, Compression::Zstd] {
            let mut stored = vec![0xff, 0xff, 0xff, 0xff, 0x0f];
            let mut packed = Vec::new();
            compression.compress(&mut Task::wall(0), None, &[7; 4000], &mut packed).unwrap();
            stored.extend_from_slice(&packed);
            let sum = checksum(&stored, compression as u8);
            stored.push(compression as u8);
            stored.extend_from_slice(&sum.to_le_bytes());
            let largest = crate::fuzz::allocation::largest_of(|| {
                assert!(open_block(&mut Task::wall(0), "t", 0, stored).is_err(), "{compression:?}");
            });
            assert!(largest < 1 << 20, "{compression:?}: {largest}");
        }
    }

    #[test]
    fn every_flipped_bit_of_a_footer_shows() {
        let (metaindex, index) = (Handle { offset: 300, bytes: 20 }, Handle { offset: 1, bytes: 2 });
        let footer = Footer { metaindex, index, format_version: 2 };
        let bytes = footer.encode();
        assert_eq!(bytes.len(), FOOTER_BYTES);
        assert_eq!(Footer::decode(&bytes), Some(footer));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(Footer::decode(&flipped), Some(footer), "bit {bit}");
        }
    }
}

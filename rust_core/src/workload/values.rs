//! What values are made of. Each benchmark has its own generator, because what a block compresses to depends on it.

use crate::random::Random;

/// LinkBench's `MotifDataGenerator`: chunks that are fresh random bytes or pieces of a shared motif buffer. One value
/// hardly compresses; a block of many does.
#[derive(Debug, Clone)]
pub struct Motifs {
    low: u8,
    symbols: u64,
    uniqueness: f64,
    buffer: Vec<u8>,
}

/// LinkBench reads its motif length option under a name that never exists, so the default always holds.
const MOTIF_BYTES: usize = 512;
const MOTIF_CHUNK_BYTES: usize = 128;

impl Motifs {
    /// Bytes from `low` to `high`; a share `uniqueness` of all chunks is fresh.
    pub fn new(random: &mut Random, low: u8, high: u8, uniqueness: f64) -> Self {
        let symbols = u64::from(high - low) + 1;
        let buffer = (0..MOTIF_BYTES).map(|_| low + random.below(symbols) as u8).collect();
        Self { low, symbols, uniqueness, buffer }
    }

    /// A value of `bytes`.
    pub fn value(&self, random: &mut Random, bytes: usize) -> Vec<u8> {
        let mut value = Vec::with_capacity(bytes);
        while value.len() < bytes {
            let chunk = MOTIF_CHUNK_BYTES.min(bytes - value.len());
            if random.chance(self.uniqueness) {
                value.extend((0..chunk).map(|_| self.low + random.below(self.symbols) as u8));
            } else {
                let start = random.below((MOTIF_BYTES - chunk + 1) as u64) as usize;
                value.extend_from_slice(&self.buffer[start..start + chunk]);
            }
        }
        value
    }
}

/// db_bench's `RandomGenerator`: values are consecutive slices of one megabyte that is made of 100-byte pieces, each of
/// which repeats its first part so that it compresses to `ratio`.
#[derive(Debug, Clone)]
pub struct Compressible {
    data: Vec<u8>,
}

const COMPRESSIBLE_BYTES: usize = 1 << 20;
const COMPRESSIBLE_PIECE_BYTES: usize = 100;

impl Compressible {
    /// Values of at most `largest` bytes that compress to `ratio` of their size.
    pub fn new(random: &mut Random, ratio: f64, largest: usize) -> Self {
        let fresh = ((COMPRESSIBLE_PIECE_BYTES as f64 * ratio) as usize).max(1);
        let mut data = Vec::new();
        while data.len() < COMPRESSIBLE_BYTES.max(largest) {
            let piece: Vec<u8> = (0..fresh).map(|_| b' ' + random.below(95) as u8).collect();
            data.extend(piece.into_iter().cycle().take(COMPRESSIBLE_PIECE_BYTES));
        }
        Self { data }
    }

    /// The next value of `bytes`, from `position` on, which it moves.
    pub fn value(&self, position: &mut usize, bytes: usize) -> &[u8] {
        if *position + bytes > self.data.len() {
            *position = 0;
        }
        let value = &self.data[*position..*position + bytes];
        *position += bytes;
        value
    }
}

/// Bytes that compress only where they are meant to: in pieces of 100, so that every block of a long value has its
/// share, random bytes of all 256 values, then zeros. db_bench's and YCSB's printable letters hold 6.6 bits in 8, so
/// that an entropy coder takes off a fifth of what should not compress at all. A run of zeros costs zstd a byte, Snappy
/// and LZ4 up to 8.
pub fn push_bytes(random: &mut Random, bytes: usize, compressible_share: f64, value: &mut Vec<u8>) {
    let start = value.len();
    let (mut done, mut drawn) = (0, 0);
    while done < bytes {
        done = bytes.min(done + COMPRESSIBLE_PIECE_BYTES);
        let random_so_far = (done as f64 * (1.0 - compressible_share)).round() as usize;
        push_random(random, random_so_far - drawn, value);
        drawn = random_so_far;
        value.resize(start + done, 0);
    }
}

fn push_random(random: &mut Random, bytes: usize, value: &mut Vec<u8>) {
    let end = value.len() + bytes;
    while value.len() < end {
        let word = random.bits().to_le_bytes();
        value.extend_from_slice(&word[..word.len().min(end - value.len())]);
    }
}

/// YCSB's `RandomByteIterator`: six printable bytes from each 32 random bits, uneven as they are there.
pub fn push_ycsb_field(random: &mut Random, bytes: usize, value: &mut Vec<u8>) {
    let end = value.len() + bytes;
    while value.len() < end {
        let bits = (random.bits() >> 32) as u32;
        let six = [(0, 31), (5, 63), (10, 95), (15, 31), (20, 63), (25, 95)];
        value.extend(six.iter().take(end - value.len()).map(|&(shift, mask)| ((bits >> shift) & mask) as u8 + b' '));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zstd_ratio(values: &[u8]) -> f64 {
        zstd::bulk::compress(values, 3).unwrap().len() as f64 / values.len() as f64
    }

    #[test]
    fn blocks_of_linkbench_values_compress_as_published() {
        for (low, high, uniqueness, size, expected) in [(32, 100, 0.225, 13, 0.45), (50, 220, 0.63, 211, 0.65)] {
            let mut random = Random::from_seed(1);
            let motifs = Motifs::new(&mut random, low, high, uniqueness);
            let block: Vec<u8> = (0..16384 / size).flat_map(|_| motifs.value(&mut random, size)).collect();
            assert!(block.iter().all(|byte| (low..=high).contains(byte)));
            let found = zstd_ratio(&block);
            assert!((found - expected).abs() < 0.1, "values of {size} bytes: {found}");
        }
    }

    #[test]
    fn db_bench_values_compress_to_the_asked_ratio() {
        for ratio in [0.2, 0.5, 1.0] {
            let mut random = Random::from_seed(1);
            let (source, mut position) = (Compressible::new(&mut random, ratio, 100), 0);
            let block: Vec<u8> = (0..160).flat_map(|_| source.value(&mut position, 100).to_vec()).collect();
            // Printable characters hold 6.6 bits in 8, which an entropy coder finds too.
            let found = zstd_ratio(&block);
            assert!((0.75 * ratio..1.15 * ratio).contains(&found), "asked {ratio}: {found}");
        }
    }

    #[test]
    fn bytes_compress_by_their_share_under_every_compressor() {
        for share in [0.0, 0.2, 0.5, 0.8, 1.0] {
            for bytes in [40, 100, 400, 16_384] {
                let (mut random, mut block) = (Random::from_seed(1), Vec::new());
                (0..16_384 / bytes).for_each(|_| push_bytes(&mut random, bytes, share, &mut block));
                let snappy = snap::raw::Encoder::new().compress_vec(&block).unwrap().len() as f64;
                let lz4 = lz4_flex::block::compress(&block).len() as f64;
                let size = block.len() as f64;
                // What it takes to find the zeros of a piece, and to say where they are.
                let most = 1.0 - share + 9.0 / bytes.min(COMPRESSIBLE_PIECE_BYTES) as f64;
                for found in [snappy / size, lz4 / size, zstd_ratio(&block)] {
                    assert!((1.0 - share..most).contains(&found), "{share} of {bytes}: {found}");
                }
            }
        }
    }

    #[test]
    fn the_random_part_of_a_value_has_its_share_and_all_bytes() {
        let (mut random, mut value) = (Random::from_seed(1), vec![7]);
        push_bytes(&mut random, 100_050, 0.25, &mut value);
        let mut counts = [0_u32; 256];
        for &byte in &value {
            counts[usize::from(byte)] += 1;
        }
        // A quarter, and one in 256 of the random ones.
        let zeros = f64::from(counts[0]) / 100_050.0;
        assert!((zeros - 0.25 - 0.75 / 256.0).abs() < 0.002, "{zeros}");
        assert!(counts.iter().all(|&count| count > 0) && value[0] == 7);
    }

    #[test]
    fn a_value_larger_than_the_buffer_is_served() {
        let (source, mut position) = (Compressible::new(&mut Random::from_seed(1), 0.5, 3 << 20), 0);
        assert_eq!(source.value(&mut position, 3 << 20).len(), 3 << 20);
        assert_eq!(source.value(&mut position, 3 << 20).len(), 3 << 20);
    }

    #[test]
    fn ycsb_fields_are_printable_and_of_their_length() {
        let (mut random, mut value) = (Random::from_seed(1), Vec::new());
        (0..10).for_each(|_| push_ycsb_field(&mut random, 100, &mut value));
        assert_eq!(value.len(), 1000);
        assert!(value.iter().all(|&byte| (b' '..=b' ' + 95).contains(&byte)));
    }
}

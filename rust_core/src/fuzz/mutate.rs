//! Damage: flipped bits, cuts, extensions, splices, swapped sectors, and numbers at the ends of their ranges.

use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const SECTOR_BYTES: usize = 512;
/// Where the headers of records and pages are, behind the start of a sector.
const NEAR_BYTES: usize = 160;
/// Values at which lengths, counts and offsets break.
const ENDS: [u64; 12] =
    [0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, u64::MAX];

/// A position: anywhere, near the start of a sector, near either end, or near where a page of 4 KiB ends.
fn position(random: &mut impl Rng, len: usize) -> usize {
    let near = random.random_range(0..NEAR_BYTES);
    let at = match random.random_range(0..6u32) {
        0 | 1 => random.random_range(0..len),
        2 => random.random_range(0..len) / SECTOR_BYTES * SECTOR_BYTES + near,
        3 => near,
        4 => len.saturating_sub(1 + near),
        _ => (random.random_range(0..len) / 4096 * 4096 + 4095).saturating_sub(near),
    };
    at.min(len - 1)
}

/// Does one damage.
pub fn damage(random: &mut impl Rng, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return bytes.extend_from_slice(&random.random::<u64>().to_le_bytes());
    }
    let (at, len) = (position(random, bytes.len()), bytes.len());
    match random.random_range(0..12u32) {
        0 | 1 => bytes[at] ^= 1 << random.random_range(0..8u32),
        2 => bytes[at] = random.random(),
        3..=5 => {
            let value = ENDS[random.random_range(0..ENDS.len())].to_le_bytes();
            let width = [1, 2, 4, 8][random.random_range(0..4usize)].min(len - at);
            bytes[at..at + width].copy_from_slice(&value[..width]);
        }
        6 => {
            let step = random.random_range(0..3u8).wrapping_sub(1);
            bytes[at] = bytes[at].wrapping_add(step);
        }
        7 => bytes.truncate(at),
        8 => {
            let more = random.random_range(0..64usize);
            bytes.extend(std::iter::repeat_with(|| random.random::<u8>()).take(more));
        }
        9 => {
            let from = position(random, len);
            let longest = (len - at).min(len - from);
            let span = random.random_range(0..=longest.min(256));
            bytes.copy_within(from..from + span, at);
        }
        10 => {
            let (a, b) = (at / SECTOR_BYTES, position(random, len) / SECTOR_BYTES);
            if a.max(b) < len / SECTOR_BYTES {
                (0..SECTOR_BYTES).for_each(|n| bytes.swap(a * SECTOR_BYTES + n, b * SECTOR_BYTES + n));
            }
        }
        _ => {
            let start = at / SECTOR_BYTES * SECTOR_BYTES;
            let end = (start + SECTOR_BYTES).min(len);
            bytes[start..end].fill(0);
        }
    }
}

/// Does one to four damages; now and then takes the end of another input.
pub fn mutate(random: &mut impl Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    if !other.is_empty() && random.random_range(0..16u32) == 0 {
        let (at, from) = (random.random_range(0..=bytes.len()), random.random_range(0..other.len()));
        bytes.truncate(at);
        bytes.extend_from_slice(&other[from..]);
    }
    for _ in 0..random.random_range(1..=4u32) {
        damage(random, bytes);
    }
}

/// Scripts of any bytes.
pub fn scripts(longest: usize) -> Vec<Vec<u8>> {
    const SCRIPTS: usize = 4096;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(longest as u64);
    let script = |_| (0..random.random_range(2..=longest)).map(|_| random.random()).collect();
    (0..SCRIPTS).map(script).collect()
}

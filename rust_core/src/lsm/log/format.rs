//! RocksDB's log format: 32 KiB blocks of fragments with a 7-byte header, so that a reader finds its way after any cut.
//! Beyond RocksDB's, a checksum covers the place of its fragment, and the type of a record's first fragment tells how
//! far the log was synced when it was written: what a reader misses below that is damage, what it misses behind may
//! never have reached the disk.

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 32 << 10;
/// Bytes in front of a fragment: masked CRC32C of place, type and payload, length, type.
pub const HEADER_BYTES: usize = 7;
pub(super) const FULL: u8 = 1;
pub(super) const FIRST: u8 = 2;
pub(super) const MIDDLE: u8 = 3;
pub(super) const LAST: u8 = 4;
/// The bits of the type that tell the kind; those above tell what was synced.
pub(super) const KIND: u8 = 7;
pub(super) const KIND_BITS: u32 = KIND.count_ones();

/// How far before a record its log was synced at least, in the bits of a type: 0 if nobody knows, 1 up to the record,
/// then powers of two from 1 on.
pub(super) fn synced_class(offset: u64, synced: Option<u64>) -> u8 {
    match synced.map(|synced| offset - synced) {
        None => 0,
        Some(0) => 1,
        Some(distance) => {
            let class = 2 + u64::BITS - (distance - 1).leading_zeros();
            if class < 1 << (u8::BITS - KIND_BITS) { class as u8 } else { 0 }
        }
    }
}

/// Up to where a log was synced at least when a record of this type was written at `offset`, if that is known.
pub(super) fn synced_below(offset: usize, kind: u8) -> Option<usize> {
    match kind >> KIND_BITS {
        0 => None,
        1 => Some(offset),
        class => offset.checked_sub(1 << (class - 2)),
    }
}

/// Begins a checksum with the place of a fragment, so that none is taken for one of another log or place.
pub(super) fn checksum_of_place(log: u64, offset: usize, kind: u8) -> u32 {
    let place = crc32c::crc32c_append(crc32c::crc32c(&log.to_le_bytes()), &(offset as u64).to_le_bytes());
    crc32c::crc32c_append(place, &[kind])
}

/// The checksum of a fragment: its place, its type and its payload.
pub fn checksum(log: u64, offset: usize, kind: u8, payload: &[u8]) -> u32 {
    masked(crc32c::crc32c_append(checksum_of_place(log, offset, kind), payload))
}

/// A stored checksum differs from a computed one, so that a log within a log does not check by chance.
pub(super) fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

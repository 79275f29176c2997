//! The tables `sbtest1`, `sbtest2`, … with their secondary index on `k`.

use crate::engine::INDEX_NUMBER_BYTES;
use crate::random::Random;
use crate::table::Schema;
use crate::table::keys::{Columns, begin, push_u32};

/// Bytes of `c`, char(120): ten groups of digits, padded.
const C_BYTES: usize = 120;
/// Bytes of `pad`, char(60): five groups of digits, padded.
const PAD_BYTES: usize = 60;
/// Digits between two dashes.
const GROUP_DIGITS: usize = 11;

/// Key and value bytes of a row.
pub const ROW_BYTES: u64 = (KEY_BYTES + 4 + C_BYTES + PAD_BYTES) as u64;
/// Bytes of a primary key.
pub const KEY_BYTES: usize = INDEX_NUMBER_BYTES + 4;
/// Bytes of an entry of the index on `k`.
pub const ENTRY_BYTES: u64 = INDEX_NUMBER_BYTES as u64 + 8;

/// A row of one of the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Which table, from 0.
    pub table: u32,
    /// Auto-increment primary key.
    pub id: u32,
    /// The indexed column.
    pub k: u32,
    /// Groups of digits.
    pub c: [u8; C_BYTES],
    /// Groups of digits.
    pub pad: [u8; PAD_BYTES],
}

/// Groups of random digits with dashes between them, filled up with a space.
fn digits<const N: usize>(random: &mut Random) -> [u8; N] {
    std::array::from_fn(|position| match position {
        _ if position == N - 1 => b' ',
        _ if position % (GROUP_DIGITS + 1) == GROUP_DIGITS => b'-',
        _ => b'0' + random.below(10) as u8,
    })
}

/// A value for the column `c`.
pub fn draw_c(random: &mut Random) -> [u8; C_BYTES] {
    digits(random)
}

/// A value for the column `pad`.
pub fn draw_pad(random: &mut Random) -> [u8; PAD_BYTES] {
    digits(random)
}

/// Index number of the rows of a table.
pub fn primary(table: u32) -> u32 {
    2 * table + 1
}

/// Index number of a table's index on `k`.
pub fn k_index(table: u32) -> u32 {
    primary(table) + 1
}

/// Writes the primary key of a row.
pub fn id_key(key: &mut Vec<u8>, table: u32, id: u32) {
    begin(key, primary(table));
    push_u32(key, id);
}

/// All the tables.
pub struct SbTest;

impl Schema for SbTest {
    type Row = Row;
    const SECONDARY_INDEXES: usize = 1;

    fn primary_key(row: &Row, key: &mut Vec<u8>) {
        id_key(key, row.table, row.id);
    }

    fn value(row: &Row, value: &mut Vec<u8>) {
        value.clear();
        push_u32(value, row.k);
        value.extend_from_slice(&row.c);
        value.extend_from_slice(&row.pad);
    }

    fn decode(key: &[u8], value: &[u8]) -> Option<Row> {
        let (number, id) = (Columns::of_value(key).u32()?, Columns::of_key(key)?.u32()?);
        let mut columns = Columns::of_value(value);
        let k = columns.u32()?;
        let (c, pad) = columns.rest().split_first_chunk()?;
        Some(Row { table: (number - 1) / 2, id, k, c: *c, pad: pad.try_into().ok()? })
    }

    fn index_key(row: &Row, _index: usize, key: &mut Vec<u8>) {
        begin(key, k_index(row.table));
        push_u32(key, row.k);
        push_u32(key, row.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(random: &mut Random) -> Row {
        Row { table: 3, id: 17, k: 5, c: draw_c(random), pad: draw_pad(random) }
    }

    #[test]
    fn rows_come_back_and_have_their_published_sizes() {
        let (row, mut key, mut value) = (row(&mut Random::from_seed(1)), Vec::new(), Vec::new());
        SbTest::primary_key(&row, &mut key);
        SbTest::value(&row, &mut value);
        // 188 bytes of columns behind the index number.
        assert_eq!((key.len(), value.len(), ROW_BYTES), (8, 184, 192));
        assert_eq!(SbTest::decode(&key, &value), Some(row.clone()));
        SbTest::index_key(&row, 0, &mut key);
        assert_eq!(key.len() as u64, ENTRY_BYTES);
    }

    #[test]
    fn texts_are_groups_of_eleven_digits() {
        let row = row(&mut Random::from_seed(1));
        for (text, groups) in [(&row.c[..], 10), (&row.pad[..], 5)] {
            let text = std::str::from_utf8(text).unwrap().trim_end();
            assert_eq!(text.split('-').count(), groups);
            assert!(text.split('-').all(|group| group.len() == 11 && group.bytes().all(|b| b.is_ascii_digit())));
        }
    }

    #[test]
    fn blocks_of_digits_compress_by_half() {
        let mut random = Random::from_seed(1);
        let block: Vec<u8> = (0..87).flat_map(|_| draw_c(&mut random)).collect();
        let ratio = zstd::bulk::compress(&block, 3).unwrap().len() as f64 / block.len() as f64;
        assert!((0.42..0.52).contains(&ratio), "{ratio}");
    }
}

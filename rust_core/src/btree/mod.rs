//! The B-tree, with the option names and the policies of InnoDB. FORMAT.md says what its files look like and where it
//! differs from InnoDB.
//!
//! Reading order: `page`, `page_edit` (slotted pages), `packed_page`, `packing`, `packed_split`, `padding`,
//! `packed_pool` (compressed tables), `durable_file`, `tablespaces`, `page_file`, `space` (what lies where), `pool`, `lru`,
//! `flush_list`, `flush` (buffer pool and write-back), `redo`, `redo_block`, `redo_op`, `mtr`, `intent`, `undo` (logs),
//! `forest`, `insert`, `merge`, `cursor` (trees), `change_buffer`, `change_merge` (buffered changes), `pace`, `thresholds`,
//! `background` (policies), `recovery`.

mod background;
mod change_buffer;
mod change_merge;
mod cursor;
mod doublewrite;
mod durable_file;
mod engine;
mod flush;
mod flush_list;
mod forest;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod insert;
mod intent;
mod long_value;
mod lru;
mod merge;
mod mtr;
mod options;
mod pace;
mod packed_page;
mod packed_pool;
mod packed_split;
mod packing;
mod padding;
mod page;
mod page_edit;
mod page_file;
mod page_table;
mod pool;
mod range_count;
mod read_ahead;
mod recovery;
mod redo;
mod redo_block;
mod redo_op;
mod space;
mod tablespaces;
#[cfg(test)]
mod tests;
mod thresholds;
mod undo;

pub use engine::Btree;
pub use options::{MIN_POOL_PAGES, Options};

use crate::engine::{INDEX_NUMBER_BYTES, KeyLayout};

/// Index number and key within the index. A key that is too short for an index number, as only a seek may have, is
/// taken as the start of the index that it is a prefix of.
#[inline]
fn split_key(layout: KeyLayout, key: &[u8]) -> (u32, &[u8]) {
    match (layout, key.split_first_chunk::<INDEX_NUMBER_BYTES>()) {
        (KeyLayout::Plain, _) => (0, key),
        (KeyLayout::Indexed, Some((number, rest))) => (u32::from_be_bytes(*number), rest),
        (KeyLayout::Indexed, None) => {
            let mut number = [0; INDEX_NUMBER_BYTES];
            number[..key.len()].copy_from_slice(key);
            (u32::from_be_bytes(number), &[])
        }
    }
}

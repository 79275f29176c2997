//! How long keys and values may be.

use super::forest::Forest;
use crate::btree::page::{HEADER_BYTES, zip_empty_bytes};
use crate::btree::space::FilSpace;

impl Forest {
    /// Longest key of a tree.
    pub fn max_key_bytes(&self, tree: u32) -> usize {
        let whole = self.store.pool.page_bytes() / 4 - 96;
        incompressible_bytes(self.store.pool.files.of_tree(tree)).map_or(whole, |bytes| whole.min(bytes / 4))
    }

    /// Longest value that is stored in a leaf of a tree.
    pub fn max_inline_bytes(&self, tree: u32) -> usize {
        self.max_inline_bytes_in(self.store.pool.files.of_tree(tree))
    }

    /// Longest value that is stored in any leaf.
    pub fn max_inline_bytes_of_all(&self) -> usize {
        self.max_inline_bytes_in(self.store.pool.files.system())
    }

    fn max_inline_bytes_in(&self, file: &FilSpace) -> usize {
        let whole = self.store.pool.page_bytes() / 4;
        incompressible_bytes(file).map_or(whole, |bytes| whole.min(bytes / 2))
    }

    /// Longest value of a tree: its overflow pages are all latched at once, so they may take an eighth of the pool.
    pub fn max_value_bytes(&self, tree: u32) -> usize {
        let of_page = self.store.pool.files.of_tree(tree).slot_bytes() - HEADER_BYTES;
        (self.store.pool.options.pool_pages() / 8 * of_page).max(self.max_inline_bytes(tree))
    }
}

/// Bytes of records that fit a compressed page in any case. Keys and values are so short that a row always fits alone,
/// and two children do.
fn incompressible_bytes(file: &FilSpace) -> Option<usize> {
    let zip = file.zip_bytes();
    (zip > 0).then(|| zip_empty_bytes(zip) - 64)
}

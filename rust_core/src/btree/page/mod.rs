//! What a page is made of: its layout, changes of it, its compressed form (`page_zip`), and what of a leaf outlives its
//! stay in the pool. Bytes in, bytes out: it knows no file, no log and no pool, and every other room may know it.

mod bytes;
mod edit;
mod ibuf_bits;
mod layout;
mod page_zip;
mod zip_pad;

pub use bytes::{changed, get_u16, get_u32, get_u64, put_u16, put_u32, put_u64};
pub use edit::{BARE, Edit, Payload, has_room, has_room_to_replace, split_point, splits_early};
pub use ibuf_bits::{IbufBits, ROOM_UNITS, is_index_leaf};
pub use layout::{
    AT_ALGORITHM, AT_CHECKSUM, AT_CHUNK, AT_LAST_INSERT, AT_NEXT, AT_PAGE_NO, AT_STORED, AT_TREE, CHANGE_TREE,
    EXTENT_PAGES, HEADER_BYTES, Kind, MAX_PAGES, NO_PAGE, NODE_RECORD_HEADER, OVERFLOW_POINTER_BYTES, SLOT_BYTES,
    Stored, UNDO_TREE, View,
};
#[cfg(test)]
pub use layout::{AT_COUNT, AT_GARBAGE, AT_KIND, AT_LEVEL};
pub use page_zip::{PageZip, PageZipEdit, part_of, zip_empty_bytes};
pub use zip_pad::ZipPads;

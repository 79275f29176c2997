//! What InnoDB keeps of the leaf of a secondary index in the change buffer's bitmap (`ibuf0ibuf.cc`): what may be
//! buffered for it while nobody looks at the page.

use super::layout::{Kind, Stored, View};
use super::page_zip::PageZip;

/// Room is known in 32nds of a page (`IBUF_PAGE_SIZE_PER_FREE_SPACE`), of which the bitmap has 0, 1, 2 or 4.
pub const ROOM_UNITS: usize = 32;

/// Of one leaf, when the pool let go of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IbufBits {
    /// 32nds of the page that are surely free.
    pub room: u8,
    /// Records, or 255 if there are more.
    pub records: u8,
}

impl IbufBits {
    /// Of a page, if it is a leaf with nothing but entries of a secondary index. The room is rounded down as InnoDB's
    /// bitmap does (`ibuf_index_page_calc_free_bits`); that of a compressed page is what its modification log has.
    pub fn of(view: View, zip: Option<PageZip>) -> Option<Self> {
        let is_bare = |slot| view.value(slot) == Stored::Inline(&[]);
        let known = is_index_leaf(view) && (1..view.count()).all(is_bare);
        known.then(|| {
            let free = zip.map_or(usize::MAX, PageZip::room).min(view.free());
            let room = match free / (view.size() / ROOM_UNITS) {
                units @ 0..=2 => units as u8,
                3 => 2,
                _ => 4,
            };
            Self { room, records: view.count().min(255) as u8 }
        })
    }
}

/// Whether a page can be one with buffered changes, by its first record.
pub fn is_index_leaf(view: View) -> bool {
    view.kind() == Kind::Tree && view.is_leaf() && view.count() > 0 && view.value(0) == Stored::Inline(&[])
}

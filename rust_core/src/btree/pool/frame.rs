//! A frame of the pool (`buf_block_t`): its latch, and the page that it holds, in one form or both.

use crate::btree::page::{Kind, NO_PAGE, PageZipEdit, View};
use crate::error::Result;
use parking_lot::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

/// What a frame holds: a page, in one form or both.
#[derive(Clone)]
pub struct Body {
    pub(super) page_no: u32,
    pub(super) bytes: Box<[u8]>,
    /// The compressed form of the page, if its table is compressed. Only that of a page of a tree is kept up.
    pub(super) zip: Box<[u8]>,
}

impl Body {
    /// Of no page yet.
    pub fn new(page_bytes: usize, zip_bytes: usize) -> Self {
        let empty = |bytes| vec![0; bytes].into_boxed_slice();
        Self { page_no: NO_PAGE, bytes: empty(page_bytes), zip: empty(zip_bytes) }
    }

    /// Appends what storage is to hold.
    pub fn append_stored(&self, out: &mut Vec<u8>) {
        if !self.has_zip() {
            return out.extend_from_slice(&self.bytes);
        }
        let start = out.len();
        out.extend_from_slice(&self.zip);
        if self.has_page() {
            keep_in(&mut out[start..], &self.bytes);
        }
    }

    /// Whether the page is here, and not its compressed form alone.
    pub fn has_page(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Whether the page has a compressed form.
    pub fn has_zip(&self) -> bool {
        !self.zip.is_empty()
    }

    /// Whether the frame holds this page in its compressed form alone.
    pub fn lacks_page(&self, page_no: u32) -> bool {
        self.page_no == page_no && !self.has_page()
    }

    /// Drops the page and keeps its compressed form; false if there is no page yet.
    pub fn drop_page(&mut self) -> bool {
        let drops = self.page_no != NO_PAGE && self.has_page();
        if drops {
            keep_in(&mut self.zip, &self.bytes);
            self.bytes = Box::default();
        }
        drops
    }

    /// Makes the page of its compressed form.
    pub fn decompress(&mut self, expand: impl FnOnce(&[u8], &mut [u8]) -> Result<()>, page_bytes: usize) -> Result<()> {
        let mut bytes = vec![0; page_bytes].into_boxed_slice();
        expand(&self.zip, &mut bytes)?;
        self.bytes = bytes;
        Ok(())
    }
}

/// One frame.
#[repr(align(64))]
pub struct Frame {
    pub(super) latch: RwLock<Body>,
    /// Time of the first access since the page came in; 0 before.
    pub(super) first_access_ns: AtomicU64,
    /// Evictions when the page was last put in front.
    pub(super) young_clock: AtomicU32,
    /// The page in the frame, to be confirmed under the latch.
    pub(super) page_hint: AtomicU32,
    /// `buf_page_t::REINIT`: no write has begun since the page was made, so that the log since the checkpoint says all
    /// of it. Changed under the latch.
    pub(super) is_fresh: AtomicBool,
}

impl Default for Frame {
    fn default() -> Self {
        Self {
            latch: RwLock::new(Body::new(0, 0)),
            first_access_ns: AtomicU64::new(0),
            young_clock: AtomicU32::new(0),
            page_hint: AtomicU32::new(NO_PAGE),
            is_fresh: AtomicBool::new(false),
        }
    }
}

/// Takes over what the page has and its compressed form has not: the header, or all of a page that is none of a tree.
pub fn keep_in(zip: &mut [u8], page: &[u8]) {
    if View(page).kind() == Kind::Tree {
        PageZipEdit(zip).copy_header(View(page));
    } else {
        let len = zip.len();
        zip.copy_from_slice(&page[..len]);
    }
}

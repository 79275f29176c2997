//! A node of a skip list. In the arena it is
//! `[links to higher levels][link of level 0][varint key length][internal key][varint value length][value]`
//! and is addressed by its level-0 link, so that a pointer is enough to compare keys whatever the node's height. It is
//! complete before a link to it is published, and then only its links change.

use super::arena::Arena;
use crate::codec::varint;
use crate::lsm::keys::key::{TRAILER_BYTES, compare_bytes, split};
use crate::lsm::prefetch::prefetch;
use std::cmp::Ordering;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering as Memory};

const LINK_BYTES: usize = 8;
/// Bytes of a key that a search asks the processor for ahead of time.
const KEY_AHEAD_BYTES: usize = 32;

/// Bytes of an entry behind its links.
fn entry_bytes(key_len: usize, value_len: usize) -> usize {
    let internal = key_len + TRAILER_BYTES;
    varint::len_u64(internal as u64) + internal + varint::len_u64(value_len as u64) + value_len
}

/// A node of some list that is still alive: whoever holds one keeps the list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Node(NonNull<u8>);

// SAFETY: a node is an address; what it points at is immutable but for its links, which are atomic.
unsafe impl Send for Node {}

impl Node {
    /// The head of a list, which has links and no entry.
    pub fn head(arena: &mut Arena, height: usize) -> Self {
        let start = arena.allocate(height * LINK_BYTES);
        // SAFETY: the allocation holds `height` aligned links, the last of which is that of level 0.
        unsafe { Self::unlinked(start, height) }
    }

    /// A node with its entry, which no link leads to yet.
    pub fn new(arena: &mut Arena, height: usize, user_key: &[u8], trailer: u64, value: &[u8]) -> Self {
        let links = height * LINK_BYTES;
        let start = arena.allocate(links + entry_bytes(user_key.len(), value.len()));
        // SAFETY: the allocation holds the links and `entry_bytes` of entry, written here from front to back.
        unsafe {
            let node = Self::unlinked(start, height);
            let mut at = write_len(start.add(links).as_ptr(), user_key.len() + TRAILER_BYTES);
            at = write_bytes(at, user_key);
            at = write_bytes(at, &trailer.to_le_bytes());
            at = write_len(at, value.len());
            write_bytes(at, value);
            node
        }
    }

    /// # Safety
    /// `height` aligned links at `start` are the caller's.
    unsafe fn unlinked(start: NonNull<u8>, height: usize) -> Self {
        // SAFETY: passed on to the caller.
        unsafe {
            for level in 0..height {
                start.add(level * LINK_BYTES).cast::<AtomicPtr<u8>>().write(AtomicPtr::new(null_mut()));
            }
            Self(start.add((height - 1) * LINK_BYTES))
        }
    }

    /// What a link to the node holds.
    #[inline]
    pub fn address(self) -> *mut u8 {
        self.0.as_ptr()
    }

    /// The link of a level.
    ///
    /// # Safety
    /// The node has more than `level` links and its list is alive.
    #[inline]
    #[allow(clippy::cast_ptr_alignment)]
    pub unsafe fn link<'a>(self, level: usize) -> &'a AtomicPtr<u8> {
        // SAFETY: the caller promises that the link exists; links are aligned since nodes and their sizes are.
        unsafe { &*self.0.as_ptr().sub(level * LINK_BYTES).cast::<AtomicPtr<u8>>() }
    }

    /// The node that a level's link leads to.
    ///
    /// # Safety
    /// As for [`Node::link`].
    #[inline]
    pub unsafe fn next(self, level: usize) -> Option<Self> {
        // SAFETY: passed on to the caller.
        NonNull::new(unsafe { self.link(level) }.load(Memory::Acquire)).map(Self)
    }

    /// # Safety
    /// `at` is the start of a length written by the inserter.
    #[inline]
    unsafe fn read_len(mut at: *const u8) -> (usize, *const u8) {
        let (mut len, mut shift) = (0, 0);
        loop {
            // SAFETY: the inserter wrote a whole varint here.
            let byte = unsafe { at.read() };
            // SAFETY: the length is followed by at least one byte or by the end of the entry.
            at = unsafe { at.add(1) };
            len |= ((byte & 0x7f) as usize) << shift;
            if byte < 0x80 {
                return (len, at);
            }
            shift += 7;
        }
    }

    /// The internal key.
    ///
    /// # Safety
    /// The node is not the head, and its list lives for `'a`.
    #[inline]
    pub unsafe fn key<'a>(self) -> &'a [u8] {
        // SAFETY: the entry starts behind the level-0 link and was complete before the node was published.
        unsafe {
            let (len, at) = Self::read_len(self.0.as_ptr().add(LINK_BYTES));
            std::slice::from_raw_parts(at, len)
        }
    }

    /// The value.
    ///
    /// # Safety
    /// As for [`Node::key`].
    #[inline]
    pub unsafe fn value<'a>(self) -> &'a [u8] {
        // SAFETY: the value follows the key.
        unsafe {
            let (len, at) = Self::read_len(self.0.as_ptr().add(LINK_BYTES));
            let (len, at) = Self::read_len(at.add(len));
            std::slice::from_raw_parts(at, len)
        }
    }

    /// Asks for the node ahead on `level`, which a search may visit next.
    ///
    /// # Safety
    /// As for [`Node::link`].
    #[inline]
    pub unsafe fn prefetch_next(self, level: usize) {
        // SAFETY: passed on to the caller.
        let next = unsafe { self.link(level) }.load(Memory::Relaxed);
        prefetch(next);
        // A short key ends within the next line at the latest.
        prefetch(next.wrapping_add(LINK_BYTES + KEY_AHEAD_BYTES));
    }

    /// Compares this node's key with a user key and trailer.
    ///
    /// # Safety
    /// As for [`Node::key`].
    #[inline]
    pub unsafe fn compare(self, user_key: &[u8], trailer: u64) -> Ordering {
        // SAFETY: passed on to the caller.
        let (own_key, own_trailer) = split(unsafe { self.key() });
        compare_bytes(own_key, user_key).then_with(|| trailer.cmp(&own_trailer))
    }
}

/// Writes a varint and returns the address behind it.
///
/// # Safety
/// The bytes of the varint at `at` are the caller's.
unsafe fn write_len(mut at: *mut u8, mut len: usize) -> *mut u8 {
    // SAFETY: passed on to the caller.
    unsafe {
        while len >= 0x80 {
            at.write(len as u8 | 0x80);
            at = at.add(1);
            len >>= 7;
        }
        at.write(len as u8);
        at.add(1)
    }
}

/// Copies bytes and returns the address behind them.
///
/// # Safety
/// `bytes.len()` bytes at `at` are the caller's and do not overlap `bytes`.
unsafe fn write_bytes(at: *mut u8, bytes: &[u8]) -> *mut u8 {
    // SAFETY: passed on to the caller.
    unsafe {
        at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        at.add(bytes.len())
    }
}

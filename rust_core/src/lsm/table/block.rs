//! A block that was read, as `block_builder` writes it, and the search in it.

use crate::codec::varint;
use crate::lsm::keys::key::{TRAILER_BYTES, common_prefix, compare_bytes, split};
use crate::lsm::prefetch::prefetch_byte;
use std::cmp::Ordering;

/// Bytes of a cache line, and the lines that a lookup asks for ahead of the entry that it looks at.
const LINE_BYTES: usize = 64;
const AHEAD_LINES: usize = 8;

/// A block that was read and checked.
#[derive(Debug)]
pub struct Block {
    pub(super) data: Vec<u8>,
    /// End of the entries.
    pub(super) end: usize,
    pub(super) restarts: usize,
}

/// One entry, still prefix-compressed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) shared: usize,
    pub(super) key_start: usize,
    pub(super) value_start: usize,
    pub(super) value_end: usize,
}

impl Block {
    /// Checks the form of a block; `None` if it is not one.
    pub fn decode(data: Vec<u8>) -> Option<Self> {
        let count = u32::from_le_bytes(*data.last_chunk::<4>()?) as usize;
        let end = data.len().checked_sub(4)?.checked_sub(count.checked_mul(4)?)?;
        (count > 0).then_some(Self { data, end, restarts: count })
    }

    /// Bytes of memory in use.
    pub fn memory_bytes(&self) -> usize {
        self.data.capacity() + size_of::<Self>()
    }

    /// Addresses of the restart points and of the entry that a search looks at first, to be prefetched.
    pub fn search_begins_at(&self) -> [usize; 2] {
        let address = |at: usize| self.data.as_ptr().wrapping_add(at).addr();
        [address(self.end), address(self.restart(self.restarts / 2))]
    }

    /// Comparisons that the search among the restart points takes.
    #[inline]
    pub fn search_steps(&self) -> u64 {
        u64::from(self.restarts.max(2).ilog2())
    }

    #[inline]
    pub(super) fn restart(&self, n: usize) -> usize {
        let at = self.end + 4 * n;
        self.data
            .get(at..)
            .and_then(|rest| rest.first_chunk::<4>())
            .map_or(self.end, |at| u32::from_le_bytes(*at) as usize)
    }

    /// The entry at an offset; `None` at the end, or where the bytes are no entry.
    #[inline]
    pub(super) fn entry(&self, at: usize) -> Option<Entry> {
        let entries = self.data.get(..self.end)?;
        let (shared, unshared, value_len, key_start) = match entries.get(at..)? {
            [shared, unshared, value_len, ..] if (shared | unshared | value_len) < 0x80 => {
                (*shared as usize, *unshared as usize, *value_len as usize, at + 3)
            }
            rest => {
                let (shared, rest) = varint::take_u32(rest)?;
                let (unshared, rest) = varint::take_u32(rest)?;
                let (value_len, rest) = varint::take_u32(rest)?;
                (shared as usize, unshared as usize, value_len as usize, self.end - rest.len())
            }
        };
        let value_start = key_start + unshared;
        let value_end = value_start + value_len;
        (value_end <= self.end).then_some(Entry { shared, key_start, value_start, value_end })
    }

    /// The internal key at a restart point, which is stored whole.
    #[inline]
    fn restart_key(&self, n: usize) -> &[u8] {
        self.entry(self.restart(n)).map_or(&[], |entry| &self.data[entry.key_start..entry.value_start])
    }

    /// The last restart point whose key is before an internal key, or the first one.
    #[inline]
    pub(super) fn restart_before(&self, user_key: &[u8], trailer: u64) -> usize {
        let (mut low, mut high) = (0, self.restarts);
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            let (found, found_trailer) = split(self.restart_key(middle));
            let order = compare_bytes(found, user_key).then_with(|| trailer.cmp(&found_trailer));
            if order == Ordering::Less {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Finds the newest entry of a user key that is at or behind `trailer` in the order of internal keys: its own
    /// trailer and its value. `steps` counts the entries that were looked at.
    ///
    /// Keys are not put together on the way. While the entries are before the wanted key, only the number of bytes that
    /// the last one has in common with it is kept: an entry that shares more with its predecessor than that is before
    /// the wanted key too, one that shares less is behind it, and only one that shares exactly as much must be
    /// compared.
    #[inline]
    pub fn find(&self, user_key: &[u8], trailer: u64, steps: &mut u64) -> Option<(u64, &[u8])> {
        let mut at = self.restart(self.restart_before(user_key, trailer));
        (1..AHEAD_LINES).for_each(|line| prefetch_byte(&self.data, at + line * LINE_BYTES));
        let (mut matched, mut before_len) = (0, usize::MAX);
        loop {
            let entry = self.entry(at)?;
            prefetch_byte(&self.data, entry.value_end + (AHEAD_LINES - 1) * LINE_BYTES);
            prefetch_byte(&self.data, entry.value_end + AHEAD_LINES * LINE_BYTES);
            *steps += 1;
            let len = entry.shared + (entry.value_start - entry.key_start);
            let user_len = len.checked_sub(TRAILER_BYTES)?;
            if entry.shared > before_len || entry.shared > user_len {
                return self.find_slowly(user_key, trailer, steps);
            }
            if entry.shared == 0 {
                // A restart point stores its key whole, whatever it has in common with the one before.
                matched = 0;
            }
            if entry.shared < matched {
                return None;
            }
            if entry.shared == matched {
                let own = &self.data[entry.key_start..entry.value_start - TRAILER_BYTES];
                let wanted = &user_key[matched..];
                let common = common_prefix(own, wanted);
                match (own.get(common), wanted.get(common)) {
                    (None, None) => {
                        let (_, found) = split(&self.data[entry.key_start..entry.value_start]);
                        if found > trailer {
                            return self.find_slowly(user_key, trailer, steps);
                        }
                        return Some((found, &self.data[entry.value_start..entry.value_end]));
                    }
                    (None, Some(_)) => {}
                    (Some(own), Some(wanted)) if own < wanted => {}
                    _ => return None,
                }
                matched += common;
            }
            before_len = user_len;
            at = entry.value_end;
        }
    }

    /// As [`Block::find`], for blocks in which a key shares bytes with the trailer of another one, or a user key has
    /// more than one entry.
    #[cold]
    fn find_slowly(&self, user_key: &[u8], trailer: u64, steps: &mut u64) -> Option<(u64, &[u8])> {
        let mut at = self.restart(self.restart_before(user_key, trailer));
        let mut key = Vec::new();
        loop {
            let entry = self.entry(at)?;
            *steps += 1;
            key.truncate(entry.shared);
            key.extend_from_slice(&self.data[entry.key_start..entry.value_start]);
            let (found, found_trailer) = split(&key);
            match compare_bytes(found, user_key).then_with(|| trailer.cmp(&found_trailer)) {
                Ordering::Less => at = entry.value_end,
                _ if found == user_key => return Some((found_trailer, &self.data[entry.value_start..entry.value_end])),
                _ => return None,
            }
        }
    }
}

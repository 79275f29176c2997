//! Memory of a memtable: blocks that are filled from the front and freed all at once. The accounting is RocksDB's,
//! since it decides when a memtable is full.

use std::alloc::{self, Layout};
use std::ptr::NonNull;

/// Alignment and granularity of allocations, RocksDB's `kAlignUnit`.
pub const ALIGN: usize = 16;

/// Blocks of one size, and larger ones for allocations that would waste them.
pub struct Arena {
    blocks: Vec<(NonNull<u8>, Layout)>,
    block_bytes: usize,
    /// Where the next allocation goes; only meaningful while `left` is not 0.
    free: NonNull<u8>,
    left: usize,
    allocated: usize,
}

// SAFETY: the arena owns its blocks and hands out raw memory; nothing in it is tied to a thread.
unsafe impl Send for Arena {}

impl Arena {
    /// An arena without blocks.
    pub fn new(block_bytes: usize) -> Self {
        Self { blocks: Vec::new(), block_bytes, free: NonNull::dangling(), left: 0, allocated: 0 }
    }

    /// Memory for `bytes` (more than 0), aligned to [`ALIGN`], valid until the arena is dropped and never moved.
    pub fn allocate(&mut self, bytes: usize) -> NonNull<u8> {
        let bytes = bytes.next_multiple_of(ALIGN);
        if bytes > self.left {
            if bytes > self.block_bytes / 4 {
                return self.add_block(bytes);
            }
            self.free = self.add_block(self.block_bytes);
            self.left = self.block_bytes;
        }
        let memory = self.free;
        // SAFETY: `left` bytes from `free` on belong to the current block, and `bytes` is at most `left`.
        self.free = unsafe { memory.add(bytes) };
        self.left -= bytes;
        memory
    }

    fn add_block(&mut self, bytes: usize) -> NonNull<u8> {
        let layout = Layout::from_size_align(bytes, ALIGN).expect("block sizes are far below the address space");
        // SAFETY: `bytes` is not 0: callers ask for more than 0 and blocks are at least 4 KiB.
        let memory = unsafe { alloc::alloc(layout) };
        let Some(memory) = NonNull::new(memory) else { alloc::handle_alloc_error(layout) };
        self.blocks.push((memory, layout));
        self.allocated += bytes;
        memory
    }

    /// Bytes of all blocks.
    pub fn allocated_bytes(&self) -> usize {
        self.allocated
    }

    /// Bytes of the current block that are not given out.
    pub fn unused_bytes(&self) -> usize {
        self.left
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for (memory, layout) in self.blocks.drain(..) {
            // SAFETY: each block came from `alloc` with this layout and is freed once.
            unsafe { alloc::dealloc(memory.as_ptr(), layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_allocations_share_blocks_and_large_ones_have_their_own() {
        let mut arena = Arena::new(4096);
        let first = arena.allocate(10);
        let second = arena.allocate(100);
        assert_eq!(second.as_ptr() as usize - first.as_ptr() as usize, ALIGN);
        assert_eq!(arena.allocated_bytes(), 4096);
        assert_eq!(arena.unused_bytes(), 4096 - 16 - 112);
        arena.allocate(5000);
        assert_eq!(arena.allocated_bytes(), 4096 + 5008);
        assert_eq!(arena.unused_bytes(), 4096 - 16 - 112);
    }
}

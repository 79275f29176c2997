//! An allocator that knows the largest piece that the calling thread has asked for.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

/// Passes on to another allocator and takes note.
pub struct Noting<A>(pub A);

fn note(bytes: usize) {
    // A thread that ends frees and allocates after its thread-locals are gone.
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(bytes)));
}

// SAFETY: every call goes on unchanged to an allocator that keeps the contract.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Noting<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        note(bytes);
        // SAFETY: the caller's promise is passed on.
        unsafe { self.0.realloc(block, layout, bytes) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { self.0.dealloc(block, layout) }
    }
}

/// Bytes of the largest piece that the calling thread asks for in `f`.
pub fn largest_of(f: impl FnOnce()) -> usize {
    LARGEST.set(0);
    f();
    LARGEST.get()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_largest_piece_is_noted() {
        let largest = super::largest_of(|| drop((vec![1u8; 100], vec![0u8; 3 << 20], vec![2u8; 7])));
        assert!((3 << 20..4 << 20).contains(&largest), "{largest}");
    }
}

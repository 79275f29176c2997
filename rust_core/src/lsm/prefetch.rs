//! A hint to the processor that memory is needed soon. Lookups in memtables and blocks spend most of their time on
//! cache misses, one behind the other; with hints the misses overlap.

/// Asks for the cache line of `bytes[at]`; nothing happens past the end.
#[inline]
pub fn prefetch_byte(bytes: &[u8], at: usize) {
    if let Some(byte) = bytes.get(at) {
        prefetch(byte);
    }
}

/// Asks for the cache line of an address, which need not be valid.
#[inline]
pub fn prefetch(at: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that the program sees, and faults on no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}

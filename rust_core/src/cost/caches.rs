//! What a search misses of the processor's caches, by the size of what it searches.

/// A structure up to this size is searched in the processor's own caches: a quarter of the second-level cache of a
/// small server core, because the client and the rest of the engine want their part.
const CACHED_BYTES: u64 = 256 << 10;

/// Bytes that come into the processor's caches together.
const LINE_BYTES: u64 = 64;

/// Units of [`super::Work::CacheMiss`] of a search that looks at `lines` places, halving the rest each time, in a
/// structure of `bytes`.
///
/// A search among `bytes / 64` lines halves `h = log2(bytes / 64)` times. The last `l = log2(bytes / CACHED_BYTES)`
/// halvings are outside the caches, so `l / h` of its places are. Each of them is the dearer the larger the structure:
/// the next cache, memory, then the page tables as well; that is taken to grow with `l` too. So `lines * l^2 / h`.
/// Measured from 2 MB to 200 MB, both engines and memtables follow the square.
#[inline]
pub fn misses(lines: u64, bytes: u64) -> u64 {
    if bytes <= CACHED_BYTES {
        return 0;
    }
    let beyond = halvings_beyond_in_16ths(bytes, CACHED_BYTES);
    lines * beyond * beyond / (16 * halvings_in_16ths(bytes))
}

/// A structure up to this size is searched in the last of the processor's caches: half of that of a small server,
/// because other programs want their part.
const LAST_CACHED_BYTES: u64 = 16 << 20;

/// Units of [`super::Work::MemoryMiss`] of a search that looks at `lines` places in a structure of `bytes`: those of
/// its last halvings, which are outside the caches, each as dear as the other. Where the caches grow from one to the
/// next, as in the processor behind [`misses`]'s square, they cost nothing besides; where one large cache ends in
/// memory, they are what a calibration finds (about 200 ns on an AMD EPYC of 2024, whose other misses cost next to
/// nothing).
#[inline]
pub fn memory_misses(lines: u64, bytes: u64) -> u64 {
    if bytes <= LAST_CACHED_BYTES {
        return 0;
    }
    lines * halvings_beyond_in_16ths(bytes, LAST_CACHED_BYTES) / halvings_in_16ths(bytes)
}

/// 16 times the halvings from a structure of more than `cached_bytes` down to that.
#[inline]
fn halvings_beyond_in_16ths(bytes: u64, cached_bytes: u64) -> u64 {
    log2_in_16ths(bytes / (cached_bytes / 16)) - 64
}

/// 16 times the halvings of a search among the lines of a structure.
#[inline]
fn halvings_in_16ths(bytes: u64) -> u64 {
    log2_in_16ths((bytes / LINE_BYTES).max(2))
}

/// Whether `searches` in a structure of `bytes` that took `steps` began near their goals, as those for keys in order
/// do: with less than half of the steps of a search from the top.
#[inline]
pub fn is_local(searches: u64, steps: u64, bytes: u64) -> bool {
    32 * steps < searches * halvings_in_16ths(bytes)
}

/// Steps of a search in a structure of `full_bytes`, where one in a structure of `bytes` of the same kind took `steps`:
/// the halvings of its lines, in proportion.
#[inline]
pub fn larger_search(steps: u64, bytes: u64, full_bytes: u64) -> u64 {
    steps * halvings_in_16ths(full_bytes) / halvings_in_16ths(bytes)
}

/// 16 times the logarithm to base 2 of a number that is not 0, straight between the powers of 2.
#[inline]
fn log2_in_16ths(number: u64) -> u64 {
    let whole = number.ilog2();
    let rest = number - (1 << whole);
    u64::from(16 * whole) + ((u128::from(rest) * 16) >> whole) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_structure_takes_as_many_more_steps_as_it_has_halvings() {
        assert_eq!(larger_search(10, 1 << 16, 1 << 16), 10);
        assert_eq!(larger_search(10, 1 << 16, 1 << 26), 20, "ten halvings of lines, and twenty");
        assert_eq!(larger_search(10, 0, 1 << 26), 200, "an empty structure is one of two lines");
        assert!(is_local(100, 499, 1 << 16) && !is_local(100, 500, 1 << 16));
    }

    #[test]
    fn a_search_misses_more_the_larger_the_structure() {
        assert_eq!(misses(20, 256 << 10), 0);
        assert_eq!(memory_misses(20, 16 << 20), 0);
        assert_eq!(memory_misses(24, 1 << 30), 6, "six of 24 halvings");
        // 1 GiB: 12 of 24 halvings lie beyond 256 KiB, and each weighs 12.
        assert_eq!(misses(20, 1 << 30), 20 * 12 * 12 / 24);
        let by_size = (18..40).map(|bits| misses(20, (1 << bits) + 5)).collect::<Vec<_>>();
        assert!(by_size.is_sorted() && by_size[3] < by_size[6], "{by_size:?}");
    }
}

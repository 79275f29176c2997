//! What a decoder has to offer to be fuzzed, and how one case is run.

use super::allocation;
use crate::error::Error;

/// What one decoder reads, and how it is given damaged bytes.
pub struct Target {
    /// Its name in reports and for libFuzzer.
    pub name: &'static str,
    /// What the engines themselves write there.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Puts checksums right.
    pub repair: fn(&mut [u8]),
    /// Decodes, uses what was decoded, and panics where that breaks a promise.
    pub decode: fn(&[u8]),
}

/// Bytes that a target may allocate at once whatever it is given: buffers of a fixed size, and frames of the pools.
const ALLOWANCE_BYTES: usize = 24 << 20;
/// Times its input that it may allocate at once beyond that.
const ALLOWED_RATIO: usize = 8;

impl Target {
    /// Runs one case.
    pub fn check(&self, case: &[u8]) {
        let Some((mode, rest)) = case.split_first() else { return };
        let mut bytes = rest.to_vec();
        if mode & 1 == 1 {
            (self.repair)(&mut bytes);
        }
        let largest = allocation::largest_of(|| (self.decode)(&bytes));
        let allowed = ALLOWANCE_BYTES + ALLOWED_RATIO * bytes.len();
        assert!(largest <= allowed, "{} bytes allocated at once for an input of {}", largest, bytes.len());
    }
}

/// For formats without checksums.
pub fn without_checksum(_: &mut [u8]) {}

/// A decoder's error is corruption, named by file.
pub fn expect_corruption(error: &Error) {
    assert!(matches!(error, Error::Corruption { file, .. } if !file.is_empty()), "not named as corruption: {error}");
}

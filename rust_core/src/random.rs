//! Random numbers that mean the same for ever: one algorithm (xoshiro256++), and draws that are ours, so that a new
//! version of a library changes no run.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::f64::consts::TAU;

/// Who draws. Streams of one seed are independent of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// A client of the measured phase.
    Client(u32),
    /// One chunk of the load, whichever loader takes it.
    LoadChunk(u64),
    /// Whatever a workload draws once for all its clients.
    Shared(u64),
}

impl Stream {
    fn words(self) -> [u64; 2] {
        match self {
            Self::Client(id) => [1, u64::from(id)],
            Self::LoadChunk(chunk) => [2, chunk],
            Self::Shared(what) => [3, what],
        }
    }
}

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Random {
    generator: Xoshiro256PlusPlus,
}

impl Random {
    /// The stream of `stream` in a run with this seed.
    pub fn derive(seed: u64, stream: Stream) -> Self {
        let mixed = stream.words().into_iter().fold(mix(seed), |state, word| mix(state ^ mix(word)));
        Self::from_seed(mixed)
    }

    /// A stream of its own.
    pub fn from_seed(seed: u64) -> Self {
        Self { generator: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform in 0..n; 0 when n is 0. The bias is below n / 2^64.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// True with this probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Normal with mean 0 and standard deviation 1 (Box and Muller).
    pub fn gaussian(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.unit())).sqrt();
        radius * libm::cos(TAU * self.unit())
    }
}

/// The generator of SplitMix64: each word has an image of its own, and neighbours land far apart.
pub fn mix(word: u64) -> u64 {
    let mut z = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_a_function_of_seed_and_owner() {
        let first = |seed, stream| Random::derive(seed, stream).bits();
        assert_eq!(first(1, Stream::Client(0)), first(1, Stream::Client(0)));
        let others = [
            first(2, Stream::Client(0)),
            first(1, Stream::Client(1)),
            first(1, Stream::LoadChunk(0)),
            first(1, Stream::Shared(0)),
        ];
        assert!(others.iter().all(|&other| other != first(1, Stream::Client(0))));
    }

    #[test]
    fn the_algorithm_never_changes() {
        let mut random = Random::derive(42, Stream::Client(7));
        assert_eq!([random.bits(), random.bits()], [8012078477156709522, 2793787718508622580]);
    }

    #[test]
    fn draws_are_uniform_and_normal() {
        let mut random = Random::from_seed(1);
        let (mut counts, mut sum, mut squares) = ([0_u32; 10], 0.0, 0.0);
        for _ in 0..100_000 {
            counts[random.below(10) as usize] += 1;
            let x = random.gaussian();
            sum += x;
            squares += x * x;
        }
        assert!(counts.iter().all(|&count| (9_600..10_400).contains(&count)), "{counts:?}");
        assert!((sum / 1e5_f64).abs() < 0.01, "mean {}", sum / 1e5);
        assert!((squares / 1e5_f64 - 1.0).abs() < 0.02, "variance {}", squares / 1e5);
    }
}

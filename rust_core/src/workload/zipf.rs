//! Zipf draws over any number of items, by the algorithm of Gray et al., "Quickly Generating Billion-Record Synthetic
//! Databases" (1994), which both LinkBench and YCSB use.

use crate::random::Random;

/// Terms summed one by one before the Euler-Maclaurin formula takes over.
const SUMMED_TERMS: u64 = 1000;

/// Ranks 0..n with probability proportional to 1 / (rank + 1)^shape.
#[derive(Debug, Clone)]
pub struct Zipf {
    n: u64,
    alpha: f64,
    zeta_n: f64,
    eta: f64,
    second: f64,
}

impl Zipf {
    /// A distribution over `n` items; `shape` lies in (0, 1).
    pub fn new(n: u64, shape: f64) -> Self {
        let zeta_n = generalized_harmonic(n, shape);
        let eta = (1.0 - libm::pow(2.0 / n as f64, 1.0 - shape)) / (1.0 - generalized_harmonic(2, shape) / zeta_n);
        Self { n, alpha: 1.0 / (1.0 - shape), zeta_n, eta, second: libm::pow(0.5, shape) }
    }

    /// The rank below which a share `p` of all draws falls.
    pub fn quantile(&self, p: f64) -> u64 {
        let scaled = p * self.zeta_n;
        if scaled < 1.0 || self.n < 2 {
            return 0;
        }
        if scaled < 1.0 + self.second {
            return 1;
        }
        let rank = (self.n as f64 * libm::pow(self.eta * p - self.eta + 1.0, self.alpha)) as u64;
        rank.min(self.n - 1)
    }

    /// A random rank; 0 is the most frequent.
    pub fn draw(&self, random: &mut Random) -> u64 {
        self.quantile(random.unit())
    }
}

/// The sum of 1 / k^shape for k from 1 to n.
pub fn generalized_harmonic(n: u64, shape: f64) -> f64 {
    let term = |k: u64| libm::pow(k as f64, -shape);
    if n <= SUMMED_TERMS {
        return (1..=n).rev().map(term).sum();
    }
    let (first, last) = (SUMMED_TERMS as f64, n as f64);
    let head: f64 = (1..SUMMED_TERMS).rev().map(term).sum();
    let integral = (libm::pow(last, 1.0 - shape) - libm::pow(first, 1.0 - shape)) / (1.0 - shape);
    let ends = f64::midpoint(term(SUMMED_TERMS), term(n));
    let slopes = shape / 12.0 * (libm::pow(first, -shape - 1.0) - libm::pow(last, -shape - 1.0));
    head + integral + ends + slopes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harmonic_number_is_exact_to_nine_digits() {
        for shape in [0.606, 0.8, 0.99] {
            let summed: f64 = (1..=2_000_000_u64).rev().map(|k| libm::pow(k as f64, -shape)).sum();
            let closed = generalized_harmonic(2_000_000, shape);
            assert!((closed / summed - 1.0).abs() < 1e-9, "shape {shape}: {closed} against {summed}");
        }
    }

    #[test]
    fn the_hottest_keys_of_ten_million_get_their_published_shares() {
        const N: u64 = 10_000_000;
        const DRAWS: u32 = 1_000_000;
        for (shape, shares) in [
            (0.8, [37.6, 61.7, 71.5]),
            (0.741, [29.4, 54.5, 65.5]),
            (0.625, [17.6, 42.1, 54.6]),
            (0.606, [16.2, 40.3, 53.0]),
            (0.99, [70.7, 85.2, 89.6]),
        ] {
            let (zipf, mut random) = (Zipf::new(N, shape), Random::from_seed(7));
            let mut hits = [0_u32; 3];
            for _ in 0..DRAWS {
                let rank = zipf.draw(&mut random);
                for (hit, limit) in hits.iter_mut().zip([N / 100, N / 10, N / 5]) {
                    *hit += u32::from(rank < limit);
                }
            }
            for (hit, share) in hits.into_iter().zip(shares) {
                let found = f64::from(hit) * 100.0 / f64::from(DRAWS);
                assert!((found - share).abs() < 1.0, "shape {shape}: {found} against {share}");
            }
        }
    }

    #[test]
    fn every_rank_of_a_small_domain_is_drawn_and_none_beyond() {
        for n in [1, 2, 3, 10] {
            let (zipf, mut random) = (Zipf::new(n, 0.8), Random::from_seed(n));
            let mut seen = vec![false; n as usize];
            (0..10_000).for_each(|_| seen[zipf.draw(&mut random) as usize] = true);
            assert!(seen.iter().all(|&seen| seen), "{n}: {seen:?}");
        }
    }
}

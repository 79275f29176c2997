//! Distributions besides Zipf: LinkBench's log-normal sizes, geometric counts and measured out-degree of nodes, and
//! db_bench's sizes around a mean.

use crate::random::Random;
use std::sync::LazyLock;

/// Sizes whose logarithm is normal, rounded and clipped.
#[derive(Debug, Clone, Copy)]
pub struct LogNormal {
    /// Half of the sizes are at most this.
    pub median: f64,
    /// Standard deviation of the logarithm.
    pub sigma: f64,
    /// Largest size.
    pub max: u64,
}

impl LogNormal {
    /// Of this mean, clipped sizes counted as clipped; the largest size must lie above it.
    pub fn of_mean(mean: f64, sigma: f64, max: u64) -> Self {
        let of = |median| Self { median, sigma, max };
        // The mean grows with the median, and is half the largest size or more where that is the median.
        let (mut low, mut high) = (0.0, max as f64);
        while of(high).mean() < mean {
            (low, high) = (high, high * 2.0);
        }
        for _ in 0..f64::MANTISSA_DIGITS {
            let middle = f64::midpoint(low, high);
            let bound = if of(middle).mean() < mean { &mut low } else { &mut high };
            *bound = middle;
        }
        of(high)
    }

    /// Of unrounded sizes: the mean of a log-normal distribution below the largest size, and that size for all above.
    fn mean(&self) -> f64 {
        let max = self.max as f64;
        let clipped_at = libm::log(max / self.median) / self.sigma;
        let unclipped = self.median * libm::exp(self.sigma * self.sigma / 2.0);
        unclipped * normal_share_below(clipped_at - self.sigma) + max * normal_share_below(-clipped_at)
    }

    /// A random size.
    pub fn draw(&self, random: &mut Random) -> u64 {
        let size = libm::exp(random.gaussian() * self.sigma + libm::log(self.median)).round();
        (size as u64).min(self.max)
    }
}

/// Share of a standard normal distribution that lies below so many deviations.
fn normal_share_below(deviations: f64) -> f64 {
    libm::erfc(-deviations / std::f64::consts::SQRT_2) / 2.0
}

/// 1, 2, … with probability p, p (1 - p), …, clipped at `max`.
#[derive(Debug, Clone, Copy)]
pub struct Geometric {
    /// Probability of the first count.
    pub p: f64,
    /// Largest count.
    pub max: u64,
}

impl Geometric {
    /// A random count.
    pub fn draw(&self, random: &mut Random) -> u64 {
        let failures = libm::log(1.0 - random.unit()) / libm::log(1.0 - self.p);
        (failures as u64 + 1).min(self.max)
    }
}

/// Sizes around a mean: as db_bench draws those of its values between a smallest and a largest one
/// (`value_size_distribution_type`), or with the long tail that sizes of stored values have.
#[derive(Debug, Clone, Copy)]
pub enum Around {
    /// All of this size.
    Fixed(u64),
    /// Any size between the two is as frequent.
    Uniform(u64, u64),
    /// Normal, with six standard deviations between the two, and clipped there.
    Normal(u64, u64),
    /// Most are small, and few are large.
    LogNormal(LogNormal),
}

impl Around {
    /// A random size.
    pub fn draw(self, random: &mut Random) -> u64 {
        match self {
            Self::Fixed(size) => size,
            Self::Uniform(smallest, largest) => smallest + random.below(largest - smallest + 1),
            Self::Normal(smallest, largest) => {
                let (middle, deviation) = ((smallest + largest) as f64 / 2.0, (largest - smallest) as f64 / 6.0);
                let size = (middle + random.gaussian() * deviation).round();
                size.clamp(smallest as f64, largest as f64) as u64
            }
            Self::LogNormal(sizes) => sizes.draw(random),
        }
    }
}

/// One step of the measured distribution of links per node.
struct Step {
    links: u64,
    /// Share of nodes with at most so many links.
    cumulative: f64,
    /// Links of all those nodes, per node of the graph.
    links_below: f64,
}

/// Links per node, as measured on Facebook's graph.
static OUT_DEGREES: LazyLock<Vec<Step>> = LazyLock::new(|| {
    let rows = include_str!("data/linkbench-nlinks.csv").lines().filter(|line| !line.starts_with('#'));
    let (mut nodes, mut links_below) = (0.0, 0.0);
    rows.map(|row| {
        let (links, percent) = row.split_once(',').expect("two columns in the embedded table");
        let links: u64 = links.parse().expect("a count in the embedded table");
        let cumulative = percent.parse::<f64>().expect("a percentage in the embedded table") / 100.0;
        links_below += links as f64 * (cumulative - nodes);
        nodes = cumulative;
        Step { links, cumulative, links_below }
    })
    .collect()
});

/// Links of the node at `rank` of `n`, where rank 0 has the most: the mean over the rank's share of the distribution,
/// so that graphs of any size have 4.1 links per node. (LinkBench takes the quantile at the upper end of each share,
/// which gives the first node of any graph, however small, 961,963 links.)
pub fn out_degree(rank: u64, n: u64) -> u64 {
    let low = links_of_lowest(1.0 - (rank + 1) as f64 / n as f64);
    let high = links_of_lowest(1.0 - rank as f64 / n as f64);
    ((high - low) * n as f64).round() as u64
}

/// Links of the `share` of nodes that have the fewest, per node of the graph.
fn links_of_lowest(share: f64) -> f64 {
    let position = OUT_DEGREES.partition_point(|step| step.cumulative < share).min(OUT_DEGREES.len() - 1);
    let step = &OUT_DEGREES[position];
    step.links_below - (step.cumulative - share) * step.links as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::zipf::Zipf;
    use xxhash_rust::xxh3::Xxh3;

    fn mean(draws: u32, draw: impl FnMut(u32) -> u64) -> f64 {
        (0..draws).map(draw).sum::<u64>() as f64 / f64::from(draws)
    }

    #[test]
    fn payload_sizes_have_the_means_and_percentiles_of_linkbench() {
        for (median, max, expected_mean, p90, p99) in [(8.0, 254, 13.2, 29, 82), (128.0, 1 << 20, 211.0, 461, 1312)] {
            let (sizes, mut random) = (LogNormal { median, sigma: 1.0, max }, Random::from_seed(3));
            let mut drawn: Vec<u64> = (0..400_000).map(|_| sizes.draw(&mut random)).collect();
            let found = drawn.iter().sum::<u64>() as f64 / drawn.len() as f64;
            assert!((found / expected_mean - 1.0).abs() < 0.02, "mean {found} against {expected_mean}");
            drawn.sort_unstable();
            for (share, expected) in [(0.9, p90), (0.99, p99)] {
                let at = drawn[(share * drawn.len() as f64) as usize] as f64;
                assert!((at / f64::from(expected) - 1.0).abs() < 0.04, "percentile {share}: {at} against {expected}");
            }
        }
    }

    #[test]
    fn multigets_ask_for_two_and_a_half_links() {
        let (count, mut random) = (Geometric { p: 0.382, max: 128 }, Random::from_seed(5));
        let found = mean(400_000, |_| count.draw(&mut random));
        assert!((found - 1.0 / 0.382).abs() < 0.02, "{found}");
    }

    #[test]
    fn sizes_around_a_mean_keep_to_their_range_and_their_spread() {
        for (sizes, deviation) in [
            (Around::Fixed(400), 0.0),
            (Around::Uniform(200, 600), 400.0 / 12_f64.sqrt()),
            (Around::Normal(200, 600), 400.0 / 6.0),
        ] {
            let mut random = Random::from_seed(1);
            let drawn: Vec<f64> = (0..100_000).map(|_| sizes.draw(&mut random) as f64).collect();
            assert!(drawn.iter().all(|size| (200.0..=600.0).contains(size)), "{sizes:?}");
            let mean = drawn.iter().sum::<f64>() / 1e5;
            let variance = drawn.iter().map(|size| (size - mean) * (size - mean)).sum::<f64>() / 1e5;
            assert!((mean - 400.0).abs() < 1.0, "{sizes:?}: mean {mean}");
            assert!((variance.sqrt() - deviation).abs() < 1.0, "{sizes:?}: deviation {}", variance.sqrt());
        }
    }

    #[test]
    fn lognormal_sizes_keep_their_mean_wherever_they_are_clipped() {
        for (mean, sigma, max) in
            [(400.0, 0.1, 1 << 20), (400.0, 1.0, 1 << 20), (400.0, 2.0, 1 << 20), (400.0, 1.0, 1000), (400.0, 3.0, 500)]
        {
            let (sizes, mut random) = (LogNormal::of_mean(mean, sigma, max), Random::from_seed(1));
            let drawn: Vec<f64> = (0..400_000).map(|_| sizes.draw(&mut random) as f64).collect();
            assert!(drawn.iter().all(|&size| size <= max as f64));
            let found = drawn.iter().sum::<f64>() / drawn.len() as f64;
            assert!((found / mean - 1.0).abs() < 0.02, "{sizes:?}: mean {found}");
        }
    }

    #[test]
    fn lognormal_sizes_have_their_percentiles() {
        let (sizes, mut random) = (LogNormal::of_mean(400.0, 1.0, 1 << 20), Random::from_seed(2));
        let mut drawn: Vec<u64> = (0..400_000).map(|_| sizes.draw(&mut random)).collect();
        drawn.sort_unstable();
        // Of a distribution that hardly reaches its end: exp(-1/2) of the mean, times e for each deviation.
        for (share, deviations) in [(0.05, -1.644_854), (0.5, 0.0), (0.9, 1.281_552), (0.99, 2.326_348)] {
            let expected = 400.0 * libm::exp(-0.5 + deviations);
            let found = drawn[(share * 4e5) as usize] as f64;
            assert!((found / expected - 1.0).abs() < 0.02, "{share}: {found} against {expected}");
        }
    }

    #[test]
    fn nodes_have_four_links_on_average_at_any_size() {
        for n in [1000, 10_000, 1_000_000] {
            let found = mean(n, |rank| out_degree(u64::from(rank), u64::from(n)));
            assert!((found - 4.1).abs() < 0.15, "{n} nodes: {found}");
        }
    }

    #[test]
    fn draws_have_the_same_bits_on_every_machine() {
        let (mut random, zipf, mut hash) = (Random::from_seed(1), Zipf::new(1_000_003, 0.99), Xxh3::new());
        let (sizes, counts) = (LogNormal { median: 128.0, sigma: 1.0, max: 1 << 20 }, Geometric { p: 0.382, max: 128 });
        for _ in 0..100_000 {
            let drawn = [zipf.draw(&mut random), sizes.draw(&mut random), counts.draw(&mut random)];
            for one in drawn {
                hash.update(&one.to_le_bytes());
            }
            hash.update(&random.gaussian().to_bits().to_le_bytes());
        }
        assert_eq!(hash.digest(), 18093939128699546493);
    }

    #[test]
    fn the_out_degree_has_its_measured_quantiles() {
        const N: u64 = 1_000_000;
        let at_most = |links| (0..N).filter(|&rank| out_degree(rank, N) <= links).count() as f64 * 100.0 / N as f64;
        for (links, percent) in [(0, 45.33), (1, 77.46), (2, 86.96), (5, 95.83), (10, 98.33), (27, 99.51)] {
            assert!((at_most(links) - percent).abs() < 0.02, "{links} links: {}", at_most(links));
        }
    }
}

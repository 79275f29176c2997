//! Which rows sysbench chooses. In all its distributions but the uniform one the hot ids are neighbours, so that hot
//! rows share pages.

use crate::random::Random;
use crate::workload::zipf::Zipf;

/// Names of the distributions.
pub const DISTRIBUTIONS: [&str; 5] = ["uniform", "special", "pareto", "gaussian", "zipfian"];

/// Uniform draws whose mean is one Gaussian draw (rand-spec-iter).
const GAUSSIAN_DRAWS: u32 = 12;
/// Share of draws that go to the hot band (rand-spec-res).
const SPECIAL_SHARE: f64 = 0.75;
/// Share of the ids that are the hot band (rand-spec-pct).
const SPECIAL_BAND: f64 = 0.01;
/// rand-pareto-h.
const PARETO_H: f64 = 0.2;
/// rand-zipfian-exp.
const ZIPFIAN_EXPONENT: f64 = 0.8;

/// A distribution over the ids 1..=rows.
#[derive(Debug, Clone)]
pub struct Ids {
    rows: u64,
    shape: Shape,
}

#[derive(Debug, Clone)]
enum Shape {
    Uniform,
    Special,
    Pareto { power: f64 },
    Gaussian,
    Zipfian(Zipf),
}

impl Ids {
    /// The distribution with this name.
    pub fn new(distribution: &str, rows: u64) -> Self {
        let shape = match distribution {
            "special" => Shape::Special,
            "pareto" => Shape::Pareto { power: libm::log(PARETO_H) / libm::log(1.0 - PARETO_H) },
            "gaussian" => Shape::Gaussian,
            "zipfian" => Shape::Zipfian(Zipf::new(rows, ZIPFIAN_EXPONENT)),
            _ => Shape::Uniform,
        };
        Self { rows, shape }
    }

    /// A random id.
    pub fn draw(&self, random: &mut Random) -> u32 {
        let rows = self.rows as f64;
        let position = match &self.shape {
            Shape::Uniform => random.below(self.rows),
            Shape::Special => special(random, rows - 1.0) as u64,
            Shape::Pareto { power } => (rows * libm::pow(random.unit(), *power)) as u64,
            Shape::Gaussian => (rows * mean_of_uniforms(random)) as u64,
            Shape::Zipfian(zipf) => zipf.draw(random),
        };
        1 + position.min(self.rows - 1) as u32
    }
}

fn mean_of_uniforms(random: &mut Random) -> f64 {
    (0..GAUSSIAN_DRAWS).map(|_| random.unit()).sum::<f64>() / f64::from(GAUSSIAN_DRAWS)
}

/// `sb_rand_special`: one number decides whether a draw goes to the hot band in the centre and, there, where in the
/// band. Because it is then above a quarter, only the upper three quarters of the band are used.
fn special(random: &mut Random, range: f64) -> f64 {
    let one = random.unit();
    if one < 1.0 - SPECIAL_SHARE {
        return range * mean_of_uniforms(random);
    }
    let band = range * SPECIAL_BAND;
    one * (band + 1.0) + range / 2.0 - band / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: u64 = 100_000;
    const DRAWS: u32 = 1_000_000;

    /// Draws per id.
    fn hits(distribution: &str) -> Vec<u32> {
        let (ids, mut random) = (Ids::new(distribution, ROWS), Random::from_seed(1));
        let mut hits = vec![0; ROWS as usize + 1];
        (0..DRAWS).for_each(|_| hits[ids.draw(&mut random) as usize] += 1);
        assert_eq!(hits[0], 0, "ids start at 1");
        hits
    }

    fn percent(hits: &[u32]) -> f64 {
        f64::from(hits.iter().sum::<u32>()) * 100.0 / f64::from(DRAWS)
    }

    #[test]
    fn the_hottest_ids_get_their_published_shares() {
        for (distribution, shares, tolerance) in [
            ("special", [76.0, 86.0, 94.0], 1.5),
            ("pareto", [53.0, 73.0, 81.0], 1.5),
            ("uniform", [1.0, 10.0, 20.0], 0.2),
        ] {
            let mut hits = hits(distribution);
            if distribution == "special" {
                // The hot ids are those around the centre.
                hits.rotate_left(ROWS as usize / 2);
                let (upper, lower) = hits.split_at(ROWS as usize / 2);
                let by_distance = upper.iter().zip(lower.iter().rev()).flat_map(|(&up, &down)| [up, down]);
                hits = std::iter::once(0).chain(by_distance).collect();
            }
            for (share, expected) in [0.01, 0.1, 0.2].into_iter().zip(shares) {
                let found = percent(&hits[1..=(share * ROWS as f64) as usize]);
                assert!((found - expected).abs() < tolerance, "{distribution}, hottest {share}: {found}");
            }
        }
    }

    #[test]
    fn special_draws_use_three_quarters_of_the_band() {
        let hits = hits("special");
        // The band is 49,500 to 50,500.
        let [lowest_quarter, rest] = [49_510..49_740, 49_760..50_490].map(|band| percent(&hits[band]));
        assert!(lowest_quarter < 0.5 && rest > 72.0, "{lowest_quarter} {rest}");
    }

    #[test]
    fn gaussian_draws_lie_around_the_centre() {
        let hits = hits("gaussian");
        // One standard deviation is 1 / sqrt(12 * 12) of the range.
        let within = percent(&hits[50_000 - 8_333..50_000 + 8_333]);
        assert!((within - 68.3).abs() < 1.0, "{within}");
    }

    #[test]
    fn zipfian_draws_prefer_low_ids() {
        let hits = hits("zipfian");
        let (hottest, first_percent) = (percent(&hits[1..2]), percent(&hits[1..=1000]));
        assert!((1.9..2.4).contains(&hottest) && (31.0..37.0).contains(&first_percent), "{hottest} {first_percent}");
    }

    #[test]
    fn every_distribution_keeps_to_a_table_of_one_row() {
        for distribution in DISTRIBUTIONS {
            let (ids, mut random) = (Ids::new(distribution, 1), Random::from_seed(1));
            assert!((0..1000).all(|_| ids.draw(&mut random) == 1), "{distribution}");
        }
    }
}

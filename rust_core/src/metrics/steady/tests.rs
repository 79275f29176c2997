use super::*;
use crate::metrics::EngineStats;
use crate::metrics::{Meters, Purpose};
use crate::random::Random;

/// A phase made of intervals of a thousand operations.
struct Played {
    steadiness: Steadiness,
    meters: Meters,
    now: Snapshot,
    operations: u64,
}

impl Played {
    fn new() -> Self {
        let now = Snapshot { disk_bytes: 1_000_000, ..Snapshot::default() };
        Self { steadiness: Steadiness::new(now.clone()), meters: Meters::default(), now, operations: 0 }
    }

    fn interval(&mut self, ops_per_s: f64, write_kb_per_op: f64, changed: impl FnOnce(&mut Snapshot)) {
        let operations = 1000 * self.steadiness.length();
        self.meters.wrote(Purpose::Wal, (write_kb_per_op * 1024.0 * operations as f64) as u64);
        self.now.at_ns += (operations as f64 / ops_per_s * 1e9) as u64;
        self.now.meters = self.meters.snapshot();
        changed(&mut self.now);
        self.operations += operations;
        self.steadiness.sample(self.now.clone(), self.operations);
    }

    fn rates(rates: impl IntoIterator<Item = f64>) -> Self {
        let mut played = Self::new();
        rates.into_iter().for_each(|rate| played.interval(rate, 4.0, |_| ()));
        played
    }

    fn gauge(name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let mut played = Self::new();
        for value in values {
            played.interval(5000.0, 4.0, |now| {
                now.engine.details = BTreeMap::from([(name.to_owned(), value), ("pool_pages".to_owned(), 1000.0)]);
            });
        }
        played
    }

    /// Whether it would do as a warm-up of a phase as long as its later half.
    fn is_warm(&self) -> bool {
        self.steadiness.is_warm_for(Length { seconds: None, operations: Some(self.operations / 2) })
    }

    /// Names of the series that changed in the whole phase.
    fn changed(&self) -> Vec<String> {
        self.steadiness.changes().unwrap().into_iter().map(|change| change.series).collect()
    }
}

/// From -1 to 1, the same in every run.
fn noise(count: usize) -> impl Iterator<Item = f64> {
    let mut random = Random::from_seed(7);
    (0..count).map(move |_| random.below(2001) as f64 / 1000.0 - 1.0)
}

fn sawtooth(count: usize, period: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |n| (n % period) as f64 / period as f64)
}

#[test]
fn noise_around_a_mean_is_steady() {
    for share in [0.0, 0.02, 0.1, 0.5] {
        let played = Played::rates(noise(60).map(|noise| 5000.0 * (1.0 + share * noise)));
        assert_eq!(played.changed(), [""; 0], "{share}");
        assert!(played.is_warm());
    }
}

#[test]
fn a_drift_of_a_percent_is_steady_and_one_of_a_fifth_is_not() {
    let ramp = |by: f64| Played::rates((0..60).map(|n| 5000.0 * (1.0 + by * f64::from(n) / 60.0))).changed();
    assert_eq!(ramp(0.01), [""; 0]);
    assert_eq!(ramp(0.2), ["ops_per_s"]);
    assert_eq!(ramp(-0.2), ["ops_per_s"]);
}

#[test]
fn a_step_is_found_where_it_is_under_noise_of_its_size() {
    let steps = (0..60).map(|n| if n < 20 { 5000.0 } else { 4000.0 });
    let played = Played::rates(steps.zip(noise(60)).map(|(rate, noise)| rate + 500.0 * noise));
    let change = played.steadiness.changes().unwrap().remove(0);
    assert!((change.from - 5000.0).abs() < 150.0 && (change.to - 4000.0).abs() < 150.0, "{change:?}");
    assert!(played.is_warm(), "the step is not in the later half");
}

#[test]
fn a_sawtooth_is_steady_once_a_few_teeth_are_seen() {
    let changed = |count| Played::gauge("memtable_bytes", sawtooth(count, 20)).changed();
    assert_eq!(changed(20), ["memtable_bytes"]);
    assert_eq!(changed(60), [""; 0]);
}

#[test]
fn bursts_of_writing_are_steady_and_more_of_them_are_a_change() {
    let changed = |period_after: usize| {
        let mut played = Played::new();
        for n in 0..72 {
            let period = if n < 36 { 6 } else { period_after };
            played.interval(5000.0, if n % period == 0 { 20.0 } else { 1.0 }, |_| ());
        }
        played.changed()
    };
    assert_eq!(changed(6), [""; 0]);
    assert_eq!(changed(2), ["write_kb_per_op"]);
}

#[test]
fn a_pool_that_fills_with_dirty_pages_is_not_steady_whatever_the_rate_says() {
    let filling = Played::gauge("dirty_pages", (0..60).map(|n| f64::from(n) * 5.0));
    assert_eq!(filling.changed(), ["dirty_pages_share"]);
    let full = Played::gauge("dirty_pages", noise(60).map(|noise| 300.0 + 20.0 * noise));
    assert_eq!(full.changed(), [""; 0]);
}

#[test]
fn files_and_levels_that_grow_are_not_steady() {
    let mut played = Played::new();
    for n in 0..60 {
        played.interval(5000.0, 4.0, |now| {
            now.disk_bytes += 10_000;
            let levels = [("level_1_bytes", 100.0 + f64::from(n)), ("level_2_bytes", 1000.0)];
            let details = levels.map(|(name, bytes)| (name.to_owned(), bytes));
            now.engine = EngineStats { details: BTreeMap::from(details), ..EngineStats::default() };
        });
    }
    assert_eq!(played.changed(), ["disk_bytes"], "a level's share moved by 2.5 points only");
    assert!(played.is_warm(), "no warm-up waits for the end of growth");
}

#[test]
fn a_cache_that_fills_is_not_steady() {
    let mut played = Played::new();
    for n in 0..60u64 {
        played.interval(5000.0, 4.0, |now| {
            now.engine.cache_hits += 900 + n;
            now.engine.cache_misses += 100 - n;
        });
    }
    assert_eq!(played.changed(), ["cache_hit_ratio"]);
}

#[test]
fn what_is_too_short_is_not_judged() {
    let played = Played::rates([5000.0; LEAST_INTERVALS - 1]);
    assert_eq!(played.steadiness.changes(), None);
    assert!(!Played::rates([5000.0; 2 * LEAST_INTERVALS - 2]).is_warm());
    assert!(Played::rates([5000.0; 2 * LEAST_INTERVALS]).is_warm());
}

#[test]
fn a_slow_drift_counts_by_what_it_grows_to_in_the_phase_that_follows() {
    let drifting = Played::rates((0..60).map(|n| 5000.0 + 10.0 * f64::from(n)));
    let is_warm =
        |operations| drifting.steadiness.is_warm_for(Length { seconds: Some(1e6), operations: Some(operations) });
    assert!(is_warm(30_000), "the later half rises by 6%");
    assert!(!is_warm(90_000), "three times as long, by 18%");
    let flat = Played::rates([5000.0; 60]);
    let is_warm = |operations| flat.steadiness.is_warm_for(Length { seconds: None, operations: Some(operations) });
    assert!(is_warm(120_000) && !is_warm(130_000), "a quarter of what follows is needed");
}

#[test]
fn a_long_phase_is_judged_as_a_short_one_is() {
    let mut played = Played::new();
    while played.operations < 640_000 {
        let rate = if played.operations < 320_000 { 5000.0 } else { 6000.0 };
        played.interval(rate, 4.0, |_| ());
    }
    let intervals = &played.steadiness.intervals;
    assert!((40..80).contains(&intervals.len()), "{}", intervals.len());
    assert!(intervals.iter().all(|one| one.operations == 16_000.0));
    assert_eq!(played.changed(), ["ops_per_s"]);
    assert!(played.is_warm());
}

/// One published run: transactions per second and kilobytes written per second, by the minute.
struct Minutes(Vec<(f64, f64)>);

impl Minutes {
    fn read(engine: &str, cache_gb: u32) -> Self {
        let head = format!("{engine},{cache_gb},");
        let line = include_str!("../data/tpcc-60s.csv").lines().find_map(|line| line.strip_prefix(&head)).unwrap();
        let pairs = line.split(' ').map(|pair| pair.split_once(':').unwrap());
        Self(pairs.map(|(tps, kb)| (tps.parse().unwrap(), kb.parse().unwrap())).collect())
    }

    /// The mean rate from minute `from` on.
    fn rate_from(&self, from: usize) -> f64 {
        self.0[from..].iter().map(|(tps, _)| tps).sum::<f64>() / (self.0.len() - from) as f64
    }

    /// The minute at which a warm-up would have ended.
    fn steady_after(&self) -> Option<usize> {
        let (mut played, mut ended) = (Played::new(), 0);
        self.0.iter().position(|&(tps, kb)| {
            // Minutes, not thousands of operations: the transactions of each are its own.
            played.meters.wrote(Purpose::Wal, (kb * 60.0 * 1024.0) as u64);
            played.now.meters = played.meters.snapshot();
            played.now.at_ns += 60_000_000_000;
            ended += (tps * 60.0) as u64;
            played.steadiness.sample(played.now.clone(), ended);
            played.steadiness.is_warm_for(Length { seconds: Some(27.0 * 60.0), operations: None })
        })
    }
}

/// The post's own warm-up was 2000 of 3600 s. From cold, the first minute of each run names the wrong engine at 5 of
/// the 11 sizes; what follows the detected warm-up names the right one at all of them, and its rate within 3%.
#[test]
fn after_the_warm_up_the_published_sweep_names_the_right_engine_at_every_size() {
    let mut wrong_from_cold = 0;
    for cache_gb in [5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100] {
        let (myrocks, innodb) = (Minutes::read("MyRocks", cache_gb), Minutes::read("InnoDB", cache_gb));
        let is_ahead = |rate: &dyn Fn(&Minutes) -> f64| rate(&myrocks) > rate(&innodb);
        let published = is_ahead(&|run| run.rate_from(34));
        wrong_from_cold += u32::from(is_ahead(&|run| run.0[0].0) != published);
        let warm = |run: &Minutes| run.rate_from(run.steady_after().expect("steady within the hour") + 1);
        assert_eq!(is_ahead(&warm), published, "{cache_gb} GB");
        for run in [&myrocks, &innodb] {
            let error = warm(run) / run.rate_from(34) - 1.0;
            assert!(error.abs() < 0.03, "{cache_gb} GB: {error}");
        }
    }
    assert_eq!(wrong_from_cold, 5);
}

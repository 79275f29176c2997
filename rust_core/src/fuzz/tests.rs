//! The seeded loop: the same cases in every run of `make test`, others for as long as `make soak` wants.

use super::{Target, mutate, targets};
use crate::task::wall::{WallClock, sleep, spawn};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Cases of a target where nobody asks for more.
const CASES: u64 = 4000;
/// Cases of whole databases, each of which opens two.
const DATABASE_CASES: u64 = 500;
/// Seconds after which a case has no end.
const MOST_SECONDS: u64 = 300;
/// Failures after which a target has failed often enough.
const MOST_FAILURES: usize = 20;
/// Seconds for each target, in place of a number of cases.
const SECONDS: &str = "FUZZ_SECONDS";

/// Ends the process if a case does, so that a loop without end is a failure with a name.
struct Watchdog(Arc<AtomicU64>);

const FINISHED: u64 = u64::MAX;

impl Watchdog {
    fn over(name: &'static str) -> Self {
        let case = Arc::new(AtomicU64::new(0));
        let watched = case.clone();
        spawn(format!("watchdog-{name}"), move || {
            let (mut seen, mut seconds) = (0, 0);
            while watched.load(Ordering::Relaxed) != FINISHED {
                sleep(Duration::from_secs(1));
                let now = watched.load(Ordering::Relaxed);
                (seen, seconds) = (now, if now == seen { seconds + 1 } else { 0 });
                if seconds > MOST_SECONDS {
                    eprintln!("{name}: case {now} has no end");
                    std::process::abort();
                }
            }
        });
        Self(case)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.store(FINISHED, Ordering::Relaxed);
    }
}

/// Case `n` of a target; the first ones are its seeds as they are.
fn case(seeds: &[Vec<u8>], name: &str, n: u64) -> Vec<u8> {
    let as_is = n.checked_sub(2 * seeds.len() as u64).is_none();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(n ^ xxhash_rust::xxh3::xxh3_64(name.as_bytes()));
    let seed = if as_is { n as usize / 2 } else { random.random_range(0..seeds.len()) };
    let mut bytes = seeds[seed].clone();
    if !as_is {
        let other = &seeds[random.random_range(0..seeds.len())];
        mutate::mutate(&mut random, &mut bytes, other);
    }
    // Of every two cases one has its checksums put right.
    bytes.insert(0, (n % 2) as u8);
    bytes
}

fn fuzz(target: &Target) {
    let seconds: Option<u64> = std::env::var(SECONDS).ok().and_then(|text| text.parse().ok());
    let cases = if target.name.ends_with("database") { DATABASE_CASES } else { CASES };
    let (seeds, clock, watchdog) = ((target.seeds)(), WallClock::default(), Watchdog::over(target.name));
    let goes_on = |n: u64| match seconds {
        Some(seconds) => clock.now_ns() < seconds * 1_000_000_000,
        None => n < cases,
    };
    let (mut n, mut failures) = (0, Vec::new());
    while goes_on(n) && failures.len() < MOST_FAILURES {
        watchdog.0.store(n, Ordering::Relaxed);
        let case = case(&seeds, target.name, n);
        if catch_unwind(AssertUnwindSafe(|| target.check(&case))).is_err() {
            failures.push(n);
        }
        n += 1;
    }
    println!("{}: {n} cases", target.name);
    assert!(failures.is_empty(), "{}: cases {failures:?} failed", target.name);
}

fn fuzz_by_name(name: &str) {
    fuzz(targets().iter().find(|target| target.name == name).unwrap());
}

#[test]
fn of_damaged_databases_some_are_refused_and_some_are_used() {
    for (n, database) in crate::lsm::fuzz::databases().iter().chain(crate::btree::fuzz::databases()).enumerate() {
        let is_sound = database.check(&[], false) && database.check(&[], true);
        let used = mutate::scripts(3).iter().take(60).filter(|script| database.check(script, true)).count();
        assert!(is_sound && (5..58).contains(&used), "database {n}: {used} of 60 were used");
    }
}

macro_rules! tests_of {
    ($($test:ident: $name:literal,)*) => {
        $(#[test] fn $test() { fuzz_by_name($name); })*

        #[test]
        fn every_target_has_its_test() {
            assert_eq!(targets().iter().map(|target| target.name).collect::<Vec<_>>(), [$($name),*]);
        }
    };
}

tests_of! {
    damaged_logs_are_refused_or_read: "log",
    damaged_manifests_are_refused_or_read: "manifest",
    damaged_tables_are_refused_or_read: "table",
    damaged_blocks_are_refused_or_read: "block",
    damaged_lsm_databases_are_refused_or_used: "lsm_database",
    damaged_pages_are_refused_or_read: "page",
    damaged_compressed_pages_are_refused_or_read: "page_zip",
    damaged_redo_logs_are_refused_or_read: "redo",
    damaged_btree_databases_are_refused_or_used: "btree_database",
    damaged_specs_are_refused_or_taken: "spec",
}

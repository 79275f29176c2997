//! How many pages the cleaner flushes in a second: the formulas of MySQL 8.0.30 and MariaDB 10.11 (`buf0flu.cc`) as
//! pure functions of what the engine looks like at the tick.
//!
//! A round is InnoDB's second. In a trial with less data it is shorter: the redo that comes in a round is counted by
//! the round, whatever is compared with `innodb_io_capacity` by the second of the clock, as the device is not slower
//! either.

use crate::btree::options::Options;

/// What the cleaner sees when its round begins.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sight {
    /// Dirty pages.
    pub dirty_pages: u64,
    /// Pages in use.
    pub pool_pages: u64,
    /// Redo bytes since the oldest unflushed change.
    pub age: u64,
    /// Dirty pages whose oldest change lies before the average target, see [`AdaptiveFlush::target_lsn`].
    pub pages_before_target: u64,
    /// Nothing was written in the last second.
    pub idle: bool,
    /// The log is as old as MariaDB lets its pages be (`buf_flush_async_lsn`).
    pub asks_for_most: bool,
}

/// Averages that the cleaner carries from round to round.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AdaptiveFlush {
    /// Pages flushed per second, averaged.
    pub page_avg: u64,
    /// Redo bytes per round, averaged.
    pub lsn_avg: u64,
    loops: u64,
    pages: u64,
    began_ns: u64,
    began_lsn: u64,
}

/// `buf_flush_lsn_scan_factor`.
const SCAN_FACTOR: u64 = 3;

/// Percent of io_capacity that the share of dirty pages asks for.
pub fn pct_for_dirty(options: &Options, dirty_pages: u64, pool_pages: u64) -> f64 {
    let dirty = 100.0 * dirty_pages as f64 / pool_pages.max(1) as f64;
    let (low, high) = (options.innodb_max_dirty_pages_pct_lwm, options.innodb_max_dirty_pages_pct);
    if low == 0.0 {
        if dirty >= high && dirty_pages > 0 { 100.0 } else { 0.0 }
    } else if dirty >= low {
        dirty * 100.0 / (high + 1.0)
    } else {
        0.0
    }
}

/// Percent of io_capacity that the age of the redo log asks for.
pub fn pct_for_lsn(options: &Options, age: u64, lwm_of: u64, limit_for_dirty_page_age: u64) -> f64 {
    let low = lwm_of as f64 * options.innodb_adaptive_flushing_lwm / 100.0;
    if !options.innodb_adaptive_flushing || (age as f64) < low {
        return 0.0;
    }
    let factor = 100.0 * age as f64 / limit_for_dirty_page_age.max(1) as f64;
    // Both servers divide the two capacities as integers.
    (options.innodb_io_capacity_max / options.innodb_io_capacity) as f64 * factor * factor.sqrt() / 7.5
}

impl AdaptiveFlush {
    /// Takes the averages once in `innodb_flushing_avg_loops` rounds. `pages` were flushed since the last call.
    pub fn observe(&mut self, options: &Options, now_ns: u64, lsn: u64, pages: u64) {
        if self.loops == 0 && self.began_ns == 0 {
            (self.began_ns, self.began_lsn) = (now_ns, lsn);
        }
        self.loops += 1;
        self.pages += pages;
        let rounds = now_ns.saturating_sub(self.began_ns) / options.round_ns();
        if rounds == 0 || self.loops.max(rounds) < options.innodb_flushing_avg_loops {
            return;
        }
        let pages_per_second = (self.pages as f64 / rounds as f64 * options.rounds_per_second()) as u64;
        self.page_avg = u64::midpoint(pages_per_second, self.page_avg);
        self.lsn_avg = u64::midpoint((lsn - self.began_lsn) / rounds, self.lsn_avg);
        (self.loops, self.pages, self.began_ns, self.began_lsn) = (0, 0, now_ns, lsn);
    }

    /// Pages whose oldest change is older than this count as due.
    pub fn target_lsn(&self, oldest: u64) -> u64 {
        oldest + self.lsn_avg * SCAN_FACTOR
    }

    /// Pages due by age, per second. MySQL counts up to twice `innodb_io_capacity_max` behind the division, MariaDB up
    /// to that before it.
    pub fn pages_for_lsn(options: &Options, pages_before_target: u64) -> u64 {
        let per_round = (pages_before_target / SCAN_FACTOR).max(1);
        let most = options.innodb_io_capacity_max;
        let most = if options.is_mysql() { 2 * most } else { (most / SCAN_FACTOR).max(1) };
        ((per_round as f64 * options.rounds_per_second()) as u64).min(most)
    }

    /// Pages to flush, per second; `lwm_of` is what `innodb_adaptive_flushing_lwm` is a percentage of.
    pub fn pages(&self, options: &Options, sight: &Sight, lwm_of: u64, dirty_age: u64) -> u64 {
        if options.is_mysql() {
            self.pages_of_mysql(options, sight, lwm_of, dirty_age)
        } else {
            self.pages_of_mariadb(options, sight, lwm_of, dirty_age)
        }
    }

    /// `buf_flush_page_cleaner` and `page_cleaner_flush_pages_recommendation` of MariaDB. Without a low mark for dirty
    /// pages the percentages only say whether something is flushed, and not how much.
    fn pages_of_mariadb(&self, options: &Options, sight: &Sight, log_capacity: u64, dirty_age: u64) -> u64 {
        let dirty = 100.0 * sight.dirty_pages as f64 / sight.pool_pages.max(1) as f64;
        let (low, high) = (options.innodb_max_dirty_pages_pct_lwm, options.innodb_max_dirty_pages_pct);
        if sight.asks_for_most {
            return options.innodb_io_capacity_max;
        }
        if low > 0.0 && sight.idle && dirty < low {
            return options.innodb_io_capacity;
        }
        let is_above_low = low > 0.0 && dirty >= low;
        let needs_redo = sight.age as f64 > log_capacity as f64 * options.innodb_adaptive_flushing_lwm / 100.0;
        if sight.dirty_pages == 0 || !(is_above_low || (low == 0.0 && dirty >= high) || needs_redo) {
            return 0;
        }
        if !options.innodb_adaptive_flushing {
            return options.innodb_io_capacity;
        }
        let by_age = pct_for_lsn(options, sight.age, log_capacity, dirty_age);
        if by_age == 0.0 {
            return options.innodb_io_capacity;
        }
        let ratio = if is_above_low && high > 0.0 { (by_age.floor() / 100.0).max(dirty / high) } else { 1.0 };
        let by_pct = (options.innodb_io_capacity as f64 * ratio) as u64;
        let by_lsn = Self::pages_for_lsn(options, sight.pages_before_target);
        ((by_pct + self.page_avg + by_lsn) / 3).min(options.innodb_io_capacity_max)
    }

    fn pages_of_mysql(&self, options: &Options, sight: &Sight, free_check: u64, dirty_age: u64) -> u64 {
        let dirty = pct_for_dirty(options, sight.dirty_pages, sight.pool_pages);
        let lsn = pct_for_lsn(options, sight.age, free_check, dirty_age);
        let pct = dirty.max(lsn);
        if pct == 0.0 {
            return if sight.idle { options.innodb_io_capacity } else { 0 };
        }
        let by_pct = (options.innodb_io_capacity as f64 * pct / 100.0) as u64;
        let by_lsn = if options.innodb_adaptive_flushing {
            Self::pages_for_lsn(options, sight.pages_before_target)
        } else {
            by_pct
        };
        let average = if options.innodb_adaptive_flushing { self.page_avg } else { by_pct };
        ((by_pct + average + by_lsn) / 3).min(options.innodb_io_capacity_max)
    }

    /// Pages of a round without pause, when the redo log is nearly full.
    pub fn pages_in_a_hurry(options: &Options, pages_before_target: u64) -> u64 {
        let per_second = Self::pages_for_lsn(options, pages_before_target).max(options.innodb_io_capacity);
        (per_second as f64 / options.rounds_per_second()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::Scale;

    fn options(text: &str) -> Options {
        let mut map = serde_json::Map::new();
        for pair in text.split_whitespace() {
            let (name, value) = pair.split_once('=').unwrap();
            map.insert(format!("innodb_{name}"), serde_json::from_str(value).unwrap());
        }
        Options::from_json(&map).unwrap()
    }

    /// Each line: options | dirty pool age(% of the dirty-age limit) before_target page_avg | pages per second.
    fn check_pace(server: &str, table: &str) {
        for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let mut parts = line.split('|');
            let options = options(&format!("server=\"{server}\" {}", parts.next().unwrap()));
            let numbers = parts.next().unwrap().split_whitespace().map(|n| n.parse().unwrap()).collect::<Vec<u64>>();
            let (lwm_of, dirty_age) = (11_000, 10_000);
            let sight = Sight {
                dirty_pages: numbers[0],
                pool_pages: numbers[1],
                age: numbers[2] * dirty_age / 100,
                pages_before_target: numbers[3],
                ..Sight::default()
            };
            let pace = AdaptiveFlush { page_avg: numbers[4], ..AdaptiveFlush::default() };
            let expected = parts.next().unwrap().trim().parse::<u64>().unwrap();
            assert_eq!(pace.pages(&options, &sight, lwm_of, dirty_age), expected, "{server}: {line}");
        }
    }

    #[test]
    fn mariadbs_pace_follows_the_table() {
        let table = "
            io_capacity=200               | 100 1000 5 30 0      | 0
            io_capacity=200               | 900 1000 5 30 0      | 200
            io_capacity=200               | 500 1000 25 30 0     | 70
            io_capacity=200               | 500 1000 100 30 100  | 103
            io_capacity=200               | 9000 10000 100 9000 2000 | 955
            max_dirty_pages_pct_lwm=10.0  | 99 1000 5 30 0       | 0
            max_dirty_pages_pct_lwm=10.0  | 500 1000 5 30 0      | 200
            max_dirty_pages_pct_lwm=10.0  | 500 1000 25 30 0     | 114
            adaptive_flushing=false       | 500 1000 5 30 100    | 0
            adaptive_flushing=false       | 500 1000 100 30 100  | 200
        ";
        check_pace("mariadb", table);
        let sight = Sight { dirty_pages: 500, pool_pages: 1000, asks_for_most: true, ..Sight::default() };
        assert_eq!(AdaptiveFlush::default().pages(&options(""), &sight, 1000, 1000), 2000);
    }

    #[test]
    fn mysqls_pace_follows_the_table() {
        let table = "
            io_capacity=200                                | 100 1000 5 30 0 | 0
            io_capacity=200                                | 900 1000 5 30 0 | 70
            max_dirty_pages_pct_lwm=10.0                   | 99 1000 5 30 0 | 0
            max_dirty_pages_pct_lwm=10.0                   | 500 1000 5 30 0 | 39
            io_capacity_max=2000                           | 500 1000 25 30 0 | 114
            io_capacity_max=2000                           | 900 1000 100 30 100 | 925
            io_capacity_max=2000                           | 9000 10000 100 9000 2000 | 2000
            io_capacity_max=399                            | 500 1000 25 30 0 | 14
            adaptive_flushing=false                        | 500 1000 100 30 100 | 0
            adaptive_flushing=false                        | 950 1000 100 30 100 | 200
        ";
        check_pace("mysql", table);
    }

    #[test]
    fn rates_are_averaged_over_the_configured_loops() {
        let options = options("flushing_avg_loops=4");
        let mut pace = AdaptiveFlush::default();
        for second in 1..=9u64 {
            pace.observe(&options, second * 1_000_000_000, second * 1000, 40);
        }
        assert!(pace.lsn_avg > 400 && pace.lsn_avg <= 1000, "{pace:?}");
        assert!(pace.page_avg >= 20, "{pace:?}");
    }

    #[test]
    fn an_idle_engine_flushes_at_io_capacity_and_mariadbs_only_with_a_low_mark() {
        let sight = Sight { dirty_pages: 500, pool_pages: 1000, idle: true, ..Sight::default() };
        let pages = |text: &str| AdaptiveFlush::default().pages(&options(text), &sight, 1000, 1000);
        assert_eq!(pages("server=\"mysql\""), 200);
        assert_eq!(pages(""), 0);
        assert_eq!(pages("max_dirty_pages_pct_lwm=60.0"), 200);
    }

    #[test]
    fn a_shorter_round_looks_at_fewer_cold_pages_but_at_as_many_as_two_batches_have() {
        let depth = |second_us| {
            Options { scale: Scale::FULL.with_second_us(second_us), ..options("lru_scan_depth=16000") }.scan_depth()
        };
        assert_eq!([1_000_000, 100_000, 1000].map(depth), [16_000, 1600, 256]);
        assert_eq!(
            Options { scale: Scale::FULL.with_second_us(1000), ..options("lru_scan_depth=100") }.scan_depth(),
            100
        );
    }

    #[test]
    fn shorter_rounds_keep_rates_and_shrink_what_a_round_brings() {
        let text = "flushing_avg_loops=4 io_capacity=200 io_capacity_max=20000";
        let (full, short) = (options(text), Options { scale: Scale::FULL.with_second_us(10_000), ..options(text) });
        let mut paces = [AdaptiveFlush::default(), AdaptiveFlush::default()];
        for round in 1..=9u64 {
            paces[0].observe(&full, round * 1_000_000_000, round * 1000, 40);
            paces[1].observe(&short, round * 10_000_000, round * 10, 40);
        }
        assert_eq!((paces[1].page_avg / 100, paces[1].lsn_avg), (paces[0].page_avg, paces[0].lsn_avg / 100));
        assert_eq!(AdaptiveFlush::pages_for_lsn(&short, 30), AdaptiveFlush::pages_for_lsn(&full, 3000));
        assert_eq!(
            (AdaptiveFlush::pages_in_a_hurry(&full, 30), AdaptiveFlush::pages_in_a_hurry(&short, 30)),
            (200, 10)
        );
    }
}

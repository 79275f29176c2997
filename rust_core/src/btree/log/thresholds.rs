//! How full the redo log may get: the limits of MySQL 8.0.30 (`log0files_capacity.cc`, `log0constants.h`) and those of
//! MariaDB 10.11 (`log_t::set_capacity`) as pure functions of the log's capacity.

use crate::btree::options::Options;

/// Ages of the redo log, in bytes, at which something begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// The log must never be fuller.
    pub hard: u64,
    /// The capacity that the other limits are shares of.
    pub soft: u64,
    /// The page cleaner leaves its pace and flushes as fast as it can.
    pub sync_flush: u64,
    /// MariaDB's `max_modified_age_async`: the page cleaner writes `innodb_io_capacity_max` pages a second; MySQL has
    /// no such step.
    pub async_flush: Option<u64>,
    /// Writers wait for a checkpoint.
    pub limit_for_free_check: u64,
    /// The age that adaptive flushing counts as 100 percent.
    pub limit_for_dirty_page_age: u64,
    /// What `innodb_adaptive_flushing_lwm` is a percentage of.
    pub adaptive_flushing_of: u64,
}

const FILES: u64 = 32;
/// What MySQL keeps back from the files: 31 headers of 2 KiB and 128 KiB.
const KEPT_BACK: u64 = 31 * 2048 + 128 * 1024;
/// Pages that each thread may log without asking, and threads that always exist.
const PAGES_PER_THREAD: u64 = 4;
const EXTRA_THREADS: u64 = 10;
/// What MariaDB's log has in front of its region (`log_t::START_OFFSET`).
const START_OFFSET: u64 = 12288;
/// Pages that MariaDB leaves to all threads together.
const MARIADB_PAGES: u64 = 48;
/// Assumption: pages that are left to the threads of the smallest log: images of splits and merges that nobody
/// reserved.
const KEPT_PAGES: u64 = 16;

impl Thresholds {
    /// The limits of the server that the options are for.
    pub fn of(options: &Options, capacity: u64, page_bytes: u64) -> Self {
        if options.is_mysql() { Self::mysql(capacity, page_bytes) } else { Self::mariadb(capacity, page_bytes) }
    }

    /// MariaDB's limits for a log of `capacity` bytes: a tenth less, 48 pages less, and another tenth less is what its
    /// threads may use. What it keeps back in bytes is bounded as MySQL's is.
    pub fn mariadb(capacity: u64, page_bytes: u64) -> Self {
        let capacity = capacity - START_OFFSET.min(capacity / 64);
        let hard = (capacity - capacity / 10) / 512 * 512;
        let pages = (MARIADB_PAGES * page_bytes).min((hard / 16).max(KEPT_PAGES * page_bytes)).min(hard / 2);
        let margin = hard - pages;
        let max_checkpoint_age = margin - margin / 10;
        let max_modified_age_async = max_checkpoint_age - max_checkpoint_age / 8;
        Self {
            hard,
            soft: max_checkpoint_age,
            sync_flush: max_checkpoint_age,
            async_flush: Some(max_modified_age_async),
            limit_for_free_check: max_checkpoint_age,
            limit_for_dirty_page_age: max_modified_age_async,
            adaptive_flushing_of: hard,
        }
    }

    /// MySQL's limits for a log of `capacity` bytes. What MySQL keeps back in bytes, and what it leaves to its threads,
    /// is bounded by a 64th and a 16th, so that logs of scaled-down trials have limits in about the same proportion.
    /// (MySQL leaves up to a half to its threads; writers here reserve what they write.)
    pub fn mysql(capacity: u64, page_bytes: u64) -> Self {
        let file = capacity / FILES;
        let lsn_capacity = capacity / FILES * (FILES - 2) - KEPT_BACK.min(capacity / 64);
        let hard = (lsn_capacity - file / 10) / 512 * 512;
        let soft = hard * 95 / 100;
        let adaptive_flush_min = soft - soft / 8;
        let threads = EXTRA_THREADS * PAGES_PER_THREAD * page_bytes + 4096;
        let margin = threads.min((soft / 16).max(KEPT_PAGES * page_bytes)).min(soft / 2) + soft / 20;
        Self {
            hard,
            soft,
            sync_flush: soft - soft / 16,
            async_flush: None,
            limit_for_free_check: soft - margin,
            limit_for_dirty_page_age: adaptive_flush_min - margin.min(adaptive_flush_min / 2),
            adaptive_flushing_of: soft - margin,
        }
    }

    /// The age from which the cleaner works without pause: MySQL's limit, or shortly before the one at which writers
    /// wait if that comes first (its log writer then asks for a sync flush). The distance is more than a checkpoint
    /// must gain to be worth its write: writers that wait always have a job that helps them. In MariaDB it begins where
    /// they wait (`buf_flush_sync_lsn`).
    pub fn cleaner_hurries(&self) -> u64 {
        match self.async_flush {
            Some(_) => self.sync_flush,
            None => self.sync_flush.min(self.limit_for_free_check - self.soft / 32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(capacity: u64, limits: &[u64]) -> String {
        let shares = limits.iter().map(|bytes| format!("{:.4}", *bytes as f64 / capacity as f64));
        shares.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_log_of_one_gib_has_mysqls_limits() {
        let capacity = 1u64 << 30;
        let t = Thresholds::mysql(capacity, 16384);
        let all = [t.hard, t.soft, t.sync_flush, t.limit_for_free_check, t.limit_for_dirty_page_age];
        assert_eq!(shares(capacity, &all), "0.9342 0.8875 0.8320 0.8425 0.7316");
    }

    #[test]
    fn logs_have_mariadbs_limits() {
        for (capacity, expected) in [(96u64 << 20, "0.7025 0.8029"), (1 << 30, "0.7082 0.8093")] {
            let t = Thresholds::mariadb(capacity, 16384);
            let async_flush = t.async_flush.unwrap();
            assert_eq!(shares(capacity, &[async_flush, t.limit_for_free_check]), expected);
            assert_eq!((t.sync_flush, t.limit_for_dirty_page_age), (t.limit_for_free_check, async_flush));
        }
    }

    #[test]
    fn a_log_of_some_mib_has_nearly_the_shares_of_a_large_one() {
        for limits in [Thresholds::mysql, Thresholds::mariadb] {
            let share = |capacity: u64| limits(capacity, 16384).limit_for_free_check as f64 / capacity as f64;
            assert!(share(1 << 23) > 0.9 * share(1 << 34), "{} {}", share(1 << 23), share(1 << 34));
        }
    }

    #[test]
    fn limits_keep_their_order_in_small_logs() {
        for (capacity, limits) in [256 << 10, 1 << 20, 8 << 20, 96 << 20]
            .into_iter()
            .flat_map(|c| [(c, Thresholds::mysql as fn(_, _) -> _), (c, Thresholds::mariadb)])
        {
            for page in [4096, 16384, 65536] {
                let t: Thresholds = limits(capacity, page);
                assert!(0 < t.limit_for_dirty_page_age && t.limit_for_dirty_page_age < t.limit_for_free_check, "{t:?}");
                assert!(t.limit_for_free_check <= t.soft && t.soft < t.hard && t.hard < capacity, "{t:?}");
            }
        }
    }
}

//! How full the redo log may get: MySQL 8.0.30's limits (`log0files_capacity.cc`, `log0constants.h`) as a pure function
//! of the log's capacity.

/// Ages of the redo log, in bytes, at which something begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// The log must never be fuller.
    pub hard: u64,
    /// The capacity that the other limits are shares of.
    pub soft: u64,
    /// The page cleaner leaves its pace and flushes as fast as it can.
    pub sync_flush: u64,
    /// The share of [`Thresholds::limit_for_dirty_page_age`] before its margin.
    pub adaptive_flush_min: u64,
    /// Checkpoints are written without waiting for their second.
    pub aggressive_checkpoint: u64,
    /// Writers wait for a checkpoint.
    pub limit_for_free_check: u64,
    /// The age that adaptive flushing counts as 100 percent.
    pub limit_for_dirty_page_age: u64,
}

const FILES: u64 = 32;
/// What MySQL keeps back from the files: 31 headers of 2 KiB and 128 KiB.
const KEPT_BACK: u64 = 31 * 2048 + 128 * 1024;
/// Pages that each thread may log without asking, and threads that always exist.
const PAGES_PER_THREAD: u64 = 4;
const EXTRA_THREADS: u64 = 10;
/// Assumption: pages that are left to the threads of the smallest log: images of splits and merges that nobody
/// reserved.
const KEPT_PAGES: u64 = 16;

impl Thresholds {
    /// The limits for a log of `capacity` bytes. What MySQL keeps back in bytes, and what it leaves to its threads, is
    /// bounded by a 64th and a 16th, so that logs of scaled-down trials have limits in about the same proportion.
    /// (MySQL leaves up to a half to its threads; writers here reserve what they write.)
    pub fn new(capacity: u64, page_bytes: u64) -> Self {
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
            adaptive_flush_min,
            aggressive_checkpoint: soft - soft / 32,
            limit_for_free_check: soft - margin,
            limit_for_dirty_page_age: adaptive_flush_min - margin.min(adaptive_flush_min / 2),
        }
    }

    /// The age from which the cleaner works without pause: MySQL's limit, or shortly before the one at which writers
    /// wait if that comes first (its log writer then asks for a sync flush). The distance is more than a checkpoint
    /// must gain to be worth its write: writers that wait always have a job that helps them.
    pub fn cleaner_hurries(&self) -> u64 {
        self.sync_flush.min(self.limit_for_free_check - self.soft / 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_of_one_gib_has_mysqls_limits() {
        let capacity = 1u64 << 30;
        let t = Thresholds::new(capacity, 16384);
        let share = |bytes: u64| format!("{:.4}", bytes as f64 / capacity as f64);
        let all =
            [t.hard, t.soft, t.sync_flush, t.adaptive_flush_min, t.limit_for_free_check, t.limit_for_dirty_page_age];
        assert_eq!(all.map(share).join(" "), "0.9342 0.8875 0.8320 0.7765 0.8425 0.7316");
    }

    #[test]
    fn a_log_of_some_mib_has_nearly_the_shares_of_a_large_one() {
        let share = |capacity: u64| {
            let limits = Thresholds::new(capacity, 16384);
            limits.limit_for_free_check as f64 / capacity as f64
        };
        assert!(share(1 << 23) > 0.9 * share(1 << 34), "{} {}", share(1 << 23), share(1 << 34));
    }

    #[test]
    fn limits_keep_their_order_in_small_logs() {
        for capacity in [256 << 10, 1 << 20, 8 << 20, 96 << 20] {
            for page in [4096, 16384, 65536] {
                let t = Thresholds::new(capacity, page);
                assert!(0 < t.limit_for_dirty_page_age && t.limit_for_dirty_page_age < t.limit_for_free_check, "{t:?}");
                assert!(t.limit_for_free_check < t.soft && t.soft < t.hard && t.hard < capacity, "{t:?}");
            }
        }
    }
}

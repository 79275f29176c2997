//! When writers are held back, and at what rate: RocksDB's `RecalculateWriteStallConditions` and `WriteController`.

use crate::lsm::options::Options;

const MIN_RATE: u64 = 16 << 10;
const REFILL_US: u64 = 1000;
const NEAR_STOP: f64 = 0.6;
const DEBT_GROWS: f64 = 0.8;
const DEBT_SHRINKS: f64 = 1.0 / 0.8;
const RECOVERED: f64 = 1.4;

/// What holds writers back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StallInputs {
    /// Full memtables that are not yet in level 0.
    pub unflushed_memtables: u64,
    /// Files of level 0.
    pub level0_files: u64,
    /// Compaction debt.
    pub pending_bytes: u64,
    /// Bytes of files that lie on nothing.
    pub bottommost_bytes: u64,
}

/// What writers may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StallCondition {
    /// Write.
    #[default]
    Normal,
    /// Write at a limited rate. Near to a stop the rate falls faster.
    Delayed {
        /// Whether a stop is near.
        near_stop: bool,
    },
    /// Wait.
    Stopped,
}

/// The condition that follows from a state.
pub fn condition(inputs: &StallInputs, options: &Options) -> StallCondition {
    let compacts = !options.disable_auto_compactions;
    let (soft, hard) = (options.soft_pending_compaction_bytes_limit, options.hard_pending_compaction_bytes_limit);
    let (level0, debt) = (inputs.level0_files, inputs.pending_bytes);
    if inputs.unflushed_memtables >= options.max_write_buffer_number
        || compacts && level0 >= options.level0_stop_writes_trigger
        || compacts && hard > 0 && debt >= hard
    {
        return StallCondition::Stopped;
    }
    let unflushed = inputs.unflushed_memtables;
    if options.max_write_buffer_number > 3
        && unflushed >= options.max_write_buffer_number - 1
        && unflushed > options.min_write_buffer_number_to_merge
    {
        return StallCondition::Delayed { near_stop: false };
    }
    if compacts && level0 >= options.level0_slowdown_writes_trigger {
        return StallCondition::Delayed { near_stop: level0 + 2 >= options.level0_stop_writes_trigger };
    }
    if compacts && soft > 0 && debt >= soft {
        return StallCondition::Delayed { near_stop: hard > 0 && debt - soft > 3 * (hard - soft) / 4 };
    }
    StallCondition::Normal
}

/// Whether more than one compaction may run though writers are not held back.
pub fn needs_speedup(inputs: &StallInputs, options: &Options) -> bool {
    let (trigger, slowdown) = (options.level0_file_num_compaction_trigger, options.level0_slowdown_writes_trigger);
    if inputs.level0_files >= (2 * trigger).min(trigger + slowdown.saturating_sub(trigger) / 4) {
        return true;
    }
    let soft = options.soft_pending_compaction_bytes_limit;
    let debt_limit = match inputs.bottommost_bytes {
        0 => soft / 4,
        bottommost => (bottommost / 8).max(2 * options.max_bytes_for_level_base).min(soft / 4),
    };
    // Without a limit compactions always run side by side.
    soft == 0 || inputs.pending_bytes >= debt_limit
}

/// The rate at which delayed writers go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteController {
    condition: StallCondition,
    speedup: bool,
    rate: u64,
    max_rate: u64,
    previous_debt: u64,
    credit_bytes: u64,
    next_refill_us: u64,
}

impl WriteController {
    /// No writer is held back.
    pub fn new(max_rate: u64) -> Self {
        Self {
            condition: StallCondition::Normal,
            speedup: false,
            rate: max_rate,
            max_rate,
            previous_debt: 0,
            credit_bytes: 0,
            next_refill_us: 0,
        }
    }

    /// What writers may do.
    pub fn condition(&self) -> StallCondition {
        self.condition
    }

    /// Whether compactions may use all their threads.
    pub fn speedup(&self) -> bool {
        self.speedup || self.condition != StallCondition::Normal
    }

    /// Bytes per second of delayed writers.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// Follows a change of the state: a flush, a compaction, a full memtable.
    pub fn update(&mut self, inputs: &StallInputs, options: &Options) {
        let now = condition(inputs, options);
        let was_stopped = self.condition == StallCondition::Stopped;
        let was_delayed = matches!(self.condition, StallCondition::Delayed { .. });
        match now {
            StallCondition::Delayed { near_stop } => {
                if options.disable_auto_compactions {
                    self.rate = self.max_rate;
                } else if was_delayed && self.max_rate > MIN_RATE {
                    self.adjust_rate(near_stop || was_stopped, inputs.pending_bytes);
                }
                if !was_delayed {
                    (self.credit_bytes, self.next_refill_us) = (0, 0);
                }
            }
            StallCondition::Normal if was_delayed => {
                self.rate = ((self.rate as f64 * RECOVERED) as u64).clamp(1, self.max_rate);
            }
            _ => {}
        }
        self.speedup = needs_speedup(inputs, options);
        self.condition = now;
        self.previous_debt = inputs.pending_bytes;
    }

    fn adjust_rate(&mut self, penalize: bool, debt: u64) {
        let factor = if penalize {
            NEAR_STOP
        } else if self.previous_debt > 0 && self.previous_debt <= debt {
            DEBT_GROWS
        } else if self.previous_debt > debt {
            DEBT_SHRINKS
        } else {
            1.0
        };
        self.rate = ((self.rate as f64 * factor) as u64).max(MIN_RATE).min(self.max_rate);
    }

    /// Microseconds that a write of `bytes` must wait at `now_us`.
    pub fn delay_us(&mut self, now_us: u64, bytes: u64) -> u64 {
        if !matches!(self.condition, StallCondition::Delayed { .. }) {
            return 0;
        }
        if self.credit_bytes >= bytes {
            self.credit_bytes -= bytes;
            return 0;
        }
        if self.next_refill_us == 0 {
            self.next_refill_us = now_us;
        }
        if self.next_refill_us <= now_us {
            let elapsed = now_us - self.next_refill_us + REFILL_US;
            self.credit_bytes += (elapsed as f64 / 1e6 * self.rate as f64 + 0.999_999) as u64;
            self.next_refill_us = now_us + REFILL_US;
            if self.credit_bytes >= bytes {
                self.credit_bytes -= bytes;
                return 0;
            }
        }
        let missing = bytes - self.credit_bytes;
        self.credit_bytes = 0;
        self.next_refill_us += (missing as f64 / self.rate as f64 * 1e6) as u64;
        (self.next_refill_us - now_us).max(REFILL_US)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn level0(files: u64) -> StallInputs {
        StallInputs { level0_files: files, pending_bytes: files << 20, ..StallInputs::default() }
    }

    fn debt(bytes: u64) -> StallInputs {
        StallInputs { pending_bytes: bytes, ..StallInputs::default() }
    }

    #[test]
    fn each_limit_delays_or_stops() {
        use StallCondition::{Delayed, Normal, Stopped};
        let options = Options::default().sanitized();
        let many = Options { max_write_buffer_number: 5, ..options.clone() };
        let unflushed = |n| StallInputs { unflushed_memtables: n, ..StallInputs::default() };
        let (far, near) = (Delayed { near_stop: false }, Delayed { near_stop: true });
        for (inputs, options, expected) in [
            (unflushed(1), &options, Normal),
            (unflushed(2), &options, Stopped),
            (unflushed(3), &many, Normal),
            (unflushed(4), &many, far),
            (unflushed(5), &many, Stopped),
            (level0(19), &options, Normal),
            (level0(20), &options, far),
            (level0(34), &options, near),
            (level0(36), &options, Stopped),
            (debt(64 * GIB - 1), &options, Normal),
            (debt(64 * GIB), &options, far),
            (debt(209 * GIB), &options, near),
            (debt(256 * GIB), &options, Stopped),
        ] {
            assert_eq!(condition(&inputs, options), expected, "{inputs:?}");
        }
        let manual = Options { disable_auto_compactions: true, ..options };
        assert_eq!(condition(&level0(100), &manual), Normal);
    }

    #[test]
    fn the_rate_follows_the_debt() {
        let options = Options::default().sanitized();
        let mut controller = WriteController::new(10 << 20);
        let mut rates = Vec::new();
        for files in [20, 21, 20, 34, 10, 20] {
            controller.update(&level0(files), &options);
            rates.push((controller.rate() as f64 / f64::from(1 << 20) * 100.0).round() / 100.0);
        }
        assert_eq!(rates, [10.0, 8.0, 10.0, 6.0, 8.4, 8.4]);
    }

    #[test]
    fn delayed_writers_get_their_rate_and_no_more() {
        let options = Options::default().sanitized();
        let mut controller = WriteController::new(1_000_000);
        controller.update(&level0(20), &options);
        let (mut now, mut written) = (5_000_000, 0);
        while now < 7_000_000 {
            now += controller.delay_us(now, 500);
            written += 500;
        }
        assert!((1_990_000..2_010_000).contains(&written), "{written} bytes in 2 s at 1 MB/s");
    }

    #[test]
    fn one_compaction_runs_until_level_0_or_the_debt_grows() {
        let options = Options::default().sanitized();
        let speeds = [7, 8].map(|files| needs_speedup(&level0(files), &options));
        assert_eq!(speeds, [false, true]);
        let large = StallInputs { bottommost_bytes: 80 * GIB, pending_bytes: 9 * GIB, ..StallInputs::default() };
        assert!(!needs_speedup(&large, &options));
        assert!(needs_speedup(&StallInputs { pending_bytes: 10 * GIB, ..large }, &options));
        let [none, quarter] = [15, 16].map(|gib| StallInputs { bottommost_bytes: 0, ..debt(gib * GIB) });
        assert_eq!([none, quarter].map(|inputs| needs_speedup(&inputs, &options)), [false, true]);
        let unlimited = Options { soft_pending_compaction_bytes_limit: 0, ..options };
        assert!(needs_speedup(&StallInputs::default(), &unlimited));
    }
}

//! What a measured phase leaves to the background, and what it costs to pay it.
//!
//! Writers who run ahead of the background are not served faster: what they leave has to be written in the end. So the
//! clients stop when the phase is over, the background goes on, and the phase is charged for that. In virtual time it
//! goes on until it owes no more than when the phase began; jobs come in whole pieces, so what is paid beyond is left
//! out by its part of all that was paid. A phase that begins and ends settled is charged with all of it, under any
//! clock: what is set beside a real engine pays as that does.

use crate::cost::CpuUse;
use crate::device::DeviceStats;
use crate::metrics::PurposeCounts;
use serde_json::{Value, json};

/// What was done to pay a debt, after the clients had stopped.
#[derive(Debug, Clone, Default)]
pub struct Payment {
    /// What was still owed then, in bytes to write.
    pub left_bytes: u64,
    /// How long it took.
    pub seconds: f64,
    /// What storage was asked for.
    pub io: PurposeCounts,
    /// What the cores did.
    pub cpu: CpuUse,
    /// What the device counted.
    pub device: DeviceStats,
}

/// What of a payment a phase is charged with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Terms {
    /// What pays the debt that it has added; time where the background or the cores would have been busy for longer
    /// than it was.
    Added {
        /// Bytes that the background had still to write when the phase began.
        before_bytes: u64,
        /// The same when it ended.
        after_bytes: u64,
        /// Seconds of the phase in which the background merged files or wrote pages.
        busy_seconds: f64,
        /// Cores of the machine.
        cores: u32,
    },
    /// All, with its time.
    Whole,
    /// All but its time: an engine that is made to write its pages faster than it would.
    WholeButTime,
}

/// What a phase left to the background, and what paying it took.
#[derive(Debug, Clone)]
pub struct Debt {
    /// How it is charged.
    pub terms: Terms,
    /// What was done about it; nothing if the debt had not grown.
    pub payment: Payment,
}

impl Debt {
    /// The part of the payment that the phase is charged with.
    pub fn share(&self) -> f64 {
        let Terms::Added { before_bytes, after_bytes, .. } = self.terms else { return 1.0 };
        let paid = after_bytes.saturating_sub(self.payment.left_bytes);
        let grown = after_bytes.saturating_sub(before_bytes);
        if paid == 0 { 0.0 } else { (grown as f64 / paid as f64).min(1.0) }
    }

    /// By how many seconds a phase of this length, with so much CPU time of clients and background, is taken to be
    /// longer: where the background or the cores are busy for longer than it once the debt is paid, it waits for them.
    /// `None` where the time of paying says nothing.
    pub fn seconds(&self, phase_seconds: f64, cpu_ns: u64) -> Option<f64> {
        match self.terms {
            Terms::Whole => Some(self.payment.seconds),
            Terms::WholeButTime => None,
            Terms::Added { busy_seconds, cores, .. } => {
                let background = busy_seconds + self.share() * self.payment.seconds;
                let cpu = self.charged(cpu_ns, self.payment.cpu.ns) / 1e9 / f64::from(cores.max(1));
                Some((background.max(cpu) - phase_seconds).max(0.0))
            }
        }
    }

    /// What a phase counted, with its part of what the payment did.
    pub fn charged(&self, phase: u64, payment: u64) -> f64 {
        phase as f64 + self.share() * payment as f64
    }

    /// As a report shows it.
    pub fn to_json(&self) -> Value {
        let share = self.share();
        let mut shown = json!({
            "seconds": share * self.payment.seconds,
            "written_bytes": (share * self.payment.io.written_bytes as f64) as u64,
        });
        if let Terms::Added { before_bytes, after_bytes, .. } = self.terms {
            (shown["before_bytes"], shown["after_bytes"]) = (json!(before_bytes), json!(after_bytes));
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paid in two seconds of two cores.
    fn paid(terms: Terms, left_bytes: u64) -> Debt {
        let cpu = CpuUse { ns: 4_000_000_000, ..CpuUse::default() };
        Debt { terms, payment: Payment { left_bytes, seconds: 2.0, cpu, ..Payment::default() } }
    }

    fn added([before_bytes, after_bytes, left_bytes]: [u64; 3], busy_seconds: f64) -> Debt {
        paid(Terms::Added { before_bytes, after_bytes, busy_seconds, cores: 2 }, left_bytes)
    }

    /// What a phase of ten seconds is charged.
    fn seconds(bytes: [u64; 3], busy_seconds: f64, cpu_seconds: u64) -> f64 {
        added(bytes, busy_seconds).seconds(10.0, cpu_seconds * 1_000_000_000).unwrap()
    }

    #[test]
    fn a_background_that_was_busy_all_the_time_needs_as_much_longer_as_it_takes_to_pay() {
        assert_eq!([10.0, 9.0, 7.0].map(|busy| seconds([100, 500, 100], busy, 0)), [2.0, 1.0, 0.0]);
    }

    #[test]
    fn cores_that_were_busy_all_the_time_need_as_much_longer_too() {
        assert_eq!([20, 10].map(|cpu| seconds([100, 500, 100], 0.0, cpu)), [2.0, 0.0]);
    }

    #[test]
    fn what_is_paid_beyond_the_debt_of_the_phase_is_not_charged() {
        assert_eq!(added([300, 500, 100], 0.0).share(), 0.5);
        assert_eq!(added([300, 500, 100], 0.0).charged(1000, 300), 1150.0);
        assert_eq!(seconds([300, 500, 100], 10.0, 0), 1.0);
        assert_eq!(seconds([500, 500, 100], 10.0, 0), 0.0);
    }

    #[test]
    fn what_nothing_is_done_about_costs_nothing_that_was_seen() {
        assert_eq!(seconds([100, 500, 500], 10.0, 20), 0.0);
        assert_eq!(added([100, 500, 300], 0.0).share(), 1.0);
    }

    #[test]
    fn a_phase_that_ends_settled_is_charged_with_all_of_it() {
        let [whole, but_time] = [Terms::Whole, Terms::WholeButTime].map(|terms| paid(terms, 0));
        assert_eq!([&whole, &but_time].map(|debt| debt.charged(1000, 300)), [1300.0, 1300.0]);
        assert_eq!([&whole, &but_time].map(|debt| debt.seconds(10.0, 0)), [Some(2.0), None]);
        assert_eq!(whole.to_json(), json!({"seconds": 2.0, "written_bytes": 0}));
    }
}

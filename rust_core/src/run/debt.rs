//! What a measured phase leaves to the background, and what it costs to pay it.
//!
//! Writers who run ahead of the background are not served faster: what they leave has to be written in the end. So the
//! clients stop when the phase is over, the background goes on in virtual time until it owes no more than when the
//! phase began, and the phase is charged for that. Jobs come in whole pieces, so what is paid beyond is left out by its
//! part of all that was paid.

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

/// What the background owed before and after a phase, and what paying it took.
#[derive(Debug, Clone, Default)]
pub struct Debt {
    /// Bytes that the background had still to write when the phase began.
    pub before_bytes: u64,
    /// The same when it ended.
    pub after_bytes: u64,
    /// Seconds of the phase in which the background merged files or wrote pages.
    pub busy_seconds: f64,
    /// Cores of the machine.
    pub cores: u32,
    /// What was done about it; nothing if the debt had not grown.
    pub payment: Payment,
}

impl Debt {
    /// Bytes that the phase has added.
    pub fn grown_bytes(&self) -> u64 {
        self.after_bytes.saturating_sub(self.before_bytes)
    }

    /// The part of the payment that pays what the phase has added.
    pub fn share(&self) -> f64 {
        let paid = self.after_bytes.saturating_sub(self.payment.left_bytes);
        if paid == 0 { 0.0 } else { (self.grown_bytes() as f64 / paid as f64).min(1.0) }
    }

    /// By how many seconds a phase of this length, with so much CPU time of clients and background, would have been
    /// longer: where the background or the cores are busy for longer than it once the debt is paid, it waits for them.
    pub fn seconds(&self, phase_seconds: f64, cpu_ns: u64) -> f64 {
        let background = self.busy_seconds + self.share() * self.payment.seconds;
        let cpu = self.charged(cpu_ns, self.payment.cpu.ns) / 1e9 / f64::from(self.cores.max(1));
        (background.max(cpu) - phase_seconds).max(0.0)
    }

    /// What a phase counted, with its part of what the payment did.
    pub fn charged(&self, phase: u64, payment: u64) -> f64 {
        phase as f64 + self.share() * payment as f64
    }

    /// As a report shows it.
    pub fn to_json(&self) -> Value {
        let share = self.share();
        json!({
            "before_bytes": self.before_bytes,
            "after_bytes": self.after_bytes,
            "seconds": share * self.payment.seconds,
            "written_bytes": (share * self.payment.io.written_bytes as f64) as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paid in two seconds of two cores.
    fn debt([before_bytes, after_bytes, left_bytes]: [u64; 3]) -> Debt {
        let cpu = CpuUse { ns: 4_000_000_000, ..CpuUse::default() };
        let payment = Payment { left_bytes, seconds: 2.0, cpu, ..Payment::default() };
        Debt { before_bytes, after_bytes, busy_seconds: 0.0, cores: 2, payment }
    }

    /// What a phase of ten seconds is charged.
    fn seconds(bytes: [u64; 3], busy_seconds: f64, cpu_seconds: u64) -> f64 {
        Debt { busy_seconds, ..debt(bytes) }.seconds(10.0, cpu_seconds * 1_000_000_000)
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
        assert_eq!(debt([300, 500, 100]).share(), 0.5);
        assert_eq!(debt([300, 500, 100]).charged(1000, 300), 1150.0);
        assert_eq!(seconds([300, 500, 100], 10.0, 0), 1.0);
        assert_eq!(seconds([500, 500, 100], 10.0, 0), 0.0);
    }

    #[test]
    fn what_nothing_is_done_about_costs_nothing_that_was_seen() {
        assert_eq!(seconds([100, 500, 500], 10.0, 20), 0.0);
        assert_eq!(debt([100, 500, 300]).share(), 1.0);
    }
}

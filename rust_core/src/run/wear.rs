//! What a measured phase cost a flash device: what it was given, what it programmed for that, and how long it lasts.

use super::debt::Debt;
use crate::device::DeviceStats;
use crate::metrics::ratio;

/// What a flash device wrote, and how much of it that wears away.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FlashWear {
    /// What it counted.
    pub device: DeviceStats,
    /// Bytes that it is rated to program before it is worn out.
    pub endurance_bytes: f64,
}

/// Seconds of a Julian year.
pub const YEAR_S: f64 = 365.25 * 86_400.0;

impl FlashWear {
    /// Its metrics after `seconds`, with what paying a debt added; none if nothing was written.
    pub fn metrics(&self, seconds: f64, debt: &Debt) -> [(&'static str, Option<f64>); 6] {
        let (counted, paid) = (&self.device, &debt.payment.device);
        let host = debt.charged(counted.written_bytes, paid.written_bytes);
        let nand = debt.charged(counted.nand_bytes, paid.nand_bytes);
        let written = |amount: f64| (host > 0.0).then_some(amount);
        [
            ("device_bytes", written(host)),
            ("trimmed_bytes", written(debt.charged(counted.trimmed_bytes, paid.trimmed_bytes))),
            ("nand_bytes", written(nand)),
            ("erases", written(debt.charged(counted.erases, paid.erases))),
            ("flash_waf", ratio(nand, host)),
            ("drive_years", ratio(self.endurance_bytes * seconds, nand * YEAR_S)),
        ]
    }
}

//! What a smaller copy of the data stands for. A scaled trial shrinks data, caches, memtables, files and logs by one
//! factor and leaves rows, blocks, pages and the device's rates as they are; what it cannot show by itself engines,
//! workloads, storage and the virtual clock ask here.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Microseconds of InnoDB's second, by which its background threads go.
const SECOND_US: f64 = 1e6;

/// The shortest second: rounds of the page cleaner that are shorter cost more events than they show.
const SHORTEST_SECOND_US: f64 = 1e3;

/// How a copy relates to what it stands for: the `scale` of a spec.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scale {
    /// How many times larger the data is that the copy speaks for; 1 for data of full size.
    stands_for: f64,
    /// Microseconds of InnoDB's second where it is not shrunk as the data is: a run of full size that lasts seconds
    /// sees too few of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    second_us: Option<u64>,
    /// Whether draws of keys alone stand for the full size. What runs is then held beside a product on as much data,
    /// which makes up for nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    only_draws: bool,
}

impl Default for Scale {
    fn default() -> Self {
        Self::FULL
    }
}

impl Scale {
    /// Data of full size.
    pub const FULL: Self = Self { stands_for: 1.0, second_us: None, only_draws: false };

    /// A copy that stands for data so many times as large.
    pub fn standing_for(times: f64) -> Self {
        Self { stands_for: times, ..Self::FULL }
    }

    /// The same with an InnoDB second of so many microseconds.
    #[must_use]
    pub fn with_second_us(self, second_us: u64) -> Self {
        Self { second_us: Some(second_us), ..self }
    }

    /// The same where only draws of keys are told.
    #[must_use]
    pub fn of_draws_alone(self) -> Self {
        Self { only_draws: true, ..self }
    }

    /// How what runs relates to what it stands for: engine, storage and machine, and rows that clients wait for.
    #[must_use]
    pub fn of_what_runs(self) -> Self {
        if self.only_draws { Self::FULL } else { self }
    }

    /// Refuses what is no copy.
    pub fn check(&self) -> Result<()> {
        if !(1.0..=1e12).contains(&self.stands_for) {
            return Err(Error::invalid("scale.stands_for", self.stands_for, "a factor from 1 to 1e12"));
        }
        match self.second_us {
            Some(us) if !(SHORTEST_SECOND_US..=SECOND_US).contains(&(us as f64)) => {
                Err(Error::invalid("scale.second_us", us, "microseconds from 1000 to 1000000"))
            }
            _ => Ok(()),
        }
    }

    /// Whether the data stands for itself.
    pub fn is_full(self) -> bool {
        self.stands_for == 1.0
    }

    /// Bytes of a structure at full size that has `bytes` here.
    #[inline]
    pub fn full_bytes(self, bytes: u64) -> u64 {
        (bytes as f64 * self.stands_for) as u64
    }

    /// Items of a set at full size that has so many here.
    pub fn full_count(self, count: u64) -> u64 {
        self.full_bytes(count)
    }

    /// The one of the items here that stands for one of the full size.
    pub fn standing_in(self, item: u64) -> u64 {
        (item as f64 / self.stands_for) as u64
    }

    /// Items here of a set that has so many at full size, rounded up.
    pub fn shrunk_count(self, full: u64) -> u64 {
        (full as f64 / self.stands_for).ceil() as u64
    }

    /// Bytes here of what moves in pieces of so many at full size: those would hold the device for a larger part of the
    /// time that all else takes.
    pub fn shrunk_bytes(self, full: u64) -> u64 {
        (full as f64 / self.stands_for) as u64
    }

    /// The least part of a latency that a request of a job pays here. An LSM of any size flushes and compacts as often,
    /// so a job of a copy would pay a full seek and a full sync for few bytes.
    pub fn least_latency_share(self) -> f64 {
        1.0 / self.stands_for
    }

    /// Microseconds of InnoDB's second here: it shrinks with the data, and with it what a round of the page cleaner
    /// keeps free or writes. Rates of the device per second do not.
    pub fn second_us(self) -> u64 {
        let shrunk = (SECOND_US / self.stands_for).round_ties_even().max(SHORTEST_SECOND_US);
        self.second_us.unwrap_or(shrunk as u64)
    }

    /// `full` of something that belongs to a second of InnoDB, as one here has it.
    pub fn per_second(self, full: u64) -> u64 {
        full * self.second_us() / SECOND_US as u64
    }

    /// Whether data may push index and filter blocks out of a block cache: the index of a file of full size covers
    /// thousands of blocks and is hardly ever pushed out, that of a shrunk one covers few.
    pub fn evicts_index_and_filter_blocks(self) -> bool {
        self.is_full()
    }

    /// Whether clients wait for one another's rows. In a copy, few rows would have them do it far too often.
    pub fn clients_meet_on_rows(self) -> bool {
        self.of_what_runs().is_full()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_full_size_stands_for_itself() {
        let full = Scale::default();
        assert_eq!(
            (full.full_bytes(7), full.shrunk_count(7), full.standing_in(7), full.second_us()),
            (7, 7, 7, 1_000_000)
        );
        assert!(full.is_full() && full.clients_meet_on_rows() && full.evicts_index_and_filter_blocks());
        assert_eq!(full.least_latency_share(), 1.0);
    }

    #[test]
    fn a_second_shrinks_with_the_data_down_to_a_millisecond_or_is_told() {
        assert_eq!([4.0, 1e3, 1e6].map(|times| Scale::standing_for(times).second_us()), [250_000, 1000, 1000]);
        assert_eq!(Scale::standing_for(4.0).per_second(2000), 500);
        assert_eq!(Scale::FULL.with_second_us(100_000).per_second(2000), 200);
    }

    #[test]
    fn what_runs_beside_a_product_is_as_it_is_and_draws_are_those_of_the_full_size() {
        let beside = Scale::standing_for(4.0).of_draws_alone();
        assert_eq!((beside.of_what_runs(), beside.full_count(7)), (Scale::FULL, 28));
        assert!(beside.clients_meet_on_rows() && !Scale::standing_for(4.0).clients_meet_on_rows());
        let told: Scale = serde_json::from_str(r#"{"stands_for": 4.0, "only_draws": true}"#).unwrap();
        assert_eq!(told, beside);
    }

    #[test]
    fn data_stands_for_as_much_or_more() {
        Scale::standing_for(1000.0).check().unwrap();
        let message = Scale::standing_for(0.5).check().unwrap_err().to_string();
        assert!(message.starts_with("scale.stands_for: found 0.5"), "{message}");
        let message = Scale::FULL.with_second_us(5).check().unwrap_err().to_string();
        assert!(message.starts_with("scale.second_us: found 5"), "{message}");
    }
}

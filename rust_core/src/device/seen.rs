//! What reads of a drive were seen to take, by their bytes and by how many were in flight.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Bytes of a read, how many are in flight with it, itself counted, and microseconds: the smallest first, and of one
/// size the fewest in flight first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seen(pub Vec<(f64, f64, f64)>);

/// How a figure goes on between two depths that were seen and beyond the last of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Between {
    /// Straight, and then as many reads per second as at the last.
    Depths,
    /// Straight over the logarithm of the depth, and then as at the last.
    Doublings,
}

impl Seen {
    /// Whether nothing was seen.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuses figures out of order, and under [`Between::Depths`] those that fall with the depth.
    pub fn check(&self, name: &str, between: Between) -> Result<()> {
        let is_figure = |&(bytes, depth, us): &(f64, f64, f64)| bytes >= 1.0 && depth >= 1.0 && us > 0.0;
        let is_finite = |&(bytes, depth, us): &(f64, f64, f64)| (bytes * depth * us).is_finite();
        let in_order = self.0.windows(2).all(|pair| {
            let ((bytes, depth, us), (next_bytes, next_depth, next_us)) = (pair[0], pair[1]);
            let grows = between == Between::Doublings || us <= next_us;
            next_bytes > bytes || (next_bytes == bytes && next_depth > depth && grows)
        });
        if in_order && self.0.iter().all(|row| is_figure(row) && is_finite(row)) {
            return Ok(());
        }
        let accepted = "bytes, depth and microseconds: sizes and depths growing, and times with the depth";
        Err(Error::invalid(format!("hardware.device.{name}"), format!("{:?}", self.0), accepted))
    }

    /// The largest size that was seen.
    pub fn most_bytes(&self) -> u64 {
        self.0.last().map_or(0, |row| row.0 as u64)
    }

    /// Microseconds of a read of these bytes, with so many in flight; between two sizes straight, beyond them as there.
    /// `None` where nothing was seen.
    pub fn us(&self, bytes: u64, in_flight: f64, between: Between) -> Option<f64> {
        let bytes = bytes as f64;
        let (&(least, ..), &(most, ..)) = (self.0.first()?, self.0.last()?);
        let above = self.0.iter().find(|row| row.0 >= bytes).map_or(most, |row| row.0);
        let below = self.0.iter().rev().find(|row| row.0 <= bytes).map_or(least, |row| row.0);
        let us = self.of_size(above, in_flight, between);
        if below >= above {
            return Some(us);
        }
        let below_us = self.of_size(below, in_flight, between);
        Some(below_us + (us - below_us) * (bytes - below) / (above - below))
    }

    /// The same of a size that was seen.
    fn of_size(&self, bytes: f64, in_flight: f64, between: Between) -> f64 {
        let mut before: Option<(f64, f64)> = None;
        for &(_, depth, us) in self.0.iter().filter(|row| row.0 == bytes) {
            if depth >= in_flight {
                let Some((low, low_us)) = before else { return us };
                let part = match between {
                    Between::Depths => (in_flight - low) / (depth - low),
                    Between::Doublings => libm::log(in_flight / low) / libm::log(depth / low),
                };
                return low_us + (us - low_us) * part;
            }
            before = Some((depth, us));
        }
        let (last, last_us) = before.expect("a size that was seen");
        if between == Between::Depths { last_us * in_flight / last } else { last_us }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Seen {
        Seen(vec![(4096.0, 1.0, 40.0), (4096.0, 4.0, 100.0), (16384.0, 1.0, 70.0), (16384.0, 4.0, 160.0)])
    }

    #[test]
    fn sizes_and_depths_in_between_lie_in_between() {
        let us = |bytes, in_flight| seen().us(bytes, in_flight, Between::Depths).unwrap();
        assert_eq!((us(4096, 1.0), us(4096, 2.0), us(4096, 8.0)), (40.0, 60.0, 200.0));
        assert_eq!((us(512, 1.0), us(10240, 1.0), us(16384, 4.0), us(1 << 20, 4.0)), (40.0, 55.0, 160.0, 160.0));
        let falling = Seen(vec![(4096.0, 1.0, 40.0), (4096.0, 4.0, 20.0)]);
        let us = |in_flight| falling.us(4096, in_flight, Between::Doublings).unwrap();
        assert_eq!((us(1.0), us(2.0), us(4.0), us(9.0)), (40.0, 30.0, 20.0, 20.0));
        assert_eq!(Seen::default().us(4096, 1.0, Between::Depths), None);
    }

    #[test]
    fn figures_that_no_drive_has_are_refused() {
        let fits = |rows: &[(f64, f64, f64)], between| Seen(rows.to_vec()).check("reads", between).is_ok();
        assert!(fits(&seen().0, Between::Depths));
        let falls = [(4096.0, 1.0, 40.0), (4096.0, 4.0, 20.0)];
        assert!(fits(&falls, Between::Doublings) && !fits(&falls, Between::Depths));
        for row in [(4096.0, 1.0, 50.0), (512.0, 2.0, 50.0), (4096.0, 0.5, 50.0), (8192.0, 1.0, f64::NAN)] {
            assert!(!fits(&[(4096.0, 1.0, 40.0), row], Between::Doublings), "{row:?}");
        }
    }
}

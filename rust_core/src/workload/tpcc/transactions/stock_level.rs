//! Stock level: the items of the last 20 orders of a district, and how many of each are left.

use super::{Outcome, Request};
use crate::error::Result;
use crate::table::Schema;
use crate::workload::random::Random;
use crate::workload::tpcc::Shared;
use crate::workload::tpcc::draws::Scale;
use crate::workload::tpcc::schema::{DistrictId, Districts, OrderId, OrderLines, StockId, Stocks};
use crate::workload::tpcc::session::{Session, inconsistent};
use std::collections::BTreeSet;

/// Orders that it looks at.
const LAST_ORDERS: u32 = 20;

/// Its inputs. The level below which stock counts as low changes nothing for the engine.
pub struct StockLevel {
    district: DistrictId,
}

impl StockLevel {
    /// Draws them.
    pub fn draw(random: &mut Random, scale: &Scale) -> Self {
        Self { district: scale.draw_district(random) }
    }
}

impl Request for StockLevel {
    fn write_bytes(&self) -> u64 {
        0
    }

    fn locks(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn run(&self, _shared: &Shared, session: &mut Session) -> Result<Outcome> {
        let district = self.district;
        let next = session.select::<Districts>(district)?.next_order;
        let lines_of = |order| OrderId { district, order }.lines_prefix();
        let (from, end) = (lines_of(next.saturating_sub(LAST_ORDERS)), lines_of(next));
        let lines = session.scan(&from, |key| key < &end[..], usize::MAX)?;
        let items: Option<BTreeSet<u32>> =
            lines.iter().map(|(key, value)| OrderLines::decode(key, value).map(|line| line.item)).collect();
        for item in items.ok_or_else(|| inconsistent::<OrderLines>("a row does not decode"))? {
            session.select::<Stocks>(StockId { home: district.home, item })?;
        }
        Ok(Outcome::Commit)
    }
}

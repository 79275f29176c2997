//! Stock level: the items of the last 20 orders of a district, and how many of each are left.
//!
//! Since the end of May 2018 the script asks for all of that in one join. Before, it asked for the lines, and in a loop
//! over them for the stock of each, while it had their result still open. sysbench has one result for each connection:
//! from the second turn on, the script read a row of a result that had no more rows, and sysbench before 1.0.16 then
//! left the values of the last one in place. So it asked for the stock of the first item, and from then on for that of
//! the item whose number was the count just found, 0 or 1.

use super::{Outcome, Request, at};
use crate::error::Result;
use crate::random::Random;
use crate::table::Schema;
use crate::workload::tpcc::Shared;
use crate::workload::tpcc::draws::{Cardinalities, between};
use crate::workload::tpcc::schema::{DistrictId, Districts, OrderId, OrderLines, StockId, Stocks};
use crate::workload::tpcc::session::{Session, inconsistent};
use crate::workload::tpcc::statements::{Connection, integer};
use std::collections::BTreeSet;

/// Orders that it looks at.
const LAST_ORDERS: u32 = 20;

/// Its inputs.
pub struct StockLevel {
    district: DistrictId,
    /// Fewer are a low stock.
    level: u16,
}

impl StockLevel {
    /// Draws them.
    pub fn draw(random: &mut Random, cardinalities: &Cardinalities) -> Self {
        Self { district: cardinalities.draw_district(random), level: between(random, 10, 20) as u16 }
    }

    fn stock_id(&self, item: u32) -> StockId {
        StockId { home: self.district.home, item }
    }

    /// A query for the count of each item, where each but the first asks for the item of the number that was counted.
    fn ask_in_a_loop(&self, session: &mut Session, first: u32, items: usize) -> Result<()> {
        let mut item = first;
        for _ in 0..items {
            let stock = session.find::<Stocks>(self.stock_id(item))?;
            item = stock.is_some_and(|stock| stock.quantity < self.level).into();
        }
        Ok(())
    }
}

impl Request for StockLevel {
    fn write_bytes(&self) -> u64 {
        0
    }

    fn locks(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn run(&self, shared: &Shared, session: &mut Session) -> Result<Outcome> {
        let next = session.select::<Districts>(self.district)?.next_order;
        let lines_of = |order| OrderId { district: self.district, order }.lines_prefix();
        let (from, end) = (lines_of(next.saturating_sub(LAST_ORDERS)), lines_of(next));
        let lines = session.scan(&from, |key| key < &end[..], usize::MAX)?;
        let items: Option<Vec<u32>> =
            lines.iter().map(|(key, value)| OrderLines::decode(key, value).map(|line| line.item)).collect();
        let items = items.ok_or_else(|| inconsistent::<OrderLines>("a row does not decode"))?;
        session.sort(items.len());
        let distinct = items.iter().copied().collect::<BTreeSet<u32>>();
        if shared.parameters.stock_level == "looped" {
            self.ask_in_a_loop(session, items.first().copied().unwrap_or_default(), distinct.len())?;
        } else {
            for item in distinct {
                session.join::<Stocks>(self.stock_id(item))?;
            }
        }
        Ok(Outcome::Commit)
    }

    fn set(&self) -> u32 {
        self.district.home.set
    }

    fn speak(&self, shared: &Shared, server: &mut Connection) -> Result<Outcome> {
        let [warehouse, district] = at(self.district);
        let text = "SELECT d_next_o_id FROM district# WHERE d_w_id = ? AND d_id = ?";
        let next = server.row("select_next_order", text, &[warehouse.clone(), district.clone()])?;
        let next = integer(&next[0])?;
        let orders = [next.into(), (next - i64::from(LAST_ORDERS)).into()];
        let lines = [warehouse.clone(), district].into_iter().chain(orders);
        if shared.parameters.stock_level == "looped" {
            let text = "SELECT DISTINCT ol_i_id FROM order_line# WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? \
                        AND ol_o_id >= ?";
            let items = server.rows("select_items", text, &lines.collect::<Vec<_>>())?;
            let text = "SELECT COUNT(*) FROM stock# WHERE s_w_id = ? AND s_i_id = ? AND s_quantity < ?";
            let mut item = items.first().map_or(0.into(), |row| row[0].clone());
            for _ in &items {
                let values = [warehouse.clone(), item, self.level.into()];
                item = server.row("count_stock", text, &values)?.swap_remove(0);
            }
        } else {
            let text = "SELECT COUNT(DISTINCT (s_i_id)) FROM order_line#, stock# WHERE ol_w_id = ? AND ol_d_id = ? \
                        AND ol_o_id < ? AND ol_o_id >= ? AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?";
            let values = lines.chain([warehouse, self.level.into()]);
            server.read("count_stocks", text, &values.collect::<Vec<_>>())?;
        }
        Ok(Outcome::Commit)
    }
}

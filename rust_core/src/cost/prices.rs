//! Which cost counts: what a machine says of a kind of work, of a product's calls, or of all that it does not name.

use super::{Product, Work};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::str::FromStr;
use strum::VariantNames;

/// Nanoseconds per unit by the names of [`Work`].
type ByKind = BTreeMap<String, f64>;

/// What a machine says of CPU work: the `cost` of its hardware.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CostSpec {
    /// Nanoseconds per unit of work by the names of [`Work`]. They count before all else.
    pub work_ns: ByKind,
    /// How much longer than the default work takes that `work_ns` does not name.
    pub slowdown: f64,
    /// Nanoseconds that a call of a real product takes beyond this core's own work, by the names of [`Product`] and of
    /// [`Work::CALLS`], where the defaults hold; `slowdown` counts for them too. Absent ones take nothing.
    pub calls: BTreeMap<String, ByKind>,
    /// Microseconds of a round trip during which neither client nor server computes, because the one that is spoken to
    /// has to be woken first.
    pub statement_wait_us: f64,
    /// Microseconds that the client's part of a statement takes beyond its `round_trip` where nothing of what it needs
    /// is left in the caches of its core.
    pub statement_cold_us: f64,
    /// Microseconds of the server's CPU time for a statement that leave one part in e of that there. With 0 nothing is
    /// ever left.
    pub statement_cools_us: f64,
    /// Microseconds that a writer of a library whose turn has not come turns on its core before it offers that to
    /// others: 200 `pause` instructions of RocksDB's `WriteThread::AwaitState`. With 0 it waits on no core.
    pub write_turning_us: f64,
}

impl Default for CostSpec {
    fn default() -> Self {
        Self {
            work_ns: ByKind::new(),
            slowdown: 1.0,
            calls: BTreeMap::new(),
            statement_wait_us: 0.0,
            statement_cold_us: 0.0,
            statement_cools_us: 0.0,
            write_turning_us: 0.0,
        }
    }
}

impl CostSpec {
    /// Refuses unknown kinds and products, and figures that no machine has. Errors name fields below `field`.
    pub fn check(&self, field: &str) -> Result<()> {
        check_kinds(&format!("{field}.work_ns"), &self.work_ns, &Work::ALL)?;
        for (product, costs) in &self.calls {
            if Product::from_str(product).is_err() {
                return Err(Error::invalid(format!("{field}.calls"), product, Product::VARIANTS.join(", ")));
            }
            check_kinds(&format!("{field}.calls.{product}"), costs, Work::CALLS)?;
        }
        if !(0.01..=100.0).contains(&self.slowdown) {
            return Err(Error::invalid(format!("{field}.slowdown"), self.slowdown, "a factor from 0.01 to 100"));
        }
        for (name, us) in [
            ("statement_wait_us", self.statement_wait_us),
            ("statement_cold_us", self.statement_cold_us),
            ("statement_cools_us", self.statement_cools_us),
            ("write_turning_us", self.write_turning_us),
        ] {
            if !(0.0..=1e6).contains(&us) {
                return Err(Error::invalid(format!("{field}.{name}"), us, "microseconds from 0 to 1e6"));
            }
        }
        Ok(())
    }

    /// Whether the machine speaks for this product, and not for this core's own engines.
    pub fn speaks_for(&self, product: Product) -> bool {
        self.calls.contains_key(product.name())
    }

    /// What counts for a product on the machine: the kind's own figure; or else that of the product's call, or the
    /// default, slowed down.
    pub fn prices(&self, product: Product) -> Prices {
        let calls = self.calls.get(product.name());
        let unit_ns = Work::ALL.map(|work| {
            let call_ns = calls.and_then(|calls| calls.get(work.name())).copied();
            let named_ns = self.work_ns.get(work.name()).copied();
            named_ns.unwrap_or(call_ns.unwrap_or(work.default_ns()) * self.slowdown)
        });
        // A server's writers wait for more than their turns, and their statements' waits say of all of it.
        let turning_us = if product == Product::RocksDb { self.write_turning_us } else { 0.0 };
        Prices {
            unit_ns,
            statement_wait_ns: self.statement_wait_us * 1000.0,
            statement_cold_ns: self.statement_cold_us * 1000.0,
            statement_cools_ns: self.statement_cools_us * 1000.0,
            turning_ns: (turning_us * 1000.0) as u64,
        }
    }
}

fn check_kinds(field: &str, costs: &ByKind, kinds: &[Work]) -> Result<()> {
    for (name, cost) in costs {
        if !kinds.iter().any(|work| work.name() == name) {
            let known = kinds.iter().map(|work| work.name()).collect::<Vec<_>>().join(", ");
            return Err(Error::invalid(format!("{field}.{name}"), cost, known));
        }
        if !(0.0..1e9).contains(cost) {
            return Err(Error::invalid(format!("{field}.{name}"), cost, "nanoseconds from 0 to 1e9"));
        }
    }
    Ok(())
}

/// What each kind of work costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    /// Nanoseconds of a unit, in the order of [`Work::ALL`].
    pub unit_ns: [f64; Work::COUNT],
    /// Nanoseconds that pass in each round trip while neither client nor server computes.
    pub statement_wait_ns: f64,
    /// Nanoseconds that the client's part of a statement takes on top of a [`Work::RoundTrip`] where it is cold.
    pub statement_cold_ns: f64,
    /// Nanoseconds of the server's CPU time for a statement in which the client's part grows cold but for one part in
    /// e.
    pub statement_cools_ns: f64,
    /// Nanoseconds that a client whose turn has not come turns on its core before it offers that to others; 0 if it
    /// waits on none.
    pub turning_ns: u64,
}

impl Prices {
    /// Of work alone: nobody waits or grows cold.
    #[cfg(test)]
    pub fn of(unit_ns: [f64; Work::COUNT]) -> Self {
        Self { unit_ns, statement_wait_ns: 0.0, statement_cold_ns: 0.0, statement_cools_ns: 0.0, turning_ns: 0 }
    }

    /// What a client's part of a statement takes on top of a [`Work::RoundTrip`] after the server computed for
    /// `served_ns`: the caches of its core forget it in proportion to what they still have of it.
    pub fn cold_ns(&self, served_ns: f64) -> f64 {
        let left = if self.statement_cools_ns > 0.0 { libm::exp(-served_ns / self.statement_cools_ns) } else { 0.0 };
        self.statement_cold_ns * (1.0 - left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_own_figure_counts_first_then_the_products_call_then_the_default() {
        let calls = BTreeMap::from([("point_read".to_owned(), 500.0), ("commit".to_owned(), 70.0)]);
        let spec = CostSpec {
            work_ns: ByKind::from([("commit".to_owned(), 9.0)]),
            slowdown: 2.0,
            calls: BTreeMap::from([("innodb".to_owned(), calls)]),
            ..CostSpec::default()
        };
        spec.check("cost").unwrap();
        let of = |product, work| spec.prices(product).unit_ns[work as usize];
        assert_eq!(of(Product::InnoDb, Work::Commit), 9.0);
        assert_eq!(of(Product::InnoDb, Work::PointRead), 1000.0);
        assert_eq!(of(Product::RocksDb, Work::PointRead), 0.0);
        assert_eq!(of(Product::InnoDb, Work::Call), 2.0 * Work::Call.default_ns());
        let turning = CostSpec { write_turning_us: 1.5, ..CostSpec::default() };
        assert_eq!([Product::RocksDb, Product::InnoDb].map(|one| turning.prices(one).turning_ns), [1500, 0]);
        assert!(spec.speaks_for(Product::InnoDb) && !spec.speaks_for(Product::MyRocks));
    }

    #[test]
    fn the_client_of_a_statement_takes_longer_the_longer_the_server_computed() {
        let spec = CostSpec { statement_cold_us: 28.0, statement_cools_us: 60.0, ..CostSpec::default() };
        let prices = spec.prices(Product::InnoDb);
        let us = [0.0, 22e3, 60e3, 1e9].map(|served_ns| (prices.cold_ns(served_ns) / 100.0).round() / 10.0);
        assert_eq!(us, [0.0, 8.6, 17.7, 28.0]);
        let always_cold = CostSpec { statement_cools_us: 0.0, ..spec }.prices(Product::InnoDb);
        assert_eq!(always_cold.cold_ns(0.0), 28_000.0);
    }

    #[test]
    fn wrong_figures_are_named() {
        let told = |spec: CostSpec| spec.check("hardware.cost").unwrap_err().to_string();
        let one = |name: &str, ns| ByKind::from([(name.to_owned(), ns)]);
        let with_calls = |product: &str, costs| CostSpec {
            calls: BTreeMap::from([(product.to_owned(), costs)]),
            ..CostSpec::default()
        };
        for (spec, says) in [
            (CostSpec { work_ns: one("think", 1.0), ..CostSpec::default() }, "hardware.cost.work_ns.think: found 1"),
            (CostSpec { work_ns: one("call", -1.0), ..CostSpec::default() }, "hardware.cost.work_ns.call: found -1"),
            (
                with_calls("tokudb", ByKind::new()),
                "hardware.cost.calls: found tokudb, accepted: rocksdb, myrocks, innodb",
            ),
            (with_calls("innodb", one("call", 1.0)), "hardware.cost.calls.innodb.call: found 1"),
            (CostSpec { slowdown: 0.0, ..CostSpec::default() }, "hardware.cost.slowdown: found 0"),
            (CostSpec { statement_wait_us: -1.0, ..CostSpec::default() }, "hardware.cost.statement_wait_us: found -1"),
            (CostSpec { statement_cold_us: -1.0, ..CostSpec::default() }, "hardware.cost.statement_cold_us: found -1"),
            (
                CostSpec { statement_cools_us: -1.0, ..CostSpec::default() },
                "hardware.cost.statement_cools_us: found -1",
            ),
            (CostSpec { write_turning_us: -1.0, ..CostSpec::default() }, "hardware.cost.write_turning_us: found -1"),
        ] {
            let message = told(spec);
            assert!(message.starts_with(says), "{message}");
        }
    }
}

//! A machine by its figures: cores, what work costs on them, and a device.

use super::Work;
use super::simulation::World;
use crate::device::DeviceSpec;
use crate::error::{Error, Result};
use crate::product::Product;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A machine to simulate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwareSpec {
    /// Cores, hardware threads included.
    pub cores: usize,
    /// Nanoseconds per unit of work by the names of [`Work`]; absent ones take [`default_work_ns`].
    #[serde(default)]
    pub work_ns: BTreeMap<String, f64>,
    /// How much longer than [`default_work_ns`] work takes that `work_ns` does not name.
    #[serde(default = "no_slowdown")]
    pub slowdown: f64,
    /// Memory for the operating system's page cache.
    #[serde(default)]
    pub page_cache_bytes: u64,
    /// How many times larger the data is that this run's speak for. Its background jobs are as many, and so they stand for
    /// jobs that are so much larger.
    #[serde(default = "nothing_larger")]
    pub stands_for: f64,
    /// Microseconds of a statement during which neither its client nor its server computes, because the one that is spoken to
    /// has to be woken first.
    #[serde(default)]
    pub statement_wait_us: f64,
    /// Nanoseconds that a call of a real product takes beyond this core's own work, by the names of [`Product`] and of
    /// [`Work::CALLS`], where [`default_work_ns`] holds; `slowdown` counts for them too. Absent ones take nothing.
    #[serde(default)]
    pub calls: BTreeMap<String, BTreeMap<String, f64>>,
    /// Where the files are.
    pub device: DeviceSpec,
}

fn nothing_larger() -> f64 {
    1.0
}

fn no_slowdown() -> f64 {
    1.0
}

impl HardwareSpec {
    /// Reads a machine, naming the field that is wrong.
    pub fn from_json(value: &Value) -> Result<Self> {
        let spec: Self = serde_json::from_value(value.clone()).map_err(|e| {
            Error::invalid("hardware", "another shape", format!("cores, work_ns, page_cache_bytes, device ({e})"))
        })?;
        if spec.cores == 0 || spec.cores > 4096 {
            return Err(Error::invalid("hardware.cores", spec.cores, "a whole number from 1 to 4096"));
        }
        check_costs("hardware.work_ns", &spec.work_ns, &Work::ALL)?;
        for (product, costs) in &spec.calls {
            if !Product::ALL.iter().any(|known| known.name() == product) {
                let known = Product::ALL.map(Product::name).join(", ");
                return Err(Error::invalid("hardware.calls", product, known));
            }
            check_costs(&format!("hardware.calls.{product}"), costs, Work::CALLS)?;
        }
        if !(0.01..=100.0).contains(&spec.slowdown) {
            return Err(Error::invalid("hardware.slowdown", spec.slowdown, "a factor from 0.01 to 100"));
        }
        if !(1.0..=1e12).contains(&spec.stands_for) {
            return Err(Error::invalid("hardware.stands_for", spec.stands_for, "a factor from 1 to 1e12"));
        }
        if !(0.0..=1e6).contains(&spec.statement_wait_us) {
            let accepted = "microseconds from 0 to 1e6";
            return Err(Error::invalid("hardware.statement_wait_us", spec.statement_wait_us, accepted));
        }
        spec.device.check()?;
        Ok(spec)
    }

    /// Whether the machine speaks for this product, and not for this core's own engines.
    pub fn speaks_for(&self, product: Product) -> bool {
        self.calls.contains_key(product.name())
    }

    /// The idle machine, as a product on it has it.
    pub fn world(&self, product: Product) -> Result<World> {
        let calls = self.calls.get(product.name());
        let cost_ns = Work::ALL.map(|work| {
            let call_ns = calls.and_then(|calls| calls.get(work.name())).copied();
            let named_ns = self.work_ns.get(work.name()).copied();
            named_ns.unwrap_or(call_ns.unwrap_or(default_work_ns(work)) * self.slowdown)
        });
        let world = World::new(self.cores, cost_ns, self.device.build()?, self.stands_for);
        Ok(world.with_statement_wait(self.statement_wait_us * 1000.0))
    }
}

fn check_costs(field: &str, costs: &BTreeMap<String, f64>, kinds: &[Work]) -> Result<()> {
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

/// Nanoseconds per unit of work where a machine does not say. `tunebench doctor --calibrate` replaces them by figures of the
/// user's own CPU; these are rounded from calibrations on a virtual machine with two cores of an Intel Xeon of 2023 at
/// 2 GHz. Calls, comparisons, lookups, copies, pages and operations always come with other work there, so that a calibration
/// tells only their sum: how it is shared among them is an assumption. So is a sync: on that machine it took 60 microseconds
/// of CPU time, most of them for a virtual disk.
pub fn default_work_ns(work: Work) -> f64 {
    match work {
        Work::Call => 150.0,
        Work::Compare => 6.0,
        Work::MemtableStep => 20.0,
        Work::MemtableNext => 80.0,
        Work::CacheLookup => 10.0,
        Work::FilterProbe | Work::PageTouch => 50.0,
        Work::IteratorStep => 40.0,
        Work::Record | Work::CacheMiss => 12.0,
        Work::CopyByte | Work::StorageReadByte => 0.05,
        Work::ChecksumByte => 0.1,
        Work::CompressFastByte => 0.6,
        Work::CompressFastMatch => 30.0,
        Work::CompressZstdByte => 2.3,
        Work::CompressZstdBlock => 5_000.0,
        Work::CompressZlibByte => 7.0,
        Work::CompressZlibBlock => 23_000.0,
        Work::DecompressFastByte => 0.2,
        Work::DecompressZstdByte => 0.25,
        Work::DecompressZlibByte => 1.2,
        Work::DecompressZlibBlock => 4_000.0,
        Work::StorageCall => 1000.0,
        Work::StorageWrite => 300.0,
        Work::StorageSync => 10_000.0,
        Work::StorageWriteByte => 0.5,
        Work::Operation => 100.0,
        Work::TreeTransaction
        | Work::TreeChange
        | Work::Statement
        | Work::PointRead
        | Work::RangeStart
        | Work::RangeStep
        | Work::RowChange
        | Work::KeyChange
        | Work::Commit
        | Work::MemtableSwitch
        | Work::MergedEntry
        | Work::ZippedByte
        | Work::UnzippedByte
        | Work::MemoryMiss => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn data_stands_for_as_much_or_more() {
        let machine = |stands_for: f64| {
            let device = json!({"kind": "cloud_volume", "capacity_bytes": 1 << 30, "iops": 100.0, "mb_per_s": 10.0,
                "request_bytes": 4096, "read_latency_us": 1.0, "write_latency_us": 1.0});
            HardwareSpec::from_json(&json!({"cores": 1, "stands_for": stands_for, "device": device}))
        };
        assert_eq!(machine(1000.0).unwrap().stands_for.to_bits(), 1000f64.to_bits());
        let message = machine(0.5).unwrap_err().to_string();
        assert!(message.starts_with("hardware.stands_for: found 0.5"), "{message}");
    }
}

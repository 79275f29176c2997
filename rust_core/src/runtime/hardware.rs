//! A machine by its figures: cores, what work costs on them, and a device.

use super::Work;
use super::simulation::World;
use crate::device::DeviceSpec;
use crate::error::{Error, Result};
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
    /// Where the files are.
    pub device: DeviceSpec,
}

fn no_slowdown() -> f64 {
    1.0
}

impl HardwareSpec {
    /// Reads a machine, naming the field that is wrong.
    pub fn from_json(value: &Value) -> Result<Self> {
        let spec: Self = serde_json::from_value(value.clone())
            .map_err(|e| Error::invalid("hardware", "another shape", format!("cores, work_ns, device ({e})")))?;
        if spec.cores == 0 || spec.cores > 4096 {
            return Err(Error::invalid("hardware.cores", spec.cores, "a whole number from 1 to 4096"));
        }
        for (name, cost) in &spec.work_ns {
            if !Work::ALL.iter().any(|work| work.name() == name) {
                let known = Work::ALL.map(Work::name).join(", ");
                return Err(Error::invalid(format!("hardware.work_ns.{name}"), cost, known));
            }
            if !(0.0..1e9).contains(cost) {
                return Err(Error::invalid(format!("hardware.work_ns.{name}"), cost, "nanoseconds from 0 to 1e9"));
            }
        }
        if !(0.01..=100.0).contains(&spec.slowdown) {
            return Err(Error::invalid("hardware.slowdown", spec.slowdown, "a factor from 0.01 to 100"));
        }
        spec.device.check()?;
        Ok(spec)
    }

    /// The idle machine.
    pub fn world(&self) -> Result<World> {
        let cost_ns = Work::ALL
            .map(|work| self.work_ns.get(work.name()).copied().unwrap_or(default_work_ns(work) * self.slowdown));
        Ok(World::new(self.cores, cost_ns, self.device.build()?))
    }
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
        Work::CacheLookup => 10.0,
        Work::FilterProbe | Work::PageTouch => 50.0,
        Work::IteratorStep => 60.0,
        Work::Record | Work::CacheMiss => 12.0,
        Work::CopyByte | Work::StorageReadByte => 0.05,
        Work::ChecksumByte => 0.1,
        Work::CompressFastByte | Work::DecompressZstdByte => 1.2,
        Work::CompressZstdByte => 7.0,
        Work::CompressZlibByte => 12.5,
        Work::DecompressFastByte => 0.2,
        Work::DecompressZlibByte => 2.1,
        Work::StorageCall => 1000.0,
        Work::StorageWrite => 300.0,
        Work::StorageSync => 10_000.0,
        Work::StorageWriteByte => 0.5,
        Work::Operation => 100.0,
        Work::Statement => 0.0,
    }
}

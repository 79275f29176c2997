//! A machine by its figures: cores, what work costs on them, and a device.

use super::world::World;
use crate::cost::{CostSpec, Product};
use crate::device::DeviceSpec;
use crate::error::{Error, Result};
use crate::scale::Scale;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A machine to simulate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HardwareSpec {
    /// Cores, hardware threads included.
    pub cores: usize,
    /// What CPU work costs on them.
    #[serde(default)]
    pub cost: CostSpec,
    /// Memory for the operating system's page cache.
    #[serde(default)]
    pub page_cache_bytes: u64,
    /// Where the files are.
    pub device: DeviceSpec,
}

impl HardwareSpec {
    /// Reads a machine, naming the field that is wrong.
    pub fn from_json(value: &Value) -> Result<Self> {
        let spec: Self = serde_json::from_value(value.clone()).map_err(|e| {
            Error::invalid("hardware", "another shape", format!("cores, cost, page_cache_bytes, device ({e})"))
        })?;
        if spec.cores == 0 || spec.cores > 4096 {
            return Err(Error::invalid("hardware.cores", spec.cores, "a whole number from 1 to 4096"));
        }
        spec.cost.check("hardware.cost")?;
        spec.device.check()?;
        Ok(spec)
    }

    /// The idle machine, as a product on it has it, with data at this scale.
    pub fn world(&self, product: Product, scale: Scale) -> Result<World> {
        Ok(World::new(self.cores, self.cost.prices(product), self.device.build()?, scale))
    }
}

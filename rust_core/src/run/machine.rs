//! A machine by its figures: cores, what work costs on them, and a device.

use super::world::World;
use crate::cost::{CostSpec, Product};
use crate::device::DeviceSpec;
use crate::error::{Error, Result};
use crate::scale::Scale;
use serde::{Deserialize, Serialize};

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
    /// Refuses figures that no machine has.
    pub fn check(&self) -> Result<()> {
        if self.cores == 0 || self.cores > 4096 {
            return Err(Error::invalid("hardware.cores", self.cores, "a whole number from 1 to 4096"));
        }
        self.cost.check("hardware.cost")?;
        self.device.check()
    }

    /// The idle machine, as a product on it has it, with data at this scale.
    pub fn world(&self, product: Product, scale: Scale) -> Result<World> {
        Ok(World::new(self.cores, self.cost.prices(product), self.device.build()?, scale))
    }
}

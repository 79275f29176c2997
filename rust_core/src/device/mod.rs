//! What a device costs: queues, latency, bandwidth. A device keeps no bytes; it is told addresses and lengths, in virtual
//! time, and answers when the access is done.

pub mod cloud_volume;
pub mod disk_array;
pub mod flash;
pub mod translation;

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use cloud_volume::{CloudVolume, CloudVolumeSpec};
pub use disk_array::{DiskArray, DiskArraySpec};
pub use flash::{Flash, FlashSpec};

/// What a device counted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeviceStats {
    /// Bytes that the host read.
    pub read_bytes: u64,
    /// Bytes that the host wrote.
    pub written_bytes: u64,
    /// Bytes programmed into flash, garbage collection included; 0 where there is no flash.
    pub nand_bytes: u64,
    /// Erased superblocks.
    pub erases: u64,
    /// Time that all servers of the device spent serving.
    pub busy_ns: u64,
}

/// A block device in virtual time. All times are nanoseconds since the start of the run.
pub trait Device: Send {
    /// Reads, and returns when the data is there.
    fn read(&mut self, now_ns: u64, address: u64, bytes: u64) -> u64;
    /// Writes, and returns when the device acknowledges.
    fn write(&mut self, now_ns: u64, address: u64, bytes: u64) -> u64;
    /// Makes all acknowledged writes durable, and returns when they are.
    fn sync(&mut self, now_ns: u64) -> u64;
    /// A range holds no data any more.
    fn trim(&mut self, address: u64, bytes: u64);
    /// Counters.
    fn stats(&self) -> DeviceStats;
}

/// A device by its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DeviceSpec {
    /// Disks behind one stripe.
    DiskArray(DiskArraySpec),
    /// A flash device: SATA, PCIe or NVMe by its figures.
    Flash(FlashSpec),
    /// A network volume with limits.
    CloudVolume(CloudVolumeSpec),
}

impl DeviceSpec {
    /// Reads a spec, naming the field that is wrong.
    pub fn from_json(value: &Value) -> Result<Self> {
        serde_json::from_value(value.clone())
            .map_err(|e| Error::invalid("hardware.device", value, format!("a device ({e})")))
    }

    /// The idle device.
    pub fn build(&self) -> Result<Box<dyn Device>> {
        Ok(match self {
            Self::DiskArray(spec) => Box::new(DiskArray::new(spec.clone())),
            Self::Flash(spec) => Box::new(Flash::new(spec.clone())?),
            Self::CloudVolume(spec) => Box::new(CloudVolume::new(spec.clone())),
        })
    }
}

/// Nanoseconds that `bytes` take at `mb_per_s` (10^6 bytes per second).
pub(crate) fn transfer_ns(bytes: u64, mb_per_s: f64) -> u64 {
    (bytes as f64 * 1e3 / mb_per_s) as u64
}

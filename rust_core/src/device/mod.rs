//! What a device costs: queues, latency, bandwidth. A device keeps no bytes; it is told addresses and lengths, in
//! virtual time, and answers when the access is done.

mod alone;
pub mod cloud_volume;
pub mod disk_array;
pub mod flash;
pub mod seen;
pub mod translation;

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

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
    /// Bytes that the host said hold no data any more; 0 where nobody asks.
    pub trimmed_bytes: u64,
    /// Bytes programmed into flash, garbage collection included; 0 where there is no flash.
    pub nand_bytes: u64,
    /// Erased superblocks.
    pub erases: u64,
    /// Time that all servers of the device spent serving.
    pub busy_ns: u64,
}

impl DeviceStats {
    /// What it counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            read_bytes: self.read_bytes - earlier.read_bytes,
            written_bytes: self.written_bytes - earlier.written_bytes,
            trimmed_bytes: self.trimmed_bytes - earlier.trimmed_bytes,
            nand_bytes: self.nand_bytes - earlier.nand_bytes,
            erases: self.erases - earlier.erases,
            busy_ns: self.busy_ns - earlier.busy_ns,
        }
    }
}

/// What a device is asked to move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// Address on the device.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// The part of seek and rotation or of the round trip that it pays: 1, or less where it stands for part of a larger
    /// request. Where that one would be cut by stripes or counted in pieces, its bytes decide if they make more.
    pub latency_share: f64,
}

impl Request {
    /// A request that pays for all of itself.
    pub fn new(address: u64, bytes: u64) -> Self {
        Self { address, bytes, latency_share: 1.0 }
    }

    /// Its part of a latency.
    fn latency_ns(&self, full_us: f64) -> u64 {
        (full_us * 1e3 * self.latency_share) as u64
    }

    /// The part of the latency that `bytes` of it pay where a device cuts all requests into pieces of `piece_bytes`.
    fn share_of(&self, bytes: u64, piece_bytes: u64) -> f64 {
        self.latency_share.max(bytes as f64 / piece_bytes as f64).min(1.0)
    }
}

/// A block device in virtual time. All times are nanoseconds since the start of the run.
pub trait Device: Send {
    /// Reads, and returns when the data is there.
    fn read(&mut self, now_ns: u64, request: Request) -> u64;
    /// Writes, and returns when the device acknowledges.
    fn write(&mut self, now_ns: u64, request: Request) -> u64;
    /// Makes all acknowledged writes durable, and returns when they are. `share` is the part of a sync that it pays: 1,
    /// or less where it stands for part of one.
    fn sync(&mut self, now_ns: u64, share: f64) -> u64;
    /// A range holds no data any more.
    fn trim(&mut self, address: u64, bytes: u64);
    /// CPU time of a core that a read of these bytes which is given now takes; `None` where the cost of work says it,
    /// whatever is in flight.
    fn read_cpu_ns(&mut self, _now_ns: u64, _bytes: u64) -> Option<u64> {
        None
    }
    /// The same of a write that is queued beside others.
    fn queued_cpu_ns(&mut self, _now_ns: u64, _bytes: u64) -> Option<u64> {
        None
    }
    /// Bytes of a long transfer after which others get their turn.
    fn turn_bytes(&self) -> u64 {
        1 << 20
    }
    /// Counters.
    fn stats(&self) -> DeviceStats;
    /// A device in the same state, which goes its own way from here.
    fn fork(&self) -> Box<dyn Device>;
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
    /// Refuses figures that no device has.
    pub fn check(&self) -> Result<()> {
        let value = serde_json::to_value(self).unwrap_or_default();
        let figures = value.as_object().into_iter().flatten();
        let zero_is_fine = [
            "write_cache_bytes",
            "fullness",
            "over_provisioning",
            "sync_us",
            "min_seek_us",
            "program_us",
            "link_command_us",
            "read_spread",
        ];
        for (name, figure) in figures.filter(|(_, figure)| figure.is_number()) {
            let number = figure.as_f64().unwrap_or(f64::NAN);
            if !number.is_finite() || number < 0.0 || (number == 0.0 && !zero_is_fine.contains(&name.as_str())) {
                return Err(Error::invalid(format!("hardware.device.{name}"), figure, "a positive number"));
            }
        }
        match self {
            Self::Flash(spec) if spec.fullness >= 1.0 => {
                Err(Error::invalid("hardware.device.fullness", spec.fullness, "a share below 1"))
            }
            Self::Flash(spec) => spec.check_reads_in_flight(),
            _ => Ok(()),
        }
    }

    /// Bytes that files may take.
    pub fn free_bytes(&self) -> u64 {
        match self {
            Self::DiskArray(spec) => spec.capacity_bytes,
            Self::Flash(spec) => (spec.capacity_bytes as f64 * (1.0 - spec.fullness)) as u64,
            Self::CloudVolume(spec) => spec.capacity_bytes,
        }
    }

    /// Whether it is made of disks that turn.
    pub fn rotates(&self) -> bool {
        matches!(self, Self::DiskArray(_))
    }

    /// Bytes that the flash takes before it is rated to be worn out: program and erase cycles x its raw size. `None`
    /// without flash.
    pub fn endurance_bytes(&self) -> Option<f64> {
        match self {
            Self::Flash(spec) => Some(spec.rated_cycles * spec.capacity_bytes as f64 * (1.0 + spec.over_provisioning)),
            Self::DiskArray(_) | Self::CloudVolume(_) => None,
        }
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

//! A network volume: a limit of requests per second, a limit of bytes per second, and a round trip.

use super::{Device, DeviceStats, Request, transfer_ns};
use crate::task::queues::Server;
use serde::{Deserialize, Serialize};

/// Figures of a volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CloudVolumeSpec {
    /// Bytes of the volume.
    pub capacity_bytes: u64,
    /// Requests per second.
    pub iops: f64,
    /// MB per second.
    pub mb_per_s: f64,
    /// Largest request that counts as one.
    pub request_bytes: u64,
    /// Round trip of a read in microseconds.
    pub read_latency_us: f64,
    /// Round trip of a write in microseconds. An acknowledged write is durable.
    pub write_latency_us: f64,
}

/// A volume in virtual time.
#[derive(Clone)]
pub struct CloudVolume {
    spec: CloudVolumeSpec,
    requests: Server,
    bandwidth: Server,
    stats: DeviceStats,
}

impl CloudVolume {
    /// An idle volume.
    pub fn new(spec: CloudVolumeSpec) -> Self {
        Self { spec, requests: Server::default(), bandwidth: Server::default(), stats: DeviceStats::default() }
    }

    fn run(&mut self, now_ns: u64, request: Request, latency_us: f64) -> u64 {
        let (bytes, most) = (request.bytes, self.spec.request_bytes.max(1));
        let last = bytes % most;
        let requests = (bytes / most) as f64 + if last > 0 { request.share_of(last, most) } else { 0.0 };
        let admission = (requests.max(request.latency_share) * 1e9 / self.spec.iops) as u64;
        let transfer = transfer_ns(request.bytes, self.spec.mb_per_s);
        let start = self.requests.earliest(now_ns, admission);
        let admitted = self.requests.serve(start, admission);
        let start = self.bandwidth.earliest(now_ns, transfer);
        let transferred = self.bandwidth.serve(start, transfer);
        admitted.max(transferred) + request.latency_ns(latency_us)
    }
}

impl Device for CloudVolume {
    fn read(&mut self, now_ns: u64, request: Request) -> u64 {
        self.stats.read_bytes += request.bytes;
        self.run(now_ns, request, self.spec.read_latency_us)
    }

    fn write(&mut self, now_ns: u64, request: Request) -> u64 {
        self.stats.written_bytes += request.bytes;
        self.run(now_ns, request, self.spec.write_latency_us)
    }

    fn sync(&mut self, now_ns: u64, share: f64) -> u64 {
        now_ns + (self.spec.write_latency_us * 1e3 * share) as u64
    }

    fn trim(&mut self, _address: u64, _bytes: u64) {}

    fn fork(&self) -> Box<dyn Device> {
        Box::new(self.clone())
    }

    fn stats(&self) -> DeviceStats {
        DeviceStats { busy_ns: self.requests.busy_ns().max(self.bandwidth.busy_ns()), ..self.stats }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_limits_hold() {
        let spec = CloudVolumeSpec {
            capacity_bytes: 1 << 40,
            iops: 3000.0,
            mb_per_s: 125.0,
            request_bytes: 256 << 10,
            read_latency_us: 500.0,
            write_latency_us: 700.0,
        };
        let mut volume = CloudVolume::new(spec.clone());
        let small = (0..3000).map(|_| volume.read(0, Request::new(0, 4096))).max().unwrap_or(0);
        assert!((small as f64 / 1e9 - 1.0).abs() < 0.01, "{small}");
        let mut volume = CloudVolume::new(spec.clone());
        let part = |n: u64| Request { address: n << 16, bytes: 64 << 10, latency_share: 1.0 / 16.0 };
        let parts = (0..3000).map(|n| volume.read(0, part(n))).max().unwrap_or(0);
        let bytes_s = 3000.0 * 65_536.0 / 125e6;
        assert!(
            (parts as f64 / 1e9 - bytes_s).abs() < 0.01,
            "a quarter of a request each: bytes are the limit, {parts}"
        );
        let mut volume = CloudVolume::new(spec);
        let large = (0..125).map(|_| volume.write(0, Request::new(0, 1_000_000))).max().unwrap_or(0);
        assert!((large as f64 / 1e9 - 1.0).abs() < 0.01, "{large}");
    }
}

//! Disks behind RAID 0: each request goes to the disk of its stripe, where it pays seek and rotation unless it goes on
//! where the last one ended. A controller with a battery acknowledges writes into its cache and sorts them.

use super::{Device, DeviceStats, Request, transfer_ns};
use crate::task::queues::Pool;
use serde::{Deserialize, Serialize};

/// Figures of an array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskArraySpec {
    /// Number of spindles.
    pub disks: usize,
    /// Bytes of the array, which bound the seeks.
    pub capacity_bytes: u64,
    /// Bytes on one disk before the next one follows.
    pub stripe_bytes: u64,
    /// Full-stroke seek in microseconds; short seeks cost less, with the square root of the distance.
    pub max_seek_us: f64,
    /// Track-to-track seek in microseconds.
    pub min_seek_us: f64,
    /// Revolutions per minute.
    pub rpm: f64,
    /// Sequential transfer of one disk, MB/s.
    pub mb_per_s: f64,
    /// Bytes of battery-backed write cache; 0 for none.
    pub write_cache_bytes: u64,
}

/// Sorting many cached writes saves this share of seek and rotation: an elevator over a deep queue reaches 1.5 to 2
/// times the random writes per second of one request at a time.
const SORTED_WRITE_COST: f64 = 0.55;

/// Assumption: a controller answers from its cache in so many microseconds.
const CACHED_US: f64 = 50.0;

/// An array in virtual time.
#[derive(Clone)]
pub struct DiskArray {
    spec: DiskArraySpec,
    disks: Pool,
    heads: Vec<u64>,
    /// When the writes that the cache holds will all be on disk.
    drained_ns: u64,
    stats: DeviceStats,
}

impl DiskArray {
    /// An idle array.
    pub fn new(spec: DiskArraySpec) -> Self {
        let disks = spec.disks.max(1);
        Self { disks: Pool::new(disks), heads: vec![0; disks], drained_ns: 0, spec, stats: DeviceStats::default() }
    }

    /// Seek and rotation to `at` on a disk whose head is at `head`.
    fn position_ns(&self, head: u64, at: u64) -> u64 {
        if head == at {
            return 0;
        }
        let per_disk = (self.spec.capacity_bytes / self.heads.len() as u64).max(1);
        let distance = (head.abs_diff(at) as f64 / per_disk as f64).min(1.0);
        let seek_us = self.spec.min_seek_us + (self.spec.max_seek_us - self.spec.min_seek_us) * distance.sqrt();
        let half_turn_us = 30e6 / self.spec.rpm;
        ((seek_us + half_turn_us) * 1e3) as u64
    }

    /// Runs a request over its stripes and returns when the last part is done.
    fn run(&mut self, now_ns: u64, request: Request, position_cost: f64) -> u64 {
        let Request { address, bytes, .. } = request;
        let stripe = self.spec.stripe_bytes.max(4096);
        let (mut at, end, mut done) = (address, address + bytes, now_ns);
        while at < end {
            let part = (stripe - at % stripe).min(end - at);
            let number = at / stripe;
            let disk = (number % self.heads.len() as u64) as usize;
            let on_disk = number / self.heads.len() as u64 * stripe + at % stripe;
            let cost = position_cost * request.share_of(part, stripe);
            let position = self.position_ns(self.heads[disk], on_disk) as f64 * cost;
            let service = position as u64 + transfer_ns(part, self.spec.mb_per_s);
            self.heads[disk] = on_disk + part;
            let server = self.disks.server(disk);
            let start = server.earliest(now_ns, service);
            done = done.max(server.serve(start, service));
            at += part;
        }
        done
    }
}

impl Device for DiskArray {
    fn read(&mut self, now_ns: u64, request: Request) -> u64 {
        self.stats.read_bytes += request.bytes;
        self.run(now_ns, request, 1.0)
    }

    fn write(&mut self, now_ns: u64, request: Request) -> u64 {
        self.stats.written_bytes += request.bytes;
        if self.spec.write_cache_bytes == 0 {
            return self.run(now_ns, request, 1.0);
        }
        let done = self.run(now_ns, request, SORTED_WRITE_COST);
        self.drained_ns = self.drained_ns.max(done);
        // The cache hides the disks until it is full of what they have not yet written.
        let hidden = transfer_ns(self.spec.write_cache_bytes, self.spec.mb_per_s * self.heads.len() as f64 / 4.0);
        (now_ns + request.latency_ns(CACHED_US)).max(done.saturating_sub(hidden))
    }

    fn sync(&mut self, now_ns: u64, share: f64) -> u64 {
        // Without a cache, a journal commit behind the data costs one more turn of the platter.
        let full_us = if self.spec.write_cache_bytes > 0 { CACHED_US } else { 60e6 / self.spec.rpm };
        now_ns + (full_us * 1e3 * share) as u64
    }

    fn trim(&mut self, _address: u64, _bytes: u64) {}

    fn fork(&self) -> Box<dyn Device> {
        Box::new(self.clone())
    }

    fn stats(&self) -> DeviceStats {
        DeviceStats { busy_ns: self.disks.busy_ns(), ..self.stats }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(disks: usize) -> DiskArray {
        DiskArray::new(DiskArraySpec {
            disks,
            capacity_bytes: 1 << 40,
            stripe_bytes: 2 << 20,
            max_seek_us: 8000.0,
            min_seek_us: 500.0,
            rpm: 10_000.0,
            mb_per_s: 150.0,
            write_cache_bytes: 0,
        })
    }

    #[test]
    fn random_reads_of_one_disk_reach_100_to_200_per_second() {
        let (mut one, mut now) = (array(1), 0);
        for n in 0..100u64 {
            now = one.read(now, Request::new(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (1 << 40), 16384));
        }
        let per_second = 100.0 / (now as f64 / 1e9);
        assert!((100.0..200.0).contains(&per_second), "{per_second}");
    }

    #[test]
    fn random_page_writes_in_flight_reach_100_to_250_per_second_and_disk() {
        for (spread, least, most) in [(1 << 40, 100.0, 180.0), ((1u64 << 40) / 100, 180.0, 270.0)] {
            let mut many = array(14);
            let page = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % spread;
            let done = (0..5000u64).map(|n| many.write(0, Request::new(page(n), 16384))).max().unwrap_or(0);
            let of_a_disk = 5000.0 / 14.0 / (done as f64 / 1e9);
            assert!((least..most).contains(&of_a_disk), "{of_a_disk} over {spread} bytes");
        }
    }

    #[test]
    fn a_small_part_of_a_request_pays_its_part_of_the_seek_but_for_each_stripe() {
        let time = |bytes, latency_share| {
            let transfer = transfer_ns(bytes, 150.0);
            array(1).read(0, Request { address: 1 << 36, bytes, latency_share }) - transfer
        };
        assert!((time(16384, 0.25) * 4).abs_diff(time(16384, 1.0)) < 8);
        assert_eq!(time(2 << 20, 0.25), time(2 << 20, 1.0), "a whole stripe is a request of its own");
    }

    #[test]
    fn a_sequential_read_runs_at_the_transfer_rate() {
        let (mut one, mut now) = (array(1), 0);
        for n in 0..100u64 {
            now = one.read(now, Request::new(n << 20, 1 << 20));
        }
        let mb_per_s = 100.0 * 1.048_576 / (now as f64 / 1e9);
        assert!((mb_per_s - 150.0).abs() < 3.0, "{mb_per_s}");
    }
}

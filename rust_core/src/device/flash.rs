//! A flash device: channels that reads and programs share, a write buffer, and the translation layer beneath.

use super::alone::AloneSyncs;
use super::seen::{Between, Seen};
use super::translation::{MovedPages, Translation, Victim};
use super::{Device, DeviceStats, Request, transfer_ns};
use crate::error::{Error, Result};
use crate::random::Random;
use crate::task::queues::{Pool, Server};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Figures of a flash device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashSpec {
    /// Bytes that the host may address.
    pub capacity_bytes: u64,
    /// Spare share of the flash: physical bytes / addressable bytes - 1.
    pub over_provisioning: f64,
    /// Share of the capacity that holds other data, which stays valid.
    pub fullness: f64,
    /// Pages read or programmed at once: random reads per second = channels / read latency.
    pub channels: usize,
    /// A random page read, in microseconds.
    pub read_latency_us: f64,
    /// How long reads were seen to take, by their bytes and how many were in flight. Empty for a drive of which only
    /// the channels hold reads back.
    #[serde(default)]
    pub read_us_in_flight: Seen,
    /// CPU time of a core that such a read takes: the way through the operating system and back. To tell a virtual
    /// drive of a read takes an exit from the virtual machine, but not while it is at work on others. Empty for a drive
    /// of which one figure says it (`storage_wait` of the cost of work).
    #[serde(default)]
    pub read_cpu_us_in_flight: Seen,
    /// Standard deviation of the logarithm of what reads take, about those means; 0 for a drive of which that is not
    /// known, whose reads all take the same.
    #[serde(default)]
    pub read_spread: f64,
    /// Bytes of a long transfer that a short one waits for which comes during it.
    #[serde(default = "usual_turn_bytes")]
    pub turn_bytes: u64,
    /// Programming a page, in microseconds, during which its die serves no read; 0 for dies that interrupt it for
    /// reads.
    #[serde(default)]
    pub program_us: f64,
    /// Acknowledgement of a buffered write, in microseconds.
    pub write_latency_us: f64,
    /// A sync, in microseconds: little with power-loss protection.
    pub sync_us: f64,
    /// Whether a sync waits for all that the drive has and holds all that follows, as on SATA.
    #[serde(default)]
    pub sync_alone: bool,
    /// Sequential read, MB/s.
    pub read_mb_per_s: f64,
    /// Sequential write without garbage collection, MB/s.
    pub write_mb_per_s: f64,
    /// Reads and writes together, MB/s: the link.
    pub link_mb_per_s: f64,
    /// What each command takes of the link beside its bytes, in microseconds.
    #[serde(default)]
    pub link_command_us: f64,
    /// Bytes of write buffer.
    pub buffer_bytes: u64,
    /// Mapping unit in bytes.
    pub page_bytes: u64,
    /// Bytes erased together.
    pub superblock_bytes: u64,
    /// How garbage collection picks.
    pub victim: Victim,
    /// Where garbage collection writes what it moves.
    pub moved_pages: MovedPages,
    /// Rated program and erase cycles, for the years that the drive lasts.
    pub rated_cycles: f64,
}

impl FlashSpec {
    /// Refuses figures of reads in flight that no drive has.
    pub(super) fn check_reads_in_flight(&self) -> Result<()> {
        self.read_us_in_flight.check("read_us_in_flight", Between::Depths)?;
        self.read_cpu_us_in_flight.check("read_cpu_us_in_flight", Between::Doublings)
    }

    /// What a read takes where that was seen: of one that is larger than those that were, the rest follows at the read
    /// rate.
    fn seen_us(&self, bytes: u64, in_flight: f64) -> Option<f64> {
        let us = self.read_us_in_flight.us(bytes, in_flight, Between::Depths)?;
        let rest = bytes.saturating_sub(self.read_us_in_flight.most_bytes());
        Some(us + transfer_ns(rest, self.read_mb_per_s) as f64 / 1e3)
    }

    /// Whether reads of such a size were seen.
    fn saw(&self, bytes: u64) -> bool {
        bytes <= self.read_us_in_flight.most_bytes()
    }

    /// How many reads a write in flight holds the others up for as much as: as the drive writes faster than it reads.
    fn write_weight(&self) -> f64 {
        (self.read_mb_per_s / self.write_mb_per_s).min(1.0)
    }

    /// What one read takes over the mean of all.
    fn varied(&self, random: &mut Random) -> f64 {
        let spread = self.read_spread;
        if spread > 0.0 { libm::exp(spread * (random.gaussian() - spread / 2.0)) } else { 1.0 }
    }

    /// Bytes that one channel moves in one piece, and that a die programs at once: a page of each of its planes.
    fn piece_bytes(&self) -> u64 {
        self.page_bytes.max(PIECE_BYTES)
    }
}

/// The dies behind the channels: as many as program at the device's rate. A page is read from the die that has it,
/// which may be programming another.
#[derive(Debug, Clone, Default)]
struct Dies {
    /// When each will have programmed all that it was given.
    busy_until_ns: Vec<u64>,
    next: usize,
    program_ns: u64,
    page_bytes: u64,
    /// Bytes that wait until they fill a page.
    partial_bytes: u64,
}

impl Dies {
    fn new(spec: &FlashSpec) -> Self {
        let (program_ns, page_bytes) = ((spec.program_us * 1e3) as u64, spec.piece_bytes());
        let count = (spec.write_mb_per_s * spec.program_us / page_bytes as f64).ceil() as usize;
        Self { busy_until_ns: vec![0; count], program_ns, page_bytes, ..Self::default() }
    }

    /// Programs full pages of these bytes, on one die after the other.
    fn program(&mut self, now_ns: u64, bytes: u64) {
        if self.busy_until_ns.is_empty() {
            return;
        }
        let bytes = self.partial_bytes + bytes;
        self.partial_bytes = bytes % self.page_bytes;
        for _ in 0..bytes / self.page_bytes {
            let busy = &mut self.busy_until_ns[self.next];
            *busy = now_ns.max(*busy) + self.program_ns;
            self.next = (self.next + 1) % self.busy_until_ns.len();
        }
    }

    /// How long a read waits for its dies.
    fn read_wait_ns(&self, now_ns: u64, request: Request) -> u64 {
        if self.busy_until_ns.is_empty() {
            return 0;
        }
        // The request that it is a part of meets as many more dies.
        let first = request.address / self.page_bytes;
        let pages = (request.address + request.bytes).div_ceil(self.page_bytes) - first;
        let whole = (pages as f64 / request.latency_share.max(0.01)).ceil() as u64;
        let longest = (first..first + whole).map(|page| self.wait_ns(now_ns, page)).max();
        (longest.unwrap_or(0) as f64 * request.latency_share) as u64
    }

    /// How long a read of the page with this number waits: until its die is through with the page that it programs now.
    /// Where the translation layer put the page is as good as random.
    fn wait_ns(&self, now_ns: u64, page: u64) -> u64 {
        let die = page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let busy_until_ns = self.busy_until_ns[die as usize % self.busy_until_ns.len()];
        busy_until_ns.saturating_sub(now_ns) % self.program_ns
    }
}

/// Requests that a drive is at work on whose reads were seen by how many there are.
#[derive(Debug, Clone, Default)]
struct InFlight {
    /// When each ends, and its weight in [`InFlight::UNITS`].
    ends: BinaryHeap<Reverse<(u64, u64)>>,
    units: u64,
}

impl InFlight {
    /// Of the weight of a read.
    const UNITS: f64 = 1024.0;

    /// The weight of those that are still in flight at `now_ns`, in reads.
    fn until(&mut self, now_ns: u64) -> f64 {
        while let Some(&Reverse((end_ns, units))) = self.ends.peek()
            && end_ns <= now_ns
        {
            self.ends.pop();
            self.units -= units;
        }
        self.units as f64 / Self::UNITS
    }

    fn push(&mut self, end_ns: u64, weight: f64) {
        let units = (weight * Self::UNITS) as u64;
        self.ends.push(Reverse((end_ns, units)));
        self.units += units;
    }
}

/// A flash device in virtual time.
#[derive(Clone)]
pub struct Flash {
    spec: FlashSpec,
    channels: Pool,
    dies: Dies,
    reads: InFlight,
    /// Writes no larger than the reads that were seen.
    writes: InFlight,
    /// What all reads leave by, at the read rate.
    outlet: Server,
    link: Server,
    alone: Option<AloneSyncs>,
    /// When the write buffer will be empty.
    drained_ns: u64,
    translation: Translation,
    stats: DeviceStats,
    random: Random,
}

impl Flash {
    /// An idle device; `fullness` of it was written before.
    pub fn new(spec: FlashSpec) -> Result<Self> {
        let logical = (spec.capacity_bytes / spec.page_bytes) as u32;
        let superblock = (spec.superblock_bytes / spec.page_bytes).max(1) as u32;
        let physical = (f64::from(logical) * (1.0 + spec.over_provisioning)) as u32;
        let built = Translation::new(logical, physical, superblock, (spec.victim, spec.moved_pages));
        let Some(mut translation) = built else {
            let accepted = "more spare than four superblocks, or smaller superblocks";
            return Err(Error::invalid("hardware.device.over_provisioning", spec.over_provisioning, accepted));
        };
        // What is already on the device lies at its end; files are placed from its beginning.
        let others = (f64::from(logical) * spec.fullness) as u32;
        (logical - others..logical).for_each(|page| translation.write(page));
        Ok(Self {
            channels: Pool::new(spec.channels),
            dies: Dies::new(&spec),
            reads: InFlight::default(),
            writes: InFlight::default(),
            outlet: Server::default(),
            link: Server::default(),
            alone: spec.sync_alone.then(AloneSyncs::default),
            drained_ns: 0,
            translation,
            stats: DeviceStats::default(),
            random: Random::from_seed(0),
            spec,
        })
    }

    fn pages(&self, address: u64, bytes: u64) -> std::ops::Range<u32> {
        let logical = u64::from(self.translation.logical_pages());
        let first = (address / self.spec.page_bytes).min(logical);
        let last = (address + bytes).div_ceil(self.spec.page_bytes).min(logical);
        first as u32..last as u32
    }

    fn on_link(&mut self, now_ns: u64, request: Request) -> u64 {
        let service = self.link_ns(request.bytes, request);
        self.link.fill(now_ns, service)
    }

    fn link_ns(&self, bytes: u64, request: Request) -> u64 {
        transfer_ns(bytes, self.spec.link_mb_per_s) + request.latency_ns(self.spec.link_command_us)
    }

    /// Spreads pieces of `service_ns` over the channels; returns when the first and when the last of them is done.
    fn on_channels(&mut self, now_ns: u64, pieces: u64, service_ns: u64) -> (u64, u64) {
        // Pieces beyond one per channel follow one another; handing them out in rounds keeps the cost of a large
        // request low.
        let lanes = pieces.min(self.channels.len() as u64).max(1);
        let (mut first_ns, mut last_ns) = (u64::MAX, now_ns);
        for lane in 0..lanes {
            let share = pieces / lanes + u64::from(lane < pieces % lanes);
            let done = self.channels.serve(now_ns, share * service_ns);
            first_ns = first_ns.min(done - share.saturating_sub(1) * service_ns);
            last_ns = last_ns.max(done);
        }
        (first_ns, last_ns)
    }

    /// Gives a command to the drive, when that takes it.
    fn given(&mut self, now_ns: u64, request: Request, run: impl FnOnce(&mut Self, u64, Request) -> u64) -> u64 {
        let begin_ns = self.alone.as_ref().map_or(now_ns, |alone| alone.earliest(now_ns));
        let end_ns = run(self, begin_ns, request);
        if let Some(alone) = &mut self.alone {
            alone.note(begin_ns, end_ns);
        }
        end_ns
    }

    /// All pages of a request are read at once, each by a channel of its own as long as there are idle ones, and their
    /// data leaves the drive at its rate, from the first page on.
    fn read_now(&mut self, now_ns: u64, request: Request) -> u64 {
        let (piece, bytes) = (self.spec.piece_bytes(), request.bytes);
        self.stats.read_bytes += bytes;
        let in_flight = self.in_flight(now_ns, bytes);
        let seen_us = self.spec.seen_us(bytes, in_flight);
        let mean_us = seen_us.unwrap_or(self.spec.read_latency_us);
        let latency_ns = request.latency_ns(mean_us * self.spec.varied(&mut self.random));
        let now_ns = now_ns + self.dies.read_wait_ns(now_ns, request);
        if seen_us.is_some() {
            // What was seen has in it what they wait for within the drive, but for its rate.
            let moved_ns = transfer_ns(bytes, self.spec.read_mb_per_s);
            let begin_ns = now_ns + latency_ns.saturating_sub(moved_ns);
            let read_ns = self.outlet.fill(begin_ns, moved_ns);
            let end_ns = read_ns.max(now_ns + latency_ns).max(self.on_link(begin_ns, request));
            self.reads.push(end_ns, 1.0);
            return end_ns;
        }
        let full_ns = (self.spec.read_latency_us * 1e3) as u64;
        let channel_mb_per_s = self.spec.read_mb_per_s / self.channels.len() as f64;
        let busy_ns = full_ns.min(transfer_ns(bytes.min(piece), channel_mb_per_s));
        let (first_ns, last_ns) = if bytes <= piece {
            let needed_ns = latency_ns.max(busy_ns);
            let sensed_ns = self.channels.serve(now_ns, needed_ns);
            (sensed_ns, sensed_ns)
        } else {
            let (first_ns, last_ns) = self.on_channels(now_ns, bytes.div_ceil(piece), busy_ns);
            (first_ns.max(now_ns + latency_ns), last_ns)
        };
        // The latency is that of a short read, with its transfer.
        let begin_ns = first_ns.saturating_sub(self.transferred_ns(bytes.min(SHORT_READ_BYTES), request)).max(now_ns);
        let read_ns = self.outlet.fill(begin_ns, transfer_ns(bytes, self.spec.read_mb_per_s));
        let end_ns = first_ns.max(last_ns).max(read_ns).max(self.on_link(begin_ns, request));
        if !self.spec.read_cpu_us_in_flight.is_empty() {
            self.reads.push(end_ns, 1.0);
        }
        end_ns
    }

    fn cpu_ns(&self, bytes: u64, in_flight: f64) -> Option<u64> {
        let us = self.spec.read_cpu_us_in_flight.us(bytes, in_flight, Between::Doublings)?;
        Some((us * 1e3) as u64)
    }

    /// How many reads a request that is given now has for company, itself counted. One larger than those that were seen
    /// meets the writes on the link, where they share the rate.
    fn in_flight(&mut self, now_ns: u64, bytes: u64) -> f64 {
        let writes = if self.spec.saw(bytes) { self.writes.until(now_ns) } else { 0.0 };
        1.0 + self.reads.until(now_ns) + writes
    }

    /// What a write waits for those in flight with it: as long as a read of its size.
    fn waited_us(&mut self, now_ns: u64, bytes: u64) -> f64 {
        if !self.spec.saw(bytes) {
            return 0.0;
        }
        let in_flight = self.in_flight(now_ns, bytes);
        let us = |in_flight| self.spec.seen_us(bytes, in_flight);
        us(in_flight).zip(us(1.0)).map_or(0.0, |(among_them, alone)| among_them - alone)
    }

    /// How long so many bytes of a request leave an idle drive.
    fn transferred_ns(&self, bytes: u64, request: Request) -> u64 {
        self.link_ns(bytes, request).max(transfer_ns(bytes, self.spec.read_mb_per_s))
    }

    fn write_now(&mut self, now_ns: u64, request: Request) -> u64 {
        let Request { address, bytes, .. } = request;
        self.stats.written_bytes += bytes;
        let before = self.translation.moved_pages;
        for page in self.pages(address, bytes) {
            self.translation.write(page);
        }
        let moved = (self.translation.moved_pages - before) * self.spec.page_bytes;
        // Moving a page reads and programs it; the read is about a fifth of the pair.
        let programmed = bytes as f64 + moved as f64 * 1.25;
        let piece = self.spec.piece_bytes();
        let channel_mb_per_s = self.spec.write_mb_per_s / self.channels.len() as f64;
        let pieces = ((programmed / piece as f64).ceil() as u64).max(1);
        let service = (programmed * 1e3 / channel_mb_per_s / pieces as f64) as u64;
        self.dies.program(now_ns, bytes + moved);
        let (_, programmed_ns) = self.on_channels(now_ns, pieces, service);
        self.drained_ns = self.drained_ns.max(programmed_ns);
        let hidden = transfer_ns(self.spec.buffer_bytes, self.spec.write_mb_per_s);
        let linked = self.on_link(now_ns, request);
        let waited_us = self.waited_us(now_ns, bytes);
        let latency_ns = request.latency_ns(self.spec.write_latency_us + waited_us);
        let end_ns = (now_ns + latency_ns).max(linked).max(programmed_ns.saturating_sub(hidden));
        if self.spec.saw(bytes) {
            self.writes.push(end_ns, self.spec.write_weight() * request.latency_share);
        }
        end_ns
    }
}

/// Two planes of pages of 8 KiB.
const PIECE_BYTES: u64 = 16 << 10;

/// Data sheets give the latency of a random read of so many bytes.
const SHORT_READ_BYTES: u64 = 4 << 10;

/// Where nobody measured it. A flash device works on many commands at once and interleaves their data: a short read
/// never waits for a long write as a whole. Assumption: pieces of 128 KiB, what drivers usually tell the operating
/// system to prefer at most.
fn usual_turn_bytes() -> u64 {
    128 << 10
}

impl Device for Flash {
    fn read_cpu_ns(&mut self, now_ns: u64, bytes: u64) -> Option<u64> {
        let in_flight = 1.0 + self.reads.until(now_ns);
        self.cpu_ns(bytes, in_flight)
    }

    /// As of a read: the operating system gives either to the drive and hears of its end in the same way, of several at
    /// once where many are in flight.
    fn queued_cpu_ns(&mut self, now_ns: u64, bytes: u64) -> Option<u64> {
        let in_flight = 1.0 + self.reads.until(now_ns) + self.writes.until(now_ns);
        self.cpu_ns(bytes, in_flight)
    }

    fn turn_bytes(&self) -> u64 {
        self.spec.turn_bytes
    }

    fn read(&mut self, now_ns: u64, request: Request) -> u64 {
        self.given(now_ns, request, Self::read_now)
    }

    fn write(&mut self, now_ns: u64, request: Request) -> u64 {
        self.given(now_ns, request, Self::write_now)
    }

    fn sync(&mut self, now_ns: u64, share: f64) -> u64 {
        let service_ns = (self.spec.sync_us * 1e3) as u64;
        match &mut self.alone {
            Some(alone) => alone.sync(now_ns, service_ns, share),
            None => now_ns + (service_ns as f64 * share) as u64,
        }
    }

    fn trim(&mut self, address: u64, bytes: u64) {
        self.stats.trimmed_bytes += bytes;
        let pages = self.pages(address + self.spec.page_bytes - 1, bytes.saturating_sub(self.spec.page_bytes - 1));
        for page in pages {
            self.translation.trim(page);
        }
    }

    /// A page that the host writes in part counts by that part. What else the file system would put into its block is
    /// not among the written bytes either: in a smaller copy, whose files have few blocks, it would weigh as it never
    /// does at full size.
    fn fork(&self) -> Box<dyn Device> {
        Box::new(self.clone())
    }

    fn stats(&self) -> DeviceStats {
        DeviceStats {
            nand_bytes: self.stats.written_bytes + self.translation.moved_pages * self.spec.page_bytes,
            erases: self.translation.erases,
            busy_ns: self.channels.busy_ns(),
            ..self.stats
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::DeviceSpec;
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn spec() -> FlashSpec {
        FlashSpec {
            capacity_bytes: 1 << 30,
            over_provisioning: 0.28,
            fullness: 0.0,
            channels: 32,
            read_latency_us: 100.0,
            read_us_in_flight: Seen::default(),
            read_cpu_us_in_flight: Seen::default(),
            read_spread: 0.0,
            turn_bytes: usual_turn_bytes(),
            program_us: 0.0,
            write_latency_us: 20.0,
            sync_us: 20.0,
            sync_alone: false,
            read_mb_per_s: 2000.0,
            write_mb_per_s: 1000.0,
            link_mb_per_s: 3000.0,
            link_command_us: 0.0,
            buffer_bytes: 1 << 20,
            page_bytes: 4096,
            superblock_bytes: 8 << 20,
            victim: Victim::Greedy,
            moved_pages: MovedPages::Apart,
            rated_cycles: 3000.0,
        }
    }

    #[test]
    fn random_reads_reach_channels_over_latency() {
        let mut flash = Flash::new(spec()).unwrap();
        let last = (0..32_000u64).map(|n| flash.read(n * 3125, Request::new(n * 16384, 4096))).max().unwrap();
        assert!((last as f64 / 1e9 - 0.1).abs() < 0.01, "{last}");
    }

    #[test]
    fn reads_take_as_long_as_they_were_seen_to_by_how_many_are_in_flight() {
        let read_us_in_flight = Seen(vec![(4096.0, 1.0, 100.0), (4096.0, 4.0, 160.0), (4096.0, 16.0, 320.0)]);
        let drive = FlashSpec { channels: 64, read_us_in_flight, read_mb_per_s: 1e6, link_mb_per_s: 1e6, ..spec() };
        for (clients, us) in [(1, 100.0), (2, 120.0), (4, 160.0), (16, 320.0), (32, 640.0)] {
            let mut flash = Flash::new(drive.clone()).unwrap();
            let mut ends = BinaryHeap::from(vec![Reverse(0u64); clients]);
            for _ in 0..2_000 {
                let Reverse(now_ns) = ends.pop().unwrap();
                ends.push(Reverse(flash.read(now_ns, Request::new(0, 4096))));
            }
            let last_us = ends.into_sorted_vec()[0].0 as f64 / 1e3;
            let mean_us = last_us * clients as f64 / 2_000.0;
            assert!((mean_us / us - 1.0).abs() < 0.05, "{clients} in flight: {mean_us} us, not {us}");
        }
    }

    #[test]
    fn reads_and_writes_in_flight_hold_one_another_up_by_what_they_take_of_the_drive() {
        let read_us_in_flight = Seen(vec![(4096.0, 1.0, 100.0), (4096.0, 3.0, 160.0)]);
        let spec = FlashSpec {
            read_us_in_flight,
            read_mb_per_s: 1e6,
            write_mb_per_s: 2e6,
            link_mb_per_s: 1e6,
            write_latency_us: 50.0,
            ..spec()
        };
        let request = |n: u64| Request::new(n << 20, 4096);
        let mut drive = Flash::new(spec).unwrap();
        assert_eq!(drive.write(0, request(0)) / 1000, 50);
        assert_eq!(drive.write(0, request(1)) / 1000, 65, "half a read is in flight with it");
        assert_eq!(drive.read(0, request(2)) / 1000, 130, "a whole one");
        assert_eq!(drive.write(0, request(3)) / 1000, 110, "two");
        assert_eq!(drive.read(200_000, request(4)) / 1000, 300, "all are done");
    }

    #[test]
    fn a_read_takes_less_of_a_core_the_more_are_in_flight() {
        let read_cpu_us_in_flight = Seen(vec![(4096.0, 1.0, 40.0), (4096.0, 4.0, 20.0), (4096.0, 16.0, 8.0)]);
        let drive = FlashSpec { read_cpu_us_in_flight, channels: 64, ..spec() };
        for (others, us) in [(0, 40.0), (1, 30.0), (3, 20.0), (7, 14.0), (31, 8.0)] {
            let mut flash = Flash::new(drive.clone()).unwrap();
            (0..others).for_each(|_| _ = flash.read(0, Request::new(0, 4096)));
            let cpu_us = flash.read_cpu_ns(1, 4096).unwrap() as f64 / 1e3;
            assert!((cpu_us - us).abs() < 0.01, "beside {others}: {cpu_us} us, not {us}");
            assert_eq!(flash.read_cpu_ns(1 << 40, 4096), Some(40_000), "all have ended");
        }
        assert_eq!(Flash::new(spec()).unwrap().read_cpu_ns(0, 4096), None);
    }

    #[test]
    fn a_write_that_is_queued_takes_less_of_a_core_among_others_too() {
        let read_cpu_us_in_flight = Seen(vec![(4096.0, 1.0, 40.0), (4096.0, 4.0, 20.0), (4096.0, 16.0, 8.0)]);
        let read_us_in_flight = Seen(vec![(4096.0, 1.0, 100.0), (4096.0, 16.0, 160.0)]);
        let drive = FlashSpec { read_cpu_us_in_flight, read_us_in_flight, channels: 64, ..spec() };
        let mut flash = Flash::new(drive).unwrap();
        assert_eq!(flash.queued_cpu_ns(0, 4096), Some(40_000));
        (0..60).for_each(|n| _ = flash.write(0, Request::new(n << 20, 4096)));
        assert_eq!(flash.queued_cpu_ns(1, 4096), Some(8_000));
        assert_eq!(flash.read_cpu_ns(1, 4096), Some(40_000), "no read is in flight");
    }

    #[test]
    fn larger_reads_take_what_those_of_their_size_were_seen_to_and_share_the_rate() {
        let rows = vec![(4096.0, 1.0, 100.0), (65536.0, 1.0, 160.0), (65536.0, 64.0, 161.0)];
        let drive = FlashSpec { read_us_in_flight: Seen(rows), read_mb_per_s: 1000.0, ..spec() };
        let took_us = |bytes| Flash::new(drive.clone()).unwrap().read(0, Request::new(0, bytes)) as f64 / 1e3;
        assert_eq!((took_us(4096), took_us(34_816), took_us(65_536)), (100.0, 130.0, 160.0));
        assert_eq!(took_us(1_065_536), 1160.0, "a million bytes more at 1,000 MB/s");
        let mut flash = Flash::new(drive.clone()).unwrap();
        let last_ns = (0..1000).map(|n| flash.read(0, Request::new(n << 16, 65_536))).max().unwrap();
        assert!((last_ns as f64 / 65_536e3 - 1.0).abs() < 0.05, "{last_ns}");
    }

    #[test]
    fn reads_spread_about_the_mean() {
        let mut flash = Flash::new(FlashSpec { read_spread: 0.3, ..spec() }).unwrap();
        let mut took_us: Vec<f64> = (0..20_000u64)
            .map(|n| (flash.read(n * 1_000_000, Request::new(0, 4096)) - n * 1_000_000) as f64 / 1e3)
            .collect();
        took_us.sort_by(f64::total_cmp);
        let mean_us = took_us.iter().sum::<f64>() / took_us.len() as f64;
        let quantile = |part: f64| took_us[(took_us.len() as f64 * part) as usize];
        assert!((mean_us / 100.0 - 1.0).abs() < 0.02, "{mean_us}");
        // 2.326 standard deviations are the 99th percentile of a normal distribution.
        assert!((quantile(0.99) / quantile(0.5) / libm::exp(0.3 * 2.326) - 1.0).abs() < 0.05, "{}", quantile(0.99));
    }

    #[test]
    fn a_larger_read_takes_as_much_longer_as_its_bytes_take_to_leave() {
        for (channels, bytes) in [32, 7].into_iter().flat_map(|n| (1..=256).map(move |kib| (n, kib << 10))) {
            let mut idle = Flash::new(FlashSpec { channels, ..spec() }).unwrap();
            let took_us = idle.read(0, Request::new(0, bytes)) as f64 / 1e3;
            let expected = (100.0 + (bytes as f64 - 4096.0) / 2000.0).max(100.0);
            assert!((took_us - expected).abs() < 0.1, "{channels}, {bytes}: {took_us}");
        }
    }

    #[test]
    fn large_reads_in_flight_reach_the_read_rate() {
        for bytes in [32u64 << 10, 128 << 10, 1 << 20] {
            let (mut flash, count) = (Flash::new(spec()).unwrap(), (256 << 20) / bytes);
            let last = (0..count).map(|n| flash.read(0, Request::new(n * bytes, bytes))).max().unwrap();
            let mb_per_s = (count * bytes) as f64 * 1e3 / last as f64;
            assert!((mb_per_s / 2000.0 - 1.0).abs() < 0.01, "{bytes}: {mb_per_s}");
        }
    }

    #[test]
    fn commands_take_time_of_the_link_beside_their_bytes() {
        let per_second = |bytes: u64| {
            let sata = FlashSpec { channels: 64, link_mb_per_s: 520.0, link_command_us: 2.4, ..spec() };
            let mut flash = Flash::new(sata).unwrap();
            let last = (0..20_000u64).map(|_| flash.read(0, Request::new(0, bytes))).max().unwrap();
            20_000.0 / (last as f64 / 1e9)
        };
        assert!((per_second(4096) / 97_300.0 - 1.0).abs() < 0.01, "{}", per_second(4096));
        assert!((per_second(16_384) / 29_500.0 - 1.0).abs() < 0.01, "{}", per_second(16_384));
    }

    #[test]
    fn sequential_writes_run_at_the_write_rate() {
        let (mut flash, mut now) = (Flash::new(spec()).unwrap(), 0);
        for n in 0..500u64 {
            now = flash.write(now, Request::new(n << 20, 1 << 20));
        }
        let mb_per_s = 500.0 * 1.048_576 / (now as f64 / 1e9);
        assert!((mb_per_s / 1000.0 - 1.0).abs() < 0.05, "{mb_per_s}");
    }

    /// Write amplification of random page writes into the first quarter of the device, which is rewritten a few times.
    fn waf_at(fullness: f64) -> f64 {
        let small = FlashSpec { capacity_bytes: 64 << 20, superblock_bytes: 512 << 10, fullness, ..spec() };
        let mut flash = Flash::new(small).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for _ in 0..50_000 {
            flash.write(0, Request::new(random.random_range(0..4096) * 4096, 4096));
        }
        let stats = flash.stats();
        stats.nand_bytes as f64 / stats.written_bytes as f64
    }

    #[test]
    fn a_fuller_device_writes_more_for_the_same_bytes() {
        let (empty, half, full) = (waf_at(0.0), waf_at(0.4), waf_at(0.75));
        assert!(empty < 1.05 && half > empty && full > half + 0.1, "{empty}, {half}, {full}");
    }

    #[test]
    fn files_that_end_within_a_page_amplify_nothing() {
        let mut flash = Flash::new(spec()).unwrap();
        for file in 0..1000u64 {
            flash.write(0, Request::new(file * 20_480, 17_000));
            flash.trim(file * 20_480, 20_480);
        }
        let stats = flash.stats();
        assert_eq!((stats.written_bytes, stats.nand_bytes), (17_000_000, 17_000_000));
    }

    /// A device that is 70% full of other data, after random writes of pages to most of the rest.
    fn collected(victim: Victim) -> Flash {
        let small =
            FlashSpec { capacity_bytes: 16 << 20, superblock_bytes: 256 << 10, fullness: 0.7, victim, ..spec() };
        let mut flash = Flash::new(small).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for _ in 0..10_000 {
            flash.write(0, Request::new(random.random_range(0..1200) * 4096, 4096));
        }
        flash
    }

    #[test]
    fn flash_programs_what_the_host_writes_and_what_garbage_collection_moves() {
        let flash = collected(Victim::Greedy);
        let (stats, moved) = (flash.stats(), flash.translation.moved_pages * 4096);
        assert!(moved > 0);
        assert_eq!(stats.nand_bytes, stats.written_bytes + moved);
    }

    #[test]
    fn cost_benefit_leaves_data_that_was_there_before_where_it_is() {
        let (greedy, cost_benefit) = (collected(Victim::Greedy), collected(Victim::CostBenefit));
        let moved = |flash: &Flash| flash.translation.moved_pages as f64;
        assert!(moved(&cost_benefit) < 1.2 * moved(&greedy), "{} against {}", moved(&cost_benefit), moved(&greedy));
    }

    #[test]
    fn endurance_is_rated_cycles_times_the_raw_size() {
        let endurance = DeviceSpec::Flash(spec()).endurance_bytes().unwrap();
        assert!((endurance / (3000.0 * 1.28 * f64::from(1 << 30)) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn programs_slow_reads_down() {
        let (mut idle, mut busy) = (Flash::new(spec()).unwrap(), Flash::new(spec()).unwrap());
        for n in 0..64u64 {
            busy.write(0, Request::new(n << 20, 1 << 20));
        }
        assert!(busy.read(0, Request::new(0, 4096)) > idle.read(0, Request::new(0, 4096)));
    }

    /// Mean latency of reads, in microseconds, beside writes at this part of the write rate.
    fn read_us(program_us: f64, load: f64) -> f64 {
        let mut flash = Flash::new(FlashSpec { program_us, ..spec() }).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let (reads, mut sum) = (20_000u64, 0);
        for n in 0..reads {
            let now = (n as f64 * 16_384.0 / load) as u64;
            flash.write(now, Request::new(n % 4096 * 16_384, 16_384));
            let asked = now + random.random_range(0..16_384);
            sum += flash.read(asked, Request::new(random.random_range(0..60_000) * 16_384, 4096)) - asked;
        }
        sum as f64 / reads as f64 / 1e3
    }

    #[test]
    fn a_read_waits_for_half_a_program_on_each_die_that_is_busy() {
        let without = read_us(0.0, 0.5);
        assert!((read_us(1300.0, 0.5) - without - 0.5 * 650.0).abs() < 20.0, "{without}, {}", read_us(1300.0, 0.5));
        assert!((read_us(1300.0, 0.1) - read_us(0.0, 0.1) - 0.1 * 650.0).abs() < 10.0);
    }

    #[test]
    fn a_fork_goes_on_as_the_device_would() {
        let mut one = collected(Victim::Greedy);
        let mut other = Device::fork(&one);
        let asked = |device: &mut dyn Device| {
            let written = (0..500).map(|n| device.write(n * 1000, Request::new(n * 7 % 1200 * 4096, 8192)));
            let done: Vec<_> = written.collect();
            (done, device.read(0, Request::new(0, 4096)), device.stats())
        };
        assert_eq!(asked(&mut one), asked(&mut *other));
    }
}

//! One run's numbers under their one set of names. Takes plain numbers, whichever clock they come from. What was not
//! measured is absent.

use super::debt::{Debt, Payment, Terms};
use super::wear::FlashWear;
use crate::cost::CpuUse;
use crate::metrics::intervals::{cache_hit_ratio, stall_s};
use crate::metrics::{
    EngineStats, Latencies, Length, MetersSnapshot, Purpose, PurposeCounts, Snapshot, Steadiness, Steady, ratio,
};
use crate::scale::Scale;
use serde_json::{Map, Value, json};

/// What the measured phase yielded.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Counters when it began.
    pub before: Snapshot,
    /// Counters when it ended.
    pub after: Snapshot,
    /// Latencies by operation.
    pub by_operation: Vec<(&'static str, Latencies)>,
    /// Clients that ran.
    pub clients: u32,
    /// Nanoseconds that clients waited for admission, summed over clients.
    pub stall_ns: u64,
    /// How long ago an operation was due at the end that nobody had begun; `None` where nothing was due.
    pub backlog_ns: Option<u64>,
    /// Blocks or pages that clients asked for.
    pub blocks_asked: u64,
    /// What clients and background work used.
    pub cpu: Option<CpuUse>,
    /// Background work's part of that, where it can be told apart.
    pub background: Option<CpuUse>,
    /// Live key and value bytes at the end.
    pub live_bytes: u64,
    /// The most memory that the engine used at the ends of intervals.
    pub memory_bytes: u64,
    /// What the phase cost a flash device, where one was simulated.
    pub flash: Option<FlashWear>,
    /// What the phase left to the background, where that was paid.
    pub debt: Option<Debt>,
}

impl Measured {
    /// Length of the phase.
    pub fn seconds(&self) -> f64 {
        (self.after.at_ns - self.before.at_ns) as f64 / 1e9
    }

    /// Seconds that paying the debt adds.
    fn debt_seconds(&self) -> Option<f64> {
        let cpu_ns = self.cpu.as_ref().map_or(0, |cpu| cpu.ns);
        self.debt.as_ref().and_then(|debt| debt.seconds(self.seconds(), cpu_ns))
    }

    /// The verdict on a phase after this warm-up: what it leaves to the background is a change.
    pub fn judged(&self, warmup: &Steadiness, phase: &Steadiness, planned: Length) -> Steady {
        let steady = Steady::judged(warmup, phase, planned);
        let Some((debt, seconds)) = self.debt.as_ref().zip(self.debt_seconds()) else { return steady };
        let Terms::Added { before_bytes, after_bytes, .. } = debt.terms else { return steady };
        steady.charged(seconds / self.seconds(), before_bytes as f64, after_bytes as f64)
    }

    /// Operations that ended in the phase.
    pub fn operations(&self) -> u64 {
        self.by_operation.iter().map(|(_, latencies)| latencies.count()).sum()
    }

    /// The metrics of the whole phase, charged with the debt that it leaves. Latencies and waits are those of the phase
    /// itself.
    pub fn metrics(&self) -> Map<String, Value> {
        let mut overall = Latencies::default();
        self.by_operation.iter().for_each(|(_, latencies)| overall.merge(latencies));
        let (before, after) = (&self.before.engine, &self.after.engine);
        let by_purpose = self.after.meters.since(&self.before.meters);
        let (io, of_file_system) = (by_purpose.total(), by_purpose.of(Purpose::FileSystem).written_bytes);
        let nothing = Debt { terms: Terms::Whole, payment: Payment::default() };
        let debt = self.debt.as_ref().unwrap_or(&nothing);
        let paid = &debt.payment;
        let seconds = self.seconds() + self.debt_seconds().unwrap_or_default();
        let written_bytes = debt.charged(io.written_bytes, paid.io.written_bytes);
        let per_operation = |amount: f64| ratio(amount, self.operations() as f64);
        let clients_ns = self.cpu.as_ref().map(|cpu| cpu.clients_ns).filter(|ns| *ns > 0);
        let user_bytes = after.user_bytes_written - before.user_bytes_written;
        let mut map = overall.to_json();
        let measured = [
            ("ops_per_s", ratio(self.operations() as f64, seconds)),
            ("debt_s", self.debt_seconds()),
            ("reads_per_op", per_operation(debt.charged(io.reads, paid.io.reads))),
            ("read_kb_per_op", per_operation(debt.charged(io.read_bytes, paid.io.read_bytes) / 1024.0)),
            ("write_kb_per_op", per_operation(written_bytes / 1024.0)),
            ("file_system_kb_per_op", per_operation(of_file_system as f64 / 1024.0).filter(|kb| *kb > 0.0)),
            ("write_amp", ratio(written_bytes, user_bytes as f64)),
            ("read_amp", per_operation(self.blocks_asked as f64)),
            ("space_amp", ratio(self.after.disk_bytes as f64, self.live_bytes as f64)),
            (
                "cpu_us_per_op",
                self.cpu.as_ref().and_then(|cpu| per_operation(debt.charged(cpu.own_ns(), paid.cpu.own_ns()) / 1e3)),
            ),
            ("client_cpu_us_per_op", clients_ns.and_then(|ns| per_operation(ns as f64 / 1e3))),
            ("cache_hit_ratio", cache_hit_ratio(before, after)),
            ("bloom_false_positive_ratio", bloom_false_positive_ratio(before, after)),
            ("stall_s", Some(stall_s(self.stall_ns, self.clients))),
            ("backlog_s", self.backlog_ns.map(|ns| ns as f64 / 1e9)),
        ];
        let flash = self.flash.iter().flat_map(|flash| flash.metrics(seconds, debt));
        map.extend(
            measured.into_iter().chain(flash).filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))),
        );
        map.insert("disk_bytes".to_owned(), json!(self.after.disk_bytes));
        map.insert("memory_bytes".to_owned(), json!(self.memory_bytes));
        map
    }

    /// Units of the kinds of CPU work that occurred, with what a phase that ends settled left to the background.
    fn work(&self) -> Value {
        let mut cpu = self.cpu.clone().unwrap_or_default();
        let left = self.debt.as_ref().filter(|debt| !matches!(debt.terms, Terms::Added { .. }));
        if let Some(debt) = left {
            cpu.add(&debt.payment.cpu);
        }
        units_by_name(&cpu)
    }

    fn background(&self) -> Value {
        let Some(cpu) = &self.background else { return Value::Null };
        json!({"cpu_us": cpu.ns as f64 / 1e3, "work": units_by_name(cpu)})
    }

    fn by_operation(&self) -> Map<String, Value> {
        let seen = self.by_operation.iter().filter(|(_, latencies)| latencies.count() > 0);
        seen.map(|(name, latencies)| ((*name).to_owned(), latencies.to_counted_json())).collect()
    }
}

fn units_by_name(cpu: &CpuUse) -> Value {
    cpu.work.by_name().map(|(name, units)| (name.to_owned(), json!(units))).collect()
}

/// Share of the filter questions about absent keys that were answered `maybe present`; `None` if none was asked.
fn bloom_false_positive_ratio(before: &EngineStats, after: &EngineStats) -> Option<f64> {
    let positive = after.bloom_positive - before.bloom_positive;
    let true_positive = after.bloom_true_positive - before.bloom_true_positive;
    let false_positive = positive.saturating_sub(true_positive) as f64;
    let useful = (after.bloom_useful - before.bloom_useful) as f64;
    ratio(false_positive, false_positive + useful)
}

/// What the load phase yielded.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Loaded {
    /// Seconds, including the work that was left to the background.
    pub seconds: f64,
    /// Rows written.
    pub operations: u64,
    /// Key and value bytes written.
    pub user_bytes: u64,
    /// Bytes that reached storage.
    pub written_bytes: u64,
    /// Live key and value bytes at the end.
    pub live_bytes: u64,
}

/// What a report says about the run besides its numbers.
#[derive(Debug, Clone)]
pub struct Header {
    /// `measured`, `real` or `simulated`.
    pub clock: &'static str,
    /// `lsm`, `btree` or `rocksdb`.
    pub engine: &'static str,
    /// All parameters of the workload.
    pub workload: Map<String, Value>,
    /// All options of the engine.
    pub options: Map<String, Value>,
    /// What the data stands for.
    pub scale: Scale,
    /// The run's seed.
    pub seed: u64,
    /// Whether the run was steady, if that was asked.
    pub steady: Option<Steady>,
}

/// The report of one run.
pub fn report(header: Header, loaded: Loaded, measured: &Measured, intervals: Vec<Value>) -> Value {
    json!({
        "clock": header.clock,
        "engine": header.engine,
        "workload": header.workload,
        "options": header.options,
        "scale": header.scale,
        "clients": measured.clients,
        "seed": header.seed,
        "steady": header.steady.as_ref().map(Steady::is_steady),
        "steadiness": header.steady.as_ref().map(Steady::to_json),
        "seconds": measured.seconds(),
        "operations": measured.operations(),
        "metrics": measured.metrics(),
        "by_operation": measured.by_operation(),
        "work": measured.work(),
        "background": measured.background(),
        "debt": measured.debt.as_ref().map(Debt::to_json),
        "bytes": bytes_by_purpose(&measured.after.meters.since(&measured.before.meters)),
        "load": {
            "seconds": loaded.seconds,
            "operations": loaded.operations,
            "user_bytes": loaded.user_bytes,
            "written_bytes": loaded.written_bytes,
            "live_bytes": loaded.live_bytes,
        },
        "engine_details": measured.after.engine.details,
        "intervals": intervals,
    })
}

/// Counters of the purposes that occurred.
fn bytes_by_purpose(meters: &MetersSnapshot) -> Map<String, Value> {
    let purposes = Purpose::all().map(|purpose| (purpose, meters.of(purpose)));
    let used = purposes.filter(|(_, counts)| *counts != PurposeCounts::default());
    used.map(|(purpose, counts)| {
        let counts = json!({
            "written_bytes": counts.written_bytes,
            "writes": counts.writes,
            "read_bytes": counts.read_bytes,
            "reads": counts.reads,
            "syncs": counts.syncs,
        });
        (purpose.name(), counts)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::{Work, WorkCounts};
    use crate::device::DeviceStats;
    use crate::metrics::Meters;
    use crate::run::wear::YEAR_S;

    fn full() -> Measured {
        let meters = Meters::default();
        meters.wrote(Purpose::Wal, 2048);
        meters.wrote(Purpose::Compaction { level: 3 }, 6144);
        (0..4).for_each(|_| meters.read(Purpose::UserRead, 512));
        let engine = EngineStats {
            user_bytes_written: 4096,
            cache_hits: 9,
            cache_misses: 1,
            bloom_useful: 98,
            bloom_positive: 12,
            bloom_true_positive: 10,
            ..EngineStats::default()
        };
        let after = Snapshot { at_ns: 2_000_000_000, meters: meters.snapshot(), engine, disk_bytes: 3000 };
        let mut latencies = Latencies::default();
        (0..4).for_each(|_| latencies.record(8000));
        let mut work = WorkCounts::default();
        work.count(Work::Call, 4);
        Measured {
            after,
            by_operation: vec![("get", latencies), ("put", Latencies::default())],
            clients: 2,
            stall_ns: 500_000_000,
            backlog_ns: Some(1_500_000_000),
            blocks_asked: 12,
            cpu: Some(CpuUse { ns: 120_000, clients_ns: 20_000, work: work.clone() }),
            background: Some(CpuUse { ns: 70_000, clients_ns: 0, work }),
            live_bytes: 2000,
            memory_bytes: 1234,
            flash: Some(FlashWear {
                device: DeviceStats {
                    written_bytes: 2000,
                    trimmed_bytes: 700,
                    nand_bytes: 3000,
                    erases: 4,
                    ..DeviceStats::default()
                },
                endurance_bytes: 1500.0 * YEAR_S * 7.0,
            }),
            ..Measured::default()
        }
    }

    #[test]
    fn metrics_are_arithmetic_on_meters() {
        let latency = 8.003; // The upper edge of the histogram's bucket.
        let metrics = full().metrics();
        for (name, expected) in [
            ("ops_per_s", 2.0),
            ("p50_us", latency),
            ("p95_us", latency),
            ("p99_us", latency),
            ("p999_us", latency),
            ("max_us", latency),
            ("reads_per_op", 1.0),
            ("read_kb_per_op", 0.5),
            ("write_kb_per_op", 2.0),
            ("write_amp", 2.0),
            ("read_amp", 3.0),
            ("space_amp", 1.5),
            ("device_bytes", 2000.0),
            ("trimmed_bytes", 700.0),
            ("nand_bytes", 3000.0),
            ("erases", 4.0),
            ("flash_waf", 1.5),
            ("drive_years", 7.0),
            ("cpu_us_per_op", 25.0),
            ("client_cpu_us_per_op", 5.0),
            ("cache_hit_ratio", 0.9),
            ("bloom_false_positive_ratio", 0.02),
            ("stall_s", 0.25),
            ("backlog_s", 1.5),
            ("disk_bytes", 3000.0),
            ("memory_bytes", 1234.0),
        ] {
            let found = metrics[name].as_f64().unwrap();
            assert!((found - expected).abs() < 1e-9, "{name}: {found} against {expected}");
        }
        assert_eq!(metrics.len(), 26);
    }

    #[test]
    fn the_work_of_a_phase_that_ends_settled_is_whole() {
        let mut work = WorkCounts::default();
        work.count(Work::Call, 3);
        let left = |terms| {
            let cpu = CpuUse { work: work.clone(), ..CpuUse::default() };
            Debt { terms, payment: Payment { cpu, ..Payment::default() } }
        };
        let running = Terms::Added { before_bytes: 300, after_bytes: 500, busy_seconds: 2.0, cores: 1 };
        for (terms, calls) in [(Terms::Whole, 7), (Terms::WholeButTime, 7), (running, 4)] {
            let measured = Measured { debt: Some(left(terms)), ..full() };
            assert_eq!(measured.work(), json!({"call": calls}));
        }
    }

    #[test]
    fn a_phase_is_charged_with_the_debt_that_it_leaves() {
        let io = PurposeCounts { written_bytes: 16_384, reads: 4, read_bytes: 2048, ..PurposeCounts::default() };
        let device = DeviceStats { written_bytes: 4000, nand_bytes: 9000, ..DeviceStats::default() };
        let cpu = CpuUse { ns: 200_000, ..CpuUse::default() };
        let payment = Payment { left_bytes: 100, seconds: 4.0, io, cpu, device };
        let terms = Terms::Added { before_bytes: 300, after_bytes: 500, busy_seconds: 2.0, cores: 1 };
        let debt = Debt { terms, payment };
        let measured = Measured { debt: Some(debt), ..full() };
        let metrics = measured.metrics();
        for (name, expected) in [
            ("debt_s", 2.0),
            ("ops_per_s", 1.0),
            ("write_kb_per_op", 4.0),
            ("write_amp", 4.0),
            ("reads_per_op", 1.5),
            ("read_kb_per_op", 0.75),
            ("cpu_us_per_op", 50.0),
            ("flash_waf", 7500.0 / 4000.0),
            ("drive_years", 1500.0 * 7.0 * 4.0 / 7500.0),
            ("stall_s", 0.25),
        ] {
            let found = metrics[name].as_f64().unwrap();
            assert!((found - expected).abs() < 1e-9, "{name}: {found} against {expected}");
        }
        let charged = json!({"before_bytes": 300, "after_bytes": 500, "seconds": 2.0, "written_bytes": 8192});
        assert_eq!(measured.debt.unwrap().to_json(), charged);
    }

    #[test]
    fn what_was_not_measured_is_absent() {
        let names: Vec<_> = Measured { clients: 1, ..Measured::default() }.metrics().into_iter().collect();
        assert_eq!(
            names.iter().map(|(name, _)| &**name).collect::<Vec<_>>(),
            ["disk_bytes", "memory_bytes", "stall_s"]
        );
    }

    #[test]
    fn a_report_has_exactly_its_vocabulary() {
        let header = Header {
            clock: "measured",
            engine: "lsm",
            workload: Map::new(),
            options: Map::new(),
            scale: Scale::FULL,
            seed: 1,
            steady: None,
        };
        let report = report(header, Loaded::default(), &full(), Vec::new());
        let names: Vec<_> = report.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "background",
                "by_operation",
                "bytes",
                "clients",
                "clock",
                "debt",
                "engine",
                "engine_details",
                "intervals",
                "load",
                "metrics",
                "operations",
                "options",
                "scale",
                "seconds",
                "seed",
                "steadiness",
                "steady",
                "work",
                "workload",
            ]
        );
        assert_eq!(report["by_operation"].as_object().unwrap().len(), 1);
        assert_eq!(report["by_operation"]["get"]["count"], 4);
        assert_eq!(report["work"], json!({"call": 4}));
        assert_eq!(report["background"], json!({"cpu_us": 70.0, "work": {"call": 4}}));
        assert_eq!(
            report["bytes"].as_object().unwrap().keys().collect::<Vec<_>>(),
            ["compaction_l3", "user_read", "wal"]
        );
        assert_eq!(
            report["bytes"]["wal"],
            json!({"written_bytes": 2048, "writes": 1, "read_bytes": 0, "reads": 0, "syncs": 0})
        );
    }
}

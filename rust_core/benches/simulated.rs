//! Speed of the simulation itself: operations per second of one core, in steady state, and whether a run of ten times
//! the operations costs ten times as much. Keys of 16 bytes, values of 100, a million of them, all cached, an NVMe
//! drive.
//!
//! Time is CPU time: a simulated run is one thread, so on an idle machine it is wall time, and on a busy one still
//! fair. The program fails if a figure is below its floor. `cargo bench --bench simulated [-- NAME]` runs those whose
//! name contains NAME.

use _core::run::Run;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Duration;

type Anyhow<T> = Result<T, Box<dyn std::error::Error>>;

const KEYS: u64 = 1_000_000;

/// The longer of the two runs that are compared; the shorter one is its first tenth.
const OPERATIONS: u64 = 5_000_000;

/// A run of ten times the operations may cost this much more or less than ten times as much.
const LINEAR_WITHIN: f64 = 0.2;

/// How often the progress of a run is looked at: far less than a tenth of a run, and seldom enough to cost nothing.
const POLL: Duration = Duration::from_millis(5);

/// What is measured, and the operations per second that it has to reach.
struct Case {
    name: &'static str,
    engine: &'static str,
    benchmark: &'static str,
    options: Value,
    /// Virtual time before the measurement: caches and levels fill.
    warmup_seconds: f64,
    floor: f64,
}

fn cases() -> Vec<Case> {
    let cached_blocks = 1 << 30;
    vec![
        Case {
            name: "lsm cached reads",
            engine: "lsm",
            benchmark: "readrandom",
            options: json!({"block_cache": cached_blocks, "filter_policy": "bloomfilter:10:false"}),
            warmup_seconds: 1.0,
            floor: 500e3,
        },
        Case {
            name: "btree cached reads",
            engine: "btree",
            benchmark: "readrandom",
            options: json!({"innodb_buffer_pool_size": cached_blocks}),
            warmup_seconds: 0.2,
            floor: 500e3,
        },
        Case {
            name: "lsm random inserts",
            engine: "lsm",
            benchmark: "fillrandom",
            options: json!({"block_cache": cached_blocks}),
            warmup_seconds: 4.0,
            floor: 300e3,
        },
        // The log holds a fraction of the run, so that pages are written all the time.
        Case {
            name: "btree random updates",
            engine: "btree",
            benchmark: "overwrite",
            options: json!({
                "innodb_buffer_pool_size": cached_blocks, "innodb_redo_log_capacity": 256 << 20,
                "innodb_flush_log_at_trx_commit": 2, "innodb_io_capacity": 10_000, "innodb_io_capacity_max": 20_000,
            }),
            warmup_seconds: 2.0,
            floor: 200e3,
        },
    ]
}

fn spec(case: &Case, clients: u32) -> Value {
    json!({
        "engine": case.engine,
        "options": case.options,
        "workload": {"kind": "db_bench", "benchmark": case.benchmark, "keys": KEYS},
        "clients": clients,
        "operations": OPERATIONS,
        "warmup_seconds": case.warmup_seconds,
        "interval_ms": 10,
        "clock": "simulated",
        // As profiles/hardware/nvme-2024.toml, shrunk to the data.
        "hardware": {"cores": 32, "device": {
            "kind": "flash", "capacity_bytes": 16u64 << 30, "over_provisioning": 0.145, "fullness": 0.0,
            "channels": 80, "read_latency_us": 80, "write_latency_us": 15, "sync_us": 15,
            "read_mb_per_s": 6800, "write_mb_per_s": 5300, "link_mb_per_s": 7000, "buffer_bytes": 64 << 20,
            "page_bytes": 4096, "superblock_bytes": 64 << 20, "victim": "greedy", "moved_pages": "apart",
            "rated_cycles": 7000,
        }},
    })
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Operations of the measured phase that were done when so much CPU time was used.
#[derive(Clone, Copy)]
struct Mark {
    operations: u64,
    cpu_seconds: f64,
}

impl Mark {
    fn seconds_per_operation_since(self, earlier: Self) -> f64 {
        (self.cpu_seconds - earlier.cpu_seconds) / (self.operations - earlier.operations) as f64
    }
}

/// Operations per second, and how often the cost of a tenth of them the cost of all of them is.
fn measure(case: &Case, clients: u32) -> Anyhow<(f64, f64)> {
    let run = Run::new(spec(case, clients))?;
    run.start();
    let mut marks: Vec<Mark> = Vec::new();
    loop {
        let is_finished = run.wait(Some(POLL));
        let cpu_seconds = cpu_seconds();
        let intervals = run.poll();
        let of_run = intervals.iter().filter(|interval| interval["phase"] == "run").collect::<Vec<_>>();
        if !of_run.is_empty() {
            let done = of_run.iter().filter_map(|interval| interval["operations"].as_u64()).sum::<u64>();
            let operations = marks.last().map_or(0, |mark| mark.operations) + done;
            marks.push(Mark { operations, cpu_seconds });
        }
        if is_finished {
            break;
        }
    }
    run.report()?;
    let (Some(&first), Some(&last)) = (marks.first(), marks.last()) else { return Err("no interval".into()) };
    let tenth = first.operations + (last.operations - first.operations) / 10;
    let tenth = *marks.iter().find(|mark| mark.operations >= tenth).unwrap_or(&last);
    let (all, early) = (last.seconds_per_operation_since(first), tenth.seconds_per_operation_since(first));
    Ok((1.0 / all, 10.0 * all / early))
}

fn main() -> Anyhow<ExitCode> {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    println!("Simulated operations per second of one core, {KEYS} keys\n");
    println!("| figure | clients | k ops/s | floor | 10x the operations cost |");
    println!("|---|---:|---:|---:|---:|");
    let mut all_hold = true;
    for case in cases().iter().filter(|case| case.name.contains(&wanted)) {
        for clients in [1, 16] {
            let (speed, growth) = measure(case, clients)?;
            let holds = speed >= case.floor;
            let is_linear = (growth / 10.0 - 1.0).abs() <= LINEAR_WITHIN;
            all_hold &= holds && is_linear;
            let verdict = |holds| if holds { "" } else { " MISSED" };
            println!(
                "| {} | {clients} | {:.0}{} | {:.0} | {growth:.1}x{} |",
                case.name,
                speed / 1e3,
                verdict(holds),
                case.floor / 1e3,
                verdict(is_linear),
            );
        }
    }
    Ok(if all_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

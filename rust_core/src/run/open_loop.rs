//! Operations that come at a rate, through whole runs under both clocks: what a stall holds up counts as late.

use super::checked_spec::CheckedSpec;
use super::engines::Engines;
use super::same_again::flash;
use super::spec::Clock;
use super::{measured, simulated};
use crate::cost::Work;
use crate::engine::{Engine, KeyLayout};
use crate::error::Result;
use crate::task::Task;
use crate::task::wall::sleep;
use crate::workload::{Client, Plan, Workload};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A workload whose first client executes some of its operations slowly.
#[derive(Clone)]
struct Slow {
    workload: Arc<dyn Workload>,
    /// Which operation is slow, by its number from the start of the run on.
    stalls_at: fn(u64) -> bool,
    takes: Duration,
    is_virtual: bool,
    /// How late each operation was planned, in nanoseconds.
    late_ns: Arc<Mutex<Vec<u64>>>,
}

impl Workload for Slow {
    fn layout(&self) -> KeyLayout {
        self.workload.layout()
    }

    fn operations(&self) -> &'static [&'static str] {
        self.workload.operations()
    }

    fn parameters(&self) -> Map<String, Value> {
        self.workload.parameters()
    }

    fn loader(&self, index: u32) -> Box<dyn Client> {
        self.workload.loader(index)
    }

    fn client(&self, index: u32) -> Box<dyn Client> {
        let client = self.workload.client(index);
        if index == 0 { Box::new(SlowClient { client, done: 0, slow: self.clone() }) } else { client }
    }

    fn fork(&self, seed: u64) -> Arc<dyn Workload> {
        Arc::new(Self { workload: self.workload.fork(seed), ..self.clone() })
    }

    fn live_bytes(&self) -> u64 {
        self.workload.live_bytes()
    }
}

struct SlowClient {
    client: Box<dyn Client>,
    done: u64,
    slow: Slow,
}

impl Client for SlowClient {
    fn begin(&mut self, now_ns: u64) {
        self.client.begin(now_ns);
    }

    fn plan(&mut self, now_ns: u64) -> Option<Plan> {
        let plan = self.client.plan(now_ns)?;
        self.slow.late_ns.lock().push(plan.turn.late_ns);
        Some(plan)
    }

    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        let Slow { stalls_at, takes, is_virtual, .. } = self.slow;
        if stalls_at(self.done) && is_virtual {
            let steps = takes.as_nanos() as f64 / Work::MemtableStep.default_ns();
            task.charge(Work::MemtableStep, steps as u64);
        } else if stalls_at(self.done) {
            sleep(takes);
        }
        self.done += 1;
        self.client.execute(engine, task)
    }

    fn behind_ns(&self, now_ns: u64) -> Option<u64> {
        self.client.behind_ns(now_ns)
    }
}

/// One way to run.
struct Held {
    arrivals: &'static str,
    clients: u32,
    warmup_seconds: f64,
    seconds: f64,
    stalls_at: fn(u64) -> bool,
    takes: Duration,
}

/// One client that is held to a thousand operations per second, and stalls for a second after half a one.
const STALLS: Held = Held {
    arrivals: "open",
    clients: 1,
    warmup_seconds: 0.0,
    seconds: 3.0,
    stalls_at: |done| done == 500,
    takes: Duration::from_secs(1),
};

impl Held {
    /// The report, and how late the first client's operations were planned.
    fn run(&self, is_virtual: bool) -> (Value, Vec<u64>) {
        let directory = tempfile::tempdir().unwrap();
        let workload = json!({"kind": "key_value", "keys": 1000, "requests_per_second": 1000, "overwrites": 0,
            "arrivals": self.arrivals});
        let mut spec = json!({"engine": "lsm", "workload": workload, "clients": self.clients, "seconds": self.seconds,
            "warmup_seconds": self.warmup_seconds});
        if is_virtual {
            spec["clock"] = json!("simulated");
            spec["hardware"] = json!({"cores": 2, "device": flash()});
        } else {
            spec["directory"] = json!(directory.path());
        }
        let mut run = CheckedSpec::new(spec, Arc::new(Engines)).unwrap();
        let late_ns = Arc::<Mutex<Vec<u64>>>::default();
        let Self { stalls_at, takes, .. } = *self;
        run.workload =
            Arc::new(Slow { workload: run.workload, stalls_at, takes, is_virtual, late_ns: late_ns.clone() });
        let report = match &run.spec.clock {
            Clock::Simulated(hardware) => simulated::run(&run, hardware, &Arc::default(), &mut |_| ()).unwrap().report,
            _ => measured::run(&run, &directory.path().join("run"), &Arc::default(), &mut |_| ()).unwrap(),
        };
        let late_ns = late_ns.lock().clone();
        (report, late_ns)
    }
}

fn operations(report: &Value) -> u64 {
    report["operations"].as_u64().unwrap()
}

fn metric(report: &Value, name: &str) -> f64 {
    report["metrics"][name].as_f64().unwrap()
}

fn later_than(late_ns: &[u64], ms: u64) -> usize {
    late_ns.iter().filter(|&&late_ns| late_ns > ms * 1_000_000).count()
}

#[test]
fn a_second_of_stall_makes_a_thousand_operations_late_in_virtual_time() {
    let (report, late_ns) = STALLS.run(true);
    assert_eq!(operations(&report), 3000, "all of them came");
    // Each is some microseconds: a few more are late before the last one is caught up with.
    assert!((1000..=1010).contains(&later_than(&late_ns, 0)), "{}", later_than(&late_ns, 0));
    // A third of the latencies fall from a second to nothing, evenly.
    for (name, expected) in [("p95_us", 850_000.0), ("p99_us", 970_000.0), ("max_us", 1_000_000.0)] {
        let found = metric(&report, name);
        assert!((found / expected - 1.0).abs() < 0.01, "{name}: {found}");
    }
    assert!(metric(&report, "p50_us") < 100.0);
    assert!(metric(&report, "backlog_s") < 0.001);
}

#[test]
fn closed_arrivals_leave_out_what_a_stall_holds_up() {
    let (report, late_ns) = Held { arrivals: "closed", ..STALLS }.run(true);
    assert!((1999..=2001).contains(&operations(&report)), "{}", operations(&report));
    assert_eq!(later_than(&late_ns, 0), 0);
    assert!(metric(&report, "p99_us") < 100.0 && metric(&report, "max_us") > 990_000.0);
    assert!(report["metrics"].get("backlog_s").is_none());
}

#[test]
fn another_client_keeps_the_rate_while_one_stalls() {
    let (report, late_ns) = Held { clients: 2, stalls_at: |done| done == 250, ..STALLS }.run(true);
    // Its first reads find nothing in the cache.
    assert_eq!((operations(&report), later_than(&late_ns, 10)), (3000, 0));
}

#[test]
fn a_phase_owes_nothing_from_the_one_before() {
    let (report, late_ns) = Held { warmup_seconds: 0.6, seconds: 1.0, ..STALLS }.run(true);
    assert_eq!((operations(&report), later_than(&late_ns, 5)), (1000, 0), "the warm-up owed a hundred");
}

#[test]
fn a_rate_that_is_too_high_leaves_a_backlog() {
    let (report, _) = Held { seconds: 1.0, stalls_at: |_| true, takes: Duration::from_millis(2), ..STALLS }.run(true);
    assert!((metric(&report, "backlog_s") - 0.5).abs() < 0.01, "{}", metric(&report, "backlog_s"));
    let rate = metric(&report, "ops_per_s");
    assert!((rate - 500.0).abs() < 10.0, "{rate}");
    // The last of them was due half a second before it ended.
    assert!((metric(&report, "max_us") / 500_000.0 - 1.0).abs() < 0.02);
}

#[test]
fn half_a_second_of_stall_makes_five_hundred_operations_late_in_real_time() {
    let stalls = Held { seconds: 1.5, stalls_at: |done| done == 200, takes: Duration::from_millis(500), ..STALLS };
    let (report, late_ns) = stalls.run(false);
    assert!((1400..=1510).contains(&operations(&report)), "{}", operations(&report));
    let late = later_than(&late_ns, 10);
    assert!((480..=900).contains(&late), "{late}");
    assert!((400_000.0..900_000.0).contains(&metric(&report, "p95_us")), "{}", metric(&report, "p95_us"));
    let (report, _) = Held { arrivals: "closed", ..stalls }.run(false);
    assert!(operations(&report) <= 1010, "{}", operations(&report));
}

#[test]
fn a_phase_owes_nothing_from_the_one_before_in_real_time() {
    let stalls = Held { warmup_seconds: 0.3, seconds: 0.5, stalls_at: |done| done == 100, ..STALLS };
    let (report, late_ns) = Held { takes: Duration::from_millis(700), ..stalls }.run(false);
    assert!(operations(&report) <= 510, "{}: the warm-up held up as many", operations(&report));
    assert!(later_than(&late_ns, 200) < 10, "{}", later_than(&late_ns, 200));
}

//! Workloads whose clients are held to rates. All rates of all workloads are kept here, whatever carries the operations
//! out: clients only draw them. Loads are never held.

use super::client::{Client, Plan, Rate, RateUnit, Workload};
use super::pace::{Arrivals, Pace};
use crate::engine::{Engine, KeyLayout};
use crate::engine_options;
use crate::error::{Error, Result};
use crate::options::Accepts;
use crate::session::{Session, Tables};
use crate::task::Task;
use serde_json::{Map, Value};
use std::sync::Arc;

/// More than one machine serves; below it, a whole number of nanoseconds keeps any rate to half a percent.
pub const MOST_PER_SECOND: f64 = 1e7;

engine_options! {
    /// What a spec may say about any workload.
    Requests {
        requests_per_second: u64 = 0u64, Accepts::Range(0.0, MOST_PER_SECOND),
            "Operations per second that all clients together are held to, without those that the workload gives a \
             rate of their own; 0 for no limit.";
        arrivals: String = "open", Accepts::Words(&["open", "closed"]),
            "How operations come where clients are held to a rate: open, at fixed times, so that lost time is \
             caught up with and latency counts from the time at which an operation is due; closed, when a client is \
             free, so that lost time stays lost (the rate limiters of benchmarks, whose own rates are always closed).";
    }
}

impl Requests {
    /// Takes these parameters out of those of a workload.
    pub fn take(parameters: &mut Map<String, Value>) -> Result<Self> {
        let names = Self::table().into_iter().map(|info| info.name);
        let given = names.filter_map(|name| parameters.remove_entry(name)).collect();
        Self::from_json(&given)
    }

    fn arrivals(&self) -> Arrivals {
        if self.arrivals == "closed" { Arrivals::Closed } else { Arrivals::Open }
    }
}

/// A workload and the rates of its clients.
pub struct Paced {
    workload: Arc<dyn Workload>,
    given: Requests,
    clients: u32,
    requests: Option<Arc<Pace>>,
    /// Of those that share a rate apart from the others.
    apart: Option<Arc<Pace>>,
}

impl Paced {
    /// Holds the clients of a workload to its rates and to that of requests.
    pub fn new(workload: Arc<dyn Workload>, given: Requests, clients: u32) -> Result<Self> {
        let mut rates = (0..clients).map(|index| workload.rate(index));
        if given.requests_per_second > 0 && !rates.any(|rate| rate == Rate::Requests) {
            let accepted = "0 where all clients have a rate of their own";
            return Err(Error::invalid("workload.requests_per_second", given.requests_per_second, accepted));
        }
        Ok(Self::of(workload, given, clients))
    }

    fn of(workload: Arc<dyn Workload>, given: Requests, clients: u32) -> Self {
        let apart = (0..clients).find_map(|index| match workload.rate(index) {
            Rate::Apart(per_second) => Some(per_second),
            Rate::Requests | Rate::Throttled(..) => None,
        });
        let pace = |per_second| Pace::of(given.arrivals(), per_second);
        Self { requests: pace(given.requests_per_second), apart: apart.and_then(pace), workload, given, clients }
    }
}

impl Workload for Paced {
    fn layout(&self) -> KeyLayout {
        self.workload.layout()
    }

    fn operations(&self) -> &'static [&'static str] {
        self.workload.operations()
    }

    fn parameters(&self) -> Map<String, Value> {
        let mut parameters = self.workload.parameters();
        parameters.extend(self.given.to_json());
        parameters
    }

    fn loader(&self, index: u32) -> Box<dyn Client> {
        self.workload.loader(index)
    }

    fn client(&self, index: u32) -> Box<dyn Client> {
        let client = self.workload.client(index);
        let (pace, unit) = match self.workload.rate(index) {
            Rate::Requests => (self.requests.clone(), RateUnit::Operations),
            Rate::Apart(_) => (self.apart.clone(), RateUnit::Operations),
            Rate::Throttled(per_second, unit) => (Pace::of(Arrivals::Closed, per_second), unit),
        };
        match pace {
            Some(pace) => Box::new(PacedClient { client, pace, unit }),
            None => client,
        }
    }

    fn tables(&self) -> Option<Tables> {
        self.workload.tables()
    }

    fn writes(&self) -> bool {
        self.workload.writes()
    }

    fn fork(&self, seed: u64) -> Arc<dyn Workload> {
        Arc::new(Self::of(self.workload.fork(seed), self.given.clone(), self.clients))
    }

    fn live_bytes(&self) -> u64 {
        self.workload.live_bytes()
    }
}

struct PacedClient {
    client: Box<dyn Client>,
    pace: Arc<Pace>,
    unit: RateUnit,
}

impl Client for PacedClient {
    fn begin(&mut self, now_ns: u64) {
        self.pace.begin(now_ns);
    }

    fn plan(&mut self, now_ns: u64) -> Option<Plan> {
        let plan = self.client.plan(now_ns)?;
        let units = match self.unit {
            RateUnit::Operations => plan.operations,
            RateUnit::Bytes => plan.write_bytes,
        };
        Some(Plan { turn: self.pace.turn(now_ns, units), ..plan })
    }

    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        self.client.execute(engine, task)
    }

    fn speak(&mut self, session: &mut dyn Session) -> Result<()> {
        self.client.speak(session)
    }

    fn behind_ns(&self, now_ns: u64) -> Option<u64> {
        self.pace.behind_ns(now_ns)
    }

    #[cfg(test)]
    fn next_random(&self) -> Option<u64> {
        self.client.next_random()
    }
}

#[cfg(test)]
mod tests {
    use crate::scale::Scale;
    use crate::workload::{Workload, build};
    use serde_json::{Value, json};
    use std::sync::Arc;

    const MS: u64 = 1_000_000;

    fn built(spec: &Value, clients: u32) -> Arc<dyn Workload> {
        build(spec.as_object().unwrap(), Scale::FULL, clients, 1).unwrap()
    }

    fn key_value(requests_per_second: u64) -> Value {
        json!({"kind": "key_value", "keys": 1000, "requests_per_second": requests_per_second})
    }

    /// Starts and lateness in milliseconds, of clients that come in turn: each by its number, and at which millisecond.
    fn turns<const N: usize>(workload: &dyn Workload, comes: [(u32, u64); N]) -> [(u64, u64); N] {
        let mut clients: Vec<_> = (0..=comes.map(|(client, _)| client).into_iter().max().unwrap())
            .map(|index| workload.client(index))
            .collect();
        comes.map(|(client, now_ms)| {
            let turn = clients[client as usize].plan(now_ms * MS).unwrap().turn;
            (turn.earliest_ns / MS, turn.late_ns / MS)
        })
    }

    #[test]
    fn clients_share_the_rate_of_requests_and_catch_up() {
        let comes = [(0, 0), (1, 0), (0, 0), (1, 1), (0, 50), (1, 50)];
        let expected = [(0, 0), (1, 0), (2, 0), (3, 0), (4, 46), (5, 45)];
        assert_eq!(turns(&*built(&key_value(1000), 2), comes), expected);
    }

    #[test]
    fn closed_requests_do_not_catch_up() {
        let mut closed = key_value(1000);
        closed["arrivals"] = json!("closed");
        let comes = [(0, 0), (1, 0), (0, 50), (1, 50)];
        assert_eq!(turns(&*built(&closed, 2), comes), [(0, 0), (1, 0), (50, 0), (51, 0)]);
    }

    #[test]
    fn any_workload_is_held_to_a_rate_batch_by_batch() {
        for (kind, step_ms) in [("linkbench", 100), ("ycsb", 100), ("sysbench", 100), ("insert_benchmark", 100_000)] {
            let workload = built(&json!({"kind": kind, "requests_per_second": 10}), 1);
            let expected = [(0, 0), (step_ms, 0), (2 * step_ms, 0)];
            assert_eq!(turns(&*workload, [(0, 0), (0, 0), (0, 0)]), expected, "{kind}");
            assert_eq!(workload.parameters()["requests_per_second"], json!(10), "{kind}");
        }
    }

    #[test]
    fn writers_have_a_rate_apart_while_the_others_are_held_to_another_or_to_none() {
        let mut spec = json!({"kind": "key_value", "keys": 1000, "writers": 2, "writes_per_second": 500});
        let comes = [(0, 0), (2, 0), (1, 0), (2, 0), (0, 9), (2, 9)];
        assert_eq!(turns(&*built(&spec, 3), comes), [(0, 0), (0, 0), (2, 0), (0, 0), (4, 5), (0, 0)]);
        spec["requests_per_second"] = json!(200);
        assert_eq!(turns(&*built(&spec, 3), comes), [(0, 0), (0, 0), (2, 0), (5, 0), (4, 5), (10, 0)]);
    }

    #[test]
    fn writers_of_benchmarks_are_throttled_as_there_and_do_not_catch_up() {
        // 116 bytes each at 116,000 bytes per second: one write per millisecond.
        let db_bench = json!({"kind": "db_bench", "benchmark": "readwhilewriting", "write_rate": 116_000});
        let comes = [(0, 0), (0, 0), (1, 0), (0, 9), (0, 9)];
        assert_eq!(turns(&*built(&db_bench, 2), comes), [(0, 0), (1, 0), (0, 0), (9, 0), (10, 0)]);
        // Batches of 50 at 500 per second, each client for itself: one in 100 ms.
        let inserts = json!({"kind": "insert_benchmark", "rows_per_commit": 50, "inserts_per_second": 500});
        let comes = [(0, 0), (0, 0), (1, 0), (0, 900), (0, 900)];
        assert_eq!(turns(&*built(&inserts, 2), comes), [(0, 0), (100, 0), (0, 0), (900, 0), (1000, 0)]);
    }

    #[test]
    fn a_fork_has_a_pace_of_its_own() {
        let workload = built(&key_value(1000), 1);
        turns(&*workload, [(0, 0), (0, 0)]);
        let fork = workload.fork(2);
        assert_eq!(turns(&*fork, [(0, 0), (0, 0)]), [(0, 0), (1, 0)]);
        assert_eq!(fork.parameters(), workload.parameters());
    }

    #[test]
    fn a_rate_that_holds_nobody_is_refused() {
        let spec = json!({"kind": "key_value", "reads": 0, "writers": 2, "requests_per_second": 5});
        let refused = build(spec.as_object().unwrap(), Scale::FULL, 2, 1).err().unwrap().to_string();
        assert!(refused.starts_with("workload.requests_per_second: found 5, accepted: 0 where all"), "{refused}");
    }
}

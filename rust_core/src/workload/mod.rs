//! What clients do: keys, rows, mixes, and the driver that runs them on an engine.
//!
//! A client draws its next operation in [`Client::plan`], the driver asks the engine for admission, and the client carries
//! the operation out in [`Client::execute`]. All random draws happen in `plan`, so a driver may ask for admission again and
//! again between the two. A loader is a client whose operations are batches and that ends.

pub mod db_bench;
pub mod distributions;
pub mod driver;
pub mod halt;
pub mod insert_benchmark;
pub mod linkbench;
pub mod load_rows;
pub mod permute;
pub mod random;
pub mod recorder;
pub mod sysbench;
pub mod tpcc;
pub mod values;
pub mod ycsb;
pub mod zipf;

#[cfg(test)]
pub mod model_engine;
#[cfg(test)]
mod test_drive;

use crate::engine::{Engine, KeyLayout};
use crate::error::{Error, Result};
use crate::options::OptionInfo;
use crate::runtime::Task;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What a client is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Position of the operation's name in [`Workload::operations`].
    pub kind: usize,
    /// How many operations it counts for: more than 1 for a batch.
    pub operations: u64,
    /// About how many key and value bytes it will write: what admission is asked for. 0 for a read.
    pub write_bytes: u64,
    /// When it may start, for clients with a rate limit; 0 for at once.
    pub earliest_ns: u64,
}

impl Plan {
    /// One operation that only reads.
    pub fn read(kind: usize) -> Self {
        Self::write(kind, 0)
    }

    /// One operation that writes about so many bytes.
    pub fn write(kind: usize, write_bytes: u64) -> Self {
        Self { kind, operations: 1, write_bytes, earliest_ns: 0 }
    }
}

/// One client or loader.
pub trait Client: Send {
    /// Draws the next operation; `None` when the client has no more to do. `now_ns` serves rate limits only.
    fn plan(&mut self, now_ns: u64) -> Option<Plan>;

    /// Carries the planned operation out. Called once after each plan, when the engine has admitted its bytes.
    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()>;

    /// The random number that it would draw next, if it draws any.
    #[cfg(test)]
    fn next_random(&self) -> Option<u64> {
        None
    }
}

/// What all clients of one run share.
pub trait Workload: Send + Sync {
    /// How its keys are laid out.
    fn layout(&self) -> KeyLayout;

    /// Names of its operations.
    fn operations(&self) -> &'static [&'static str];

    /// All its parameters, `kind` included.
    fn parameters(&self) -> Map<String, Value>;

    /// One of the loaders, which share the load. What is loaded does not depend on how many there are.
    fn loader(&self, index: u32) -> Box<dyn Client>;

    /// One of the clients.
    fn client(&self, index: u32) -> Box<dyn Client>;

    /// Key and value bytes that a user could read back now, index entries included.
    fn live_bytes(&self) -> u64;
}

/// Builds a workload from its parameters, the number of clients and the seed.
type Build = fn(&Map<String, Value>, u32, u64) -> Result<Arc<dyn Workload>>;

/// A kind of workload: its name, one sentence, its parameters, and its constructor.
struct Kind {
    name: &'static str,
    text: &'static str,
    table: fn() -> Vec<OptionInfo>,
    build: Build,
}

const KINDS: [Kind; 6] = [
    Kind {
        name: linkbench::KIND,
        text: "Facebook's social graph: links, nodes and counts with a covering secondary index, half of the requests lists.",
        table: linkbench::Parameters::table,
        build: linkbench::build,
    },
    Kind {
        name: db_bench::KIND,
        text: "RocksDB's db_bench: single-benchmark loops over numbered keys with uniform draws.",
        table: db_bench::Parameters::table,
        build: db_bench::build,
    },
    Kind {
        name: ycsb::KIND,
        text: "YCSB core workloads A to F: one table of ten-field records with Zipfian requests.",
        table: ycsb::Parameters::table,
        build: ycsb::build,
    },
    Kind {
        name: insert_benchmark::KIND,
        text: "The insert benchmark (iibench): batches of rows with three secondary indexes, optionally with range queries.",
        table: insert_benchmark::Parameters::table,
        build: insert_benchmark::build,
    },
    Kind {
        name: sysbench::KIND,
        text: "sysbench OLTP: its eight scripts of point, range, update, insert and delete statements on its own tables.",
        table: sysbench::Parameters::table,
        build: sysbench::build,
    },
    Kind {
        name: tpcc::KIND,
        text: "sysbench-tpcc: five transactions of a wholesale company on nine tables, as the script runs them.",
        table: tpcc::Parameters::table,
        build: tpcc::build,
    },
];

/// Every kind of workload: name, text, parameters.
pub fn kinds() -> Vec<(&'static str, &'static str, Vec<OptionInfo>)> {
    KINDS.iter().map(|kind| (kind.name, kind.text, (kind.table)())).collect()
}

/// Builds the workload that the `workload` field of a spec describes: `{"kind": …, parameters…}`.
pub fn build(spec: &Map<String, Value>, clients: u32, seed: u64) -> Result<Arc<dyn Workload>> {
    let accepted = || KINDS.map(|kind| kind.name).join(", ");
    let name = spec.get("kind").ok_or_else(|| Error::invalid("workload.kind", "nothing", accepted()))?;
    let kind = KINDS.iter().find(|kind| name.as_str() == Some(kind.name));
    let kind = kind.ok_or_else(|| Error::invalid("workload.kind", name, accepted()))?;
    let mut parameters = spec.clone();
    parameters.remove("kind");
    (kind.build)(&parameters, clients, seed).map_err(in_workload)
}

/// The checker of options names fields `options.*`; here they are fields of `workload`.
fn in_workload(error: Error) -> Error {
    match error {
        Error::Invalid { field, found, accepted } => {
            let field = field.replacen("options.", "workload.", 1);
            Error::Invalid { field, found, accepted: accepted.replacen("an option of", "a parameter of", 1) }
        }
        other => other,
    }
}

/// Parameters with their kind, as a report shows them.
fn with_kind(kind: &str, mut parameters: Map<String, Value>) -> Map<String, Value> {
    parameters.insert("kind".to_owned(), Value::from(kind));
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(spec: Value) -> String {
        let Value::Object(spec) = spec else { panic!("not an object") };
        build(&spec, 1, 1).err().expect("the spec is wrong").to_string()
    }

    #[test]
    fn a_wrong_workload_is_refused_by_the_name_of_its_field() {
        for (spec, field) in [
            (json!({}), "workload.kind: found nothing"),
            (
                json!({"kind": "tpch"}),
                "workload.kind: found \"tpch\", accepted: linkbench, db_bench, ycsb, insert_benchmark, sysbench, tpcc",
            ),
            (json!({"kind": "linkbench", "idz": 5}), "workload.idz: found 5, accepted: a parameter of ids"),
            (json!({"kind": "linkbench", "ids": -5}), "workload.ids: found -5"),
            (json!({"kind": "ycsb", "mix": "G"}), "workload.mix: found \"G\""),
            (json!({"kind": "db_bench", "benchmark": "readwhilewriting"}), "clients: found 1"),
        ] {
            let message = refused(spec);
            assert!(message.starts_with(field), "{message}");
        }
    }

    #[test]
    fn every_kind_builds_from_its_defaults_and_shows_them() {
        for (name, _, table) in kinds() {
            let spec = Map::from_iter([("kind".to_owned(), json!(name))]);
            let shown = build(&spec, 1, 1).unwrap().parameters();
            assert_eq!(shown["kind"], json!(name));
            assert!(table.iter().all(|info| shown[info.name] == info.default), "{shown:?}");
        }
    }
}

//! Every kind of workload by its name.

use super::client::Workload;
use super::paced::{Paced, Requests};
use super::{db_bench, insert_benchmark, key_value, linkbench, sysbench, tpcc, ycsb};
use crate::error::{Error, Result};
use crate::options::OptionInfo;
use crate::scale::Scale;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Builds a workload from its parameters, the scale of its data, the number of clients and the seed.
type Build = fn(&Map<String, Value>, Scale, u32, u64) -> Result<Arc<dyn Workload>>;

/// A kind of workload: its name, one sentence, its parameters, and its constructor.
struct Kind {
    name: &'static str,
    text: &'static str,
    table: fn() -> Vec<OptionInfo>,
    build: Build,
}

/// The kind that a module declares.
macro_rules! kind {
    ($module:ident, $text:literal) => {
        Kind {
            name: $module::KIND,
            text: $text,
            table: $module::Parameters::table,
            build: |given, scale, clients, seed| {
                $module::build($module::Parameters::from_json(given)?.at_scale(scale), clients, seed)
            },
        }
    };
}

const KINDS: [Kind; 7] = [
    kind!(
        linkbench,
        "Facebook's social graph: links, nodes and counts with a covering secondary index, half of the requests lists."
    ),
    kind!(db_bench, "RocksDB's db_bench: single-benchmark loops over numbered keys with uniform draws."),
    kind!(
        key_value,
        "A key-value store of one's own: blind puts, reads, scans and inserts in any mix, at a rate or flat out."
    ),
    kind!(ycsb, "YCSB core workloads A to F: one table of ten-field records with Zipfian requests."),
    kind!(
        insert_benchmark,
        "The insert benchmark (iibench): batches of rows with three secondary indexes, optionally with range queries."
    ),
    kind!(
        sysbench,
        "sysbench OLTP: its eight scripts of point, range, update, insert and delete statements on its own tables."
    ),
    kind!(tpcc, "sysbench-tpcc: five transactions of a wholesale company on nine tables, as the script runs them."),
];

/// Every kind of workload: name, text, parameters.
pub fn kinds() -> Vec<(&'static str, &'static str, Vec<OptionInfo>)> {
    let table = |kind: &Kind| (kind.table)().into_iter().chain(Requests::table()).collect();
    KINDS.iter().map(|kind| (kind.name, kind.text, table(kind))).collect()
}

/// Builds the workload that the `workload` field of a spec describes: `{"kind": …, parameters…}`,
/// for data at this scale.
pub fn build(spec: &Map<String, Value>, scale: Scale, clients: u32, seed: u64) -> Result<Arc<dyn Workload>> {
    let accepted = || KINDS.map(|kind| kind.name).join(", ");
    let name = spec.get("kind").ok_or_else(|| Error::invalid("workload.kind", "nothing", accepted()))?;
    let kind = KINDS.iter().find(|kind| name.as_str() == Some(kind.name));
    let kind = kind.ok_or_else(|| Error::invalid("workload.kind", name, accepted()))?;
    let mut parameters = spec.clone();
    parameters.remove("kind");
    let requests = Requests::take(&mut parameters).map_err(in_workload)?;
    let workload = (kind.build)(&parameters, scale, clients, seed).map_err(in_workload)?;
    Ok(Arc::new(Paced::new(workload, requests, clients)?))
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(spec: Value) -> String {
        let Value::Object(spec) = spec else { panic!("not an object") };
        build(&spec, Scale::FULL, 1, 1).err().expect("the spec is wrong").to_string()
    }

    #[test]
    fn a_wrong_workload_is_refused_by_the_name_of_its_field() {
        for (spec, field) in [
            (json!({}), "workload.kind: found nothing"),
            (
                json!({"kind": "tpch"}),
                "workload.kind: found \"tpch\", accepted: linkbench, db_bench, key_value, ycsb, insert_benchmark, \
                 sysbench, tpcc",
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
            let shown = build(&spec, Scale::FULL, 1, 1).unwrap().parameters();
            assert_eq!(shown["kind"], json!(name));
            assert!(table.iter().all(|info| shown[info.name] == info.default), "{shown:?}");
        }
    }
}

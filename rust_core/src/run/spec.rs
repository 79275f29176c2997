//! What to run, read from JSON. Every error names its field; unknown fields are refused.

use super::machine::HardwareSpec;
use super::server::BinaryLogSpec;
use crate::engine::EngineKind;
use crate::error::{Error, Result};
use crate::scale::Scale;
use serde_json::{Map, Value};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// Which clock a run is under.
#[derive(Debug, Clone, PartialEq)]
pub enum Clock {
    /// Real time, with files in a directory that is emptied before.
    Measured {
        /// Where files go.
        directory: PathBuf,
    },
    /// Virtual time on modelled hardware.
    Simulated(Box<HardwareSpec>),
}

/// How long clients run before the measured phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Warmup {
    /// So long, and nobody asks whether that was enough.
    Seconds(f64),
    /// Until nothing changes any more, or until a budget ends, whichever comes first.
    UntilSteady {
        /// After so many seconds.
        most_seconds: Option<f64>,
        /// After so many operations of all clients.
        most_operations: Option<u64>,
    },
}

/// One run. The option names of the engine and the parameters of the workload are checked by those who know them.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Which engine runs.
    pub engine: EngineKind,
    /// Its options that differ from the defaults.
    pub options: Map<String, Value>,
    /// The workload's kind and parameters.
    pub workload: Map<String, Value>,
    /// Client threads.
    pub clients: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// Length of the measured phase; it ends at whichever limit comes first.
    pub seconds: Option<f64>,
    /// Operations of the measured phase.
    pub operations: Option<u64>,
    /// The phase before it, which is not scored.
    pub warmup: Warmup,
    /// Length of an interval.
    pub interval: Duration,
    /// The clock and what belongs to it.
    pub clock: Clock,
    /// What the data stands for.
    pub scale: Scale,
    /// Whether files stay after the run.
    pub keep: bool,
    /// The run fails when the engine uses more memory.
    pub memory_limit: Option<u64>,
    /// The server's own log, if it keeps one.
    pub binary_log: Option<BinaryLogSpec>,
}

/// Fields of a spec that are not read yet.
struct Fields {
    rest: Map<String, Value>,
    known: Vec<&'static str>,
}

impl Fields {
    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.rest.remove(name).filter(|value| !value.is_null())
    }

    fn object(&mut self, name: &'static str) -> Result<Map<String, Value>> {
        match self.take(name) {
            None => Ok(Map::new()),
            Some(Value::Object(map)) => Ok(map),
            Some(other) => Err(Error::invalid(name, other, "an object")),
        }
    }

    fn whole(&mut self, name: &'static str, accepted: RangeInclusive<u64>) -> Result<Option<u64>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let number = value.as_u64().filter(|number| accepted.contains(number));
        let describe = || format!("a whole number from {} to {}", accepted.start(), accepted.end());
        number.map(Some).ok_or_else(|| Error::invalid(name, &value, describe()))
    }

    fn seconds(&mut self, name: &'static str, accepted: RangeInclusive<f64>) -> Result<Option<f64>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let number = value.as_f64().filter(|number| accepted.contains(number));
        let describe = || format!("seconds from {} to {}", accepted.start(), accepted.end());
        number.map(Some).ok_or_else(|| Error::invalid(name, &value, describe()))
    }

    fn switch(&mut self, name: &'static str) -> Result<bool> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(value)) => Ok(value),
            Some(other) => Err(Error::invalid(name, other, "true or false")),
        }
    }

    fn word<T: Copy>(&mut self, name: &'static str, default: Option<T>, words: &[(&str, T)]) -> Result<T> {
        let accepted = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(" or ");
        let Some(value) = self.take(name) else {
            return default.ok_or_else(|| Error::invalid(name, "nothing", accepted()));
        };
        let found = words.iter().find(|(word, _)| value.as_str() == Some(word));
        found.map(|&(_, meaning)| meaning).ok_or_else(|| Error::invalid(name, &value, accepted()))
    }

    fn binary_log(&mut self) -> Result<Option<BinaryLogSpec>> {
        let Some(value) = self.take("binary_log") else { return Ok(None) };
        let spec: BinaryLogSpec = serde_json::from_value(value).map_err(|e| {
            Error::invalid(
                "binary_log",
                "another shape",
                format!("sync_binlog, max_binlog_size, binlog_row_image ({e})"),
            )
        })?;
        spec.check().map(|()| Some(spec))
    }

    fn scale(&mut self) -> Result<Scale> {
        let Some(value) = self.take("scale") else { return Ok(Scale::FULL) };
        let scale: Scale = serde_json::from_value(value)
            .map_err(|e| Error::invalid("scale", "another shape", format!("stands_for, second_us ({e})")))?;
        scale.check().map(|()| scale)
    }

    fn clock(&mut self) -> Result<Clock> {
        if self.word("clock", Some(false), &[("measured", false), ("simulated", true)])? {
            let hardware = self.take("hardware").ok_or_else(|| {
                Error::invalid("hardware", "nothing", "a machine to simulate: cores, work_ns, device")
            })?;
            return Ok(Clock::Simulated(Box::new(HardwareSpec::from_json(&hardware)?)));
        }
        match self.take("directory") {
            Some(Value::String(path)) if !path.is_empty() => Ok(Clock::Measured { directory: path.into() }),
            other => {
                let found = other.map_or_else(|| "nothing".to_owned(), |value| value.to_string());
                Err(Error::invalid("directory", found, "a path for the run's files"))
            }
        }
    }

    fn warmup(&mut self) -> Result<Warmup> {
        let seconds = self.seconds("warmup_seconds", 0.0..=LONGEST_SECONDS)?;
        let Some(value) = self.take("warmup") else { return Ok(Warmup::Seconds(seconds.unwrap_or(0.0))) };
        let accepted = "an object of most_seconds, most_operations, in place of warmup_seconds";
        let Value::Object(rest) = &value else { return Err(Error::invalid("warmup", value, accepted)) };
        let fields = Fields { rest: rest.clone(), known: Vec::new() };
        let budget = fields.budget().map_err(in_warmup)?;
        match budget {
            Warmup::UntilSteady { most_seconds: None, most_operations: None } => {
                Err(Error::invalid("warmup", value, accepted))
            }
            _ if seconds.is_some() => Err(Error::invalid("warmup", value, "warmup or warmup_seconds, not both")),
            budget => Ok(budget),
        }
    }

    fn budget(mut self) -> Result<Warmup> {
        let most_seconds = self.seconds("most_seconds", 0.001..=LONGEST_SECONDS)?;
        let most_operations = self.whole("most_operations", 1..=i64::MAX as u64)?;
        self.finish()?;
        Ok(Warmup::UntilSteady { most_seconds, most_operations })
    }

    fn finish(self) -> Result<()> {
        match self.rest.iter().next() {
            None => Ok(()),
            Some((name, value)) => Err(Error::invalid(name, value, format!("a field of {}", self.known.join(", ")))),
        }
    }
}

/// Names a field of the warm-up in full.
fn in_warmup(error: Error) -> Error {
    match error {
        Error::Invalid { field, found, accepted } => Error::invalid(format!("warmup.{field}"), found, accepted),
        other => other,
    }
}

const LONGEST_SECONDS: f64 = 1e6;

impl Spec {
    /// Reads a spec as ARCHITECTURE.md describes it.
    pub fn from_json(spec: Value) -> Result<Self> {
        let Value::Object(rest) = spec else { return Err(Error::invalid("spec", spec, "an object")) };
        let mut fields = Fields { rest, known: Vec::new() };
        let clock = fields.clock()?;
        let spec = Self {
            engine: fields.word("engine", None, &[("lsm", EngineKind::Lsm), ("btree", EngineKind::Btree)])?,
            options: fields.object("options")?,
            workload: fields.object("workload")?,
            clients: fields.whole("clients", 1..=1024)?.unwrap_or(1) as u32,
            seed: fields.whole("seed", 0..=u64::MAX)?.unwrap_or(1),
            seconds: fields.seconds("seconds", 0.001..=LONGEST_SECONDS)?,
            operations: fields.whole("operations", 1..=i64::MAX as u64)?,
            warmup: fields.warmup()?,
            interval: Duration::from_millis(fields.whole("interval_ms", 10..=3_600_000)?.unwrap_or(100)),
            clock,
            scale: fields.scale()?,
            keep: fields.switch("keep")?,
            memory_limit: fields.whole("memory_limit", 1..=u64::MAX)?,
            binary_log: fields.binary_log()?,
        };
        fields.finish()?;
        if spec.seconds.is_none() && spec.operations.is_none() {
            return Err(Error::invalid("seconds", "nothing", "seconds or operations of the measured phase"));
        }
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with(field: &str, value: Value) -> Value {
        let mut spec = json!({"engine": "lsm", "workload": {"kind": "ycsb"}, "seconds": 1, "directory": "/x"});
        spec[field] = value;
        spec
    }

    #[test]
    fn absent_fields_take_their_defaults() {
        let spec = Spec::from_json(with("keep", json!(null))).unwrap();
        assert_eq!((spec.engine, spec.clients, spec.seed, spec.keep), (EngineKind::Lsm, 1, 1, false));
        assert_eq!((spec.seconds, spec.operations, spec.warmup), (Some(1.0), None, Warmup::Seconds(0.0)));
        assert_eq!((spec.interval, spec.memory_limit), (Duration::from_millis(100), None));
    }

    #[test]
    fn a_warm_up_until_steady_needs_one_bound() {
        let spec = Spec::from_json(with("warmup", json!({"most_operations": 7}))).unwrap();
        assert_eq!(spec.warmup, Warmup::UntilSteady { most_seconds: None, most_operations: Some(7) });
    }

    #[test]
    fn every_error_names_its_field() {
        for (field, value, says) in [
            ("engine", json!("rocksdb"), "engine: found \"rocksdb\", accepted: lsm or btree"),
            ("engine", json!(null), "engine: found nothing, accepted: lsm or btree"),
            ("options", json!([1]), "options: found [1], accepted: an object"),
            ("workload", json!("ycsb"), "workload: found \"ycsb\", accepted: an object"),
            ("clients", json!(0), "clients: found 0, accepted: a whole number from 1 to 1024"),
            ("clients", json!(1.5), "clients: found 1.5, accepted: a whole number from 1 to 1024"),
            ("seed", json!(-1), "seed: found -1, accepted: a whole number from 0"),
            ("seconds", json!("2"), "seconds: found \"2\", accepted: seconds from 0.001 to 1000000"),
            ("seconds", json!(null), "seconds: found nothing, accepted: seconds or operations of the measured phase"),
            ("operations", json!(0), "operations: found 0, accepted: a whole number from 1"),
            ("warmup_seconds", json!(-1), "warmup_seconds: found -1, accepted: seconds from 0 to 1000000"),
            ("warmup", json!(2), "warmup: found 2, accepted: an object of most_seconds, most_operations"),
            ("warmup", json!({}), "warmup: found {}, accepted: an object of most_seconds, most_operations"),
            ("warmup", json!({"most": 2}), "warmup.most: found 2, accepted: a field of most_seconds, most_operations"),
            (
                "warmup",
                json!({"most_operations": 0}),
                "warmup.most_operations: found 0, accepted: a whole number from 1",
            ),
            ("interval_ms", json!(5), "interval_ms: found 5, accepted: a whole number from 10 to 3600000"),
            ("clock", json!("sundial"), "clock: found \"sundial\", accepted: measured or simulated"),
            ("clock", json!("simulated"), "hardware: found nothing, accepted: a machine to simulate"),
            ("directory", json!(null), "directory: found nothing, accepted: a path for the run's files"),
            ("keep", json!("yes"), "keep: found \"yes\", accepted: true or false"),
            (
                "binary_log",
                json!({"sync_binlog": 1, "max_binlog_size": 1, "binlog_row_image": "FULL"}),
                "binary_log.max_binlog_size: found 1, accepted: at least 4096 bytes",
            ),
            (
                "binary_log",
                json!({"sync": 1}),
                "binary_log: found another shape, accepted: sync_binlog, max_binlog_size, binlog_row_image",
            ),
            ("memory_limit", json!(0), "memory_limit: found 0, accepted: a whole number from 1"),
            (
                "client",
                json!(3),
                "client: found 3, accepted: a field of clock, directory, engine, options, workload, clients, seed",
            ),
        ] {
            let error = Spec::from_json(with(field, value)).unwrap_err();
            assert!(error.to_string().starts_with(says), "{error}");
        }
        let mut twice = with("warmup", json!({"most_seconds": 2}));
        twice["warmup_seconds"] = json!(1);
        let error = Spec::from_json(twice).unwrap_err().to_string();
        assert!(error.ends_with("accepted: warmup or warmup_seconds, not both"), "{error}");
        assert!(Spec::from_json(json!(5)).unwrap_err().to_string().starts_with("spec: found 5"));
    }
}

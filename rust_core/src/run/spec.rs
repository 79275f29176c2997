//! What to run, read from JSON. Every error names its field; unknown fields are refused.

use super::given::read;
use super::machine::HardwareSpec;
use super::server::BinaryLogSpec;
use crate::engine::EngineKind;
use crate::error::{Error, Result};
use crate::scale::Scale;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;
use strum::VariantNames;

/// Which clock a run is under.
#[derive(Debug, Clone, PartialEq)]
pub enum Clock {
    /// Real time, with files in a directory that is emptied before.
    Measured {
        /// Where files go.
        directory: PathBuf,
    },
    /// Real time, with a real engine in a directory that is emptied before.
    Real {
        /// Where files go.
        directory: PathBuf,
    },
    /// Virtual time on modelled hardware.
    Simulated(Box<HardwareSpec>),
}

/// How long clients run before the measured phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Warmup {
    /// So long, by whichever bound comes first, and nobody asks whether that was enough; not at all without a bound.
    Fixed {
        /// So many seconds.
        seconds: Option<f64>,
        /// So many operations of all clients.
        operations: Option<u64>,
    },
    /// Until nothing changes any more, or until a budget ends, whichever comes first.
    UntilSteady {
        /// After so many seconds.
        most_seconds: Option<f64>,
        /// After so many operations of all clients.
        most_operations: Option<u64>,
    },
    /// Until this part of the block cache or pool is in use, or until a budget ends, whichever comes first. Nobody asks
    /// whether that was enough.
    UntilFull {
        /// From above 0 to 1.
        cache_share: f64,
        /// After so many seconds.
        most_seconds: Option<f64>,
        /// After so many operations of all clients.
        most_operations: Option<u64>,
    },
}

/// What goes on in the background when the measured phase begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Ends {
    /// Whatever the clients left to it: the phase is a piece of a run that goes on.
    #[default]
    Running,
    /// Nothing: it settles before the phase and behind it, and the phase is charged with all of the latter.
    Settled,
}

/// A load by itself: the engine closes behind it, and opens anew with the options of the run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// Its options that differ from the defaults.
    #[serde(default)]
    pub options: Map<String, Value>,
    /// Memory of the page cache while it loads; that of the run if absent.
    pub page_cache_bytes: Option<u64>,
    /// Seed of what is loaded; that of the run if absent.
    pub seed: Option<u64>,
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
    /// What the measured phase begins and ends with.
    pub ends: Ends,
    /// Whether level 0 of an LSM is merged down before the measured phase, so that what had gathered there decides
    /// nothing in it.
    pub empties_level0: bool,
    /// Length of an interval.
    pub interval: Duration,
    /// The clock and what belongs to it.
    pub clock: Clock,
    /// What the data stands for.
    pub scale: Scale,
    /// How the data was loaded, where it was not by this run.
    pub load: Option<LoadSpec>,
    /// Whether files stay after the run.
    pub keep: bool,
    /// The run fails when the engine uses more memory.
    pub memory_limit: Option<u64>,
    /// The server's own log, if it keeps one.
    pub binary_log: Option<BinaryLogSpec>,
}

/// A spec as it is written. Absent fields and nulls are the same.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    clock: Option<ClockKind>,
    engine: Option<EngineKind>,
    options: Option<Map<String, Value>>,
    workload: Option<Map<String, Value>>,
    clients: Option<u64>,
    seed: Option<u64>,
    seconds: Option<f64>,
    operations: Option<u64>,
    warmup_seconds: Option<f64>,
    warmup_operations: Option<u64>,
    warmup: Option<GivenWarmup>,
    ends: Option<Ends>,
    empties_level0: Option<bool>,
    interval_ms: Option<u64>,
    directory: Option<String>,
    hardware: Option<HardwareSpec>,
    scale: Option<Scale>,
    load: Option<LoadSpec>,
    keep: Option<bool>,
    memory_limit: Option<u64>,
    binary_log: Option<BinaryLogSpec>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
enum ClockKind {
    Measured,
    Real,
    Simulated,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenWarmup {
    most_seconds: Option<f64>,
    most_operations: Option<u64>,
    cache_share: Option<f64>,
}

/// A number of seconds that a phase may last.
const SECONDS: RangeInclusive<f64> = 0.001..=1e6;
const WARMUP_SECONDS: RangeInclusive<f64> = 0.0..=1e6;
const OPERATIONS: RangeInclusive<u64> = 1..=i64::MAX as u64;
const CLIENTS: RangeInclusive<u64> = 1..=1024;
const INTERVAL_MS: RangeInclusive<u64> = 10..=3_600_000;
const MEMORY: RangeInclusive<u64> = 1..=u64::MAX;
const CACHE_SHARE: RangeInclusive<f64> = 0.01..=1.0;
const A_WARMUP: &str =
    "an object of most_seconds, most_operations, cache_share, in place of warmup_seconds and warmup_operations";

/// What a field takes, for all that may be wrong with it.
fn accepted(field: &str) -> Option<String> {
    let whole = |range: RangeInclusive<u64>| format!("a whole number from {} to {}", range.start(), range.end());
    let seconds = |range: RangeInclusive<f64>| format!("seconds from {} to {}", range.start(), range.end());
    Some(match field {
        "spec" | "options" | "workload" | "load" | "load.options" => "an object".to_owned(),
        "clock" => ClockKind::VARIANTS.join(" or "),
        "engine" => EngineKind::VARIANTS.join(" or "),
        "clients" => whole(CLIENTS),
        "seed" | "load.seed" | "load.page_cache_bytes" => whole(0..=u64::MAX),
        "seconds" | "warmup.most_seconds" => seconds(SECONDS),
        "operations" | "warmup_operations" | "warmup.most_operations" => whole(OPERATIONS),
        "warmup_seconds" => seconds(WARMUP_SECONDS),
        "warmup" => A_WARMUP.to_owned(),
        "warmup.cache_share" => format!("a share from {} to {}", CACHE_SHARE.start(), CACHE_SHARE.end()),
        "ends" => Ends::VARIANTS.join(" or "),
        "interval_ms" => whole(INTERVAL_MS),
        "directory" => "a path for the run's files".to_owned(),
        "keep" | "empties_level0" => "true or false".to_owned(),
        "memory_limit" => whole(MEMORY),
        _ => return None,
    })
}

/// Refuses a number that lies outside the range of its field.
fn within<T: PartialOrd + fmt::Display + Copy>(
    field: &str,
    value: Option<T>,
    range: RangeInclusive<T>,
) -> Result<Option<T>> {
    match value {
        Some(number) if !range.contains(&number) => {
            Err(Error::invalid(field, number, accepted(field).unwrap_or_default()))
        }
        _ => Ok(value),
    }
}

fn missing(field: &str) -> Error {
    Error::invalid(field, "nothing", accepted(field).unwrap_or_default())
}

/// Refuses a field that only the other clock takes.
fn only_under<T>(clock: &str, field: &str, value: Option<&T>) -> Result<()> {
    match value {
        Some(_) => Err(Error::invalid(field, "a value", format!("nothing: it is for the {clock} clock"))),
        None => Ok(()),
    }
}

/// Refuses an engine of our own under the clock of real ones, and the other way round. What stands around a real engine
/// is as real as it is.
fn check_pair(engine: EngineKind, clock: &Clock, binary_log: Option<&BinaryLogSpec>) -> Result<()> {
    let is_real = matches!(clock, Clock::Real { .. });
    if is_real != engine.is_real() {
        let accepted =
            if is_real { "rocksdb, innodb or myrocks under the real clock" } else { "lsm or btree under this clock" };
        return Err(Error::invalid("engine", format!("\"{}\"", engine.name()), accepted));
    }
    if is_real { only_under("measured or simulated", "binary_log", binary_log) } else { Ok(()) }
}

impl Given {
    fn clock(&mut self) -> Result<Clock> {
        if self.clock == Some(ClockKind::Simulated) {
            let hardware = self.hardware.take().ok_or_else(|| {
                Error::invalid("hardware", "nothing", "a machine to simulate: cores, cost, page_cache_bytes, device")
            })?;
            only_under("measured or real", "directory", self.directory.as_ref())?;
            return hardware.check().map(|()| Clock::Simulated(Box::new(hardware)));
        }
        let directory = self.directory.take().filter(|path| !path.is_empty()).ok_or_else(|| missing("directory"))?;
        only_under("simulated", "hardware", self.hardware.as_ref())?;
        only_under("simulated", "load", self.load.as_ref())?;
        let directory = directory.into();
        Ok(match self.clock {
            Some(ClockKind::Real) => Clock::Real { directory },
            _ => Clock::Measured { directory },
        })
    }

    fn warmup(&self) -> Result<Warmup> {
        let seconds = within("warmup_seconds", self.warmup_seconds, WARMUP_SECONDS)?;
        let operations = within("warmup_operations", self.warmup_operations, OPERATIONS)?;
        let Some(GivenWarmup { cache_share, most_seconds, most_operations }) = self.warmup else {
            return Ok(Warmup::Fixed { seconds, operations });
        };
        let most_seconds = within("warmup.most_seconds", most_seconds, SECONDS)?;
        let most_operations = within("warmup.most_operations", most_operations, OPERATIONS)?;
        if most_seconds.is_none() && most_operations.is_none() {
            return Err(Error::invalid("warmup", "{}", A_WARMUP));
        }
        if seconds.is_some() || operations.is_some() {
            return Err(Error::invalid("warmup", "both", "warmup, or warmup_seconds and warmup_operations"));
        }
        Ok(match within("warmup.cache_share", cache_share, CACHE_SHARE)? {
            Some(cache_share) => Warmup::UntilFull { cache_share, most_seconds, most_operations },
            None => Warmup::UntilSteady { most_seconds, most_operations },
        })
    }
}

impl Spec {
    /// Reads a spec as docs/spec.md describes it.
    pub fn from_json(spec: Value) -> Result<Self> {
        let mut given: Given = read(&spec, accepted)?;
        let clock = given.clock()?;
        let scale = given.scale.unwrap_or(Scale::FULL);
        scale.check()?;
        if let Some(log) = &given.binary_log {
            log.check()?;
        }
        let engine = given.engine.ok_or_else(|| missing("engine"))?;
        check_pair(engine, &clock, given.binary_log.as_ref())?;
        let spec = Self {
            clock,
            scale,
            engine,
            clients: within("clients", given.clients, CLIENTS)?.unwrap_or(1) as u32,
            seed: given.seed.unwrap_or(1),
            seconds: within("seconds", given.seconds, SECONDS)?,
            operations: within("operations", given.operations, OPERATIONS)?,
            warmup: given.warmup()?,
            ends: given.ends.unwrap_or_default(),
            empties_level0: given.empties_level0.unwrap_or(false),
            load: given.load,
            interval: Duration::from_millis(within("interval_ms", given.interval_ms, INTERVAL_MS)?.unwrap_or(100)),
            keep: given.keep.unwrap_or(false),
            memory_limit: within("memory_limit", given.memory_limit, MEMORY)?,
            binary_log: given.binary_log,
            options: given.options.unwrap_or_default(),
            workload: given.workload.unwrap_or_default(),
        };
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

    const NO_WARMUP: Warmup = Warmup::Fixed { seconds: None, operations: None };

    fn with(field: &str, value: Value) -> Value {
        let mut spec = json!({"engine": "lsm", "workload": {"kind": "ycsb"}, "seconds": 1, "directory": "/x"});
        spec[field] = value;
        spec
    }

    #[test]
    fn absent_fields_take_their_defaults() {
        let spec = Spec::from_json(with("keep", json!(null))).unwrap();
        assert_eq!((spec.engine, spec.clients, spec.seed, spec.keep), (EngineKind::Lsm, 1, 1, false));
        assert_eq!((spec.seconds, spec.operations, spec.warmup), (Some(1.0), None, NO_WARMUP));
        assert_eq!((spec.ends, spec.empties_level0), (Ends::Running, false));
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
            (
                "engine",
                json!("tokudb"),
                "engine: found \"tokudb\", accepted: lsm or btree or rocksdb or innodb or myrocks",
            ),
            ("engine", json!("rocksdb"), "engine: found \"rocksdb\", accepted: lsm or btree under this clock"),
            (
                "clock",
                json!("real"),
                "engine: found \"lsm\", accepted: rocksdb, innodb or myrocks under the real clock",
            ),
            ("engine", json!(null), "engine: found nothing, accepted: lsm or btree or rocksdb or innodb or myrocks"),
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
            (
                "warmup",
                json!({"cache_share": 1.5, "most_operations": 9}),
                "warmup.cache_share: found 1.5, accepted: a share from 0.01 to 1",
            ),
            ("warmup_operations", json!(0), "warmup_operations: found 0, accepted: a whole number from 1"),
            ("ends", json!("well"), "ends: found \"well\", accepted: running or settled"),
            ("empties_level0", json!(1), "empties_level0: found 1, accepted: true or false"),
            ("load", json!({}), "load: found a value, accepted: nothing: it is for the simulated clock"),
            ("load", json!({"seed": -1}), "load.seed: found -1, accepted: a whole number from 0"),
            ("load", json!({"sead": 1}), "load.sead: found 1, accepted: a field of options, page_cache_bytes, seed"),
            ("interval_ms", json!(5), "interval_ms: found 5, accepted: a whole number from 10 to 3600000"),
            ("clock", json!("sundial"), "clock: found \"sundial\", accepted: measured or real or simulated"),
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
                "binary_log.sync: found 1, accepted: a field of sync_binlog, max_binlog_size, binlog_row_image",
            ),
            ("memory_limit", json!(0), "memory_limit: found 0, accepted: a whole number from 1"),
            (
                "client",
                json!(3),
                "client: found 3, accepted: a field of clock, engine, options, workload, clients, seed, seconds",
            ),
        ] {
            let error = Spec::from_json(with(field, value)).unwrap_err();
            assert!(error.to_string().starts_with(says), "{error}");
        }
        let mut twice = with("warmup", json!({"most_seconds": 2}));
        twice["warmup_seconds"] = json!(1);
        let error = Spec::from_json(twice).unwrap_err().to_string();
        assert!(error.ends_with("accepted: warmup, or warmup_seconds and warmup_operations"), "{error}");
        assert!(Spec::from_json(json!(5)).unwrap_err().to_string().starts_with("spec: found 5"));
    }
}

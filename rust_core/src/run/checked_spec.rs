//! A spec whose every part is checked by those who know it, and the engine that it asks for.

use super::server::Server;
use super::spec::{Clock, LoadSpec, Spec, Warmup};
use crate::engine::{Engine, EngineKind, KeyLayout};
use crate::error::{Error, Result};
use crate::scale::Scale;
use crate::storage::Storage;
use crate::task::{Signal, Task};
use crate::workload::{self, Workload};
use serde_json::{Map, Value};
use std::sync::Arc;

/// An engine to open.
pub struct WantedEngine<'a> {
    /// Which.
    pub kind: EngineKind,
    /// All its options.
    pub options: &'a Map<String, Value>,
    /// How its keys are laid out.
    pub layout: KeyLayout,
    /// What it stands for.
    pub scale: Scale,
}

/// Checks options and opens engines.
pub trait Opener: Send + Sync {
    /// Checks the given options and fills in the defaults.
    fn options(&self, kind: EngineKind, given: &Map<String, Value>) -> Result<Map<String, Value>>;

    /// Opens an engine on an empty storage.
    fn open(
        &self,
        wanted: &WantedEngine<'_>,
        storage: Arc<dyn Storage>,
        signal: Arc<Signal>,
        task: &mut Task,
    ) -> Result<Arc<dyn Engine>>;
}

/// A spec whose every part is checked.
#[derive(Clone)]
pub struct CheckedSpec {
    /// What was asked for.
    pub spec: Spec,
    /// All options of the engine.
    pub options: Map<String, Value>,
    /// The workload.
    pub workload: Arc<dyn Workload>,
    /// Who opens the engine.
    pub opener: Arc<dyn Opener>,
    /// The run that loads the data, where it is not this one. Nothing is in it but what the data depends on, so two
    /// that are equal leave the same.
    pub load: Option<Spec>,
}

/// Options under the virtual clock alone. Real files are read and written through the page cache: direct I/O wants
/// aligned buffers and lengths, which no engine here keeps.
const DIRECT_IO: [&str; 2] = ["use_direct_reads", "use_direct_io_for_flush_and_compaction"];

fn refuse_direct_io(options: &Map<String, Value>) -> Result<()> {
    match DIRECT_IO.into_iter().find(|name| options.get(*name) == Some(&Value::Bool(true))) {
        None => Ok(()),
        Some(name) => Err(Error::invalid(format!("options.{name}"), true, "false under the measured clock")),
    }
}

/// The run that loads the data for `spec`.
fn loading(spec: &Spec, load: &LoadSpec, opener: &dyn Opener) -> Result<Spec> {
    let options = opener.options(spec.engine, &load.options).map_err(in_load)?;
    let mut clock = spec.clock.clone();
    if let (Clock::Simulated(hardware), Some(bytes)) = (&mut clock, load.page_cache_bytes) {
        hardware.page_cache_bytes = bytes;
    }
    Ok(Spec {
        options,
        clock,
        seed: load.seed.unwrap_or(spec.seed),
        load: None,
        seconds: None,
        operations: None,
        warmup: Warmup::Fixed { seconds: None, operations: None },
        keep: false,
        memory_limit: None,
        ..spec.clone()
    })
}

/// The checker of options names fields `options.*`; here they are fields of `load`.
fn in_load(error: Error) -> Error {
    match error {
        Error::Invalid { field, found, accepted } => Error::Invalid { field: format!("load.{field}"), found, accepted },
        other => other,
    }
}

impl CheckedSpec {
    /// Checks a spec, with the engines that `opener` opens.
    pub fn new(spec: Value, opener: Arc<dyn Opener>) -> Result<Self> {
        let spec = Spec::from_json(spec)?;
        let options = opener.options(spec.engine, &spec.options)?;
        if matches!(spec.clock, Clock::Measured { .. }) {
            refuse_direct_io(&options)?;
        }
        let workload = workload::build(&spec.workload, spec.scale, spec.clients, spec.seed)?;
        let load = spec.load.as_ref().map(|load| loading(&spec, load, &*opener)).transpose()?;
        Ok(Self { spec, options, workload, opener, load })
    }

    /// The run `load` in place of this one, which has the same engine and workload.
    pub fn of_load(&self, load: &Spec) -> Result<Self> {
        Ok(Self {
            spec: load.clone(),
            options: load.options.clone(),
            workload: workload::build(&load.workload, load.scale, load.clients, load.seed)?,
            opener: self.opener.clone(),
            load: None,
        })
    }

    /// Opens the engine on an empty storage, with a server's log around it if the spec says so.
    pub fn open(&self, storage: &Arc<dyn Storage>, signal: &Arc<Signal>, task: &mut Task) -> Result<Arc<dyn Engine>> {
        let Self { spec, options, workload, opener, .. } = self;
        let wanted =
            WantedEngine { kind: spec.engine, options, layout: workload.layout(), scale: spec.scale.of_what_runs() };
        let engine = opener.open(&wanted, storage.clone(), signal.clone(), task)?;
        Ok(match spec.binary_log {
            None => engine,
            Some(log) => Arc::new(Server::new(engine, storage.clone(), log, task)?),
        })
    }
}

//! The two engines, opened by name.

use super::checked_spec::{Opener, WantedEngine};
use crate::btree::{self, Btree};
use crate::engine::{Engine, EngineKind};
use crate::error::{Error, Result};
use crate::lsm::{self, Lsm};
use crate::real::{RocksDbOptions, ServerOptions};
use crate::storage::Storage;
use crate::task::{Signal, Task};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Opens the real engines.
pub struct Engines;

impl Opener for Engines {
    fn options(&self, kind: EngineKind, given: &Map<String, Value>) -> Result<Map<String, Value>> {
        Ok(match kind {
            EngineKind::Lsm => lsm::Options::from_json(given)?.to_json(),
            EngineKind::Btree => btree::Options::from_json(given)?.to_json(),
            EngineKind::Rocksdb => RocksDbOptions::from_json(given)?.to_json(),
            EngineKind::Innodb | EngineKind::Myrocks => ServerOptions::from_json(given)?.to_json(),
        })
    }

    fn open(
        &self,
        wanted: &WantedEngine<'_>,
        storage: Arc<dyn Storage>,
        signal: Arc<Signal>,
        task: &mut Task,
    ) -> Result<Arc<dyn Engine>> {
        let WantedEngine { kind, options, layout, scale } = *wanted;
        Ok(match kind {
            EngineKind::Lsm => Lsm::open(storage, lsm::Options::from_json(options)?.at_scale(scale), signal, task)?,
            EngineKind::Btree => {
                let options = btree::Options::from_json(options)?.at_scale(scale);
                Btree::open(storage, options, layout, signal, task)?
            }
            EngineKind::Rocksdb | EngineKind::Innodb | EngineKind::Myrocks => {
                return Err(Error::invalid("engine", kind.name(), "an engine that keeps the run's time"));
            }
        })
    }
}

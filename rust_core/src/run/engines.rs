//! The two engines, opened by name.

use super::{EngineKind, Opener};
use crate::btree::{self, Btree};
use crate::engine::{Engine, KeyLayout};
use crate::error::Result;
use crate::lsm::{self, Lsm};
use crate::runtime::{Signal, Task};
use crate::storage::Storage;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Opens the real engines.
pub struct Engines;

impl Opener for Engines {
    fn options(&self, kind: EngineKind, given: &Map<String, Value>) -> Result<Map<String, Value>> {
        Ok(match kind {
            EngineKind::Lsm => lsm::Options::from_json(given)?.to_json(),
            EngineKind::Btree => btree::Options::from_json(given)?.to_json(),
        })
    }

    fn open(
        &self,
        kind: EngineKind,
        options: &Map<String, Value>,
        layout: KeyLayout,
        storage: Arc<dyn Storage>,
        signal: Arc<Signal>,
        task: &mut Task,
    ) -> Result<Arc<dyn Engine>> {
        Ok(match kind {
            EngineKind::Lsm => Lsm::open(storage, lsm::Options::from_json(options)?, signal, task)?,
            EngineKind::Btree => Btree::open(storage, btree::Options::from_json(options)?, layout, signal, task)?,
        })
    }
}

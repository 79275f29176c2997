//! One phase of a run: when it ends, whether it is judged, and what it yields, the same under either clock.

use super::recorder::Recorder;
use crate::cost::CpuUse;
use crate::engine::Engine;
use crate::error::Result;
use crate::metrics::{Length, MetersSnapshot, Snapshot, Steadiness};
use crate::real::{RocksDb, SqlServer};
use crate::storage::Storage;
use crate::workload::Client;
use std::time::Duration;

/// Who counts the bytes of a run.
pub trait Counted: Send + Sync {
    /// By purpose, since the engine was opened.
    fn meters(&self) -> MetersSnapshot;

    /// Bytes that the files take.
    fn used_bytes(&self) -> Result<u64>;
}

impl<S: Storage + ?Sized> Counted for S {
    fn meters(&self) -> MetersSnapshot {
        Storage::meters(self).snapshot()
    }

    fn used_bytes(&self) -> Result<u64> {
        Storage::used_bytes(self)
    }
}

impl Counted for RocksDb {
    fn meters(&self) -> MetersSnapshot {
        RocksDb::meters(self)
    }

    fn used_bytes(&self) -> Result<u64> {
        RocksDb::used_bytes(self)
    }
}

impl Counted for SqlServer {
    fn meters(&self) -> MetersSnapshot {
        SqlServer::meters(self)
    }

    fn used_bytes(&self) -> Result<u64> {
        SqlServer::used_bytes(self)
    }
}

/// All counters of a run, as of `at_ns`.
pub fn snapshot(engine: &dyn Engine, counted: &(impl Counted + ?Sized), at_ns: u64) -> Result<Snapshot> {
    let (meters, engine) = (counted.meters(), engine.stats());
    let disk_bytes = counted.used_bytes()?.saturating_sub(engine.circular_bytes);
    Ok(Snapshot { at_ns, meters, engine, disk_bytes })
}

/// When a phase ends, besides when all its clients end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// After so many seconds.
    pub seconds: Option<f64>,
    /// After so many operations of all clients.
    pub operations: Option<u64>,
    /// How often intervals are sampled and limits looked at.
    pub interval: Duration,
    /// The run fails when the engine uses more memory.
    pub memory_bytes: Option<u64>,
    /// Whether the phase is judged.
    pub watch: Watch,
}

/// Whether somebody asks if a phase is steady.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Watch {
    /// Nobody.
    Unwatched,
    /// It is judged when it has ended.
    Judged,
    /// It ends when a phase of this length can be expected to be steady.
    UntilWarmFor(Length),
    /// It ends when this part of the block cache or pool is in use, if there is one.
    UntilFull {
        /// From above 0 to 1.
        cache_share: f64,
    },
}

impl Watch {
    /// The judge of a phase that begins now, if it has one.
    pub fn judge(self, began: &Snapshot) -> Option<Steadiness> {
        (self != Self::Unwatched).then(|| Steadiness::new(began.clone()))
    }

    /// Whether a phase shall go on no longer.
    pub fn is_content(self, judge: &Steadiness) -> bool {
        match self {
            Self::Unwatched | Self::Judged => false,
            Self::UntilWarmFor(planned) => judge.is_warm_for(planned),
            Self::UntilFull { cache_share } => judge.cache_share().is_none_or(|share| share >= cache_share),
        }
    }
}

/// What a phase yielded.
pub struct Outcome {
    /// The clients, for the next phase.
    pub clients: Vec<Box<dyn Client>>,
    /// Counters when it began.
    pub before: Snapshot,
    /// Counters when it ended.
    pub after: Snapshot,
    /// What all clients measured.
    pub recorder: Recorder,
    /// Blocks or pages that clients asked for.
    pub blocks_asked: u64,
    /// What the clients used; with the virtual clock, the background work too.
    pub cpu: CpuUse,
    /// The most memory that the engine used at the end of an interval.
    pub memory_bytes: u64,
    /// For how long background work that pays debt ran in it; `None` where nobody tells.
    pub busy_ns: Option<u64>,
    /// What was seen of its steadiness, if it was watched.
    pub steadiness: Option<Steadiness>,
}

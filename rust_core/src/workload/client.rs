//! What a workload is to whoever runs it: loaders and clients that plan operations and carry them out.

use super::pace::Turn;
use crate::engine::{Engine, KeyLayout};
use crate::error::Result;
use crate::session::{Session, Tables, no_statements};
use crate::task::Task;
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
    /// When it may start, for clients that are held to a rate.
    pub turn: Turn,
}

impl Plan {
    /// One operation that only reads.
    pub fn read(kind: usize) -> Self {
        Self::write(kind, 0)
    }

    /// One operation that writes about so many bytes.
    pub fn write(kind: usize, write_bytes: u64) -> Self {
        Self { kind, operations: 1, write_bytes, turn: Turn::default() }
    }
}

/// One client or loader.
pub trait Client: Send {
    /// A phase begins. Called for all its clients before any of them plans.
    fn begin(&mut self, _now_ns: u64) {}

    /// Draws the next operation; `None` when the client has no more to do. `now_ns` serves rates only.
    fn plan(&mut self, now_ns: u64) -> Option<Plan>;

    /// Carries the planned operation out. Called once after each plan, when the engine has admitted its bytes.
    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()>;

    /// Carries the planned operation out in the statements of the benchmark's own script. Called once after each plan,
    /// and again for the same plan where another transaction was in the way and this one was given up.
    fn speak(&mut self, _session: &mut dyn Session) -> Result<()> {
        Err(no_statements())
    }

    /// How long ago an operation was due that no client has begun; `None` for clients to whom none is due.
    fn behind_ns(&self, _now_ns: u64) -> Option<u64> {
        None
    }

    /// The random number that it would draw next, if it draws any.
    #[cfg(test)]
    fn next_random(&self) -> Option<u64> {
        None
    }
}

/// How a workload holds one of its clients to a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// With the others, to that of requests, if the spec has one.
    Requests,
    /// With its like, to so many operations per second; 0 for no limit.
    Apart(u64),
    /// Alone, as the program does that the workload follows, to so many per second: lost time stays lost.
    Throttled(u64, RateUnit),
}

/// What a rate counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateUnit {
    /// Operations.
    Operations,
    /// Bytes of keys and values that are written.
    Bytes,
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

    /// How one of the clients is held to a rate.
    fn rate(&self, _index: u32) -> Rate {
        Rate::Requests
    }

    /// Its tables on a SQL server; `None` for a workload of plain keys.
    fn tables(&self) -> Option<Tables> {
        None
    }

    /// Whether any of its clients ever writes.
    fn writes(&self) -> bool {
        true
    }

    /// A copy for another run, with clients of this seed. It goes on from what this one was loaded with, and each of
    /// the two changes by itself.
    fn fork(&self, seed: u64) -> Arc<dyn Workload>;

    /// Key and value bytes that a user could read back now, index entries included.
    fn live_bytes(&self) -> u64;
}

/// Parameters with their kind, as a report shows them.
pub fn with_kind(kind: &str, mut parameters: Map<String, Value>) -> Map<String, Value> {
    parameters.insert("kind".to_owned(), Value::from(kind));
    parameters
}

//! LinkBench: the social graph of Facebook as a MySQL schema (Armstrong et al., SIGMOD 2013). Where the program does
//! other than its configuration says, this does what the program does.

pub mod client;
pub mod graph;
pub mod load;
pub mod schema;
mod statements;

use super::counter::Counter;
use super::distributions::LogNormal;
use super::values::Motifs;
use super::{Client, Workload, with_kind};
use crate::engine::KeyLayout;
use crate::engine_options;
use crate::error::Result;
use crate::options::Accepts;
use crate::random::{Random, Stream};
use crate::session::Tables;
use crate::table::RowLocks;
use graph::{FIRST_ID, Graph};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Its name in a spec.
pub const KIND: &str = "linkbench";

engine_options! {
    /// What a spec may say about LinkBench.
    Parameters {
        ids: u64 = 100_000u64, Accepts::Range(2.0, 1e9),
            "Nodes that the graph is loaded with; each has 4.4 links on average and takes about 800 bytes.";
        mix: String = "facebook", Accepts::Words(&["facebook", "fork2020"]),
            "Shares of the ten operations: Facebook's file of 2012, or the defaults of Callaghan's fork of 2020.";
        write_access: String = "effective", Accepts::Words(&["effective", "configured"]),
            "Which ids link writes choose: as the program does (as reads do), or as its configuration says (Zipf \
             0.741).";
        link_data_median: f64 = 8.0, Accepts::Range(1.0, 250.0),
            "Median bytes of a link's payload (the fork of 2020 has 23).";
        node_data_median: f64 = 128.0, Accepts::Range(1.0, 100_000.0),
            "Median bytes of a node's payload (the fork of 2020 has 168).";
        list_limit: u64 = 10_000u64, Accepts::Range(1.0, 1e6),
            "Most links that one list returns.";
        history_percent: f64 = 0.3, Accepts::Range(0.0, 100.0),
            "Percent of list requests that continue an earlier list which reached the limit.";
        load_batch_rows: u64 = 1024u64, Accepts::Range(1.0, 100_000.0),
            "Rows that a loader writes at once.";
    }
}

/// Names of the operations, in the order of LinkBench's request mix.
pub const OPERATIONS: [&str; 10] = [
    "add_link",
    "delete_link",
    "update_link",
    "count_link",
    "multiget_link",
    "get_links_list",
    "add_node",
    "update_node",
    "delete_node",
    "get_node",
];

/// Percent of requests, in the order of [`OPERATIONS`]: `config/FBWorkload.properties` of Facebook's repository.
const FACEBOOK_MIX: [f64; 10] =
    [8.9886601, 2.9907664, 8.0122125, 4.8863567, 0.5261142, 50.7119145, 2.5732789, 7.366437, 1.0115914, 12.9326683];

/// The same file of Callaghan's fork in 2020.
const FORK_2020_MIX: [f64; 10] =
    [5.35038, 0.98401, 4.75589, 4.27898, 12.14725, 22.57039, 2.61198, 3.06256, 0.25166, 43.9869];

/// Which node a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeAccess {
    /// Zipf 0.625.
    Read,
    /// Zipf 0.606.
    Update,
    /// Uniform.
    Delete,
}

/// When the graph was loaded, in milliseconds of Unix time (January 2016). Time is logical, so that a seed means the
/// same run under any clock.
const LOADED_AT_MS: u64 = 1_452_000_000_000;

/// Payload of links or nodes.
#[derive(Clone)]
struct Payload {
    size: LogNormal,
    motifs: Motifs,
}

impl Payload {
    fn draw(&self, random: &mut Random) -> Vec<u8> {
        let bytes = self.size.draw(random) as usize;
        self.motifs.value(random, bytes)
    }
}

/// What all clients share.
#[derive(Clone)]
pub struct Shared {
    parameters: Parameters,
    seed: u64,
    graph: Graph,
    link_payload: Payload,
    node_payload: Payload,
    locks: RowLocks,
    /// The next id of the auto-increment column of the nodes.
    next_node_id: Counter<AtomicU64>,
    live_bytes: Counter<AtomicI64>,
    /// Chunks of the load that no loader took yet.
    next_link_chunk: Counter<AtomicU64>,
}

impl Shared {
    fn next_node_id(&self) -> u64 {
        self.next_node_id.fetch_add(1, Ordering::Relaxed)
    }

    fn grew(&self, bytes: i64) {
        self.live_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The workload.
pub struct LinkBench {
    shared: Arc<Shared>,
}

/// From the parameters of a spec.
pub fn build(parameters: Parameters, _clients: u32, seed: u64) -> Result<Arc<dyn Workload>> {
    Ok(Arc::new(LinkBench::new(parameters, seed)))
}

impl LinkBench {
    /// A graph that is not loaded yet.
    pub fn new(parameters: Parameters, seed: u64) -> Self {
        let mut random = Random::derive(seed, Stream::Shared(0));
        let size = |median, max| LogNormal { median, sigma: 1.0, max };
        let shared = Shared {
            graph: Graph::new(&parameters),
            link_payload: Payload {
                size: size(parameters.link_data_median, 254),
                motifs: Motifs::new(&mut random, 32, 100, 0.225),
            },
            node_payload: Payload {
                size: size(parameters.node_data_median, (1 << 20) - 1),
                motifs: Motifs::new(&mut random, 50, 220, 0.63),
            },
            locks: RowLocks::default(),
            next_node_id: Counter::at(FIRST_ID + parameters.ids),
            live_bytes: Counter::at(0),
            next_link_chunk: Counter::at(0),
            parameters,
            seed,
        };
        Self { shared: Arc::new(shared) }
    }
}

impl Workload for LinkBench {
    fn layout(&self) -> KeyLayout {
        KeyLayout::Indexed
    }

    fn operations(&self) -> &'static [&'static str] {
        &OPERATIONS
    }

    fn parameters(&self) -> Map<String, Value> {
        with_kind(KIND, self.shared.parameters.to_json())
    }

    fn loader(&self, index: u32) -> Box<dyn Client> {
        Box::new(load::Loader::new(self.shared.clone(), index))
    }

    fn client(&self, index: u32) -> Box<dyn Client> {
        Box::new(client::Requester::new(self.shared.clone(), index))
    }

    fn tables(&self) -> Option<Tables> {
        Some(statements::tables())
    }

    fn fork(&self, seed: u64) -> Arc<dyn Workload> {
        Arc::new(Self { shared: Arc::new(Shared { seed, ..(*self.shared).clone() }) })
    }

    fn live_bytes(&self) -> u64 {
        self.shared.live_bytes.load(Ordering::Relaxed).max(0) as u64
    }
}

#[cfg(test)]
mod tests;

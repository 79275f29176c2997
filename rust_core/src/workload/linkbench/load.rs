//! The load phase. Loaders take chunks of 2048 ids from a queue and write the links of each, then its counts; the first
//! one writes all nodes before. Each chunk has random numbers of its own, so what is loaded does not depend on who
//! takes it.

use super::graph::{FIRST_ID, FIRST_LINK_TYPE, LINK_TYPES};
use super::schema::{Count, Counts, Link, Links, NODE_TYPE, Node, Nodes, VISIBLE};
use super::statements::row_of;
use super::{LOADED_AT_MS, Shared};
use crate::engine::Engine;
use crate::error::Result;
use crate::random::{Random, Stream};
use crate::session::Session;
use crate::table::Transaction;
use crate::task::Task;
use crate::workload::{Client, Plan};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const CHUNK_IDS: u64 = 2048;
/// Loaded links are up to 2^32 ms, about 50 days, old.
const OLDEST_LINK_MS: u64 = 1 << 32;
/// The stream of the nodes, which one loader writes, behind those of all chunks of links.
const NODE_STREAM: Stream = Stream::LoadChunk(u64::MAX);

/// One loader.
pub struct Loader {
    shared: Arc<Shared>,
    nodes: Range<u64>,
    node_random: Random,
    chunk: Option<Chunk>,
    counts: Vec<Count>,
    change: Transaction,
}

impl Loader {
    /// Loader 0 writes the nodes.
    pub fn new(shared: Arc<Shared>, index: u32) -> Self {
        let end = FIRST_ID + shared.graph.ids();
        let nodes = if index == 0 { FIRST_ID..end } else { end..end };
        let node_random = Random::derive(shared.seed, NODE_STREAM);
        Self { shared, nodes, node_random, chunk: None, counts: Vec::new(), change: Transaction::default() }
    }

    /// Adds the next batch to the transaction and returns its rows; 0 at the end of the load.
    fn fill(&mut self) -> u64 {
        let most = self.shared.parameters.load_batch_rows;
        let rows = self.fill_nodes(most);
        if rows > 0 {
            return rows;
        }
        loop {
            if self.counts.len() as u64 >= most || self.chunk.is_none() && !self.counts.is_empty() {
                return self.fill_counts(most);
            }
            if self.chunk.is_none() {
                self.chunk = self.take_chunk();
            }
            if self.chunk.is_none() {
                return 0;
            }
            let rows = self.fill_links(most);
            if rows > 0 {
                return rows;
            }
        }
    }

    fn fill_nodes(&mut self, most: u64) -> u64 {
        let ids = self.nodes.by_ref().take(most as usize);
        let mut rows = 0;
        for id in ids {
            let data = self.shared.node_payload.draw(&mut self.node_random);
            let time = (LOADED_AT_MS / 1000) as u32;
            self.change.add::<Nodes>(&Node { id, node_type: NODE_TYPE, version: 1, time, data });
            rows += 1;
        }
        rows
    }

    fn fill_links(&mut self, most: u64) -> u64 {
        let mut rows = 0;
        while rows < most {
            let Some(link) = self.chunk.as_mut().and_then(|chunk| chunk.next(&self.shared, &mut self.counts)) else {
                self.chunk = None;
                break;
            };
            self.change.add::<Links>(&link);
            rows += 1;
        }
        rows
    }

    fn fill_counts(&mut self, most: u64) -> u64 {
        let rows = self.counts.len().min(most as usize);
        for count in self.counts.drain(..rows) {
            self.change.add::<Counts>(&count);
        }
        rows as u64
    }

    fn take_chunk(&self) -> Option<Chunk> {
        let number = self.shared.next_link_chunk.fetch_add(1, Ordering::Relaxed);
        let (start, end) = (FIRST_ID + number * CHUNK_IDS, FIRST_ID + self.shared.graph.ids());
        (start < end).then(|| Chunk::new(&self.shared, number, start..end.min(start + CHUNK_IDS)))
    }
}

impl Client for Loader {
    fn plan(&mut self, _now_ns: u64) -> Option<Plan> {
        let operations = self.fill();
        (operations > 0).then(|| Plan { operations, ..Plan::write(0, self.change.user_bytes()) })
    }

    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        let grown = self.change.commit(engine, task)?;
        self.shared.grew(grown);
        Ok(())
    }

    fn speak(&mut self, session: &mut dyn Session) -> Result<()> {
        let grown = self.change.commit_by_statements(session, row_of)?;
        self.shared.grew(grown);
        Ok(())
    }
}

/// The links of a range of ids, one after the other.
struct Chunk {
    random: Random,
    ids: Range<u64>,
    link_type: u64,
    /// Links of this id and type: written so far, and in all.
    written: u64,
    links: u64,
    newest: u64,
}

impl Chunk {
    fn new(shared: &Shared, number: u64, ids: Range<u64>) -> Self {
        let random = Random::derive(shared.seed, Stream::LoadChunk(number));
        let links = shared.graph.loaded_links(ids.start, FIRST_LINK_TYPE);
        Self { random, ids, link_type: FIRST_LINK_TYPE, written: 0, links, newest: 0 }
    }

    /// The next link; a finished id and type adds its count.
    fn next(&mut self, shared: &Shared, counts: &mut Vec<Count>) -> Option<Link> {
        while self.written == self.links {
            counts.extend(self.count());
            self.link_type += 1;
            if self.link_type == FIRST_LINK_TYPE + LINK_TYPES {
                self.link_type = FIRST_LINK_TYPE;
                self.ids.start += 1;
            }
            if self.ids.is_empty() {
                return None;
            }
            (self.written, self.newest) = (0, 0);
            self.links = shared.graph.loaded_links(self.ids.start, self.link_type);
        }
        let data = shared.link_payload.draw(&mut self.random);
        let time = LOADED_AT_MS - 1 - self.random.below(OLDEST_LINK_MS);
        self.newest = self.newest.max(time);
        let (id1, id2) = (self.ids.start, self.ids.start + self.written);
        self.written += 1;
        Some(Link { id1, link_type: self.link_type, id2, visibility: VISIBLE, data, time, version: 0 })
    }

    fn count(&self) -> Option<Count> {
        let (id, link_type, count) = (self.ids.start, self.link_type, self.links as u32);
        (count > 0).then_some(Count { id, link_type, count, time: self.newest, version: 0 })
    }
}

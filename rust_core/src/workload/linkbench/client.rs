//! One requester: the ten operations of LinkBench as its MySQL store carries them out.

use super::graph::{Existing, Graph, LinkUse};
use super::schema::{
    Count, Counts, HIDDEN, Link, Links, NODE_TYPE, Node, Nodes, VISIBLE, count_key, decode_list_entry, id1_type_prefix,
    link_key, list_prefix, node_key,
};
use super::{FACEBOOK_MIX, FORK_2020_MIX, LOADED_AT_MS, NodeAccess, Shared, statements};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::random::{Random, Stream};
use crate::session::{Session, charge_frame_in_packets, charge_statements};
use crate::table::keys::push_u64_descending;
use crate::table::{Schema, Transaction, consider};
use crate::task::Task;
use crate::workload::{Client, Plan};
use std::sync::Arc;

/// Truncated lists that a requester remembers.
const HISTORY_ENTRIES: usize = 2048;

/// Encoded bytes besides the payload: of a link row with its index entry, of one more moved entry, of a count, of a
/// node.
const LINK_BYTES: u64 = 28 + 13 + 41 + 9;
const MOVED_ENTRY_BYTES: u64 = 41 + 18;
const COUNT_BYTES: u64 = 40;
const NODE_BYTES: u64 = 12 + 16;

/// What versions of a node are: it is written with one, and replaced with the other however often.
const NEW_NODE_VERSION: u64 = 1;
const REPLACED_NODE_VERSION: u64 = 2;

/// The last link of a list that reached the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tail {
    id1: u64,
    link_type: u64,
    time: u64,
}

impl Tail {
    /// From where on a list is read that is new.
    fn before(id1: u64, link_type: u64) -> Self {
        Self { id1, link_type, time: u64::MAX }
    }
}

/// An operation with all its random choices.
enum Operation {
    /// An add or an update: MySQL's store does the same for both.
    PutLink(Link),
    DeleteLink {
        id1: u64,
        link_type: u64,
        id2: u64,
    },
    CountLink {
        id: u64,
        link_type: u64,
    },
    MultigetLink {
        id1: u64,
        link_type: u64,
        id2s: Vec<u64>,
    },
    GetLinksList {
        id1: u64,
        link_type: u64,
    },
    /// Continues the remembered list at this position.
    ContinueList {
        tail: usize,
    },
    AddNode {
        /// Once it is taken.
        id: Option<u64>,
        data: Vec<u8>,
    },
    UpdateNode {
        id: u64,
        data: Vec<u8>,
    },
    DeleteNode {
        id: u64,
    },
    GetNode {
        id: u64,
    },
}

/// One requester.
pub struct Requester {
    shared: Arc<Shared>,
    random: Random,
    /// Upper bounds of the operations' shares.
    mix: [f64; 10],
    next: Option<Operation>,
    /// Logical time: one millisecond for each operation of this requester.
    now_ms: u64,
    tails: Vec<Tail>,
    change: Transaction,
    key: Vec<u8>,
    other_key: Vec<u8>,
    value: Vec<u8>,
}

impl Requester {
    /// Requester `index` of the run.
    pub fn new(shared: Arc<Shared>, index: u32) -> Self {
        let shares = if shared.parameters.mix == "fork2020" { FORK_2020_MIX } else { FACEBOOK_MIX };
        let (total, mut sum) = (shares.iter().sum::<f64>(), 0.0);
        let mix = shares.map(|share| {
            sum += share / total;
            sum
        });
        let random = Random::derive(shared.seed, Stream::Client(index));
        Self {
            shared,
            random,
            mix,
            next: None,
            now_ms: LOADED_AT_MS,
            tails: Vec::new(),
            change: Transaction::default(),
            key: Vec::new(),
            other_key: Vec::new(),
            value: Vec::new(),
        }
    }

    fn draw(&mut self, kind: usize) -> Operation {
        let Self { shared, random, .. } = self;
        let graph = &shared.graph;
        let link = |random: &mut Random, purpose| (graph.link_id(random, purpose), Graph::link_type(random));
        match kind {
            0 | 2 => {
                let (id1, link_type) = link(random, LinkUse::Write);
                let existing = if kind == 0 { Existing::ADD } else { Existing::UPDATE };
                let id2 = graph.id2(random, id1, link_type, existing);
                let data = shared.link_payload.draw(random);
                let time = self.now_ms;
                Operation::PutLink(Link { id1, link_type, id2, visibility: VISIBLE, data, time, version: 0 })
            }
            1 => {
                let (id1, link_type) = link(random, LinkUse::Write);
                Operation::DeleteLink { id1, link_type, id2: graph.id2(random, id1, link_type, Existing::DELETE) }
            }
            3 => {
                let (id, link_type) = link(random, LinkUse::Read);
                Operation::CountLink { id, link_type }
            }
            4 => {
                let (id1, link_type) = link(random, LinkUse::Read);
                Operation::MultigetLink { id1, link_type, id2s: graph.id2s(random, id1, link_type) }
            }
            5 => {
                let continues = random.chance(shared.parameters.history_percent / 100.0);
                if continues && !self.tails.is_empty() {
                    return Operation::ContinueList { tail: random.below(self.tails.len() as u64) as usize };
                }
                let (id1, link_type) = link(random, LinkUse::Read);
                Operation::GetLinksList { id1, link_type }
            }
            6 => Operation::AddNode { id: None, data: shared.node_payload.draw(random) },
            7 => {
                let id = graph.node_id(random, NodeAccess::Update);
                Operation::UpdateNode { id, data: shared.node_payload.draw(random) }
            }
            8 => Operation::DeleteNode { id: graph.node_id(random, NodeAccess::Delete) },
            _ => Operation::GetNode { id: graph.node_id(random, NodeAccess::Read) },
        }
    }

    /// `INSERT … ON DUPLICATE KEY UPDATE`, an UPDATE by primary key if the link was there, then the count where it
    /// became visible.
    fn put_link(&mut self, engine: &dyn Engine, task: &mut Task, link: &Link) -> Result<()> {
        let shared = self.shared.clone();
        Links::primary_key(link, &mut self.key);
        count_key(&mut self.other_key, link.id1, link.link_type);
        let (key, count) = (&self.key, &self.other_key);
        let change = &mut self.change;
        shared.locks.with(task, &[key, count], |task| {
            let old = change.get::<Links>(engine, task, key)?;
            let was_visible = old.as_ref().is_some_and(|old| old.visibility == VISIBLE);
            charge_statements(task, u64::from(old.is_some()) + u64::from(!was_visible));
            charge_frame_in_packets(task);
            match &old {
                None => change.add::<Links>(link),
                Some(old) => {
                    consider_list(engine, task, old)?;
                    change.update::<Links>(old, link);
                }
            }
            if !was_visible {
                add_to_count(change, engine, task, count, link, 1)?;
            }
            shared.grew(change.commit(engine, task)?);
            Ok(())
        })
    }

    /// Hides a visible link by an UPDATE by primary key and takes it off the count; its row and index entry stay.
    fn delete_link(&mut self, engine: &dyn Engine, task: &mut Task, id1: u64, link_type: u64, id2: u64) -> Result<()> {
        let shared = self.shared.clone();
        link_key(&mut self.key, id1, link_type, id2);
        count_key(&mut self.other_key, id1, link_type);
        let (key, count, now_ms) = (&self.key, &self.other_key, self.now_ms);
        let change = &mut self.change;
        charge_frame_in_packets(task);
        shared.locks.with(task, &[key, count], |task| {
            let Some(old) = change.get::<Links>(engine, task, key)?.filter(|old| old.visibility == VISIBLE) else {
                return Ok(());
            };
            charge_statements(task, 2);
            consider_list(engine, task, &old)?;
            let hidden = Link { visibility: HIDDEN, ..old.clone() };
            change.update::<Links>(&old, &hidden);
            add_to_count(change, engine, task, count, &Link { time: now_ms, ..old }, -1)?;
            shared.grew(change.commit(engine, task)?);
            Ok(())
        })
    }

    /// Reads visible links of an id and type from `newest` on, at most `limit` after the first `skip`, and returns the
    /// last one if the limit cut the list.
    fn list(&mut self, engine: &dyn Engine, task: &mut Task, from: Tail, skip: u64) -> Result<Option<Tail>> {
        let limit = self.shared.parameters.list_limit;
        list_prefix(&mut self.key, from.id1, from.link_type);
        self.other_key.clone_from(&self.key);
        push_u64_descending(&mut self.other_key, from.time);
        let mut entries = engine.iterator(task)?;
        entries.seek(task, &self.other_key)?;
        let mut seen = 0;
        while entries.valid() && entries.key().starts_with(&self.key) {
            let link = decode_list_entry(entries.key());
            let link = link.ok_or_else(|| Error::corruption("id1_type", 0, "an index entry does not decode"))?;
            seen += 1;
            if seen == skip + limit {
                return Ok(Some(Tail { id1: link.id1, link_type: link.link_type, time: link.time }));
            }
            entries.next(task)?;
        }
        Ok(None)
    }

    /// Remembers the end of a list that is new, if the limit cut it.
    fn remember(&mut self, tail: Option<Tail>) {
        let Some(tail) = tail else { return };
        if self.tails.iter().any(|known| (known.id1, known.link_type) == (tail.id1, tail.link_type)) {
            return;
        }
        if self.tails.len() < HISTORY_ENTRIES {
            self.tails.push(tail);
        } else {
            let position = self.random.below(HISTORY_ENTRIES as u64) as usize;
            self.tails[position] = tail;
        }
    }

    /// Remembers the end of a remembered list's continuation; without one, the list is over.
    fn remember_at(&mut self, position: usize, tail: Option<Tail>) {
        match tail {
            Some(tail) => self.tails[position] = tail,
            None => drop(self.tails.swap_remove(position)),
        }
    }

    fn add_node(&mut self, engine: &dyn Engine, task: &mut Task, data: Vec<u8>) -> Result<()> {
        let id = self.shared.next_node_id();
        let node = self.new_node(id, data);
        self.change.insert::<Nodes>(engine, task, &node)?;
        self.shared.grew(self.change.commit(engine, task)?);
        Ok(())
    }

    fn new_node(&self, id: u64, data: Vec<u8>) -> Node {
        Node { id, node_type: NODE_TYPE, version: NEW_NODE_VERSION, time: self.now_s(), data }
    }

    /// Replaces (with `data`) or removes (without) a node that is still there.
    fn change_node(&mut self, engine: &dyn Engine, task: &mut Task, id: u64, data: Option<Vec<u8>>) -> Result<()> {
        let (shared, time) = (self.shared.clone(), self.now_s());
        node_key(&mut self.key, id);
        let (key, change) = (&self.key, &mut self.change);
        shared.locks.with(task, &[key], |task| {
            let Some(old) = change.get::<Nodes>(engine, task, key)? else { return Ok(()) };
            match data {
                Some(data) => {
                    let version = REPLACED_NODE_VERSION;
                    change.update::<Nodes>(&old, &Node { version, time, data, ..old.clone() });
                }
                None => change.delete::<Nodes>(&old),
            }
            shared.grew(change.commit(engine, task)?);
            Ok(())
        })
    }

    /// [`Self::list`] on a server.
    fn say_list(&self, session: &mut dyn Session, from: Tail, skip: u64) -> Result<Option<Tail>> {
        let limit = self.shared.parameters.list_limit;
        let last = statements::list_links(session, (from.id1, from.link_type), from.time, (skip, limit))?;
        Ok(last.map(|time| Tail { time, ..from }))
    }

    fn say(&mut self, session: &mut dyn Session, operation: &mut Operation) -> Result<()> {
        match operation {
            Operation::PutLink(link) => statements::put_link(session, link),
            &mut Operation::DeleteLink { id1, link_type, id2 } => {
                statements::delete_link(session, id1, link_type, id2, self.now_ms)
            }
            &mut Operation::CountLink { id, link_type } => statements::count_links(session, id, link_type),
            Operation::MultigetLink { id1, link_type, id2s } => {
                statements::multiget_links(session, *id1, *link_type, id2s)
            }
            &mut Operation::GetLinksList { id1, link_type } => {
                let tail = self.say_list(session, Tail::before(id1, link_type), 0)?;
                self.remember(tail);
                Ok(())
            }
            &mut Operation::ContinueList { tail: position } => {
                let tail = self.say_list(session, self.tails[position], 1)?;
                self.remember_at(position, tail);
                Ok(())
            }
            Operation::AddNode { id, data } => {
                let id = *id.get_or_insert_with(|| self.shared.next_node_id());
                statements::add_node(session, &self.new_node(id, data.clone()))
            }
            Operation::UpdateNode { id, data } => {
                statements::update_node(session, *id, self.now_s(), REPLACED_NODE_VERSION, data)
            }
            &mut Operation::DeleteNode { id } => statements::delete_node(session, id),
            &mut Operation::GetNode { id } => statements::get_node(session, id),
        }
    }

    fn now_s(&self) -> u32 {
        (self.now_ms / 1000) as u32
    }
}

/// An UPDATE of a link by primary key could also take the index of the list that the link is in.
fn consider_list(engine: &dyn Engine, task: &mut Task, link: &Link) -> Result<()> {
    let mut prefix = Vec::new();
    id1_type_prefix(&mut prefix, link.id1, link.link_type);
    consider(engine, task, &prefix)
}

/// `INSERT … ON DUPLICATE KEY UPDATE` of the count of `link`'s id and type.
fn add_to_count(
    change: &mut Transaction,
    engine: &dyn Engine,
    task: &mut Task,
    key: &[u8],
    link: &Link,
    difference: i32,
) -> Result<()> {
    let (id, link_type, time) = (link.id1, link.link_type, link.time);
    match change.get::<Counts>(engine, task, key)? {
        None => {
            let count = u32::from(difference > 0);
            change.add::<Counts>(&Count { id, link_type, count, time, version: 0 });
        }
        Some(old) => {
            let count = old.count.saturating_add_signed(difference);
            change.update::<Counts>(&old, &Count { count, time, version: old.version + 1, ..old.clone() });
        }
    }
    Ok(())
}

impl Client for Requester {
    fn plan(&mut self, _now_ns: u64) -> Option<Plan> {
        self.now_ms += 1;
        let share = self.random.unit();
        let kind = self.mix.iter().position(|&bound| share < bound).unwrap_or(self.mix.len() - 1);
        let operation = self.draw(kind);
        let write_bytes = match &operation {
            Operation::PutLink(link) => LINK_BYTES + 2 * link.data.len() as u64 + MOVED_ENTRY_BYTES + COUNT_BYTES,
            Operation::DeleteLink { .. } => LINK_BYTES + MOVED_ENTRY_BYTES + COUNT_BYTES,
            Operation::AddNode { data, .. } | Operation::UpdateNode { data, .. } => NODE_BYTES + data.len() as u64,
            Operation::DeleteNode { .. } => NODE_BYTES,
            _ => 0,
        };
        self.next = Some(operation);
        Some(Plan::write(kind, write_bytes))
    }

    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        let operation = self.next.take().expect("a plan precedes its execution");
        charge_statements(task, 1);
        match operation {
            Operation::PutLink(link) => self.put_link(engine, task, &link),
            Operation::DeleteLink { id1, link_type, id2 } => self.delete_link(engine, task, id1, link_type, id2),
            Operation::CountLink { id, link_type } => {
                count_key(&mut self.key, id, link_type);
                engine.get(task, &self.key, &mut self.value).map(drop)
            }
            Operation::MultigetLink { id1, link_type, id2s } => id2s.into_iter().try_for_each(|id2| {
                link_key(&mut self.key, id1, link_type, id2);
                engine.get(task, &self.key, &mut self.value).map(drop)
            }),
            Operation::GetLinksList { id1, link_type } => {
                let tail = self.list(engine, task, Tail::before(id1, link_type), 0)?;
                self.remember(tail);
                Ok(())
            }
            Operation::ContinueList { tail: position } => {
                // Its last link, with which the continuation begins, is known.
                let tail = self.list(engine, task, self.tails[position], 1)?;
                self.remember_at(position, tail);
                Ok(())
            }
            Operation::AddNode { data, .. } => self.add_node(engine, task, data),
            Operation::UpdateNode { id, data } => self.change_node(engine, task, id, Some(data)),
            Operation::DeleteNode { id } => self.change_node(engine, task, id, None),
            Operation::GetNode { id } => {
                node_key(&mut self.key, id);
                engine.get(task, &self.key, &mut self.value).map(drop)
            }
        }
    }

    fn speak(&mut self, session: &mut dyn Session) -> Result<()> {
        let mut operation = self.next.take().expect("a plan precedes its execution");
        let said = self.say(session, &mut operation);
        if said.is_err() {
            self.next = Some(operation);
        }
        said
    }

    #[cfg(test)]
    fn next_random(&self) -> Option<u64> {
        Some(self.random.clone().bits())
    }
}

#[cfg(test)]
impl Requester {
    /// Lists that this requester remembers.
    pub fn remembered_lists(&self) -> usize {
        self.tails.len()
    }
}

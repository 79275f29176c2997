//! A position in a skip list, which it keeps alive.

use super::node::Node;
use super::skiplist::SkipList;
use crate::lsm::keys::key::split;
use std::sync::Arc;

/// A position in a list. Moves return the nodes that were looked at.
pub struct MemTableCursor {
    list: Arc<SkipList>,
    /// A node of `list`.
    at: Option<Node>,
}

impl MemTableCursor {
    /// A cursor that is not positioned.
    pub fn new(list: Arc<SkipList>) -> Self {
        Self { list, at: None }
    }

    /// Moves to the first entry.
    pub fn seek_to_first(&mut self) {
        // SAFETY: the head has all links.
        self.at = unsafe { self.list.head.next(0) };
    }

    /// Moves to the first entry at or after a key.
    pub fn seek(&mut self, user_key: &[u8], trailer: u64) -> u64 {
        let (node, steps) = self.list.seek(user_key, trailer);
        self.at = node;
        steps
    }

    /// Moves to the last entry before a key.
    pub fn seek_before(&mut self, user_key: &[u8], trailer: u64) -> u64 {
        let (node, steps) = self.list.seek_before(user_key, trailer);
        self.at = node;
        steps
    }

    /// Moves to the next entry.
    pub fn next(&mut self) -> u64 {
        // SAFETY: `at` is a node of `list`, and every node has a link of level 0.
        self.at = self.at.and_then(|node| unsafe { node.next(0) });
        1
    }

    /// Moves to the previous entry.
    pub fn prev(&mut self) -> u64 {
        let Some(node) = self.at else { return 0 };
        // SAFETY: `at` is a node of `list`.
        let (user_key, trailer) = split(unsafe { node.key() });
        let (node, steps) = self.list.seek_before(user_key, trailer);
        self.at = node;
        steps
    }

    /// Whether there is a current entry.
    pub fn valid(&self) -> bool {
        self.at.is_some()
    }

    /// The current internal key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        // SAFETY: `at` is a node of `list`, which lives as long as the borrow of `self`.
        self.at.map_or(&[], |node| unsafe { node.key() })
    }

    /// The current value.
    #[inline]
    pub fn value(&self) -> &[u8] {
        // SAFETY: as for `key`.
        self.at.map_or(&[], |node| unsafe { node.value() })
    }
}

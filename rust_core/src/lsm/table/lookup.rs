//! The lookup of one key in a table: first the filter is asked, then the index, then a data block.

use super::block::Block;
use super::bloom;
use super::format::Handle;
use super::reader::{Asks, TableReader};
use crate::cost::Work;
use crate::error::Result;
use crate::lsm::keys::{Lookup, key};
use crate::metrics::Purpose;
use crate::task::Task;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A key that is looked up, with its filter hash once it is known.
pub struct LookupKey<'a> {
    /// The user key.
    pub user_key: &'a [u8],
    /// The trailer that sorts just before the newest visible entry.
    pub trailer: u64,
    whole_hash: Option<u64>,
}

impl<'a> LookupKey<'a> {
    /// The newest entry of a key at `sequence` is wanted.
    pub fn new(user_key: &'a [u8], sequence: u64) -> Self {
        Self { user_key, trailer: key::seek_trailer(sequence), whole_hash: None }
    }

    #[inline]
    fn whole_hash(&mut self) -> u64 {
        *self.whole_hash.get_or_insert_with(|| bloom::hash(self.user_key))
    }
}

impl TableReader {
    #[inline]
    fn data_block(&self, task: &mut Task, handle: Handle) -> Result<Arc<Block>> {
        if let Some(block) = self.cached_block(task, handle) {
            return Ok(block);
        }
        let block = self.read_data_block(task, Purpose::UserRead, handle)?;
        self.cache_block(task, handle, &block);
        Ok(block)
    }

    /// Asks the filter; `None` if it cannot be asked for this key.
    #[inline]
    fn may_contain(&self, task: &mut Task, wanted: &mut LookupKey) -> Result<Option<bool>> {
        let hash = match self.asks {
            Asks::WholeKey if self.filter.is_some() => wanted.whole_hash(),
            Asks::Prefix => match self.context.prefix.and_then(|prefix| prefix.of(wanted.user_key)) {
                Some(prefix) => bloom::hash(prefix),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        let Some(filter) = self.filter(task, Purpose::UserRead)? else { return Ok(None) };
        task.charge(Work::FilterProbe, 1);
        let maybe = filter.may_contain(hash);
        let counter = if maybe { &self.context.bloom_positive } else { &self.context.bloom_useful };
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(Some(maybe))
    }

    /// Whether a key that starts with `prefix` may be in the table, as far as its filter knows.
    pub fn may_contain_prefix(&self, task: &mut Task, prefix: &[u8]) -> Result<bool> {
        if !self.has_prefixes {
            return Ok(true);
        }
        let Some(filter) = self.filter(task, Purpose::UserRead)? else { return Ok(true) };
        task.charge(Work::FilterProbe, 1);
        let maybe = filter.may_contain(bloom::hash(prefix));
        let counter = if maybe { &self.context.bloom_positive } else { &self.context.bloom_useful };
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(maybe)
    }

    /// Looks for the newest visible entry of a key and appends its value.
    pub fn get(&self, task: &mut Task, wanted: &mut LookupKey, value: &mut Vec<u8>) -> Result<Lookup> {
        let filtered = self.may_contain(task, wanted)?;
        if filtered == Some(false) {
            return Ok(Lookup::Absent);
        }
        let index = self.index(task, Purpose::UserRead)?;
        let index_steps = u64::from(index.blocks().max(2).ilog2());
        task.charge(Work::Compare, index_steps);
        self.charge_misses(task, index_steps);
        let mut at = index.find(wanted.user_key);
        let mut found = Lookup::Absent;
        // The versions of one key may go on in the next block; with one version each, the first block decides.
        while at < index.blocks() {
            let handle = index.handle(at);
            let block = self.data_block(task, handle)?;
            let mut steps = 0;
            if let Some((trailer, stored)) = block.find(wanted.user_key, wanted.trailer, &mut steps) {
                found = if key::is_delete(trailer) { Lookup::Deleted } else { Lookup::Found };
                if found == Lookup::Found {
                    value.extend_from_slice(stored);
                    task.charge(Work::CopyByte, stored.len() as u64);
                }
            }
            task.charge(Work::Record, steps);
            self.charge_search(task, block.search_steps(), steps);
            at += 1;
            if found != Lookup::Absent || index.separator(at - 1) != wanted.user_key {
                break;
            }
        }
        if filtered == Some(true) && found != Lookup::Absent {
            self.context.bloom_true_positive.fetch_add(1, Ordering::Relaxed);
        }
        Ok(found)
    }
}

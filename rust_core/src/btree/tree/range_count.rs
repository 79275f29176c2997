//! Index dives: how many keys a range has, as InnoDB tells a query planner (`btr_estimate_n_rows_in_range`).

use super::descent::{Bounds, Toward};
use super::forest::Forest;
use super::root::Tree;
use crate::error::Result;
use crate::task::Task;

/// Leaves that are counted (`N_PAGES_READ_LIMIT`).
const LEAVES: usize = 10;

impl Forest {
    /// Keys in `from..to`, or none if they are on more leaves than are counted. Both ends are looked up first, and then
    /// the leaves are read from the left end on; for a longer range InnoDB would go on with an estimate.
    pub fn count_in_range(&self, task: &mut Task, tree: Tree, from: &[u8], to: &[u8]) -> Result<Option<u64>> {
        drop(self.leaf_for_read(task, tree, Toward::At(to), None)?);
        let (mut bounds, mut at, mut keys) = (Bounds::default(), from.to_vec(), 0);
        for _ in 0..LEAVES {
            let leaf = self.leaf_for_read(task, tree, Toward::At(&at), Some(&mut bounds))?;
            let (first, _) = leaf.view().search(task, &at);
            let next = bounds.upper.key().filter(|upper| *upper < to);
            let end = if next.is_some() { leaf.view().count() } else { leaf.view().search(task, to).0 };
            keys += end.saturating_sub(first) as u64;
            let Some(next) = next else { return Ok(Some(keys)) };
            at.clear();
            at.extend_from_slice(next);
        }
        Ok(None)
    }
}

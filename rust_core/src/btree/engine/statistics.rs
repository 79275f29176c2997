//! What the engine tells of itself.

use super::btree::Btree;
use crate::btree::page::{Kind, View};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Leaves that an estimate of the fill looks at.
const FILL_SAMPLE: usize = 1024;

impl Btree {
    /// Average share of their capacity that leaves in the pool use, over a sample.
    fn leaf_fill(&self) -> Option<f64> {
        let pool = &self.forest.store.pool;
        let step = (pool.frames() / FILL_SAMPLE).max(1);
        let (mut leaves, mut used, mut capacity) = (0, 0, 0);
        for frame in (0..pool.frames()).step_by(step) {
            pool.with_frame(frame as u32, |bytes| {
                let view = View(bytes);
                if view.kind() == Kind::Tree && view.is_leaf() {
                    leaves += 1;
                    used += view.used();
                    capacity += view.capacity();
                }
            });
        }
        (leaves > 0).then(|| used as f64 / capacity as f64)
    }

    /// Numbers by their names in the report.
    pub(super) fn details(&self) -> BTreeMap<String, f64> {
        let (pool, redo, forest) = (&self.forest.store.pool, &self.forest.store.redo, &self.forest);
        let free_pages = pool.frames_left(pool.lru.lock().free_len());
        let pool_pages = pool.lru.lock().most_len();
        let undo_pages = forest.undo.segments.pages().len();
        let tree_pages = forest.store.spaces.lock().used_pages() - undo_pages as u64;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        let mut details = BTreeMap::from(
            [
                ("checkpoint_age", redo.checkpoint_age() as f64),
                ("redo_file_bytes", redo.file_bytes() as f64),
                ("checkpoint_max_age", redo.thresholds.limit_for_free_check as f64),
                ("dirty_pages", pool.flush_list.len() as f64),
                ("pool_pages", pool_pages as f64),
                ("free_pages", free_pages as f64),
                ("pages_flushed", count(&pool.counters.pages_flushed)),
                ("client_flushes", count(&pool.counters.client_flushes)),
                ("pages_read", count(&pool.counters.misses)),
                ("pages_read_ahead", count(&pool.counters.pages_read_ahead)),
                ("pages_evicted", count(&pool.counters.evictions)),
                ("splits", count(&forest.counters.splits)),
                ("merges", count(&forest.counters.merges)),
                ("tree_pages", tree_pages as f64),
                ("undo_pages", undo_pages as f64),
                ("history_list_length", forest.undo.trx_sys.history_len() as f64),
                ("undo_logs_purged", count(&forest.counters.purged)),
                ("lsn", redo.lsn() as f64),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        if self.options.has_zip_tables() {
            let zip = [
                ("packs", count(&forest.store.compressions)),
                ("pack_failures", count(&forest.store.compression_failures)),
                ("pack_padding", forest.store.zip_pads.largest() as f64),
                ("pages_unzipped", count(&pool.counters.unzips)),
            ];
            details.extend(zip.map(|(name, value)| (name.to_owned(), value)));
        }
        if forest.store.changes.tree.get().is_some() {
            let changes = [
                ("changes_buffered", count(&forest.store.changes.buffered)),
                ("changes_merged", count(&forest.store.changes.merged)),
                ("change_buffer_pages", count(&forest.store.changes.tree_pages)),
            ];
            details.extend(changes.map(|(name, value)| (name.to_owned(), value)));
        }
        if let Some(fill) = self.leaf_fill() {
            details.insert("leaf_fill".to_owned(), fill);
        }
        details
    }
}

//! Splits of compressed pages: InnoDB's choice of where to split, and further splits of what still does not fit its
//! slot.

use super::insert::PessimisticInsert;
use crate::btree::page::{Edit, Kind, Payload, SLOT_BYTES, View, split_point};
use crate::btree::pool::Piece;
use crate::cost::Work;
use crate::error::{Error, Result};
use crate::task::Task;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Where to split these records again: behind the first half of their bytes.
fn middle(records: View, slots: &Range<usize>) -> usize {
    let total = slots.clone().map(|slot| records.record_bytes(slot)).sum::<usize>();
    let mut left = 0;
    let half = slots.clone().find(|slot| {
        left += records.record_bytes(*slot);
        left * 2 >= total
    });
    (half.unwrap_or(slots.start) + 1).clamp(slots.start + 1, slots.end - 1)
}

impl PessimisticInsert<'_> {
    /// Splits a page so that the record goes in at `slot`. All pages up to the root are latched.
    pub fn split_zip(
        &mut self,
        task: &mut Task,
        depth: usize,
        slot: usize,
        key: &[u8],
        payload: Payload,
    ) -> Result<()> {
        let depth = if depth == 0 { self.raise_root(task)? } else { depth };
        // Depths change when the root is raised; the distance from the leaf does not.
        let height = self.path.len() - depth;
        let left = self.path[depth];
        let view = self.mtr.view(left);
        let need = payload.record_len(key) + SLOT_BYTES;
        let (cut, count) = (split_point(view, slot, need), view.count());
        let mut all = vec![0; 2 * view.size()];
        Edit(&mut all).format(0, self.tree.number, Kind::Tree, view.level());
        Edit(&mut all).rebuild(&[(view, 0..count)]);
        Edit(&mut all).insert(slot, key, payload);
        let all = View(&all);
        let pieces = self.pieces(task, all, &[0..cut, cut..count + 1], slot)?;
        task.charge(Work::Record, count as u64);
        task.charge(Work::PageTouch, pieces.len() as u64);
        let mut newest = left;
        for (n, (slots, piece)) in pieces.into_iter().enumerate() {
            let index = if n == 0 { left } else { self.mtr.take_page(task, self.tree.number)? };
            self.mtr.install(index, &piece);
            self.mtr.log_image(index);
            if slots.contains(&slot) {
                newest = index;
            }
            if n > 0 {
                self.forest.counters.splits.fetch_add(1, Ordering::Relaxed);
                let child = Payload::Child(self.mtr.page_no(index));
                let parent = self.path.len() - height - 1;
                self.insert_at(task, parent, all.key(slots.start), child)?;
            }
        }
        // What comes from a split below next, belongs beside what came in now.
        let depth = self.path.len() - height;
        self.path[depth] = newest;
        Ok(())
    }

    /// The records of these ranges as pages.
    fn pieces(
        &self,
        task: &mut Task,
        all: View,
        ranges: &[Range<usize>],
        newest: usize,
    ) -> Result<Vec<(Range<usize>, Piece)>> {
        let mut left = ranges.iter().rev().filter(|slots| !slots.is_empty()).cloned().collect::<Vec<_>>();
        let mut pieces = Vec::new();
        while let Some(slots) = left.pop() {
            if let Some(piece) = self.forest.store.piece(task, self.tree.number, all, slots.clone(), newest)? {
                pieces.push((slots, piece));
            } else if slots.len() > 1 {
                let at = middle(all, &slots);
                left.extend([at..slots.end, slots.start..at]);
            } else {
                let (bytes, slot) = (
                    all.record_bytes(slots.start),
                    self.forest.store.pool.files.of_tree(self.tree.number).slot_bytes(),
                );
                return Err(Error::invalid("row bytes", bytes, format!("what fits key_block_size, {slot}")));
            }
        }
        Ok(pieces)
    }
}

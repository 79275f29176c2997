//! A checker that walks everything: every tree is ordered, balanced and within its bounds, and every page is reachable
//! exactly once or free.

use crate::btree::page::{Kind, PageZip, Stored, View};
use crate::btree::space::META_PAGE;
use crate::btree::tree::{Forest, Tree};
use crate::task::Task;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

struct Walk<'a> {
    forest: &'a Forest,
    task: &'a mut Task,
    tree: Tree,
    seen: &'a mut BTreeSet<u32>,
    used: usize,
    capacity: usize,
    entries: usize,
    marked: usize,
}

/// What a walk over all trees found.
#[derive(Debug)]
pub struct Shape {
    pub entries: usize,
    /// Delete-marked records, which are no entries.
    pub marked: usize,
    pub leaf_fill: f64,
}

/// Checks all trees and the space; panics at the first violation.
pub fn check(forest: &Forest, task: &mut Task) -> Shape {
    let mut seen = BTreeSet::from([META_PAGE]);
    seen.extend(forest.store.spaces.lock().maps());
    for page in forest.undo.segments.pages() {
        let undo = forest.store.pool.read(task, page).unwrap();
        let (kind, end) = (undo.view().kind(), undo.view().heap_top());
        assert!(
            kind == Kind::Undo && end <= forest.store.pool.files.of_page(page).slot_bytes(),
            "undo page {page}: {kind:?} up to {end}"
        );
        seen.insert(page);
    }
    let (mut used, mut capacity, mut entries, mut marked) = (0, 0, 0, 0);
    for &tree in forest.trees().iter() {
        let mut walk = Walk { forest, task, tree, seen: &mut seen, used: 0, capacity: 0, entries: 0, marked: 0 };
        let level = walk.copy(tree.root)[21];
        walk.page(tree.root, level, None, None);
        used += walk.used;
        capacity += walk.capacity;
        entries += walk.entries;
        marked += walk.marked;
    }
    if let Some(tree) = forest.store.changes.tree.get().copied() {
        // All leaves were brought in, so that nothing is buffered any more.
        let before = seen.len();
        let mut walk = Walk { forest, task, tree, seen: &mut seen, used: 0, capacity: 0, entries: 0, marked: 0 };
        let level = walk.copy(tree.root)[21];
        walk.page(tree.root, level, None, None);
        assert!(walk.entries == 0 && forest.store.changes.is_empty(), "changes of pages that no tree has");
        let pages = forest.store.changes.tree_pages.load(Ordering::Relaxed);
        assert_eq!(pages, (seen.len() - before) as u64, "pages of buffered changes");
    }
    let mut spaces = forest.store.spaces.lock();
    assert!(seen.iter().all(|page| spaces.of_page(*page).is_taken(*page)), "a reachable page is free");
    assert_eq!(spaces.used_pages(), seen.len() as u64, "a taken page is not reachable");
    Shape { entries, marked, leaf_fill: used as f64 / capacity.max(1) as f64 }
}

impl Walk<'_> {
    /// The compressed form of a page has its records.
    fn check_zip(&mut self, page_no: u32, view: View) {
        let mut stored = Vec::new();
        let frame = self.forest.store.pool.table.entry(page_no).frame().unwrap();
        self.forest.store.pool.with_body(frame, true, |_, body| body.append_stored(&mut stored));
        let file = self.forest.store.pool.files.of_page(page_no);
        assert_eq!(stored.len(), file.slot_bytes(), "page {page_no}");
        if file.zip_bytes() == 0 {
            return;
        }
        let mut decompressed = vec![0; view.size()];
        PageZip(&stored).decompress(self.task, &mut decompressed).unwrap();
        let decompressed = View(&decompressed);
        assert_eq!(decompressed.count(), view.count(), "page {page_no}");
        for slot in 0..view.count() {
            assert_eq!(decompressed.key(slot), view.key(slot), "page {page_no}, record {slot}");
            if view.is_leaf() {
                assert_eq!(decompressed.value(slot), view.value(slot), "page {page_no}, record {slot}");
            } else {
                assert_eq!(decompressed.child(slot), view.child(slot), "page {page_no}, record {slot}");
            }
        }
    }

    fn copy(&mut self, page_no: u32) -> Vec<u8> {
        self.forest.store.pool.read(self.task, page_no).unwrap().view().0.to_vec()
    }

    fn page(&mut self, page_no: u32, level: u8, lower: Option<&[u8]>, upper: Option<&[u8]>) {
        assert!(self.seen.insert(page_no), "page {page_no} is reachable twice");
        let bytes = self.copy(page_no);
        let view = View(&bytes);
        let files = &self.forest.store.pool.files;
        assert!(std::ptr::eq(files.of_page(page_no), files.of_tree(self.tree.number)), "page {page_no} is not at home");
        self.check_zip(page_no, view);
        assert_eq!((view.kind(), view.level(), view.tree()), (Kind::Tree, level, self.tree.number), "page {page_no}");
        let records = (0..view.count()).map(|slot| view.record_bytes(slot)).sum::<usize>();
        assert_eq!(records, view.used(), "page {page_no} accounts for its bytes wrongly");
        for slot in 1..view.count() {
            assert!(view.key(slot - 1) < view.key(slot), "page {page_no} is not in order at {slot}");
        }
        for slot in view.first_compared()..view.count() {
            let key = view.key(slot);
            assert!(lower.is_none_or(|lower| lower <= key) && upper.is_none_or(|upper| key < upper), "page {page_no}");
            assert_eq!(view.search(self.task, key), (slot, true), "page {page_no} does not find its own key");
        }
        if level == 0 { self.leaf(view) } else { self.node(view, lower, upper) }
    }

    fn leaf(&mut self, view: View) {
        self.used += view.used();
        self.capacity += view.capacity();
        let marked = (0..view.count()).filter(|slot| view.is_delete_marked(*slot)).count();
        self.marked += marked;
        self.entries += view.count() - marked;
        for slot in 0..view.count() {
            if let Stored::Overflow(pointer) = view.value(slot) {
                for page in self.forest.overflow_pages(self.task, pointer).unwrap() {
                    assert!(self.seen.insert(page), "overflow page {page} is reachable twice");
                    let bytes = self.copy(page);
                    assert_eq!(View(&bytes).kind(), Kind::Overflow);
                }
            }
        }
    }

    fn node(&mut self, view: View, lower: Option<&[u8]>, upper: Option<&[u8]>) {
        assert!(view.count() > 0, "an internal page is empty");
        for slot in 0..view.count() {
            let low = if slot == 0 { lower } else { Some(view.key(slot)) };
            let high = if slot + 1 < view.count() { Some(view.key(slot + 1)) } else { upper };
            self.page(view.child(slot), view.level() - 1, low, high);
        }
    }
}

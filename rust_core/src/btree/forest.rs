//! All trees of an engine, the directory that names their roots, and the descent from a root to a leaf.
//!
//! Latches are taken from the root down; a child is latched before its parent is released, and no latch is taken
//! sideways except under the parent's exclusive latch, so latches cannot deadlock. A descent that meets a page which is
//! not in the pool lets go of everything, reads the page, and begins again: nobody waits for the I/O of others. The tree
//! of buffered changes comes behind all others (see `change_merge`).

use super::change_buffer::{CHANGE_TREE, ChangeBuffer, Op};
use super::insert::Origin;
use super::mtr::Mtr;
use super::options::Options;
use super::packed_page;
use super::padding::Paddings;
use super::page::{HEADER_BYTES, Kind, Stored, View, get_u32, put_u32};
use super::page_file::PageFile;
use super::pool::{BufferPool, ReadPage, WritePage};
use super::redo::Redo;
use super::space::{META_PAGE, Spaces};
use super::tablespaces::Tablespace;
use super::undo::{UNDO_TREE, Undo};
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::task::{Serial, Task};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Descents that let go of their latches to read a page, before one keeps them.
const POLITE_ATTEMPTS: usize = 3;
/// Where the directory begins on the meta page: the number of trees, then tree and root of each.
const AT_TREES: usize = HEADER_BYTES;
const ENTRY_BYTES: usize = 8;

/// One tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tree {
    /// Index number; 0 under the plain layout.
    pub number: u32,
    /// Its root never moves.
    pub root: u32,
}

/// Counters of structure changes.
#[derive(Debug, Default)]
pub struct ForestCounters {
    pub hits: AtomicU64,
    pub splits: AtomicU64,
    pub merges: AtomicU64,
    /// Pages of compressed tables that were compressed, and that did not fit their slots.
    pub packs: AtomicU64,
    pub pack_failures: AtomicU64,
}

/// All trees.
pub struct Forest {
    pub pool: Arc<BufferPool>,
    pub redo: Arc<Redo>,
    pub spaces: Arc<Mutex<Spaces>>,
    pub undo: Undo,
    pub counters: ForestCounters,
    directory: ArcSwap<Vec<Tree>>,
    creating: Mutex<()>,
    /// Held by whoever splits or merges pages, by the number of the tree.
    restructuring: Mutex<BTreeMap<u32, Arc<Serial<()>>>>,
    merge_threshold: usize,
    pub paddings: Paddings,
    pub changes: Arc<ChangeBuffer>,
    /// Redo bytes that batches under way may still write.
    pub reserved: AtomicU64,
}

/// Where a change of a leaf goes.
pub enum Reached<'a> {
    /// Into the leaf, which is latched.
    Leaf(WritePage<'a>),
    /// It was buffered, and its frame ends here.
    Buffered(u64),
}

/// Which leaf a descent looks for.
#[derive(Debug, Clone, Copy)]
pub enum Toward<'k> {
    /// The one whose range holds the key.
    At(&'k [u8]),
    /// The one that holds the keys just before this key.
    Before(&'k [u8]),
}

/// One end of a leaf's range; it keeps its allocation.
#[derive(Debug, Default)]
pub struct Bound {
    key: Vec<u8>,
    set: bool,
}

impl Bound {
    /// The key, unless the range has no such end.
    pub fn key(&self) -> Option<&[u8]> {
        self.set.then_some(&self.key)
    }

    fn keep(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.set = true;
    }
}

/// The range of keys of a leaf, as its ancestors said during the descent: first key of it, and first key behind it.
#[derive(Debug, Default)]
pub struct Bounds {
    pub lower: Bound,
    pub upper: Bound,
}

impl Forest {
    /// A forest over recovered pages, without its directory.
    pub fn new(options: &Options, pool: Arc<BufferPool>, redo: Arc<Redo>, spaces: Arc<Mutex<Spaces>>) -> Self {
        let undo = Undo::new(options, spaces.lock().of(Tablespace::System).pages_of(UNDO_TREE));
        Self {
            undo,
            merge_threshold: (options.innodb_page_size as usize - HEADER_BYTES) * options.merge_threshold as usize
                / 100,
            pool,
            redo,
            spaces,
            counters: ForestCounters::default(),
            directory: ArcSwap::default(),
            creating: Mutex::default(),
            restructuring: Mutex::default(),
            paddings: Paddings::new(options.innodb_page_size as usize),
            changes: Arc::new(ChangeBuffer::new(options)),
            reserved: AtomicU64::new(0),
        }
    }

    /// Longest key of a tree.
    pub fn max_key_bytes(&self, tree: u32) -> usize {
        let whole = self.pool.page_bytes() / 4 - 96;
        incompressible_bytes(self.pool.files.of_tree(tree)).map_or(whole, |bytes| whole.min(bytes / 4))
    }

    /// Longest value that is stored in a leaf of a tree.
    pub fn max_inline_bytes(&self, tree: u32) -> usize {
        self.max_inline_bytes_in(self.pool.files.of_tree(tree))
    }

    /// Longest value that is stored in any leaf.
    pub fn max_inline_bytes_of_all(&self) -> usize {
        self.max_inline_bytes_in(self.pool.files.system())
    }

    fn max_inline_bytes_in(&self, file: &PageFile) -> usize {
        let whole = self.pool.page_bytes() / 4;
        incompressible_bytes(file).map_or(whole, |bytes| whole.min(bytes / 2))
    }

    /// Longest value of a tree: its overflow pages are all latched at once, so they may take an eighth of the pool.
    pub fn max_value_bytes(&self, tree: u32) -> usize {
        let of_page = self.pool.files.of_tree(tree).slot_bytes() - HEADER_BYTES;
        (self.pool.options.pool_pages() / 8 * of_page).max(self.max_inline_bytes(tree))
    }

    /// Bytes below which a page is merged with a neighbour.
    pub fn merge_threshold(&self) -> usize {
        self.merge_threshold
    }

    /// Reads the directory.
    pub fn load_directory(&self, task: &mut Task) -> Result<()> {
        let page = self.pool.read(task, META_PAGE)?;
        if page.view().kind() != Kind::Meta {
            return Err(self.misplaced(META_PAGE));
        }
        let bytes = page.view().0;
        let count = (get_u32(bytes, AT_TREES) as usize).min(self.max_trees());
        let mut trees = (0..count)
            .map(|n| {
                let at = AT_TREES + 4 + n * ENTRY_BYTES;
                Tree { number: get_u32(bytes, at), root: get_u32(bytes, at + 4) }
            })
            .collect::<Vec<_>>();
        trees.sort_unstable_by_key(|tree| tree.number);
        drop(page);
        trees.iter().try_for_each(|tree| self.check_tablespace(*tree))?;
        trees.iter().try_for_each(|tree| self.check_root(task, *tree))?;
        if let Some(changes) = trees.pop_if(|tree| tree.number == CHANGE_TREE) {
            let _ = self.changes.tree.set(changes);
        }
        self.directory.store(Arc::new(trees));
        Ok(())
    }

    /// A root is a page of its tree, at whatever level.
    fn check_root(&self, task: &mut Task, tree: Tree) -> Result<()> {
        let root = self.pool.read(task, tree.root)?;
        self.check_child(tree, root.view().level() + 1, root.view())
    }

    /// A tree stays in the tablespace that it was made in.
    fn check_tablespace(&self, tree: Tree) -> Result<()> {
        let files = &self.pool.files;
        let made = files.of_page(tree.root).tablespace();
        if made == files.of_tree(tree.number).tablespace() {
            return Ok(());
        }
        let with = if made == Tablespace::Compressed { "with" } else { "without" };
        let accepted = format!("a list {with} index {}, as the files were made", tree.number);
        Err(Error::invalid("options.compressed_indexes", &self.pool.options.compressed_indexes, accepted))
    }

    /// The tree of an index number.
    #[inline]
    pub fn tree(&self, number: u32) -> Option<Tree> {
        let directory = self.directory.load();
        let at = directory.binary_search_by_key(&number, |tree| tree.number).ok()?;
        Some(directory[at])
    }

    /// All trees but that of buffered changes.
    #[cfg(test)]
    pub fn trees(&self) -> Arc<Vec<Tree>> {
        self.directory.load_full()
    }

    fn max_trees(&self) -> usize {
        (self.pool.files.system().slot_bytes() - AT_TREES - 4) / ENTRY_BYTES
    }

    /// The tree of an index number, made if it is new.
    pub fn tree_or_create(&self, task: &mut Task, number: u32) -> Result<Tree> {
        if let Some(tree) = self.tree(number) {
            return Ok(tree);
        }
        let _creating = self.creating.lock();
        if let Some(tree) = self.tree(number) {
            return Ok(tree);
        }
        let mut trees = self.directory.load_full().to_vec();
        if number >= CHANGE_TREE {
            return Err(Error::invalid("index number", number, format!("at most {}", CHANGE_TREE - 1)));
        }
        let count = trees.len() + usize::from(self.changes.tree.get().is_some());
        if count >= self.max_trees() {
            return Err(Error::invalid("index number", number, format!("at most {} indexes", self.max_trees())));
        }
        let tree = self.create_tree(task, number, count)?;
        let at = trees.partition_point(|other| other.number < number);
        trees.insert(at, tree);
        self.directory.store(Arc::new(trees));
        Ok(tree)
    }

    /// Makes the tree of buffered changes, before others work.
    pub fn create_change_tree(&self, task: &mut Task) -> Result<Tree> {
        let count = self.directory.load().len();
        if count >= self.max_trees() {
            let accepted = format!("none with {count} indexes");
            return Err(Error::invalid("options.innodb_change_buffering", "on", accepted));
        }
        self.create_tree(task, CHANGE_TREE, count)
    }

    fn create_tree(&self, task: &mut Task, number: u32, count: usize) -> Result<Tree> {
        let meta = self.pool.write(task, META_PAGE, Purpose::UserRead)?;
        let mut mtr = Mtr::new(self, vec![meta]);
        let root = mtr.take_page(task, number)?;
        let page_no = mtr.page_no(root);
        mtr.reshape(root, |page| page.edit().format(page_no, number, Kind::Tree, 0));
        mtr.pack(task, root, number)?;
        mtr.log_image(root);
        let mut entry = [0; ENTRY_BYTES];
        put_u32(&mut entry, 0, number);
        put_u32(&mut entry, 4, page_no);
        mtr.write(0, AT_TREES + 4 + count * ENTRY_BYTES, &entry);
        mtr.write(0, AT_TREES, &(count as u32 + 1).to_le_bytes());
        mtr.commit(task, None)?;
        Ok(Tree { number, root: page_no })
    }

    /// The child at `slot` of an internal page. A page that is its own child would be waited for without end.
    #[inline]
    pub fn child_of(&self, view: View, slot: usize) -> Result<u32> {
        let child = view.child(slot);
        if child == view.page_no() { Err(self.misplaced(child)) } else { Ok(child) }
    }

    /// Checks that a page is one of the tree, a level below its parent; so every descent comes to an end.
    #[inline]
    pub fn check_child(&self, tree: Tree, parent_level: u8, view: View) -> Result<()> {
        let fits = view.kind() == Kind::Tree && view.tree() == tree.number && view.level() + 1 == parent_level;
        if fits { Ok(()) } else { Err(self.misplaced(view.page_no())) }
    }

    #[cold]
    pub fn misplaced(&self, page_no: u32) -> Error {
        self.pool.files.of_page(page_no).corruption(page_no, format!("page {page_no} is not where its tree has it"))
    }

    fn count_pages(&self, task: &mut Task, depth: u64, misses: u64) {
        task.blocks_asked += depth;
        self.counters.hits.fetch_add(depth.saturating_sub(misses), Ordering::Relaxed);
    }

    /// The leaf for a key under its shared latch, and its range if `bounds` are wanted.
    #[inline]
    pub fn leaf_for_read(
        &self,
        task: &mut Task,
        tree: Tree,
        toward: Toward,
        mut bounds: Option<&mut Bounds>,
    ) -> Result<ReadPage<'_>> {
        let mut misses = 0;
        'descent: loop {
            if let Some(bounds) = bounds.as_deref_mut() {
                (bounds.lower.set, bounds.upper.set) = (false, false);
            }
            let Some(mut page) = self.pool.read_resident(task, tree.root) else {
                misses += 1;
                self.pool.load(task, tree.root, Purpose::UserRead)?;
                continue;
            };
            let mut depth = 1;
            while !page.view().is_leaf() {
                let slot = choose_child(task, page.view(), toward, bounds.as_deref_mut());
                let (child, level) = (self.child_of(page.view(), slot)?, page.view().level());
                page = match self.pool.read_resident(task, child) {
                    Some(child) => child,
                    None if misses < POLITE_ATTEMPTS => {
                        drop(page);
                        misses += 1;
                        self.pool.load(task, child, Purpose::UserRead)?;
                        continue 'descent;
                    }
                    None => {
                        misses += 1;
                        self.pool.read(task, child)?
                    }
                };
                self.check_child(tree, level, page.view())?;
                depth += 1;
            }
            self.count_pages(task, depth, misses as u64);
            return Ok(page);
        }
    }

    /// Looks at the inline value of a key whose pages are in the pool and not being changed. Whoever changes a row has found
    /// it before, so that another look costs nothing.
    pub fn peek<R>(&self, tree: Tree, key: &[u8], f: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let mut uncharged = Task::wall(0);
        let mut page = self.pool.peek(tree.root)?;
        while !page.view().is_leaf() {
            let slot = page.view().child_slot(&mut uncharged, key);
            let level = page.view().level();
            page = self.pool.peek(page.view().child(slot))?;
            self.check_child(tree, level, page.view()).ok()?;
        }
        let (slot, found) = page.view().search(&mut uncharged, key);
        match found.then(|| page.view().value(slot))? {
            Stored::Inline(value) => Some(f(value)),
            Stored::Overflow(_) => None,
        }
    }

    /// The leaf for a key under its exclusive latch, unless the change of it that is wanted, if one is named, is buffered.
    #[inline]
    pub fn leaf_for_write(
        &self,
        task: &mut Task,
        tree: Tree,
        key: &[u8],
        (op, origin): (Option<Op>, Origin),
    ) -> Result<Reached<'_>> {
        let mut misses = 0;
        'descent: loop {
            let mut page = self.pool.read(task, tree.root)?;
            if page.view().is_leaf() {
                drop(page);
                let root = self.pool.write(task, tree.root, Purpose::UserRead)?;
                if root.view().is_leaf() {
                    self.count_pages(task, 1, 0);
                    return Ok(Reached::Leaf(root));
                }
                continue;
            }
            let mut depth = 1;
            loop {
                let slot = page.view().child_slot(task, key);
                let (child, level) = (self.child_of(page.view(), slot)?, page.view().level());
                let above_leaf = level == 1;
                depth += 1;
                let polite = misses < POLITE_ATTEMPTS;
                if above_leaf {
                    let resident = self.pool.write_resident(task, child);
                    if let Some(op) = op.filter(|_| resident.is_none())
                        && let Some(end) = self.buffer_change(task, (tree, child), (op, key), origin)?
                    {
                        self.count_pages(task, depth - 1, misses as u64);
                        return Ok(Reached::Buffered(end));
                    }
                    let leaf = match resident {
                        None if !polite => Some(self.pool.write(task, child, Purpose::UserRead)?),
                        resident => resident,
                    };
                    if let Some(leaf) = leaf {
                        self.check_child(tree, level, leaf.view())?;
                        self.count_pages(task, depth, misses as u64);
                        return Ok(Reached::Leaf(leaf));
                    }
                } else if let Some(next) = self.pool.read_resident(task, child) {
                    self.check_child(tree, level, next.view())?;
                    page = next;
                    continue;
                } else if !polite {
                    page = self.pool.read(task, child)?;
                    self.check_child(tree, level, page.view())?;
                    continue;
                }
                drop(page);
                misses += 1;
                if above_leaf && tree.number != CHANGE_TREE {
                    self.contract(task)?;
                }
                self.pool.load(task, child, Purpose::UserRead)?;
                continue 'descent;
            }
        }
    }

    /// Carries out a change that may split or merge pages, one at a time in each tree, with both neighbours of the leaf in
    /// the pool, as far as they have the same parent. InnoDB holds the index lock meanwhile (`dict_index_t::lock`,
    /// shared-exclusive since 5.7: readers pass), and latches the neighbours, whose links may change, before it knows
    /// whether they will (`btr_cur_latch_leaves` with `BTR_MODIFY_TREE`). The caller holds no latch of the tree; those of
    /// undo pages, which it may hold, nobody here waits for.
    pub fn restructure<R>(
        &self,
        task: &mut Task,
        tree: Tree,
        key: &[u8],
        change: impl FnOnce(&mut Task) -> Result<R>,
    ) -> Result<R> {
        if tree.number == CHANGE_TREE {
            // Whoever changes this tree holds the buffer's lock.
            return change(task);
        }
        let line = self.restructuring.lock().entry(tree.number).or_default().clone();
        line.with(task, |task, ()| {
            for neighbor in self.neighbors_of_leaf(task, tree, key)? {
                self.pool.read(task, neighbor)?;
            }
            change(task)
        })
    }

    /// The leaves beside that of a key, as far as they have the same parent.
    fn neighbors_of_leaf(&self, task: &mut Task, tree: Tree, key: &[u8]) -> Result<Vec<u32>> {
        let mut page = self.pool.read(task, tree.root)?;
        loop {
            let view = page.view();
            if view.is_leaf() {
                return Ok(Vec::new());
            }
            let slot = view.child_slot(task, key);
            if view.level() == 1 {
                let beside = [slot.checked_sub(1), Some(slot + 1).filter(|next| *next < view.count())];
                return beside.into_iter().flatten().map(|slot| self.child_of(view, slot)).collect();
            }
            let (child, level) = (self.child_of(view, slot)?, view.level());
            page = self.pool.read(task, child)?;
            self.check_child(tree, level, page.view())?;
        }
    }

    /// The pages from the lowest one that no change below can spill over (or the root) down to the leaf, all under
    /// exclusive latches. `is_safe` says of a page that it will not be split or merged.
    pub fn path_for_change(
        &self,
        task: &mut Task,
        tree: Tree,
        key: &[u8],
        is_safe: impl Fn(View) -> bool,
    ) -> Result<Vec<WritePage<'_>>> {
        let mut path = vec![self.pool.write(task, tree.root, Purpose::UserRead)?];
        loop {
            let view = path[path.len() - 1].view();
            if view.is_leaf() {
                return Ok(path);
            }
            let slot = view.child_slot(task, key);
            let (child, level) = (view.child(slot), view.level());
            if path.iter().any(|held| held.page_no() == child) {
                return Err(self.misplaced(child));
            }
            let page = self.pool.write(task, child, Purpose::UserRead)?;
            self.check_child(tree, level, page.view())?;
            if is_safe(page.view()) {
                path.clear();
            }
            path.push(page);
        }
    }
}

/// Bytes of records that fit a compressed page in any case. Keys and values are so short that a row always fits alone, and
/// two children do.
fn incompressible_bytes(file: &PageFile) -> Option<usize> {
    let packed = file.packed_bytes();
    (packed > 0).then(|| packed_page::empty_bytes(packed) - 64)
}

#[inline]
fn choose_child(task: &mut Task, view: View, toward: Toward, bounds: Option<&mut Bounds>) -> usize {
    let slot = match toward {
        Toward::At(key) => view.child_slot(task, key),
        Toward::Before(key) => view.child_slot_before(task, key),
    };
    if let Some(bounds) = bounds {
        if slot > 0 {
            bounds.lower.keep(view.key(slot));
        }
        if slot + 1 < view.count() {
            bounds.upper.keep(view.key(slot + 1));
        }
    }
    slot
}

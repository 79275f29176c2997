//! The directory on the meta page, which names the roots of all trees.

use super::forest::Forest;
use super::mtr::Mtr;
use super::root::Tree;
use crate::btree::page::{CHANGE_TREE, HEADER_BYTES, Kind, get_u32, put_u32};
use crate::btree::space::{META_PAGE, Tablespace};
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::task::Task;
use std::sync::Arc;

/// Where the directory begins on the meta page: the number of trees, then tree and root of each.
const AT_TREES: usize = HEADER_BYTES;
const ENTRY_BYTES: usize = 8;

impl Forest {
    /// Reads the directory.
    pub fn load_directory(&self, task: &mut Task) -> Result<()> {
        let page = self.store.pool.read(task, META_PAGE)?;
        if page.view().kind() != Kind::Meta {
            return Err(self.store.misplaced(META_PAGE));
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
            let _ = self.store.changes.tree.set(changes);
        }
        self.directory.store(Arc::new(trees));
        Ok(())
    }

    /// A root is a page of its tree, at whatever level.
    fn check_root(&self, task: &mut Task, tree: Tree) -> Result<()> {
        let root = self.store.pool.read(task, tree.root)?;
        self.check_child(tree, root.view().level() + 1, root.view())
    }

    /// A tree stays in the tablespace that it was made in.
    fn check_tablespace(&self, tree: Tree) -> Result<()> {
        let files = &self.store.pool.files;
        let made = files.of_page(tree.root).tablespace();
        if made == files.of_tree(tree.number).tablespace() {
            return Ok(());
        }
        let with = if made == Tablespace::Compressed { "with" } else { "without" };
        let accepted = format!("a list {with} index {}, as the files were made", tree.number);
        Err(Error::invalid("options.compressed_indexes", &self.store.pool.options.compressed_indexes, accepted))
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
        (self.store.pool.files.system().slot_bytes() - AT_TREES - 4) / ENTRY_BYTES
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
        let count = trees.len() + usize::from(self.store.changes.tree.get().is_some());
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
        let meta = self.store.pool.write(task, META_PAGE, Purpose::UserRead)?;
        let mut mtr = Mtr::new(&self.store, vec![meta]);
        let root = mtr.take_page(task, number)?;
        let page_no = mtr.page_no(root);
        mtr.reshape(root, |page| page.edit().format(page_no, number, Kind::Tree, 0));
        mtr.compress(task, root, number)?;
        mtr.log_image(root);
        let mut entry = [0; ENTRY_BYTES];
        put_u32(&mut entry, 0, number);
        put_u32(&mut entry, 4, page_no);
        mtr.write(0, AT_TREES + 4 + count * ENTRY_BYTES, &entry);
        mtr.write(0, AT_TREES, &(count as u32 + 1).to_le_bytes());
        mtr.commit(task, None)?;
        Ok(Tree { number, root: page_no })
    }
}

//! What trees are made of: pages in the pool, the log of what happens to them, and the extents that they are taken
//! from. Mini-transactions and undo logs know no more than that.

use super::change_buffer::ChangeBuffer;
use super::origin::Origin;
use crate::btree::log::Redo;
use crate::btree::options::Options;
use crate::btree::page::ZipPads;
use crate::btree::pool::{BufferPool, WritePage};
use crate::btree::space::Spaces;
use crate::error::{Error, Result};
use crate::task::Task;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Pages, their log and their extents.
pub struct PageStore {
    pub pool: Arc<BufferPool>,
    pub redo: Arc<Redo>,
    pub spaces: Arc<Mutex<Spaces>>,
    /// Told which pages its tree takes and gives back.
    pub changes: Arc<ChangeBuffer>,
    pub zip_pads: ZipPads,
    /// Pages of compressed tables that were compressed, and that did not fit their slots.
    pub compressions: AtomicU64,
    pub compression_failures: AtomicU64,
}

impl PageStore {
    /// Over recovered pages.
    pub fn new(options: &Options, pool: Arc<BufferPool>, redo: Arc<Redo>, spaces: Arc<Mutex<Spaces>>) -> Self {
        Self {
            pool,
            redo,
            spaces,
            changes: Arc::new(ChangeBuffer::new(options)),
            zip_pads: ZipPads::new(options.innodb_page_size as usize),
            compressions: AtomicU64::new(0),
            compression_failures: AtomicU64::new(0),
        }
    }

    /// The error that says that a page is not what others take it for.
    #[cold]
    pub fn misplaced(&self, page_no: u32) -> Error {
        self.pool.files.of_page(page_no).corruption(page_no, format!("page {page_no} is not where its tree has it"))
    }

    /// Logs one change of one page, gives the page its LSN and releases it. `floor` is where the batch began that the
    /// change belongs to.
    #[inline]
    pub fn log_single(
        &self,
        task: &mut Task,
        mut page: WritePage,
        floor: Option<u64>,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> Result<u64> {
        let bound = floor.unwrap_or_else(|| self.redo.lsn());
        self.pool.flush_list.mark(page.frame, bound);
        let (_, end) = self.redo.append(task, fill).inspect_err(|error| self.pool.poison.set(error))?;
        page.edit().set_lsn(end);
        drop(page);
        if self.redo.buffer_is_full() {
            self.redo.write_to(task, end)?;
        }
        Ok(end)
    }

    /// Logs that a change of a batch is applied which changed nothing.
    pub fn note_applied(&self, task: &mut Task, origin: Origin) -> Result<Option<u64>> {
        let Some(mark) = origin.mark() else { return Ok(None) };
        let (_, end) =
            self.redo.append(task, |out| mark.encode(out)).inspect_err(|error| self.pool.poison.set(error))?;
        Ok(Some(end))
    }
}

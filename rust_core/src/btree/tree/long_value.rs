//! Values longer than a quarter of a page: a chain of overflow pages, named by a pointer in the leaf record. The chain
//! and the record are written in one mini-transaction, so a crash leaves no page that nobody names.

use super::forest::Forest;
use super::insert::PessimisticInsert;
use super::origin::Origin;
use super::root::Tree;
use super::undo::UndoLog;
use crate::btree::page::{
    AT_CHUNK, AT_NEXT, HEADER_BYTES, Kind, NO_PAGE, OVERFLOW_POINTER_BYTES, Payload, Stored, get_u32, put_u32,
};
use crate::cost::Work;
use crate::error::{Error, Result};
use crate::task::Task;

impl Forest {
    fn broken_chain(&self, page_no: u32) -> Error {
        self.store.pool.files.of_page(page_no).corruption(page_no, "a chain of overflow pages is broken")
    }

    /// Sets a key to a long value.
    pub fn put_long<'a>(
        &'a self,
        task: &mut Task,
        tree: Tree,
        key: &[u8],
        value: &[u8],
        origin: Origin,
        undo: &mut UndoLog<'a>,
    ) -> Result<u64> {
        self.restructure(task, tree, key, |task| {
            // InnoDB's undo has the pointer to the old value, if that is on pages of its own, and not the value.
            let unknown = Payload::Value(Stored::Overflow(&[]));
            let mut growth = self.begin_put(task, tree, key, unknown, Some(undo))?;
            let pointer = growth.write_chain(task, value)?;
            growth.insert(task, key, Payload::Value(Stored::Overflow(&pointer)))?;
            growth.finish(task, origin)
        })
    }

    /// Reads a stored value into `out`. The caller holds the latch of its leaf, so the chain cannot change.
    #[inline]
    pub fn read_value(&self, task: &mut Task, stored: Stored, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        match stored {
            Stored::Inline(value) => {
                task.charge(Work::CopyByte, value.len() as u64);
                out.extend_from_slice(value);
                Ok(())
            }
            Stored::Overflow(pointer) => self.read_long(task, pointer, out),
        }
    }

    fn read_long(&self, task: &mut Task, pointer: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let len = get_u32(pointer, 0) as usize;
        self.walk(task, pointer, |_, chunk| out.extend_from_slice(chunk))?;
        task.charge(Work::CopyByte, out.len() as u64);
        if out.len() == len { Ok(()) } else { Err(self.broken_chain(get_u32(pointer, 4))) }
    }

    /// The pages of a long value.
    pub fn overflow_pages(&self, task: &mut Task, pointer: &[u8]) -> Result<Vec<u32>> {
        let mut pages = Vec::new();
        self.walk(task, pointer, |page_no, _| pages.push(page_no))?;
        Ok(pages)
    }

    fn walk(&self, task: &mut Task, pointer: &[u8], mut visit: impl FnMut(u32, &[u8])) -> Result<()> {
        let mut left = get_u32(pointer, 0) as usize;
        let mut next = get_u32(pointer, 4);
        // So a chain that bites its tail ends, before it has filled the memory.
        let page_bytes = self.store.pool.page_bytes() as u64;
        if left as u64 > self.store.spaces.lock().used_pages() * page_bytes {
            return Err(self.broken_chain(next));
        }
        while left > 0 {
            let page = self.store.pool.read(task, next)?;
            task.blocks_asked += 1;
            let view = page.view();
            let chunk = view.0.get(HEADER_BYTES..HEADER_BYTES + get_u32(view.0, AT_CHUNK) as usize);
            let chunk = chunk.filter(|chunk| view.kind() == Kind::Overflow && !chunk.is_empty() && chunk.len() <= left);
            let Some(chunk) = chunk else { return Err(self.broken_chain(next)) };
            visit(next, chunk);
            left -= chunk.len();
            next = get_u32(view.0, AT_NEXT);
        }
        Ok(())
    }
}

impl PessimisticInsert<'_> {
    /// Writes a long value to pages of its own, and returns the pointer to them.
    fn write_chain(&mut self, task: &mut Task, value: &[u8]) -> Result<[u8; OVERFLOW_POINTER_BYTES]> {
        let (tree, mut next) = (self.tree.number, NO_PAGE);
        let slot_bytes = self.forest.store.pool.files.of_tree(tree).slot_bytes();
        let chunks = value.chunks(slot_bytes - HEADER_BYTES).collect::<Vec<_>>();
        for chunk in chunks.into_iter().rev() {
            let index = self.mtr.take_page(task, tree)?;
            let page_no = self.mtr.page_no(index);
            self.mtr.reshape(index, |page| {
                page.edit().format(page_no, tree, Kind::Overflow, 0);
                page.edit().fill_chunk(chunk, next);
            });
            self.mtr.log_image(index);
            next = page_no;
        }
        task.charge(Work::CopyByte, value.len() as u64);
        let mut pointer = [0; OVERFLOW_POINTER_BYTES];
        put_u32(&mut pointer, 0, value.len() as u32);
        put_u32(&mut pointer, 4, next);
        Ok(pointer)
    }
}

//! The product that an engine stands for, and its calls. A machine that speaks for a product says how much more CPU
//! time than this core's own engine it spends, call by call; [`Called`] counts the calls. A machine that says nothing
//! has this core's engines as they are, and no [`Called`] around them.

use crate::cost::{Product, Work};
use crate::engine::{Commit, Engine, EngineIterator, EngineKind, KeyLayout, WriteBatch, forward_to_engine};
use crate::error::Result;
use crate::metrics::EngineStats;
use crate::task::Task;
use std::sync::Arc;

/// The product that an engine stands for in a workload with such keys: tables have indexes, and belong to a SQL server.
pub fn product_of(engine: EngineKind, layout: KeyLayout) -> Product {
    match (engine, layout) {
        (EngineKind::Rocksdb, _) | (EngineKind::Lsm, KeyLayout::Plain) => Product::RocksDb,
        (EngineKind::Lsm, KeyLayout::Indexed) | (EngineKind::Myrocks, _) => Product::MyRocks,
        (EngineKind::Btree | EngineKind::Innodb, _) => Product::InnoDb,
    }
}

/// An engine whose calls are counted.
pub struct Called {
    engine: Arc<dyn Engine>,
    product: Product,
}

impl Called {
    /// Counts the calls of `engine`, which stands for `product`, from now on.
    pub fn new(engine: Arc<dyn Engine>, product: Product) -> Self {
        Self { engine, product }
    }
}

impl Engine for Called {
    fn get(&self, task: &mut Task, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        task.charge(Work::PointRead, 1);
        self.engine.get(task, key, value)
    }

    fn write(&self, task: &mut Task, batch: &mut WriteBatch, commit: Commit) -> Result<()> {
        if !batch.is_empty() {
            task.charge(Work::RowInsert, batch.new_rows());
            task.charge(Work::RowChange, batch.rows() - batch.new_rows());
            match self.product {
                // A library's writers do all that a write takes one after the other. A server's have done most of it
                // before they come to that, row by row.
                Product::RocksDb => batch.leave_calls_to_line(),
                Product::MyRocks | Product::InnoDb => batch.charge_calls(task, commit),
            }
        }
        self.engine.write(task, batch, commit)
    }

    fn iterator<'a>(&'a self, task: &mut Task) -> Result<Box<dyn EngineIterator + 'a>> {
        Ok(Box::new(CalledIterator { entries: self.engine.iterator(task)? }))
    }

    forward_to_engine!();

    fn close(&self, task: &mut Task) -> Result<()> {
        self.engine.close(task)
    }

    fn stats(&self) -> EngineStats {
        self.engine.stats()
    }
}

struct CalledIterator<'a> {
    entries: Box<dyn EngineIterator + 'a>,
}

impl EngineIterator for CalledIterator<'_> {
    fn seek(&mut self, task: &mut Task, key: &[u8]) -> Result<()> {
        task.charge(Work::RangeStart, 1);
        self.entries.seek(task, key)
    }

    fn seek_for_prev(&mut self, task: &mut Task, key: &[u8]) -> Result<()> {
        task.charge(Work::RangeStart, 1);
        self.entries.seek_for_prev(task, key)
    }

    fn next(&mut self, task: &mut Task) -> Result<()> {
        task.charge(Work::RangeStep, 1);
        self.entries.next(task)
    }

    fn prev(&mut self, task: &mut Task) -> Result<()> {
        task.charge(Work::RangeStep, 1);
        self.entries.prev(task)
    }

    fn valid(&self) -> bool {
        self.entries.valid()
    }

    fn key(&self) -> &[u8] {
        self.entries.key()
    }

    fn value(&self) -> &[u8] {
        self.entries.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::RowImages;
    use crate::workload::model_engine::ModelEngine;

    #[test]
    fn each_call_is_counted_as_what_it_is() {
        let engine = Called::new(Arc::new(ModelEngine::default()), Product::MyRocks);
        let mut task = Task::wall(0);
        let mut batch = WriteBatch::default();
        engine.write(&mut task, &mut batch, Commit::Configured).unwrap();
        batch.put(b"row", b"columns");
        batch.note_row(RowImages::default());
        batch.put(b"index entry", b"");
        batch.put(b"another row", b"columns");
        batch.note_new_row(RowImages::default());
        engine.write(&mut task, &mut batch, Commit::Configured).unwrap();
        assert!(engine.get(&mut task, b"row", &mut Vec::new()).unwrap());
        let mut entries = engine.iterator(&mut task).unwrap();
        entries.seek(&mut task, b"").unwrap();
        entries.next(&mut task).unwrap();
        entries.seek_for_prev(&mut task, b"z").unwrap();
        entries.prev(&mut task).unwrap();
        assert_eq!((entries.key(), entries.value()), (&b"index entry"[..], &b""[..]));
        let counted = Work::CALLS.iter().map(|call| task.units(*call)).collect::<Vec<_>>();
        assert_eq!(counted[..11], [0, 0, 0, 0, 1, 2, 2, 1, 1, 3, 1]);
        assert!(counted[11..].iter().all(|units| *units == 0));
    }

    #[test]
    fn what_a_write_takes_of_a_library_is_left_to_its_line() {
        let engine = Called::new(Arc::new(ModelEngine::default()), Product::RocksDb);
        let (mut task, mut batch) = (Task::wall(0), WriteBatch::default());
        batch.put(b"key", b"value");
        engine.write(&mut task, &mut batch, Commit::Configured).unwrap();
        assert!(batch.calls_in_line());
        assert_eq!([Work::KeyChange, Work::Commit].map(|call| task.units(call)), [0, 0]);
        batch.clear();
        assert!(!batch.calls_in_line());
    }
}

//! The products that the engines stand for. A real RocksDB, MyRocks or InnoDB spends more CPU time on a call than this
//! core's engines do: handlers, row formats, locks, snapshots, statistics. A machine that speaks for one says how much more,
//! call by call; [`Called`] counts the calls. A machine that says nothing has this core's engines as they are, and no
//! [`Called`] around them.

use crate::engine::{Commit, Engine, EngineIterator, EngineStats, KeyLayout, WriteBatch, forward_to_engine};
use crate::error::Result;
use crate::run::EngineKind;
use crate::runtime::{Task, Work};
use std::sync::Arc;

/// A product that an engine stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// The library by itself.
    RocksDb,
    /// RocksDB in a SQL server.
    MyRocks,
    /// InnoDB, which is only to be had in a SQL server.
    InnoDb,
}

impl Product {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::RocksDb, Self::MyRocks, Self::InnoDb];

    /// What an engine stands for in a workload with such keys: tables have indexes, and belong to a SQL server.
    pub fn of(engine: EngineKind, layout: KeyLayout) -> Self {
        match (engine, layout) {
            (EngineKind::Lsm, KeyLayout::Plain) => Self::RocksDb,
            (EngineKind::Lsm, KeyLayout::Indexed) => Self::MyRocks,
            (EngineKind::Btree, _) => Self::InnoDb,
        }
    }

    /// Its name in a machine's `calls`.
    pub fn name(self) -> &'static str {
        match self {
            Self::RocksDb => "rocksdb",
            Self::MyRocks => "myrocks",
            Self::InnoDb => "innodb",
        }
    }
}

/// An engine whose calls are counted.
pub struct Called {
    engine: Arc<dyn Engine>,
}

impl Called {
    /// Counts the calls of `engine` from now on.
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine }
    }
}

impl Engine for Called {
    fn get(&self, task: &mut Task, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        task.charge(Work::PointRead, 1);
        self.engine.get(task, key, value)
    }

    fn write(&self, task: &mut Task, batch: &mut WriteBatch, commit: Commit) -> Result<()> {
        if !batch.is_empty() {
            task.charge(Work::RowChange, batch.rows());
            task.charge(Work::KeyChange, batch.len() as u64);
            task.charge(Work::Commit, u64::from(commit != Commit::Open));
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
        let (engine, mut task) = (Called::new(Arc::new(ModelEngine::default())), Task::wall(0));
        let mut batch = WriteBatch::default();
        engine.write(&mut task, &mut batch, Commit::Configured).unwrap();
        batch.put(b"row", b"columns");
        batch.note_row(RowImages::default());
        batch.put(b"index entry", b"");
        engine.write(&mut task, &mut batch, Commit::Configured).unwrap();
        assert!(engine.get(&mut task, b"row", &mut Vec::new()).unwrap());
        let mut entries = engine.iterator(&mut task).unwrap();
        entries.seek(&mut task, b"").unwrap();
        entries.next(&mut task).unwrap();
        entries.seek_for_prev(&mut task, b"z").unwrap();
        entries.prev(&mut task).unwrap();
        assert_eq!((entries.key(), entries.value()), (&b"index entry"[..], &b""[..]));
        let counted = Work::CALLS.iter().map(|call| task.units(*call)).collect::<Vec<_>>();
        assert_eq!(counted, [1, 2, 2, 1, 2, 1, 0, 0, 0, 0]);
    }
}

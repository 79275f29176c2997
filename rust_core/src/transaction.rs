//! Transactions of any size. A server hands its engine one change after another, and the commit makes them durable; so
//! a transaction may be larger than the engine's log. An engine here logs a batch as a whole, and gets what is too much
//! for its log in pieces, of which the last one commits. All of it is one operation, with one commit.

use crate::engine::{Commit, Engine, WriteBatch};
use crate::error::Result;
use crate::task::Task;

/// Writes a transaction, in pieces where the engine asks for it. A crash between two of them keeps the first, and
/// others may see it before the last.
pub fn write(engine: &dyn Engine, task: &mut Task, batch: &mut WriteBatch, commit: Commit) -> Result<()> {
    if !engine.takes_in_pieces(batch) {
        return engine.write(task, batch, commit);
    }
    let mut piece = WriteBatch::default();
    for change in batch.changes() {
        if engine.takes_in_pieces(&piece) {
            engine.write(task, &mut piece, Commit::Open)?;
            piece.clear();
        }
        piece.push(&change);
    }
    piece.note_rows_of(batch);
    engine.write(task, &mut piece, commit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btree::{Btree, Options};
    use crate::cost::{Product, Work};
    use crate::engine::{KeyLayout, RowImages};
    use crate::metrics::Purpose;
    use crate::run::product::Called;
    use crate::run::server::{BinaryLogSpec, BinlogRowImage, Server};
    use crate::storage::memory::CrashKeeps;
    use crate::storage::{MemoryStorage, Storage};
    use crate::task::Signal;
    use std::sync::Arc;

    const ROWS: u32 = 3000;

    fn open(storage: &Arc<MemoryStorage>, task: &mut Task) -> Arc<Btree> {
        let options = Options {
            innodb_page_size: 4096,
            innodb_buffer_pool_size: 1 << 20,
            innodb_redo_log_capacity: 1 << 18,
            ..Options::default()
        };
        Btree::open(storage.clone(), options, KeyLayout::Plain, Arc::new(Signal::default()), task).unwrap()
    }

    fn large_transaction() -> WriteBatch {
        let mut batch = WriteBatch::default();
        for row in 0..ROWS {
            batch.put(&row.wrapping_mul(0x9e37_79b9).to_be_bytes(), &[7; 40]);
            batch.note_row(RowImages { minimal_bytes: 44, full_bytes: 44 });
        }
        batch
    }

    #[test]
    fn a_transaction_above_the_log_is_whole_after_a_crash_and_was_synced_and_logged_once() {
        let (storage, mut task) = (Arc::new(MemoryStorage::new(Arc::default())), Task::wall(0));
        let engine = open(&storage, &mut task);
        let spec = BinaryLogSpec { sync_binlog: 1, max_binlog_size: 1 << 30, binlog_row_image: BinlogRowImage::Full };
        let engine = Server::new(engine, storage.clone(), spec, &mut task).unwrap();
        let engine = Called::new(Arc::new(engine), Product::InnoDb);
        let mut batch = large_transaction();
        assert!(engine.write(&mut task, &mut batch.clone(), Commit::Configured).is_err(), "it fits whole");
        let before = task.units(Work::Commit);
        write(&engine, &mut task, &mut batch, Commit::Configured).unwrap();

        assert_eq!(task.units(Work::Commit) - before, 1);
        let logged = storage.meters().snapshot().of(Purpose::BinaryLog);
        assert_eq!((logged.writes, logged.syncs), (1, 1));
        assert!(logged.written_bytes > u64::from(ROWS) * 44, "rows of all pieces");

        let crashed = Arc::new(storage.crash_clone(CrashKeeps::Synced));
        let engine = open(&crashed, &mut task);
        let mut value = Vec::new();
        for change in batch.changes() {
            assert!(engine.get(&mut task, change.key(), &mut value).unwrap());
        }
    }

    #[test]
    fn a_transaction_that_fits_into_the_log_is_one_write() {
        let (storage, mut task) = (Arc::new(MemoryStorage::new(Arc::default())), Task::wall(0));
        let engine = open(&storage, &mut task);
        let mut batch = WriteBatch::default();
        (0..100_u32).for_each(|row| batch.put(&row.to_be_bytes(), &[7; 40]));
        assert!(!engine.takes_in_pieces(&batch));
        write(&*engine, &mut task, &mut batch, Commit::Configured).unwrap();
        assert_eq!(task.units(Work::Call), 1);
    }
}

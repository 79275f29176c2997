//! What a SQL server puts around its engine: the binary log. Statements are charged by the workloads, who know them.

use crate::cost::Work;
use crate::engine::{Commit, Engine, EngineIterator, EngineStats, WriteBatch, forward_to_engine};
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::storage::FileOptions;
use crate::storage::{Storage, StorageFile};
use crate::task::{Serial, Task};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Bytes of a transaction's own events, row format: GTID 65, BEGIN 75, XID 31 (MySQL 5.7, `mysqlbinlog --hexdump`).
const TRANSACTION_BYTES: u64 = 65 + 75 + 31;

/// Bytes of a changed row besides its image: the events `Table_map` (19 of header, 8 of id and flags, names and column
/// types of about 35, checksum 4) and `Write_rows`, `Update_rows` or `Delete_rows` (header 19, id and flags 10, bitmaps
/// 4, checksum 4).
const ROW_BYTES: u64 = 66 + 37;

/// What a row of the binary log holds (`binlog_row_image`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum BinlogRowImage {
    /// All columns, before and after.
    Full,
    /// The key before, the changed columns after.
    Minimal,
}

/// MySQL's settings of the binary log, in row format.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BinaryLogSpec {
    /// Syncs after so many transactions; 0 leaves it to the operating system.
    pub sync_binlog: u64,
    /// Begins a new file after so many bytes and drops the one before.
    pub max_binlog_size: u64,
    /// What a row holds.
    pub binlog_row_image: BinlogRowImage,
}

impl BinaryLogSpec {
    /// Refuses sizes that no server takes.
    pub fn check(&self) -> Result<()> {
        if self.max_binlog_size < 4096 {
            return Err(Error::invalid("binary_log.max_binlog_size", self.max_binlog_size, "at least 4096 bytes"));
        }
        Ok(())
    }
}

struct Current {
    number: u64,
    file: Arc<dyn StorageFile>,
    bytes: u64,
    unsynced: u64,
}

/// An engine whose transactions are logged a second time.
pub struct Server {
    engine: Arc<dyn Engine>,
    storage: Arc<dyn Storage>,
    spec: BinaryLogSpec,
    log: Serial<Current>,
}

const FILE_PREFIX: &str = "binlog.";

fn file_name(number: u64) -> String {
    format!("{FILE_PREFIX}{number:06}")
}

impl Server {
    /// Starts a binary log beside the engine's files, in place of those that an earlier server left there.
    pub fn new(
        engine: Arc<dyn Engine>,
        storage: Arc<dyn Storage>,
        spec: BinaryLogSpec,
        task: &mut Task,
    ) -> Result<Self> {
        let mut number = 1;
        for name in storage.list()? {
            if let Some(old) = name.strip_prefix(FILE_PREFIX).and_then(|digits| digits.parse::<u64>().ok()) {
                number = number.max(old + 1);
                storage.remove(task, &name)?;
            }
        }
        let file = storage.create(task, &file_name(number), FileOptions::LOG)?;
        let log = Serial::new(Current { number, file, bytes: 0, unsynced: 0 });
        Ok(Self { engine, storage, spec, log })
    }

    /// Appends the events of one transaction. The bytes that count are their number: nobody reads this log back.
    fn append(&self, task: &mut Task, bytes: u64) -> Result<()> {
        self.log.with(task, |task, log| {
            if log.bytes >= self.spec.max_binlog_size {
                log.file.sync(task, Purpose::BinaryLog)?;
                self.storage.remove(task, &file_name(log.number))?;
                let file = self.storage.create(task, &file_name(log.number + 1), FileOptions::LOG)?;
                *log = Current { number: log.number + 1, file, bytes: 0, unsynced: 0 };
            }
            task.charge(Work::CopyByte, bytes);
            task.charge(Work::ChecksumByte, bytes);
            log.file.write_at(task, Purpose::BinaryLog, log.bytes, &vec![0; bytes as usize])?;
            log.bytes += bytes;
            log.unsynced += 1;
            if self.spec.sync_binlog > 0 && log.unsynced >= self.spec.sync_binlog {
                log.unsynced = 0;
                log.file.sync(task, Purpose::BinaryLog)?;
            }
            Ok(())
        })
    }
}

/// Bytes of a transaction in the binary log.
fn event_bytes(batch: &WriteBatch, image: BinlogRowImage) -> u64 {
    let images = batch.images();
    let image_bytes = match image {
        BinlogRowImage::Full => images.full_bytes,
        BinlogRowImage::Minimal => images.minimal_bytes,
    };
    TRANSACTION_BYTES + batch.rows() * ROW_BYTES + image_bytes
}

impl Engine for Server {
    fn get(&self, task: &mut Task, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        self.engine.get(task, key, value)
    }

    /// The engine prepares and syncs first, then the server logs, as in the two-phase commit of MySQL. Until then a
    /// transaction's events wait in a cache of the server.
    fn write(&self, task: &mut Task, batch: &mut WriteBatch, commit: Commit) -> Result<()> {
        let bytes = event_bytes(batch, self.spec.binlog_row_image);
        self.engine.write(task, batch, commit)?;
        if commit == Commit::Open { Ok(()) } else { self.append(task, bytes) }
    }

    fn iterator<'a>(&'a self, task: &mut Task) -> Result<Box<dyn EngineIterator + 'a>> {
        self.engine.iterator(task)
    }

    forward_to_engine!();

    fn close(&self, task: &mut Task) -> Result<()> {
        self.engine.close(task)?;
        self.log.with(task, |task, log| log.file.sync(task, Purpose::BinaryLog))
    }

    fn stats(&self) -> EngineStats {
        let mut stats = self.engine.stats();
        stats.details.insert("binary_log_bytes".to_owned(), self.log.peek(|log| log.bytes) as f64);
        stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::RowImages;
    use crate::storage::MemoryStorage;
    use crate::workload::model_engine::ModelEngine;

    fn server(spec: BinaryLogSpec) -> (Server, Arc<MemoryStorage>, Task) {
        let (storage, mut task) = (Arc::new(MemoryStorage::new(Arc::default())), Task::wall(0));
        let server = Server::new(Arc::new(ModelEngine::default()), storage.clone(), spec, &mut task).unwrap();
        (server, storage, task)
    }

    fn spec(sync_binlog: u64, max_binlog_size: u64, binlog_row_image: BinlogRowImage) -> BinaryLogSpec {
        BinaryLogSpec { sync_binlog, max_binlog_size, binlog_row_image }
    }

    #[test]
    fn each_transaction_is_logged_and_every_nth_syncs() {
        for (image, bytes) in [(BinlogRowImage::Minimal, 25), (BinlogRowImage::Full, 60)] {
            let (server, storage, mut task) = server(spec(3, 1 << 20, image));
            for key in 0..7_u8 {
                let mut batch = WriteBatch::default();
                batch.put(&[0, 0, 0, 1, key], b"a row of 20 bytes...");
                batch.note_row(RowImages { minimal_bytes: 25, full_bytes: 60 });
                batch.put(&[0, 0, 0, 2, key], b"");
                server.write(&mut task, &mut batch, Commit::Configured).unwrap();
            }
            let logged = storage.meters().snapshot().of(Purpose::BinaryLog);
            assert_eq!((logged.writes, logged.syncs), (7, 2));
            assert_eq!(logged.written_bytes, 7 * (TRANSACTION_BYTES + ROW_BYTES + bytes), "{image:?}");
        }
    }

    #[test]
    fn a_full_file_gives_way_to_the_next() {
        let (server, storage, mut task) = server(spec(0, 4096, BinlogRowImage::Full));
        for _ in 0..30 {
            server.write(&mut task, &mut WriteBatch::default(), Commit::Configured).unwrap();
        }
        assert_eq!(storage.list().unwrap(), ["binlog.000002"]);
    }
}

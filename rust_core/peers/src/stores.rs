//! The four stores behind one interface. Each keeps its files in a temporary directory that goes with it.

use crate::Anyhow;
use _core::btree::{self, Btree};
use _core::engine::{Commit, Engine, KeyLayout, WriteBatch};
use _core::lsm::{self, Lsm};
use _core::runtime::threads::{WallClock, Workers, admit, settle};
use _core::runtime::{Signal, Task};
use _core::storage::{FileStorage, Storage};
use redb::{ReadableDatabase, ReadableTable};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// What the benchmark asks of a store.
pub trait Store {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Anyhow<()>;
    /// Waits until background work is done.
    fn settle(&mut self) -> Anyhow<()>;
    /// No write comes after this.
    fn begin_reads(&mut self) -> Anyhow<()>;
    fn get(&mut self, key: &[u8]) -> Anyhow<bool>;
    /// Seeks and reads the next `nexts` entries.
    fn scan(&mut self, key: &[u8], nexts: usize) -> Anyhow<()>;
}

/// Either engine of ours with its workers.
struct Ours {
    engine: Arc<dyn Engine>,
    signal: Arc<Signal>,
    clock: WallClock,
    workers: Option<Workers>,
    task: Task,
    batch: WriteBatch,
    value: Vec<u8>,
    _directory: TempDir,
}

impl Ours {
    fn start(
        open: impl FnOnce(Arc<dyn Storage>, Arc<Signal>, &mut Task) -> _core::Result<Arc<dyn Engine>>,
    ) -> Anyhow<Box<dyn Store>> {
        let directory = tempfile::tempdir_in(".")?;
        let storage = Arc::new(FileStorage::new(directory.path(), Arc::default())?);
        let (signal, clock, mut task) = (Arc::<Signal>::default(), WallClock::default(), Task::wall(0));
        let engine = open(storage, signal.clone(), &mut task)?;
        let workers = Some(Workers::start(&engine, &signal, clock));
        let (batch, value) = Default::default();
        Ok(Box::new(Self { engine, signal, clock, workers, task, batch, value, _directory: directory }))
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        if let Some(workers) = self.workers.take() {
            workers.stop();
        }
    }
}

impl Store for Ours {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Anyhow<()> {
        self.batch.clear();
        self.batch.put(key, value);
        self.task.now_ns = self.clock.now_ns();
        admit(&*self.engine, &self.signal, self.clock, &mut self.task, self.batch.user_bytes(), &|| false)?;
        Ok(self.engine.write(&mut self.task, &mut self.batch, Commit::Configured)?)
    }

    fn settle(&mut self) -> Anyhow<()> {
        self.engine.begin_settle(&mut self.task)?;
        Ok(settle(&*self.engine, &self.signal, &|| false)?)
    }

    fn begin_reads(&mut self) -> Anyhow<()> {
        Ok(())
    }

    fn get(&mut self, key: &[u8]) -> Anyhow<bool> {
        self.task.now_ns = self.clock.now_ns();
        Ok(self.engine.get(&mut self.task, key, &mut self.value)?)
    }

    fn scan(&mut self, key: &[u8], nexts: usize) -> Anyhow<()> {
        self.task.now_ns = self.clock.now_ns();
        let mut cursor = self.engine.iterator(&mut self.task)?;
        cursor.seek(&mut self.task, key)?;
        for _ in 0..nexts {
            if !cursor.valid() {
                break;
            }
            std::hint::black_box((cursor.key(), cursor.value()));
            cursor.next(&mut self.task)?;
        }
        Ok(())
    }
}

pub struct LsmStore;

impl LsmStore {
    /// RocksDB's defaults, with LZ4 and a bloom filter of 10 bits as fjall has them.
    pub fn open(cache: u64) -> Anyhow<Box<dyn Store>> {
        Ours::start(|storage, signal, task| {
            let settings = json!({
                "block_cache": cache, "compression": "kLZ4Compression", "filter_policy": "bloomfilter:10:false",
            });
            let options = lsm::Options::from_json(settings.as_object().expect("an object"))?;
            Ok(Lsm::open(storage, options, signal, task)?)
        })
    }
}

pub struct BtreeStore;

impl BtreeStore {
    /// MariaDB's defaults, the log written at commit and synced once a second, and a redo log that fits the pool.
    pub fn open(cache: u64) -> Anyhow<Box<dyn Store>> {
        Ours::start(|storage, signal, task| {
            let settings = json!({
                "innodb_buffer_pool_size": cache, "innodb_flush_log_at_trx_commit": 2,
                "innodb_redo_log_capacity": cache, "innodb_io_capacity": 2000, "innodb_io_capacity_max": 20000,
            });
            let options = btree::Options::from_json(settings.as_object().expect("an object"))?;
            Ok(Btree::open(storage, options, KeyLayout::Plain, signal, task)?)
        })
    }
}

pub struct FjallStore {
    database: fjall::Database,
    keyspace: fjall::Keyspace,
    _directory: TempDir,
}

impl FjallStore {
    /// Defaults: LZ4, bloom filter, the journal handed to the operating system at each write.
    pub fn open(cache: u64) -> Anyhow<Box<dyn Store>> {
        let directory = tempfile::tempdir_in(".")?;
        let database = fjall::Database::builder(directory.path()).cache_size(cache).open()?;
        let keyspace = database.keyspace("bench", fjall::KeyspaceCreateOptions::default)?;
        Ok(Box::new(Self { database, keyspace, _directory: directory }))
    }
}

impl Store for FjallStore {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Anyhow<()> {
        Ok(self.keyspace.insert(key, value)?)
    }

    fn settle(&mut self) -> Anyhow<()> {
        self.keyspace.rotate_memtable_and_wait()?;
        let busy = |database: &fjall::Database| database.outstanding_flushes() + database.active_compactions() > 0;
        // Compactions follow one another with small gaps: idle means idle for a while.
        let mut idle = 0;
        while idle < 20 {
            std::thread::sleep(Duration::from_millis(10));
            idle = if busy(&self.database) { 0 } else { idle + 1 };
        }
        Ok(())
    }

    fn begin_reads(&mut self) -> Anyhow<()> {
        Ok(())
    }

    fn get(&mut self, key: &[u8]) -> Anyhow<bool> {
        Ok(std::hint::black_box(self.keyspace.get(key)?).is_some())
    }

    fn scan(&mut self, key: &[u8], nexts: usize) -> Anyhow<()> {
        for guard in self.keyspace.range(key..).take(nexts) {
            std::hint::black_box(guard.into_inner()?);
        }
        Ok(())
    }
}

const TABLE: redb::TableDefinition<&[u8], &[u8]> = redb::TableDefinition::new("bench");

pub struct RedbStore {
    database: redb::Database,
    reads: Option<redb::ReadOnlyTable<&'static [u8], &'static [u8]>>,
    _directory: TempDir,
}

impl RedbStore {
    /// Defaults, commits without durability, one read transaction for all reads.
    pub fn open(cache: u64) -> Anyhow<Box<dyn Store>> {
        let directory = tempfile::tempdir_in(".")?;
        let database =
            redb::Database::builder().set_cache_size(cache as usize).create(directory.path().join("bench.redb"))?;
        Ok(Box::new(Self { database, reads: None, _directory: directory }))
    }

    fn table(&self) -> Anyhow<&redb::ReadOnlyTable<&'static [u8], &'static [u8]>> {
        self.reads.as_ref().ok_or_else(|| "reads before begin_reads".into())
    }
}

impl Store for RedbStore {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Anyhow<()> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(redb::Durability::None)?;
        transaction.open_table(TABLE)?.insert(key, value)?;
        Ok(transaction.commit()?)
    }

    fn settle(&mut self) -> Anyhow<()> {
        Ok(self.database.begin_write()?.commit()?)
    }

    fn begin_reads(&mut self) -> Anyhow<()> {
        self.reads = Some(self.database.begin_read()?.open_table(TABLE)?);
        Ok(())
    }

    fn get(&mut self, key: &[u8]) -> Anyhow<bool> {
        Ok(std::hint::black_box(self.table()?.get(key)?).is_some())
    }

    fn scan(&mut self, key: &[u8], nexts: usize) -> Anyhow<()> {
        for entry in self.table()?.range(key..)?.take(nexts) {
            std::hint::black_box(entry?);
        }
        Ok(())
    }
}

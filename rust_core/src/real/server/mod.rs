//! A private SQL server as an engine: MariaDB or MySQL with InnoDB, or with MyRocks. Its rows are reached by sessions
//! alone; what is an engine of it is its end, its counters and its background work.

mod options;
mod process;
mod rest;
mod session;
mod status;

pub use options::ServerOptions;
pub use session::LatenciesByName;

use super::kernel::{self, Kernel};
use crate::engine::{Commit, Engine, EngineIterator, EngineStats, Poison, WriteBatch};
use crate::error::{Error, Result};
use crate::metrics::MetersSnapshot;
use crate::session::Session;
use crate::task::Task;
use crate::task::wall::{WallClock, sleep};
use mysql::Conn;
use mysql::prelude::Queryable;
use parking_lot::Mutex;
use process::{Family, Process};
use rest::Watched;
use session::{ByStatement, DATABASE, SqlSession, connect, failed};
use status::Status;
use std::path::Path;
use std::time::Duration;

/// Connections besides those of clients.
const OWN_CONNECTIONS: u32 = 20;
/// Between two looks at a server that may rest.
const PAUSE: Duration = Duration::from_millis(300);
/// Dirty pages that are always there: those of the server's own tables.
const FEW_PAGES: u64 = 16;
/// While a load settles, InnoDB may write as fast as it can.
const SETTLING_IO_CAPACITY: u64 = 100_000;
const FLUSH_MYROCKS: &str = "SET GLOBAL rocksdb_force_flush_memtable_now = 1";

/// What MyRocks has in memory, and how much its block cache takes.
const MEMORY_OF_MYROCKS: &str = "SELECT stat_type, CAST(value AS CHAR) FROM information_schema.rocksdb_dbstats \
     WHERE stat_type = 'DB_BLOCK_CACHE_USAGE' \
     UNION ALL SELECT stat_type, CAST(value AS CHAR) FROM information_schema.rocksdb_cfstats \
     WHERE stat_type IN ('CUR_SIZE_ALL_MEM_TABLES', 'NON_BLOCK_CACHE_SST_MEM_USAGE') \
     UNION ALL SELECT 'BLOCK_CACHE_CAPACITY', CAST(@@rocksdb_block_cache_size AS CHAR)";

/// The engine behind the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageEngine {
    /// InnoDB.
    InnoDb,
    /// RocksDB, as MyRocks.
    MyRocks,
}

impl StorageEngine {
    /// The product's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::InnoDb => "InnoDB",
            Self::MyRocks => "MyRocks",
        }
    }

    /// What the names of its status variables begin with, in lower case.
    fn prefix(self) -> &'static str {
        match self {
            Self::InnoDb => "innodb_",
            Self::MyRocks => "rocksdb_",
        }
    }

    /// What makes tables tables of this engine, whatever the file says.
    fn flags(self) -> Vec<String> {
        match self {
            // The system tablespace would grow by 64 MiB at a time, most of it for later.
            Self::InnoDb => {
                ["--innodb-autoextend-increment=1", "--default-storage-engine=InnoDB"].map(str::to_owned).to_vec()
            }
            // Without FORCE a server runs on without MyRocks if a line is wrong.
            Self::MyRocks => ["--plugin-load-add=ha_rocksdb", "--rocksdb=FORCE", "--default-storage-engine=RocksDB"]
                .map(str::to_owned)
                .to_vec(),
        }
    }
}

/// A running server.
pub struct SqlServer {
    engine: StorageEngine,
    process: Mutex<Process>,
    socket: String,
    id: u32,
    product: String,
    version: String,
    control: Mutex<Conn>,
    /// The last answer to all questions about counters.
    status: Mutex<Status>,
    /// Bytes of the files of a server without tables.
    bare_bytes: u64,
    latencies: Mutex<Vec<ByStatement>>,
    poison: Poison,
}

impl SqlServer {
    /// Starts a server in an empty directory and creates an empty database.
    pub fn start(
        directory: &Path,
        engine: StorageEngine,
        options: &ServerOptions,
        clients: u32,
        give_up: &dyn Fn() -> bool,
    ) -> Result<Self> {
        let mut flags = engine.flags();
        flags.push(format!("--max-connections={}", clients + OWN_CONNECTIONS));
        let process = Process::start(directory, options, &flags, give_up)?;
        let socket = process.socket();
        let mut control = connect(&socket, None)?;
        control.query_drop(format!("CREATE DATABASE {DATABASE}")).map_err(failed)?;
        control.query_drop(format!("USE {DATABASE}")).map_err(failed)?;
        let family = match process.program.family {
            Family::MariaDb => "MariaDB",
            Family::MySql => "MySQL",
        };
        let server = Self {
            engine,
            socket,
            id: process.id(),
            product: format!("{} of {family}", engine.name()),
            version: process.program.version.clone(),
            process: Mutex::new(process),
            control: Mutex::new(control),
            status: Mutex::default(),
            bare_bytes: 0,
            latencies: Mutex::default(),
            poison: Poison::default(),
        };
        let bare_bytes = server.file_bytes()?;
        server.look()?;
        Ok(Self { bare_bytes, ..server })
    }

    /// Such as `InnoDB of MariaDB`.
    pub fn product(&self) -> &str {
        &self.product
    }

    /// The server's own word on its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Runs statements without values, one after the other.
    pub fn run(&self, statements: &[String]) -> Result<()> {
        let mut control = self.control.lock();
        statements.iter().try_for_each(|statement| control.query_drop(statement).map_err(failed))
    }

    /// Texts of a query's rows.
    fn texts(&self, query: &str) -> Result<Vec<(String, String)>> {
        self.control.lock().query::<(String, String), _>(query).map_err(failed)
    }

    /// A new connection.
    pub fn session(&self) -> Result<Box<dyn Session>> {
        let latencies = ByStatement::default();
        self.latencies.lock().push(latencies.clone());
        Ok(Box::new(SqlSession::open(&self.socket, latencies)?))
    }

    /// Latencies of all sessions' statements, which start anew.
    pub fn take_latencies(&self) -> LatenciesByName {
        let mut all = LatenciesByName::new();
        for session in &*self.latencies.lock() {
            for (name, latencies) in std::mem::take(&mut *session.lock()) {
                all.entry(name).or_default().merge(&latencies);
            }
        }
        all
    }

    /// What the kernel counts of the server.
    pub fn kernel(&self) -> Result<Kernel> {
        Kernel::of(self.id)
    }

    /// Asks for all counters.
    fn look(&self) -> Result<()> {
        let rows = self.texts("SHOW GLOBAL STATUS")?;
        let memory = match self.engine {
            StorageEngine::InnoDb => Vec::new(),
            StorageEngine::MyRocks => self.texts(MEMORY_OF_MYROCKS)?,
        };
        *self.status.lock() = Status::new(rows, memory, self.kernel()?);
        Ok(())
    }

    /// Bytes by purpose since the server began, as of now; what else is counted is as of the same moment.
    pub fn meters(&self) -> MetersSnapshot {
        if let Err(error) = self.look() {
            self.poison.set(&error);
        }
        self.status.lock().meters(self.engine)
    }

    /// Bytes of its files, less those of a server without tables.
    pub fn used_bytes(&self) -> Result<u64> {
        Ok(self.file_bytes()?.saturating_sub(self.bare_bytes))
    }

    fn file_bytes(&self) -> Result<u64> {
        super::files::bytes_below(&self.process.lock().data())
    }

    /// Waits until what was written is where it belongs and background work rests. Returns the nanoseconds for which it
    /// looked on while nothing happened.
    pub fn settle(&self, give_up: &dyn Fn() -> bool) -> Result<u64> {
        match self.engine {
            StorageEngine::InnoDb => self.settle_innodb(give_up),
            StorageEngine::MyRocks => {
                self.run(&[FLUSH_MYROCKS.to_owned()])?;
                let before = self.rest(give_up, &|_| true)?;
                // When a snapshot goes, bottommost files are marked for a compaction of their own whose entries are
                // older than all others (`UpdateOldestSnapshot`): else the first statement of a client begins it.
                self.run(&["START TRANSACTION WITH CONSISTENT SNAPSHOT".to_owned(), "COMMIT".to_owned()])?;
                Ok(before + self.rest(give_up, &|_| true)?)
            }
        }
    }

    /// Merges level 0 of MyRocks down, and waits until the server rests.
    pub fn empty_level0(&self, give_up: &dyn Fn() -> bool) -> Result<()> {
        match self.engine {
            StorageEngine::InnoDb => Ok(()),
            StorageEngine::MyRocks => {
                // `rocksdb_force_flush_memtable_and_lzero_now` would put it on level 1 whatever the base level is,
                // which is level 1 from then on: with dynamic levels all later merges would be with that little.
                let families = "SELECT cf_name, value FROM information_schema.rocksdb_cf_options \
                                WHERE cf_name = 'default' AND option_type = 'LEVEL0_FILE_NUM_COMPACTION_TRIGGER'";
                let before = self.texts(families)?;
                let (_, trigger) = before.first().ok_or_else(|| Error::poisoned("MyRocks tells no level 0 trigger"))?;
                let set = |trigger: &str| {
                    format!(
                        "SET GLOBAL rocksdb_update_cf_options = \
                         'default={{level0_file_num_compaction_trigger={trigger}}}'"
                    )
                };
                self.run(&[FLUSH_MYROCKS.to_owned(), set("1")])?;
                let emptied = self.rest(give_up, &|_| true);
                emptied.and_then(|_| self.run(&[set(trigger)]))
            }
        }
    }

    /// Lets the planner see what the tables hold.
    pub fn analyze(&self) -> Result<()> {
        let tables: Vec<String> = self.control.lock().query("SHOW TABLES").map_err(failed)?;
        for table in tables {
            self.control.lock().query::<mysql::Row, _>(format!("ANALYZE TABLE {table}")).map_err(failed)?;
        }
        Ok(())
    }

    /// Lets the kernel's account of its largest memory begin anew.
    pub fn forget_peak_memory(&self) -> Result<()> {
        kernel::forget_peak(self.id)
    }

    fn settle_innodb(&self, give_up: &dyn Fn() -> bool) -> Result<u64> {
        const FLUSHING: [&str; 3] = ["innodb_max_dirty_pages_pct", "innodb_io_capacity", "innodb_io_capacity_max"];
        let before = self.texts("SHOW GLOBAL VARIABLES LIKE 'innodb%'")?;
        let value = |name: &str| before.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        // The larger of the two capacities moves first, up as down.
        let set = |name: &str, value: String| format!("SET GLOBAL {name} = {value}");
        let fast = SETTLING_IO_CAPACITY.to_string();
        self.run(&[
            set("innodb_io_capacity_max", fast.clone()),
            set("innodb_io_capacity", fast),
            set("innodb_max_dirty_pages_pct", "0".to_owned()),
        ])?;
        let settled = self.rest(give_up, &|status| status.get("innodb_buffer_pool_pages_dirty") <= FEW_PAGES);
        let back: Vec<_> = FLUSHING.iter().filter_map(|name| Some(set(name, value(name)?))).collect();
        settled.and_then(|idle_ns| self.run(&back).map(|()| idle_ns))
    }

    /// Waits until the server does nothing and `is_done`. Returns the nanoseconds for which it was seen to rest.
    fn rest(&self, give_up: &dyn Fn() -> bool, is_done: &dyn Fn(&Status) -> bool) -> Result<u64> {
        rest::wait_for(&Looks { server: self, give_up, is_done, clock: WallClock::default() })
    }
}

/// Looks at a server until it rests.
struct Looks<'a> {
    server: &'a SqlServer,
    give_up: &'a dyn Fn() -> bool,
    is_done: &'a dyn Fn(&Status) -> bool,
    clock: WallClock,
}

impl Watched for Looks<'_> {
    fn is_done(&self) -> Result<bool> {
        if (self.give_up)() {
            return Err(Error::Cancelled);
        }
        self.server.check()?;
        self.server.look()?;
        Ok((self.is_done)(&self.server.status.lock()))
    }

    fn cpu_ns(&self) -> Result<u64> {
        Ok(self.server.kernel()?.cpu_ns)
    }

    fn pause(&self) {
        sleep(PAUSE);
    }

    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }
}

fn only_statements<T>() -> Result<T> {
    Err(Error::poisoned("a server takes statements, not keys"))
}

impl Engine for SqlServer {
    fn get(&self, _task: &mut Task, _key: &[u8], _value: &mut Vec<u8>) -> Result<bool> {
        only_statements()
    }

    fn write(&self, _task: &mut Task, _batch: &mut WriteBatch, _commit: Commit) -> Result<()> {
        only_statements()
    }

    fn iterator<'a>(&'a self, _task: &mut Task) -> Result<Box<dyn EngineIterator + 'a>> {
        only_statements()
    }

    keeps_its_own_time!();

    fn begin_settle(&self, _task: &mut Task) -> Result<()> {
        Ok(())
    }

    fn is_settled(&self) -> bool {
        true
    }

    fn close(&self, _task: &mut Task) -> Result<()> {
        Ok(())
    }

    /// Ends the server, so that no client waits for an answer.
    fn poison(&self, error: &Error) {
        self.poison.set(error);
        self.process.lock().kill();
    }

    fn check(&self) -> Result<()> {
        self.poison.check()?;
        self.process.lock().check()
    }

    fn stats(&self) -> EngineStats {
        self.status.lock().engine_stats(self.engine)
    }
}

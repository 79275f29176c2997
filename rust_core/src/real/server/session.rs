//! A connection that speaks SQL, with the latencies of its statements.

use crate::error::{Error, Result};
use crate::metrics::Latencies;
use crate::session::{ROWS_PER_INSERT, Session, StoredRow, Value};
use crate::task::wall::WallClock;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Params};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The database of a run.
pub const DATABASE: &str = "tunebench";
/// What a server answers when another transaction was in the way: `ER_CHECKREAD`, `ER_LOCK_WAIT_TIMEOUT`,
/// `ER_LOCK_DEADLOCK`: what sysbench tries again, too.
const CONFLICTS: [u16; 3] = [1020, 1205, 1213];
/// `ER_RECORD_FILE_FULL`, `ER_DISK_FULL`.
const FULL: [u16; 2] = [1114, 1021];
/// Statements that a connection keeps prepared.
const PREPARED: usize = 1000;

/// Latencies by the statements' names.
pub type LatenciesByName = BTreeMap<&'static str, Latencies>;
/// Those of one connection, which others look at between its statements.
pub type ByStatement = Arc<Mutex<LatenciesByName>>;

/// A connection.
pub struct SqlSession {
    connection: Conn,
    clock: WallClock,
    latencies: ByStatement,
    conflict: bool,
}

/// Connects to the server behind a socket.
pub fn connect(socket: &str, database: Option<&str>) -> Result<Conn> {
    let options = OptsBuilder::new()
        .socket(Some(socket))
        .user(Some("root"))
        .db_name(database)
        .stmt_cache_size(PREPARED)
        .prefer_socket(false);
    Conn::new(options).map_err(failed)
}

/// The server's own words.
pub fn failed(error: mysql::Error) -> Error {
    let disk_full = matches!(&error, mysql::Error::MySqlError(words) if FULL.contains(&words.code));
    Error::Poisoned { why: format!("the server: {error}"), disk_full }
}

impl SqlSession {
    /// A connection whose latencies go to `latencies`.
    pub fn open(socket: &str, latencies: ByStatement) -> Result<Self> {
        let connection = connect(socket, Some(DATABASE))?;
        Ok(Self { connection, clock: WallClock::default(), latencies, conflict: false })
    }

    /// Runs `f` on the connection and keeps how long it took.
    fn timed<T>(&mut self, name: &'static str, f: impl FnOnce(&mut Conn) -> mysql::Result<T>) -> Result<T> {
        let began_ns = self.clock.now_ns();
        let done = f(&mut self.connection);
        let took_ns = self.clock.now_ns() - began_ns;
        match done {
            Ok(done) => {
                self.latencies.lock().entry(name).or_default().record(took_ns);
                Ok(done)
            }
            Err(error) => {
                self.conflict = matches!(&error, mysql::Error::MySqlError(words) if CONFLICTS.contains(&words.code));
                Err(failed(error))
            }
        }
    }
}

impl Session for SqlSession {
    fn query(&mut self, name: &'static str, text: &str, values: &[Value]) -> Result<Vec<Vec<Value>>> {
        self.timed(name, |connection| {
            let rows = connection.exec_iter(text, parameters(values))?;
            rows.map(|row| Ok(row?.unwrap().into_iter().map(answered).collect())).collect()
        })
    }

    fn read(&mut self, name: &'static str, text: &str, values: &[Value]) -> Result<u64> {
        self.timed(name, |connection| {
            let mut rows = connection.exec_iter(text, parameters(values))?;
            rows.try_fold(0, |count, row| row.map(|_| count + 1))
        })
    }

    fn execute(&mut self, name: &'static str, text: &str, values: &[Value]) -> Result<u64> {
        self.timed(name, |connection| {
            connection.exec_drop(text, parameters(values))?;
            Ok(connection.affected_rows())
        })
    }

    fn begin(&mut self) -> Result<()> {
        self.timed("begin", |connection| connection.query_drop("BEGIN"))
    }

    fn commit(&mut self) -> Result<()> {
        self.timed("commit", |connection| connection.query_drop("COMMIT"))
    }

    fn rollback(&mut self) -> Result<()> {
        self.timed("rollback", |connection| connection.query_drop("ROLLBACK"))
    }

    fn insert(&mut self, rows: &[StoredRow]) -> Result<()> {
        let of_a_table = rows.chunk_by(|one, other| one.table == other.table);
        for rows in of_a_table.flat_map(|rows| rows.chunks(ROWS_PER_INSERT)) {
            let text = insert_text(rows);
            self.timed("insert", |connection| connection.query_drop(text))?;
        }
        Ok(())
    }

    fn take_conflict(&mut self) -> bool {
        std::mem::take(&mut self.conflict)
    }
}

/// One INSERT with literals, as the scripts load.
fn insert_text(rows: &[StoredRow]) -> String {
    let values = rows.iter().map(|row| {
        let columns: Vec<String> = row.columns.iter().map(|column| asked(column).as_sql(false)).collect();
        format!("({})", columns.join(","))
    });
    let table = rows.first().map_or("", |row| &row.table);
    format!("INSERT INTO {table} VALUES {}", values.collect::<Vec<_>>().join(","))
}

fn parameters(values: &[Value]) -> Params {
    if values.is_empty() { Params::Empty } else { Params::Positional(values.iter().map(asked).collect()) }
}

fn asked(value: &Value) -> mysql::Value {
    match value {
        Value::Null => mysql::Value::NULL,
        Value::Int(number) => mysql::Value::Int(*number),
        Value::Unsigned(number) => mysql::Value::UInt(*number),
        Value::Bytes(text) => mysql::Value::Bytes(text.clone()),
    }
}

fn answered(value: mysql::Value) -> Value {
    match value {
        mysql::Value::NULL => Value::Null,
        mysql::Value::Int(number) => Value::Int(number),
        mysql::Value::UInt(number) => Value::Unsigned(number),
        mysql::Value::Bytes(text) => Value::Bytes(text),
        mysql::Value::Float(number) => Value::Bytes(number.to_string().into_bytes()),
        mysql::Value::Double(number) => Value::Bytes(number.to_string().into_bytes()),
        mysql::Value::Date(year, month, day, hour, minute, second, _) => {
            Value::Bytes(format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}").into_bytes())
        }
        other @ mysql::Value::Time(..) => Value::Bytes(other.as_sql(true).trim_matches('\'').as_bytes().to_vec()),
    }
}

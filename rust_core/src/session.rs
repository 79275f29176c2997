//! What a workload of tables says to a SQL server: prepared statements with values, answered by rows.

use crate::error::{Error, Result};

/// A column of a row, or what stands for a question mark.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// A text, a decimal number or a date as they are written.
    Bytes(Vec<u8>),
}

impl Value {
    /// The integer that it is, or that its text says.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Null => None,
            Self::Int(number) => Some(*number),
            Self::Unsigned(number) => i64::try_from(*number).ok(),
            Self::Bytes(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        }
    }
}

macro_rules! from_integers {
    ($($signed:ty),*; $($unsigned:ty),*) => {
        $(impl From<$signed> for Value {
            fn from(number: $signed) -> Self {
                Self::Int(number.into())
            }
        })*
        $(impl From<$unsigned> for Value {
            fn from(number: $unsigned) -> Self {
                Self::Unsigned(number.into())
            }
        })*
    };
}
from_integers!(i32, i64; u8, u16, u32, u64);

impl From<&[u8]> for Value {
    fn from(text: &[u8]) -> Self {
        Self::Bytes(text.to_vec())
    }
}

impl From<Vec<u8>> for Value {
    fn from(text: Vec<u8>) -> Self {
        Self::Bytes(text)
    }
}

/// A row of a table, in the order of its columns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredRow {
    /// The table's name.
    pub table: String,
    /// Its columns.
    pub columns: Vec<Value>,
}

/// The tables of a workload on a SQL server.
pub struct Tables {
    /// Statements that create them.
    pub create: Vec<String>,
    /// Statements behind the load, such as those that create indexes.
    pub finish: Vec<String>,
    /// The row that an entry of ours, key and value, stands for; `None` for an entry of a secondary index.
    pub row_of: fn(&[u8], &[u8]) -> Option<StoredRow>,
    /// Whether the workload knows by how many bytes its statements make the data grow, which a server does not tell.
    pub knows_growth: bool,
}

/// A connection to a SQL server. Statements are prepared once and known by their text; their latencies are kept by
/// `name`.
pub trait Session: Send {
    /// Runs a statement and returns its rows.
    fn query(&mut self, name: &'static str, text: &str, values: &[Value]) -> Result<Vec<Vec<Value>>>;

    /// Runs a statement, takes its rows off the connection, and returns how many there were.
    fn read(&mut self, name: &'static str, text: &str, values: &[Value]) -> Result<u64>;

    /// Runs a statement and returns how many rows it changed.
    fn execute(&mut self, name: &'static str, text: &str, values: &[Value]) -> Result<u64>;

    /// Begins a transaction.
    fn begin(&mut self) -> Result<()>;

    /// Commits it.
    fn commit(&mut self) -> Result<()>;

    /// Gives it up.
    fn rollback(&mut self) -> Result<()>;

    /// Adds rows, those of one table by one statement.
    fn insert(&mut self, rows: &[StoredRow]) -> Result<()>;

    /// Whether the last error was another transaction in the way: the server gave this one up, and it may be tried
    /// again. Asking forgets it.
    fn take_conflict(&mut self) -> bool;
}

/// The refusal of a workload that has no statements.
pub fn no_statements() -> Error {
    Error::invalid("workload.kind", "a workload of plain keys", "one of tables: a server speaks SQL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_from_what_servers_answer() {
        for (value, expected) in [
            (Value::Null, None),
            (Value::from(-3_i64), Some(-3)),
            (Value::from(7_u32), Some(7)),
            (Value::from(u64::MAX), None),
            (Value::from(&b"42"[..]), Some(42)),
            (Value::from(&b"4.2"[..]), None),
        ] {
            assert_eq!(value.integer(), expected, "{value:?}");
        }
    }
}

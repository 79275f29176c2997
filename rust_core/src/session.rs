//! What a workload of tables says to a SQL server: prepared statements with values, answered by rows.

use crate::cost::Work;
use crate::error::{Error, Result};
use crate::task::Task;

/// Rows that one INSERT takes: a batch of each script. With rows of up to 4000 bytes far below `max_allowed_packet`.
pub const ROWS_PER_INSERT: usize = 1000;

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
    /// A DATETIME, of seconds of Unix time, in UTC.
    pub fn date_time(unix_s: u64) -> Self {
        let (year, month, day) = date(unix_s / 86_400);
        let second = unix_s % 86_400;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        Self::Bytes(format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}").into_bytes())
    }

    /// A DECIMAL with two digits behind the point, of hundredths.
    pub fn decimal(hundredths: i64) -> Self {
        let (sign, hundredths) = (if hundredths < 0 { "-" } else { "" }, hundredths.unsigned_abs());
        Self::Bytes(format!("{sign}{}.{:02}", hundredths / 100, hundredths % 100).into_bytes())
    }

    /// The hundredths of a DECIMAL with two digits behind the point.
    pub fn hundredths(&self) -> Option<i64> {
        let Self::Bytes(text) = self else { return None };
        let (whole, rest) = std::str::from_utf8(text).ok()?.split_once('.')?;
        let is_two_digits = rest.len() == 2 && rest.bytes().all(|digit| digit.is_ascii_digit());
        is_two_digits.then(|| [whole, rest].concat().parse().ok())?
    }

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

/// Year, month and day of a day since 1970, by the Gregorian calendar: years begin in March here, so that the day that
/// leap years add is their last (Howard Hinnant, `civil_from_days`).
fn date(day: u64) -> (u64, u64, u64) {
    const DAYS_PER_ERA: u64 = 146_097;
    let shifted = day + 719_468;
    let (era, of_era) = (shifted / DAYS_PER_ERA, shifted % DAYS_PER_ERA);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (400 * era + year + u64::from(month <= 2), month, day)
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

    /// Adds rows, those of one table by one statement for each [`ROWS_PER_INSERT`].
    fn insert(&mut self, rows: &[StoredRow]) -> Result<()>;

    /// Whether the last error was another transaction in the way: the server gave this one up, and it may be tried
    /// again. Asking forgets it.
    fn take_conflict(&mut self) -> bool;
}

/// Charges a client on an engine with statements that read or change rows, as it would send them to a server.
pub fn charge_statements(task: &mut Task, statements: u64) {
    task.charge(Work::RoundTrip, statements);
    task.charge(Work::Statement, statements);
}

/// Charges it with the BEGIN and the COMMIT of a transaction of several statements.
pub fn charge_frame(task: &mut Task) {
    task.charge(Work::RoundTrip, 2);
    charge_frame_in_packets(task);
}

/// As [`charge_frame`], where they travel in the packets of the statements between them.
pub fn charge_frame_in_packets(task: &mut Task) {
    task.charge(Work::TransactionControl, 2);
}

/// Charges it with a result of so many rows that the server sorts or makes distinct.
pub fn charge_sort(task: &mut Task, rows: u64) {
    task.charge(Work::SortedResult, 1);
    task.charge(Work::SortedRow, rows);
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

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (unix_s, expected) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_525_000_000, "2018-04-29 11:06:40"),
            (4_107_542_400, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(Value::date_time(unix_s), Value::from(expected.as_bytes()));
        }
    }

    #[test]
    fn decimals_come_back() {
        for (hundredths, text) in
            [(0, "0.00"), (7, "0.07"), (-7, "-0.07"), (-1000, "-10.00"), (30_000_001, "300000.01")]
        {
            assert_eq!(Value::decimal(hundredths), Value::from(text.as_bytes()));
            assert_eq!(Value::decimal(hundredths).hundredths(), Some(hundredths));
        }
        for other in [Value::Null, Value::from(7_u32), Value::from(&b"7"[..]), Value::from(&b"7.5"[..])] {
            assert_eq!(other.hundredths(), None, "{other:?}");
        }
    }
}

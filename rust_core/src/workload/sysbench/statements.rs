//! The statements of sysbench's `oltp_common.lua` with their random choices, in SQL, and its tables there.

use super::schema::{ENTRY_BYTES, KEY_BYTES, ROW_BYTES, Row, SbTest};
use crate::error::Result;
use crate::session::{Session, StoredRow, Tables, Value};
use crate::table::Schema;

/// A reading statement with its random choices.
pub(super) enum Read {
    /// By id.
    Point { table: u32, id: u32 },
    /// Simple, sum, order or distinct: the engine does the same for all four.
    Range { table: u32, id: u32 },
}

/// A writing statement with its random choices.
pub(super) enum Write {
    /// Adds 1 to the indexed column.
    UpdateIndex { table: u32, id: u32 },
    /// Replaces `c`.
    UpdateNonIndex { table: u32, id: u32, c: [u8; 120] },
    /// Removes a row.
    Delete { table: u32, id: u32 },
    /// Puts a row with a given id.
    Insert(Box<Row>),
    /// Puts a row with the next id.
    Append(Box<Row>),
}

impl Write {
    /// About how many key and value bytes it writes.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::UpdateIndex { .. } => ROW_BYTES + 2 * ENTRY_BYTES,
            Self::UpdateNonIndex { .. } => ROW_BYTES,
            Self::Delete { .. } => KEY_BYTES as u64 + ENTRY_BYTES,
            Self::Insert(_) | Self::Append(_) => ROW_BYTES + ENTRY_BYTES,
        }
    }

    /// The row that must be locked: one that may exist before.
    pub(super) fn locks(&self) -> Option<(u32, u32)> {
        match *self {
            Self::UpdateIndex { table, id } | Self::UpdateNonIndex { table, id, .. } | Self::Delete { table, id } => {
                Some((table, id))
            }
            Self::Insert(ref row) => Some((row.table, row.id)),
            Self::Append(_) => None,
        }
    }
}

/// The ranges of a transaction, in the order of its script: name, what is selected, what follows the range.
const RANGES: [(&str, &str, &str); 4] = [
    ("simple_range", "c", ""),
    ("sum_range", "SUM(k)", ""),
    ("order_range", "c", " ORDER BY c"),
    ("distinct_range", "DISTINCT c", " ORDER BY c"),
];

/// Whether the result of such a range, of which `nth` counts those of a transaction, is sorted.
pub(super) fn is_sorted(nth: usize) -> bool {
    let (_, _, tail) = RANGES[nth % RANGES.len()];
    !tail.is_empty()
}

fn name(table: u32) -> String {
    format!("sbtest{}", table + 1)
}

/// The tables as the script creates them; the index comes behind the rows.
pub(super) fn tables(count: u64) -> Tables {
    let numbers = 1..=count;
    let create = numbers.clone().map(|number| {
        format!(
            "CREATE TABLE sbtest{number} (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"
        )
    });
    let finish = numbers.map(|number| format!("CREATE INDEX k_{number} ON sbtest{number}(k)"));
    Tables { create: create.collect(), finish: finish.collect(), row_of, knows_growth: true }
}

/// A server cuts trailing spaces off a CHAR.
fn text(column: &[u8]) -> Value {
    column.trim_ascii_end().into()
}

fn columns(row: &Row) -> Vec<Value> {
    vec![Value::Int(row.id.into()), Value::Int(row.k.into()), text(&row.c), text(&row.pad)]
}

/// The row of an entry; those of the index on `k` have no value, so that they are none.
pub(super) fn row_of(key: &[u8], value: &[u8]) -> Option<StoredRow> {
    let row = SbTest::decode(key, value)?;
    Some(StoredRow { table: name(row.table), columns: columns(&row) })
}

/// Carries a reading statement out; `nth` counts the ranges of a transaction.
pub(super) fn read(session: &mut dyn Session, statement: &Read, nth: usize, range_size: u32) -> Result<()> {
    match *statement {
        Read::Point { table, id } => {
            let text = format!("SELECT c FROM {} WHERE id=?", name(table));
            session.read("point_select", &text, &[id.into()])
        }
        Read::Range { table, id } => {
            let (kind, selected, tail) = RANGES[nth % RANGES.len()];
            let text = format!("SELECT {selected} FROM {} WHERE id BETWEEN ? AND ?{tail}", name(table));
            session.read(kind, &text, &[id.into(), (id + range_size - 1).into()])
        }
    }
    .map(drop)
}

/// Carries a writing statement out and returns by how many rows the table grew.
pub(super) fn write(session: &mut dyn Session, statement: &Write) -> Result<i64> {
    Ok(match statement {
        Write::UpdateIndex { table, id } => {
            let text = format!("UPDATE {} SET k=k+1 WHERE id=?", name(*table));
            session.execute("index_update", &text, &[(*id).into()])?;
            0
        }
        Write::UpdateNonIndex { table, id, c } => {
            let of = format!("UPDATE {} SET c=? WHERE id=?", name(*table));
            session.execute("non_index_update", &of, &[text(c), (*id).into()])?;
            0
        }
        Write::Delete { table, id } => {
            let text = format!("DELETE FROM {} WHERE id=?", name(*table));
            -(session.execute("delete", &text, &[(*id).into()])? as i64)
        }
        // An id of 0 asks for the next one.
        Write::Insert(row) | Write::Append(row) => {
            let text = format!("INSERT INTO {} (id, k, c, pad) VALUES (?, ?, ?, ?)", name(row.table));
            session.execute("insert", &text, &columns(row))? as i64
        }
    })
}

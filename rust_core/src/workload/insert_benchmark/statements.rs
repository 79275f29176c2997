//! The statements of `iibench.py`, and its table.

use super::schema::{MOST_INDEXES, PRIMARY, Purchase, Table};
use super::{OPERATIONS, QUERY_MARKET};
use crate::error::Result;
use crate::session::{Session, StoredRow, Tables, Value};
use crate::table::keys::Columns;
use std::ops::Range;

const NAME: &str = "purchases_index";
const INDEX_NAMES: [&str; MOST_INDEXES] =
    ["purchases_index_marketsegment", "purchases_index_registersegment", "purchases_index_pdc"];
/// How the queries of each index compare its first column.
const COMPARISONS: [&str; MOST_INDEXES] = [">=", ">", ">="];

/// The table; its secondary indexes come behind the load, as in the script's staged runs.
pub(super) fn tables<T: Table>() -> Tables {
    let declared = T::DECLARED;
    let create = format!(
        "CREATE TABLE {NAME} (transactionid {} NOT NULL AUTO_INCREMENT, dateandtime DATETIME, \
         cashregisterid INT NOT NULL, customerid INT NOT NULL, productid INT NOT NULL, price {} NOT NULL, \
         data VARCHAR(4000), PRIMARY KEY (transactionid))",
        declared.id, declared.price
    );
    let indexes = INDEX_NAMES.into_iter().zip(declared.indexes).take(T::SECONDARY_INDEXES);
    let finish = indexes.map(|(name, columns)| format!("ALTER TABLE {NAME} ADD INDEX {name} ({columns})"));
    Tables { create: vec![create], finish: finish.collect(), row_of: row_of::<T>, knows_growth: true }
}

fn stored<T: Table>(row: &Purchase) -> StoredRow {
    let columns = vec![
        row.id.into(),
        Value::date_time(row.time),
        row.register.into(),
        row.customer.into(),
        row.product.into(),
        T::price(row.price),
        row.data[..].into(),
    ];
    StoredRow { table: NAME.to_owned(), columns }
}

/// The row of an entry; those of secondary indexes are none.
pub(super) fn row_of<T: Table>(key: &[u8], value: &[u8]) -> Option<StoredRow> {
    let is_row = Columns::of_value(key).u32()? == PRIMARY;
    is_row.then(|| T::decode(key, value).map(|row| stored::<T>(&row)))?
}

/// What the script says to a connection without unique checks.
pub(super) fn skip_unique_checks(session: &mut dyn Session) -> Result<()> {
    session.execute("set", "SET unique_checks = 0", &[]).map(drop)
}

/// Adds rows by literals, as the script does, but under ids of ours: those of the server would be lost where the
/// statement is tried again, and deletes go by ids.
pub(super) fn insert<T: Table>(session: &mut dyn Session, rows: &[Purchase]) -> Result<()> {
    session.insert(&rows.iter().map(stored::<T>).collect::<Vec<_>>())
}

/// Looks for the smallest id, as the script does, then deletes a range, and returns how many rows there were.
pub(super) fn delete(session: &mut dyn Session, ids: Range<u64>) -> Result<u64> {
    session.read("select_oldest", &format!("SELECT MIN(transactionid) FROM {NAME}"), &[])?;
    let text = format!("DELETE FROM {NAME} WHERE transactionid >= ? AND transactionid < ?");
    session.execute("delete", &text, &[ids.start.into(), ids.end.into()])
}

/// Reads entries of a secondary index from a value of its first column on.
pub(super) fn query<T: Table>(session: &mut dyn Session, index: usize, first: u32, rows: u64) -> Result<()> {
    let (columns, name, comparison) = (T::DECLARED.indexes[index], INDEX_NAMES[index], COMPARISONS[index]);
    let first_column = columns.split(',').next().unwrap_or(columns);
    let from = if first_column == "price" { T::price(first) } else { first.into() };
    let text = format!(
        "SELECT {columns} FROM {NAME} FORCE INDEX ({name}) WHERE {first_column} {comparison} ? ORDER BY {columns} \
         LIMIT ?"
    );
    session.read(OPERATIONS[QUERY_MARKET + index], &text, &[from, rows.into()]).map(drop)
}

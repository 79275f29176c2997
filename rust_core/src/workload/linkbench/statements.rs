//! The statements of LinkBench's `LinkStoreMysql`, prepared, and its tables.
//!
//! Payloads are bytes of no character set, so they are in binary columns, which take the room of the script's latin1
//! ones. The script ends transactions in the packet of their last statement and never begins one; here those of one
//! statement commit themselves, and the others are framed.

use super::schema::{COUNT, Count, Counts, HIDDEN, LINK, Link, Links, NODE, NODE_TYPE, Node, Nodes, VISIBLE};
use crate::error::Result;
use crate::session::{Session, StoredRow, Tables, Value};
use crate::table::Schema;
use crate::table::keys::Columns;

const LINK_COLUMNS: &str = "id1, id2, link_type, visibility, data, time, version";
const THE_LINK: &str = "id1 = ? AND id2 = ? AND link_type = ?";

/// The tables as MyRocks has them, whose primary key of links is ours, in one partition and one column family.
pub(super) fn tables() -> Tables {
    let create = [
        "CREATE TABLE linktable (id1 BIGINT UNSIGNED NOT NULL DEFAULT 0, id2 BIGINT UNSIGNED NOT NULL DEFAULT 0, \
         link_type BIGINT UNSIGNED NOT NULL DEFAULT 0, visibility TINYINT NOT NULL DEFAULT 0, \
         data VARBINARY(255) NOT NULL DEFAULT '', time BIGINT UNSIGNED NOT NULL DEFAULT 0, \
         version INT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (link_type, id1, id2), \
         KEY id1_type (id1, link_type, visibility, time, id2, version, data))",
        "CREATE TABLE counttable (id BIGINT UNSIGNED NOT NULL DEFAULT 0, link_type BIGINT UNSIGNED NOT NULL DEFAULT 0, \
         count INT UNSIGNED NOT NULL DEFAULT 0, time BIGINT UNSIGNED NOT NULL DEFAULT 0, \
         version BIGINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (id, link_type))",
        "CREATE TABLE nodetable (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, type INT UNSIGNED NOT NULL, \
         version BIGINT UNSIGNED NOT NULL, time INT UNSIGNED NOT NULL, data MEDIUMBLOB NOT NULL, PRIMARY KEY (id))",
    ];
    Tables { create: create.map(str::to_owned).to_vec(), finish: Vec::new(), row_of, knows_growth: false }
}

/// The row of an entry; those of `id1_type` are none.
pub(super) fn row_of(key: &[u8], value: &[u8]) -> Option<StoredRow> {
    let (table, columns) = match Columns::of_value(key).u32()? {
        LINK => ("linktable", link_columns(&Links::decode(key, value)?)),
        COUNT => ("counttable", count_columns(&Counts::decode(key, value)?)),
        NODE => ("nodetable", node_columns(&Nodes::decode(key, value)?)),
        _ => return None,
    };
    Some(StoredRow { table: table.to_owned(), columns })
}

fn link_columns(link: &Link) -> Vec<Value> {
    vec![
        link.id1.into(),
        link.id2.into(),
        link.link_type.into(),
        link.visibility.into(),
        link.data[..].into(),
        link.time.into(),
        link.version.into(),
    ]
}

fn count_columns(count: &Count) -> Vec<Value> {
    vec![count.id.into(), count.link_type.into(), count.count.into(), count.time.into(), count.version.into()]
}

fn node_columns(node: &Node) -> Vec<Value> {
    vec![node.id.into(), node.node_type.into(), node.version.into(), node.time.into(), node.data[..].into()]
}

/// Adds a visible link. The server says whether there was a hidden one (2 rows changed), a visible one (0) or none (1).
pub(super) fn put_link(session: &mut dyn Session, link: &Link) -> Result<()> {
    session.begin()?;
    let text = format!(
        "INSERT INTO linktable ({LINK_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) \
         ON DUPLICATE KEY UPDATE visibility = VALUES(visibility)"
    );
    let changed = session.execute("insert_link", &text, &link_columns(link))?;
    if changed != 0 {
        // The script leaves the time of a count that was there; our engines set it, as a delete does.
        let text = "INSERT INTO counttable (id, link_type, count, time, version) VALUES (?, ?, ?, ?, ?) \
                    ON DUPLICATE KEY UPDATE count = count + 1, time = VALUES(time), version = version + 1";
        let first = Count { id: link.id1, link_type: link.link_type, count: 1, time: link.time, version: 0 };
        session.execute("add_to_count", text, &count_columns(&first))?;
    }
    if changed != 1 {
        let text = format!("UPDATE linktable SET visibility = ?, data = ?, time = ?, version = ? WHERE {THE_LINK}");
        let set = [link.visibility.into(), link.data[..].into(), link.time.into(), link.version.into()];
        let values = set.into_iter().chain(the_link(link.id1, link.link_type, link.id2));
        session.execute("update_link", &text, &values.collect::<Vec<_>>())?;
    }
    session.commit()
}

/// The values of [`THE_LINK`].
fn the_link(id1: u64, link_type: u64, id2: u64) -> [Value; 3] {
    [id1.into(), id2.into(), link_type.into()]
}

/// Hides a visible link and takes it off the count. The script looks without a lock, so that two deletes of one link
/// may both count; here, as in our engines, one does.
pub(super) fn delete_link(session: &mut dyn Session, id1: u64, link_type: u64, id2: u64, now_ms: u64) -> Result<()> {
    let link = the_link(id1, link_type, id2);
    session.begin()?;
    let text = format!("SELECT visibility FROM linktable WHERE {THE_LINK} FOR UPDATE");
    let found = session.query("select_visibility", &text, &link)?;
    if found.first().is_some_and(|row| row[0].integer() == Some(VISIBLE.into())) {
        let text = format!("UPDATE linktable SET visibility = {HIDDEN} WHERE {THE_LINK}");
        session.execute("hide_link", &text, &link)?;
        let text = "INSERT INTO counttable (id, link_type, count, time, version) VALUES (?, ?, ?, ?, ?) \
                    ON DUPLICATE KEY UPDATE count = IF(count = 0, 0, count - 1), time = VALUES(time), \
                    version = version + 1";
        let first = Count { id: id1, link_type, count: 0, time: now_ms, version: 0 };
        session.execute("take_off_count", text, &count_columns(&first))?;
    }
    session.commit()
}

/// Reads a count.
pub(super) fn count_links(session: &mut dyn Session, id: u64, link_type: u64) -> Result<()> {
    let text = "SELECT count FROM counttable WHERE id = ? AND link_type = ?";
    session.read("count_links", text, &[id.into(), link_type.into()]).map(drop)
}

/// Reads links by primary key.
pub(super) fn multiget_links(session: &mut dyn Session, id1: u64, link_type: u64, id2s: &[u64]) -> Result<()> {
    let marks = vec!["?"; id2s.len()].join(",");
    let text = format!("SELECT {LINK_COLUMNS} FROM linktable WHERE id1 = ? AND link_type = ? AND id2 IN ({marks})");
    let values = [id1, link_type].into_iter().chain(id2s.iter().copied()).map(Value::from);
    session.read("multiget_links", &text, &values.collect::<Vec<_>>()).map(drop)
}

/// Reads at most `limit` visible links behind the first `skip` of those not newer than `newest`, and returns the time
/// of the last one if there may be more.
pub(super) fn list_links(
    session: &mut dyn Session,
    (id1, link_type): (u64, u64),
    newest: u64,
    (skip, limit): (u64, u64),
) -> Result<Option<u64>> {
    let text = format!(
        "SELECT {LINK_COLUMNS} FROM linktable FORCE INDEX (id1_type) WHERE id1 = ? AND link_type = ? AND time >= ? \
         AND time <= ? AND visibility = {VISIBLE} ORDER BY time DESC LIMIT ?, ?"
    );
    let values = [id1, link_type, 0, newest.min(i64::MAX as u64), skip, limit].map(Value::from);
    let links = session.query("list_links", &text, &values)?;
    let last = links.last().filter(|_| links.len() as u64 == limit);
    Ok(last.and_then(|link| link[5].integer()).map(|time| time as u64))
}

/// Adds a node under an id of ours: one of the server's would be lost where the statement is tried again.
pub(super) fn add_node(session: &mut dyn Session, node: &Node) -> Result<()> {
    let text = "INSERT INTO nodetable (id, type, version, time, data) VALUES (?, ?, ?, ?, ?)";
    session.execute("insert_node", text, &node_columns(node)).map(drop)
}

/// Replaces the payload of a node, if it is there.
pub(super) fn update_node(session: &mut dyn Session, id: u64, time: u32, version: u64, data: &[u8]) -> Result<()> {
    let text = "UPDATE nodetable SET version = ?, time = ?, data = ? WHERE id = ? AND type = ?";
    let values = [version.into(), time.into(), data.into(), id.into(), NODE_TYPE.into()];
    session.execute("update_node", text, &values).map(drop)
}

/// Removes a node, if it is there.
pub(super) fn delete_node(session: &mut dyn Session, id: u64) -> Result<()> {
    let text = "DELETE FROM nodetable WHERE id = ? AND type = ?";
    session.execute("delete_node", text, &[id.into(), NODE_TYPE.into()]).map(drop)
}

/// Reads a node.
pub(super) fn get_node(session: &mut dyn Session, id: u64) -> Result<()> {
    let text = "SELECT id, type, version, time, data FROM nodetable WHERE id = ?";
    session.read("select_node", text, &[id.into()]).map(drop)
}

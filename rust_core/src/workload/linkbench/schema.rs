//! The three tables of LinkBench and the covering index `id1_type` of the links.

use crate::table::Schema;
use crate::table::keys::{Columns, begin, push_bytes, push_u8, push_u32, push_u64, push_u64_descending};

/// Index numbers of the key spaces.
pub const LINK: u32 = 1;
/// The covering index of the links.
pub const ID1_TYPE: u32 = 2;
/// The counts.
pub const COUNT: u32 = 3;
/// The nodes.
pub const NODE: u32 = 4;

/// The type of every node.
pub const NODE_TYPE: u32 = 2048;

/// A link that lists show.
pub const VISIBLE: u8 = 1;
/// A link that was deleted: row and index entry stay.
pub const HIDDEN: u8 = 0;

/// A row of `linktable`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Where the link starts.
    pub id1: u64,
    /// Its type.
    pub link_type: u64,
    /// Where it ends.
    pub id2: u64,
    /// [`VISIBLE`] or [`HIDDEN`].
    pub visibility: u8,
    /// Payload.
    pub data: Vec<u8>,
    /// Milliseconds.
    pub time: u64,
    /// Version.
    pub version: u32,
}

/// A row of `counttable`: visible links of one id and type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// Where the links start.
    pub id: u64,
    /// Their type.
    pub link_type: u64,
    /// How many are visible.
    pub count: u32,
    /// Milliseconds.
    pub time: u64,
    /// Changes so far.
    pub version: u64,
}

/// A row of `nodetable`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its id.
    pub id: u64,
    /// Its type.
    pub node_type: u32,
    /// Version.
    pub version: u64,
    /// Seconds.
    pub time: u32,
    /// Payload.
    pub data: Vec<u8>,
}

/// `linktable`, primary key (link_type, id1, id2), secondary index `id1_type`.
pub struct Links;

/// Writes the primary key of a link.
pub fn link_key(key: &mut Vec<u8>, id1: u64, link_type: u64, id2: u64) {
    begin(key, LINK);
    push_u64(key, link_type);
    push_u64(key, id1);
    push_u64(key, id2);
}

/// Writes what all `id1_type` entries of one id and type start with.
pub fn id1_type_prefix(key: &mut Vec<u8>, id1: u64, link_type: u64) {
    begin(key, ID1_TYPE);
    push_u64(key, id1);
    push_u64(key, link_type);
}

/// Writes what those of its visible links start with.
pub fn list_prefix(key: &mut Vec<u8>, id1: u64, link_type: u64) {
    id1_type_prefix(key, id1, link_type);
    push_u8(key, VISIBLE);
}

/// The link that an entry of `id1_type` covers.
pub fn decode_list_entry(key: &[u8]) -> Option<Link> {
    let mut columns = Columns::of_key(key)?;
    let (id1, link_type, visibility) = (columns.u64()?, columns.u64()?, columns.u8()?);
    let (time, id2, version) = (columns.u64_descending()?, columns.u64()?, columns.u32()?);
    Some(Link { id1, link_type, id2, visibility, data: columns.bytes()?, time, version })
}

impl Schema for Links {
    type Row = Link;
    const SECONDARY_INDEXES: usize = 1;

    fn primary_key(row: &Link, key: &mut Vec<u8>) {
        link_key(key, row.id1, row.link_type, row.id2);
    }

    fn value(row: &Link, value: &mut Vec<u8>) {
        value.clear();
        push_u8(value, row.visibility);
        push_u64(value, row.time);
        push_u32(value, row.version);
        value.extend_from_slice(&row.data);
    }

    fn decode(key: &[u8], value: &[u8]) -> Option<Link> {
        let mut key = Columns::of_key(key)?;
        let (link_type, id1, id2) = (key.u64()?, key.u64()?, key.u64()?);
        let mut value = Columns::of_value(value);
        let (visibility, time, version) = (value.u8()?, value.u64()?, value.u32()?);
        Some(Link { id1, link_type, id2, visibility, data: value.rest().to_vec(), time, version })
    }

    /// Time descends, so that a forward scan shows the newest link first.
    fn index_key(row: &Link, _index: usize, key: &mut Vec<u8>) {
        begin(key, ID1_TYPE);
        push_u64(key, row.id1);
        push_u64(key, row.link_type);
        push_u8(key, row.visibility);
        push_u64_descending(key, row.time);
        push_u64(key, row.id2);
        push_u32(key, row.version);
        push_bytes(key, &row.data);
    }
}

/// `counttable`, primary key (id, link_type).
pub struct Counts;

/// Writes the primary key of a count.
pub fn count_key(key: &mut Vec<u8>, id: u64, link_type: u64) {
    begin(key, COUNT);
    push_u64(key, id);
    push_u64(key, link_type);
}

impl Schema for Counts {
    type Row = Count;

    fn primary_key(row: &Count, key: &mut Vec<u8>) {
        count_key(key, row.id, row.link_type);
    }

    fn value(row: &Count, value: &mut Vec<u8>) {
        value.clear();
        push_u32(value, row.count);
        push_u64(value, row.time);
        push_u64(value, row.version);
    }

    fn decode(key: &[u8], value: &[u8]) -> Option<Count> {
        let (mut key, mut value) = (Columns::of_key(key)?, Columns::of_value(value));
        let (id, link_type) = (key.u64()?, key.u64()?);
        Some(Count { id, link_type, count: value.u32()?, time: value.u64()?, version: value.u64()? })
    }
}

/// `nodetable`, primary key id.
pub struct Nodes;

/// Writes the primary key of a node.
pub fn node_key(key: &mut Vec<u8>, id: u64) {
    begin(key, NODE);
    push_u64(key, id);
}

impl Schema for Nodes {
    type Row = Node;

    fn primary_key(row: &Node, key: &mut Vec<u8>) {
        node_key(key, row.id);
    }

    fn value(row: &Node, value: &mut Vec<u8>) {
        value.clear();
        push_u32(value, row.node_type);
        push_u64(value, row.version);
        push_u32(value, row.time);
        value.extend_from_slice(&row.data);
    }

    fn decode(key: &[u8], value: &[u8]) -> Option<Node> {
        let (id, mut value) = (Columns::of_key(key)?.u64()?, Columns::of_value(value));
        let (node_type, version, time) = (value.u32()?, value.u64()?, value.u32()?);
        Some(Node { id, node_type, version, time, data: value.rest().to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(time: u64, data: &[u8]) -> Link {
        Link { id1: 1, link_type: 2, id2: 3, visibility: VISIBLE, data: data.to_vec(), time, version: 4 }
    }

    #[test]
    fn rows_and_entries_come_back() {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let row = link(5, b"thirteen char");
        Links::primary_key(&row, &mut key);
        Links::value(&row, &mut value);
        assert_eq!((key.len(), value.len()), (28, 26));
        assert_eq!(Links::decode(&key, &value), Some(row.clone()));
        Links::index_key(&row, 0, &mut key);
        assert_eq!(key.len(), 59);
        assert_eq!(decode_list_entry(&key), Some(row));

        let row = Count { id: 1, link_type: 2, count: 3, time: 4, version: 5 };
        Counts::primary_key(&row, &mut key);
        Counts::value(&row, &mut value);
        assert_eq!((key.len(), value.len()), (20, 20));
        assert_eq!(Counts::decode(&key, &value), Some(row));

        let row = Node { id: 1, node_type: 2048, version: 3, time: 4, data: vec![7; 212] };
        Nodes::primary_key(&row, &mut key);
        Nodes::value(&row, &mut value);
        assert_eq!((key.len(), value.len()), (12, 228));
        assert_eq!(Nodes::decode(&key, &value), Some(row));
    }

    #[test]
    fn a_forward_scan_of_the_index_goes_from_new_to_old() {
        let entry = |time| {
            let mut key = Vec::new();
            Links::index_key(&link(time, b""), 0, &mut key);
            key
        };
        assert!(entry(2) < entry(1));
        let mut prefix = Vec::new();
        list_prefix(&mut prefix, 1, 2);
        assert!(entry(9).starts_with(&prefix));
    }
}

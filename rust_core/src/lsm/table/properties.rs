//! What a table file says about itself: its properties, and where its parts lie.

use super::block::Block;
use super::block_builder::BlockBuilder;
use super::block_cursor::BlockCursor;
use super::format::Handle;
use std::sync::Arc;

/// What a table says about itself. The names are RocksDB's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Properties {
    /// Entries, tombstones included.
    pub entries: u64,
    /// Tombstones.
    pub deletions: u64,
    /// Bytes of internal keys before compression.
    pub raw_key_bytes: u64,
    /// Bytes of values before compression.
    pub raw_value_bytes: u64,
    /// Number of data blocks.
    pub data_blocks: u64,
    /// Bytes of data blocks, trailers included.
    pub data_bytes: u64,
    /// Bytes of the index block, trailer included.
    pub index_bytes: u64,
    /// Bytes of the filter block.
    pub filter_bytes: u64,
    /// Whether whole keys are in the filter.
    pub whole_key_filtering: bool,
    /// The prefix extractor whose prefixes are in the filter, or `nullptr`.
    pub prefix_extractor: String,
}

impl Properties {
    fn numbers(&self) -> [(&'static str, u64); 9] {
        [
            ("rocksdb.block.based.table.whole.key.filtering", u64::from(self.whole_key_filtering)),
            ("rocksdb.data.size", self.data_bytes),
            ("rocksdb.deleted.keys", self.deletions),
            ("rocksdb.filter.size", self.filter_bytes),
            ("rocksdb.index.size", self.index_bytes),
            ("rocksdb.num.data.blocks", self.data_blocks),
            ("rocksdb.num.entries", self.entries),
            ("rocksdb.raw.key.size", self.raw_key_bytes),
            ("rocksdb.raw.value.size", self.raw_value_bytes),
        ]
    }

    /// The properties block.
    pub fn encode(&self) -> Vec<u8> {
        let mut pairs = self
            .numbers()
            .map(|(name, number)| (name, number.to_string().into_bytes()))
            .into_iter()
            .collect::<Vec<_>>();
        pairs.push(("rocksdb.comparator", b"leveldb.BytewiseComparator".to_vec()));
        pairs.push(("rocksdb.prefix.extractor.name", self.prefix_extractor.clone().into_bytes()));
        pairs.sort_unstable();
        let mut builder = BlockBuilder::new(1);
        for (name, value) in &pairs {
            builder.add(name.as_bytes(), value);
        }
        builder.finish(<[u8]>::to_vec)
    }

    /// Reads a properties block; `None` if it is not one.
    pub fn decode(block: Vec<u8>) -> Option<Self> {
        let pairs = entries_of(block)?;
        let text = |name: &str| {
            let (_, value) = pairs.iter().find(|(found, _)| found == name.as_bytes())?;
            std::str::from_utf8(value).ok()
        };
        let number = |name: &str| text(name)?.parse::<u64>().ok();
        Some(Self {
            entries: number("rocksdb.num.entries")?,
            deletions: number("rocksdb.deleted.keys")?,
            raw_key_bytes: number("rocksdb.raw.key.size")?,
            raw_value_bytes: number("rocksdb.raw.value.size")?,
            data_blocks: number("rocksdb.num.data.blocks")?,
            data_bytes: number("rocksdb.data.size")?,
            index_bytes: number("rocksdb.index.size")?,
            filter_bytes: number("rocksdb.filter.size")?,
            whole_key_filtering: number("rocksdb.block.based.table.whole.key.filtering")? == 1,
            prefix_extractor: text("rocksdb.prefix.extractor.name")?.to_owned(),
        })
    }
}

/// All entries of a block whose keys are plain bytes.
fn entries_of(block: Vec<u8>) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut cursor = BlockCursor::default();
    cursor.set_block(Arc::new(Block::decode(block)?));
    let mut pairs = Vec::new();
    cursor.seek_to_first();
    while cursor.valid() {
        pairs.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.next();
    }
    Some(pairs)
}

const FILTER_NAME: &[u8] = b"fullfilter.rocksdb.BuiltinBloomFilter";
const PROPERTIES_NAME: &[u8] = b"rocksdb.properties";

/// Where the parts of a table lie, as its metaindex block and its footer say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layout {
    /// The index block.
    pub index: Handle,
    /// The filter block, if there is one.
    pub filter: Option<Handle>,
    /// The properties block.
    pub properties: Handle,
}

impl Layout {
    /// The metaindex block.
    pub fn encode_metaindex(&self) -> Vec<u8> {
        let mut builder = BlockBuilder::new(1);
        let mut add = |name: &[u8], handle: Handle| {
            let mut value = Vec::new();
            handle.push(&mut value);
            builder.add(name, &value);
        };
        if let Some(filter) = self.filter {
            add(FILTER_NAME, filter);
        }
        add(PROPERTIES_NAME, self.properties);
        builder.finish(<[u8]>::to_vec)
    }

    /// Reads a metaindex block; `index` comes from the footer. `None` if it is not one.
    pub fn decode_metaindex(block: Vec<u8>, index: Handle) -> Option<Self> {
        let pairs = entries_of(block)?;
        let handle = |name: &[u8]| {
            let (_, value) = pairs.iter().find(|(found, _)| found == name)?;
            Some(Handle::take(value)?.0)
        };
        Some(Self { index, filter: handle(FILTER_NAME), properties: handle(PROPERTIES_NAME)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_and_layout_come_back() {
        let properties = Properties {
            entries: 5,
            deletions: 1,
            data_bytes: 400,
            whole_key_filtering: true,
            prefix_extractor: "fixed:4".into(),
            ..Properties::default()
        };
        assert_eq!(Properties::decode(properties.encode()), Some(properties));
        let index = Handle { offset: 700, bytes: 80 };
        for filter in [None, Some(Handle { offset: 400, bytes: 300 })] {
            let layout = Layout { index, filter, properties: Handle { offset: 785, bytes: 90 } };
            assert_eq!(Layout::decode_metaindex(layout.encode_metaindex(), index), Some(layout));
        }
    }
}

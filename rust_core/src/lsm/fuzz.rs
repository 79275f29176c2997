//! What the LSM reads back, as targets of [`crate::fuzz`]: logs, manifests, tables and their blocks, and whole
//! databases.

use super::keys::key;
use super::log::format::{BLOCK_BYTES, HEADER_BYTES, checksum as log_checksum};
use super::log::{Reader, Record};
use super::options::BloomPolicy;
use super::table::block::Block;
use super::table::block_builder::BlockBuilder;
use super::table::block_cursor::BlockCursor;
use super::table::bloom::{self, Filter};
use super::table::format::{
    BLOCK_TRAILER_BYTES, FOOTER_BYTES, FORMAT_VERSION_AT, FORMAT_VERSIONS, Footer, Handle, checksum as block_checksum,
    open_block,
};
use super::table::index::{Index, IndexForm};
use super::table::properties::{Layout, Properties};
use super::table::{Access, BlockCache, LookupKey, TableContext, TableCursor, TableReader};
use super::version::{CURRENT, VersionEdit, manifest_name, read_manifest};
use super::{Lsm, Options};
use crate::codec::Compression;
use crate::engine::{KeyLayout, WriteBatch};
use crate::fuzz::mutate::scripts;
use crate::fuzz::{Database, Target, expect_corruption, without_checksum};
use crate::metrics::Purpose;
use crate::scale::Scale;
use crate::storage::FileOptions;
use crate::storage::{MemoryStorage, Storage};
use crate::task::{Signal, Task};
use std::sync::{Arc, OnceLock};

/// Every decoder of the LSM.
pub fn targets() -> Vec<Target> {
    vec![
        Target { name: "log", seeds: || logs("log"), repair: |bytes| repair_log(1, bytes), decode: read_log },
        Target {
            name: "manifest",
            seeds: || logs("MANIFEST"),
            repair: |bytes| repair_log(1, bytes),
            decode: read_manifest_and_current,
        },
        Target { name: "table", seeds: tables, repair: repair_table, decode: read_table },
        Target { name: "block", seeds: blocks, repair: without_checksum, decode: read_blocks },
        Target { name: "lsm_database", seeds: || scripts(8), repair: |_| {}, decode: use_database },
    ]
}

/// Settings that between them write every codec and every kind of block; the files of the last are never closed.
const OPTIONS: [&str; 6] = [
    r#"{"compression": "kLZ4Compression"}"#,
    r#"{"compression": "kZSTD", "cache_index_and_filter_blocks": true, "prefix_extractor": "fixed:2"}"#,
    r#"{"compression": "kZlibCompression", "filter_policy": "bloomfilter:10", "max_manifest_file_size": 0}"#,
    r#"{"compression": "kSnappyCompression", "block_restart_interval": 1, "prefix_extractor": "capped:3"}"#,
    r#"{"compression": "kNoCompression", "optimize_filters_for_hits": true, "level0_file_num_compaction_trigger": 9}"#,
    r#"{"write_buffer_size": 1048576}"#,
];

fn options(text: &str) -> Options {
    let small = serde_json::json!({
        "write_buffer_size": 65536, "max_bytes_for_level_base": 32768, "target_file_size_base": 16384,
        "level0_file_num_compaction_trigger": 2, "block_cache": 65536, "block_size": 512,
        "filter_policy": "bloomfilter:10", "num_levels": 4,
    });
    let mut map = small.as_object().cloned().unwrap_or_default();
    map.extend(serde_json::from_str::<serde_json::Map<_, _>>(text).expect("settings in JSON"));
    Options::from_json(&map).expect("settings that exist")
}

/// Batches of puts and deletes of a few hundred keys, some of them long and some of them more than once.
fn batches() -> impl Iterator<Item = WriteBatch> {
    (0..160u32).map(|n| {
        let mut batch = WriteBatch::default();
        for part in 0..=n % 3 {
            let number = (n * 7 + part * 31) % 151;
            let key = format!("k{:03}{}", number, "-".repeat(number as usize % 40));
            match (n + part) % 11 {
                0 => batch.delete(key.as_bytes()),
                1 => batch.put(key.as_bytes(), format!("{n}").repeat(n as usize * 4).as_bytes()),
                _ => batch.put(key.as_bytes(), format!("value {n} of {key} ").repeat(3).as_bytes()),
            }
        }
        batch
    })
}

/// A database of each kind.
pub fn databases() -> &'static [Database] {
    static DATABASES: OnceLock<Vec<Database>> = OnceLock::new();
    let make = |text: &&str| {
        let options = options(text);
        let open = move |storage: Arc<dyn Storage>, task: &mut Task| {
            Ok(Lsm::open(storage, options.clone(), Arc::new(Signal::default()), task)?
                as Arc<dyn crate::engine::Engine>)
        };
        Database::make(KeyLayout::Plain, open, repair_file, batches())
    };
    DATABASES.get_or_init(|| OPTIONS.iter().map(make).collect())
}

fn repair_file(name: &str, bytes: &mut [u8]) {
    if let Some(number) = name.strip_suffix(".log").or(name.strip_prefix("MANIFEST-")) {
        repair_log(number.parse().expect("the number of a log"), bytes);
    } else if name.strip_suffix(".sst").is_some() {
        repair_blocks(bytes);
    }
}

/// The script's first two bytes say which database, and whether checksums are put right.
fn use_database(script: &[u8]) {
    if let [database, repaired, script @ ..] = script {
        databases()[usize::from(*database) % OPTIONS.len()].check(script, repaired % 2 == 1);
    }
}

/// The files of all databases whose names have this in them.
fn files(part: &str) -> Vec<Vec<u8>> {
    let files = databases().iter().flat_map(|database| &database.files);
    files.filter(|(name, bytes)| name.contains(part) && !bytes.is_empty()).map(|(_, bytes)| bytes.clone()).collect()
}

/// Logs of one kind, each as the first.
fn logs(part: &str) -> Vec<Vec<u8>> {
    let mut logs = files(part);
    for log in &mut logs {
        repair_log(1, log);
    }
    logs
}

/// Tables behind the length of their data blocks, which the manifest tells.
fn tables() -> Vec<Vec<u8>> {
    let with_length = |table: Vec<u8>| {
        let Footer { index, format_version, .. } = Footer::decode(&table[table.len() - FOOTER_BYTES..])?;
        let stored = table.get(index.offset as usize..index.end() as usize)?.to_vec();
        let block = open_block(&mut Task::wall(0), "seed", 0, stored).ok()?;
        let data_bytes = Index::decode(&block, IndexForm::of(format_version))?.data_end() as u32;
        Some([&data_bytes.to_le_bytes()[..], &table].concat())
    };
    files("sst").into_iter().filter_map(with_length).collect()
}

/// Decompressed blocks of each kind: data, properties, metaindex, index, filter.
fn blocks() -> Vec<Vec<u8>> {
    let mut builder = BlockBuilder::new(4);
    for n in 0..40u64 {
        let mut internal = Vec::new();
        key::encode(format!("key{:02}", n / 2).as_bytes(), key::trailer(100 - n, key::Kind::Put), &mut internal);
        builder.add(&internal, format!("value {n}").as_bytes());
    }
    let data = builder.finish(<[u8]>::to_vec);
    let handle = Handle { offset: 700, bytes: 80 };
    let metaindex = Layout { index: handle, filter: Some(handle), properties: handle }.encode_metaindex();
    let properties = Properties { prefix_extractor: "fixed:4".into(), ..Properties::default() }.encode();
    let mut filter = bloom::FilterBuilder::new(BloomPolicy::new(10.0).expect("a policy"));
    (0..40u64).for_each(|n| filter.add(bloom::hash(&n.to_le_bytes())));
    let mut batch = WriteBatch::default();
    batch.put(b"key", b"value");
    batch.delete(b"other key");
    let mut compressed = Vec::new();
    for codec in [Compression::Snappy, Compression::Zlib, Compression::Lz4, Compression::Zstd] {
        let mut packed = Vec::new();
        codec.compress(&mut Task::wall(0), None, &data, &mut packed).expect("a block that compresses");
        let mut stored = Vec::new();
        crate::codec::varint::push_u32(&mut stored, data.len() as u32);
        stored.extend_from_slice(&packed);
        stored.push(codec as u8);
        compressed.push(stored);
    }
    [vec![data, metaindex, properties, filter.finish(), batch.encode(7).to_vec()], compressed].concat()
}

/// Gives every fragment of this log the checksum of what it has, as far as the lengths lead.
fn repair_log(log: u64, bytes: &mut [u8]) {
    let mut at = 0;
    loop {
        let left = BLOCK_BYTES - at % BLOCK_BYTES;
        if left < HEADER_BYTES {
            at += left;
        }
        let Some(header) = bytes.get(at..at + HEADER_BYTES) else { return };
        let (len, kind) = (usize::from(u16::from_le_bytes([header[4], header[5]])), header[6]);
        let start = at + HEADER_BYTES;
        let Some(payload) = bytes.get(start..start + len) else { return };
        let sum = log_checksum(log, at, kind, payload).to_le_bytes();
        bytes[at..at + 4].copy_from_slice(&sum);
        at = start + len;
    }
}

fn read_log(bytes: &[u8]) {
    let mut reader = Reader::new(1, bytes);
    let mut from = 0;
    loop {
        match reader.next_record() {
            Record::Whole { payload, .. } => {
                if let Some((_, batch)) = WriteBatch::decode(payload) {
                    assert_eq!(batch.changes().count(), batch.len());
                }
            }
            Record::End => return,
            Record::Broken(broken) => {
                let _ = (reader.records_from(broken.offset), reader.was_synced_behind(broken.offset));
                let Some(next) = reader.skip_behind(broken.offset) else { return };
                assert!(next > from && next <= bytes.len(), "from {from} on to {next}");
                from = next;
            }
        }
    }
}

/// The bytes as the manifest that CURRENT names, and as CURRENT.
fn read_manifest_and_current(bytes: &[u8]) {
    let task = &mut Task::wall(0);
    for (current, name) in [(format!("{}\n", manifest_name(1)).as_bytes(), manifest_name(1)), (bytes, "other".into())] {
        let storage = MemoryStorage::new(Arc::default());
        for (name, bytes) in [(CURRENT, current), (&*name, bytes)] {
            let file = storage.create(task, name, FileOptions::DIRECT).expect("a file in memory");
            file.write_at(task, Purpose::Manifest, 0, bytes).expect("a file in memory");
        }
        match read_manifest(task, &storage) {
            Ok(edits) => edits.iter().for_each(|edit| {
                assert_eq!(VersionEdit::decode(&edit.encode()).as_ref(), Some(edit));
            }),
            Err(error) => expect_corruption(&error),
        }
    }
}

/// Gives every block the checksum of what it has, as far as the footer and the index lead, and the footer its end.
fn repair_blocks(table: &mut [u8]) {
    let Some(footer_at) = table.len().checked_sub(FOOTER_BYTES) else { return };
    let handles =
        Handle::take(&table[footer_at + 1..]).and_then(|(metaindex, rest)| Some((metaindex, Handle::take(rest)?.0)));
    let Some((metaindex, index)) = handles else { return };
    let version = u32::from(table[footer_at + FORMAT_VERSION_AT]);
    let format_version = version.clamp(*FORMAT_VERSIONS.start(), *FORMAT_VERSIONS.end());
    let footer = Footer { metaindex, index, format_version }.encode();
    if footer.len() == FOOTER_BYTES {
        table[footer_at..].copy_from_slice(&footer);
    }
    let mut opened = |handle: Handle| {
        let end = handle.offset.checked_add(handle.bytes)?.checked_add(BLOCK_TRAILER_BYTES)?;
        let stored = table.get_mut(handle.offset as usize..end as usize)?;
        let (contents, trailer) = stored.split_at_mut(stored.len() - BLOCK_TRAILER_BYTES as usize);
        let sum = block_checksum(contents, trailer[0]).to_le_bytes();
        trailer[1..].copy_from_slice(&sum);
        open_block(&mut Task::wall(0), "repaired", handle.offset, stored.to_vec()).ok()
    };
    let layout = opened(metaindex).and_then(|block| Layout::decode_metaindex(block, index));
    if let Some(layout) = layout {
        [Some(layout.properties), layout.filter].into_iter().flatten().for_each(|handle| drop(opened(handle)));
    }
    if let Some(index) = opened(index).and_then(|block| Index::decode(&block, IndexForm::of(format_version))) {
        (0..index.blocks()).for_each(|block| drop(opened(index.handle(block))));
    }
}

fn repair_table(bytes: &mut [u8]) {
    if let Some((_, table)) = bytes.split_at_mut_checked(4) {
        repair_blocks(table);
    }
}

fn context() -> Arc<TableContext> {
    Arc::new(TableContext {
        cache: BlockCache::new(1 << 20, 0.5, Scale::FULL),
        prefix: None,
        prefix_text: "nullptr".into(),
        cache_index_and_filter: false,
        pin_level0: false,
        bloom_useful: 0.into(),
        bloom_positive: 0.into(),
        bloom_true_positive: 0.into(),
    })
}

fn read_table(bytes: &[u8]) {
    let Some((data_bytes, table)) = bytes.split_first_chunk() else { return };
    let (task, storage) = (&mut Task::wall(0), MemoryStorage::new(Arc::default()));
    let file = storage.create(task, "000001.sst", FileOptions::DIRECT).expect("a file in memory");
    file.write_at(task, Purpose::Flush, 0, table).expect("a file in memory");
    if let Err(error) = walk_table(task, file, u64::from(u32::from_le_bytes(*data_bytes))) {
        expect_corruption(&error);
    }
}

fn walk_table(
    task: &mut Task,
    file: Arc<dyn crate::storage::StorageFile>,
    data_bytes: u64,
) -> crate::error::Result<()> {
    let most = file.len() as usize;
    let table = Arc::new(TableReader::open(task, context(), 1, 1, file, data_bytes)?);
    let mut value = Vec::new();
    for key in [&b""[..], b"k000", b"k077", b"k150", b"l"] {
        value.clear();
        table.get(task, &mut LookupKey::new(key, 1 << 40), &mut value)?;
    }
    for access in [Access::Client, Access::Compaction { level: 1, bytes: 1 << 16 }] {
        let mut cursor = TableCursor::new(access);
        cursor.set_table(task, &table)?;
        cursor.seek_to_first(task)?;
        for step in 0.. {
            assert!(step <= most, "a cursor without end");
            if !cursor.valid() {
                break;
            }
            let _ = (key::split(cursor.key()), cursor.value().len());
            cursor.next(task)?;
        }
        cursor.seek(task, b"k077-------\0\0\0\0\0\0\0\0")?;
        cursor.seek_to_last(task)?;
        for step in 0.. {
            assert!(step <= most, "a cursor without end backwards");
            if !cursor.valid() {
                break;
            }
            cursor.prev(task)?;
        }
    }
    Ok(())
}

/// The bytes as each kind of block.
fn read_blocks(bytes: &[u8]) {
    let _ = (Layout::decode_metaindex(bytes.to_vec(), Handle::default()), Properties::decode(bytes.to_vec()));
    let _ = (VersionEdit::decode(bytes), WriteBatch::decode(bytes));
    for index in FORMAT_VERSIONS.filter_map(|version| Index::decode(bytes, IndexForm::of(version))) {
        for at in 0..index.blocks() {
            let _ = (index.handle(at), index.find(index.separator(at)));
        }
        index.find(b"k");
    }
    if let Some(filter) = Filter::decode(bytes.to_vec()) {
        assert!((0..100u64).filter(|n| filter.may_contain(bloom::hash(&n.to_le_bytes()))).count() <= 100);
    }
    if let Some(block) = Block::decode(bytes.to_vec()) {
        walk_block(Arc::new(block), bytes.len());
    }
    let mut stored = bytes.to_vec();
    if let Some(kind) = bytes.last() {
        let sum = block_checksum(&bytes[..bytes.len() - 1], *kind);
        stored.extend_from_slice(&sum.to_le_bytes());
        if let Err(error) = open_block(&mut Task::wall(0), "000001.sst", 0, stored) {
            expect_corruption(&error);
        }
    }
}

fn walk_block(block: Arc<Block>, most: usize) {
    for key in [&b""[..], b"key", b"key07", b"key11", b"z"] {
        for trailer in [0, key::seek_trailer(50), u64::MAX] {
            let mut steps = 0;
            block.find(key, trailer, &mut steps);
            assert!(steps <= 2 * most as u64, "a search of {steps} steps");
        }
    }
    let mut cursor = BlockCursor::default();
    cursor.set_block(block);
    cursor.seek(b"key07\0\0\0\0\0\0\0\0");
    let mut steps = 0;
    cursor.seek_to_first();
    while cursor.valid() {
        let _ = (cursor.key().len(), cursor.value().len());
        cursor.next();
        steps += 1;
        assert!(steps <= most, "a block without end");
    }
    cursor.seek_to_last();
    while cursor.valid() {
        cursor.prev();
        steps += 1;
        assert!(steps <= 2 * most, "a block without end backwards");
    }
}

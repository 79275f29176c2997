//! What the B-tree reads back, as targets of [`crate::fuzz`]: pages in both forms, the redo log and what is in it, and
//! whole databases with their doublewrite area, undo and change buffer.

use crate::btree::log::{
    BLOCK, FRAME_HEADER, LOG_HEADER_BYTES, PAYLOAD, RedoOp, frame_checksum, frames_in, read_frames, read_header,
    restore_image, seal,
};
use crate::btree::page::{
    AT_ALGORITHM, AT_CHECKSUM, AT_PAGE_NO, AT_STORED, Edit, HEADER_BYTES, IbufBits, Kind, PageZip, PageZipEdit,
    Payload, SLOT_BYTES, Stored, View, get_u32, has_room, put_u32, split_point,
};
use crate::btree::space::{DOUBLEWRITE_FILE, FilSpace, REDO_FILE, Tablespace};
use crate::btree::tree::{BufferedChange, Intent};
use crate::btree::{Btree, Options};
use crate::engine::{Engine, KeyLayout, WriteBatch};
use crate::fuzz::mutate::scripts;
use crate::fuzz::{Database, Target, expect_corruption};
use crate::metrics::Purpose;
use crate::storage::{FileOptions, MemoryStorage, Storage};
use crate::task::{Signal, Task};
use std::sync::{Arc, OnceLock};

/// Every decoder of the B-tree.
pub fn targets() -> Vec<Target> {
    vec![
        Target { name: "page", seeds: pages, repair: repair_page, decode: read_page },
        Target { name: "page_zip", seeds: page_zips, repair: repair_page, decode: read_page_zip },
        Target { name: "redo", seeds: || files(REDO_FILE), repair: repair_redo, decode: read_redo },
        Target { name: "btree_database", seeds: || scripts(8), repair: |_| {}, decode: use_database },
    ]
}

const PAGE_BYTES: usize = 4096;
const SMALL: &str =
    r#""innodb_page_size": 4096, "innodb_buffer_pool_size": 262144, "innodb_redo_log_capacity": 262144"#;
const LARGE: &str =
    r#""innodb_page_size": 16384, "innodb_buffer_pool_size": 2097152, "innodb_redo_log_capacity": 2097152"#;

/// Settings that between them write every kind of page and of record.
const OPTIONS: [(&str, &str, KeyLayout); 6] = [
    (SMALL, r#""innodb_io_capacity": 100"#, KeyLayout::Plain),
    (SMALL, r#""innodb_io_capacity_max": 4000, "innodb_doublewrite": false"#, KeyLayout::Indexed),
    (LARGE, r#""innodb_compression_algorithm": "zlib""#, KeyLayout::Plain),
    (LARGE, r#""key_block_size": 4096"#, KeyLayout::Indexed),
    (LARGE, r#""key_block_size": 8192, "compressed_indexes": "1:2""#, KeyLayout::Indexed),
    (SMALL, r#""innodb_change_buffering": "all", "innodb_flush_log_at_trx_commit": 2"#, KeyLayout::Indexed),
];

fn options(base: &str, more: &str) -> Options {
    let map = serde_json::from_str::<serde_json::Map<_, _>>(&format!("{{{base}, {more}}}")).expect("settings in JSON");
    Options::from_json(&map).expect("settings that exist")
}

/// Batches of rows and index entries of three indexes; some rows are longer than a page.
fn batches(layout: KeyLayout) -> impl Iterator<Item = WriteBatch> {
    let key = move |index: u32, number: u32| {
        let name = format!("k{:05}{}", number.wrapping_mul(2_654_435_761) % 1009, "-".repeat(number as usize % 20));
        match layout {
            KeyLayout::Plain => format!("{index}{name}").into_bytes(),
            KeyLayout::Indexed => [&index.to_be_bytes()[..], name.as_bytes()].concat(),
        }
    };
    (0..400u32).map(move |n| {
        let mut batch = WriteBatch::default();
        let row = key(1, n % 173);
        match n % 23 {
            0 => batch.delete(&row),
            1 => batch.put(&row, &vec![n as u8; 5000 + n as usize * 10]),
            _ => batch.put(&row, format!("row {n} ").repeat(1 + n as usize % 9).as_bytes()),
        }
        if n % 2 == 0 {
            batch.put(&key(2, n), b"");
            batch.put(&key(3, n * 3), b"");
        }
        if n % 5 == 0 {
            batch.delete(&key(2, n / 2));
        }
        batch
    })
}

/// A database of each kind.
pub fn databases() -> &'static [Database] {
    static DATABASES: OnceLock<Vec<Database>> = OnceLock::new();
    let make = |(base, more, layout): &(&str, &str, KeyLayout)| {
        let (options, layout) = (options(base, more), *layout);
        let slots = [Tablespace::System, Tablespace::Compressed].map(|tablespace| tablespace.slot_bytes(&options));
        let open = move |storage: Arc<dyn Storage>, task: &mut Task| {
            Ok(Btree::open(storage, options.clone(), layout, Arc::new(Signal::default()), task)? as Arc<dyn Engine>)
        };
        let repair = move |name: &str, bytes: &mut [u8]| match name {
            REDO_FILE => repair_redo(bytes),
            "compressed.db" => bytes.chunks_exact_mut(slots[1]).for_each(repair_page),
            "pages.db" | DOUBLEWRITE_FILE => bytes.chunks_exact_mut(slots[0]).for_each(repair_written_page),
            _ => {}
        };
        Database::make(layout, open, repair, batches(layout))
    };
    DATABASES.get_or_init(|| OPTIONS.iter().map(make).collect())
}

/// The script's first two bytes say which database, and whether checksums are put right.
fn use_database(script: &[u8]) {
    if let [database, repaired, script @ ..] = script {
        databases()[usize::from(*database) % OPTIONS.len()].check(script, repaired % 2 == 1);
    }
}

fn files(name: &str) -> Vec<Vec<u8>> {
    databases().iter().filter_map(|database| database.files.get(name)).cloned().collect()
}

/// Pages of 4 KiB and 16 KiB, whole and compressed.
fn pages() -> Vec<Vec<u8>> {
    let of = |n: usize, bytes: usize| {
        let file = &databases()[n].files[Tablespace::System.file_name()];
        file.chunks_exact(bytes).map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    [of(0, PAGE_BYTES), of(1, PAGE_BYTES), of(5, PAGE_BYTES), of(2, 4 * PAGE_BYTES)].concat()
}

fn page_zips() -> Vec<Vec<u8>> {
    let file = &databases()[3].files[Tablespace::System.file_name()];
    file.chunks_exact(PAGE_BYTES).map(<[u8]>::to_vec).collect()
}

/// Gives a page the checksum of what it has.
fn repair_page(image: &mut [u8]) {
    let Some(algorithm) = image.get(AT_ALGORITHM) else { return };
    let covered = match algorithm {
        0 => image.len(),
        _ if image.len() < HEADER_BYTES => return,
        _ => HEADER_BYTES.saturating_add(get_u32(image, AT_STORED) as usize),
    };
    if let Some(sum) = image.get(4..covered).map(crc32c::crc32c) {
        put_u32(image, AT_CHECKSUM, sum);
    }
}

/// As [`repair_page`], but pages that were never written stay so.
fn repair_written_page(image: &mut [u8]) {
    if image.iter().any(|byte| *byte != 0) {
        repair_page(image);
    }
}

/// Gives header, checkpoints, frames and blocks the checksums of what they have, as far as the lengths lead.
fn repair_redo(bytes: &mut [u8]) {
    let is_written = |block: &[u8]| block.iter().any(|byte| *byte != 0);
    bytes.chunks_exact_mut(BLOCK as usize).filter(|block| is_written(block)).for_each(seal);
    let storage = MemoryStorage::new(Arc::default());
    let task = &mut Task::wall(0);
    let file = storage.create(task, REDO_FILE, FileOptions::DIRECT).expect("a file in memory");
    file.write_at(task, Purpose::Redo, 0, bytes).expect("a file in memory");
    let Ok((header, checkpoint)) = read_header(&*file, task) else { return };
    repair_frames(&mut bytes[LOG_HEADER_BYTES as usize..], header.blocks(), checkpoint.lsn);
    bytes.chunks_exact_mut(BLOCK as usize).filter(|block| is_written(block)).for_each(seal);
}

/// Gives the frames from an LSN on in these blocks their checksums.
fn repair_frames(blocks: &mut [u8], count: u64, mut lsn: u64) {
    let place = |lsn: u64| (lsn / PAYLOAD % count * BLOCK + BLOCK - PAYLOAD + lsn % PAYLOAD) as usize;
    loop {
        let stretch = |blocks: &[u8], from: u64, len: u64| {
            (from..from.checked_add(len)?).map(|lsn| blocks.get(place(lsn)).copied()).collect::<Option<Vec<u8>>>()
        };
        let Some(head) = stretch(blocks, lsn, FRAME_HEADER as u64) else { return };
        let (len, start) = (u64::from(get_u32(&head, 0)), lsn + FRAME_HEADER as u64);
        if len == 0 || len > blocks.len() as u64 {
            return;
        }
        let Some(payload) = stretch(blocks, start, len) else { return };
        for (n, byte) in frame_checksum(lsn, &payload).to_le_bytes().into_iter().enumerate() {
            blocks[place(lsn + 4 + n as u64)] = byte;
        }
        lsn = start + len;
    }
}

fn page_file(options: &Options) -> FilSpace {
    let storage = MemoryStorage::new(Arc::default());
    let file = storage
        .create(&mut Task::wall(0), Tablespace::System.file_name(), FileOptions::DIRECT)
        .expect("a file in memory");
    FilSpace::new(file, Tablespace::System, options)
}

fn page_no_of(image: &[u8]) -> u32 {
    get_u32(image, AT_PAGE_NO)
}

fn read_page(bytes: &[u8]) {
    let (base, bytes_of_page) =
        if bytes.len() > 2 * PAGE_BYTES { (LARGE, 4 * PAGE_BYTES) } else { (SMALL, PAGE_BYTES) };
    let mut image = bytes.to_vec();
    image.resize(bytes_of_page, 0);
    if bytes.len() != bytes_of_page {
        repair_page(&mut image);
    }
    let file = page_file(&options(base, r#""innodb_compression_algorithm": "zlib""#));
    match file.open_page(&mut Task::wall(0), page_no_of(&image), &mut image) {
        Ok(()) => use_page(&image),
        Err(error) => expect_corruption(&error),
    }
}

fn read_page_zip(bytes: &[u8]) {
    let (task, mut slot) = (&mut Task::wall(0), bytes.to_vec());
    slot.resize(PAGE_BYTES, 0);
    if bytes.len() != PAGE_BYTES {
        repair_page(&mut slot);
    }
    let mut page = vec![0; 4 * PAGE_BYTES];
    let file = page_file(&options(LARGE, r#""key_block_size": 4096"#));
    match file.open_zip(task, page_no_of(&slot), &slot, &mut page) {
        Err(error) => return expect_corruption(&error),
        Ok(()) => use_page(&page),
    }
    if View(&page).kind() == Kind::Tree {
        use_slot(&mut slot, &mut page);
    }
}

/// Reads all that a page of a tree has, looks for keys, and changes it.
fn use_page(bytes: &[u8]) {
    let (task, view) = (&mut Task::wall(0), View(bytes));
    if view.kind() != Kind::Tree {
        return;
    }
    let _ = (view.free(), view.used(), IbufBits::of(view, None));
    for slot in 0..view.count() {
        let _ = (view.key(slot).len(), view.record_bytes(slot));
        if view.is_leaf() {
            match view.value(slot) {
                Stored::Inline(value) => drop(BufferedChange::decode(view.key(slot), value)),
                Stored::Overflow(pointer) => drop((get_u32(pointer, 0), get_u32(pointer, 4))),
            }
        } else {
            view.child(slot);
        }
    }
    let mut copy = bytes.to_vec();
    let keys = [&b""[..], b"1k0", b"1k00500", b"k00777", b"zz", &[0xff; 70]];
    for key in keys {
        let view = View(&copy);
        if !view.is_leaf() {
            let slot = view.child_slot(task, key);
            view.child(slot);
            continue;
        }
        let payload = Payload::Value(Stored::Inline(b"a new value"));
        let (slot, found) = view.search(task, key);
        let need = payload.record_len(key) + SLOT_BYTES;
        if found {
            Edit(&mut copy).remove(slot);
        } else if has_room(view, need) {
            Edit(&mut copy).put(slot, false, key, payload);
        } else if view.count() > 1 {
            let at = split_point(view, slot, need);
            assert!((1..=view.count()).contains(&at), "a split at {at}");
            let kept = at.min(view.count());
            Edit(&mut copy).keep(0..kept);
        }
    }
    Edit(&mut copy).reorganize();
    assert_eq!(View(&copy).defect(), None, "a page that was sound");
    let mut log = Vec::new();
    RedoOp::image(View(&copy)).encode(&mut log);
}

fn use_slot(slot: &mut [u8], page: &mut [u8]) {
    let task = &mut Task::wall(0);
    let _ = (PageZip(slot).parts(), PageZip(slot).room());
    for key in [&b"k00001"[..], b"k00500", b"zz"] {
        let view = View(page);
        let (at, found) = view.search(task, key);
        let payload = if view.is_leaf() { Payload::Value(Stored::Inline(b"v")) } else { Payload::Child(9) };
        let old = found.then(|| view.record_bytes(at) - SLOT_BYTES);
        let (count, need) = (view.count(), payload.record_len(key) + SLOT_BYTES);
        if view.free() >= need && PageZip(slot).has_room(at, old, key, payload) {
            PageZipEdit(slot).put(count, at, old, key, payload);
            Edit(page).put(at, found, key, payload);
        }
    }
    let count = View(page).count();
    if count > 1 {
        PageZipEdit(slot).remove(count, count - 1);
        Edit(page).remove(count - 1);
    }
    PageZipEdit(slot).copy_header(View(page));
    let mut again = vec![0; page.len()];
    assert_eq!(PageZip(slot).decompress(task, &mut again), Ok(()), "a slot that was sound");
}

fn read_redo(bytes: &[u8]) {
    let (task, storage) = (&mut Task::wall(0), MemoryStorage::new(Arc::default()));
    let file = storage.create(task, REDO_FILE, FileOptions::DIRECT).expect("a file in memory");
    file.write_at(task, Purpose::Redo, 0, bytes).expect("a file in memory");
    let (header, checkpoint) = match read_header(&*file, task) {
        Ok(read) => read,
        Err(error) => return expect_corruption(&error),
    };
    let frames = match read_frames(&*file, task, header, checkpoint) {
        Ok(frames) => frames,
        Err(error) => return expect_corruption(&error),
    };
    for (_, _, mut payload) in frames_in(&frames, checkpoint.lsn) {
        while let Some((op, rest)) = RedoOp::decode(payload) {
            payload = rest;
            match op {
                RedoOp::Intent { batch, .. } => {
                    if let Some(intent) = Intent::decode(batch) {
                        assert_eq!(intent.changes().count(), intent.len());
                    }
                }
                RedoOp::Image { page, heap, directory } => {
                    restore_image(&mut [0; PAGE_BYTES], page, heap, directory);
                }
                RedoOp::ZipPageCompress { page, front, end } => {
                    PageZipEdit(&mut [0; PAGE_BYTES]).restore(page, front, end);
                }
                _ => {}
            }
        }
    }
}

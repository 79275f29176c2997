//! Pages and logs whose checksums match and which say what cannot be: each is named as corruption where it is met.

use super::*;
use crate::btree::log::{
    Checkpoint, Header, LOG_HEADER_BYTES, PAYLOAD, Redo, append_blocks, read_frames, read_header, seal,
};
use crate::btree::page::{
    AT_CHECKSUM, AT_COUNT, AT_GARBAGE, AT_KIND, AT_LEVEL, AT_NEXT, Edit, HEADER_BYTES, Kind, Payload, Stored, View,
    get_u32, put_u16, put_u32, put_u64,
};
use crate::btree::space::{REDO_FILE, Tablespace};
use crate::error::Error;
use crate::metrics::Purpose;
use crate::storage::FileOptions;
use crate::storage::StorageFile;

const PAGE: usize = 4096;

type Change<'a> = &'a dyn Fn(&mut [u8]);

fn page_file(storage: &MemoryStorage) -> Arc<dyn StorageFile> {
    storage.open(&mut Task::wall(0), Tablespace::System.file_name(), FileOptions::DIRECT).unwrap()
}

fn read_page(storage: &MemoryStorage, page_no: u32) -> Vec<u8> {
    let mut bytes = vec![0; PAGE];
    page_file(storage).read_at(&mut Task::wall(0), Purpose::Recovery, u64::from(page_no) * 4096, &mut bytes).unwrap();
    bytes
}

/// Changes a page at rest, and gives it the checksum that it then has.
fn rewrite(storage: &MemoryStorage, page_no: u32, change: impl FnOnce(&mut [u8])) {
    let mut bytes = read_page(storage, page_no);
    change(&mut bytes);
    let sum = crc32c::crc32c(&bytes[4..]);
    put_u32(&mut bytes, AT_CHECKSUM, sum);
    page_file(storage).write_at(&mut Task::wall(0), Purpose::PageFlush, u64::from(page_no) * 4096, &bytes).unwrap();
}

/// A closed database of two levels with one long value, and the page of its root.
fn database() -> (Arc<MemoryStorage>, u32) {
    let (storage, mut driven) = Driven::fresh(TINY);
    for n in 0..200u32 {
        driven.put(format!("key {n:04}").as_bytes(), &[7; 60]).unwrap();
    }
    driven.put(b"long", &vec![8; 20_000]).unwrap();
    driven.engine.close(&mut driven.task).unwrap();
    let root = get_u32(&read_page(&storage, 0), HEADER_BYTES + 8);
    (storage, root)
}

/// Opens the database and reads, writes and removes everything.
fn use_all(storage: &Arc<MemoryStorage>) -> Result<()> {
    let mut driven = Driven::open(storage.clone(), &options(TINY), KeyLayout::Plain)?;
    driven.scan(b"")?;
    for n in 0..200u32 {
        driven.get(format!("key {n:04}").as_bytes())?;
        driven.put(format!("key {n:04}").as_bytes(), b"short")?;
        driven.delete(format!("key {n:04}").as_bytes())?;
    }
    driven.get(b"long")?;
    driven.delete(b"long")
}

fn assert_corrupt(storage: &Arc<MemoryStorage>, what: &str) {
    match use_all(storage) {
        Err(Error::Corruption { file, .. }) => assert_eq!(file, "pages.db", "{what}"),
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn children_that_are_no_pages_of_their_tree_are_corruption() {
    for slot in 0..4 {
        let (storage, root) = database();
        assert_eq!(View(&read_page(&storage, root)).level(), 1);
        let own = View(&read_page(&storage, root)).child(slot);
        let other = View(&read_page(&storage, root)).child(slot + 1);
        for child in [root, 0, 1, 999, u32::MAX, 1 << 26, other] {
            rewrite(&storage, root, |page| {
                let at = View(page).offset(slot);
                put_u32(page, at + 2, child);
            });
            if child == other {
                // Both are leaves of the tree: what a merge or a split would take for two pages is one.
                let _ = use_all(&storage);
                continue;
            }
            assert_corrupt(&storage, &format!("child {child} in place of {own}"));
        }
    }
}

#[test]
fn chains_of_long_values_that_have_no_end_are_corruption() {
    let (storage, root) = database();
    let view = read_page(&storage, root);
    let leaf = View(&view).child(View(&view).count() - 1);
    let page = read_page(&storage, leaf);
    let (slot, found) = View(&page).search(&mut Task::wall(0), b"long");
    let Stored::Overflow(pointer) = View(&page).value(slot) else { panic!("{found}: a value in the leaf") };
    let first = get_u32(pointer, 4);
    rewrite(&storage, first, |page| put_u32(page, AT_NEXT, first));
    rewrite(&storage, leaf, |page| {
        let end = View(page).offset(slot) + View(page).record_len_at(View(page).offset(slot));
        put_u32(page, end - 8, u32::MAX);
    });
    let mut driven = Driven::open(storage, &options(TINY), KeyLayout::Plain).unwrap();
    let largest = crate::fuzz::allocation::largest_of(|| {
        assert!(matches!(driven.get(b"long"), Err(Error::Corruption { .. })));
    });
    assert!(largest < 1 << 20, "{largest}");
}

#[test]
fn a_page_of_another_kind_is_not_taken_for_directory_or_map() {
    for page_no in [0, 1] {
        let (storage, _) = database();
        rewrite(&storage, page_no, |page| page[AT_KIND] = Kind::Undo as u8);
        assert_corrupt(&storage, &format!("page {page_no}"));
    }
}

#[test]
fn a_page_that_contradicts_itself_has_a_defect() {
    let mut page = vec![0; PAGE];
    Edit(&mut page).format(5, 0, Kind::Tree, 0);
    for (slot, key) in [&b"prefix a"[..], b"prefix b", b"prefix c"].into_iter().enumerate() {
        Edit(&mut page).insert(slot, key, Payload::Value(Stored::Inline(b"value")));
    }
    Edit(&mut page).remove(0);
    assert_eq!(View(&page).defect(), None);
    let with = |change: Change| {
        let mut wrong = page.clone();
        change(&mut wrong);
        View(&wrong).defect()
    };
    let first = View(&page).offset(0);
    let wrong: [Change; 8] = [
        &|page| put_u32(page, AT_GARBAGE, u32::MAX),
        &|page| put_u32(page, AT_GARBAGE, 0),
        &|page| put_u16(page, AT_COUNT, 1),
        &|page| page[AT_LEVEL] = 255,
        &|page| page[first + 14] = b'q',
        &|page| page[first + 21] = b'z',
        &|page| put_u16(page, first + 2, 0x8005),
        &|page| page[PAGE - 6] ^= 1,
    ];
    for (n, change) in wrong.into_iter().enumerate() {
        assert!(with(change).is_some(), "damage {n}");
    }
    Edit(&mut page).format(5, 0, Kind::Tree, 1);
    assert!(View(&page).defect().is_some(), "an internal page without a child");
}

#[test]
fn a_log_of_impossible_size_or_position_is_refused() {
    let (storage, _) = database();
    let task = &mut Task::wall(0);
    let file = storage.open(task, REDO_FILE, FileOptions::DIRECT).unwrap();
    let sealed = |at: u64, field: usize, value: u64| {
        let mut block = vec![0; 512];
        file.read_at(&mut Task::wall(0), Purpose::Recovery, at, &mut block).unwrap();
        let before = block.clone();
        put_u64(&mut block, field, value);
        seal(&mut block);
        file.write_at(&mut Task::wall(0), Purpose::Redo, at, &block).unwrap();
        let found = read_header(&*file, &mut Task::wall(0));
        file.write_at(&mut Task::wall(0), Purpose::Redo, at, &before).unwrap();
        found
    };
    for capacity in [0, 2047, 2048, 1 << 41, u64::MAX] {
        assert!(sealed(0, 24, capacity).is_err(), "capacity {capacity}");
    }
    let (_, good) = read_header(&*file, task).unwrap();
    let at = [512, 1024][(good.sequence % 2) as usize];
    for lsn in [good.reach + 1, u64::MAX] {
        let found = sealed(at, 16, lsn);
        assert!(found.is_err() || found.is_ok_and(|(_, older)| older.sequence < good.sequence), "LSN {lsn}");
    }
}

#[test]
fn a_frame_that_says_to_be_longer_than_the_file_is_not_waited_for() {
    let (storage, task) = (MemoryStorage::new(Arc::default()), &mut Task::wall(0));
    let header =
        Header { page_bytes: 4096, key_block_bytes: 0, mixed: false, indexed: false, capacity: 1 << 40, instance: 1 };
    let file = Redo::create(&storage, task, header).unwrap();
    let mut blocks = Vec::new();
    append_blocks(&mut blocks, 0, &[0xff; PAYLOAD as usize], 0);
    file.write_at(task, Purpose::Redo, LOG_HEADER_BYTES, &blocks).unwrap();
    let largest = crate::fuzz::allocation::largest_of(|| {
        assert!(read_frames(&*file, &mut Task::wall(0), header, Checkpoint::default()).unwrap().is_empty());
    });
    assert!(largest <= 2 << 20, "{largest}");
}

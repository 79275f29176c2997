//! The files of an engine that is made: in which order they appear, and how a folder that never had one is told from
//! one that has lost its log.

use crate::btree::log::{BLOCK, Checkpoint, Header, PAYLOAD, Redo, Thresholds};
use crate::btree::options::Options;
use crate::btree::page::{Edit, Kind, put_u64};
use crate::btree::space::{
    DOUBLEWRITE_FILE, FilSystem, META_PAGE, NEW_REDO_FILE, REDO_FILE, Space, Tablespace, write_taken,
};
use crate::engine::KeyLayout;
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::storage::{FileOptions, Storage, StorageFile};
use crate::task::Task;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// First LSN of a new log.
const FIRST_LSN: u64 = 8 * PAYLOAD;
/// Pages of a new file: the directory and a map page.
const FIRST_PAGES: u64 = 2;
/// Where page 0 has the number of its instance, in a part of the header that other kinds of pages need for keys.
pub const AT_INSTANCE: usize = 64;

/// Whether the engine has never been there, or was only about to be made. A folder that has lost its log is no such.
pub fn is_new(storage: &dyn Storage, options: &Options, task: &mut Task) -> Result<bool> {
    let names = storage.list()?;
    let has = |name: &str| names.iter().any(|other| other == name);
    if has(REDO_FILE) {
        return Ok(false);
    }
    let begun = has(NEW_REDO_FILE);
    let lost = |name: &str| Error::corruption(REDO_FILE, 0, format!("missing, though there is {name}"));
    for tablespace in [Tablespace::System, Tablespace::Compressed] {
        let name = tablespace.file_name();
        let most = if tablespace == Tablespace::System { FIRST_PAGES * options.innodb_page_size } else { 0 };
        if has(name) && !(begun && storage.open(task, name, FileOptions::PAGES)?.len() <= most) {
            return Err(lost(name));
        }
    }
    if has(DOUBLEWRITE_FILE) { Err(lost(DOUBLEWRITE_FILE)) } else { Ok(true) }
}

/// Makes the files of an empty engine. A log under its first name comes first, under its last name last: so nobody
/// takes what a crash leaves in between for pages whose log is lost, nor the other way round.
pub fn create(storage: &dyn Storage, options: &Options, layout: KeyLayout, task: &mut Task) -> Result<()> {
    let header = wanted_header(options, layout, RandomState::new().hash_one(FIRST_LSN));
    let log = Redo::create(storage, task, header)?;
    storage.sync_directory(task)?;
    let files = FilSystem::create(storage, options, task)?;
    let file = files.system();
    let mut space = Space::new(Tablespace::System, options);
    space.take_first_pages()?;
    let map_page = space.map_page(0);
    for (page_no, kind) in [(META_PAGE, Kind::Meta), (map_page, Kind::Map)] {
        let mut image = vec![0; file.slot_bytes()];
        Edit(&mut image).format(page_no, 0, kind, 0);
        Edit(&mut image).set_lsn(FIRST_LSN);
        if kind == Kind::Map {
            for page in [META_PAGE, map_page] {
                let place = space.place(page);
                write_taken(&mut image, place.extent_slot, place.bit, 1, 0);
            }
        } else {
            put_u64(&mut image, AT_INSTANCE, header.instance);
        }
        let stored = file.init_for_writing(task, &mut image)?;
        file.write(task, Purpose::PageFlush, page_no, &image, stored)?;
    }
    file.sync(task)?;
    let page_file_bytes = files.durable_bytes();
    let first = Checkpoint { sequence: 0, lsn: FIRST_LSN, reach: FIRST_LSN, page_file_bytes };
    let limits = Thresholds::of(options, header.capacity, header.page_bytes);
    Redo::new(log, header, first, limits, BLOCK, BLOCK).begin_stretch(task)?;
    Redo::put_in_place(storage, task)
}

/// The header that a log with these options has.
pub fn wanted_header(options: &Options, layout: KeyLayout, instance: u64) -> Header {
    Header {
        page_bytes: options.innodb_page_size,
        key_block_bytes: options.key_block_size,
        mixed: options.is_mixed(),
        indexed: layout == KeyLayout::Indexed,
        capacity: options.innodb_redo_log_capacity / 4096 * 4096,
        instance,
    }
}

/// The doublewrite area's file, made if the options want one; none if there is none.
pub fn open_doublewrite(
    storage: &dyn Storage,
    options: &Options,
    task: &mut Task,
) -> Result<Option<Arc<dyn StorageFile>>> {
    if storage.list()?.iter().any(|name| name == DOUBLEWRITE_FILE) {
        return storage.open(task, DOUBLEWRITE_FILE, options.opened(FileOptions::DOUBLEWRITE)).map(Some);
    }
    if !options.innodb_doublewrite {
        return Ok(None);
    }
    let file = storage.create(task, DOUBLEWRITE_FILE, options.opened(FileOptions::DOUBLEWRITE))?;
    storage.sync_directory(task)?;
    Ok(Some(file))
}

//! Opening: new files, or the way back from a crash.
//!
//! 1. Pages torn in their files are repaired from the doublewrite area.
//! 2. The log is read from the checkpoint on, up to the first frame that is not whole. Any that was durable must be.
//! 3. Every frame is replayed on the pages that are older than it, and all pages are written back.
//! 4. A new stretch of the log begins, at an LSN that no frame in the file can have. It starts with the batches of which
//!    only some changes were logged; the engine applies the rest of them.
//!
//! A crash anywhere in between leaves the old checkpoint, and recovery begins again.

use super::doublewrite::{self, Doublewrite};
use super::intent::{Intent, Planned};
use super::options::Options;
use super::page::{HEADER_BYTES, Kind, OVERFLOW_POINTER_BYTES, Stored, View, get_u64, put_u64};
use super::page_edit::{Edit, Payload};
use super::pool::{BufferPool, WritePage};
use super::redo::{self, Checkpoint, Header, Redo};
use super::redo_block::{BLOCK, PAYLOAD, offset_of, read_frames};
use super::redo_op::{RedoOp, restore_image};
use super::space::{META_PAGE, Space, Spaces, write_given_back, write_taken};
use super::split_key;
use super::tablespaces::{Tablespace, Tablespaces};
use crate::cost::Work;
use crate::engine::{KeyLayout, Poison};
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::storage::{Storage, StorageFile};
use crate::task::{Signal, Task};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// First LSN of a new log.
const FIRST_LSN: u64 = 8 * PAYLOAD;
/// Pages of a new file: the directory and a map page.
const FIRST_PAGES: u64 = 2;
/// Where page 0 has the number of its instance, in a part of the header that other kinds of pages need for keys.
const AT_INSTANCE: usize = 64;

/// An engine's lower half, ready to work.
pub struct Recovered {
    pub pool: Arc<BufferPool>,
    pub redo: Arc<Redo>,
    pub spaces: Arc<Mutex<Spaces>>,
    pub pending: Vec<Pending>,
}

/// A batch whose first `applied` changes are in the pages.
pub struct Pending {
    pub batch: Intent,
    pub applied: u32,
    pub intent: u64,
    pub floor: u64,
}

struct Opening<'a> {
    storage: &'a dyn Storage,
    options: &'a Options,
    layout: KeyLayout,
    signal: &'a Arc<Signal>,
    poison: &'a Arc<Poison>,
}

/// Opens or makes the files and brings the pages up to date.
pub fn open(
    storage: &dyn Storage,
    options: &Options,
    layout: KeyLayout,
    signal: &Arc<Signal>,
    poison: &Arc<Poison>,
    task: &mut Task,
) -> Result<Recovered> {
    if is_new(storage, options, task)? {
        create(storage, options, layout, task)?;
    }
    let opening = Opening { storage, options, layout, signal, poison };
    opening.recover(task)
}

/// Whether the engine has never been there, or was only about to be made. A folder that has lost its log is no such.
fn is_new(storage: &dyn Storage, options: &Options, task: &mut Task) -> Result<bool> {
    let names = storage.list()?;
    let has = |name: &str| names.iter().any(|other| other == name);
    if has(redo::FILE) {
        return Ok(false);
    }
    let begun = has(redo::NEW_FILE);
    let lost = |name: &str| Error::corruption(redo::FILE, 0, format!("missing, though there is {name}"));
    for tablespace in [Tablespace::System, Tablespace::Compressed] {
        let name = tablespace.file_name();
        let most = if tablespace == Tablespace::System { FIRST_PAGES * options.innodb_page_size } else { 0 };
        if has(name) && !(begun && storage.open(task, name)?.len() <= most) {
            return Err(lost(name));
        }
    }
    if has(doublewrite::FILE) { Err(lost(doublewrite::FILE)) } else { Ok(true) }
}

/// Makes the files of an empty engine. A log under its first name comes first, under its last name last: so nobody takes
/// what a crash leaves in between for pages whose log is lost, nor the other way round.
fn create(storage: &dyn Storage, options: &Options, layout: KeyLayout, task: &mut Task) -> Result<()> {
    let header = wanted_header(options, layout, RandomState::new().hash_one(FIRST_LSN));
    let log = Redo::create(storage, task, header)?;
    storage.sync_directory(task)?;
    let files = Tablespaces::create(storage, options, task)?;
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
        let stored = file.pack(task, &mut image)?;
        file.write(task, Purpose::PageFlush, page_no, &image, stored)?;
    }
    file.sync(task)?;
    let page_file_bytes = files.durable_bytes();
    let first = Checkpoint { sequence: 0, lsn: FIRST_LSN, reach: FIRST_LSN, page_file_bytes };
    Redo::new(log, header, first, BLOCK, BLOCK).begin_stretch(task)?;
    Redo::put_in_place(storage, task)
}

fn wanted_header(options: &Options, layout: KeyLayout, instance: u64) -> Header {
    Header {
        page_bytes: options.innodb_page_size,
        key_block_bytes: options.key_block_size,
        mixed: options.is_mixed(),
        indexed: layout == KeyLayout::Indexed,
        capacity: options.innodb_redo_log_capacity / 4096 * 4096,
        instance,
    }
}

fn open_doublewrite(storage: &dyn Storage, options: &Options, task: &mut Task) -> Result<Option<Arc<dyn StorageFile>>> {
    if storage.list()?.iter().any(|name| name == doublewrite::FILE) {
        return storage.open(task, doublewrite::FILE).map(Some);
    }
    if !options.innodb_doublewrite {
        return Ok(None);
    }
    let file = storage.create(task, doublewrite::FILE)?;
    storage.sync_directory(task)?;
    Ok(Some(file))
}

impl Opening<'_> {
    /// The area for the pages that are written, if there is one.
    fn doublewrite(&self, file: Option<&Arc<dyn StorageFile>>) -> Option<Doublewrite> {
        let file = file.filter(|_| self.options.innodb_doublewrite)?;
        Some(Doublewrite::new(file.clone(), self.options))
    }

    fn pool(&self, files: &Arc<Tablespaces>, area: Option<Doublewrite>, redo: &Arc<Redo>) -> BufferPool {
        let (poison, signal) = (self.poison.clone(), self.signal.clone());
        BufferPool::new(self.options.clone(), files.clone(), area, redo.clone(), poison, signal)
    }

    fn log(&self, file: Arc<dyn StorageFile>, header: Header, start: Checkpoint) -> Redo {
        let options = self.options;
        Redo::new(file, header, start, options.innodb_log_write_ahead_size, options.innodb_log_buffer_size)
    }

    fn check_header(&self, header: Header) -> Result<()> {
        let wanted = wanted_header(self.options, self.layout, header.instance);
        if header.page_bytes != wanted.page_bytes {
            let accepted = format!("{}, with which the files were made", header.page_bytes);
            return Err(Error::invalid("options.innodb_page_size", wanted.page_bytes, accepted));
        }
        if header.key_block_bytes != wanted.key_block_bytes {
            let accepted = format!("{}, with which the files were made", header.key_block_bytes);
            return Err(Error::invalid("options.key_block_size", wanted.key_block_bytes, accepted));
        }
        if header.mixed != wanted.mixed {
            let accepted = if header.mixed { "a list of indexes" } else { "all" };
            let accepted = format!("{accepted}, with which the files were made");
            return Err(Error::invalid("options.compressed_indexes", &self.options.compressed_indexes, accepted));
        }
        if header.indexed != wanted.indexed {
            let made = if header.indexed { KeyLayout::Indexed } else { KeyLayout::Plain };
            return Err(Error::invalid("key layout", format!("{:?}", self.layout), format!("{made:?}")));
        }
        Ok(())
    }

    fn recover(&self, task: &mut Task) -> Result<Recovered> {
        let file = self.storage.open(task, redo::FILE)?;
        self.options.set_syncs(&*file);
        let (header, checkpoint) = redo::read_header(&*file, task)?;
        self.check_header(header)?;
        let files = Arc::new(Tablespaces::open(self.storage, self.options, task)?);
        let doublewrite = open_doublewrite(self.storage, self.options, task)?;
        let copied_to = match &doublewrite {
            Some(area) => Doublewrite::new(area.clone(), self.options).repair(task, &files, checkpoint.lsn)?,
            None => checkpoint.lsn,
        };
        check_pages(&files, header, checkpoint, task)?;
        let reach = checkpoint.reach.max(copied_to);
        let bytes = read_frames(&*file, task, header, Checkpoint { reach, ..checkpoint })?;
        task.charge(Work::ChecksumByte, bytes.len() as u64);
        let end = checkpoint.lsn + bytes.len() as u64;
        let area = || self.doublewrite(doublewrite.as_ref());
        let batches = self.replay(task, (&files, area()), (header, &file), (checkpoint.lsn, &bytes))?;
        let page_file_bytes = files.durable_bytes();
        let lsn = (end + header.region()).next_multiple_of(PAYLOAD);
        let start = Checkpoint { lsn, page_file_bytes, ..checkpoint };
        let (redo, pending) = self.begin(task, file, header, start, (checkpoint.lsn, end), batches)?;
        let redo = Arc::new(redo);
        let pool = Arc::new(self.pool(&files, area(), &redo));
        let spaces = self.load_spaces(task, &pool)?;
        Ok(Recovered { pool, redo, spaces: Arc::new(Mutex::new(spaces)), pending })
    }

    /// Replays the frames and writes all pages back. Returns the batches that are not wholly applied.
    fn replay(
        &self,
        task: &mut Task,
        (files, area): (&Arc<Tablespaces>, Option<Doublewrite>),
        (header, file): (Header, &Arc<dyn StorageFile>),
        (from, bytes): (u64, &[u8]),
    ) -> Result<BTreeMap<u64, Batch>> {
        let end = from + bytes.len() as u64;
        let log = self.log(file.clone(), header, Checkpoint { lsn: end, reach: end, ..Checkpoint::default() });
        let pool = self.pool(files, area, &Arc::new(log));
        let mut replay = Replay { header, pool: &pool, layout: self.layout, batches: BTreeMap::new() };
        for (lsn, end, payload) in redo::frames(bytes, from) {
            replay.frame(task, lsn, end, payload)?;
        }
        let mut batches = replay.batches;
        batches.retain(|_, batch| (batch.applied as usize) < batch.batch.len());
        pool.flush_all(task)?;
        Ok(batches)
    }

    /// Begins a new stretch of the log with the unfinished batches, in a new file if the capacity changed or the old
    /// file has no room beside what recovery might need again.
    fn begin(
        &self,
        task: &mut Task,
        file: Arc<dyn StorageFile>,
        header: Header,
        start: Checkpoint,
        (from, end): (u64, u64),
        batches: BTreeMap<u64, Batch>,
    ) -> Result<(Redo, Vec<Pending>)> {
        let wanted = wanted_header(self.options, self.layout, header.instance);
        let batch_bytes = batches.values().map(|batch| batch.batch.encoded().len() as u64 + 64).sum::<u64>();
        let slack = 2 * BLOCK + 2 * self.options.innodb_log_write_ahead_size;
        let anew = wanted != header || end - from + batch_bytes + slack > header.region();
        let log = if anew {
            self.log(Redo::create(self.storage, task, wanted)?, wanted, Checkpoint { sequence: 0, ..start })
        } else {
            self.log(file, header, start)
        };
        let log = log.after(end);
        let mut pending = Vec::new();
        for Batch { batch, applied } in batches.into_values() {
            let floor = log.begin_batch();
            let (intent, _) = log.append(task, |out| RedoOp::Intent { applied, batch: batch.encoded() }.encode(out))?;
            pending.push(Pending { batch, applied, intent, floor });
        }
        log.begin_stretch(task)?;
        if anew {
            Redo::put_in_place(self.storage, task)?;
        } else if self.storage.list()?.iter().any(|name| name == redo::NEW_FILE) {
            self.storage.remove(task, redo::NEW_FILE)?;
        }
        Ok((log, pending))
    }

    fn load_spaces(&self, task: &mut Task, pool: &BufferPool) -> Result<Spaces> {
        let tablespaces = Tablespace::all(self.options).iter();
        tablespaces.map(|tablespace| self.load_space(task, pool, *tablespace)).collect::<Result<_>>().map(Spaces::new)
    }

    fn load_space(&self, task: &mut Task, pool: &BufferPool, tablespace: Tablespace) -> Result<Space> {
        let mut space = Space::new(tablespace, self.options);
        let mut map = 0;
        while pool.files.of_page(space.map_page(map)).has(space.map_page(map)) {
            let mut page = pool.write(task, space.map_page(map), Purpose::Recovery)?;
            if page.view().kind() != Kind::Map {
                let what = format!("page {} is not a map of extents", space.map_page(map));
                return Err(pool.files.of_page(space.map_page(map)).corruption(space.map_page(map), what));
            }
            space.load_map(page.edit().0);
            map += 1;
        }
        Ok(space)
    }
}

/// A log replays on the pages that it was written for, as long as they were, and on no others.
fn check_pages(files: &Tablespaces, header: Header, checkpoint: Checkpoint, task: &mut Task) -> Result<()> {
    let mut image = vec![0; files.system().slot_bytes()];
    let read = files.system().read(task, Purpose::Recovery, META_PAGE, None, &mut image);
    let found = get_u64(&image, AT_INSTANCE);
    if read.is_ok() && found != header.instance {
        let (log, pages) = (header.instance, Tablespace::System.file_name());
        let what = format!("the log of instance {log:016x}, but {pages} is of {found:016x}");
        return Err(Error::corruption(redo::FILE, 0, what));
    }
    files.check_lengths(checkpoint.page_file_bytes)?;
    read
}

/// A batch found in the log.
struct Batch {
    batch: Intent,
    applied: u32,
}

struct Replay<'a> {
    header: Header,
    pool: &'a BufferPool,
    layout: KeyLayout,
    batches: BTreeMap<u64, Batch>,
}

/// A page of the frame that is being replayed.
struct Replayed<'a> {
    page: WritePage<'a>,
    /// The page has this frame's changes already.
    skip: bool,
    /// The next record makes the page be compressed again, at this level.
    repack: Option<u8>,
}

fn broken(header: Header, lsn: u64, what: &str) -> Error {
    Error::corruption(redo::FILE, offset_of(header, lsn), format!("the frame with LSN {lsn} {what}"))
}

impl<'a> Replay<'a> {
    fn frame(&mut self, task: &mut Task, lsn: u64, end: u64, mut payload: &[u8]) -> Result<()> {
        let mut held = Vec::<Replayed<'a>>::new();
        while !payload.is_empty() {
            let (op, rest) = RedoOp::decode(payload).ok_or_else(|| broken(self.header, lsn, "cannot be decoded"))?;
            payload = rest;
            task.charge(Work::Record, 1);
            self.note(lsn, &op)?;
            let Some(page_no) = op.page() else { continue };
            let known = held.iter().position(|one| one.page.page_no() == page_no);
            let index = known.unwrap_or(held.len());
            if known.is_none() {
                held.push(self.fetch(task, page_no, end, &op)?);
            }
            if !held[index].skip {
                self.apply(task, &mut held[index], &op)
                    .ok_or_else(|| broken(self.header, lsn, "does not fit its page"))?;
            }
        }
        for one in held.iter_mut().filter(|one| !one.skip) {
            if one.page.view().defect().is_some() {
                return Err(broken(self.header, lsn, "leaves a page that is none"));
            }
            one.page.edit().set_lsn(end);
            self.pool.dirty.mark(one.page.frame, lsn);
        }
        Ok(())
    }

    /// Keeps account of batches.
    fn note(&mut self, lsn: u64, op: &RedoOp) -> Result<()> {
        match *op {
            RedoOp::Intent { applied, batch } => {
                let batch = Intent::decode(batch).ok_or_else(|| broken(self.header, lsn, "has a broken batch"))?;
                self.batches.insert(lsn, Batch { batch, applied });
            }
            RedoOp::Applied { intent, index }
            | RedoOp::PutOf { intent, index, .. }
            | RedoOp::RemoveOf { intent, index, .. } => {
                // A batch that is wholly in the page file may have begun before the checkpoint.
                if let Some(batch) = self.batches.get_mut(&intent) {
                    batch.applied = batch.applied.max(index.saturating_add(1));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn fetch(&self, task: &mut Task, page_no: u32, end: u64, op: &RedoOp) -> Result<Replayed<'a>> {
        let is_image = matches!(op, RedoOp::Image { .. } | RedoOp::Packed { .. });
        let page = match self.pool.write_resident(task, page_no) {
            Some(page) => page,
            None if is_image => self.pool.write_for_image(task, page_no, end)?,
            None => self.pool.write_for_recovery(task, page_no)?,
        };
        let skip = page.view().lsn() >= end;
        Ok(Replayed { page, skip, repack: None })
    }

    fn apply(&self, task: &mut Task, held: &mut Replayed, op: &RedoOp) -> Option<()> {
        let (page, repack) = (&mut held.page, held.repack.take());
        match *op {
            RedoOp::Put { key, field, value, .. } => {
                put(task, page, repack, key, Payload::Value(Stored::from_field(field, value)))
            }
            RedoOp::PutOf { intent, index, .. } => {
                let change = self.batches.get(&intent)?.batch.changes().nth(index as usize)?;
                match change {
                    Planned::Put { key, value } => {
                        let payload = Payload::Value(Stored::Inline(value));
                        put(task, page, repack, split_key(self.layout, key).1, payload)
                    }
                    Planned::Patch { key, at, bytes, .. } => {
                        patch(task, page, repack, split_key(self.layout, key).1, at, bytes)
                    }
                    Planned::Delete { .. } => None,
                }
            }
            RedoOp::Link { key, child, .. } => put(task, page, repack, key, Payload::Child(child)),
            RedoOp::Remove { key, .. } => remove(task, page, key),
            RedoOp::RemoveOf { intent, index, .. } => {
                let change = self.batches.get(&intent)?.batch.changes().nth(index as usize)?;
                let Planned::Delete { key } = change else { return None };
                remove(task, page, split_key(self.layout, key).1)
            }
            RedoOp::Image { page: page_no, heap, directory } => {
                let restored = restore_image(page.edit().0, page_no, heap, directory);
                // Pages of trees that have a compressed form are logged in that.
                (restored && !page.is_packed() && page.view().defect().is_none()).then_some(())
            }
            RedoOp::Packed { page: page_no, front, end } => {
                (page.restore_packed(task, page_no, front, end) && page.view().defect().is_none()).then_some(())
            }
            RedoOp::Repack { level, .. } => {
                held.repack = Some(level);
                Some(())
            }
            RedoOp::Keep { start, end, .. } => {
                tree_page(page.view())?;
                let (start, end) = (start as usize, end as usize);
                (start <= end && end <= page.view().count()).then(|| page.edit().keep(start..end))
            }
            RedoOp::Write { at, bytes, .. } => {
                let (at, is_heap) = (at as usize, matches!(page.view().kind(), Kind::Meta | Kind::Undo));
                if !is_heap || at < HEADER_BYTES {
                    return None;
                }
                page.edit().0.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
                Some(())
            }
            RedoOp::Append { bytes, .. } => {
                let view = page.view();
                let page_end = self.pool.files.of_page(page.page_no()).slot_bytes();
                let left = page_end.saturating_sub(view.heap_top());
                let fits = view.kind() == Kind::Undo && left >= bytes.len();
                fits.then(|| page.edit().append_bytes(bytes))
            }
            RedoOp::Patch { key, at, bytes, .. } => patch(task, page, repack, key, at, bytes),
            RedoOp::Take { extent_slot, bit, owner, tree, .. } => {
                descriptor_fits(page.view(), extent_slot, bit)?;
                write_taken(page.edit().0, extent_slot, bit, owner, tree);
                Some(())
            }
            RedoOp::GiveBack { extent_slot, bit, .. } => {
                descriptor_fits(page.view(), extent_slot, bit)?;
                write_given_back(page.edit().0, extent_slot, bit);
                Some(())
            }
            RedoOp::Intent { .. } | RedoOp::Applied { .. } => Some(()),
        }
    }
}

fn tree_page(view: View) -> Option<()> {
    (view.kind() == Kind::Tree).then_some(())
}

fn put(task: &mut Task, page: &mut WritePage, repack: Option<u8>, key: &[u8], payload: Payload) -> Option<()> {
    tree_page(page.view())?;
    let (slot, found) = page.view().search(task, key);
    let view = page.view();
    let is_sound = match payload {
        Payload::Child(_) => !view.is_leaf(),
        Payload::Value(Stored::Overflow(pointer)) => view.is_leaf() && pointer.len() == OVERFLOW_POINTER_BYTES,
        Payload::Value(Stored::Inline(_)) => view.is_leaf(),
    };
    if !is_sound || key.len() > view.size() / 4 {
        return None;
    }
    let old = if found { view.record_bytes(slot) } else { 0 };
    let fits = view.free() + old >= payload.record_len(key) + super::page::SLOT_BYTES;
    if let Some(level) = repack.filter(|_| fits) {
        page.edit().put(slot, found, key, payload);
        return page.repack(task, level).then_some(());
    }
    let fits = fits && page.has_packed_room(slot, found, key, payload);
    fits.then(|| page.put(slot, found, key, payload))
}

fn patch(task: &mut Task, page: &mut WritePage, repack: Option<u8>, key: &[u8], at: u32, bytes: &[u8]) -> Option<()> {
    tree_page(page.view())?;
    let (slot, found) = page.view().search(task, key);
    if !found || !page.view().is_leaf() {
        return None;
    }
    let at = at as usize;
    if !page.is_packed() {
        return page.edit().patch(slot, at, bytes);
    }
    // The slot has the whole record anew, whatever was logged of it.
    let Stored::Inline(old) = page.view().value(slot) else { return None };
    let mut value = old.to_vec();
    value.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
    put(task, page, repack, key, Payload::Value(Stored::Inline(&value)))
}

fn remove(task: &mut Task, page: &mut WritePage, key: &[u8]) -> Option<()> {
    tree_page(page.view())?;
    let (slot, found) = page.view().search(task, key);
    found.then(|| page.remove(slot))
}

fn descriptor_fits(view: View, extent_slot: u32, bit: u8) -> Option<()> {
    let inside = HEADER_BYTES + (extent_slot as usize + 1) * 16 <= view.size() && bit < 64;
    (view.kind() == Kind::Map && inside).then_some(())
}

//! Opening: the way back from a crash, or from nothing.
//!
//! 1. Pages torn in their files are repaired from the doublewrite area.
//! 2. The log is read from the checkpoint on, up to the first frame that is not whole. Any that was durable must be.
//! 3. Every frame is replayed on the pages that are older than it, and all pages are written back.
//! 4. A new stretch of the log begins, at an LSN that no frame in the file can have. It starts with the batches of
//!    which only some changes were logged; the engine applies the rest of them.
//!
//! A crash anywhere in between leaves the old checkpoint, and recovery begins again.

use super::files::{AT_INSTANCE, create, is_new, open_doublewrite, wanted_header};
use super::replay::{Batch, Replay, made_anew};
use crate::btree::log::{
    BLOCK, Checkpoint, Doublewrite, Header, PAYLOAD, Redo, RedoOp, Thresholds, frames_in, read_frames, read_header,
};
use crate::btree::options::Options;
use crate::btree::page::{Kind, get_u64};
use crate::btree::pool::BufferPool;
use crate::btree::space::{FilSystem, META_PAGE, NEW_REDO_FILE, REDO_FILE, Space, Spaces, Tablespace};
use crate::btree::tree::Intent;
use crate::cost::Work;
use crate::engine::{KeyLayout, Poison};
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::storage::{FileOptions, Storage, StorageFile};
use crate::task::{Signal, Task};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

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
pub fn open_files(
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

impl Opening<'_> {
    /// The area for the pages that are written, if there is one.
    fn doublewrite(&self, file: Option<&Arc<dyn StorageFile>>) -> Option<Doublewrite> {
        let file = file.filter(|_| self.options.innodb_doublewrite)?;
        Some(Doublewrite::new(file.clone(), self.options))
    }

    fn pool(&self, files: &Arc<FilSystem>, area: Option<Doublewrite>, redo: &Arc<Redo>) -> BufferPool {
        let (poison, signal) = (self.poison.clone(), self.signal.clone());
        BufferPool::new(self.options.clone(), files.clone(), area, redo.clone(), poison, signal)
    }

    fn log(&self, file: Arc<dyn StorageFile>, header: Header, start: Checkpoint) -> Redo {
        let options = self.options;
        let thresholds = Thresholds::of(options, header.capacity, header.page_bytes);
        let (write_ahead, buffer) = (options.innodb_log_write_ahead_size, options.innodb_log_buffer_size);
        Redo::new(file, header, start, thresholds, write_ahead, buffer)
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
        let file = self.storage.open(task, REDO_FILE, self.options.opened(FileOptions::LOG))?;
        let (header, checkpoint) = read_header(&*file, task)?;
        self.check_header(header)?;
        let files = Arc::new(FilSystem::open(self.storage, self.options, task)?);
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
        // Its copies are older than the log's new beginning, and their pages are in place: it grows anew, to what the
        // options of now have in flight.
        if let Some(area) = doublewrite.as_ref().filter(|area| !area.is_empty()) {
            area.set_len(task, 0)?;
        }
        let redo = Arc::new(redo);
        let pool = Arc::new(self.pool(&files, area(), &redo));
        let spaces = self.load_spaces(task, &pool)?;
        Ok(Recovered { pool, redo, spaces: Arc::new(Mutex::new(spaces)), pending })
    }

    /// Replays the frames and writes all pages back. Returns the batches that are not wholly applied.
    fn replay(
        &self,
        task: &mut Task,
        (files, area): (&Arc<FilSystem>, Option<Doublewrite>),
        (header, file): (Header, &Arc<dyn StorageFile>),
        (from, bytes): (u64, &[u8]),
    ) -> Result<BTreeMap<u64, Batch>> {
        let end = from + bytes.len() as u64;
        let log = self.log(file.clone(), header, Checkpoint { lsn: end, reach: end, ..Checkpoint::default() });
        let pool = self.pool(files, area, &Arc::new(log));
        let (batches, made_anew) = (BTreeMap::new(), made_anew(frames_in(bytes, from)));
        let mut replay = Replay { header, pool: &pool, layout: self.layout, batches, made_anew };
        for (lsn, end, payload) in frames_in(bytes, from) {
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
            // What is before this stretch of the log is not read again.
            let op = RedoOp::Intent { applied, replaces: 0, batch: batch.encoded() };
            let (intent, _) = log.append(task, |out| op.encode(out))?;
            pending.push(Pending { batch, applied, intent, floor });
        }
        log.begin_stretch(task)?;
        if anew {
            Redo::put_in_place(self.storage, task)?;
        } else if self.storage.list()?.iter().any(|name| name == NEW_REDO_FILE) {
            self.storage.remove(task, NEW_REDO_FILE)?;
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
fn check_pages(files: &FilSystem, header: Header, checkpoint: Checkpoint, task: &mut Task) -> Result<()> {
    let mut image = vec![0; files.system().slot_bytes()];
    let read = files.system().read(task, Purpose::Recovery, META_PAGE, None, &mut image);
    let found = get_u64(&image, AT_INSTANCE);
    if read.is_ok() && found != header.instance {
        let (log, pages) = (header.instance, Tablespace::System.file_name());
        let what = format!("the log of instance {log:016x}, but {pages} is of {found:016x}");
        return Err(Error::corruption(REDO_FILE, 0, what));
    }
    files.check_lengths(checkpoint.page_file_bytes)?;
    read
}

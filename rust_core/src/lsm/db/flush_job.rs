//! Flushes: full memtables become a table of level 0.

use super::background::{BackgroundWork, FlushGroup};
use super::db_impl::DbImpl;
use super::merge::{MergingIterator, Source};
use crate::error::Result;
use crate::lsm::keys::key;
use crate::lsm::memtable::MemTable;
use crate::lsm::policy::flush_compression;
use crate::lsm::table::WRITE_BYTES;
use crate::lsm::version::{TableFile, VersionEdit};
use crate::metrics::Purpose;
use crate::task::{Job, JobKind, Stream, Task};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl DbImpl {
    /// A flush, if enough memtables wait and the limit allows one more.
    pub fn next_flush(self: &Arc<Self>, background: &mut BackgroundWork) -> Option<FlushJob> {
        if background.running_flushes >= self.options.max_flushes() {
            return None;
        }
        let memtables = self.waiting_memtables(background);
        let due = memtables.len() as u64 >= self.options.min_write_buffer_number_to_merge
            || (background.flush_all && !memtables.is_empty());
        if !due {
            return None;
        }
        background.running_flushes += 1;
        let numbers = memtables.iter().map(|memtable| memtable.number).collect();
        background.flushing.push_back(FlushGroup { memtables: numbers, done: None });
        Some(FlushJob { db: self.clone(), memtables, output: None, installed: false })
    }

    /// Immutable memtables that no flush has taken, oldest first.
    fn waiting_memtables(&self, background: &BackgroundWork) -> Vec<Arc<MemTable>> {
        let super_version = self.super_version.load();
        let taken = |number: u64| background.flushing.iter().any(|group| group.memtables.contains(&number));
        super_version.immutables.iter().rev().filter(|memtable| !taken(memtable.number)).cloned().collect()
    }

    /// Whether a flush is due.
    pub fn flush_is_due(&self, background: &BackgroundWork) -> bool {
        let waiting = self.waiting_memtables(background).len() as u64;
        waiting >= self.options.min_write_buffer_number_to_merge || (background.flush_all && waiting > 0)
    }

    /// Writes a level-0 table of the newest entry of each key of some memtables.
    pub fn write_level0_table(
        self: &Arc<Self>,
        task: &mut Task,
        memtables: &[Arc<MemTable>],
    ) -> Result<Arc<TableFile>> {
        let codec = flush_compression(&self.parsed.codecs);
        let (number, mut builder) = self.begin_table(task, codec, false, Purpose::Flush)?;
        let mut merge =
            MergingIterator::new(memtables.iter().map(|memtable| Source::MemTable(memtable.cursor())).collect());
        merge.seek_to_first(task)?;
        let mut last_key: Option<Vec<u8>> = None;
        while merge.valid() {
            merge.charge_entry(task);
            let user_key = key::user_key(merge.key());
            if last_key.as_deref() != Some(user_key) {
                builder.add(task, merge.key(), merge.value())?;
                let kept = last_key.get_or_insert_default();
                kept.clear();
                kept.extend_from_slice(user_key);
            }
            merge.advance(task)?;
        }
        let built = builder.finish(task)?;
        Ok(self.adopt_table(number, 0, built))
    }

    /// Makes flushed tables visible, oldest first, as far as no older flush is unfinished.
    fn install_flush(&self, task: &mut Task, first_memtable: u64, output: Arc<TableFile>) -> Result<()> {
        self.storage.sync_directory(task)?;
        let mut manifest = self.manifest.lock();
        let ready = {
            let mut background = self.background.lock();
            background.running_flushes -= 1;
            background.may_have_work = true;
            let own = background.flushing.iter_mut().find(|group| group.memtables.contains(&first_memtable));
            if let Some(group) = own {
                group.done = Some(output);
            }
            let mut ready = Vec::new();
            while let Some(file) = background.flushing.front().and_then(|group| group.done.clone()) {
                ready.extend(background.flushing.pop_front().map(|group| (group.memtables, file)));
            }
            ready
        };
        for (memtables, file) in ready {
            let super_version = self.super_version.load_full();
            let flushed = super_version.immutables.iter().filter(|memtable| memtables.contains(&memtable.number));
            let left = super_version.immutables.iter().filter(|memtable| !memtables.contains(&memtable.number));
            let log_number =
                left.chain([&super_version.memtable]).map(|memtable| memtable.wal_number).min().unwrap_or_default();
            let edit = VersionEdit {
                log_number: Some(log_number),
                last_sequence: flushed.map(|memtable| memtable.last_sequence()).max(),
                ..VersionEdit::default()
            };
            self.log_and_apply(task, &mut manifest, edit, &[(0, file)], &memtables)?;
            self.counters.flushes.fetch_add(1, Ordering::Relaxed);
            self.remove_logs_below(task, log_number)?;
        }
        Ok(())
    }
}

/// Memtables being flushed.
pub struct FlushJob {
    db: Arc<DbImpl>,
    memtables: Vec<Arc<MemTable>>,
    output: Option<Arc<TableFile>>,
    installed: bool,
}

impl Job for FlushJob {
    fn kind(&self) -> JobKind {
        JobKind::Flush
    }

    fn stream(&self) -> Option<Stream> {
        Some(Stream { read_bytes: 0, write_bytes: WRITE_BYTES as u64 })
    }

    fn run(&mut self, task: &mut Task) -> Result<()> {
        self.output = Some(self.db.write_level0_table(task, &self.memtables)?);
        Ok(())
    }

    fn install(mut self: Box<Self>, task: &mut Task) -> Result<()> {
        self.db.poison.check()?;
        let Some(output) = self.output.take() else { return Ok(()) };
        self.installed = true;
        self.db.install_flush(task, self.memtables[0].number, output)
    }
}

impl Drop for FlushJob {
    /// A job that was never installed gives its memtables back.
    fn drop(&mut self) {
        if !self.installed {
            let mut background = self.db.background.lock();
            background.running_flushes -= 1;
            background.may_have_work = true;
            let first = self.memtables[0].number;
            background.flushing.retain(|group| !group.memtables.contains(&first));
        }
    }
}

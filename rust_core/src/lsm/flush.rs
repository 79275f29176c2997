//! Flushes: full memtables become a table of level 0.

use super::core::{Control, Core, FlushGroup};
use super::key;
use super::memtable::Memtable;
use super::merge::{Merge, Source};
use super::policy::FileMeta;
use super::table::{Table, table_name};
use super::table_builder::{BuiltTable, TableBuilder, WRITE_BYTES};
use super::version::TableFile;
use super::version_edit::VersionEdit;
use crate::cost::Work;
use crate::error::Result;
use crate::metrics::Purpose;
use crate::task::{Job, JobKind, Stream, Task};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Core {
    /// A flush, if enough memtables wait and the limit allows one more.
    pub fn next_flush(self: &Arc<Self>, control: &mut Control) -> Option<FlushJob> {
        if control.running_flushes >= self.options.max_flushes() {
            return None;
        }
        let memtables = self.waiting_memtables(control);
        let due = memtables.len() as u64 >= self.options.min_write_buffer_number_to_merge
            || (control.flush_all && !memtables.is_empty());
        if !due {
            return None;
        }
        control.running_flushes += 1;
        let numbers = memtables.iter().map(|memtable| memtable.number).collect();
        control.flushing.push_back(FlushGroup { memtables: numbers, done: None });
        Some(FlushJob { core: self.clone(), memtables, output: None, installed: false })
    }

    /// Immutable memtables that no flush has taken, oldest first.
    fn waiting_memtables(&self, control: &Control) -> Vec<Arc<Memtable>> {
        let view = self.view.load();
        let taken = |number: u64| control.flushing.iter().any(|group| group.memtables.contains(&number));
        view.immutables.iter().rev().filter(|memtable| !taken(memtable.number)).cloned().collect()
    }

    /// Whether a flush is due.
    pub fn flush_is_due(&self, control: &Control) -> bool {
        let waiting = self.waiting_memtables(control).len() as u64;
        waiting >= self.options.min_write_buffer_number_to_merge || (control.flush_all && waiting > 0)
    }

    /// Writes a level-0 table of the newest entry of each key of some memtables.
    pub fn write_level0_table(
        self: &Arc<Self>,
        task: &mut Task,
        memtables: &[Arc<Memtable>],
    ) -> Result<Arc<TableFile>> {
        let number = self.new_file_number();
        let name = table_name(number);
        let file = self.create_table(task, &name)?;
        let shape = self.table_shape(self.parsed.codecs.flushed(), false);
        let mut builder = TableBuilder::new(shape, file, name, Purpose::Flush);
        let mut merge = Merge::new(memtables.iter().map(|memtable| Source::Memtable(memtable.cursor())).collect());
        merge.seek_to_first(task)?;
        let mut last_key: Option<Vec<u8>> = None;
        while merge.valid() {
            task.charge(Work::MergedEntry, 1);
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

    /// Opens a table that was just written, for a level.
    pub fn adopt_table(&self, number: u64, level: usize, built: BuiltTable) -> Arc<TableFile> {
        let mut meta = FileMeta {
            number,
            bytes: built.bytes,
            compensated_bytes: 0,
            data_bytes: built.properties.data_bytes,
            entries: built.properties.entries,
            deletions: built.properties.deletions,
            raw_key_bytes: built.properties.raw_key_bytes,
            raw_value_bytes: built.properties.raw_value_bytes,
            smallest: built.smallest.clone(),
            largest: built.largest.clone(),
            smallest_sequence: built.smallest_sequence,
            largest_sequence: built.largest_sequence,
        };
        meta.compensate(self.view.load().version.average_value_bytes());
        let table = Arc::new(Table::from_built(self.tables.clone(), number, level, built));
        Arc::new(TableFile { meta: Arc::new(meta), table })
    }

    /// Makes flushed tables visible, oldest first, as far as no older flush is unfinished.
    fn install_flush(&self, task: &mut Task, first_memtable: u64, output: Arc<TableFile>) -> Result<()> {
        self.storage.sync_directory(task)?;
        let mut manifest = self.manifest.lock();
        let ready = {
            let mut control = self.control.lock();
            control.running_flushes -= 1;
            control.may_have_work = true;
            let own = control.flushing.iter_mut().find(|group| group.memtables.contains(&first_memtable));
            if let Some(group) = own {
                group.done = Some(output);
            }
            let mut ready = Vec::new();
            while let Some(file) = control.flushing.front().and_then(|group| group.done.clone()) {
                ready.extend(control.flushing.pop_front().map(|group| (group.memtables, file)));
            }
            ready
        };
        for (memtables, file) in ready {
            let view = self.view.load_full();
            let flushed = view.immutables.iter().filter(|memtable| memtables.contains(&memtable.number));
            let left = view.immutables.iter().filter(|memtable| !memtables.contains(&memtable.number));
            let log_number = left.chain([&view.memtable]).map(|memtable| memtable.wal_number).min().unwrap_or_default();
            let edit = VersionEdit {
                log_number: Some(log_number),
                last_sequence: flushed.map(|memtable| memtable.last_sequence()).max(),
                ..VersionEdit::default()
            };
            self.apply(task, &mut manifest, edit, &[(0, file)], &memtables)?;
            self.counters.flushes.fetch_add(1, Ordering::Relaxed);
            self.remove_logs_below(task, log_number)?;
        }
        Ok(())
    }
}

/// Memtables being flushed.
pub struct FlushJob {
    core: Arc<Core>,
    memtables: Vec<Arc<Memtable>>,
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
        self.output = Some(self.core.write_level0_table(task, &self.memtables)?);
        Ok(())
    }

    fn install(mut self: Box<Self>, task: &mut Task) -> Result<()> {
        self.core.poison.check()?;
        let Some(output) = self.output.take() else { return Ok(()) };
        self.installed = true;
        self.core.install_flush(task, self.memtables[0].number, output)
    }
}

impl Drop for FlushJob {
    /// A job that was never installed gives its memtables back.
    fn drop(&mut self) {
        if !self.installed {
            let mut control = self.core.control.lock();
            control.running_flushes -= 1;
            control.may_have_work = true;
            let first = self.memtables[0].number;
            control.flushing.retain(|group| !group.memtables.contains(&first));
        }
    }
}

//! Compactions: files of one level are merged into the next, or only moved there.

use super::background::BackgroundWork;
use super::db_impl::DbImpl;
use super::merge::{MergingIterator, Source};
use crate::error::Result;
use crate::lsm::keys::key::{self, Kind};
use crate::lsm::options::Options;
use crate::lsm::policy::{Compaction, CompactionInputFiles, OutputSplitter, level_compression, pick_compaction};
use crate::lsm::table::{Access, FileMetaData, TableBuilder, WRITE_BYTES, table_name};
use crate::lsm::version::{RunCursor, SortedRun, TableFile, Version, VersionEdit};
use crate::metrics::Purpose;
use crate::task::{Job, JobKind, Stream, Task};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl DbImpl {
    fn pick_compaction(&self, background: &BackgroundWork, version: &Version) -> Option<Compaction> {
        let shape = version.shape(&background.being_compacted, &background.compactions);
        let (base_level, last_level) = (version.targets.base_level, shape.last_level());
        let codec = |level: usize| level_compression(&self.parsed.codecs, level, base_level, last_level);
        let same = |from: usize, to: usize| codec(from) == codec(to);
        let options = if background.empties_level0 {
            Cow::Owned(Options { level0_file_num_compaction_trigger: 1, ..self.options.clone() })
        } else {
            Cow::Borrowed(&self.options)
        };
        pick_compaction(&shape, &version.targets, &options, self.parsed.priority, &same)
    }

    /// A compaction, if a level is due and the limit allows one more: one, or as many as there are threads once level 0
    /// or the debt has grown.
    pub fn next_compaction(self: &Arc<Self>, background: &mut BackgroundWork) -> Option<CompactionJob> {
        let limit = if background.write_controller.speedup() { self.options.max_compactions() } else { 1 };
        if self.options.disable_auto_compactions || background.compactions.len() >= limit {
            return None;
        }
        let version = self.super_version.load().version.clone();
        let compaction = self.pick_compaction(background, &version)?;
        background.being_compacted.extend(compaction.files().map(|(_, file)| file.number));
        background.compactions.push(compaction.in_progress());
        Some(CompactionJob { db: self.clone(), version, compaction, outputs: Vec::new() })
    }

    /// Whether a compaction is due.
    pub fn compaction_is_due(&self, background: &BackgroundWork) -> bool {
        !self.options.disable_auto_compactions
            && self.pick_compaction(background, &self.super_version.load().version).is_some()
    }

    /// Gives the inputs of a compaction free.
    fn release(&self, compaction: &Compaction) {
        let mut background = self.background.lock();
        for (_, file) in compaction.files() {
            background.being_compacted.remove(&file.number);
        }
        let own = compaction.in_progress();
        if let Some(at) = background.compactions.iter().position(|other| *other == own) {
            background.compactions.swap_remove(at);
        }
        background.may_have_work = true;
    }
}

/// Tells whether a key may have entries below the output level (`KeyNotExistsBeyondOutputLevel`). Keys are asked about
/// in order.
struct BeyondOutputLevel {
    levels: Vec<Arc<Vec<Arc<FileMetaData>>>>,
    at: Vec<usize>,
}

impl BeyondOutputLevel {
    fn new(version: &Version, output_level: usize) -> Self {
        let levels = version.metas.iter().skip(output_level + 1).cloned().collect::<Vec<_>>();
        Self { at: vec![0; levels.len()], levels }
    }

    fn may_contain(&mut self, user_key: &[u8]) -> bool {
        self.levels.iter().zip(&mut self.at).any(|(files, at)| {
            while files.get(*at).is_some_and(|file| *file.largest < *user_key) {
                *at += 1;
            }
            files.get(*at).is_some_and(|file| *file.smallest <= *user_key)
        })
    }
}

/// A compaction being done.
pub struct CompactionJob {
    db: Arc<DbImpl>,
    /// The version that it was picked from, whose files it reads.
    version: Arc<Version>,
    compaction: Compaction,
    outputs: Vec<Arc<TableFile>>,
}

impl CompactionJob {
    fn files_of(&self, input: &CompactionInputFiles) -> Vec<Arc<TableFile>> {
        let wanted = |file: &&Arc<TableFile>| input.files.iter().any(|meta| meta.number == file.meta.number);
        self.version.files(input.level).filter(wanted).cloned().collect()
    }

    /// One source for each input file of level 0, and one for the inputs of each other level.
    fn merge(&self) -> MergingIterator {
        let (compaction, options) = (&self.compaction, &self.db.options);
        let access =
            Access::Compaction { level: compaction.output_level as u8, bytes: options.compaction_readahead_size };
        let runs = compaction.inputs.iter().flat_map(|input| {
            let files = self.files_of(input);
            if input.level == 0 {
                files.into_iter().map(|file| SortedRun::new(vec![file])).collect()
            } else {
                vec![SortedRun::new(files)]
            }
        });
        MergingIterator::new(runs.map(|run| Source::Run(RunCursor::new(Arc::new(run), access))).collect())
    }

    fn splitter(&self) -> OutputSplitter {
        let (compaction, options) = (&self.compaction, &self.db.options);
        let target = options.target_file_bytes(compaction.output_level, self.version.targets.base_level);
        OutputSplitter::new(
            compaction.output_level,
            target,
            options.max_compaction_bytes,
            options.level_compaction_dynamic_file_size,
            compaction.grandparents.clone(),
            compaction.bottommost,
        )
    }

    fn begin_output(&self, task: &mut Task) -> Result<(u64, TableBuilder)> {
        let compaction = &self.compaction;
        let last_level = (0..self.version.metas.len()).rfind(|level| !self.version.metas[*level].is_empty());
        let base_level = self.version.targets.base_level;
        let codec =
            level_compression(&self.db.parsed.codecs, compaction.output_level, base_level, last_level.unwrap_or(0));
        let purpose = Purpose::Compaction { level: compaction.output_level as u8 };
        self.db.begin_table(task, codec, compaction.bottommost, purpose)
    }

    fn finish_output(&mut self, task: &mut Task, (number, builder): (u64, TableBuilder)) -> Result<()> {
        let built = builder.finish(task)?;
        self.outputs.push(self.db.adopt_table(number, self.compaction.output_level, built));
        Ok(())
    }

    /// Merges the inputs: of each key the newest entry stays. A tombstone goes when nothing below can hold its key, and
    /// in the last level sequence numbers become 0, which compress better.
    fn write_outputs(&mut self, task: &mut Task) -> Result<()> {
        let (mut merge, mut splitter) = (self.merge(), self.splitter());
        let mut beyond = BeyondOutputLevel::new(&self.version, self.compaction.output_level);
        let within_level0 = self.compaction.output_level == 0;
        let (mut last_key, mut has_last) = (Vec::new(), false);
        let mut internal = Vec::new();
        let mut output: Option<(u64, TableBuilder)> = None;
        merge.seek_to_first(task)?;
        while merge.valid() {
            merge.charge_entry(task);
            let (user_key, mut trailer) = key::split(merge.key());
            if has_last && *last_key == *user_key {
                merge.advance(task)?;
                continue;
            }
            last_key.clear();
            last_key.extend_from_slice(user_key);
            has_last = true;
            let is_delete = key::is_delete(trailer);
            if is_delete && !within_level0 && (self.compaction.bottommost || !beyond.may_contain(&last_key)) {
                merge.advance(task)?;
                continue;
            }
            if self.compaction.bottommost && !is_delete {
                trailer = key::trailer(0, Kind::Put);
            }
            if splitter.stops_before(&last_key, output.as_ref().map(|(_, builder)| builder.file_bytes()))
                && let Some(full) = output.take()
            {
                self.finish_output(task, full)?;
            }
            if output.is_none() {
                splitter.begin_output();
            }
            key::encode(&last_key, trailer, &mut internal);
            let (_, builder) = match &mut output {
                Some(open) => open,
                None => output.insert(self.begin_output(task)?),
            };
            builder.add(task, &internal, merge.value())?;
            merge.advance(task)?;
        }
        match output.take() {
            Some(last) => self.finish_output(task, last),
            None => Ok(()),
        }
    }

    fn install_outputs(&mut self, task: &mut Task) -> Result<()> {
        let (db, compaction) = (self.db.clone(), &self.compaction);
        let edit = VersionEdit {
            removed: compaction.files().map(|(level, file)| (level, file.number)).collect(),
            ..VersionEdit::default()
        };
        let outputs = if compaction.is_trivial_move {
            compaction.inputs.iter().flat_map(|input| self.files_of(input)).collect()
        } else {
            self.outputs.clone()
        };
        let added = outputs.into_iter().map(|file| (compaction.output_level, file)).collect::<Vec<_>>();
        if !compaction.is_trivial_move && !added.is_empty() {
            db.storage.sync_directory(task)?;
        }
        let mut manifest = db.manifest.lock();
        // The inputs are still being compacted while the new version is built, so that nobody picks a file that is
        // about to go.
        db.log_and_apply(task, &mut manifest, edit, &added, &[])?;
        drop(manifest);
        if compaction.is_trivial_move {
            db.counters.trivial_moves.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        db.counters.compactions.fetch_add(1, Ordering::Relaxed);
        if compaction.inputs.first().is_some_and(|input| input.level == 0) && compaction.output_level > 0 {
            db.counters.level0_merges.fetch_add(1, Ordering::Relaxed);
        }
        compaction.files().try_for_each(|(_, file)| db.storage.remove(task, &table_name(file.number)))
    }
}

impl Job for CompactionJob {
    fn kind(&self) -> JobKind {
        JobKind::Compaction
    }

    fn stream(&self) -> Option<Stream> {
        let options = &self.db.options;
        let read_bytes = options.compaction_readahead_size.max(options.block_size);
        Some(Stream { read_bytes, write_bytes: WRITE_BYTES as u64 })
    }

    fn run(&mut self, task: &mut Task) -> Result<()> {
        if self.compaction.is_trivial_move { Ok(()) } else { self.write_outputs(task) }
    }

    fn install(mut self: Box<Self>, task: &mut Task) -> Result<()> {
        self.db.poison.check()?;
        self.install_outputs(task)
    }
}

impl Drop for CompactionJob {
    fn drop(&mut self) {
        self.db.release(&self.compaction);
        self.db.signal.wake();
    }
}

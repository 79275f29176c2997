//! Compactions: files of one level are merged into the next, or only moved there.

use super::core::{Control, Core};
use super::key::{self, Kind};
use super::merge::{Merge, RunCursor, Source};
use super::policy::{FileMeta, OutputSplitter, Pick, pick_compaction};
use super::table::table_name;
use super::table_builder::{TableBuilder, WRITE_BYTES};
use super::table_cursor::Access;
use super::version::{Run, TableFile, Version};
use super::version_edit::VersionEdit;
use crate::cost::Work;
use crate::error::Result;
use crate::metrics::Purpose;
use crate::task::{Job, JobKind, Stream, Task};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Core {
    fn pick(&self, control: &Control, version: &Version) -> Option<Pick> {
        let shape = version.shape(&control.busy, &control.running);
        let (base_level, last_level) = (version.targets.base_level, shape.last_level());
        let codec = |level: usize| self.parsed.codecs.at(level, base_level, last_level);
        let same = |from: usize, to: usize| codec(from) == codec(to);
        pick_compaction(&shape, &version.targets, &self.options, self.parsed.priority, &same)
    }

    /// A compaction, if a level is due and the limit allows one more: one, or as many as there are threads once level 0 or
    /// the debt has grown.
    pub fn next_compaction(self: &Arc<Self>, control: &mut Control) -> Option<CompactionJob> {
        let limit = if control.controller.speedup() { self.options.max_compactions() } else { 1 };
        if self.options.disable_auto_compactions || control.running.len() >= limit {
            return None;
        }
        let version = self.view.load().version.clone();
        let pick = self.pick(control, &version)?;
        control.busy.extend(pick.files().map(|(_, file)| file.number));
        control.running.push(pick.running());
        Some(CompactionJob { core: self.clone(), version, pick, outputs: Vec::new(), installed: false })
    }

    /// Whether a compaction is due.
    pub fn compaction_is_due(&self, control: &Control) -> bool {
        !self.options.disable_auto_compactions && self.pick(control, &self.view.load().version).is_some()
    }

    /// Gives the inputs of a compaction free.
    fn release(&self, pick: &Pick) {
        let mut control = self.control.lock();
        for (_, file) in pick.files() {
            control.busy.remove(&file.number);
        }
        let running = pick.running();
        if let Some(at) = control.running.iter().position(|other| *other == running) {
            control.running.swap_remove(at);
        }
        control.may_have_work = true;
    }
}

/// Tells whether a key may have entries below a level. Keys are asked about in order.
struct Deeper {
    levels: Vec<Arc<Vec<Arc<FileMeta>>>>,
    at: Vec<usize>,
}

impl Deeper {
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
    core: Arc<Core>,
    /// The version that it was picked from, whose files it reads.
    version: Arc<Version>,
    pick: Pick,
    outputs: Vec<Arc<TableFile>>,
    installed: bool,
}

impl CompactionJob {
    fn files_of(&self, level: usize, metas: &[Arc<FileMeta>]) -> Vec<Arc<TableFile>> {
        let wanted = |file: &&Arc<TableFile>| metas.iter().any(|meta| meta.number == file.meta.number);
        self.version.files(level).filter(wanted).cloned().collect()
    }

    /// One source for each input file of level 0, and one for the inputs of each other level.
    fn merge(&self) -> Merge {
        let (pick, options) = (&self.pick, &self.core.options);
        let access = Access::Compaction { level: pick.output_level as u8, bytes: options.compaction_readahead_size };
        let inputs = self.files_of(pick.start_level, &pick.inputs);
        let mut runs = if pick.start_level == 0 {
            inputs.into_iter().map(|file| Run::new(vec![file])).collect()
        } else {
            vec![Run::new(inputs)]
        };
        runs.push(Run::new(self.files_of(pick.output_level, &pick.overlapped)));
        let runs = runs.into_iter().filter(|run| !run.files.is_empty());
        Merge::new(runs.map(|run| Source::Run(RunCursor::new(Arc::new(run), access))).collect())
    }

    fn splitter(&self) -> OutputSplitter {
        let (pick, options) = (&self.pick, &self.core.options);
        let target = options.target_file_bytes(pick.output_level, self.version.targets.base_level);
        OutputSplitter::new(
            pick.output_level,
            target,
            options.max_compaction_bytes,
            options.level_compaction_dynamic_file_size,
            pick.grandparents.clone(),
            pick.bottommost,
        )
    }

    fn begin_output(&self, task: &mut Task) -> Result<(u64, TableBuilder)> {
        let (number, pick) = (self.core.new_file_number(), &self.pick);
        let last_level = (0..self.version.metas.len()).rfind(|level| !self.version.metas[*level].is_empty());
        let base_level = self.version.targets.base_level;
        let codec = self.core.parsed.codecs.at(pick.output_level, base_level, last_level.unwrap_or(0));
        let shape = self.core.table_shape(codec, pick.bottommost);
        let name = table_name(number);
        let file = self.core.create_table(task, &name)?;
        let purpose = Purpose::Compaction { level: pick.output_level as u8 };
        Ok((number, TableBuilder::new(shape, file, name, purpose)))
    }

    fn finish_output(&mut self, task: &mut Task, (number, builder): (u64, TableBuilder)) -> Result<()> {
        let built = builder.finish(task)?;
        self.outputs.push(self.core.adopt_table(number, self.pick.output_level, built));
        Ok(())
    }

    /// Merges the inputs: of each key the newest entry stays. A tombstone goes when nothing below can hold its key, and
    /// in the last level sequence numbers become 0, which compress better.
    fn write_outputs(&mut self, task: &mut Task) -> Result<()> {
        let (mut merge, mut splitter) = (self.merge(), self.splitter());
        let mut deeper = Deeper::new(&self.version, self.pick.output_level);
        let within_level0 = self.pick.output_level == 0;
        let (mut last_key, mut has_last) = (Vec::new(), false);
        let mut internal = Vec::new();
        let mut output: Option<(u64, TableBuilder)> = None;
        merge.seek_to_first(task)?;
        while merge.valid() {
            task.charge(Work::MergedEntry, 1);
            let (user_key, mut trailer) = key::split(merge.key());
            if has_last && *last_key == *user_key {
                merge.advance(task)?;
                continue;
            }
            last_key.clear();
            last_key.extend_from_slice(user_key);
            has_last = true;
            let is_delete = key::is_delete(trailer);
            if is_delete && !within_level0 && (self.pick.bottommost || !deeper.may_contain(&last_key)) {
                merge.advance(task)?;
                continue;
            }
            if self.pick.bottommost && !is_delete {
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
        let (core, pick) = (self.core.clone(), &self.pick);
        let edit = VersionEdit {
            removed: pick.files().map(|(level, file)| (level, file.number)).collect(),
            ..VersionEdit::default()
        };
        let outputs = if pick.is_move { self.files_of(pick.start_level, &pick.inputs) } else { self.outputs.clone() };
        let added = outputs.into_iter().map(|file| (pick.output_level, file)).collect::<Vec<_>>();
        if !pick.is_move && !added.is_empty() {
            core.storage.sync_directory(task)?;
        }
        let mut manifest = core.manifest.lock();
        // Still busy while the new version is built, so that nobody picks a file that is about to go.
        core.apply(task, &mut manifest, edit, &added, &[])?;
        drop(manifest);
        if pick.is_move {
            core.counters.trivial_moves.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        core.counters.compactions.fetch_add(1, Ordering::Relaxed);
        pick.files().try_for_each(|(_, file)| core.storage.remove(task, &table_name(file.number)))
    }
}

impl Job for CompactionJob {
    fn kind(&self) -> JobKind {
        JobKind::Compaction
    }

    fn stream(&self) -> Option<Stream> {
        let options = &self.core.options;
        let read_bytes = options.compaction_readahead_size.max(options.block_size);
        Some(Stream { read_bytes, write_bytes: WRITE_BYTES as u64 })
    }

    fn run(&mut self, task: &mut Task) -> Result<()> {
        if self.pick.is_move { Ok(()) } else { self.write_outputs(task) }
    }

    fn install(mut self: Box<Self>, task: &mut Task) -> Result<()> {
        self.core.poison.check()?;
        let result = self.install_outputs(task);
        self.installed = result.is_ok();
        result
    }
}

impl Drop for CompactionJob {
    fn drop(&mut self) {
        self.core.release(&self.pick);
        self.core.signal.wake();
    }
}

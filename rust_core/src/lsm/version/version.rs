//! The table files that make up the tree at one moment. A version never changes; whoever reads from it keeps its files
//! open.

use super::sorted_run::{SortedRun, TableFile};
use super::version_edit::VersionEdit;
use crate::cost::Work;
use crate::error::Result;
use crate::lsm::keys::Lookup;
use crate::lsm::options::Options;
use crate::lsm::policy::{
    CompactionInProgress, LevelTargets, Shape, StallInputs, debt_bytes, level_targets, pending_compaction_bytes,
};
use crate::lsm::table::{FileMetaData, LookupKey, average_value_bytes};
use crate::task::Task;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The table files at one moment.
pub struct Version {
    /// One run for each file of level 0, newest first.
    pub level0: Vec<Arc<SortedRun>>,
    /// The sorted levels from 1 on.
    pub sorted: Vec<Arc<SortedRun>>,
    /// Descriptions by level, for the policies.
    pub metas: Vec<Arc<Vec<Arc<FileMetaData>>>>,
    /// Level targets.
    pub targets: LevelTargets,
    /// Compaction debt.
    pub pending_bytes: u64,
    /// Bytes of files that lie on nothing.
    pub bottommost_bytes: u64,
}

impl Version {
    /// A version of these files, by level.
    pub fn new(levels: Vec<Vec<Arc<TableFile>>>, options: &Options) -> Self {
        let mut runs = levels.into_iter().enumerate().map(|(level, mut files)| {
            if level == 0 {
                files.sort_by_key(|file| std::cmp::Reverse((file.meta.largest_sequence, file.meta.number)));
            } else {
                files.sort_by(|a, b| a.meta.smallest.cmp(&b.meta.smallest));
            }
            files
        });
        let level0 = runs.next().unwrap_or_default();
        let sorted = runs.map(|files| Arc::new(SortedRun::new(files))).collect::<Vec<_>>();
        let metas_of = |files: &[Arc<TableFile>]| Arc::new(files.iter().map(|file| file.meta.clone()).collect());
        let metas = std::iter::once(metas_of(&level0)).chain(sorted.iter().map(|run| metas_of(&run.files))).collect();
        let level0 = level0.into_iter().map(|file| Arc::new(SortedRun::new(vec![file]))).collect();
        let mut version = Self {
            level0,
            sorted,
            metas,
            targets: LevelTargets { base_level: 0, bytes: Vec::new(), lowest_unnecessary: None },
            pending_bytes: 0,
            bottommost_bytes: 0,
        };
        version.targets = level_targets(&version.level_bytes(), options);
        let idle = BTreeSet::new();
        let shape = version.shape(&idle, &[]);
        let pending_bytes = pending_compaction_bytes(&shape, &version.targets, options);
        (version.bottommost_bytes, version.pending_bytes) = (shape.bottommost_bytes(), pending_bytes);
        version
    }

    /// The version that follows from this one by an edit; `added` are the open files that the edit adds.
    pub fn apply(&self, edit: &VersionEdit, added: &[(usize, Arc<TableFile>)], options: &Options) -> Self {
        let mut levels = (0..self.metas.len()).map(|level| self.files(level).cloned().collect::<Vec<_>>());
        let mut levels = levels.by_ref().collect::<Vec<_>>();
        for (level, number) in &edit.removed {
            levels[*level].retain(|file| file.meta.number != *number);
        }
        for (level, file) in added {
            levels[*level].push(file.clone());
        }
        Self::new(levels, options)
    }

    /// The edit that makes this version of none.
    pub fn to_edit(&self) -> VersionEdit {
        let levels = self.metas.iter().enumerate();
        let added = levels.flat_map(|(level, metas)| metas.iter().map(move |meta| (level, (**meta).clone())));
        VersionEdit { added: added.collect(), ..VersionEdit::default() }
    }

    /// The files of a level.
    pub fn files(&self, level: usize) -> impl Iterator<Item = &Arc<TableFile>> {
        let runs = if level == 0 { &self.level0[..] } else { std::slice::from_ref(&self.sorted[level - 1]) };
        runs.iter().flat_map(|run| run.files.iter())
    }

    /// All files.
    pub fn all_files(&self) -> impl Iterator<Item = &Arc<TableFile>> {
        self.runs().flat_map(|run| run.files.iter())
    }

    /// All runs that have files, the newest entries of a key first.
    pub fn runs(&self) -> impl Iterator<Item = &Arc<SortedRun>> {
        self.level0.iter().chain(&self.sorted).filter(|run| !run.files.is_empty())
    }

    /// Bytes by level.
    pub fn level_bytes(&self) -> Vec<u64> {
        self.metas.iter().map(|files| files.iter().map(|file| file.bytes).sum()).collect()
    }

    /// What the policies look at.
    pub fn shape<'a>(
        &'a self,
        being_compacted: &'a BTreeSet<u64>,
        in_progress: &'a [CompactionInProgress],
    ) -> Shape<'a> {
        Shape { levels: self.metas.iter().map(|files| &files[..]).collect(), being_compacted, in_progress }
    }

    /// What holds writers back, given the memtables that wait for a flush.
    pub fn stall_inputs(&self, unflushed_memtables: u64) -> StallInputs {
        StallInputs {
            unflushed_memtables,
            level0_files: self.level0.len() as u64,
            pending_bytes: self.pending_bytes,
            bottommost_bytes: self.bottommost_bytes,
        }
    }

    /// Bytes that flushes and compactions have still to write, with so many in memtables.
    pub fn debt_bytes(&self, memtable_bytes: u64, options: &Options) -> u64 {
        debt_bytes(&self.shape(&BTreeSet::new(), &[]), &self.targets, options, memtable_bytes)
    }

    /// Average bytes of a value on storage.
    pub fn average_value_bytes(&self) -> u64 {
        average_value_bytes(self.metas.iter().flat_map(|files| files.iter()).map(|file| &**file))
    }

    /// Looks for the newest visible entry of a key and appends its value.
    #[inline]
    pub fn get(&self, task: &mut Task, wanted: &mut LookupKey, value: &mut Vec<u8>) -> Result<Lookup> {
        for run in self.runs() {
            task.charge(Work::Compare, u64::from(run.files.len().max(2).ilog2()));
            if let Some(file) = run.find(wanted.user_key) {
                let lookup = file.table.get(task, wanted, value)?;
                if lookup != Lookup::Absent {
                    return Ok(lookup);
                }
            }
        }
        Ok(Lookup::Absent)
    }
}

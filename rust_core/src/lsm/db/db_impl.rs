//! The state of an open engine, shared by clients and jobs.
//!
//! Locks are taken in this order: the write lock (`write_thread`), `manifest`, `background`. Readers take none of them:
//! they load the super version and read.

use super::background::BackgroundWork;
use super::counters::Counters;
use super::super_version::SuperVersion;
use super::wal::{LogWriter, Logs, log_name};
use crate::cost::Work;
use crate::engine::Poison;
use crate::error::{Error, Result};
use crate::lsm::keys::Lookup;
use crate::lsm::memtable::MemTable;
use crate::lsm::options::{Options, ParsedOptions};
use crate::lsm::policy::StallCondition;
use crate::lsm::table::{LookupKey, TableContext};
use crate::lsm::version::{Manifest, TableFile, VersionEdit};
use crate::storage::Storage;
use crate::task::{GroupSync, Serial, Signal, Task};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The state of an open engine.
pub struct DbImpl {
    /// Where the files are.
    pub storage: Arc<dyn Storage>,
    /// Settings, adjusted to each other.
    pub options: Options,
    /// Words and texts of the settings.
    pub parsed: ParsedOptions,
    /// Wakes background workers.
    pub signal: Arc<Signal>,
    /// What all tables share.
    pub tables: Arc<TableContext>,
    /// What readers look at.
    pub super_version: ArcSwap<SuperVersion>,
    /// Sequence number of the newest visible entry.
    pub sequence: AtomicU64,
    /// The write lock, and the memtable that takes writes.
    pub write_thread: Serial<Arc<MemTable>>,
    /// The log of the memtable, unless writes are not logged. Taken after the write lock, if that is held.
    pub log: Mutex<Option<LogWriter>>,
    /// Shared syncs of the logs.
    pub group_commit: GroupSync,
    /// Logs that may be needed after a crash.
    pub logs: Logs,
    /// The manifest; held while an edit is written and applied.
    pub manifest: Mutex<Manifest>,
    /// Background work.
    pub background: Mutex<BackgroundWork>,
    /// Whether writers have to ask the write controller.
    pub holds_back: AtomicBool,
    /// The next file number.
    pub next_file: AtomicU64,
    /// The first background error.
    pub poison: Poison,
    /// Counters since open.
    pub counters: Counters,
}

impl DbImpl {
    /// A new file number.
    pub fn new_file_number(&self) -> u64 {
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    /// Reads a key.
    pub fn get(&self, task: &mut Task, user_key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        self.poison.check()?;
        task.charge(Work::Call, 1);
        value.clear();
        let super_version = self.super_version.load();
        // After the super version: a flush or compaction in between drops only what is hidden at a later number.
        let sequence = self.sequence.load(Ordering::Acquire);
        for memtable in std::iter::once(&super_version.memtable).chain(&super_version.immutables) {
            match memtable.get(task, user_key, sequence, value) {
                Lookup::Found => return Ok(true),
                Lookup::Deleted => return Ok(false),
                Lookup::Absent => {}
            }
        }
        let found = super_version.version.get(task, &mut LookupKey::new(user_key, sequence), value)?;
        Ok(found == Lookup::Found)
    }

    /// Writes an edit to the manifest, then makes it visible. `flushed` are memtables whose entries the added files
    /// hold. The caller holds the manifest and has synced the files.
    pub fn log_and_apply(
        &self,
        task: &mut Task,
        manifest: &mut Manifest,
        mut edit: VersionEdit,
        added: &[(usize, Arc<TableFile>)],
        flushed: &[u64],
    ) -> Result<()> {
        self.poison.check()?;
        edit.added = added.iter().map(|(level, file)| (*level, (*file.meta).clone())).collect();
        let recorded = self.record(task, manifest, &mut edit);
        // Poisoned before the lock is released: an edit must not follow one that failed, nor go into a manifest that
        // CURRENT may name no more.
        self.poisoned(recorded)?;
        let mut background = self.background.lock();
        let super_version = self.super_version.load_full();
        let immutables = super_version.immutables.iter().filter(|memtable| !flushed.contains(&memtable.number));
        let super_version = SuperVersion {
            memtable: super_version.memtable.clone(),
            immutables: immutables.cloned().collect(),
            version: Arc::new(super_version.version.apply(&edit, added, &self.options)),
        };
        self.install_super_version(&mut background, super_version);
        Ok(())
    }

    /// Adds an edit to the manifest, which is begun anew before if it is full.
    fn record(&self, task: &mut Task, manifest: &mut Manifest, edit: &mut VersionEdit) -> Result<()> {
        if manifest.is_full(self.options.max_manifest_file_size) {
            manifest.roll(task, &*self.storage, self.new_file_number(), &self.super_version.load().version)?;
        }
        edit.next_file = Some(self.next_file.load(Ordering::Relaxed));
        manifest.append(task, edit)
    }

    /// Makes a super version current and follows its consequences for writers and jobs.
    pub fn install_super_version(&self, background: &mut BackgroundWork, super_version: SuperVersion) {
        let inputs = super_version.version.stall_inputs(super_version.immutables.len() as u64);
        background.write_controller.update(&inputs, &self.options);
        self.holds_back.store(background.write_controller.condition() != StallCondition::Normal, Ordering::Release);
        background.may_have_work = true;
        if super_version.immutables.is_empty() {
            background.flush_all = false;
        }
        self.super_version.store(Arc::new(super_version));
    }

    /// Removes the logs that no memtable needs any more.
    pub fn remove_logs_below(&self, task: &mut Task, number: u64) -> Result<()> {
        self.logs.take_below(number).into_iter().try_for_each(|old| self.storage.remove(task, &log_name(old)))
    }

    /// Keeps an error for all later callers, and passes it on.
    pub fn poisoned<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result
            && !matches!(error, Error::Poisoned { .. })
        {
            self.poison.set(error);
        }
        result
    }
}

//! Files of an index that is made behind its rows. MyRocks' `CREATE INDEX` sorts the entries, writes them into tables
//! of their own and hands these to `DB::IngestExternalFile` (`ha_rocksdb::inplace_populate_sk`), which puts each as
//! deep as no other file of the level has any of its range (`AssignLevelAndSeqnoForIngestedFile`): into the last level,
//! as no key of a new index is anywhere. From then on no level above it is the last one with files, so that
//! `bottommost_compression` no longer compresses what is merged into these.

use super::db_impl::DbImpl;
use crate::engine::{Change, WriteBatch};
use crate::error::Result;
use crate::lsm::keys::key::{self, Kind};
use crate::lsm::policy::{CompactionInProgress, ingested_compression};
use crate::lsm::table::{BuiltTable, TableBuilder};
use crate::lsm::version::VersionEdit;
use crate::metrics::Purpose;
use crate::task::Task;
use std::sync::atomic::Ordering;

impl DbImpl {
    /// Adds entries, in key order, of keys that were never written and lie in a range of their own. After an error
    /// there are none of them, or the engine is poisoned.
    pub fn ingest(&self, task: &mut Task, entries: &WriteBatch) -> Result<()> {
        self.poison.check()?;
        let tables = self.write_tables(task, entries)?;
        if tables.is_empty() {
            return Ok(());
        }
        self.storage.sync_directory(task)?;
        let mut manifest = self.manifest.lock();
        let places = self.reserve_places(&tables);
        let added = tables.into_iter().zip(&places).map(|((number, built), place)| {
            let level = place.output_level;
            (level, self.adopt_table(number, level, built))
        });
        let added = added.collect::<Vec<_>>();
        let applied = self.log_and_apply(task, &mut manifest, VersionEdit::default(), &added, &[]);
        self.background.lock().compactions.retain(|other| !places.contains(other));
        applied?;
        self.counters.user_bytes.fetch_add(entries.user_bytes(), Ordering::Relaxed);
        Ok(())
    }

    /// Tables of at most `target_file_size_base` (`Rdb_sst_info`), written and synced, each with its number. Their
    /// sequence numbers are 0, and `optimize_filters_for_hits` leaves their filters out.
    fn write_tables(&self, task: &mut Task, entries: &WriteBatch) -> Result<Vec<(u64, BuiltTable)>> {
        let codec = ingested_compression(&self.parsed.codecs);
        let mut tables = Vec::new();
        let mut open: Option<(u64, TableBuilder)> = None;
        let mut internal = Vec::new();
        for change in entries.changes() {
            let Change::Put { key: user_key, value } = change else { continue };
            if let Some((number, full)) =
                open.take_if(|(_, builder)| builder.file_bytes() >= self.options.target_file_size_base)
            {
                tables.push((number, full.finish(task)?));
            }
            let (_, builder) = match &mut open {
                Some(open) => open,
                None => open.insert(self.begin_table(task, codec, true, Purpose::Flush)?),
            };
            key::encode(user_key, key::trailer(0, Kind::Put), &mut internal);
            builder.add(task, &internal, value)?;
        }
        if let Some((number, last)) = open {
            tables.push((number, last.finish(task)?));
        }
        Ok(tables)
    }

    /// The deepest level for each table, kept free of compactions until the tables are there. The caller holds the
    /// manifest.
    fn reserve_places(&self, tables: &[(u64, BuiltTable)]) -> Vec<CompactionInProgress> {
        let mut background = self.background.lock();
        let version = self.super_version.load().version.clone();
        let places = tables.iter().map(|(_, table)| {
            let shape = version.shape(&background.being_compacted, &background.compactions);
            let (smallest, largest) = (&table.smallest, &table.largest);
            let is_free = |level: &usize| {
                shape.overlapping(*level, smallest, largest).is_empty() && !shape.collides(*level, smallest, largest)
            };
            let output_level = (1..shape.levels.len()).rfind(is_free).unwrap_or(0);
            CompactionInProgress { output_level, smallest: smallest.clone(), largest: largest.clone() }
        });
        let places = places.collect::<Vec<_>>();
        background.compactions.extend(places.iter().cloned());
        places
    }
}

//! The table files that flushes and compactions write: how they are opened, written and taken over.

use super::db_impl::DbImpl;
use crate::codec::Compression;
use crate::error::Result;
use crate::lsm::table::{BuiltTable, FileMetaData, TableBuilder, TableBuilderOptions, TableReader, table_name};
use crate::lsm::version::TableFile;
use crate::metrics::Purpose;
use crate::storage::FileOptions;
use crate::task::Task;
use std::sync::Arc;

impl DbImpl {
    /// Begins a table with this codec, and its number. `bottommost`: no deeper level holds its keys.
    pub fn begin_table(
        &self,
        task: &mut Task,
        compression: Compression,
        bottommost: bool,
        purpose: Purpose,
    ) -> Result<(u64, TableBuilder)> {
        let number = self.new_file_number();
        let name = table_name(number);
        let file = self.storage.create(task, &name, FileOptions::table(self.options.page_cached()))?;
        Ok((number, TableBuilder::new(self.table_builder_options(compression, bottommost), file, name, purpose)))
    }

    fn table_builder_options(&self, compression: Compression, bottommost: bool) -> TableBuilderOptions {
        TableBuilderOptions {
            compression,
            compression_level: self.parsed.compression_level,
            block_bytes: self.options.block_size as usize,
            block_deviation_percent: self.options.block_size_deviation as usize,
            restart_interval: self.options.block_restart_interval as usize,
            format_version: self.options.format_version as u32,
            bloom: self.parsed.bloom.filter(|_| !(bottommost && self.options.optimize_filters_for_hits)),
            whole_key_filtering: self.options.whole_key_filtering,
            prefix: self.parsed.prefix,
            prefix_text: self.options.prefix_extractor.clone(),
        }
    }

    /// Opens a table that was just written, for a level.
    pub fn adopt_table(&self, number: u64, level: usize, built: BuiltTable) -> Arc<TableFile> {
        let mut meta = FileMetaData {
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
        meta.compensate(self.super_version.load().version.average_value_bytes());
        let table = Arc::new(TableReader::from_built(self.tables.clone(), number, level, built));
        Arc::new(TableFile { meta: Arc::new(meta), table })
    }
}

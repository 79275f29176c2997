//! Table files: their blocks, index, filter and properties, how they are built, opened, searched and walked, and the
//! cache that their blocks share. It knows neither which level a table is on nor who reads it.

mod block_cache;
mod builder;
mod cache_shard;
mod cursor;
mod file_meta;
mod kept_block;
mod lookup;
mod part_shards;
mod prefetch_buffer;
mod reader;

// Open to the fuzzing of each decoder by itself.
pub mod block;
pub mod block_builder;
pub mod block_cursor;
pub mod bloom;
pub mod format;
pub mod index;
pub mod properties;

pub use block_cache::BlockCache;
pub use builder::{BuiltTable, TableBuilder, TableBuilderOptions, WRITE_BYTES};
pub use cursor::{Access, TableCursor};
pub use file_meta::{FileMetaData, average_value_bytes, total_bytes};
pub use lookup::LookupKey;
pub use reader::{TableContext, TableReader, table_name};

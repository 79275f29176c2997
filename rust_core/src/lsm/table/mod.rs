//! Table files: their blocks, index, filter and properties, how they are built, opened, searched and walked, and the cache
//! that their blocks share. It knows neither which level a table is on nor who reads it.

pub mod block;
pub mod block_builder;
mod block_cache;
pub mod block_cursor;
pub mod bloom;
mod builder;
mod cursor;
mod file_meta;
pub mod format;
pub mod index;
mod lookup;
mod prefetch_buffer;
pub mod properties;
mod reader;

pub use block_cache::BlockCache;
pub use builder::{BuiltTable, TableBuilder, TableBuilderOptions, WRITE_BYTES};
pub use cursor::{Access, TableCursor};
pub use file_meta::{FileMetaData, average_value_bytes, total_bytes};
pub use lookup::LookupKey;
pub use reader::{TableContext, TableReader, table_name};

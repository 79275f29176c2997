//! The trees: mini-transactions and undo logs over pages, pool and log, and over those the forest with its descents,
//! splits, merges, cursors and buffered changes. Background work and the engine may know it.

mod change_buffer;
mod change_merge;
mod cursor;
mod descent;
mod directory;
mod forest;
mod index_key;
mod insert;
mod intent;
mod limits;
mod long_value;
mod merge;
mod mtr;
mod origin;
mod page_store;
mod purge;
mod range_count;
mod remove;
mod rollback_segments;
mod root;
mod trx_sys;
mod undo;
mod undo_page;
mod zip_page;
mod zip_split;

#[cfg(any(test, fuzzing))]
pub use change_buffer::BufferedChange;
pub use change_buffer::PAGES_AT_ONCE;
pub use cursor::Cursor;
pub use descent::Toward;
pub use forest::Forest;
pub use index_key::split_key;
pub use intent::{Intent, Planned, Span, base_of};
pub use origin::Origin;
pub use purge::ReadLog;
pub use root::Tree;
pub use undo::UndoLog;
pub use undo_page::{LogAt, entry_record};

//! The buffer pool (`buf_pool`): frames and their latches, the page table, the LRU lists, the flush list, and the way
//! of a page in and out. It knows pages, their files and the log; trees, background work and the engine may know it.

mod arrivals;
mod buf_pool;
mod checkpoint;
mod eviction;
mod flush;
mod flush_batch;
mod flush_list;
mod frame;
mod free_frames;
mod loading;
mod lru;
mod page_guard;
mod page_table;
mod read_ahead;
mod unzip_lru;
mod zip_frames;

pub use arrivals::Arrivals;
pub use buf_pool::BufferPool;
pub use eviction::PassLimits;
pub use flush_batch::FlushBatch;
pub use frame::Body;
pub use page_guard::{Piece, ReadPage, WritePage};

//! What runs beside the clients: the page cleaner and its pace, the log's jobs, read-ahead, merges of buffered changes
//! and purge. Only the engine may know it.

mod adaptive_flush;
mod ibuf_merge;
mod log_jobs;
mod page_cleaner;
mod purge;
mod purge_batch;
mod read_ahead;
mod schedule;
mod state;

pub use purge::PURGE_THREADS;
pub use state::Background;

//! The engine that workloads see, how it opens and recovers, and what it tells of itself. Nobody below may know it.

mod batch;
mod btree;
mod files;
mod log_room;
mod recovery;
mod replay;
mod statistics;

pub use btree::Btree;

//! The core of tunebench: real LSM and B-tree engines, the storage and devices beneath them, and the workloads above
//! them. `advisor._core` is its Python face.

pub mod btree;
pub mod codec;
pub mod device;
pub mod engine;
pub mod error;
pub mod lsm;
pub mod metrics;
pub mod options;
pub mod product;
#[cfg(feature = "python")]
mod python;
pub mod run;
pub mod runtime;
pub mod server;
pub mod storage;
pub mod table;
pub mod workload;

pub use error::{Error, Result};

/// Blocks of a shared cache are allocated by one thread and freed by another; in glibc's arenas they wait for one another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

//! The core of tunebench: real LSM and B-tree engines, the storage and devices beneath them, and the workloads above
//! them. `advisor._core` is its Python face.

pub mod btree;
pub mod codec;
pub mod cost;
#[cfg(test)]
mod crash_matrix;
pub mod device;
pub mod engine;
pub mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod lsm;
pub mod metrics;
pub mod options;
#[cfg(feature = "python")]
mod python;
pub mod random;
pub mod real;
pub mod run;
pub mod scale;
pub mod session;
pub mod storage;
pub mod table;
pub mod task;
pub mod transaction;
pub mod workload;

pub use error::{Error, Result};

/// Blocks of a shared cache are allocated by one thread and freed by another; in glibc's arenas they wait for one
/// another. Any thread may be the one that loads this library, and may end before it: an allocator that takes the
/// loading thread for the process's main one (mimalloc) frees that thread's heap while others use it.
#[cfg(all(feature = "jemalloc", not(any(test, fuzzing))))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(any(test, fuzzing))]
#[global_allocator]
static ALLOCATOR: fuzz::allocation::Noting<std::alloc::System> = fuzz::allocation::Noting(std::alloc::System);

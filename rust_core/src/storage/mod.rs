//! Where bytes live. Every byte that is written or read carries its purpose; the storage counts bytes by purpose in the
//! [`Meters`] that it was made with, and in all on its own, so that the two can be held against each other.

mod contract;
mod decoded;
pub mod faulty;
mod file_options;
pub mod files;
pub mod gated;
pub mod memory;
pub mod page_cache;
mod power_cut;
pub mod probe;
pub mod run_directory;
pub mod simulated;
pub mod space;

pub use contract::{Decoded, Storage, StorageFile};
pub use faulty::FaultyStorage;
pub use file_options::{FileOptions, PageCached, Writes};
pub use files::FileStorage;
pub use memory::MemoryStorage;
pub use run_directory::RunDirectory;
pub use simulated::SimulatedStorage;

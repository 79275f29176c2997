//! Where pages lie: the files of the tablespaces (`fil`), what a page looks like in them, and which pages are taken by
//! whom (`fsp`). It knows pages and options; the log, the pool and all above may know it.

mod durable_file;
mod fil_space;
mod fil_system;
mod file_names;
mod fsp;
mod tablespace;

pub use durable_file::{DurableFile, read_padded};
pub use fil_space::{BLOCK_BYTES, FilSpace};
pub use fil_system::FilSystem;
pub use file_names::{DOUBLEWRITE_FILE, NEW_REDO_FILE, REDO_FILE};
pub use fsp::{META_PAGE, Place, Space, Spaces, Taken, write_given_back, write_taken};
pub use tablespace::Tablespace;

//! The set of table files: what makes up the tree at one moment, how one moment follows from another, and the manifest
//! that remembers it. It asks the policies how a version stands, and knows neither memtables nor who makes the files.

mod manifest;
mod run_cursor;
mod sorted_run;
#[allow(clippy::module_inception)]
mod version;
mod version_edit;

pub use manifest::{CURRENT, Manifest, manifest_name, read_manifest};
pub use run_cursor::RunCursor;
pub use sorted_run::{SortedRun, TableFile};
pub use version::Version;
pub use version_edit::VersionEdit;

//! Files beside those of the tablespaces.

/// The redo log's file.
pub const REDO_FILE: &str = "redo.log";
/// Where a new log is made before it takes the place of the old one.
pub const NEW_REDO_FILE: &str = "redo.new";
/// The doublewrite area's file.
pub const DOUBLEWRITE_FILE: &str = "doublewrite.db";

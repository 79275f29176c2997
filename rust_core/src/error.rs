//! The one error type of the crate. Errors are raised where they are known and worded where they are shown.

use std::io;

/// Everything that can go wrong in the core.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused an operation on a file.
    #[error("cannot {action} {file}: {source}")]
    Io {
        /// File name, relative to the storage directory.
        file: String,
        /// What was attempted: `open`, `read`, `write`, `sync`, ….
        action: &'static str,
        /// The operating system's answer.
        source: io::Error,
    },
    /// Bytes on storage are not what was written.
    #[error("corruption in {file} at byte {offset}: {what}")]
    Corruption {
        /// File name, relative to the storage directory.
        file: String,
        /// Byte offset of the block, page or record.
        offset: u64,
        /// What does not hold.
        what: String,
    },
    /// A field of a run specification or an engine option is unknown or out of range.
    #[error("{field}: found {found}, accepted: {accepted}")]
    Invalid {
        /// Dotted path of the field, such as `options.write_buffer_size`.
        field: String,
        /// What was found.
        found: String,
        /// What would be accepted.
        accepted: String,
    },
    /// A background error made the engine refuse to go on.
    #[error("the engine stopped after an error: {why}")]
    Poisoned {
        /// The first error.
        why: String,
        /// Whether that was a full disk.
        disk_full: bool,
    },
    /// The engine grew past the memory that the run may use.
    #[error("the engine uses {used} bytes of memory, more than the limit of {limit}")]
    MemoryLimit {
        /// Bytes in use.
        used: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The run was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Wraps an operating-system error with the file and the attempted action.
    pub fn io(file: impl Into<String>, action: &'static str, source: io::Error) -> Self {
        Self::Io { file: file.into(), action, source }
    }

    /// A checksum or format violation.
    pub fn corruption(file: impl Into<String>, offset: u64, what: impl Into<String>) -> Self {
        Self::Corruption { file: file.into(), offset, what: what.into() }
    }

    /// A value that is not accepted.
    pub fn invalid(field: impl Into<String>, found: impl ToString, accepted: impl ToString) -> Self {
        Self::Invalid { field: field.into(), found: found.to_string(), accepted: accepted.to_string() }
    }

    /// Whether the disk ran out of space.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() == io::ErrorKind::StorageFull,
            Self::Poisoned { disk_full, .. } => *disk_full,
            _ => false,
        }
    }

    /// An engine, or a part of the run, that cannot go on.
    pub fn poisoned(why: impl Into<String>) -> Self {
        Self::Poisoned { why: why.into(), disk_full: false }
    }
}

//! What a product writes itself, past our storage.

#![allow(clippy::disallowed_methods)]

use crate::error::{Error, Result};
use std::path::Path;

/// Bytes of all files below a folder. Files may come and go meanwhile.
pub fn bytes_below(folder: &Path) -> Result<u64> {
    let failed = |e| Error::io(folder.display().to_string(), "list", e);
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        bytes += match entry.metadata() {
            Ok(about) if about.is_dir() => bytes_below(&entry.path()).unwrap_or_default(),
            Ok(about) if about.is_file() => about.len(),
            _ => 0,
        };
    }
    Ok(bytes)
}

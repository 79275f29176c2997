//! What a product writes itself, past our storage.

#![allow(clippy::disallowed_methods)]

use crate::error::{Error, Result};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What `stat` counts blocks in, whatever those of the file system are.
const BLOCK_BYTES: u64 = 512;

/// Bytes that all files below a folder take: holes that were punched into them take none. Files may come and go
/// meanwhile.
pub fn bytes_below(folder: &Path) -> Result<u64> {
    let failed = |e| Error::io(folder.display().to_string(), "list", e);
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        bytes += match entry.metadata() {
            Ok(about) if about.is_dir() => bytes_below(&entry.path()).unwrap_or_default(),
            Ok(about) if about.is_file() => about.blocks() * BLOCK_BYTES,
            _ => 0,
        };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_takes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("below")).unwrap();
        let file = std::fs::File::create(folder.path().join("below/pages")).unwrap();
        std::io::Write::write_all(&mut &file, &vec![1; 64 << 10]).unwrap();
        file.set_len(64 << 20).unwrap();
        file.sync_all().unwrap();
        assert_eq!(bytes_below(folder.path()).unwrap(), 64 << 10);
    }
}

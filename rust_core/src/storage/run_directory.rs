//! The directory of one run: emptied before and removed after. Files of the user's are never touched: a directory is
//! taken only if it is new, empty, or marked as that of an earlier run.

#![allow(clippy::disallowed_methods)]

use crate::error::{Error, Result};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A subdirectory marks what belongs to a run, because engines look at every file.
const MARKER: &str = ".tunebench-run";

/// A directory that belongs to the run which claimed it.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    is_new: bool,
}

impl RunDirectory {
    /// Creates or empties the directory. Fails if it holds what no run left.
    pub fn claim(path: &Path) -> Result<Self> {
        let shown = || path.display().to_string();
        if path.exists() && !path.is_dir() {
            return Err(Error::invalid("directory", shown(), "a directory"));
        }
        let is_new = !path.exists();
        fs::create_dir_all(path).map_err(|e| Error::io(shown(), "create", e))?;
        let directory = Self { path: path.to_path_buf(), is_new };
        if !directory.marker().is_dir() && directory.entries()?.next().is_some() {
            let accepted = "a new or empty directory, or one that an earlier run left";
            return Err(Error::invalid("directory", format!("{} with other files in it", shown()), accepted));
        }
        directory.remove_files()?;
        match fs::create_dir(directory.marker()) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(Error::io(shown(), "mark", e)),
            _ => Ok(directory),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the files, and the directory too if the run created it.
    pub fn remove(self) -> Result<()> {
        let fail = |e| Error::io(self.path.display().to_string(), "remove", e);
        self.remove_files()?;
        fs::remove_dir(self.marker()).map_err(fail)?;
        if self.is_new { fs::remove_dir(&self.path).map_err(fail) } else { Ok(()) }
    }

    fn marker(&self) -> PathBuf {
        self.path.join(MARKER)
    }

    fn entries(&self) -> Result<impl Iterator<Item = io::Result<fs::DirEntry>>> {
        fs::read_dir(&self.path).map_err(|e| Error::io(self.path.display().to_string(), "list", e))
    }

    fn remove_files(&self) -> Result<()> {
        for entry in self.entries()? {
            let removed = entry
                .and_then(|entry| if entry.file_type()?.is_file() { fs::remove_file(entry.path()) } else { Ok(()) });
            removed.map_err(|e| Error::io(self.path.display().to_string(), "empty", e))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_the_users_is_refused_and_left_alone() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("thesis.tex"), "precious").unwrap();
        let message = RunDirectory::claim(home.path()).unwrap_err().to_string();
        assert!(message.starts_with("directory: ") && message.contains("other files"), "{message}");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
        let file = home.path().join("thesis.tex");
        assert!(matches!(RunDirectory::claim(&file), Err(Error::Invalid { .. })));
    }

    #[test]
    fn what_a_run_left_is_emptied_by_the_next() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("run");
        let kept = RunDirectory::claim(&path).unwrap();
        fs::write(kept.path().join("000004.sst"), "old").unwrap();
        let next = RunDirectory::claim(&path).unwrap();
        assert!(!path.join("000004.sst").exists());
        next.remove().unwrap();
        assert!(path.exists(), "the second run did not create the directory");
    }

    #[test]
    fn a_new_directory_vanishes_with_its_run() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/b");
        let directory = RunDirectory::claim(&path).unwrap();
        fs::write(path.join("000004.sst"), "data").unwrap();
        directory.remove().unwrap();
        assert!(!path.exists() && home.path().join("a").exists());
    }
}

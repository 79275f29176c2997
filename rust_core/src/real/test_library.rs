//! The RocksDB that tests open.

use std::path::PathBuf;

/// The library that `TUNEBENCH_ROCKSDB` names, or a distribution's; `None`, said on stderr, without one.
#[expect(clippy::disallowed_methods, reason = "looks for a library of the system's")]
pub fn library() -> Option<String> {
    if let Ok(named) = std::env::var("TUNEBENCH_ROCKSDB") {
        return Some(named);
    }
    let folders = std::fs::read_dir("/usr/lib").ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let all = folders.chain([PathBuf::from("/usr/lib")]).filter_map(|folder| std::fs::read_dir(folder).ok());
    let names = all.flatten().filter_map(|entry| entry.ok()?.path().to_str().map(str::to_owned));
    let found = names.filter(|name| name.contains("/librocksdb.so")).max();
    if found.is_none() {
        eprintln!("skipped: no librocksdb on this machine, and TUNEBENCH_ROCKSDB names none");
    }
    found
}

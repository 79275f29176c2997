//! Says from which commit the core was built: `0.1.0+1a2b3c4d5e6f`, with `.changed` behind it where the sources
//! differed from that commit. Where no git answers, as from an unpacked archive, it is the version alone.

use std::process::Command;

fn main() {
    // Not the whole history: a commit that leaves the core alone builds nothing anew.
    for path in ["build.rs", "Cargo.toml", "src"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let commit = git(&["log", "-1", "--format=%H", "--", "."]).filter(|commit| !commit.is_empty());
    let build = commit.map_or_else(String::new, |commit| {
        let changed = git(&["status", "--porcelain", "--", "."]).is_none_or(|files| !files.is_empty());
        format!("+{:.12}{}", commit, if changed { ".changed" } else { "" })
    });
    println!("cargo::rustc-env=CORE_VERSION={}{build}", env!("CARGO_PKG_VERSION"));
}

/// What a git command says of this folder; absent where it fails.
fn git(words: &[&str]) -> Option<String> {
    let done = Command::new("git").args(words).output().ok()?;
    let said = String::from_utf8(done.stdout).ok()?;
    done.status.success().then(|| said.trim().to_owned())
}

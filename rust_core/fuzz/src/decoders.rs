//! libFuzzer over the decoders of the core, one of them in each process: `make fuzz-nightly FUZZ_TARGET=redo`, or
//! `FUZZ_TARGET=redo cargo +nightly fuzz run decoders` with cargo-fuzz. The corpus begins with the engines' own files.
#![no_main]

use _core::fuzz::{Target, targets};
use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;
use std::sync::LazyLock;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let mut all = targets();
    let names = all.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    let at = all.iter().position(|target| target.name == name);
    all.swap_remove(at.unwrap_or_else(|| panic!("FUZZ_TARGET: found {name:?}, accepted: one of {names}")))
});

/// Writes what the engines themselves would write, with either first byte, into the corpus, which is the last argument.
// The corpus belongs to libFuzzer, not to an engine.
#[allow(clippy::disallowed_methods)]
fn seed_corpus() {
    let Some(corpus) = std::env::args_os().next_back().map(PathBuf::from).filter(|path| path.is_dir()) else { return };
    for (n, seed) in (TARGET.seeds)().iter().enumerate() {
        for mode in [0, 1] {
            let case = [&[mode], &seed[..]].concat();
            std::fs::write(corpus.join(format!("seed-{n:04}-{mode}")), case).expect("a corpus that can be written");
        }
    }
}

fuzz_target!(init: seed_corpus(), |case: &[u8]| TARGET.check(case));

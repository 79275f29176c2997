//! Decoders against bytes that nobody wrote: every format that is read back from storage, and the spec that Python
//! hands over.
//!
//! A target takes a case of any bytes. Its first byte says whether checksums are put right behind the damage, so that
//! the decoder behind them is reached; the rest is what is decoded, or for whole databases a script of damages to one
//! that the engine itself has made. A decoder answers with what it read or with an error that names file and offset: it
//! never panics, never runs for ever, and never allocates out of proportion to what it was given.
//!
//! The cases come from the seeded loop of `tests` (`make test`, and for longer `make soak`), or from libFuzzer
//! (`rust_core/fuzz`).

mod all;
pub mod allocation;
mod bounded;
mod databases;
pub mod mutate;
mod specs;
mod target;
#[cfg(test)]
mod tests;

pub use all::targets;
pub use databases::{Database, Driver};
pub use target::{Target, expect_corruption, without_checksum};

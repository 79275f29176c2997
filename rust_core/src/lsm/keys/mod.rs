//! What keys are made of and how they are ordered: internal keys, prefixes, many sorted keys at once, and the answer of
//! a place that is asked for one. The ground that every other room of the LSM stands on.

pub mod key;
mod lookup;
mod prefix;
mod sorted_keys;

pub use lookup::Lookup;
pub use prefix::{PrefixExtractor, successor};
pub use sorted_keys::SortedKeys;

//! The B-tree, with the option names and the policies of InnoDB. FORMAT.md says what its files look like and where it
//! differs from InnoDB.
//!
//! The rooms, from the ground up; each knows those before it: `options`, `page` (what a page is made of), `space`
//! (where pages lie), `log` (the redo log and the doublewrite area), `pool` (the buffer pool), `tree`
//! (mini-transactions, undo, the trees and the change buffer), `background` (the page cleaner and its like), `engine`.

mod background;
mod engine;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod log;
mod options;
mod page;
mod pool;
mod space;
#[cfg(test)]
mod tests;
mod tree;

pub use engine::Btree;
pub use options::{MIN_POOL_PAGES, Options};

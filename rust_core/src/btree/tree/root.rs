//! A tree, as far as others name it.

/// One tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tree {
    /// Index number; 0 under the plain layout.
    pub number: u32,
    /// Its root never moves.
    pub root: u32,
}

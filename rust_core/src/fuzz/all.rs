//! Every target that there is.

use super::specs;
use super::target::Target;
use crate::{btree, lsm};

/// All targets.
pub fn targets() -> Vec<Target> {
    [lsm::fuzz::targets(), btree::fuzz::targets(), vec![specs::TARGET]].into_iter().flatten().collect()
}

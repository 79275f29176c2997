//! The B-tree, with the option names and the policies of InnoDB.

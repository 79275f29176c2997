//! The log-structured merge tree, with the option names and the policies of RocksDB.

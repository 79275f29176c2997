//! The products that the engines stand for.

use strum::{EnumString, IntoStaticStr, VariantArray, VariantNames};

/// A product that an engine stands for. A real RocksDB, MyRocks or InnoDB spends more CPU time on a call than this
/// core's engines do: handlers, row formats, locks, snapshots, statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Product {
    /// The library by itself.
    RocksDb,
    /// RocksDB in a SQL server.
    MyRocks,
    /// InnoDB, which is only to be had in a SQL server.
    InnoDb,
}

impl Product {
    /// Its name in a machine's `calls`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

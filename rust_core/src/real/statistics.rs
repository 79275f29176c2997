//! RocksDB's tickers, out of the text of its statistics. Their numbers change from version to version, their names do
//! not.

use std::collections::HashMap;

/// Tickers by their names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tickers(HashMap<String, u64>);

impl Tickers {
    /// Reads lines `rocksdb.block.cache.miss COUNT : 7`; histograms are left out.
    pub fn parse(text: &str) -> Self {
        let ticker = |line: &str| {
            let (name, count) = line.split_once(" COUNT : ")?;
            Some((name.strip_prefix("rocksdb.")?.to_owned(), count.trim().parse().ok()?))
        };
        Self(text.lines().filter_map(ticker).collect())
    }

    /// A ticker without its prefix `rocksdb.`; 0 if this version has none of that name.
    pub fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickers_are_read_and_histograms_are_not() {
        let text = "rocksdb.block.cache.miss COUNT : 7\nrocksdb.wal.bytes COUNT : 123456\n\
                    rocksdb.db.get.micros P50 : 1.5 P95 : 2.9 P99 : 3 P100 : 9 COUNT : 12 SUM : 20\n";
        let tickers = Tickers::parse(text);
        assert_eq!((tickers.get("block.cache.miss"), tickers.get("wal.bytes")), (7, 123_456));
        assert_eq!((tickers.get("db.get.micros"), tickers.get("stall.micros")), (0, 0));
    }
}

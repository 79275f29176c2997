//! How an engine looks from within at one moment: its levels and memtables, or its pages and its log.

use super::ratio::ratio;
use std::collections::BTreeMap;

/// Bytes of the memtables, whose whole is the most that was seen.
pub const MEMTABLE: &str = "memtable_bytes";

/// Average share of the capacity of leaves that is used.
const LEAF_FILL: &str = "leaf_fill";

/// As a report shows it over time: bytes of levels and memtables; fill of leaves, and shares of the pool that is dirty
/// and of the log that waits for a checkpoint.
pub fn shape(details: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let own = [MEMTABLE, LEAF_FILL].into_iter().filter_map(|name| Some((name.to_owned(), *details.get(name)?)));
    let levels = levels(details).map(|(name, bytes)| (name.clone(), *bytes));
    own.chain(levels).chain(of_pages(details)).collect()
}

/// As a run is judged by it: in shares of a whole, but for the bytes in memtables.
pub fn shares(details: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let level_bytes: f64 = levels(details).map(|(_, bytes)| bytes).sum();
    let of_levels = |bytes: f64| ratio(bytes, level_bytes);
    let pending = details.get("compaction_pending_bytes").and_then(|bytes| of_levels(*bytes));
    let named = [("compaction_pending_share", pending), (MEMTABLE, details.get(MEMTABLE).copied())];
    let named = named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let levels =
        levels(details).filter_map(|(name, bytes)| Some((name.replace("_bytes", "_share"), of_levels(*bytes)?)));
    named.chain(levels).chain(of_pages(details)).collect()
}

fn levels(details: &BTreeMap<String, f64>) -> impl Iterator<Item = (&String, &f64)> {
    details.iter().filter(|(name, _)| name.starts_with("level_") && name.ends_with("_bytes"))
}

fn of_pages(details: &BTreeMap<String, f64>) -> impl Iterator<Item = (String, f64)> {
    let share = |part: &str, whole: &str| ratio(*details.get(part)?, *details.get(whole)?);
    let shares = [
        ("dirty_pages_share", share("dirty_pages", "pool_pages")),
        ("checkpoint_age_share", share("checkpoint_age", "checkpoint_max_age")),
    ];
    shares.into_iter().filter_map(|(name, share)| Some((name.to_owned(), share?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn details(numbers: &[(&str, f64)]) -> BTreeMap<String, f64> {
        numbers.iter().map(|(name, value)| (name.to_string(), *value)).collect()
    }

    #[test]
    fn an_lsm_shows_its_levels_in_bytes_and_is_judged_by_their_shares() {
        let seen = details(&[("level_1_bytes", 30.0), ("level_2_bytes", 90.0), (MEMTABLE, 7.0), ("flushes", 3.0)]);
        assert_eq!(shape(&seen), details(&[("level_1_bytes", 30.0), ("level_2_bytes", 90.0), (MEMTABLE, 7.0)]));
        assert_eq!(shares(&seen), details(&[("level_1_share", 0.25), ("level_2_share", 0.75), (MEMTABLE, 7.0)]));
    }

    #[test]
    fn a_b_tree_shows_the_fill_of_its_leaves_and_what_it_has_still_to_write() {
        let seen = details(&[
            ("leaf_fill", 0.7),
            ("dirty_pages", 5.0),
            ("pool_pages", 20.0),
            ("checkpoint_age", 6.0),
            ("checkpoint_max_age", 10.0),
        ]);
        let shown = [("leaf_fill", 0.7), ("dirty_pages_share", 0.25), ("checkpoint_age_share", 0.6)];
        assert_eq!(shape(&seen), details(&shown));
        assert_eq!(shares(&seen), details(&shown[1..]));
    }
}

//! How many keys a range has.

use super::Driven;
use crate::engine::Engine;

const KEYS: u32 = 20_000;
const POOL: &str = "page_size=4096 buffer_pool_size=524288 redo_log_capacity=4194304 read_ahead_threshold=0";

fn key(n: u32) -> Vec<u8> {
    format!("key{n:08}").into_bytes()
}

#[test]
fn short_ranges_are_counted_and_long_ones_cost_few_reads() {
    let (_, mut driven) = Driven::fresh(POOL);
    for n in 0..KEYS {
        driven.put(&key(n), &[7; 40]).unwrap();
    }
    let mut count = |from: u32, to: u32| {
        let before = driven.task.blocks_asked;
        let keys = driven.engine.count_in_range(&mut driven.task, &key(from), &key(to)).unwrap();
        (keys, driven.task.blocks_asked - before)
    };
    for (from, to) in [(0, 0), (0, 1), (100, 101), (100, 400), (3000, 3250), (KEYS - 50, KEYS), (KEYS, KEYS + 9)] {
        assert_eq!(count(from, to).0, Some(u64::from(to.min(KEYS).saturating_sub(from.min(KEYS)))), "{from}..{to}");
    }
    assert_eq!(count(9, 3).0, Some(0));
    // A descent to each end is two, and ten leaves from the left end are nine more than that.
    let (keys, both_ends) = count(4000, 4001);
    assert_eq!(keys, Some(1));
    for to in [6000, 9000, KEYS] {
        assert_eq!(count(4000, to), (None, both_ends / 2 * 11), "{to}");
    }
}

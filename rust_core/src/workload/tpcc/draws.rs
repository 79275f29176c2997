//! Random choices of sysbench-tpcc: who, where, which item, and texts of few different letters.

use super::Parameters;
use super::schema::{DISTRICTS, DistrictId, WarehouseId};
use crate::random::{Random, Stream};

/// Customers of a district that share a last name, on average.
const CUSTOMERS_PER_NAME: u64 = 3;
/// Last names that three syllables can make.
const MOST_NAMES: u64 = 1000;
const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// How much of everything there is.
#[derive(Debug, Clone, Copy)]
pub struct Cardinalities {
    /// Table sets.
    pub sets: u32,
    /// Warehouses of a table set.
    pub warehouses: u16,
    /// Items that a warehouse has in stock.
    pub items: u32,
    /// Rows of the items of a table set. Where they are fewer, several items share one.
    pub item_rows: u32,
    /// Customers of a district, and orders that it is loaded with.
    pub customers: u32,
    /// The constants C of customers, items and names; without them, each draw has one of its own.
    constants: Option<[u64; 3]>,
}

/// The masks A of customers, items and names.
const MASKS: [u64; 3] = [1023, 8191, 255];
const CUSTOMER: usize = 0;
const ITEM: usize = 1;
const NAME: usize = 2;

impl Cardinalities {
    /// As the parameters say. The script means to draw the constants of NURand once, but asks a flag that Lua takes for
    /// true even at 0 and so draws them each time, which smooths nearly all of the skew away.
    pub fn new(parameters: &Parameters, seed: u64) -> Self {
        let mut random = Random::derive(seed, Stream::Shared(0));
        let constants = (parameters.nurand == "specified").then(|| MASKS.map(|mask| random.below(mask + 1)));
        Self {
            sets: parameters.table_sets as u32,
            warehouses: parameters.warehouses as u16,
            items: parameters.items as u32,
            item_rows: parameters.scale.shrunk_count(parameters.items) as u32,
            customers: parameters.customers_per_district as u32,
            constants,
        }
    }

    /// Last names: with fewer customers fewer, so that a name still finds three of them.
    pub fn names(&self) -> u64 {
        (u64::from(self.customers) / CUSTOMERS_PER_NAME).clamp(1, MOST_NAMES)
    }

    /// The row that describes an item; none for number 0, which no item has.
    pub fn item_row(&self, item: u32) -> u32 {
        item.checked_sub(1).map_or(0, |index| index % self.item_rows + 1)
    }

    /// The last loaded order that is delivered; the 30% behind it are not.
    pub fn last_delivered(&self) -> u32 {
        (u64::from(self.customers) * 7 / 10) as u32
    }

    /// A warehouse.
    pub fn draw_warehouse(&self, random: &mut Random) -> WarehouseId {
        let set = random.below(self.sets.into()) as u32;
        WarehouseId { set, warehouse: between(random, 1, self.warehouses.into()) as u16 }
    }

    /// A district.
    pub fn draw_district(&self, random: &mut Random) -> DistrictId {
        let home = self.draw_warehouse(random);
        DistrictId { home, district: draw_district(random) }
    }

    /// The number of a customer.
    pub fn draw_customer(&self, random: &mut Random) -> u32 {
        self.nurand(random, CUSTOMER, 1, self.customers.into()) as u32
    }

    /// An item.
    pub fn draw_item(&self, random: &mut Random) -> u32 {
        self.nurand(random, ITEM, 1, self.items.into()) as u32
    }

    /// A last name.
    pub fn draw_last_name(&self, random: &mut Random) -> Vec<u8> {
        last_name(self.nurand(random, NAME, 0, self.names() - 1))
    }

    /// TPC-C's non-uniform draw from `low` to `high`, both included.
    fn nurand(&self, random: &mut Random, what: usize, low: u64, high: u64) -> u64 {
        let mask = MASKS[what];
        let c = self.constants.map_or_else(|| random.below(mask + 1), |constants| constants[what]);
        ((random.below(mask + 1) | between(random, low, high)) + c) % (high - low + 1) + low
    }
}

/// The number of a district.
pub fn draw_district(random: &mut Random) -> u8 {
    between(random, 1, DISTRICTS.into()) as u8
}

/// Uniform from `low` to `high`, both included.
pub fn between(random: &mut Random, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

/// The last name with this number below 1000.
pub fn last_name(number: u64) -> Vec<u8> {
    [number / 100, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit as usize]).concat().into_bytes()
}

/// `sb_rand_str`: a letter for each `@`, a digit for each `#`.
pub fn fill(random: &mut Random, pattern: &str) -> Vec<u8> {
    let character = |byte| match byte {
        b'@' => letter(random),
        b'#' => b'0' + random.below(10) as u8,
        other => other,
    };
    pattern.bytes().map(character).collect()
}

fn letter(random: &mut Random) -> u8 {
    b'a' + random.below(26) as u8
}

/// One letter, repeated: all long texts of sysbench-tpcc are of this kind, and compress as no real text does.
pub fn repeated(random: &mut Random, bytes: u64) -> Vec<u8> {
    vec![letter(random); bytes as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::Scale;

    fn cardinalities(nurand: &str, items: u64) -> Cardinalities {
        Cardinalities::new(&Parameters { nurand: nurand.into(), items, ..Parameters::default() }, 1)
    }

    #[test]
    fn draws_keep_to_their_range_and_reach_all_of_it() {
        for nurand in ["effective", "specified"] {
            for items in [1, 50, 1000] {
                let (cardinalities, mut random) = (cardinalities(nurand, items), Random::from_seed(1));
                let mut seen = vec![false; items as usize + 1];
                (0..200_000).for_each(|_| seen[cardinalities.draw_item(&mut random) as usize] = true);
                assert!(!seen[0] && seen[1..].iter().all(|&seen| seen), "{nurand} {items}");
            }
        }
    }

    #[test]
    fn a_scaled_trial_has_fewer_rows_of_items_and_finds_one_for_each() {
        let parameters = Parameters { items: 100, scale: Scale::standing_for(16.0), ..Parameters::default() };
        let cardinalities = Cardinalities::new(&parameters, 1);
        let rows: std::collections::BTreeSet<u32> =
            (1..=cardinalities.items).map(|item| cardinalities.item_row(item)).collect();
        assert_eq!((cardinalities.items, rows.first(), rows.last(), rows.len()), (100, Some(&1), Some(&7), 7));
        assert_eq!(cardinalities.item_row(0), 0);
        assert_eq!(self::cardinalities("effective", 100).item_row(100), 100);
    }

    #[test]
    fn a_constant_of_its_own_for_each_draw_takes_the_skew_away() {
        for (nurand, expected) in [("effective", 0.02), ("specified", 0.31)] {
            let (cardinalities, mut random) = (cardinalities(nurand, 100_000), Random::from_seed(1));
            let mut hits = vec![0_u32; 100_001];
            (0..1_000_000).for_each(|_| hits[cardinalities.draw_item(&mut random) as usize] += 1);
            hits.sort_unstable_by(|x, y| y.cmp(x));
            let hottest_percent = f64::from(hits[..1000].iter().sum::<u32>()) / 1e6;
            assert!((hottest_percent - expected).abs() < 0.01, "{nurand}: {hottest_percent}");
        }
    }

    #[test]
    fn last_names_are_those_of_the_specification() {
        assert_eq!(last_name(0), b"BARBARBAR");
        assert_eq!(last_name(371), b"PRICALLYOUGHT");
        assert_eq!(last_name(999), b"EINGEINGEING");
    }

    #[test]
    fn patterns_keep_their_plain_characters() {
        let text = fill(&mut Random::from_seed(1), "zip-#####@@");
        assert!(text.starts_with(b"zip-") && text[4..9].iter().all(u8::is_ascii_digit));
        assert!(text[9..].iter().all(u8::is_ascii_lowercase) && text.len() == 11);
    }
}

//! The flash translation layer: a page map over superblocks. Writes go to an open superblock; when few are free,
//! garbage collection moves the valid pages of a victim and erases it. A trim, or an overwrite, makes a page invalid.

use serde::{Deserialize, Serialize};

/// How garbage collection picks its victim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Victim {
    /// The superblock with the fewest valid pages.
    Greedy,
    /// The best of (1 - u) / 2u x age, u being the valid share (Rosenblum and Ousterhout 1992).
    CostBenefit,
}

/// Where garbage collection writes what it moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MovedPages {
    /// To superblocks of their own: pages that have lived long stay together.
    Apart,
    /// Behind the pages that the host writes, as in a log with one end.
    Together,
}

/// No page.
const NONE: u32 = u32::MAX;

/// Superblocks kept free for garbage collection to write into.
const RESERVE: usize = 2;

#[derive(Debug, Clone)]
struct Superblock {
    valid: u32,
    written: u32,
    closed_at: u64,
}

/// A page-mapped translation layer. Addresses and lengths are in pages.
#[derive(Clone)]
pub struct Translation {
    pages_per_superblock: u32,
    victim: Victim,
    moved_pages_go: MovedPages,
    /// Logical page to physical page.
    map: Vec<u32>,
    /// Physical page to logical page.
    owner: Vec<u32>,
    superblocks: Vec<Superblock>,
    free: Vec<u32>,
    open_host: u32,
    open_gc: u32,
    /// Superblocks by number of valid pages, for the greedy choice: `buckets[valid]` holds closed superblocks.
    buckets: Vec<Vec<u32>>,
    place: Vec<u32>,
    /// Pages programmed for the host.
    pub host_pages: u64,
    /// Pages moved by garbage collection.
    pub moved_pages: u64,
    /// Erased superblocks.
    pub erases: u64,
}

impl Translation {
    /// A layer of `logical_pages` that the host may address, over `physical_pages` rounded down to whole superblocks.
    pub fn new(
        logical_pages: u32,
        physical_pages: u32,
        pages_per_superblock: u32,
        (victim, moved_pages_go): (Victim, MovedPages),
    ) -> Option<Self> {
        let count = physical_pages / pages_per_superblock;
        // Below this, garbage collection could find nothing to reclaim.
        if u64::from(count.saturating_sub(RESERVE as u32 + 2)) * u64::from(pages_per_superblock)
            < u64::from(logical_pages)
        {
            return None;
        }
        let mut free: Vec<u32> = (0..count).rev().collect();
        let (open_host, open_gc) = (free.pop()?, free.pop()?);
        Some(Self {
            pages_per_superblock,
            victim,
            moved_pages_go,
            map: vec![NONE; logical_pages as usize],
            owner: vec![NONE; (count * pages_per_superblock) as usize],
            superblocks: vec![Superblock { valid: 0, written: 0, closed_at: 0 }; count as usize],
            free,
            open_host,
            open_gc,
            buckets: vec![Vec::new(); pages_per_superblock as usize + 1],
            place: vec![NONE; count as usize],
            host_pages: 0,
            moved_pages: 0,
            erases: 0,
        })
    }

    /// Pages that the host may address.
    pub fn logical_pages(&self) -> u32 {
        self.map.len() as u32
    }

    /// Writes one logical page.
    pub fn write(&mut self, page: u32) {
        self.invalidate(page);
        while self.free.len() < RESERVE {
            self.collect();
        }
        self.host_pages += 1;
        self.open_host = self.append(self.open_host, page);
    }

    /// A logical page holds no data any more.
    pub fn trim(&mut self, page: u32) {
        self.invalidate(page);
        self.map[page as usize] = NONE;
    }

    fn invalidate(&mut self, page: u32) {
        let old = self.map[page as usize];
        if old == NONE {
            return;
        }
        let block = old / self.pages_per_superblock;
        self.owner[old as usize] = NONE;
        let listed = self.place[block as usize] != NONE;
        if listed {
            self.unlist(block);
        }
        self.superblocks[block as usize].valid -= 1;
        if listed {
            self.list(block);
        }
    }

    /// Appends to an open superblock and returns the one that is open then.
    fn append(&mut self, block: u32, page: u32) -> u32 {
        let state = &mut self.superblocks[block as usize];
        let physical = block * self.pages_per_superblock + state.written;
        state.written += 1;
        state.valid += 1;
        let full = state.written == self.pages_per_superblock;
        self.map[page as usize] = physical;
        self.owner[physical as usize] = page;
        if !full {
            return block;
        }
        self.superblocks[block as usize].closed_at = self.host_pages;
        self.list(block);
        self.free.pop().unwrap_or(block)
    }

    fn list(&mut self, block: u32) {
        let bucket = &mut self.buckets[self.superblocks[block as usize].valid as usize];
        self.place[block as usize] = bucket.len() as u32;
        bucket.push(block);
    }

    fn unlist(&mut self, block: u32) {
        let bucket = &mut self.buckets[self.superblocks[block as usize].valid as usize];
        let place = self.place[block as usize] as usize;
        bucket.swap_remove(place);
        if let Some(&moved) = bucket.get(place) {
            self.place[moved as usize] = place as u32;
        }
        self.place[block as usize] = NONE;
    }

    fn pick(&self) -> u32 {
        let closed = || self.buckets.iter().flatten().copied();
        match self.victim {
            Victim::Greedy => closed().next().unwrap_or(NONE),
            Victim::CostBenefit => {
                let benefit = |block: u32| {
                    let state = &self.superblocks[block as usize];
                    let used = f64::from(state.valid) / f64::from(self.pages_per_superblock);
                    let age = (self.host_pages - state.closed_at) as f64;
                    (1.0 - used) / (2.0 * used.max(1e-9)) * age
                };
                closed().max_by(|a, b| benefit(*a).total_cmp(&benefit(*b))).unwrap_or(NONE)
            }
        }
    }

    fn collect(&mut self) {
        let block = self.pick();
        assert!(block != NONE, "the translation layer has no closed superblock");
        self.unlist(block);
        let start = block * self.pages_per_superblock;
        for physical in start..start + self.pages_per_superblock {
            let page = self.owner[physical as usize];
            if page != NONE {
                self.owner[physical as usize] = NONE;
                self.moved_pages += 1;
                match self.moved_pages_go {
                    MovedPages::Apart => self.open_gc = self.append(self.open_gc, page),
                    MovedPages::Together => self.open_host = self.append(self.open_host, page),
                }
            }
        }
        self.superblocks[block as usize] = Superblock { valid: 0, written: 0, closed_at: 0 };
        self.erases += 1;
        self.free.insert(0, block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// The principal branch of the Lambert W function for -1/e < x < 0, by Newton's method.
    fn lambert_w(x: f64) -> f64 {
        let mut w = -0.5f64;
        for _ in 0..100 {
            w -= (w * libm::exp(w) - x) / (libm::exp(w) * (w + 1.0));
        }
        w
    }

    fn uniform_waf(over_provisioning: f64, moved: MovedPages) -> f64 {
        let (logical, superblock) = (300_000u32, 512);
        let physical = (f64::from(logical) * (1.0 + over_provisioning)) as u32 + 3 * superblock;
        let mut layer = Translation::new(logical, physical, superblock, (Victim::Greedy, moved)).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        (0..logical).for_each(|page| layer.write(page));
        (0..logical * 8).for_each(|_| layer.write(random.random_range(0..logical)));
        let (host, moved) = (layer.host_pages, layer.moved_pages);
        (0..logical * 4).for_each(|_| layer.write(random.random_range(0..logical)));
        1.0 + (layer.moved_pages - moved) as f64 / (layer.host_pages - host) as f64
    }

    /// Xiang and Kurkoski, arXiv 1110.4245: WAF = a / (a + W0(-a e^-a)), a = 1 + over-provisioning.
    #[test]
    fn uniform_random_writes_match_the_closed_form() {
        for over_provisioning in [0.07, 0.15, 0.30, 0.50] {
            let a: f64 = 1.0 + over_provisioning;
            let expected = a / (a + lambert_w(-a * libm::exp(-a)));
            for moved in [MovedPages::Apart, MovedPages::Together] {
                let found = uniform_waf(over_provisioning, moved);
                assert!(
                    (found / expected - 1.0).abs() < 0.04,
                    "{over_provisioning} {moved:?}: {found}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn whole_superblocks_that_die_together_cost_nothing() {
        let mut layer = Translation::new(10_000, 13_000, 100, (Victim::Greedy, MovedPages::Apart)).unwrap();
        for round in 0..50 {
            let start = round % 9 * 1000;
            (start..start + 1000).for_each(|page| layer.trim(page));
            (start..start + 1000).for_each(|page| layer.write(page));
        }
        assert_eq!(layer.moved_pages, 0);
    }

    /// Write amplification once `writes` have filled the layer a few times over.
    fn steady_waf(policy: (Victim, MovedPages), mut next: impl FnMut(&mut Translation)) -> f64 {
        let logical = 20_000;
        let mut layer = Translation::new(logical, logical * 6 / 5, 128, policy).unwrap();
        (0..logical).for_each(|page| layer.write(page));
        (0..logical * 5).for_each(|_| next(&mut layer));
        let (host, moved) = (layer.host_pages, layer.moved_pages);
        (0..logical * 5).for_each(|_| next(&mut layer));
        1.0 + (layer.moved_pages - moved) as f64 / (layer.host_pages - host) as f64
    }

    #[test]
    fn cost_benefit_moves_less_than_greedy_where_few_pages_are_hot() {
        let skewed = |victim: Victim, moved: MovedPages| {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
            steady_waf((victim, moved), |layer| {
                let hot = random.random_range(0..10) > 0;
                let page = if hot { random.random_range(0..2000) } else { random.random_range(2000..20_000) };
                layer.write(page);
            })
        };
        let greedy = skewed(Victim::Greedy, MovedPages::Apart);
        let cost_benefit = skewed(Victim::CostBenefit, MovedPages::Apart);
        assert!(cost_benefit < 0.9 * greedy, "{cost_benefit} against {greedy}");
        let mixed = skewed(Victim::Greedy, MovedPages::Together);
        assert!(mixed > 1.05 * greedy, "{mixed} where cold pages are mixed with hot ones, {greedy} where they are not");
    }

    #[test]
    fn pages_that_are_trimmed_are_not_moved() {
        let waf = |trims: bool| {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
            let mut dead = 0;
            steady_waf((Victim::Greedy, MovedPages::Apart), |layer| {
                // A fifth of the pages is dead at any time; the layer knows it only by a trim.
                dead = (dead + 1) % 4000;
                if trims {
                    layer.trim(16_000 + dead);
                }
                layer.write(random.random_range(0..16_000));
            })
        };
        let (kept, trimmed) = (waf(false), waf(true));
        assert!(trimmed < 0.9 * kept, "{trimmed} against {kept}");
    }

    #[test]
    fn every_page_is_where_the_map_says() {
        let policies = [
            (Victim::Greedy, MovedPages::Apart),
            (Victim::CostBenefit, MovedPages::Apart),
            (Victim::Greedy, MovedPages::Together),
        ];
        for policy in policies {
            let mut layer = Translation::new(1000, 1600, 50, policy).unwrap();
            let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
            for _ in 0..20_000 {
                let page = random.random_range(0..1000);
                if random.random_range(0..4) == 0 { layer.trim(page) } else { layer.write(page) }
            }
            let mapped = layer.map.iter().filter(|physical| **physical != NONE).count();
            let valid: u32 = layer.superblocks.iter().map(|block| block.valid).sum();
            assert_eq!(mapped as u32, valid);
            for (page, physical) in layer.map.iter().enumerate().filter(|(_, physical)| **physical != NONE) {
                assert_eq!(layer.owner[*physical as usize], page as u32);
            }
        }
    }
}

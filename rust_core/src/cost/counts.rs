//! Counted work.

use super::Work;

/// Units of each kind of work.
#[derive(Debug, Clone)]
pub struct WorkCounts {
    units: [u64; Work::COUNT],
    /// One bit for each kind that was counted: most pieces of work are of a few kinds.
    kinds: u64,
}

const _: () = assert!(Work::COUNT < u64::BITS as usize, "one bit for each kind");

impl Default for WorkCounts {
    fn default() -> Self {
        Self { units: [0; Work::COUNT], kinds: 0 }
    }
}

impl PartialEq for WorkCounts {
    fn eq(&self, other: &Self) -> bool {
        self.units == other.units
    }
}

impl Eq for WorkCounts {}

impl WorkCounts {
    /// Counts units of one kind.
    #[inline]
    pub fn count(&mut self, work: Work, units: u64) {
        self.units[work as usize] += units;
        self.kinds |= 1 << work as u32;
    }

    /// Positions and units of the kinds that were counted, in the order of [`Work::ALL`].
    #[inline]
    pub fn counted(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let mut kinds = self.kinds;
        std::iter::from_fn(move || {
            let kind = kinds.trailing_zeros() as usize;
            kinds &= kinds.wrapping_sub(1);
            self.units.get(kind).map(|units| (kind, *units))
        })
    }

    /// Whether there is nothing to do.
    pub fn is_zero(&self) -> bool {
        self.counted().all(|(_, units)| units == 0)
    }

    /// Forgets all counts.
    #[inline]
    pub fn clear(&mut self) {
        let mut kinds = std::mem::take(&mut self.kinds);
        while kinds != 0 {
            self.units[kinds.trailing_zeros() as usize] = 0;
            kinds &= kinds - 1;
        }
    }

    /// Adds the counts of `other`.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        for (kind, units) in other.counted() {
            self.units[kind] += units;
        }
        self.kinds |= other.kinds;
    }

    /// One of `parts` equal parts, rounded down.
    #[must_use]
    pub fn part(&self, parts: u64) -> Self {
        let mut part = Self { units: [0; Work::COUNT], kinds: self.kinds };
        for (kind, units) in self.counted() {
            part.units[kind] = units / parts;
        }
        part
    }

    /// Takes the counts of `other` away, which are part of these.
    pub fn subtract(&mut self, other: &Self) {
        for (kind, units) in other.counted() {
            self.units[kind] -= units;
        }
    }

    /// What was counted since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self { units: std::array::from_fn(|n| self.units[n] - before.units[n]), kinds: self.kinds }
    }

    /// Units of one kind.
    pub fn get(&self, work: Work) -> u64 {
        self.units[work as usize]
    }

    /// The kinds that occurred, by name.
    pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        Work::ALL.into_iter().map(|work| (work.name(), self.get(work))).filter(|(_, units)| *units > 0)
    }
}

/// CPU time, and the work that was done in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuUse {
    /// Nanoseconds of a core.
    pub ns: u64,
    /// Those of them that the clients of a server took, which are no part of it.
    pub clients_ns: u64,
    /// What was counted meanwhile.
    pub work: WorkCounts,
}

impl CpuUse {
    /// What the clients of a server did not take.
    pub fn own_ns(&self) -> u64 {
        self.ns.saturating_sub(self.clients_ns)
    }

    /// Adds another use.
    pub fn add(&mut self, other: &Self) {
        self.ns += other.ns;
        self.clients_ns += other.clients_ns;
        self.work.add(&other.work);
    }

    /// What was used since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            ns: self.ns - before.ns,
            clients_ns: self.clients_ns - before.clients_ns,
            work: self.work.since(&before.work),
        }
    }
}

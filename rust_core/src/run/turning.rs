//! How a writer of RocksDB waits for its turn (`WriteThread::AwaitState`): it turns on its core for some microseconds,
//! which others may need meanwhile, offers the core to them for a while if that has paid off lately, and sleeps.

use crate::task::wall::WallClock;
use std::hint::{black_box, spin_loop};

/// How many times a writer turns before it offers its core.
const TURNS: u32 = 200;

/// How long a writer turns on this machine before it offers its core, in nanoseconds: the shortest of many times, since
/// the others were interrupted. Takes a few milliseconds.
pub fn measure_turning() -> u64 {
    let clock = WallClock::default();
    let turn_all = |_| {
        let began_ns = clock.now_ns();
        (0..black_box(TURNS)).for_each(|_| spin_loop());
        clock.now_ns() - began_ns
    };
    (0..1000).map(turn_all).min().unwrap_or_default()
}

/// How often a writer that turns is taken to look whether its turn has come.
const LOOK_NS: u64 = 500;

/// `sched_yield` on a core that nobody else waits for. Measured: 250 ns.
const YIELD_NS: u64 = 250;

/// A core that comes back later than this was another's meanwhile (`write_thread_slow_yield_usec`, default).
const SLOW_YIELD_NS: u64 = 3_000;

/// After so many of them the writer sleeps (`kMaxSlowYieldsWhileSpinning`).
const MOST_SLOW_YIELDS: u32 = 3;

/// For how long at most it offers its core (`write_thread_max_yield_usec`, default).
const MOST_YIELDING_NS: u64 = 100_000;

/// One wait of so many offers the core whatever came of it before. RocksDB draws which ones.
const SAMPLED: u64 = 256;

/// What the outcome of one wait weighs, and how slowly it is forgotten.
const WEIGHT: i32 = 131_072;
const DECAY: i32 = 1024;

/// What a writer does next whose turn has not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// It keeps its core for a while.
    Core {
        /// For so many nanoseconds.
        ns: u64,
        /// Whether it offers the core to whoever waits for that.
        offers: bool,
    },
    /// It sleeps until it is woken.
    Sleep,
}

/// The wait of one writer.
#[derive(Debug, Default)]
pub struct Wait {
    /// What it does next, when its core is its own again.
    pub interrupted: Option<Pause>,
    turned_ns: u64,
    yields: Option<Yields>,
}

#[derive(Debug, Clone, Copy)]
struct Yields {
    began_ns: u64,
    last_ns: u64,
    slow: u32,
    is_sampled: bool,
}

/// Whether offering the core has paid off lately (`AdaptationContext`).
#[derive(Debug, Default)]
pub struct Adaptation {
    value: i32,
    waits: u64,
}

impl Adaptation {
    /// What a writer does at `now_ns`, who turns for `turning_ns`, after what it did so far.
    pub fn next(&mut self, wait: &mut Wait, now_ns: u64, turning_ns: u64) -> Pause {
        if wait.turned_ns < turning_ns {
            let piece_ns = LOOK_NS.min(turning_ns - wait.turned_ns);
            wait.turned_ns += piece_ns;
            return Pause::Core { ns: piece_ns, offers: false };
        }
        let Some(yields) = &mut wait.yields else {
            self.waits += 1;
            let is_sampled = self.waits.is_multiple_of(SAMPLED);
            if !is_sampled && self.value < 0 {
                return Pause::Sleep;
            }
            wait.yields = Some(Yields { began_ns: now_ns, last_ns: now_ns, slow: 0, is_sampled });
            return Pause::Core { ns: YIELD_NS, offers: true };
        };
        yields.slow += u32::from(now_ns - yields.last_ns >= SLOW_YIELD_NS);
        yields.last_ns = now_ns;
        let gives_up = yields.slow >= MOST_SLOW_YIELDS;
        if gives_up || now_ns - yields.began_ns > MOST_YIELDING_NS {
            if gives_up || yields.is_sampled {
                self.learn(-1);
            }
            return Pause::Sleep;
        }
        Pause::Core { ns: YIELD_NS, offers: true }
    }

    /// The turn of a writer has come while it was awake.
    pub fn came(&mut self, wait: &Wait) {
        if wait.yields.is_some_and(|yields| yields.is_sampled) {
            self.learn(1);
        }
    }

    fn learn(&mut self, outcome: i32) {
        self.value += outcome * WEIGHT - self.value / DECAY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a writer does whose core comes back after `away_ns` each time, until it sleeps or `turn_ns` have passed.
    fn wait(adaptation: &mut Adaptation, away_ns: u64, turn_ns: u64) -> (u64, bool) {
        let (mut wait, mut now_ns) = (Wait::default(), 0);
        while now_ns < turn_ns {
            match adaptation.next(&mut wait, now_ns, 3_000) {
                Pause::Core { ns, .. } => now_ns += ns + if wait.yields.is_some() { away_ns } else { 0 },
                Pause::Sleep => return (now_ns, true),
            }
        }
        adaptation.came(&wait);
        (now_ns, false)
    }

    #[test]
    fn a_writer_turns_then_yields_and_sleeps_when_its_core_is_wanted() {
        let mut adaptation = Adaptation::default();
        assert_eq!(wait(&mut adaptation, 0, 1_200), (1_500, false), "it looks every 500 ns");
        assert_eq!(wait(&mut adaptation, 0, 20_000), (20_000, false), "nobody else wants the core");
        assert_eq!(wait(&mut adaptation, 5_000, 50_000), (3_000 + 3 * 5_250, true), "three slow yields");
        assert_eq!(wait(&mut adaptation, 0, 20_000), (3_000, true), "which is remembered");
    }

    #[test]
    fn yields_are_tried_again_from_time_to_time() {
        let mut adaptation = Adaptation::default();
        wait(&mut adaptation, 5_000, 50_000);
        let slept = (0..2 * SAMPLED).filter(|_| wait(&mut adaptation, 0, 10_000).1).count() as u64;
        assert!((SAMPLED - 2..SAMPLED).contains(&slept), "{slept}: until one that was tried paid off");
    }

    #[test]
    fn turning_takes_microseconds_on_any_machine() {
        assert!((20..1_000_000).contains(&measure_turning()));
    }

    #[test]
    fn nobody_yields_for_longer_than_the_most() {
        let (slept_ns, sleeps) = wait(&mut Adaptation::default(), 0, 1_000_000);
        assert!(sleeps && (103_000..104_000).contains(&slept_ns), "{slept_ns}");
    }
}

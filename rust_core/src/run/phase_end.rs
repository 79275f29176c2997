//! When a simulated phase ends: by its limits, and where it is judged, with a whole cycle of the engine's work. Level 0
//! fills and is emptied again; a phase that begins and ends when it was just merged sees the mean of its reads and
//! writes, not a piece of a sawtooth.

use super::phase::{Limits, Watch};
use crate::engine::Engine;
use std::cell::Cell;

/// A phase goes on for at most this part of its length until a cycle ends.
const LONGEST_REST: f64 = 0.25;

/// The end of a phase that goes on.
pub struct PhaseEnd {
    /// Operations left, where they are limited; below 0 while a cycle is waited for.
    left: Cell<Option<i64>>,
    least_left: i64,
    planned_ns: u64,
    latest_ns: u64,
    /// Cycles that had ended when the phase began; `None` if nobody asks for whole ones.
    began: Option<u64>,
    /// Cycles that had ended when a limit was reached.
    reached: Cell<Option<u64>>,
}

impl PhaseEnd {
    /// Of a phase that begins now.
    pub fn new(engine: &dyn Engine, limits: &Limits, now_ns: u64) -> Self {
        let is_judged = matches!(limits.watch, Watch::Judged | Watch::UntilWarmFor(_));
        let began = if is_judged { engine.cycles() } else { None };
        let rest = if began.is_some() { LONGEST_REST } else { 0.0 };
        let after = |seconds: f64| now_ns + (seconds * 1e9) as u64;
        Self {
            left: Cell::new(limits.operations.map(|operations| operations as i64)),
            least_left: limits.operations.map_or(0, |operations| -((operations as f64 * rest) as i64)),
            planned_ns: limits.seconds.map_or(u64::MAX, after),
            latest_ns: limits.seconds.map_or(u64::MAX, |seconds| after(seconds * (1.0 + rest))),
            began,
            reached: Cell::new(None),
        }
    }

    /// The time at which the phase ends whatever goes on.
    pub fn latest_ns(&self) -> u64 {
        self.latest_ns
    }

    /// Whether the phase is over for a client that has no operation under way: its time is over, or somebody wants no
    /// more of it.
    pub fn is_over(&self, engine: &dyn Engine, now_ns: u64, is_enough: bool) -> bool {
        (is_enough || now_ns >= self.planned_ns) && !self.is_within_cycle(engine)
    }

    /// Takes operations off those that are left, and says whether there were any.
    pub fn take(&self, engine: &dyn Engine, operations: u64) -> bool {
        let Some(left) = self.left.get() else { return true };
        self.left.set(Some(left - operations as i64));
        left > 0 || (left > self.least_left && self.is_within_cycle(engine))
    }

    /// Whether a cycle is under way that is worth its end: others have ended in the phase before.
    fn is_within_cycle(&self, engine: &dyn Engine) -> bool {
        let (Some(began), Some(now)) = (self.began, engine.cycles()) else { return false };
        let reached = self.reached.get().unwrap_or(now);
        self.reached.set(Some(reached));
        began < reached && reached == now
    }
}

//! From spec to report: the phases of a run under any clock, the machine and the server around an engine, and the
//! event queue of the virtual clock. The top room: it knows all others, and only Python's face knows it.

mod agenda;
mod checked_spec;
mod client_threads;
pub mod cores;
mod debt;
mod engines;
mod given;
pub mod halt;
mod load_snapshot;
pub mod load_snapshots;
pub mod machine;
mod measured;
mod phase;
mod phase_end;
mod phases;
pub mod product;
mod real;
mod recorder;
mod report;
#[expect(clippy::module_inception, reason = "a run, in the room of runs")]
mod run;
mod served;
pub mod server;
pub mod simulated;
pub mod simulation;
mod spec;
pub mod turning;
mod wear;
pub mod workers;
pub mod world;

pub use checked_spec::{CheckedSpec, Opener, WantedEngine};
pub use run::Run;
pub use spec::{Clock, Spec};

#[cfg(test)]
mod open_loop;
#[cfg(test)]
mod same_again;
#[cfg(test)]
mod same_stream;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod windows;

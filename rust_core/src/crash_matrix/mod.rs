//! The crash tests of both engines: a script of thousands of operations whose power is cut before every access that
//! changes storage, with each way in which a power cut keeps or loses what was not synced; one fault in any access;
//! power cuts while threads run. What is left is opened, held against a model, written to, closed, cut off and opened
//! once more.
//!
//! The tests take a stride through all these cases; `CRASH_STRIDE=1` takes every one.

mod cuts;
mod faults;
mod history;
mod script;
mod survivor;
mod threads;
mod watch;

pub use cuts::cut_power_everywhere;
pub use faults::fail_each_access_once;
pub use threads::{cut_power_while_threads_run, fail_one_access_while_threads_run};

use crate::engine::{Engine, KeyLayout};
use crate::error::{Error, Result};
use crate::storage::Storage;
use crate::storage::memory::CrashKeeps;
use crate::task::{Signal, Task};
use std::sync::Arc;

/// An engine with settings, and what it promises.
pub trait Subject: Send + Sync + 'static {
    /// The engine.
    type Engine: Engine + 'static;

    /// Opens the engine on what `storage` holds.
    fn open(&self, storage: Arc<dyn Storage>, signal: Arc<Signal>, task: &mut Task) -> Result<Arc<Self::Engine>>;

    /// How keys are laid out.
    fn layout(&self) -> KeyLayout;

    /// What its writes survive.
    fn commits(&self) -> Commits;

    /// What its cursors show.
    fn cursors(&self) -> Cursors;

    /// Whether a power cut or a fault may leave what the settings cannot repair, so that the engine refuses to open.
    fn may_refuse(&self, _error: &Error) -> bool {
        false
    }

    /// Checks the structure of an engine that nobody else uses.
    fn inspect(&self, _engine: &Self::Engine, _task: &mut Task) {}
}

/// What a write survives that asks for no more than the settings say, once it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commits {
    /// A power cut.
    Synced,
    /// The death of the process.
    Written,
    /// Nothing, before it is written in passing or a later write is synced.
    Buffered,
    /// Nothing, and no write can be synced, before the engine is closed.
    Unlogged,
}

/// What a cursor shows of changes that come after it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cursors {
    /// Nothing.
    Snapshot,
    /// What is there when it comes to it.
    Live,
}

/// How many ways there are in which a power cut keeps or loses what was not synced.
const SURVIVALS: u64 = 4;

fn survival(way: u64, seed: u64) -> CrashKeeps {
    match way % SURVIVALS {
        0 => CrashKeeps::Synced,
        1 => CrashKeeps::Everything,
        2 => CrashKeeps::Random { seed },
        _ => CrashKeeps::Torn { seed },
    }
}

/// Every how-manieth case is taken: `usual` unless `CRASH_STRIDE` says otherwise.
fn stride(usual: u64) -> u64 {
    std::env::var("CRASH_STRIDE").map_or(usual, |text| text.parse().expect("CRASH_STRIDE is a number from 1"))
}

/// The case at which the stride of a test begins, so that the tests of a suite do not all look at the same ones.
fn first_case(name: &str, stride: u64) -> u64 {
    u64::from(crc32c::crc32c(name.as_bytes())) % stride
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsm::{Lsm, Options};
    use crate::run::halt::HaltingStorage;

    /// An LSM that promises more than it keeps.
    struct Boasting {
        leaves_syncs_out: bool,
        cursors: Cursors,
    }

    impl Subject for Boasting {
        type Engine = Lsm;

        fn open(&self, storage: Arc<dyn Storage>, signal: Arc<Signal>, task: &mut Task) -> Result<Arc<Lsm>> {
            let halting = HaltingStorage::new(storage, Arc::default());
            halting.skip_syncs(self.leaves_syncs_out);
            Lsm::open(Arc::new(halting), Options { write_buffer_size: 32768, ..Options::default() }, signal, task)
        }

        fn layout(&self) -> KeyLayout {
            KeyLayout::Plain
        }

        fn commits(&self) -> Commits {
            Commits::Written
        }

        fn cursors(&self) -> Cursors {
            self.cursors
        }
    }

    #[test]
    #[should_panic(expected = "after the second power cut")]
    fn an_engine_that_leaves_syncs_out_is_caught() {
        let boasting = Boasting { leaves_syncs_out: true, cursors: Cursors::Snapshot };
        cut_power_everywhere("boasting", boasting, 300, 7);
    }

    #[test]
    #[should_panic(expected = "a cursor from")]
    fn a_cursor_that_shows_an_old_state_is_caught() {
        let boasting = Boasting { leaves_syncs_out: false, cursors: Cursors::Live };
        cut_power_everywhere("boasting", boasting, 2000, 1_000_000);
    }
}

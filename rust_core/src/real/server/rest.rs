//! When a server rests.

use crate::error::Result;

/// A server rests when so many looks in a row find it at rest.
const LOOKS: u32 = 2;
/// CPU time of a pause in which a server rests.
const CPU_NS: u64 = 20_000_000;

/// A server that is looked at until it rests.
pub trait Watched {
    /// Looks at it: whether what it has to do is done.
    fn is_done(&self) -> Result<bool>;
    /// CPU time that it took since it began.
    fn cpu_ns(&self) -> Result<u64>;
    /// Lets time pass until the next look.
    fn pause(&self);
    /// The time.
    fn now_ns(&self) -> u64;
}

/// Waits until a server rests: until looks found it done, and it computed next to nothing in the pauses behind them.
/// What a look itself costs, which with MyRocks is more than that on some machines, is no work of the server's own.
/// Returns the nanoseconds for which it was seen to rest.
pub fn wait_for(server: &dyn Watched) -> Result<u64> {
    let (mut quiet, mut since_ns) = (0, 0);
    while quiet < LOOKS {
        if quiet == 0 {
            since_ns = server.now_ns();
        }
        let is_done = server.is_done()?;
        let before_ns = server.cpu_ns()?;
        server.pause();
        let spent_ns = server.cpu_ns()?.saturating_sub(before_ns);
        quiet = if is_done && spent_ns < CPU_NS { quiet + 1 } else { 0 };
    }
    Ok(server.now_ns() - since_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use std::cell::Cell;

    const PAUSE_NS: u64 = 1000;

    /// A server whose looks take `look_ns` of CPU time, and that computes in its first pauses.
    #[derive(Default)]
    struct Server {
        look_ns: u64,
        working_pauses: u64,
        done_after: u64,
        cpu_ns: Cell<u64>,
        pauses: Cell<u64>,
    }

    impl Watched for Server {
        /// Nobody waits for more than a hundred pauses.
        fn is_done(&self) -> Result<bool> {
            self.cpu_ns.set(self.cpu_ns.get() + self.look_ns);
            if self.pauses.get() > 100 { Err(Error::Cancelled) } else { Ok(self.pauses.get() >= self.done_after) }
        }

        fn cpu_ns(&self) -> Result<u64> {
            Ok(self.cpu_ns.get())
        }

        fn pause(&self) {
            self.pauses.set(self.pauses.get() + 1);
            let worked_ns = if self.pauses.get() <= self.working_pauses { 2 * CPU_NS } else { 0 };
            self.cpu_ns.set(self.cpu_ns.get() + worked_ns);
        }

        fn now_ns(&self) -> u64 {
            self.pauses.get() * PAUSE_NS
        }
    }

    /// Pauses until it rests.
    fn pauses(server: Server) -> Option<u64> {
        let rest_ns = wait_for(&server).ok()?;
        assert_eq!(rest_ns, u64::from(LOOKS) * PAUSE_NS);
        Some(server.pauses.get())
    }

    #[test]
    fn a_server_rests_that_computes_nothing_beside_the_looks_at_it() {
        let looks = u64::from(LOOKS);
        assert_eq!(pauses(Server::default()), Some(looks));
        assert_eq!(pauses(Server { look_ns: 3 * CPU_NS, ..Server::default() }), Some(looks));
        assert_eq!(pauses(Server { look_ns: 3 * CPU_NS, working_pauses: 5, ..Server::default() }), Some(5 + looks));
        assert_eq!(pauses(Server { done_after: 7, ..Server::default() }), Some(7 + looks));
        assert_eq!(pauses(Server { working_pauses: 1000, ..Server::default() }), None);
    }
}

//! What happens when in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that happens. Of those at the same time, the first in this order goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// Virtual time reaches a multiple of the period.
    Tick,
    /// A job goes on.
    Job(usize),
    /// A client goes on.
    Client(usize),
    /// The engine may have work that time made due.
    Timer,
}

/// The events to come, the earliest first. A client or a job goes on at one time only: who is told of another goes on
/// at the earlier one. Who went on at both would be ahead of its time at the second.
#[derive(Debug, Default)]
pub struct Agenda {
    events: BinaryHeap<Reverse<(u64, Event)>>,
    clients: Vec<Option<u64>>,
    jobs: Vec<Option<u64>>,
}

impl Agenda {
    /// Adds an event at `at_ns`.
    pub fn add(&mut self, at_ns: u64, event: Event) {
        if let Some(planned) = self.planned(event) {
            if planned.is_some_and(|earlier_ns| earlier_ns <= at_ns) {
                return;
            }
            *planned = Some(at_ns);
        }
        self.events.push(Reverse((at_ns, event)));
    }

    /// Takes the next event.
    pub fn next(&mut self) -> Option<(u64, Event)> {
        self.drop_outdated();
        let Reverse((at_ns, event)) = self.events.pop()?;
        if let Some(planned) = self.planned(event) {
            *planned = None;
        }
        Some((at_ns, event))
    }

    /// When the next event is.
    pub fn next_ns(&mut self) -> Option<u64> {
        self.drop_outdated();
        self.events.peek().map(|next| next.0.0)
    }

    /// Whether nothing happens any more.
    pub fn is_empty(&mut self) -> bool {
        self.next_ns().is_none()
    }

    /// Drops the first events in whose place earlier ones came.
    fn drop_outdated(&mut self) {
        while let Some(&Reverse((at_ns, event))) = self.events.peek() {
            if self.planned(event).is_none_or(|planned| *planned == Some(at_ns)) {
                break;
            }
            self.events.pop();
        }
    }

    /// When a client or a job goes on.
    fn planned(&mut self, event: Event) -> Option<&mut Option<u64>> {
        let (all, n) = match event {
            Event::Client(n) => (&mut self.clients, n),
            Event::Job(n) => (&mut self.jobs, n),
            Event::Tick | Event::Timer => return None,
        };
        if all.len() <= n {
            all.resize(n + 1, None);
        }
        Some(&mut all[n])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_goes_on_once_at_the_earliest_of_its_times() {
        let mut agenda = Agenda::default();
        for (at_ns, event) in [(7, Event::Client(1)), (5, Event::Client(1)), (6, Event::Client(1)), (6, Event::Tick)] {
            agenda.add(at_ns, event);
        }
        assert_eq!(agenda.next(), Some((5, Event::Client(1))));
        agenda.add(8, Event::Client(1));
        assert_eq!([agenda.next(), agenda.next()], [Some((6, Event::Tick)), Some((8, Event::Client(1)))]);
        assert!(agenda.is_empty());
    }

    #[test]
    fn clients_jobs_and_timers_have_their_own_times() {
        let mut agenda = Agenda::default();
        let events = [Event::Timer, Event::Client(0), Event::Job(0), Event::Timer, Event::Tick];
        for event in events {
            agenda.add(3, event);
        }
        let found: Vec<_> = std::iter::from_fn(|| agenda.next()).collect();
        let order = [Event::Tick, Event::Job(0), Event::Client(0), Event::Timer, Event::Timer];
        assert_eq!(found, order.map(|event| (3, event)));
    }
}

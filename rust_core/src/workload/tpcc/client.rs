//! One client: draws a transaction, locks its rows, runs it and commits.

use super::Shared;
use super::draws::Cardinalities;
use super::session::Session;
use super::statements::Connection;
use super::transactions::{Delivery, NewOrder, OrderStatus, Outcome, Payment, Request, StockLevel};
use super::{DELIVERY, LOADED_AT_S, NEW_ORDER, ORDER_STATUS, PAYMENT, STOCK_LEVEL};
use crate::engine::Engine;
use crate::error::Result;
use crate::random::{Random, Stream};
use crate::session;
use crate::task::Task;
use crate::workload::{Client, Plan};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Slots of the mix: 10 new orders, 10 payments, one of each other transaction.
const SLOTS: u64 = 23;
/// Logical time goes by one second in so many transactions of a client, so that a seed means the same run under any
/// clock.
const TRANSACTIONS_PER_SECOND: u64 = 100;

/// One client.
pub struct Terminal {
    shared: Arc<Shared>,
    random: Random,
    transactions: u64,
    next: Option<Box<dyn Request>>,
}

impl Terminal {
    /// Client `index` of the run.
    pub fn new(shared: Arc<Shared>, index: u32) -> Self {
        let random = Random::derive(shared.seed, Stream::Client(index));
        Self { shared, random, transactions: 0, next: None }
    }

    fn now(&self) -> u64 {
        LOADED_AT_S + self.transactions / TRANSACTIONS_PER_SECOND
    }
}

fn draw(random: &mut Random, cardinalities: &Cardinalities) -> (usize, Box<dyn Request>) {
    match random.below(SLOTS) {
        0..=9 => (NEW_ORDER, Box::new(NewOrder::draw(random, cardinalities))),
        10..=19 => (PAYMENT, Box::new(Payment::draw(random, cardinalities))),
        20 => (ORDER_STATUS, Box::new(OrderStatus::draw(random, cardinalities))),
        21 => (DELIVERY, Box::new(Delivery::draw(random, cardinalities))),
        _ => (STOCK_LEVEL, Box::new(StockLevel::draw(random, cardinalities))),
    }
}

impl Client for Terminal {
    fn plan(&mut self, _now_ns: u64) -> Option<Plan> {
        let (kind, request) = draw(&mut self.random, &self.shared.cardinalities);
        let write_bytes = request.write_bytes();
        self.transactions += 1;
        self.next = Some(request);
        Some(Plan::write(kind, write_bytes))
    }

    fn execute(&mut self, engine: &dyn Engine, task: &mut Task) -> Result<()> {
        let request = self.next.take().expect("a plan precedes its execution");
        let (shared, now) = (&self.shared, self.now());
        let locks = request.locks();
        let rows: Vec<&[u8]> = locks.iter().map(Vec::as_slice).collect();
        shared.locks.with(task, &rows, |task| {
            let mut session = Session::begin(engine, task, now);
            if request.run(shared, &mut session)? == Outcome::Commit {
                shared.live_bytes.fetch_add(session.commit()?, Ordering::Relaxed);
            }
            Ok(())
        })
    }

    fn speak(&mut self, session: &mut dyn session::Session) -> Result<()> {
        let request = self.next.as_ref().expect("a plan precedes its execution");
        let mut server = Connection::begin(session, request.set(), self.now())?;
        match request.speak(&self.shared, &mut server)? {
            Outcome::Commit => {
                self.shared.live_bytes.fetch_add(server.commit()?, Ordering::Relaxed);
                Ok(())
            }
            Outcome::RollBack => server.roll_back(),
        }
    }

    #[cfg(test)]
    fn next_random(&self) -> Option<u64> {
        Some(self.random.clone().bits())
    }
}

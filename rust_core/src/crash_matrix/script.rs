//! The script: writes, synced and not, reads, cursors that stay open across all the rest, jobs that are run now and
//! installed later or never, pauses, settling, closing and opening again. What it does is told by its seed.

use super::history::{self, History, Model};
use super::{Commits, Cursors, Subject};
use crate::engine::{Commit, Engine, EngineIterator, KeyLayout};
use crate::error::Result;
use crate::storage::Storage;
use crate::task::{Admission, Job, Signal, Task};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How long a writer that must wait may find nothing to do before it counts as stuck for ever.
const PATIENCE: u32 = 2000;

/// What a run of the script tells while it goes on.
pub struct Run<S> {
    pub subject: Arc<S>,
    pub history: History,
    /// Jobs that have run and are not installed.
    pub between_halves: AtomicU64,
}

/// An open engine, the time that it lives in, and its jobs that have run and are not installed.
pub struct Life<S: Subject> {
    pub engine: Arc<S::Engine>,
    pub task: Task,
    held: Vec<Box<dyn Job>>,
}

impl<S: Subject> Life<S> {
    pub fn open(subject: &S, storage: Arc<dyn Storage>) -> Result<Self> {
        let mut task = Task::wall(0);
        let engine = subject.open(storage, Arc::new(Signal::default()), &mut task)?;
        Ok(Self { engine, task, held: Vec::new() })
    }

    fn poisoning<T>(&self, result: Result<T>) -> Result<T> {
        result.inspect_err(|error| self.engine.poison(error))
    }

    /// Runs a job and keeps it.
    fn run_one(&mut self) -> Result<bool> {
        let Some(mut job) = self.engine.next_job(self.task.now_ns) else { return Ok(false) };
        let ran = job.run(&mut self.task);
        self.poisoning(ran)?;
        self.held.push(job);
        Ok(true)
    }

    fn install(&mut self, at: usize) -> Result<()> {
        let job = self.held.remove(at);
        let installed = job.install(&mut self.task);
        self.poisoning(installed)
    }

    /// Installs what has run, and runs and installs all that is due.
    pub fn run_jobs(&mut self) -> Result<()> {
        loop {
            while !self.held.is_empty() {
                self.install(0)?;
            }
            if !self.run_one()? {
                return Ok(());
            }
        }
    }

    /// Lets time pass.
    pub fn pass(&mut self, milliseconds: u64) -> Result<()> {
        self.task.now_ns += milliseconds * 1_000_000;
        self.run_jobs()
    }

    /// Writes batch `number` as a driver does.
    pub fn write(&mut self, layout: KeyLayout, number: u64, commit: Commit) -> Result<()> {
        let mut batch = history::batch(layout, number);
        let mut waited = 0;
        while self.engine.admit(&mut self.task, batch.encoded_bytes() as u64)? == Admission::Wait {
            waited += 1;
            assert!(waited < PATIENCE, "batch {number} is never admitted");
            self.pass(20)?;
        }
        self.engine.write(&mut self.task, &mut batch, commit)
    }

    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut value = Vec::new();
        Ok(self.engine.get(&mut self.task, key, &mut value)?.then_some(value))
    }

    /// The number of the last batch in it.
    pub fn last_batch(&mut self, layout: KeyLayout) -> Result<u64> {
        let value = self.get(history::last_key(layout))?;
        Ok(value.map_or(0, |value| u64::from_be_bytes(value[..].try_into().expect("8 bytes"))))
    }

    /// Flushes what is buffered, and waits for it.
    fn settle(&mut self) -> Result<()> {
        self.run_jobs()?;
        self.engine.begin_settle(&mut self.task)?;
        for _ in 0..PATIENCE {
            self.run_jobs()?;
            if self.engine.is_settled() {
                return Ok(());
            }
            self.task.now_ns += 20_000_000;
        }
        panic!("it never settles");
    }

    /// Installs what has run, and closes.
    pub fn close(&mut self) -> Result<()> {
        while !self.held.is_empty() {
            self.install(0)?;
        }
        self.engine.close(&mut self.task)
    }
}

/// A cursor that stays open, and what it should show.
struct Open<'a> {
    cursor: Box<dyn EngineIterator + 'a>,
    snapshot: Model,
}

impl<'a> Open<'a> {
    fn at(engine: &'a dyn Engine, task: &mut Task, key: &[u8], model: &Model) -> Result<Self> {
        let mut open = Self { cursor: engine.iterator(task)?, snapshot: model.clone() };
        open.cursor.seek(task, key)?;
        open.expect(model.range(key.to_vec()..).next(), key);
        Ok(open)
    }

    fn expect(&self, expected: Option<(&Vec<u8>, &Vec<u8>)>, from: &[u8]) {
        let found = self.cursor.valid().then(|| (self.cursor.key(), self.cursor.value()));
        // Whether a cursor goes on into the next index is each engine's own affair.
        if found.is_none() && expected.is_some_and(|(key, _)| key[..4] != from[..4]) {
            return;
        }
        let expected = expected.map(|(key, value)| (&key[..], &value[..]));
        assert!(found == expected, "a cursor from {from:?} shows {found:?}, not {expected:?}");
    }

    /// A few steps, as far as there is something.
    fn steps(&mut self, task: &mut Task, forward: bool, cursors: Cursors, model: &Model) -> Result<()> {
        for _ in 0..5 {
            if self.cursor.valid() {
                self.step(task, forward, cursors, model)?;
            }
        }
        Ok(())
    }

    fn step(&mut self, task: &mut Task, forward: bool, cursors: Cursors, model: &Model) -> Result<()> {
        let from = self.cursor.key().to_vec();
        if forward {
            self.cursor.next(task)?;
        } else {
            self.cursor.prev(task)?;
        }
        let shown = if cursors == Cursors::Snapshot { &self.snapshot } else { model };
        let expected = if forward {
            shown.range::<[u8], _>((Bound::Excluded(&from[..]), Bound::Unbounded)).next()
        } else {
            shown.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(&from[..]))).next_back()
        };
        self.expect(expected, &from);
        Ok(())
    }
}

impl<S: Subject> Run<S> {
    pub fn new(subject: &Arc<S>) -> Self {
        let history = History::new(&**subject);
        Self { subject: subject.clone(), history, between_halves: AtomicU64::new(0) }
    }

    /// Does so many operations, or as many as go well. A read that fails is tried again, and must then be right; a
    /// write that fails without stopping the engine has happened or has not. Ends at the first error that stops the
    /// engine.
    pub fn go(&self, storage: &Arc<dyn Storage>, operations: u64) -> Result<()> {
        let mut coin = Xoshiro256PlusPlus::seed_from_u64(operations);
        let mut left = operations;
        while left > 0 {
            let mut life = Life::open(&*self.subject, storage.clone())?;
            let result = self.live(&mut life, &mut coin, &mut left);
            self.between_halves.store(0, Ordering::SeqCst);
            result?;
            life.close()?;
            self.history.note_closed();
        }
        Ok(())
    }

    /// Operations up to the end of the script or of this life.
    fn live(&self, life: &mut Life<S>, coin: &mut Xoshiro256PlusPlus, left: &mut u64) -> Result<()> {
        let engine = life.engine.clone();
        let mut model = self.history.state_after(self.history.acknowledged());
        let mut open: Option<Open<'_>> = None;
        while *left > 0 {
            *left -= 1;
            match coin.random_range(0..1000) {
                0..600 => self.write(life, &mut model, coin.random_range(0..8) == 0)?,
                600..700 => {
                    let key = history::key(self.subject.layout(), history::some_key(self.subject.layout(), coin));
                    let read = life.get(&key);
                    let value = match read {
                        Err(_) if engine.check().is_ok() => life.get(&key)?,
                        other => other?,
                    };
                    assert!(value.as_ref() == model.get(&key), "{key:?} reads as {value:?}");
                }
                700..720 => open = None,
                720..780 => {
                    let forward = coin.random_range(0..4) > 0;
                    let key = history::key(self.subject.layout(), history::some_key(self.subject.layout(), coin));
                    let stepped = match &mut open {
                        Some(open) if open.cursor.valid() => {
                            open.steps(&mut life.task, forward, self.subject.cursors(), &model)
                        }
                        _ => Open::at(&*engine, &mut life.task, &key, &model).map(|at| open = Some(at)),
                    };
                    if let Err(error) = stepped {
                        engine.check().map_err(|_| error)?;
                        open = Some(Open::at(&*engine, &mut life.task, &key, &model)?);
                    }
                }
                780..880 => _ = life.run_one()?,
                880..930 if !life.held.is_empty() => {
                    let at = coin.random_range(0..life.held.len());
                    life.install(at)?;
                }
                930..940 if !life.held.is_empty() => {
                    let at = coin.random_range(0..life.held.len());
                    drop(life.held.remove(at));
                }
                940..994 => life.pass(coin.random_range(0..300))?,
                994..996 => life.settle()?,
                996.. => return Ok(()),
                _ => {}
            }
            self.between_halves.store(life.held.len() as u64, Ordering::SeqCst);
        }
        Ok(())
    }

    fn write(&self, life: &mut Life<S>, model: &mut Model, wants_sync: bool) -> Result<()> {
        let layout = self.subject.layout();
        let number = self.history.acknowledged() + 1;
        let synced = wants_sync && self.subject.commits() != Commits::Unlogged;
        let commit = if synced { Commit::Synced } else { Commit::Configured };
        self.history.note_started(number);
        if let Err(error) = life.write(layout, number, commit) {
            life.engine.check().map_err(|_| error)?;
            if life.last_batch(layout)? != number {
                return Ok(());
            }
            self.history.note_acknowledged(number, false);
        } else {
            self.history.note_acknowledged(number, synced);
        }
        history::apply(model, &history::batch(layout, number));
        Ok(())
    }
}

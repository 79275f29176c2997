//! Whole databases, damaged at rest: they are opened, read, written and closed as an engine's user would.

use super::bounded::BoundedStorage;
use super::mutate;
use super::target::expect_corruption;
use crate::engine::{Commit, Engine, KeyLayout, WriteBatch};
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::storage::FileOptions;
use crate::storage::{MemoryStorage, Storage};
use crate::task::{Admission, Task};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Steps of an iterator, or jobs in a row, after which a case has no end.
const MOST_STEPS: usize = 200_000;
const JOBS: usize = 20_000;

type Open = dyn Fn(Arc<dyn Storage>, &mut Task) -> Result<Arc<dyn Engine>> + Send + Sync;
type Repair = dyn Fn(&str, &mut [u8]) + Send + Sync;

/// The files of a database, and what was ever written into it.
pub struct Database {
    /// How its keys are laid out.
    pub layout: KeyLayout,
    /// Its files.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Every value that a key ever had.
    pub written: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    /// Opens its engine.
    pub open: Box<Open>,
    /// Puts the checksums of one of its files right.
    pub repair: Box<Repair>,
}

/// An engine and the task that drives it.
pub struct Driver {
    engine: Arc<dyn Engine>,
    task: Task,
}

impl Driver {
    /// Drives `engine`.
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, task: Task::wall(0) }
    }

    /// Runs the jobs that are due.
    pub fn run_jobs(&mut self) -> Result<()> {
        for _ in 0..JOBS {
            let Some(mut job) = self.engine.next_job(self.task.now_ns) else { return Ok(()) };
            job.run(&mut self.task)
                .and_then(|()| job.install(&mut self.task))
                .inspect_err(|error| self.engine.poison(error))?;
        }
        panic!("jobs without end");
    }

    /// Writes as a driver does: it asks first, and lets jobs run while it has to wait.
    pub fn write(&mut self, batch: &mut WriteBatch, commit: Commit) -> Result<()> {
        for _ in 0..JOBS {
            if self.engine.admit(&mut self.task, batch.encoded_bytes() as u64)? != Admission::Wait {
                return self.engine.write(&mut self.task, batch, commit);
            }
            self.task.now_ns += 100_000_000;
            self.run_jobs()?;
        }
        panic!("a write that never is admitted");
    }

    /// Lets time pass, and the jobs that it brings.
    pub fn pass(&mut self, seconds: u64) -> Result<()> {
        self.task.now_ns += seconds * 1_000_000_000;
        self.run_jobs()
    }

    /// All entries, from both ends.
    fn walk(&mut self, from: &[u8], to: &[u8], mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let mut iterator = self.engine.iterator(&mut self.task)?;
        iterator.seek(&mut self.task, from)?;
        for step in 0.. {
            assert!(step < MOST_STEPS, "an iterator without end");
            if !iterator.valid() {
                break;
            }
            visit(iterator.key(), iterator.value());
            iterator.next(&mut self.task)?;
        }
        iterator.seek_for_prev(&mut self.task, to)?;
        for step in 0.. {
            assert!(step < MOST_STEPS, "an iterator without end backwards");
            if !iterator.valid() {
                return Ok(());
            }
            visit(iterator.key(), iterator.value());
            iterator.prev(&mut self.task)?;
        }
        Ok(())
    }
}

impl Database {
    /// Fills a new database with `fill` and keeps what a power failure then leaves of it.
    pub fn make(
        layout: KeyLayout,
        open: impl Fn(Arc<dyn Storage>, &mut Task) -> Result<Arc<dyn Engine>> + Send + Sync + 'static,
        repair: impl Fn(&str, &mut [u8]) + Send + Sync + 'static,
        batches: impl Iterator<Item = WriteBatch>,
    ) -> Self {
        let storage = Arc::new(MemoryStorage::new(Arc::default()));
        let mut driver = Driver::new(open(storage.clone(), &mut Task::wall(0)).expect("a new database"));
        let mut written = BTreeMap::<Vec<u8>, BTreeSet<Vec<u8>>>::new();
        for (n, mut batch) in batches.enumerate() {
            for change in batch.changes() {
                if let crate::engine::Change::Put { key, value } = change {
                    written.entry(key.to_vec()).or_default().insert(value.to_vec());
                }
            }
            driver.write(&mut batch, Commit::Configured).expect("a write");
            if n % 16 == 15 {
                driver.pass(1).expect("jobs");
            }
        }
        Self { layout, files: files_of(&*storage), written, open: Box::new(open), repair: Box::new(repair) }
    }

    /// Damages the files as `script` says, then uses the database, and says whether it could be used to the end. Only
    /// with `repaired` checksums may it show what nobody wrote.
    pub fn check(&self, script: &[u8], repaired: bool) -> bool {
        let seed = script.iter().fold(7u64, |seed, byte| seed.wrapping_mul(0x100_0000_01b3) ^ u64::from(*byte));
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut files = self.files.clone();
        let names = files.keys().cloned().collect::<Vec<_>>();
        for choice in script {
            let name = &names[usize::from(*choice) % names.len()];
            let Some(bytes) = files.get_mut(name) else { continue };
            mutate::damage(&mut random, bytes);
            if repaired {
                (self.repair)(name, bytes);
            }
        }
        let used = self.use_damaged(&files, repaired);
        match &used {
            // Whoever repairs checksums may also change what the options must agree with, or where a file ends.
            Err(Error::Invalid { .. } | Error::Io { .. }) if repaired => {}
            Err(Error::Poisoned { .. }) | Ok(()) => {}
            Err(error) => expect_corruption(error),
        }
        used.is_ok()
    }

    fn use_damaged(&self, files: &BTreeMap<String, Vec<u8>>, repaired: bool) -> Result<()> {
        let storage: Arc<dyn Storage> = storage_of(files);
        let mut driver = Driver::new((self.open)(storage.clone(), &mut Task::wall(0))?);
        self.read(&mut driver, repaired, None)?;
        for (n, key) in self.written.keys().step_by(7).enumerate() {
            let mut batch = WriteBatch::default();
            match n % 4 {
                0 => batch.delete(key),
                1 => batch.put(key, b""),
                _ => batch.put(key, NEW_VALUE),
            }
            driver.write(&mut batch, Commit::Configured)?;
        }
        driver.engine.begin_settle(&mut driver.task)?;
        driver.pass(2)?;
        self.read(&mut driver, repaired, Some(NEW_VALUE))?;
        driver.engine.close(&mut driver.task)?;
        drop(driver);
        let mut driver = Driver::new((self.open)(storage, &mut Task::wall(0))?);
        self.read(&mut driver, repaired, Some(NEW_VALUE))
    }

    /// Reads every key, and everything in both orders; without repaired checksums, nothing shows that was not written.
    fn read(&self, driver: &mut Driver, repaired: bool, also: Option<&[u8]>) -> Result<()> {
        let check = |key: &[u8], value: &[u8]| {
            let known = self.written.get(key).is_some_and(|values| {
                values.contains(value) || also.is_some_and(|also| value == also || value.is_empty())
            });
            assert!(known || repaired, "{key:?} has a value of {} bytes that was never written", value.len());
        };
        let mut value = Vec::new();
        for key in self.written.keys().step_by(3) {
            if driver.engine.get(&mut driver.task, key, &mut value)? {
                check(key, &value);
            }
        }
        let starts: Vec<(Vec<u8>, Vec<u8>)> = match self.layout {
            KeyLayout::Plain => vec![(Vec::new(), vec![0xff; 40])],
            KeyLayout::Indexed => (0..4u32)
                .map(|index| {
                    let index = index.to_be_bytes().to_vec();
                    let end = [&index[..], &[0xff; 40]].concat();
                    (index, end)
                })
                .collect(),
        };
        starts.iter().try_for_each(|(from, to)| driver.walk(from, to, check))
    }
}

const NEW_VALUE: &[u8] = b"written into a damaged database";

/// The bytes of all files.
fn files_of(storage: &dyn Storage) -> BTreeMap<String, Vec<u8>> {
    let task = &mut Task::wall(0);
    let names = storage.list().expect("names");
    let read = |name: String| {
        let file = storage.open(task, &name, FileOptions::DIRECT).expect("a file that is there");
        let mut bytes = vec![0; file.len() as usize];
        file.read_at(task, Purpose::Recovery, 0, &mut bytes).expect("a file in memory");
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

fn storage_of(files: &BTreeMap<String, Vec<u8>>) -> Arc<BoundedStorage> {
    let (storage, task) = (Arc::new(BoundedStorage(MemoryStorage::new(Arc::default()))), &mut Task::wall(0));
    for (name, bytes) in files {
        let file = storage.create(task, name, FileOptions::DIRECT).expect("a file in memory");
        file.write_at(task, Purpose::Recovery, 0, bytes).expect("a file in memory");
        file.sync(task, Purpose::Recovery).expect("a file in memory");
    }
    storage.sync_directory(task).expect("a directory in memory");
    storage
}

//! The write-ahead log: one file for each memtable, written under the write lock, synced outside of it. Each record
//! tells how far the log was synced when it was written.

use crate::cost::Work;
use crate::error::Result;
use crate::lsm::log::Framer;
use crate::metrics::Purpose;
use crate::storage::FileOptions;
use crate::storage::{Storage, StorageFile};
use crate::task::Task;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes that a log keeps back at most under `manual_wal_flush`.
const BUFFER_BYTES: usize = 1 << 20;

/// The name of a log file.
pub fn log_name(number: u64) -> String {
    format!("{number:06}.log")
}

/// A log file that may hold entries that are in no table yet.
pub struct LogFile {
    number: u64,
    file: Arc<dyn StorageFile>,
    entry_synced: AtomicBool,
    /// No more bytes come, and all are durable.
    finished: AtomicBool,
    /// Bytes that storage has.
    written: AtomicU64,
    /// Bytes up to which this log is durable, with all of the older ones; [`UNKNOWN`] as long as that of those is not.
    synced: AtomicU64,
}

const UNKNOWN: u64 = u64::MAX;

impl LogFile {
    fn synced(&self) -> Option<u64> {
        Some(self.synced.load(Ordering::Acquire)).filter(|synced| *synced != UNKNOWN)
    }

    fn is_wholly_synced(&self) -> bool {
        self.synced() == Some(self.written.load(Ordering::Acquire))
    }
}

/// The log that is being written.
pub struct LogWriter {
    log: Arc<LogFile>,
    framer: Framer,
    buffer: Vec<u8>,
    offset: u64,
}

impl LogWriter {
    /// Appends a record. Its bytes go to storage at once with those kept back before, unless they may be kept back too.
    pub fn append(&mut self, task: &mut Task, payload: &[u8], keep_back: bool) -> Result<()> {
        self.framer.frame(payload, self.log.synced(), &mut self.buffer);
        task.charge(Work::CopyByte, payload.len() as u64);
        task.charge(Work::ChecksumByte, payload.len() as u64);
        if keep_back && self.buffer.len() < BUFFER_BYTES { Ok(()) } else { self.flush(task) }
    }

    /// Writes what was kept back.
    pub fn flush(&mut self, task: &mut Task) -> Result<()> {
        if !self.buffer.is_empty() {
            self.log.file.write_at(task, Purpose::Wal, self.offset, &self.buffer)?;
            self.offset += self.buffer.len() as u64;
            self.log.written.store(self.offset, Ordering::Release);
            self.buffer.clear();
        }
        Ok(())
    }

    /// Bytes kept back.
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.len()
    }
}

/// All logs whose entries may be in no table yet, oldest first. A sync makes every one of them durable, so that what
/// survives a crash is always a prefix of what was written.
#[derive(Default)]
pub struct Logs {
    files: Mutex<Vec<Arc<LogFile>>>,
    /// Records appended, counted over all logs.
    written: AtomicU64,
}

impl Logs {
    /// Creates a log file and makes it the newest.
    pub fn create(&self, task: &mut Task, storage: &dyn Storage, number: u64) -> Result<LogWriter> {
        let file = storage.create(task, &log_name(number), FileOptions::LOG)?;
        let mut files = self.files.lock();
        let synced = if files.iter().all(|log| log.is_wholly_synced()) { 0 } else { UNKNOWN };
        let log = Arc::new(LogFile {
            number,
            file,
            entry_synced: AtomicBool::new(false),
            finished: AtomicBool::new(false),
            written: AtomicU64::new(0),
            synced: AtomicU64::new(synced),
        });
        files.push(log.clone());
        Ok(LogWriter { log, framer: Framer::new(number), buffer: Vec::new(), offset: 0 })
    }

    /// Counts a record that was appended, and returns its position. A record that is to be synced has reached storage
    /// with all before it.
    pub fn note_written(&self) -> u64 {
        self.written.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Position of the last record.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// Makes all logs durable.
    pub fn sync(&self, task: &mut Task, storage: &dyn Storage) -> Result<()> {
        let files = self.files.lock().clone();
        if files.iter().any(|log| !log.entry_synced.load(Ordering::Acquire)) {
            storage.sync_directory(task)?;
        }
        for (n, log) in files.iter().enumerate() {
            log.entry_synced.store(true, Ordering::Release);
            if !log.finished.load(Ordering::Acquire) {
                let written = log.written.load(Ordering::Acquire);
                log.file.sync(task, Purpose::Wal)?;
                log.synced.store(written, Ordering::Release);
            }
            // A newer log exists, so this one gets no more bytes.
            log.finished.store(n + 1 < files.len(), Ordering::Release);
        }
        Ok(())
    }

    /// Takes out the logs with numbers below `number`, whose entries are all in tables.
    pub fn take_below(&self, number: u64) -> Vec<u64> {
        let mut files = self.files.lock();
        let old = files.iter().map(|log| log.number).filter(|old| *old < number).collect();
        files.retain(|log| log.number >= number);
        old
    }

    /// Bytes of all logs.
    pub fn bytes(&self) -> u64 {
        self.files.lock().iter().map(|log| log.file.len()).sum()
    }
}

//! The redo log: one circular file, a buffer in front of it, and the checkpoint in its header.
//!
//! A log sequence number (LSN) is a byte position in the endless log, which fills the file's blocks (`block`) round
//! after round, frame by frame (`frame`).

use super::block::{BLOCK, PAYLOAD, append_blocks};
use super::frame::{FRAME_HEADER, frame_checksum};
use super::header::{CHECKPOINT_AT, Checkpoint, Header, LOG_HEADER_BYTES};
use super::thresholds::Thresholds;
use crate::btree::space::{DurableFile, NEW_REDO_FILE, REDO_FILE};
use crate::cost::Work;
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::storage::{FileOptions, Storage, StorageFile};
use crate::task::{GroupSync, Serial, Task};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
struct Buffer {
    bytes: Vec<u8>,
}

#[derive(Debug, Default)]
struct Writer {
    /// Bytes of the block that the written log ends in.
    tail: Vec<u8>,
    out: Vec<u8>,
    spare: Vec<u8>,
    blocks: Vec<u8>,
    /// The write-ahead block up to which the file is padded.
    padded_to: u64,
}

/// The redo log.
pub struct Redo {
    file: DurableFile,
    header: Header,
    /// Limits on the age of the log.
    pub thresholds: Thresholds,
    write_ahead: u64,
    buffer_bytes: usize,
    buffer: Mutex<Buffer>,
    writer: Serial<Writer>,
    group: GroupSync,
    checkpointing: Serial<Checkpoint>,
    lsn: AtomicU64,
    /// How far somebody wants it written. A write goes no further: what lies behind belongs to changes that nobody
    /// waits for.
    wanted: AtomicU64,
    written: AtomicU64,
    durable: AtomicU64,
    checkpoint_lsn: AtomicU64,
    /// Where the log ended before it jumped to the first LSN of this stretch.
    ended: u64,
    first: u64,
    /// Where the batches began that are not wholly applied: recovery needs the log from the first of them on.
    floors: Mutex<Vec<u64>>,
}

impl Redo {
    /// A log that continues at `lsn`, with everything before it in the page file. Nothing is written yet.
    pub fn new(
        file: Arc<dyn StorageFile>,
        header: Header,
        checkpoint: Checkpoint,
        thresholds: Thresholds,
        write_ahead: u64,
        buffer_bytes: u64,
    ) -> Self {
        let lsn = checkpoint.lsn;
        let redo = Self {
            file: DurableFile::new(file),
            header,
            thresholds,
            write_ahead,
            buffer_bytes: buffer_bytes as usize,
            buffer: Mutex::default(),
            writer: Serial::default(),
            group: GroupSync::default(),
            checkpointing: Serial::new(checkpoint),
            lsn: AtomicU64::new(lsn),
            wanted: AtomicU64::new(lsn),
            written: AtomicU64::new(lsn),
            durable: AtomicU64::new(lsn),
            checkpoint_lsn: AtomicU64::new(lsn),
            ended: lsn,
            first: lsn,
            floors: Mutex::default(),
        };
        redo.group.advance(lsn);
        redo
    }

    /// The log before this stretch ended at `lsn`.
    #[must_use]
    pub fn after(mut self, lsn: u64) -> Self {
        self.ended = lsn;
        self
    }

    /// Whether a page may have this LSN: one that the log has reached, and not one that it jumped over.
    pub fn has_reached(&self, lsn: u64) -> bool {
        lsn <= self.ended || (self.first..=self.lsn()).contains(&lsn)
    }

    /// Makes a log file beside the one in use, with a header and no checkpoint yet.
    pub fn create(storage: &dyn Storage, task: &mut Task, header: Header) -> Result<Arc<dyn StorageFile>> {
        let file = storage.create(task, NEW_REDO_FILE, FileOptions::LOG)?;
        let mut bytes = [0; LOG_HEADER_BYTES as usize];
        bytes[..BLOCK as usize].copy_from_slice(&header.encode());
        file.write_at(task, Purpose::Redo, 0, &bytes)?;
        Ok(file)
    }

    /// Puts the file that [`Redo::create`] made, and [`Redo::begin_stretch`] filled, in its place.
    pub fn put_in_place(storage: &dyn Storage, task: &mut Task) -> Result<()> {
        storage.sync_directory(task)?;
        storage.rename(task, NEW_REDO_FILE, REDO_FILE)?;
        storage.sync_directory(task)
    }

    /// End of the log.
    #[inline]
    pub fn lsn(&self) -> u64 {
        self.lsn.load(Ordering::Acquire)
    }

    /// The log is durable to here.
    pub fn durable_lsn(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// The last checkpoint.
    pub fn checkpoint_lsn(&self) -> u64 {
        self.checkpoint_lsn.load(Ordering::Acquire)
    }

    /// Bytes of the log's file.
    pub fn file_bytes(&self) -> u64 {
        self.file.len()
    }

    /// Bytes since the last checkpoint.
    pub fn checkpoint_age(&self) -> u64 {
        let checkpoint = self.checkpoint_lsn();
        self.lsn().saturating_sub(checkpoint)
    }

    /// What the file says about itself.
    pub fn header(&self) -> Header {
        self.header
    }

    /// Bytes that frames may take between checkpoint and end.
    pub fn usable_bytes(&self) -> u64 {
        self.header.region() - 2 * self.write_ahead
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> u64 {
        let buffered = self.buffer.lock().bytes.capacity();
        let writer = self.writer.peek(|Writer { tail, out, spare, blocks, .. }| {
            tail.capacity() + out.capacity() + spare.capacity() + blocks.capacity()
        });
        (buffered + writer) as u64
    }

    /// Appends a frame and returns its LSN and its end.
    #[inline]
    pub fn append(&self, task: &mut Task, fill: impl FnOnce(&mut Vec<u8>)) -> Result<(u64, u64)> {
        let mut buffer = self.buffer.lock();
        let bytes = &mut buffer.bytes;
        let at = bytes.len();
        bytes.extend_from_slice(&[0; FRAME_HEADER]);
        fill(bytes);
        let lsn = self.lsn.load(Ordering::Relaxed);
        let payload = bytes.len() - at - FRAME_HEADER;
        let end = lsn + (payload + FRAME_HEADER) as u64;
        if end - self.checkpoint_lsn() > self.usable_bytes() {
            bytes.truncate(at);
            let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
            return Err(Error::io(REDO_FILE, "append to", full));
        }
        let sum = frame_checksum(lsn, &bytes[at + FRAME_HEADER..]);
        bytes[at..at + 4].copy_from_slice(&(payload as u32).to_le_bytes());
        bytes[at + 4..at + FRAME_HEADER].copy_from_slice(&sum.to_le_bytes());
        self.lsn.store(end, Ordering::Release);
        drop(buffer);
        task.charge(Work::Record, 1);
        task.charge(Work::CopyByte, payload as u64);
        task.charge(Work::ChecksumByte, payload as u64);
        Ok((lsn, end))
    }

    /// A batch of several changes begins: no checkpoint passes the returned LSN until [`Redo::end_batch`].
    pub fn begin_batch(&self) -> u64 {
        let mut floors = self.floors.lock();
        let floor = self.lsn();
        floors.push(floor);
        floor
    }

    /// The batch that began at `floor` is wholly applied.
    pub fn end_batch(&self, floor: u64) {
        let mut floors = self.floors.lock();
        if let Some(at) = floors.iter().position(|lsn| *lsn == floor) {
            floors.swap_remove(at);
        }
    }

    /// Where the oldest unfinished batch began.
    pub fn batch_floor(&self) -> Option<u64> {
        self.floors.lock().iter().min().copied()
    }

    /// Whether the buffer holds more than it should, so that the caller must write it out.
    #[inline]
    pub fn buffer_is_full(&self) -> bool {
        // In this order: what is written meanwhile was appended before.
        let written = self.written.load(Ordering::Acquire);
        self.lsn() - written >= self.buffer_bytes as u64
    }

    /// Writes the log to its file, at least up to `lsn`, without a sync.
    pub fn write_to(&self, task: &mut Task, lsn: u64) -> Result<()> {
        self.wanted.fetch_max(lsn, Ordering::AcqRel);
        let is_written = || self.written.load(Ordering::Acquire) >= lsn;
        self.writer.unless(task, is_written, |task, writer| self.write_buffer(task, writer))
    }

    fn write_buffer(&self, task: &mut Task, writer: &mut Writer) -> Result<()> {
        let (taken, end) = {
            let mut buffer = self.buffer.lock();
            let mut rest = std::mem::take(&mut writer.spare);
            let start = self.lsn() - buffer.bytes.len() as u64;
            let end = self.wanted.load(Ordering::Acquire).clamp(start, self.lsn());
            rest.extend_from_slice(&buffer.bytes[(end - start) as usize..]);
            buffer.bytes.truncate((end - start) as usize);
            (std::mem::replace(&mut buffer.bytes, rest), end)
        };
        let from = (end - taken.len() as u64) / PAYLOAD * PAYLOAD;
        let start_in_block = (end - taken.len() as u64 - from) as usize;
        let mut out = std::mem::take(&mut writer.out);
        out.clear();
        writer.tail.resize(start_in_block, 0);
        out.extend_from_slice(&writer.tail);
        out.extend_from_slice(&taken);
        let kept = (end / PAYLOAD * PAYLOAD).saturating_sub(from) as usize;
        writer.tail.clear();
        writer.tail.extend_from_slice(&out[kept..]);
        let padded = self.padded_end(writer.padded_to, end);
        writer.padded_to = writer.padded_to.max(padded);
        out.resize((padded - from) as usize, 0);
        writer.blocks.clear();
        append_blocks(&mut writer.blocks, from, &out, self.durable_lsn());
        let written = if out.is_empty() { Ok(()) } else { self.write_circular(task, from, &writer.blocks) };
        writer.out = out;
        writer.spare = taken;
        writer.spare.clear();
        written?;
        self.written.store(end, Ordering::Release);
        Ok(())
    }

    /// Where a write that ends at `end` is padded to: its block, or the end of a write-ahead block that it is first in.
    fn padded_end(&self, padded_to: u64, end: u64) -> u64 {
        let block_end = end.next_multiple_of(PAYLOAD);
        if block_end > padded_to { end.next_multiple_of(self.write_ahead / BLOCK * PAYLOAD) } else { block_end }
    }

    fn write_circular(&self, task: &mut Task, from: u64, bytes: &[u8]) -> Result<()> {
        task.charge(Work::ChecksumByte, bytes.len() as u64);
        let region = self.header.blocks() * BLOCK;
        let offset = from / PAYLOAD * BLOCK % region;
        let first = bytes.len().min((region - offset) as usize);
        self.file.write_at(task, Purpose::Redo, LOG_HEADER_BYTES + offset, &bytes[..first])?;
        if first < bytes.len() {
            self.file.write_at(task, Purpose::Redo, LOG_HEADER_BYTES, &bytes[first..])?;
        }
        Ok(())
    }

    /// Makes the log durable to `lsn` for a commit: tasks share writes and syncs (`log_write_up_to`).
    pub fn sync_to(&self, task: &mut Task, lsn: u64) -> Result<()> {
        // Whoever writes and syncs next does it for this task too.
        self.wanted.fetch_max(lsn, Ordering::AcqRel);
        self.group.sync_to(task, lsn, |task| {
            self.write_to(task, lsn)?;
            let covers = self.written.load(Ordering::Acquire);
            self.file.sync(task, Purpose::Redo)?;
            self.durable.fetch_max(covers, Ordering::AcqRel);
            Ok(covers)
        })
    }

    /// Makes the log durable to `lsn` before pages that hold its changes are written. Costs nothing if it is.
    pub fn ensure_durable(&self, task: &mut Task, lsn: u64) -> Result<()> {
        if self.durable_lsn() >= lsn { Ok(()) } else { self.sync_to(task, lsn) }
    }

    /// Writes a checkpoint at `lsn`: all changes before are in the synced page files, of this length at least. The log
    /// before it is free after [`Redo::adopt_checkpoint`].
    pub fn write_checkpoint(&self, task: &mut Task, lsn: u64, page_file_bytes: [u64; 2]) -> Result<()> {
        self.ensure_durable(task, lsn)?;
        self.checkpointing.with(task, |task, last| {
            if lsn <= last.lsn {
                return Ok(());
            }
            let reach = self.durable_lsn().max(lsn);
            let next = Checkpoint { sequence: last.sequence + 1, lsn, reach, page_file_bytes };
            self.write_checkpoint_block(task, &next)?;
            *last = next;
            Ok(())
        })
    }

    fn write_checkpoint_block(&self, task: &mut Task, checkpoint: &Checkpoint) -> Result<()> {
        let at = CHECKPOINT_AT[(checkpoint.sequence % 2) as usize];
        self.file.write_at(task, Purpose::Redo, at, &checkpoint.encode())?;
        self.file.sync(task, Purpose::Redo)
    }

    /// Frees the log before the checkpoint that was last written.
    pub fn adopt_checkpoint(&self) {
        let lsn = self.checkpointing.peek(|last| last.lsn);
        self.checkpoint_lsn.fetch_max(lsn, Ordering::AcqRel);
    }

    /// Begins a new stretch of the log at this log's first LSN, whose frames are already appended: writes them, then
    /// the checkpoint that leaves the old stretch behind.
    pub fn begin_stretch(&self, task: &mut Task) -> Result<()> {
        let end = self.lsn();
        self.ensure_durable(task, end)?;
        self.checkpointing.with(task, |task, first| {
            first.sequence += 1;
            first.reach = end;
            let first = *first;
            self.write_checkpoint_block(task, &first)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btree::log::frame::frames_in;
    use crate::btree::log::header::read_header;
    use crate::btree::log::scan::read_frames;
    use crate::storage::MemoryStorage;

    /// Two blocks into one of the write-ahead blocks.
    const FIRST: u64 = 10 * PAYLOAD;

    fn header() -> Header {
        Header { page_bytes: 4096, key_block_bytes: 0, mixed: false, indexed: false, capacity: 256 << 10, instance: 7 }
    }

    fn log(storage: &MemoryStorage, task: &mut Task) -> Redo {
        let first = Checkpoint { sequence: 0, lsn: FIRST, reach: FIRST, page_file_bytes: [0; 2] };
        let file = Redo::create(storage, task, header()).unwrap();
        let limits = Thresholds::mariadb(header().capacity, header().page_bytes);
        let redo = Redo::new(file, header(), first, limits, 4096, 1 << 20);
        redo.begin_stretch(task).unwrap();
        Redo::put_in_place(storage, task).unwrap();
        redo
    }

    fn read_back(storage: &MemoryStorage, task: &mut Task) -> Vec<Vec<u8>> {
        let file = storage.open(task, REDO_FILE, FileOptions::DIRECT).unwrap();
        let (header, checkpoint) = read_header(&*file, task).unwrap();
        let bytes = read_frames(&*file, task, header, checkpoint).unwrap();
        frames_in(&bytes, checkpoint.lsn).map(|(_, _, payload)| payload.to_vec()).collect()
    }

    #[test]
    fn frames_are_read_back_round_after_round() {
        let (storage, mut task) = (MemoryStorage::new(Arc::default()), Task::wall(0));
        let redo = log(&storage, &mut task);
        for round in 0..200u32 {
            let payloads: Vec<Vec<u8>> =
                (0..20).map(|n| vec![(round + n) as u8; (n * 37 % 900 + 1) as usize]).collect();
            redo.write_checkpoint(&mut task, redo.lsn(), [0; 2]).unwrap();
            redo.adopt_checkpoint();
            for payload in &payloads {
                let (_, end) = redo.append(&mut task, |out| out.extend_from_slice(payload)).unwrap();
                redo.write_to(&mut task, end).unwrap();
            }
            assert_eq!(read_back(&storage, &mut task), payloads, "round {round}");
        }
        assert!(redo.lsn() > 4 * header().capacity, "the log must have gone round");
    }

    #[test]
    fn a_write_goes_as_far_as_somebody_wants() {
        let (storage, mut task) = (MemoryStorage::new(Arc::default()), Task::wall(0));
        let redo = log(&storage, &mut task);
        let mut append = |byte| redo.append(&mut Task::wall(0), |out| out.extend_from_slice(&[byte; 700])).unwrap().1;
        let ends = [1, 2, 3].map(&mut append);
        let written = |task: &mut Task| read_back(&storage, task).iter().map(|payload| payload[0]).collect::<Vec<_>>();
        redo.write_to(&mut task, ends[1]).unwrap();
        assert_eq!(written(&mut task), [1, 2]);
        let end = append(4);
        redo.write_to(&mut task, ends[0]).unwrap();
        assert_eq!(written(&mut task), [1, 2], "that far it is written");
        redo.write_to(&mut task, end).unwrap();
        assert_eq!(written(&mut task), [1, 2, 3, 4]);
    }

    #[test]
    fn a_log_without_room_refuses_frames() {
        let (storage, mut task) = (MemoryStorage::new(Arc::default()), Task::wall(0));
        let redo = log(&storage, &mut task);
        let result = (0..100).try_for_each(|_| redo.append(&mut task, |out| out.resize(out.len() + 4096, 7)).map(drop));
        assert!(result.is_err());
        assert!(redo.checkpoint_age() <= redo.usable_bytes());
    }

    #[test]
    fn a_damaged_header_is_an_error() {
        let (storage, mut task) = (MemoryStorage::new(Arc::default()), Task::wall(0));
        log(&storage, &mut task);
        storage.flip_bit(REDO_FILE, 100).unwrap();
        let file = storage.open(&mut task, REDO_FILE, FileOptions::DIRECT).unwrap();
        assert!(read_header(&*file, &mut task).is_err());
    }

    #[test]
    fn write_ahead_pads_a_new_block_once() {
        let (storage, mut task) = (MemoryStorage::new(Arc::default()), Task::wall(0));
        let redo = log(&storage, &mut task);
        let mut grown = Vec::new();
        for _ in 0..3 {
            let before = storage.written_bytes();
            let (_, end) = redo.append(&mut task, |out| out.extend_from_slice(&[1; 100])).unwrap();
            redo.write_to(&mut task, end).unwrap();
            grown.push(storage.written_bytes() - before);
        }
        assert_eq!(grown, [3072, 512, 512]);
    }
}

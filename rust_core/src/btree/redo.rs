//! The redo log: one circular file, a buffer in front of it, and the checkpoint in its header.
//!
//! A log sequence number (LSN) is a byte position in the endless log, which fills the file's blocks (`redo_block.rs`) round
//! after round. A frame is all that belongs together: it is replayed wholly or not at all. Its checksum is seeded with its own
//! LSN, so what an earlier round left in the file is never taken for a frame.

use super::durable_file::DurableFile;
use super::redo_block::{BLOCK, PAYLOAD, append_blocks};
use super::thresholds::Thresholds;
use crate::cost::Work;
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::storage::{Storage, StorageFile};
use crate::task::{GroupSync, Serial, Task};
use parking_lot::Mutex;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The log's file.
pub const FILE: &str = "redo.log";
/// Where a new log is made before it takes the place of the old one.
pub const NEW_FILE: &str = "redo.new";
/// Bytes in front of the circular region.
pub const HEADER_BYTES: u64 = 2048;
/// Bytes in front of a frame: length and checksum.
pub const FRAME_HEADER: usize = 8;
const MAGIC: &[u8; 8] = b"tbredo03";
const CHECKPOINT_AT: [u64; 2] = [512, 1024];
/// What `innodb_redo_log_capacity` may be.
const CAPACITIES: RangeInclusive<u64> = 256 << 10..=1 << 40;
/// More than any log reaches.
const MAX_LSN: u64 = 1 << 62;

/// What a log file says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Page size of the engine that made the log.
    pub page_bytes: u64,
    /// Bytes of a compressed table's page on storage; 0 if tables are not compressed.
    pub key_block_bytes: u64,
    /// Whether compressed tables have a tablespace of their own, beside others that are not compressed.
    pub mixed: bool,
    /// Whether keys begin with index numbers.
    pub indexed: bool,
    /// Bytes of the file, header included.
    pub capacity: u64,
    /// A random number that the page file has too: which pages this log is of.
    pub instance: u64,
}

/// Where recovery begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// Number of this checkpoint; the two slots are used in turn.
    pub sequence: u64,
    /// All changes before are in the page file.
    pub lsn: u64,
    /// The log was durable to here when the checkpoint was written: recovery must get at least this far.
    pub reach: u64,
    /// Bytes that the files of the tablespaces had at least.
    pub page_file_bytes: [u64; 2],
}

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
    /// How far somebody wants it written. A write goes no further: what lies behind belongs to changes that nobody waits for.
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

pub(super) fn seal(block: &mut [u8]) {
    let checksum = crc32c::crc32c(&block[4..]);
    block[..4].copy_from_slice(&checksum.to_le_bytes());
}

fn is_sealed(block: &[u8]) -> bool {
    crc32c::crc32c(&block[4..]).to_le_bytes() == block[..4]
}

fn field(block: &[u8], at: usize) -> u64 {
    super::page::get_u64(block, at)
}

/// Reads what the file has and takes the rest for zeros.
pub fn read_padded(
    file: &dyn StorageFile,
    task: &mut Task,
    purpose: Purpose,
    offset: u64,
    buffer: &mut [u8],
) -> Result<()> {
    let there = file.len().saturating_sub(offset).min(buffer.len() as u64) as usize;
    buffer[there..].fill(0);
    if there == 0 { Ok(()) } else { file.read_at(task, purpose, offset, &mut buffer[..there]) }
}

impl Header {
    fn encode(&self) -> [u8; BLOCK as usize] {
        let mut block = [0; BLOCK as usize];
        block[8..16].copy_from_slice(MAGIC);
        block[16..24].copy_from_slice(&self.page_bytes.to_le_bytes());
        block[24..32].copy_from_slice(&self.capacity.to_le_bytes());
        block[32] = u8::from(self.indexed);
        block[33] = u8::from(self.mixed);
        block[40..48].copy_from_slice(&self.key_block_bytes.to_le_bytes());
        block[48..56].copy_from_slice(&self.instance.to_le_bytes());
        seal(&mut block);
        block
    }

    fn decode(block: &[u8]) -> Option<Self> {
        let capacity = field(block, 24);
        let known = is_sealed(block) && block[8..16] == *MAGIC && CAPACITIES.contains(&capacity);
        known.then(|| Self {
            page_bytes: field(block, 16),
            capacity,
            indexed: block[32] == 1,
            mixed: block[33] == 1,
            key_block_bytes: field(block, 40),
            instance: field(block, 48),
        })
    }

    /// Blocks of the circular region.
    pub fn blocks(&self) -> u64 {
        (self.capacity - HEADER_BYTES) / BLOCK
    }

    /// Bytes of the log that the circular region holds.
    pub fn region(&self) -> u64 {
        self.blocks() * PAYLOAD
    }
}

impl Checkpoint {
    fn encode(&self) -> [u8; BLOCK as usize] {
        let mut block = [0; BLOCK as usize];
        let [system, compressed] = self.page_file_bytes;
        for (at, value) in [(8, self.sequence), (16, self.lsn), (24, self.reach), (32, system), (40, compressed)] {
            block[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        seal(&mut block);
        block
    }

    fn decode(block: &[u8]) -> Option<Self> {
        let found = Self {
            sequence: field(block, 8),
            lsn: field(block, 16),
            reach: field(block, 24),
            page_file_bytes: [field(block, 32), field(block, 40)],
        };
        let in_range = found.lsn <= found.reach && found.reach < MAX_LSN && (1..u64::MAX).contains(&found.sequence);
        (is_sealed(block) && in_range).then_some(found)
    }
}

/// The newest checkpoint, if its slot and the other are what they must be: storage writes a slot whole or not at all, and the
/// one before was durable when the newest was written.
fn newest_checkpoint(header: &[u8]) -> Result<Checkpoint> {
    let mut slots = [Checkpoint::default(); 2];
    for (slot, at) in slots.iter_mut().zip(CHECKPOINT_AT) {
        let block = &header[at as usize..(at + BLOCK) as usize];
        if block.iter().any(|byte| *byte != 0) {
            *slot = Checkpoint::decode(block)
                .ok_or_else(|| Error::corruption(FILE, at, "the checksum of the checkpoint does not match"))?;
        }
    }
    let newest = usize::from(slots[1].sequence > slots[0].sequence);
    let [newest, other] = [slots[newest], slots[1 - newest]];
    if newest.sequence == 0 || other.sequence + 1 != newest.sequence {
        let missing = CHECKPOINT_AT[(newest.sequence.saturating_sub(1) % 2) as usize];
        let what = format!("the checkpoint before number {} is missing", newest.sequence);
        return Err(Error::corruption(FILE, missing, what));
    }
    Ok(newest)
}

/// Reads a log's header and its newest checkpoint.
pub fn read_header(file: &dyn StorageFile, task: &mut Task) -> Result<(Header, Checkpoint)> {
    let mut bytes = vec![0; HEADER_BYTES as usize];
    read_padded(file, task, Purpose::Recovery, 0, &mut bytes)?;
    if file.len() < HEADER_BYTES {
        let what = format!("the file has {} bytes, the header of a log {HEADER_BYTES}", file.len());
        return Err(Error::corruption(FILE, file.len(), what));
    }
    let header = Header::decode(&bytes[..BLOCK as usize])
        .ok_or_else(|| Error::corruption(FILE, 0, "the header's checksum does not match"))?;
    Ok((header, newest_checkpoint(&bytes)?))
}

pub(super) fn checksum(lsn: u64, payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&lsn.to_le_bytes()), payload)
}

/// Length of the frame that begins here, if it is whole.
pub fn whole_frame(bytes: &[u8], lsn: u64) -> Option<usize> {
    let len = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let sum = u32::from_le_bytes(bytes.get(4..FRAME_HEADER)?.try_into().ok()?);
    let payload = bytes.get(FRAME_HEADER..FRAME_HEADER.checked_add(len)?)?;
    (len > 0 && sum == checksum(lsn, payload)).then_some(FRAME_HEADER + len)
}

/// The frames in bytes that `read_frames` has checked: LSN, end LSN and payload of each.
pub fn frames(bytes: &[u8], from: u64) -> impl Iterator<Item = (u64, u64, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let len = u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize;
        let start = at;
        at += FRAME_HEADER + len;
        Some((from + start as u64, from + at as u64, &bytes[start + FRAME_HEADER..at]))
    })
}

impl Redo {
    /// A log that continues at `lsn`, with everything before it in the page file. Nothing is written yet.
    pub fn new(
        file: Arc<dyn StorageFile>,
        header: Header,
        checkpoint: Checkpoint,
        write_ahead: u64,
        buffer_bytes: u64,
    ) -> Self {
        let lsn = checkpoint.lsn;
        let redo = Self {
            file: DurableFile::new(file),
            header,
            thresholds: Thresholds::new(header.capacity, header.page_bytes),
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
        let file = storage.create(task, NEW_FILE)?;
        let mut bytes = [0; HEADER_BYTES as usize];
        bytes[..BLOCK as usize].copy_from_slice(&header.encode());
        file.write_at(task, Purpose::Redo, 0, &bytes)?;
        Ok(file)
    }

    /// Puts the file that [`Redo::create`] made, and [`Redo::begin_stretch`] filled, in its place.
    pub fn put_in_place(storage: &dyn Storage, task: &mut Task) -> Result<()> {
        storage.sync_directory(task)?;
        storage.rename(task, NEW_FILE, FILE)?;
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
            return Err(Error::io(FILE, "append to", full));
        }
        let sum = checksum(lsn, &bytes[at + FRAME_HEADER..]);
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
        self.lsn() - self.written.load(Ordering::Relaxed) >= self.buffer_bytes as u64
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
        self.file.write_at(task, Purpose::Redo, HEADER_BYTES + offset, &bytes[..first])?;
        if first < bytes.len() {
            self.file.write_at(task, Purpose::Redo, HEADER_BYTES, &bytes[first..])?;
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

    /// Writes a checkpoint at `lsn`: all changes before are in the synced page files, of this length at least. The log before
    /// it is free after [`Redo::adopt_checkpoint`].
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
    use crate::btree::redo_block::read_frames;
    use crate::storage::MemoryStorage;

    /// Two blocks into one of the write-ahead blocks.
    const FIRST: u64 = 10 * PAYLOAD;

    fn header() -> Header {
        Header { page_bytes: 4096, key_block_bytes: 0, mixed: false, indexed: false, capacity: 256 << 10, instance: 7 }
    }

    fn log(storage: &MemoryStorage, task: &mut Task) -> Redo {
        let first = Checkpoint { sequence: 0, lsn: FIRST, reach: FIRST, page_file_bytes: [0; 2] };
        let file = Redo::create(storage, task, header()).unwrap();
        let redo = Redo::new(file, header(), first, 4096, 1 << 20);
        redo.begin_stretch(task).unwrap();
        Redo::put_in_place(storage, task).unwrap();
        redo
    }

    fn read_back(storage: &MemoryStorage, task: &mut Task) -> Vec<Vec<u8>> {
        let file = storage.open(task, FILE).unwrap();
        let (header, checkpoint) = read_header(&*file, task).unwrap();
        let bytes = read_frames(&*file, task, header, checkpoint).unwrap();
        frames(&bytes, checkpoint.lsn).map(|(_, _, payload)| payload.to_vec()).collect()
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
        storage.flip_bit(FILE, 100).unwrap();
        let file = storage.open(&mut task, FILE).unwrap();
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

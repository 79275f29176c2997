//! The file of a tablespace: checksums, page compression with holes, and what a page looks like on storage.

use super::durable_file::{DurableFile, read_padded};
use super::tablespace::Tablespace;
use crate::btree::options::Options;
use crate::btree::page::{
    AT_ALGORITHM, AT_CHECKSUM, AT_STORED, HEADER_BYTES, Kind, PageZip, SLOT_BYTES, View, get_u32, put_u32,
};
use crate::codec::{Compression, Packed, filled_bytes};
use crate::cost::Work;
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::storage::StorageFile;
use crate::task::Task;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Unit in which holes give space back.
pub const BLOCK_BYTES: usize = 4096;
/// In the byte of a page's algorithm: it is counted as compressed, and kept as it is.
const KEPT_FLAG: u8 = 0x80;

thread_local! {
    static COMPRESSED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The file, and what its pages are in it. With `key_block_size` the pool compresses them, and this sees slots only.
pub struct FilSpace {
    file: DurableFile,
    tablespace: Tablespace,
    /// Bytes of a page in the file: those of the page, or `key_block_size`.
    slot_bytes: usize,
    /// A slot holds the compressed form of a page.
    packed: bool,
    /// Pages have a checksum, and what is read is checked.
    is_checked: bool,
    compression: Compression,
    level: Option<i32>,
    /// Of each level of a tree the last page that was compressed, where the file keeps them as they are: the next ones
    /// hold the like.
    likes: Mutex<HashMap<Like, Packed>>,
    /// Held while the file grows: a length that was looked up before another write grew the file would cut that off.
    growing: Mutex<()>,
    /// Bytes that the file is known to keep.
    durable_bytes: AtomicU64,
}

/// Pages that are as compressible as one another: tree, kind and level.
type Like = (u32, u8, u8);

impl FilSpace {
    /// Of one tablespace, over its file.
    pub fn new(file: Arc<dyn StorageFile>, tablespace: Tablespace, options: &Options) -> Self {
        let compression = options.compression();
        let has_level = matches!(compression, Compression::Zlib | Compression::Zstd);
        let level = has_level.then_some(options.innodb_compression_level as i32);
        let (slot_bytes, packed) = (tablespace.slot_bytes(options), tablespace.is_zip(options));
        let is_checked = !file.cannot_rot();
        let (file, growing, likes) = (DurableFile::new(file), Mutex::default(), Mutex::default());
        let durable_bytes = AtomicU64::new(0);
        Self { file, tablespace, slot_bytes, packed, is_checked, compression, level, likes, growing, durable_bytes }
    }

    /// Whose file it is.
    pub fn tablespace(&self) -> Tablespace {
        self.tablespace
    }

    /// Bytes of a page in the file.
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// Bytes of the compressed form of a page that the pool keeps; 0 if pages have none.
    pub fn zip_bytes(&self) -> usize {
        if self.packed { self.slot_bytes } else { 0 }
    }

    /// Whether the file has a page, perhaps in part.
    pub fn has(&self, page_no: u32) -> bool {
        self.offset(page_no) < self.file.len()
    }

    fn offset(&self, page_no: u32) -> u64 {
        u64::from(page_no - self.tablespace.first_page()) * self.slot_bytes as u64
    }

    /// Turns the copy of a page into what storage holds and returns the bytes to write, a whole number of blocks.
    pub fn init_for_writing(&self, task: &mut Task, image: &mut [u8]) -> Result<usize> {
        image[AT_ALGORITHM] = Compression::None as u8;
        let stored = match self.compression {
            Compression::None => None,
            _ if self.slot_bytes == BLOCK_BYTES => None,
            // Compression is an attribute of a table, and undo belongs to none.
            _ if View(image).kind() == Kind::Undo => None,
            _ if self.is_checked => self.compress(task, image)?,
            _ => self.count_as_compressed(task, image)?,
        };
        let covered = stored.unwrap_or(self.slot_bytes);
        task.charge(Work::ChecksumByte, covered as u64);
        if self.is_checked {
            let sum = crc32c::crc32c(&image[4..covered]);
            put_u32(image, AT_CHECKSUM, sum);
        }
        Ok(covered.next_multiple_of(BLOCK_BYTES))
    }

    /// Compresses in place if that saves a block: the bytes that are used then.
    fn compress(&self, task: &mut Task, image: &mut [u8]) -> Result<Option<usize>> {
        clear_gap(image);
        COMPRESSED.with_borrow_mut(|packed| {
            self.compression.compress(task, self.level, &image[HEADER_BYTES..], packed)?;
            let stored = HEADER_BYTES + packed.len();
            if !self.saves_a_block(stored) {
                return Ok(None);
            }
            image[HEADER_BYTES..stored].copy_from_slice(packed);
            image[stored..].fill(0);
            image[AT_ALGORITHM] = self.compression as u8;
            put_u32(image, AT_STORED, packed.len() as u32);
            Ok(Some(stored))
        })
    }

    fn saves_a_block(&self, stored: usize) -> bool {
        stored.next_multiple_of(BLOCK_BYTES) < self.slot_bytes
    }

    /// Charges for compressing a page, and leaves it as it is: the bytes that are used then, if that saves a block.
    fn count_as_compressed(&self, task: &mut Task, image: &mut [u8]) -> Result<Option<usize>> {
        clear_gap(image);
        let (view, raw) = (View(image), &image[HEADER_BYTES..]);
        let (like, filled) = ((view.tree(), view.kind() as u8, view.level()), filled_bytes(raw) as usize);
        let mut likes = self.likes.lock();
        let packed_bytes = match likes.get_mut(&like) {
            Some(packed) if packed.stands_for_more() => {
                packed.charge(task, raw, filled);
                packed.bytes_of(filled)
            }
            _ => COMPRESSED.with_borrow_mut(|packed| {
                let level = self.compression.level_of_products(self.level);
                self.compression.compress(task, level, raw, packed)?;
                likes.insert(like, Packed::of(self.compression, filled.max(1), packed));
                Ok::<_, Error>(packed.len())
            })?,
        };
        let stored = HEADER_BYTES + packed_bytes;
        if !self.saves_a_block(stored) {
            return Ok(None);
        }
        image[AT_ALGORITHM] = self.compression as u8 | KEPT_FLAG;
        put_u32(image, AT_STORED, packed_bytes as u32);
        Ok(Some(stored))
    }

    /// Writes pages that are ready for it and lie side by side; only the first `stored` bytes of the last count.
    pub fn write(&self, task: &mut Task, purpose: Purpose, page_no: u32, images: &[u8], stored: usize) -> Result<()> {
        let offset = self.offset(page_no);
        let bytes = images.len() - self.slot_bytes + stored;
        let page_end = offset + images.len() as u64;
        if self.file.len() < page_end {
            let _growing = self.growing.lock();
            self.file.write_at(task, purpose, offset, &images[..bytes])?;
            if self.file.len() < page_end {
                self.file.inner().set_len(task, page_end)?;
            }
        } else {
            self.file.write_at(task, purpose, offset, &images[..bytes])?;
        }
        if stored < self.slot_bytes {
            self.file.inner().punch_hole(task, offset + bytes as u64, (self.slot_bytes - stored) as u64)?;
            self.file.inner().lay(offset + bytes as u64, &images[bytes..]);
        }
        Ok(())
    }

    /// Makes written pages durable.
    pub fn sync(&self, task: &mut Task) -> Result<()> {
        let bytes = self.file.len();
        self.file.sync(task, Purpose::PageFlush)?;
        self.durable_bytes.fetch_max(bytes, Ordering::AcqRel);
        Ok(())
    }

    /// Bytes that a power cut leaves of the file at least.
    pub fn durable_bytes(&self) -> u64 {
        self.durable_bytes.load(Ordering::Acquire)
    }

    /// Fails if the file is shorter than it was once known to be.
    pub fn check_length(&self, durable_bytes: u64) -> Result<()> {
        let bytes = self.file.len();
        if bytes < durable_bytes {
            let what = format!("the file should have {durable_bytes} bytes at least, it has {bytes}");
            return Err(Error::corruption(self.tablespace.file_name(), bytes, what));
        }
        self.durable_bytes.fetch_max(durable_bytes, Ordering::AcqRel);
        Ok(())
    }

    /// Reads and checks a page. `blocks` is what the page takes on storage, if known.
    pub fn read(
        &self,
        task: &mut Task,
        purpose: Purpose,
        page_no: u32,
        blocks: Option<usize>,
        out: &mut [u8],
    ) -> Result<()> {
        self.read_raw(task, purpose, page_no, blocks, out)?;
        self.open_page(task, page_no, out)
    }

    /// Checks the slot of a compressed table's page, and makes the page of it.
    pub fn open_zip(&self, task: &mut Task, page_no: u32, slot: &[u8], out: &mut [u8]) -> Result<()> {
        match self.flaw(task, page_no, slot) {
            Some(what) => Err(self.corruption(page_no, what)),
            None => self.expand(task, page_no, slot, out),
        }
    }

    /// Makes a page of its slot. A page that is none of a tree fills no more than the slot, as it is.
    pub fn expand(&self, task: &mut Task, page_no: u32, slot: &[u8], out: &mut [u8]) -> Result<()> {
        if View(slot).kind() == Kind::Tree {
            PageZip(slot).decompress(task, out).map_err(|what| self.corruption(page_no, what))?;
        } else {
            out[..slot.len()].copy_from_slice(slot);
            out[slot.len()..].fill(0);
        }
        self.check_form(page_no, out)
    }

    fn check_form(&self, page_no: u32, page: &[u8]) -> Result<()> {
        let defect = if self.is_checked { View(page).defect() } else { None };
        defect.map_or(Ok(()), |what| Err(self.corruption(page_no, what)))
    }

    /// The error that says what is wrong with a page.
    pub fn corruption(&self, page_no: u32, what: impl Into<String>) -> Error {
        Error::corruption(self.tablespace.file_name(), self.offset(page_no), what)
    }

    /// Reads what storage holds of a page; what the file lacks reads as zeros.
    pub fn read_raw(
        &self,
        task: &mut Task,
        purpose: Purpose,
        page_no: u32,
        blocks: Option<usize>,
        out: &mut [u8],
    ) -> Result<()> {
        let there = blocks.map_or(self.slot_bytes, |blocks| blocks * BLOCK_BYTES).min(self.slot_bytes);
        let (out, hole) = out.split_at_mut(there);
        hole.fill(0);
        let offset = self.offset(page_no);
        read_padded(self.file.inner(), task, purpose, offset, out)?;
        if !hole.is_empty() {
            self.file.inner().lift(offset + there as u64, hole);
        }
        Ok(())
    }

    /// Reads pages that lie side by side in one request.
    pub fn read_run(&self, task: &mut Task, purpose: Purpose, page_no: u32, out: &mut [u8]) -> Result<()> {
        let offset = self.offset(page_no);
        read_padded(self.file.inner(), task, purpose, offset, out)
    }

    /// Checks a page as storage held it, and decompresses it in place.
    pub fn open_page(&self, task: &mut Task, page_no: u32, image: &mut [u8]) -> Result<()> {
        let wrong = |what: String| self.corruption(page_no, what);
        if let Some(what) = self.flaw(task, page_no, image) {
            return Err(wrong(what));
        }
        let is_kept = !self.is_checked && image[AT_ALGORITHM] & KEPT_FLAG != 0;
        let byte = if is_kept { image[AT_ALGORITHM] & !KEPT_FLAG } else { image[AT_ALGORITHM] };
        let Some(algorithm) = Compression::from_byte(byte) else {
            return Err(wrong("unknown compression algorithm".into()));
        };
        if is_kept {
            algorithm.charge_decompressed(task, filled_bytes(&image[HEADER_BYTES..]));
            image[AT_ALGORITHM] = 0;
        } else if algorithm != Compression::None {
            let stored = get_u32(image, AT_STORED) as usize;
            let packed = image[HEADER_BYTES..HEADER_BYTES + stored].to_vec();
            algorithm.decompress(task, &packed, &mut image[HEADER_BYTES..]).map_err(|e| wrong(e.to_string()))?;
            image[AT_ALGORITHM] = 0;
        }
        self.check_form(page_no, image)
    }

    /// What is wrong with a page as storage held it.
    pub fn flaw(&self, task: &mut Task, page_no: u32, image: &[u8]) -> Option<String> {
        let covered = match image[AT_ALGORITHM] {
            0 => self.slot_bytes,
            _ => HEADER_BYTES.saturating_add(get_u32(image, AT_STORED) as usize),
        };
        task.charge(Work::ChecksumByte, covered.min(self.slot_bytes) as u64);
        let sum = || image.get(4..covered).map(crc32c::crc32c);
        if self.is_checked && sum() != Some(get_u32(image, AT_CHECKSUM)) {
            return Some(format!("the checksum of page {page_no} does not match"));
        }
        let found = View(image).page_no();
        (found != page_no).then(|| format!("page {page_no} says that it is page {found}"))
    }
}

/// Zeroes the bytes between heap and directory, which hold remains of removed records.
fn clear_gap(image: &mut [u8]) {
    let view = View(image);
    if view.kind() == Kind::Tree {
        let (top, end) = (view.heap_top(), view.size() - SLOT_BYTES * view.count());
        image[top..end].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btree::page::{Edit, Payload, Stored};
    use crate::btree::tests::slow_storage::SlowStorage;
    use crate::scale::Scale;
    use crate::storage::simulated::SimulatedStorage;
    use crate::storage::{FileOptions, MemoryStorage, Storage};
    use crate::task::wall::spawn;
    use std::sync::Barrier;
    use xxhash_rust::xxh3::xxh3_64;

    #[test]
    fn writers_that_grow_the_file_do_not_cut_one_another_off() {
        const PAGE: usize = 8192;
        const PAGES: u32 = 2000;
        const WRITERS: u32 = 4;
        let mut task = Task::wall(0);
        let storage = SlowStorage(Arc::new(MemoryStorage::new(Arc::default())));
        let file = storage.create(&mut task, Tablespace::System.file_name(), FileOptions::DIRECT).unwrap();
        let lz4 = Options { innodb_page_size: PAGE as u64, ..Options::default() };
        let lz4 = Options { innodb_compression_algorithm: "lz4".into(), ..lz4 };
        let pages = Arc::new(FilSpace::new(file, Tablespace::System, &lz4));
        let start = Arc::new(Barrier::new(WRITERS as usize));
        let writers = (0..WRITERS).map(|first| {
            let (pages, start) = (pages.clone(), start.clone());
            spawn(format!("writer-{first}"), move || {
                start.wait();
                let mut task = Task::wall(first);
                for page_no in (first..PAGES).step_by(WRITERS as usize) {
                    let mut image = vec![0; PAGE];
                    Edit(&mut image).format(page_no, 0, Kind::Tree, 0);
                    let stored = pages.init_for_writing(&mut task, &mut image).unwrap();
                    assert_eq!(stored, BLOCK_BYTES);
                    pages.write(&mut task, Purpose::PageFlush, page_no, &image, stored).unwrap();
                }
            })
        });
        writers.collect::<Vec<_>>().into_iter().for_each(|writer| writer.join().unwrap());
        let mut image = vec![0; PAGE];
        for page_no in 0..PAGES {
            pages.read(&mut task, Purpose::UserRead, page_no, Some(1), &mut image).unwrap();
        }
        assert!(pages.has(PAGES - 1) && !pages.has(PAGES));
    }

    /// A leaf with so many rows that compress to about half of their bytes.
    fn leaf(page_no: u32, rows: u32) -> Vec<u8> {
        let mut image = vec![0; 16 << 10];
        Edit(&mut image).format(page_no, 3, Kind::Tree, 0);
        for row in 0..rows {
            let noise = xxh3_64(&(page_no * 1000 + row).to_le_bytes()).to_le_bytes().repeat(4);
            let value: Vec<u8> = noise.iter().flat_map(|byte| [byte & 15, byte >> 4]).collect();
            Edit(&mut image).insert(row as usize, &row.to_be_bytes(), Payload::Value(Stored::Inline(&value)));
        }
        image
    }

    #[test]
    fn pages_of_the_simulation_are_counted_as_compressed_and_come_back_as_they_were() {
        const PAGES: u32 = 48;
        for algorithm in ["zlib", "lz4", "zstd"] {
            let storage = SimulatedStorage::new(Arc::default(), 1 << 30, 0, Scale::FULL);
            let options = Options { innodb_compression_algorithm: algorithm.into(), ..Options::default() };
            let in_memory = MemoryStorage::new(Arc::default());
            let [mut counted, mut done] = [Task::wall(0), Task::wall(1)];
            let file = storage.create(&mut counted, algorithm, FileOptions::DIRECT).unwrap();
            let [simulated, real] = [file, in_memory.create(&mut done, algorithm, FileOptions::DIRECT).unwrap()]
                .map(|file| FilSpace::new(file, Tablespace::System, &options));
            let mut blocks = [0, 0];
            for page_no in 0..PAGES {
                // Rows of pages that lie side by side are as many, more or less.
                let page = leaf(page_no, 150 + page_no % 5);
                let [mut kept, mut packed] = [page.clone(), page.clone()];
                let stored = simulated.init_for_writing(&mut counted, &mut kept).unwrap();
                blocks[0] += stored / BLOCK_BYTES;
                blocks[1] += real.init_for_writing(&mut done, &mut packed).unwrap() / BLOCK_BYTES;
                simulated.write(&mut counted, Purpose::PageFlush, page_no, &kept, stored).unwrap();
                let mut read = vec![1; page.len()];
                simulated
                    .read(&mut counted, Purpose::UserRead, page_no, Some(stored / BLOCK_BYTES), &mut read)
                    .unwrap();
                put_u32(&mut read, AT_STORED, 0);
                assert!(read == page, "page {page_no}");
            }
            assert!(blocks[0] < 4 * PAGES as usize, "{algorithm} saves blocks");
            assert!(blocks[0].abs_diff(blocks[1]) * 20 <= blocks[1], "{algorithm}: {blocks:?}");
            let written = storage.meters().snapshot().of(Purpose::PageFlush).written_bytes;
            assert_eq!(written, (blocks[0] * BLOCK_BYTES) as u64);
        }
    }
}

//! The file of a tablespace: checksums, page compression with holes, and what a page looks like on storage.

use super::durable_file::{DurableFile, read_padded};
use super::tablespace::Tablespace;
use crate::btree::options::Options;
use crate::btree::page::{
    AT_ALGORITHM, AT_CHECKSUM, AT_STORED, HEADER_BYTES, Kind, PageZip, SLOT_BYTES, View, get_u32, put_u32,
};
use crate::codec::Compression;
use crate::cost::Work;
use crate::error::{Error, Result};
use crate::metrics::Purpose;
use crate::storage::StorageFile;
use crate::task::Task;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Unit in which holes give space back.
pub const BLOCK_BYTES: usize = 4096;

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
    /// Held while the file grows: a length that was looked up before another write grew the file would cut that off.
    growing: Mutex<()>,
    /// Bytes that the file is known to keep.
    durable_bytes: AtomicU64,
}

impl FilSpace {
    /// Of one tablespace, over its file.
    pub fn new(file: Arc<dyn StorageFile>, tablespace: Tablespace, options: &Options) -> Self {
        let compression = options.compression();
        let has_level = matches!(compression, Compression::Zlib | Compression::Zstd);
        let level = has_level.then_some(options.innodb_compression_level as i32);
        let (slot_bytes, packed) = (tablespace.slot_bytes(options), tablespace.is_zip(options));
        let is_checked = !file.cannot_rot();
        let (file, growing) = (DurableFile::new(file), Mutex::default());
        let durable_bytes = AtomicU64::new(0);
        Self { file, tablespace, slot_bytes, packed, is_checked, compression, level, growing, durable_bytes }
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
            _ => self.compress(task, image)?,
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
            if stored.next_multiple_of(BLOCK_BYTES) >= self.slot_bytes {
                return Ok(None);
            }
            image[HEADER_BYTES..stored].copy_from_slice(packed);
            image[stored..].fill(0);
            image[AT_ALGORITHM] = self.compression as u8;
            put_u32(image, AT_STORED, packed.len() as u32);
            Ok(Some(stored))
        })
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
        out[there..].fill(0);
        let offset = self.offset(page_no);
        read_padded(self.file.inner(), task, purpose, offset, &mut out[..there])
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
        let algorithm = Compression::from_byte(image[AT_ALGORITHM]);
        let Some(algorithm) = algorithm else { return Err(wrong("unknown compression algorithm".into())) };
        if algorithm != Compression::None {
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
    use crate::btree::page::Edit;
    use crate::btree::tests::slow_storage::SlowStorage;
    use crate::storage::{FileOptions, MemoryStorage, Storage};
    use crate::task::wall::spawn;
    use std::sync::Barrier;

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
}

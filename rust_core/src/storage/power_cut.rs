//! What a power cut leaves of files and of their directory: all that was synced, and of the rest whatever an operating
//! system and a disk could have brought to the medium on their own.
//!
//! Every change that no sync has covered is kept with its place in the order of all of them. A survivor is chosen from
//! these: bytes in sectors of 512, of which each may hold any of the states it went through; entries of the directory
//! one by one, as a journal that commits early would leave them.

use super::decoded::DecodedParts;
use parking_lot::RwLock;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bytes that a device writes or loses as a whole.
pub const SECTOR_BYTES: usize = 512;

/// What of the changes that were not synced a power cut leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashKeeps {
    /// Nothing: only what was synced.
    Synced,
    /// All of them, as after the death of the process alone.
    Everything,
    /// In each file some of its sectors, all or none, and some of the directory's changes, by coins from this seed:
    /// writes that were reordered, lengths without their bytes, names without their files' bytes and bytes without
    /// their names.
    Random {
        /// Seed of the coins.
        seed: u64,
    },
    /// The oldest of them up to one by this seed, of which only a part was done: a disk that keeps the order.
    Torn {
        /// Seed of where it ends.
        seed: u64,
    },
}

/// A change of a file that no sync has covered.
#[derive(Debug)]
pub(super) struct Unsynced {
    /// Its place among all changes of the storage.
    pub order: u64,
    pub change: Change,
}

#[derive(Debug)]
pub(super) enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Resize { bytes: usize },
}

impl Change {
    /// Does it to an image.
    pub fn apply(&self, image: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => write(image, *offset, bytes),
            Self::Resize { bytes } => image.resize(*bytes, 0),
        }
    }

    /// Does it up to a sector.
    fn apply_part(&self, image: &mut Vec<u8>, coin: &mut Xoshiro256PlusPlus) {
        if let Self::Write { offset, bytes } = self {
            let sectors = pieces(*offset, bytes.len()).count();
            let kept = coin.random_range(0..=sectors);
            if let Some((start, end)) = pieces(*offset, bytes.len()).take(kept).last() {
                debug_assert!(start < end);
                write(image, *offset, &bytes[..end - offset]);
            }
        }
    }
}

fn write(image: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if image.len() < end {
        image.resize(end, 0);
    }
    image[offset..end].copy_from_slice(bytes);
}

/// The parts of a range that lie in one sector each.
fn pieces(offset: usize, bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    let end = offset + bytes;
    let mut at = offset;
    std::iter::from_fn(move || {
        let start = at;
        at = end.min((start / SECTOR_BYTES + 1) * SECTOR_BYTES);
        (start < end).then_some((start, at))
    })
}

/// A file: what is read, and what would be left of it.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// What is read. Forks of a storage share it until one of them writes.
    pub live: Arc<Vec<u8>>,
    /// What readers made of it. Forks share it as long as they share the bytes.
    pub decoded: Option<Arc<DecodedParts>>,
    /// The image at the last sync.
    pub durable: Vec<u8>,
    /// Changes since, oldest first.
    pub unsynced: Vec<Unsynced>,
    /// Units given back.
    pub holes: BTreeSet<u64>,
}

impl Content {
    /// Makes all changes durable.
    pub fn sync(&mut self) {
        for unsynced in self.unsynced.drain(..) {
            unsynced.change.apply(&mut self.durable);
        }
    }

    fn survivor(&self, choice: &mut Choice) -> Vec<u8> {
        match choice {
            Choice::Nothing => self.durable.clone(),
            Choice::Everything => (*self.live).clone(),
            Choice::Some(coin) => match coin.random_range(0..6) {
                0 => self.durable.clone(),
                1 => (*self.live).clone(),
                2 => {
                    let mut image = self.some_sectors(coin);
                    image.resize(self.live.len(), 0);
                    image
                }
                _ => self.some_sectors(coin),
            },
            Choice::UpTo(last, coin) => {
                let mut image = self.durable.clone();
                for unsynced in self.unsynced.iter().take_while(|unsynced| unsynced.order <= *last) {
                    if unsynced.order == *last {
                        unsynced.change.apply_part(&mut image, coin);
                    } else {
                        unsynced.change.apply(&mut image);
                    }
                }
                image
            }
        }
    }

    /// The durable image with each sector as it was after some of the writes to it, and lengths as after some of the
    /// changes of the length.
    fn some_sectors(&self, coin: &mut Xoshiro256PlusPlus) -> Vec<u8> {
        let (mut writes, mut resizes) = (BTreeMap::<usize, usize>::new(), 0);
        for Unsynced { change, .. } in &self.unsynced {
            match change {
                Change::Write { offset, bytes } => {
                    for (start, _) in pieces(*offset, bytes.len()) {
                        *writes.entry(start / SECTOR_BYTES).or_default() += 1;
                    }
                }
                Change::Resize { .. } => resizes += 1,
            }
        }
        for left in writes.values_mut() {
            *left = match coin.random_range(0..8) {
                0..3 => 0,
                3..6 => *left,
                _ => coin.random_range(0..=*left),
            };
        }
        let mut resizes_left = coin.random_range(0..=resizes);
        let mut image = self.durable.clone();
        for Unsynced { change, .. } in &self.unsynced {
            match change {
                Change::Write { offset, bytes } => {
                    for (start, end) in pieces(*offset, bytes.len()) {
                        if let Some(left) = writes.get_mut(&(start / SECTOR_BYTES)).filter(|left| **left > 0) {
                            *left -= 1;
                            write(&mut image, start, &bytes[start - offset..end - offset]);
                        }
                    }
                }
                Change::Resize { bytes } if resizes_left > 0 => {
                    resizes_left -= 1;
                    image.resize(*bytes, 0);
                }
                Change::Resize { .. } => {}
            }
        }
        image
    }
}

pub(super) type SharedContent = Arc<RwLock<Content>>;

/// A change of the directory that no sync has covered.
#[derive(Debug, Clone)]
pub(super) enum EntryChange {
    Create { name: String, content: SharedContent },
    Remove { name: String },
    Rename { from: String, to: String, content: SharedContent },
}

impl EntryChange {
    /// Does it to a set of entries.
    pub fn apply(&self, files: &mut BTreeMap<String, SharedContent>) {
        match self {
            Self::Create { name, content } => _ = files.insert(name.clone(), content.clone()),
            Self::Remove { name } => _ = files.remove(name),
            Self::Rename { from, to, content } => {
                files.remove(from);
                files.insert(to.clone(), content.clone());
            }
        }
    }
}

/// The entries: those that are seen, and those that would be left.
#[derive(Debug, Default)]
pub(super) struct Directory {
    /// What is seen.
    pub live: BTreeMap<String, SharedContent>,
    /// The entries at the last sync.
    pub durable: BTreeMap<String, SharedContent>,
    /// Changes since, oldest first, with their places among all changes of the storage.
    pub unsynced: Vec<(u64, EntryChange)>,
}

/// Which changes survive.
enum Choice {
    Nothing,
    Everything,
    Some(Xoshiro256PlusPlus),
    /// Those before the change at this place, and a part of it.
    UpTo(u64, Xoshiro256PlusPlus),
}

impl Directory {
    /// Does a change, and notes it with its place.
    pub fn change(&mut self, order: u64, change: EntryChange) {
        change.apply(&mut self.live);
        self.unsynced.push((order, change));
    }

    /// Makes all changes durable.
    pub fn sync(&mut self) {
        self.unsynced.clear();
        self.durable.clone_from(&self.live);
    }

    /// The files that a power cut leaves, with their bytes.
    pub fn survivors(&self, keeps: CrashKeeps) -> BTreeMap<String, Vec<u8>> {
        let mut choice = match keeps {
            CrashKeeps::Synced => Choice::Nothing,
            CrashKeeps::Everything => Choice::Everything,
            CrashKeeps::Random { seed } => Choice::Some(Xoshiro256PlusPlus::seed_from_u64(seed)),
            CrashKeeps::Torn { seed } => {
                let mut coin = Xoshiro256PlusPlus::seed_from_u64(seed);
                Choice::UpTo(self.place_of_the_tear(&mut coin), coin)
            }
        };
        let entries = self.surviving_entries(&mut choice);
        entries.into_iter().map(|(name, content)| (name, content.read().survivor(&mut choice))).collect()
    }

    fn surviving_entries(&self, choice: &mut Choice) -> BTreeMap<String, SharedContent> {
        let mut entries = self.durable.clone();
        let count = self.unsynced.len();
        let kept: Vec<bool> = match choice {
            Choice::Nothing => vec![false; count],
            Choice::Everything => vec![true; count],
            Choice::Some(coin) => match coin.random_range(0..4) {
                0 => vec![false; count],
                1 => vec![true; count],
                2 => {
                    let first = coin.random_range(0..=count);
                    (0..count).map(|n| n < first).collect()
                }
                _ => (0..count).map(|_| coin.random()).collect(),
            },
            Choice::UpTo(last, _) => self.unsynced.iter().map(|(order, _)| order < last).collect(),
        };
        for ((_, change), kept) in self.unsynced.iter().zip(kept) {
            if kept {
                change.apply(&mut entries);
            }
        }
        entries
    }

    /// Mostly the newest change, which is the one under way, else any.
    fn place_of_the_tear(&self, coin: &mut Xoshiro256PlusPlus) -> u64 {
        let files = self.durable.values().chain(self.unsynced.iter().filter_map(|(_, change)| match change {
            EntryChange::Create { content, .. } | EntryChange::Rename { content, .. } => Some(content),
            EntryChange::Remove { .. } => None,
        }));
        let mut places = self.unsynced.iter().map(|(order, _)| *order).collect::<Vec<_>>();
        for content in files {
            places.extend(content.read().unsynced.iter().map(|unsynced| unsynced.order));
        }
        places.sort_unstable();
        places.dedup();
        match places.len() {
            0 => 0,
            count if coin.random() => places[count - 1],
            count => places[coin.random_range(0..count)],
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::metrics::Purpose;
    use crate::storage::FileOptions;
    use crate::storage::memory::CrashKeeps;
    use crate::storage::{MemoryStorage, Storage, StorageFile};
    use crate::task::Task;
    use std::collections::BTreeSet;

    fn storage() -> (MemoryStorage, Task) {
        (MemoryStorage::new(std::sync::Arc::default()), Task::wall(0))
    }

    fn bytes(storage: &MemoryStorage, name: &str) -> Option<Vec<u8>> {
        let mut task = Task::wall(0);
        let file = storage.open(&mut task, name, FileOptions::DIRECT).ok()?;
        let mut bytes = vec![0; file.len() as usize];
        file.read_at(&mut task, Purpose::Recovery, 0, &mut bytes).unwrap();
        Some(bytes)
    }

    /// All survivors by 400 seeds.
    fn all(storage: &MemoryStorage, name: &str, keeps: impl Fn(u64) -> CrashKeeps) -> BTreeSet<Option<Vec<u8>>> {
        (0..400).map(|seed| bytes(&storage.crash_clone(keeps(seed)), name)).collect()
    }

    fn random(seed: u64) -> CrashKeeps {
        CrashKeeps::Random { seed }
    }

    fn torn(seed: u64) -> CrashKeeps {
        CrashKeeps::Torn { seed }
    }

    fn synced_file(storage: &MemoryStorage, task: &mut Task, name: &str) -> std::sync::Arc<dyn StorageFile> {
        let file = storage.create(task, name, FileOptions::DIRECT).unwrap();
        storage.sync_directory(task).unwrap();
        file
    }

    #[test]
    fn a_sector_survives_in_any_state_that_it_had() {
        let (storage, mut task) = storage();
        let file = synced_file(&storage, &mut task, "f");
        for n in 1..=3u8 {
            file.write_at(&mut task, Purpose::Wal, 0, &[n; 10]).unwrap();
        }
        let expected = [vec![], vec![0; 10], vec![1; 10], vec![2; 10], vec![3; 10]].map(Some);
        assert_eq!(all(&storage, "f", random), expected.into_iter().collect());
    }

    #[test]
    fn sectors_of_one_write_survive_on_their_own_unless_the_disk_keeps_the_order() {
        let (storage, mut task) = storage();
        let file = synced_file(&storage, &mut task, "f");
        file.write_at(&mut task, Purpose::Wal, 0, &[1; 1024]).unwrap();
        let (first, second) = (vec![1; 512], [vec![0; 512], vec![1; 512]].concat());
        assert!(all(&storage, "f", random).is_superset(&[Some(first.clone()), Some(second.clone())].into()));
        let ordered = [vec![], first, vec![1; 1024]].map(Some);
        assert_eq!(all(&storage, "f", torn), ordered.into_iter().collect());
    }

    #[test]
    fn a_disk_that_keeps_the_order_leaves_no_later_write_without_the_earlier_ones() {
        let (storage, mut task) = storage();
        let (a, b) = (synced_file(&storage, &mut task, "a"), synced_file(&storage, &mut task, "b"));
        a.write_at(&mut task, Purpose::Wal, 0, &[1; 10]).unwrap();
        b.write_at(&mut task, Purpose::Wal, 0, &[1; 10]).unwrap();
        a.write_at(&mut task, Purpose::Wal, 10, &[2; 10]).unwrap();
        let lens = |keeps: CrashKeeps| {
            let left = storage.crash_clone(keeps);
            (bytes(&left, "a").unwrap().len(), bytes(&left, "b").unwrap().len())
        };
        let found = (0..100).map(|seed| lens(torn(seed))).collect::<BTreeSet<_>>();
        assert_eq!(found, [(0, 0), (10, 0), (10, 10), (20, 10)].into());
    }

    #[test]
    fn what_was_synced_survives_whatever_is_chosen() {
        let (storage, mut task) = storage();
        let file = synced_file(&storage, &mut task, "f");
        file.write_at(&mut task, Purpose::Wal, 0, &[1; 2000]).unwrap();
        file.sync(&mut task, Purpose::Wal).unwrap();
        file.write_at(&mut task, Purpose::Wal, 2000, &[2; 2000]).unwrap();
        for keeps in [random as fn(u64) -> CrashKeeps, torn, |_| CrashKeeps::Synced, |_| CrashKeeps::Everything] {
            for left in all(&storage, "f", keeps) {
                assert_eq!(left.unwrap()[..2000], [1; 2000]);
            }
        }
    }

    #[test]
    fn changes_of_the_directory_become_durable_early_one_by_one_or_in_order() {
        let (storage, mut task) = storage();
        synced_file(&storage, &mut task, "old");
        synced_file(&storage, &mut task, "from");
        storage.create(&mut task, "new", FileOptions::DIRECT).unwrap();
        storage.remove(&mut task, "old").unwrap();
        storage.rename(&mut task, "from", "to").unwrap();
        let names = |keeps: fn(u64) -> CrashKeeps| {
            (0..400).map(|seed| storage.crash_clone(keeps(seed)).list().unwrap().join(" ")).collect::<BTreeSet<_>>()
        };
        assert_eq!(names(random).len(), 8, "every subset: {:?}", names(random));
        assert_eq!(names(torn), ["from old", "from new old", "from new"].map(str::to_owned).into());
        storage.sync_directory(&mut task).unwrap();
        assert_eq!(names(random), ["new to".to_owned()].into());
    }

    #[test]
    fn a_shorter_length_becomes_durable_early_or_with_the_sync() {
        let (storage, mut task) = storage();
        let file = synced_file(&storage, &mut task, "f");
        file.write_at(&mut task, Purpose::Wal, 0, &[1; 100]).unwrap();
        file.sync(&mut task, Purpose::Wal).unwrap();
        file.set_len(&mut task, 10).unwrap();
        assert_eq!(all(&storage, "f", random), [Some(vec![1; 10]), Some(vec![1; 100])].into());
        assert_eq!(bytes(&storage.crash_clone(CrashKeeps::Synced), "f"), Some(vec![1; 100]));
        file.sync(&mut task, Purpose::Wal).unwrap();
        assert_eq!(bytes(&storage.crash_clone(CrashKeeps::Synced), "f"), Some(vec![1; 10]));
    }

    #[test]
    fn bytes_of_a_failed_sync_are_not_made_durable_by_the_next() {
        let (storage, mut task) = storage();
        let file = synced_file(&storage, &mut task, "f");
        file.write_at(&mut task, Purpose::Wal, 0, &[1; 10]).unwrap();
        storage.lose_unsynced("f");
        file.write_at(&mut task, Purpose::Wal, 10, &[2; 10]).unwrap();
        file.sync(&mut task, Purpose::Wal).unwrap();
        assert_eq!(bytes(&storage, "f"), Some([[1; 10], [2; 10]].concat()));
        assert_eq!(bytes(&storage.crash_clone(CrashKeeps::Synced), "f"), Some([[0; 10], [2; 10]].concat()));
    }
}

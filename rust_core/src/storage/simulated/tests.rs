use super::*;
use crate::cost::WorkCounts;
use crate::metrics::PurposeCounts;
use crate::storage::PageCached;
use crate::task::Charge;

/// Notes what the device is asked for.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<Access>>>);

impl Charge for Asked {
    fn cpu(&mut self, now_ns: u64, _work: &WorkCounts) -> u64 {
        now_ns
    }
    fn io(&mut self, now_ns: u64, access: Access) -> u64 {
        self.0.lock().push(access);
        now_ns
    }
}

impl Asked {
    fn read(&self) -> Vec<u64> {
        let bytes = |access: &Access| match access {
            Access::Read { bytes, .. } => Some(*bytes),
            _ => None,
        };
        self.0.lock().iter().filter_map(bytes).collect()
    }

    fn written(&self) -> Vec<u64> {
        let bytes = |access: &Access| match access {
            Access::Write { bytes, .. } => Some(*bytes),
            _ => None,
        };
        self.0.lock().iter().filter_map(bytes).collect()
    }
}

fn storage() -> (SimulatedStorage, Asked, Task) {
    with_page_cache(0)
}

fn with_page_cache(page_cache_bytes: u64) -> (SimulatedStorage, Asked, Task) {
    let asked = Asked::default();
    let task = Task::simulated(0, 0, Box::new(asked.clone()));
    (SimulatedStorage::new(Arc::default(), 1 << 30, page_cache_bytes, Scale::FULL), asked, task)
}

fn is_balanced(storage: &SimulatedStorage, asked: &Asked) {
    let metered = storage.meters().snapshot().total();
    assert_eq!(metered.written_bytes, storage.written_bytes());
    assert_eq!(metered.written_bytes, asked.written().iter().sum::<u64>());
    assert_eq!(metered.read_bytes, storage.read_bytes());
    assert_eq!(metered.read_bytes, asked.read().iter().sum::<u64>());
}

/// A table of 10 pages, the last of them in part, opened anew.
fn table(storage: &SimulatedStorage, task: &mut Task, cached: PageCached) -> Arc<dyn StorageFile> {
    let table = storage.create(task, "1.sst", FileOptions::table(cached)).unwrap();
    table.write_at(task, Purpose::Flush, 0, &vec![7; 40_000]).unwrap();
    storage.open(task, "1.sst", FileOptions::table(cached)).unwrap()
}

fn read(table: &dyn StorageFile, task: &mut Task, offset: u64, bytes: usize) {
    let mut buffer = vec![0; bytes];
    table.read_at(task, Purpose::UserRead, offset, &mut buffer).unwrap();
    assert_eq!(buffer, vec![7; bytes]);
}

#[test]
fn a_synced_log_that_grows_writes_whole_blocks_and_a_journal_commit() {
    let (storage, asked, mut task) = storage();
    let log = storage.create(&mut task, "log", FileOptions::LOG).unwrap();
    for n in 0..2 {
        log.write_at(&mut task, Purpose::Wal, n * 100, &[7; 100]).unwrap();
        log.sync(&mut task, Purpose::Wal).unwrap();
    }
    log.sync(&mut task, Purpose::Wal).unwrap();
    assert_eq!(asked.written(), [4096, 2 * 4096, 4096].repeat(2));
    let syncs = asked.0.lock().iter().filter(|access| matches!(access, Access::Sync)).count();
    assert_eq!(syncs, 2 + 2 + 1, "before and behind the record of a commit");
    assert_eq!(storage.meters().snapshot().of(Purpose::Wal).written_bytes, 200);
    is_balanced(&storage, &asked);
}

fn sync(files: &[Arc<dyn StorageFile>], task: &mut Task) {
    for file in files {
        file.sync(task, Purpose::PageFlush).unwrap();
    }
}

#[test]
fn who_syncs_times_commits_them_once_a_tick_for_all_files() {
    let (storage, asked, mut task) = storage();
    let files = [("1", true), ("2", true), ("3", false)]
        .map(|(name, times)| storage.create(&mut task, name, FileOptions::DIRECT.with_times(times)).unwrap());
    let mut commits = |at_ns: u64, file: usize| {
        task.now_ns = at_ns;
        let before = storage.meters().snapshot();
        files[file].write_at(&mut task, Purpose::PageFlush, 0, &[7; 4096]).unwrap();
        sync(&files, &mut task);
        storage.meters().snapshot().since(&before).of(Purpose::FileSystem).written_bytes / (3 * 4096)
    };
    assert_eq!(commits(0, 0), 1);
    assert_eq!(commits(TICK_NS - 1, 0), 0, "the file's time is the same");
    assert_eq!(commits(TICK_NS, 0), 1);
    assert_eq!(commits(TICK_NS, 1), 1);
    assert_eq!(commits(2 * TICK_NS, 2), 0, "nobody asked for this file's times");
    task.now_ns = 3 * TICK_NS;
    files[..2].iter().for_each(|file| file.write_at(&mut task, Purpose::PageFlush, 0, &[7; 4096]).unwrap());
    let before = storage.meters().snapshot();
    sync(&files, &mut task);
    let written = storage.meters().snapshot().since(&before);
    assert_eq!(written.of(Purpose::FileSystem).written_bytes, 3 * 4096, "one commit has the times of both");
    is_balanced(&storage, &asked);
}

#[test]
fn a_log_of_fixed_length_needs_no_journal() {
    let (storage, asked, mut task) = storage();
    let log = storage.create(&mut task, "redo", FileOptions::LOG).unwrap();
    log.write_at(&mut task, Purpose::Redo, 0, &vec![0; 65536]).unwrap();
    log.sync(&mut task, Purpose::Redo).unwrap();
    log.write_at(&mut task, Purpose::Redo, 4000, &[7; 512]).unwrap();
    log.sync(&mut task, Purpose::Redo).unwrap();
    assert_eq!(asked.written(), [65536, 2 * 4096, 4096, 8192]);
    is_balanced(&storage, &asked);
}

#[test]
fn a_log_that_is_not_synced_is_written_in_large_pieces_and_when_it_is_removed() {
    let (storage, asked, mut task) = storage();
    let log = storage.create(&mut task, "log", FileOptions::LOG).unwrap();
    (0..300).for_each(|n| log.write_at(&mut task, Purpose::Wal, n * 4096, &[7; 4096]).unwrap());
    assert_eq!(asked.written(), [1 << 20]);
    storage.remove(&mut task, "log").unwrap();
    assert_eq!(asked.written().iter().sum::<u64>(), 300 * 4096);
    is_balanced(&storage, &asked);
}

#[test]
fn a_storage_that_stands_for_a_larger_one_writes_back_in_smaller_pieces_and_whole_blocks() {
    let (_, asked, mut task) = storage();
    let storage = SimulatedStorage::new(Arc::default(), 1 << 30, 0, Scale::standing_for(64.0));
    let log = storage.create(&mut task, "log", FileOptions::LOG).unwrap();
    (0..50).for_each(|n| log.write_at(&mut task, Purpose::Wal, n * 1000, &[7; 1000]).unwrap());
    assert_eq!(asked.written(), [4 * 4096, 4 * 4096, 4 * 4096]);
    log.sync(&mut task, Purpose::Wal).unwrap();
    assert_eq!(asked.written()[3..], [4096, 2 * 4096, 4096]);
    is_balanced(&storage, &asked);
}

#[test]
fn a_removed_file_is_trimmed_and_its_space_used_again() {
    let (storage, asked, mut task) = storage();
    for name in ["1.sst", "2.sst"] {
        let table = storage.create(&mut task, name, FileOptions::DIRECT).unwrap();
        table.write_at(&mut task, Purpose::Flush, 0, &[7; 10_000]).unwrap();
        storage.remove(&mut task, name).unwrap();
    }
    let asked = asked.0.lock().clone();
    assert_eq!(asked.len(), 4);
    assert!(matches!(asked[1], Access::Trim { bytes: 12_288, .. }));
    assert_eq!((asked[0], asked[1]), (asked[2], asked[3]));
}

#[test]
fn a_buffered_read_reads_whole_pages_and_only_those_that_are_missing() {
    let (storage, asked, mut task) = with_page_cache(1 << 20);
    let table = table(&storage, &mut task, PageCached { reads: true, writes: false });
    read(&*table, &mut task, 9000, 100);
    read(&*table, &mut task, 5000, 15_000);
    read(&*table, &mut task, 39_000, 1000);
    read(&*table, &mut task, 5000, 15_000);
    assert_eq!(asked.read(), [4096, 4096, 2 * 4096, 4096]);
    assert_eq!(storage.meters().snapshot().of(Purpose::UserRead).reads, 4);
    assert_eq!(storage.page_counts(), PageCounts { hits: 5, misses: 5 });
    is_balanced(&storage, &asked);
}

#[test]
fn what_was_written_through_the_page_cache_is_not_read_from_the_device() {
    let (storage, asked, mut task) = with_page_cache(1 << 20);
    let table = table(&storage, &mut task, PageCached { reads: true, writes: true });
    read(&*table, &mut task, 0, 40_000);
    assert_eq!((asked.read(), asked.written()), (vec![], vec![40_000]));
    is_balanced(&storage, &asked);
}

#[test]
fn direct_reads_go_past_the_page_cache_and_read_whole_sectors() {
    let (storage, asked, mut task) = with_page_cache(1 << 20);
    let table = table(&storage, &mut task, PageCached { reads: false, writes: true });
    read(&*table, &mut task, 100, 50);
    read(&*table, &mut task, 100, 50);
    read(&*table, &mut task, 512, 1024);
    read(&*table, &mut task, 500, 4096);
    read(&*table, &mut task, 39_900, 100);
    assert_eq!(asked.read(), [512, 512, 1024, 9 * 512, 2 * 512]);
    is_balanced(&storage, &asked);
}

#[test]
fn a_file_of_the_same_name_finds_no_pages_of_the_one_that_was_removed_or_cut() {
    let (storage, asked, mut task) = with_page_cache(1 << 20);
    let both = PageCached { reads: true, writes: true };
    table(&storage, &mut task, both);
    storage.remove(&mut task, "1.sst").unwrap();
    let again = table(&storage, &mut task, PageCached { writes: false, ..both });
    read(&*again, &mut task, 0, 4096);
    read(&*again, &mut task, 8192, 4096);
    again.set_len(&mut task, 4096).unwrap();
    again.write_at(&mut task, Purpose::Flush, 4096, &[7; 8192]).unwrap();
    read(&*again, &mut task, 0, 12_288);
    assert_eq!(asked.read(), [4096, 4096, 8192]);
}

#[test]
fn reading_again_costs_what_reading_costs() {
    for page_cache_bytes in [0, 1 << 20] {
        let asked_by = |read: fn(&dyn StorageFile, &mut Task)| {
            let (storage, asked, mut task) = with_page_cache(page_cache_bytes);
            let file = table(&storage, &mut task, PageCached { reads: true, writes: false });
            let before = task.work();
            read(&*file, &mut task);
            assert!(file.read_again(&mut task, Purpose::UserRead, 39_999, 2).is_err(), "the file ends before");
            is_balanced(&storage, &asked);
            (task.work().since(&before), asked.read(), storage.meters().snapshot())
        };
        let once = asked_by(|file, task| read(file, task, 5_000, 9_000));
        let again = asked_by(|file, task| file.read_again(task, Purpose::UserRead, 5_000, 9_000).unwrap());
        assert_eq!(once, again);
    }
}

#[test]
fn what_was_made_of_a_file_is_kept_until_the_file_changes() {
    let (storage, _, mut task) = storage();
    let file = table(&storage, &mut task, PageCached::default());
    let kept = || file.decoded(512).and_then(|found| found.downcast_ref::<u8>().copied());
    assert_eq!(kept(), None);
    file.keep_decoded(512, 1, Arc::new(5_u8));
    assert_eq!(kept(), Some(5));
    let fork = storage.fork(0);
    let same = fork.open(&mut task, "1.sst", FileOptions::DIRECT).unwrap();
    assert!(same.decoded(512).is_some());
    file.keep_decoded(9000, 100, Arc::new(6_u8));
    assert_eq!((storage.memory_bytes(), fork.memory_bytes()), (40_101, 40_101));
    same.write_at(&mut task, Purpose::Flush, 0, &[8]).unwrap();
    assert!(same.decoded(512).is_none());
    assert_eq!(fork.memory_bytes(), 40_000);
    assert_eq!(kept(), Some(5), "the file that was forked has not changed");
}

#[test]
fn what_is_laid_into_a_hole_takes_no_space_and_is_found_until_the_range_is_written() {
    let (storage, asked, mut task) = storage();
    let file = table(&storage, &mut task, PageCached::default());
    let at = 2 * BLOCK_BYTES;
    let found = |file: &dyn StorageFile| {
        let mut buffer = vec![0; BLOCK_BYTES as usize];
        file.lift(at, &mut buffer);
        buffer
    };
    file.punch_hole(&mut task, at, BLOCK_BYTES).unwrap();
    assert_eq!(found(&*file), vec![0; BLOCK_BYTES as usize]);
    let before = (storage.meters().snapshot(), asked.0.lock().len(), storage.used_bytes().unwrap(), task.work());
    file.lay(at, &vec![9; BLOCK_BYTES as usize]);
    assert_eq!(found(&*file), vec![9; BLOCK_BYTES as usize]);
    let fork = storage.fork(0);
    assert_eq!(found(&*fork.open(&mut task, "1.sst", FileOptions::DIRECT).unwrap())[0], 9);
    let behind = (storage.meters().snapshot(), asked.0.lock().len(), storage.used_bytes().unwrap(), task.work());
    assert_eq!(before, behind);
    file.write_at(&mut task, Purpose::Flush, at, &vec![5; BLOCK_BYTES as usize]).unwrap();
    assert_eq!(found(&*file)[0], 5);
    assert_eq!(storage.used_bytes().unwrap(), behind.2 + BLOCK_BYTES);
}

#[test]
fn a_file_for_crashes_alone_has_its_length_and_its_costs() {
    let (storage, asked, mut task) = storage();
    let area = storage.create(&mut task, "doublewrite", FileOptions::DOUBLEWRITE).unwrap();
    area.write_at(&mut task, Purpose::Doublewrite, 4096, &[7; 8192]).unwrap();
    let mut found = [1; 8192];
    area.read_at(&mut task, Purpose::Recovery, 4096, &mut found).unwrap();
    assert_eq!((area.len(), found, asked.written()), (12_288, [0; 8192], vec![8192]));
    is_balanced(&storage, &asked);
}

#[test]
fn forks_share_files_until_they_write_and_never_see_one_another() {
    let (storage, _, mut task) = with_page_cache(1 << 20);
    let file = table(&storage, &mut task, PageCached { reads: true, writes: true });
    let fork = storage.fork(1 << 20);
    let other = fork.open(&mut task, "1.sst", FileOptions::DIRECT).unwrap();
    assert_eq!((fork.written_bytes(), fork.meters().snapshot().total()), (0, PurposeCounts::default()));
    other.write_at(&mut task, Purpose::Flush, 0, &vec![9; 50_000]).unwrap();
    read(&*file, &mut task, 0, 40_000);
    fork.remove(&mut task, "1.sst").unwrap();
    assert_eq!(storage.list().unwrap(), ["1.sst"]);
}

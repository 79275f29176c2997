//! Sizes that RocksDB's own files have for the same input (`db_bench` 7.8.3, fillseq and compact of 200,000 keys of 16
//! bytes with values of 100, no compression, bloom filter of 10 bits).

use super::*;
use crate::codec::Compression;
use crate::lsm::bloom::BloomPolicy;
use crate::lsm::key::{self, Kind};
use crate::lsm::table_builder::{TableBuilder, TableShape};
use crate::metrics::Purpose;
use serde_json::json;

fn key_of(n: u64) -> [u8; 16] {
    let mut key = [b'0'; 16];
    key[..8].copy_from_slice(&n.to_be_bytes());
    key
}

#[test]
fn a_table_of_200_000_keys_has_rocksdbs_blocks() {
    let (storage, mut task) = (memory(), Task::wall(0));
    let shape = TableShape {
        compression: Compression::None,
        block_bytes: 4096,
        restart_interval: 16,
        bloom: BloomPolicy::new(10.0),
        whole_key_filtering: true,
        prefix: None,
        prefix_text: "nullptr".into(),
    };
    let file = storage.create(&mut task, "000001.sst").unwrap();
    let mut builder = TableBuilder::new(shape, file, "000001.sst".into(), Purpose::Flush);
    let mut internal = Vec::new();
    for n in 0..200_000u64 {
        key::encode(&key_of(n), key::trailer(0, Kind::Put), &mut internal);
        builder.add(&mut task, &internal, &[b'v'; 100]).unwrap();
    }
    let built = builder.finish(&mut task).unwrap();
    let found = &built.properties;
    // db_bench also shortens the last key of the index from 16 bytes to one, which the library does not by default.
    assert_eq!(
        (found.data_blocks, found.data_bytes, found.index_bytes, found.filter_bytes),
        (6061, 24_255_266, 120_668 + 15, 250_053)
    );
    // RocksDB's file is 24,627,037 bytes; its properties block has more names than ours.
    assert!((24_626_300..=24_627_037).contains(&built.bytes), "{}", built.bytes);
}

#[test]
fn sequential_keys_are_written_once_to_the_log_and_once_to_a_table() {
    let storage = memory();
    let options = Options::from_json(
        json!({"compression": "kNoCompression", "write_buffer_size": 4 << 20, "filter_policy": "bloomfilter:10"})
            .as_object()
            .unwrap(),
    )
    .unwrap();
    let lsm = open(&storage, &options).unwrap();
    for n in 0..200_000u64 {
        put(&lsm, &key_of(n), &[b'v'; 100]).unwrap();
        if n % 1000 == 0 {
            run_jobs(&lsm).unwrap();
        }
    }
    settle(&lsm).unwrap();
    let meters = storage.meters().snapshot();
    let (wal, flush) = (meters.of(Purpose::Wal).written_bytes, meters.of(Purpose::Flush).written_bytes);
    // Each of the logs begins at a block of its own, so the padding differs by a few bytes from that of one log.
    assert!((27_605_000..27_607_000).contains(&wal), "{wal}");
    let compacted = (0..7).map(|level| meters.of(Purpose::Compaction { level }).written_bytes).sum::<u64>();
    let details = lsm.stats().details;
    assert!(details["trivial_moves"] >= 1.0, "{details:?}");
    assert!(compacted < flush / 2, "{compacted} bytes compacted of {flush} flushed");
    assert_eq!(scan(&lsm).unwrap().len(), 200_000);
    assert_meters(&storage);
}

//! Tables of a simulated machine, whose blocks are not all compressed: what is found in them and the bytes that they
//! take are those of tables on which all was done.

use super::*;
use crate::scale::Scale;
use crate::storage::simulated::SimulatedStorage;
use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

/// Of 60 to 120 bytes, the part of which that is noise grows with the key: of some blocks it is worth compressing, of
/// others it is not.
fn value_of(n: u64) -> Vec<u8> {
    let noise = n as usize % 8 * 10 + (n / 3000) as usize * 8;
    let bytes = |n: u64| (0..8_u64).flat_map(move |i| xxh3_64(&(n * 8 + i).to_le_bytes()).to_le_bytes());
    let mut value: Vec<u8> = bytes(n).chain(bytes(n + (1 << 40))).take(noise).collect();
    value.resize(noise.max(60), 7);
    value
}

#[test]
fn tables_of_a_simulated_machine_hold_and_take_what_others_do() {
    for compression in ["kSnappyCompression", "kLZ4Compression", "kZSTD", "kZlibCompression", "kNoCompression"] {
        let options =
            tiny(&json!({"compression": compression, "target_file_size_base": 1 << 20, "write_buffer_size": 1 << 20}));
        let simulated = Arc::new(SimulatedStorage::new(Arc::default(), 1 << 30, 0, Scale::FULL));
        let all = memory();
        let on_all: [Arc<dyn Storage>; 2] = [simulated.clone(), all.clone()];
        for storage in on_all {
            let lsm = open_on(storage, &options).unwrap();
            for n in 0..20_000_u64 {
                let key = n.wrapping_mul(7919) % 20_000;
                put(&lsm, &key.to_be_bytes(), &value_of(key)).unwrap();
            }
            settle(&lsm).unwrap();
            lsm.close(&mut Task::wall(0)).unwrap();
        }
        let (like, exact) = (simulated.used_bytes().unwrap() as f64, all.used_bytes().unwrap() as f64);
        assert!((like / exact - 1.0).abs() < 0.01, "{compression}: {like} bytes for {exact}");
        let again = open_on(Arc::new(simulated.fork(0)), &options).unwrap();
        let found = scan(&again).unwrap();
        assert_eq!(found.len(), 20_000);
        assert!(found.iter().enumerate().all(|(n, (_, value))| *value == value_of(n as u64)), "{compression}");
    }
}

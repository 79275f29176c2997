//! Records written and read back, cut and damaged.

use super::format::{BLOCK_BYTES, FULL, KIND_BITS, synced_below, synced_class};
use super::{Break, Framer, Reader, Record};
use proptest::prelude::*;

const LOG: u64 = 7;

/// The log of some records, with how far it was synced when each of them was written.
fn framed_with(records: &[(Vec<u8>, Option<u64>)]) -> Vec<u8> {
    let (mut framer, mut bytes) = (Framer::new(LOG), Vec::new());
    for (record, synced) in records {
        framer.frame(record, *synced, &mut bytes);
    }
    bytes
}

fn framed(records: &[Vec<u8>]) -> Vec<u8> {
    framed_with(&records.iter().map(|record| (record.clone(), None)).collect::<Vec<_>>())
}

/// The whole records up to the end or to what breaks them off.
fn whole_records(bytes: &[u8]) -> (Vec<Vec<u8>>, Option<Break>) {
    let (mut reader, mut records) = (Reader::new(LOG, bytes), Vec::new());
    loop {
        match reader.next_record() {
            Record::Whole { payload, .. } => records.push(payload.to_vec()),
            Record::End => return (records, None),
            Record::Broken(broken) => return (records, Some(broken)),
        }
    }
}

fn records() -> impl Strategy<Value = Vec<Vec<u8>>> {
    proptest::collection::vec(proptest::collection::vec(1u8.., 0..40_000), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn records_come_back_whole(records in records()) {
        prop_assert_eq!(whole_records(&framed(&records)), (records, None));
    }

    #[test]
    fn a_cut_log_yields_the_records_before_the_cut(records in records(), cut in 0.0..1.0) {
        let bytes = framed(&records);
        let (found, broken) = whole_records(&bytes[..(bytes.len() as f64 * cut) as usize]);
        prop_assert_eq!(&found[..], &records[..found.len()]);
        prop_assert!(broken.is_none_or(|broken| broken.may_be_torn));
    }

    #[test]
    fn a_flipped_bit_does_not_look_torn(records in records(), at in 0.0..1.0) {
        let mut bytes = framed(&records);
        let bit = (bytes.len() as f64 * 8.0 * at) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
        let broken = whole_records(&bytes).1;
        prop_assert!(broken.is_some_and(|broken| !broken.may_be_torn));
    }

    #[test]
    fn a_type_tells_never_more_than_was_synced(offset in 0u64..1 << 40, distance in 0u64..1 << 40) {
        let synced = offset.checked_sub(distance);
        let told = synced_below(offset as usize, FULL | synced_class(offset, synced) << KIND_BITS);
        prop_assert!(told.is_none_or(|told| synced.is_some_and(|synced| told as u64 <= synced)));
        if let Some(synced) = synced && distance <= 1 << 29 && 2 * distance <= offset {
            prop_assert!(told.is_some_and(|told| offset - told as u64 <= 2 * distance), "{synced} {told:?}");
        }
    }
}

/// Four records, of which the second lacks a sector. The third begins at byte 2114, the fourth at 2221.
fn with_a_hole(synced: [Option<u64>; 2]) -> Vec<u8> {
    let records = [(vec![7; 100], None), (vec![8; 2000], None), (vec![9; 100], synced[0]), (vec![9; 100], synced[1])];
    let mut bytes = framed_with(&records);
    bytes[1024..1536].fill(0);
    bytes
}

#[test]
fn a_sector_of_zeros_looks_torn_unless_a_later_record_says_that_it_was_synced() {
    for (synced, was_synced) in [
        ([None, None], false),
        ([Some(0), Some(107)], false),
        ([Some(107), Some(2114)], true),
        ([Some(2114), None], true),
    ] {
        let bytes = with_a_hole(synced);
        let mut reader = Reader::new(LOG, &bytes);
        assert!(matches!(reader.next_record(), Record::Whole { .. }));
        let Record::Broken(broken) = reader.next_record() else { panic!("a hole is no record") };
        assert_eq!((broken.offset, broken.may_be_torn), (107, true));
        assert_eq!(reader.was_synced_behind(107), was_synced, "{synced:?}");
        assert_eq!(reader.skip_behind(107), Some(2114));
        assert_eq!(reader.skip_behind(2114), Some(2221));
        assert_eq!(reader.skip_behind(2221), None);
    }
}

#[test]
fn damage_hides_nothing_of_the_next_block() {
    let mut bytes = framed(&[vec![1; 1000], vec![2; 40_000], vec![3; 50]]);
    let behind = bytes.len() - 57;
    bytes[1010..BLOCK_BYTES].fill(0xa5);
    let mut reader = Reader::new(LOG, &bytes);
    assert_eq!(reader.skip_behind(0), Some(behind));
    assert_eq!(reader.next_record(), Record::Whole { payload: &[3; 50], offset: behind });
}

/// A value may hold the bytes of a log.
#[test]
fn a_log_within_a_record_is_no_log() {
    let inner = framed_with(&[(vec![5; 300], Some(0)), (vec![5; 300], Some(307))]);
    let mut bytes = framed(&[inner.clone(), inner, vec![6; 10]]);
    bytes[20] ^= 1;
    let mut reader = Reader::new(LOG, &bytes);
    assert!(matches!(reader.next_record(), Record::Broken(_)));
    assert_eq!(reader.skip_behind(0), Some(621));
    assert!(!reader.was_synced_behind(0));
}

#[test]
fn rocksdbs_log_of_200_000_puts_has_the_same_size() {
    let (mut framer, mut bytes, mut ticker) = (Framer::new(LOG), 0, 0);
    let (mut batch, mut out) = (crate::engine::WriteBatch::default(), Vec::new());
    for n in 0..200_000u64 {
        let mut key = [b'0'; 16];
        key[..8].copy_from_slice(&n.to_be_bytes());
        batch.clear();
        batch.put(&key, &[b'v'; 100]);
        out.clear();
        framer.frame(batch.encode(n + 1), None, &mut out);
        ticker += batch.encoded_bytes();
        bytes += out.len();
    }
    assert_eq!((ticker, bytes), (26_200_000, 27_605_726));
}

//! One change of the set of table files, as the manifest records it: numbered fields, each with its values as varints
//! and length-prefixed keys.

use crate::codec::varint;
use crate::lsm::keys::key::MAX_SEQUENCE;
use crate::lsm::table::FileMetaData;

const LOG_NUMBER: u64 = 1;
const NEXT_FILE: u64 = 2;
const LAST_SEQUENCE: u64 = 3;
const REMOVED: u64 = 4;
const ADDED: u64 = 5;

/// Numbers of files, and counts of one file, from here on come from no database: sums of them would pass 64 bits.
const TOO_MANY: u64 = 1 << 48;

/// One change of the set of table files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionEdit {
    /// Logs with smaller numbers are not needed any more.
    pub log_number: Option<u64>,
    /// The next file number to give out.
    pub next_file: Option<u64>,
    /// All entries up to this sequence number are in tables.
    pub last_sequence: Option<u64>,
    /// Levels and numbers of removed files.
    pub removed: Vec<(usize, u64)>,
    /// Levels and descriptions of added files.
    pub added: Vec<(usize, FileMetaData)>,
}

impl VersionEdit {
    /// The record of the manifest.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let singles = [(LOG_NUMBER, self.log_number), (NEXT_FILE, self.next_file), (LAST_SEQUENCE, self.last_sequence)];
        for (tag, value) in singles {
            if let Some(value) = value {
                push_all(&mut out, &[tag, value]);
            }
        }
        for (level, number) in &self.removed {
            push_all(&mut out, &[REMOVED, *level as u64, *number]);
        }
        for (level, file) in &self.added {
            push_all(&mut out, &[ADDED, *level as u64, file.number, file.bytes, file.data_bytes]);
            push_all(&mut out, &[file.entries, file.deletions, file.raw_key_bytes, file.raw_value_bytes]);
            push_all(&mut out, &[file.smallest_sequence, file.largest_sequence]);
            for key in [&file.smallest, &file.largest] {
                varint::push_u32(&mut out, key.len() as u32);
                out.extend_from_slice(key);
            }
        }
        out
    }

    /// Reads a record back; `None` if it is none. Compensated sizes are not stored.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut edit = Self::default();
        let mut rest = bytes;
        while !rest.is_empty() {
            match take(&mut rest)? {
                LOG_NUMBER => edit.log_number = Some(take_count(&mut rest)?),
                NEXT_FILE => edit.next_file = Some(take_count(&mut rest)?),
                LAST_SEQUENCE => edit.last_sequence = Some(take_sequence(&mut rest)?),
                REMOVED => edit.removed.push((take_count(&mut rest)? as usize, take_count(&mut rest)?)),
                ADDED => {
                    let level = take_count(&mut rest)? as usize;
                    edit.added.push((level, take_file(&mut rest)?));
                }
                _ => return None,
            }
        }
        Some(edit)
    }
}

fn push_all(out: &mut Vec<u8>, values: &[u64]) {
    for value in values {
        varint::push_u64(out, *value);
    }
}

fn take(rest: &mut &[u8]) -> Option<u64> {
    let (value, tail) = varint::take_u64(rest)?;
    *rest = tail;
    Some(value)
}

fn take_count(rest: &mut &[u8]) -> Option<u64> {
    take(rest).filter(|count| *count < TOO_MANY)
}

fn take_sequence(rest: &mut &[u8]) -> Option<u64> {
    take(rest).filter(|sequence| *sequence <= MAX_SEQUENCE)
}

fn take_key(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let (key, tail) = varint::take_slice(rest)?;
    *rest = tail;
    Some(key.to_vec())
}

fn take_file(rest: &mut &[u8]) -> Option<FileMetaData> {
    let file = FileMetaData {
        number: take_count(rest)?,
        bytes: take_count(rest)?,
        data_bytes: take_count(rest)?,
        entries: take_count(rest)?,
        deletions: take_count(rest)?,
        raw_key_bytes: take_count(rest)?,
        raw_value_bytes: take_count(rest)?,
        smallest_sequence: take_sequence(rest)?,
        largest_sequence: take_sequence(rest)?,
        smallest: take_key(rest)?,
        largest: take_key(rest)?,
        compensated_bytes: 0,
    };
    let is_sound = file.deletions <= file.entries && file.smallest <= file.largest;
    is_sound.then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> VersionEdit {
        let file = FileMetaData {
            number: 7,
            bytes: 1 << 40,
            data_bytes: 1000,
            entries: 3,
            deletions: 1,
            smallest: b"a".to_vec(),
            largest: vec![0xff; 300],
            largest_sequence: 99,
            ..FileMetaData::default()
        };
        VersionEdit {
            log_number: Some(3),
            next_file: Some(9),
            last_sequence: Some(99),
            removed: vec![(0, 4), (1, 5)],
            added: vec![(2, file.clone()), (0, file)],
        }
    }

    #[test]
    fn an_edit_comes_back_as_it_was_written() {
        for edit in [VersionEdit::default(), sample()] {
            assert_eq!(VersionEdit::decode(&edit.encode()), Some(edit));
        }
    }

    #[test]
    fn numbers_that_no_database_has_are_refused() {
        let with = |change: &dyn Fn(&mut VersionEdit)| {
            let mut edit = sample();
            change(&mut edit);
            VersionEdit::decode(&edit.encode())
        };
        let wrong: [&dyn Fn(&mut VersionEdit); 7] = [
            &|edit| edit.next_file = Some(u64::MAX),
            &|edit| edit.last_sequence = Some(MAX_SEQUENCE + 1),
            &|edit| edit.removed[0].0 = usize::MAX,
            &|edit| edit.added[0].1.data_bytes = u64::MAX - 5,
            &|edit| edit.added[1].1.raw_value_bytes = 1 << 60,
            &|edit| edit.added[0].1.deletions = 4,
            &|edit| edit.added[0].1.smallest = vec![0xff; 301],
        ];
        for (n, change) in wrong.into_iter().enumerate() {
            assert_eq!(with(change), None, "change {n}");
        }
    }

    #[test]
    fn a_cut_edit_is_refused_or_is_a_shorter_one() {
        let bytes = sample().encode();
        for cut in 0..bytes.len() {
            assert_ne!(VersionEdit::decode(&bytes[..cut]), Some(sample()));
        }
    }
}

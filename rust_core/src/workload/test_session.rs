//! A session of no server, in tests: it remembers what it is told, and another transaction is in the way once.

use crate::error::{Error, Result};
use crate::session::{Session, StoredRow, Value};

/// What was said.
#[derive(Default)]
pub struct Recorded {
    /// Statements by name, with their values; of an INSERT with literals, those of all its rows.
    pub said: Vec<(&'static str, Vec<Value>)>,
    /// Statements until another transaction is in the way.
    pub conflict_in: Option<usize>,
    is_conflict: bool,
}

impl Recorded {
    /// The values of statements of a name, and forgets all that was said.
    pub fn take(&mut self, name: &str) -> Vec<Vec<Value>> {
        let said = std::mem::take(&mut self.said).into_iter();
        said.filter(|(said, _)| *said == name).map(|(_, values)| values).collect()
    }

    fn hear(&mut self, name: &'static str, values: Vec<Value>) -> Result<u64> {
        self.is_conflict = self.conflict_in == Some(0);
        self.conflict_in = self.conflict_in.and_then(|left| left.checked_sub(1));
        if self.is_conflict {
            return Err(Error::poisoned("a deadlock"));
        }
        self.said.push((name, values));
        Ok(1)
    }
}

impl Session for Recorded {
    fn query(&mut self, name: &'static str, _text: &str, values: &[Value]) -> Result<Vec<Vec<Value>>> {
        self.hear(name, values.to_vec()).map(|_| Vec::new())
    }

    fn read(&mut self, name: &'static str, _text: &str, values: &[Value]) -> Result<u64> {
        self.hear(name, values.to_vec())
    }

    fn execute(&mut self, name: &'static str, _text: &str, values: &[Value]) -> Result<u64> {
        self.hear(name, values.to_vec())
    }

    fn begin(&mut self) -> Result<()> {
        self.hear("begin", Vec::new()).map(drop)
    }

    fn commit(&mut self) -> Result<()> {
        self.hear("commit", Vec::new()).map(drop)
    }

    fn rollback(&mut self) -> Result<()> {
        self.hear("rollback", Vec::new()).map(drop)
    }

    fn insert(&mut self, rows: &[StoredRow]) -> Result<()> {
        self.hear("insert", rows.iter().flat_map(|row| row.columns.clone()).collect()).map(drop)
    }

    fn take_conflict(&mut self) -> bool {
        std::mem::take(&mut self.is_conflict)
    }
}

//! A scan as RocksDB's benchmark makes it: a seek, and the entries behind it.

use crate::engine::Engine;
use crate::error::Result;
use crate::task::Task;

/// Copies so many entries from `key` on into `value`, one after the other, and ends behind the last one.
pub fn scan(engine: &dyn Engine, task: &mut Task, key: &[u8], entries: u64, value: &mut Vec<u8>) -> Result<()> {
    let mut cursor = engine.iterator(task)?;
    cursor.seek(task, key)?;
    for _ in 0..entries {
        if !cursor.valid() {
            break;
        }
        value.clear();
        value.extend_from_slice(cursor.value());
        cursor.next(task)?;
    }
    Ok(())
}

//! A gate that looks on.

use crate::error::Result;
use crate::storage::gated::{Gate, Operation, Pass};
use std::sync::atomic::{AtomicU64, Ordering};

/// Looks before each access that changes storage, and is told its number.
pub struct Watch {
    seen: AtomicU64,
    look: Box<dyn Fn(u64) + Send + Sync>,
}

impl Watch {
    /// Calls `look` with the number of each access, from 0 on.
    pub fn new(look: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self { seen: AtomicU64::new(0), look: Box::new(look) }
    }
}

impl Gate for Watch {
    fn before(&self, operation: Operation, _name: &str) -> Result<Pass> {
        if !matches!(operation, Operation::Open | Operation::Read) {
            (self.look)(self.seen.fetch_add(1, Ordering::SeqCst));
        }
        Ok(Pass::Through)
    }
}

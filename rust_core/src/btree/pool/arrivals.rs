//! Who has to see a page that is brought in before others do: the change buffer, which the pool does not know.

use super::page_guard::WritePage;
use crate::error::Result;
use crate::task::Task;

/// Whoever has to see a page that is brought in before others do.
pub trait Arrivals: Send + Sync {
    /// A page is about to be brought in. The caller may hold latches.
    fn prepare(&self, task: &mut Task) -> Result<()>;
    /// A page was brought in; only the caller has its latch.
    fn arrive(&self, task: &mut Task, page: &mut WritePage) -> Result<()>;
    /// Whether something is to be done when the page arrives.
    fn awaits(&self, page_no: u32) -> bool;
}

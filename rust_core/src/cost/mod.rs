//! What work costs: the kinds of it, how much was done, what a machine charges for each, and what products charge
//! besides. The room knows no other; tasks count work, and the virtual clock turns it into time.

mod caches;
mod counts;
mod kinds;
mod prices;
mod product;

pub use caches::{is_local, larger_search, memory_misses, misses};
pub use counts::{CpuUse, WorkCounts};
pub use kinds::Work;
pub use prices::{CostSpec, Prices};
pub use product::Product;

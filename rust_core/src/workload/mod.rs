//! What clients do: keys, rows, mixes. The room knows engines and tables by their traits; only runs know it.
//!
//! A client draws its next operation in [`Client::plan`], the run asks the engine for admission, and the client carries
//! the operation out in [`Client::execute`]. All random draws happen in `plan`, so a run may ask for admission again
//! and again between the two. A loader is a client whose operations are batches and that ends.

mod client;
mod counter;
pub mod db_bench;
pub mod distributions;
mod index_load;
pub mod insert_benchmark;
pub mod key_value;
mod kinds;
pub mod linkbench;
pub mod load_rows;
mod pace;
pub mod paced;
pub mod permute;
mod scan;
pub mod sysbench;
pub mod tpcc;
pub mod values;
pub mod ycsb;
pub mod zipf;

#[cfg(test)]
pub mod model_engine;
#[cfg(test)]
mod test_drive;
#[cfg(test)]
mod test_session;

pub use client::{Client, Plan, Rate, RateUnit, Workload};
pub use kinds::{build, kinds};

use client::with_kind;

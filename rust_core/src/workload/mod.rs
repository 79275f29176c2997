//! What clients do: keys, rows, mixes, and the driver that runs them on an engine.
//!
//! A client draws its next operation in [`Client::plan`], the driver asks the engine for admission, and the client carries
//! the operation out in [`Client::execute`]. All random draws happen in `plan`, so a driver may ask for admission again and
//! again between the two. A loader is a client whose operations are batches and that ends.

pub mod distributions;
pub mod permute;
pub mod random;
pub mod values;
pub mod zipf;

#[cfg(test)]
pub mod model_engine;

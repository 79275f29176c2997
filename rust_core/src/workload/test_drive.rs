//! Drives loaders and clients on the model engine, in tests.

use super::model_engine::ModelEngine;
use super::{Client, Plan, Workload};
use crate::engine::INDEX_NUMBER_BYTES;
use crate::task::Task;
use std::collections::BTreeMap;

/// Carries out at most `most` plans of a client and returns them.
pub fn drive(client: &mut dyn Client, engine: &ModelEngine, most: u64) -> Vec<Plan> {
    let mut task = Task::wall(0);
    let mut plans = Vec::new();
    while (plans.len() as u64) < most {
        let Some(plan) = client.plan(0) else { break };
        client.execute(engine, &mut task).unwrap();
        plans.push(plan);
    }
    plans
}

/// Loads with loaders that take turns batch by batch, and returns the loaded operations.
pub fn load(workload: &dyn Workload, engine: &ModelEngine, loaders: u32) -> u64 {
    let mut clients: Vec<_> = (0..loaders).map(|index| workload.loader(index)).collect();
    let mut operations = 0;
    loop {
        let plans: Vec<_> = clients.iter_mut().flat_map(|client| drive(&mut **client, engine, 1)).collect();
        if plans.is_empty() {
            return operations;
        }
        operations += plans.iter().map(|plan| plan.operations).sum::<u64>();
    }
}

/// One index's entries in order.
pub type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// All entries by index number.
pub fn by_index(engine: &ModelEngine) -> BTreeMap<u32, Entries> {
    let mut indexes: BTreeMap<u32, Entries> = BTreeMap::new();
    for (key, value) in engine.entries() {
        let number = u32::from_be_bytes(key[..INDEX_NUMBER_BYTES].try_into().unwrap());
        indexes.entry(number).or_default().push((key, value));
    }
    indexes
}

//! One fault in any access: the engine stops or goes on, and loses nothing that it acknowledged.

use super::script::Run;
use super::{SURVIVALS, Subject, first_case, stride, survival, survivor};
use crate::storage::{FaultyStorage, MemoryStorage, Storage};
use crate::task::panics;
use std::sync::Arc;

/// Runs the script for each of its accesses, or every `usual_stride`th, with one fault in that access alone. What is
/// left when the engine stops, or at the end, is checked as after a power cut.
pub fn fail_each_access_once<S: Subject>(name: &str, subject: S, operations: u64, usual_stride: u64) {
    let stride = stride(usual_stride);
    let subject = Arc::new(subject);
    let attempt = |number: u64| {
        let memory = Arc::new(MemoryStorage::new(Arc::default()));
        let faulty = Arc::new(FaultyStorage::new(memory.clone()));
        faulty.fail_once_at(number);
        let (run, storage) = (Run::new(&subject), faulty.clone() as Arc<dyn Storage>);
        let result = run.go(&storage, operations);
        (memory, run, result, faulty.operations_seen())
    };
    let (.., result, accesses) = attempt(u64::MAX);
    result.unwrap_or_else(|error| panic!("{name}: {error}"));
    let (mut faults, mut stopped) = (0, 0);
    for number in (first_case(name, stride.min(accesses))..accesses).step_by(stride as usize) {
        let check = || {
            let (memory, run, result, _) = attempt(number);
            for way in 0..SURVIVALS {
                survivor::check(&subject, &run.history, &memory, survival(way, number), number);
            }
            Ok(result)
        };
        let result = panics::caught("the check", check)
            .unwrap_or_else(|error| panic!("{name}, one fault in access {number} of {accesses}: {error}"));
        faults += 1;
        stopped += u64::from(result.is_err());
    }
    println!("{name}: {operations} operations, {accesses} accesses, {faults} faults, {stopped} stopped the engine");
    assert!(faults > 0, "{name}: no fault in {accesses} accesses");
}

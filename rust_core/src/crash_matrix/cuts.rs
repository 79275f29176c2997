//! Power cuts before every access that changes storage.

use super::script::Run;
use super::watch::Watch;
use super::{SURVIVALS, Subject, first_case, stride, survival, survivor};
use crate::storage::gated::GatedStorage;
use crate::storage::{MemoryStorage, Storage};
use crate::task::panics;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs the script once and cuts its power before each access that changes storage, with each way in which what was not
/// synced survives: all of these cases, or every `usual_stride`th.
pub fn cut_power_everywhere<S: Subject>(name: &str, subject: S, operations: u64, usual_stride: u64) {
    let stride = stride(usual_stride);
    let first = first_case(name, stride);
    let (memory, run) = (Arc::new(MemoryStorage::new(Arc::default())), Arc::new(Run::new(&Arc::new(subject))));
    let (accesses, cuts, between) =
        (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let watch = Watch::new({
        let (memory, run, name) = (memory.clone(), run.clone(), name.to_owned());
        let (accesses, cuts, between) = (accesses.clone(), cuts.clone(), between.clone());
        move |number| {
            accesses.store(number + 1, Ordering::Relaxed);
            between.fetch_add(u64::from(run.between_halves.load(Ordering::SeqCst) > 0), Ordering::Relaxed);
            for way in (0..SURVIVALS).filter(|way| (number * SURVIVALS + way) % stride == first) {
                let keeps = survival(way, number);
                cuts.fetch_add(1, Ordering::Relaxed);
                let check = || {
                    survivor::check(&run.subject, &run.history, &memory, keeps, number * SURVIVALS + way);
                    Ok(())
                };
                panics::caught("the check", check)
                    .unwrap_or_else(|error| panic!("{name}, power cut before access {number}, {keeps:?}: {error}"));
            }
        }
    });
    let storage: Arc<dyn Storage> = Arc::new(GatedStorage::behind(watch, memory));
    run.go(&storage, operations).unwrap_or_else(|error| panic!("{name}: {error}"));
    let [accesses, cuts, between] = [accesses, cuts, between].map(|count| count.load(Ordering::Relaxed));
    println!(
        "{name}: {operations} operations, {} batches, {accesses} changes of storage ({between} between the halves of a \
         job), {cuts} power cuts",
        run.history.acknowledged()
    );
    assert!(cuts > 0 && between > 0, "{name}: {cuts} cuts, {between} changes between the halves of a job");
}

//! Panics are errors of this program. Each is caught where a thread of a run begins, and the run's error tells what was
//! said and where.

use crate::error::{Error, Result};
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};

thread_local! {
    /// What the last panic of this thread said, and where.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A panic hook that keeps what was said for the run's error, and prints nothing: the terminal may belong to an
/// application that draws on it.
pub fn keep(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
    let said = format!("{}{place}", message(panic.payload()));
    SAID.with(|last| *last.borrow_mut() = Some(said));
}

/// The result of `f`; a panic in it poisons `what`.
pub fn caught<T>(what: &str, f: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|payload| {
        let said = SAID.with(|last| last.borrow_mut().take()).unwrap_or_else(|| message(&*payload).to_owned());
        Err(Error::poisoned(format!("{what} panicked: {said}")))
    })
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("it said nothing")
}

//! Numbers that all clients of a run share, such as the next key that is given out. A copy of a workload goes on from
//! where its own stand.

use std::ops::Deref;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// A shared number, whose copy is a number of its own.
#[derive(Debug, Default)]
pub struct Counter<A>(A);

impl<A> Counter<A> {
    /// A number that stands here.
    pub fn at<T>(value: T) -> Self
    where
        A: From<T>,
    {
        Self(A::from(value))
    }
}

impl<A> Deref for Counter<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.0
    }
}

impl Clone for Counter<AtomicU64> {
    fn clone(&self) -> Self {
        Self::at(self.load(Ordering::Relaxed))
    }
}

impl Clone for Counter<AtomicI64> {
    fn clone(&self) -> Self {
        Self::at(self.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_goes_on_by_itself() {
        let first = Counter::<AtomicU64>::at(7);
        let copy = first.clone();
        first.fetch_add(1, Ordering::Relaxed);
        assert_eq!((first.load(Ordering::Relaxed), copy.load(Ordering::Relaxed)), (8, 7));
    }
}

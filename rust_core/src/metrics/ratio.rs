//! Quotients that may not exist.

/// A quotient; `None` where there is nothing to divide by.
pub fn ratio(amount: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| amount / of)
}

/// A part of a whole, at most all of it; `None` where there is no whole.
pub fn share(part: u64, whole: u64) -> Option<f64> {
    ratio(part as f64, whole as f64).map(|share| share.min(1.0))
}

//! Quotients that may not exist.

/// A quotient; `None` where there is nothing to divide by.
pub fn ratio(amount: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| amount / of)
}

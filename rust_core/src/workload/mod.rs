//! What clients do: keys, rows, mixes, and the driver that runs them on an engine.

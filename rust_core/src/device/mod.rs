//! What a device costs: queues, latency, bandwidth.

//! kerf-workload

//! kerf-pass

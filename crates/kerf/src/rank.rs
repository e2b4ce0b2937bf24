//! Whether mpirun or srun started this process.

/// Ranks that mpirun or srun started, this one among them, by what it tells them.
pub fn started() -> Option<usize> {
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE"]
        .iter()
        .find_map(|v| std::env::var(v).ok()?.parse().ok())
}

/// Whether this process is a rank: its terminal is mpirun's and says nothing about where the text goes.
pub fn is_rank() -> bool {
    started().is_some()
}

//! Names of GPU architectures.
use crate::LlvmError;

/// The compute capability that an architecture's name stands for: 90 for `sm_90` and `sm_90a`.
pub fn compute_capability(arch: &str) -> Result<u64, LlvmError> {
    arch.strip_prefix("sm_")
        .unwrap_or(arch)
        .trim_end_matches(char::is_alphabetic)
        .parse()
        .map_err(|_| LlvmError(format!("`{arch}` is no architecture such as sm_90")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_architecture_are_refused() {
        for (name, number) in [("sm_90", 90), ("sm_90a", 90), ("sm_120", 120), ("75", 75)] {
            assert_eq!(compute_capability(name).ok(), Some(number), "{name}");
        }
        for name in ["", "sm_", "hopper", "gfx90a", "sm_9x0"] {
            let e = compute_capability(name).expect_err(name);
            assert!(e.0.contains("no architecture"), "{e}");
        }
    }
}

//! Outputs as .npy files.
use super::JobError;
use super::shadowed::ReferenceOutput;
use kerf_num::Dd;
use kerf_workload::elem::ElemType;
use kerf_workload::npy;
use kerf_workload::scalar::Scalar;
use kerf_workload::workload::BufferSpec;
use std::path::{Path, PathBuf};

/// Writes an output, and beside it its reference, where there is one; says where it is.
pub(super) fn save(
    dir: &Path,
    b: &BufferSpec,
    bytes: &[u8],
    reference: Option<&ReferenceOutput>,
) -> Result<PathBuf, JobError> {
    let fail = |e: String| {
        JobError::Input(format!(
            "cannot save {} into {}: {e}; help: choose another folder with --save",
            b.name,
            dir.display()
        ))
    };
    std::fs::create_dir_all(dir).map_err(|e| fail(e.to_string()))?;
    let saved = dir.join(format!("{}.npy", b.name));
    let shape = b.shape.clone().unwrap_or_else(|| vec![b.len]);
    npy::write(&saved, &b.elem, &shape, bytes).map_err(|e| fail(e.to_string()))?;
    if let Some(r) = reference {
        // The double-double reference, as two files of its float scalars.
        for (f, v) in &r.1 {
            for (part, pick) in [("hi", (|d| d.hi) as fn(&Dd) -> f64), ("lo", |d| d.lo)] {
                let raw: Vec<u8> = v.iter().flat_map(|d| pick(d).to_le_bytes()).collect();
                let path = dir.join(format!("{}.reference_{f}_{part}.npy", b.name));
                npy::write(&path, &ElemType::Scalar(Scalar::F64), &[v.len()], &raw)
                    .map_err(|e| fail(e.to_string()))?;
            }
        }
    }
    Ok(saved)
}

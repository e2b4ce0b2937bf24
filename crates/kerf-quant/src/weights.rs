//! Parameters as safetensors files: what PyTorch's `load_file` and `save_file` read and write.
use crate::backend::{Backend, BackendError};
use crate::graph::Graph;
use crate::tensor::Tensor;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

/// Why weights cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// The file.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// Not safetensors.
    #[error("{path} is no safetensors file: {what}")]
    Format {
        /// Its path.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// A tensor of another type.
    #[error("{path}: `{name}` has the type {found}; F32, F16, BF16, F64 and I64 can be read")]
    Type {
        /// The file.
        path: String,
        /// The tensor.
        name: String,
        /// Its type.
        found: String,
    },
    /// Weights of another architecture.
    #[error(
        "{path} does not fit the network {network}: {}",
        mismatch.join("; ")
    )]
    Other {
        /// The file.
        path: String,
        /// The network.
        network: String,
        /// What is missing, left over or of another shape.
        mismatch: Vec<String>,
    },
    /// The backend.
    #[error("{0}")]
    Backend(#[from] BackendError),
}

/// Tensors by name.
pub type Named = BTreeMap<String, Tensor>;

fn half(bits: u16) -> f32 {
    let (sign, exponent, mantissa) = (bits >> 15, (bits >> 10) & 31, bits & 1023);
    let m = f32::from(mantissa);
    let size = match exponent {
        0 => m * (-24f32).exp2(),
        31 if mantissa == 0 => f32::INFINITY,
        31 => f32::NAN,
        e => (1024.0 + m) * (f32::from(e) - 25.0).exp2(),
    };
    if sign == 1 { -size } else { size }
}

fn values(view: &TensorView) -> Option<Vec<f32>> {
    let d = view.data();
    let two = |c: &[u8]| u16::from_le_bytes([c[0], c[1]]);
    let eight = |c: &[u8]| <[u8; 8]>::try_from(c).unwrap_or_default();
    Some(match view.dtype() {
        Dtype::F32 => d
            .chunks_exact(4)
            .map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]]))
            .collect(),
        Dtype::F64 => d
            .chunks_exact(8)
            .map(|c| f64::from_le_bytes(eight(c)) as f32)
            .collect(),
        Dtype::I64 => d
            .chunks_exact(8)
            .map(|c| i64::from_le_bytes(eight(c)) as f32)
            .collect(),
        Dtype::F16 => d.chunks_exact(2).map(|c| half(two(c))).collect(),
        Dtype::BF16 => d
            .chunks_exact(2)
            .map(|c| f32::from_bits(u32::from(two(c)) << 16))
            .collect(),
        _ => return None,
    })
}

/// All tensors of a file, as `f32`.
pub fn read(path: &Path) -> Result<Named, WeightsError> {
    Ok(read_noted(path)?.0)
}

/// The entry of a file's metadata that belongs to Kerf.
const NOTE: &str = "kerf";

/// All tensors of a file, and what was noted with them.
pub(crate) fn read_noted(path: &Path) -> Result<(Named, Option<String>), WeightsError> {
    let shown = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|source| WeightsError::File {
        path: shown.clone(),
        source,
    })?;
    let file = SafeTensors::deserialize(&bytes).map_err(|e| WeightsError::Format {
        path: shown.clone(),
        what: e.to_string(),
    })?;
    let mut all = Named::new();
    for (name, view) in file.tensors() {
        let data = values(&view).ok_or_else(|| WeightsError::Type {
            path: shown.clone(),
            name: name.clone(),
            found: format!("{:?}", view.dtype()),
        })?;
        let shape = view.shape().to_vec();
        all.insert(name, Tensor { shape, data });
    }
    let header = SafeTensors::read_metadata(&bytes);
    let note = header
        .ok()
        .and_then(|(_, m)| m.metadata().as_ref()?.get(NOTE).cloned());
    Ok((all, note))
}

/// A tensor as bytes: whole numbers for `num_batches_tracked`, as PyTorch has them.
struct Stored<'a>(&'a str, &'a Tensor);

impl safetensors::View for Stored<'_> {
    fn dtype(&self) -> Dtype {
        match self.0.ends_with("num_batches_tracked") {
            true => Dtype::I64,
            false => Dtype::F32,
        }
    }
    fn shape(&self) -> &[usize] {
        &self.1.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        let v = self.1.data.iter();
        match self.dtype() {
            Dtype::I64 => v.flat_map(|v| (*v as i64).to_le_bytes()).collect(),
            _ => v.flat_map(|v| v.to_le_bytes()).collect(),
        }
    }
    fn data_len(&self) -> usize {
        self.1.data.len() * if self.dtype() == Dtype::I64 { 8 } else { 4 }
    }
}

/// Writes tensors to a file, whole or not at all.
pub fn write(path: &Path, all: &Named) -> Result<(), WeightsError> {
    write_noted(path, all, None)
}

/// Likewise, with a note.
pub(crate) fn write_noted(
    path: &Path,
    all: &Named,
    note: Option<String>,
) -> Result<(), WeightsError> {
    let note = note.map(|n| std::iter::once((NOTE.to_owned(), n)).collect());
    let shown = path.display().to_string();
    let views = all.iter().map(|(n, t)| (n.as_str(), Stored(n, t)));
    let bytes = safetensors::serialize(views, note).map_err(|e| WeightsError::Format {
        path: shown.clone(),
        what: e.to_string(),
    })?;
    crate::files::write_whole(path, &bytes).map_err(|source| WeightsError::File {
        path: shown,
        source,
    })
}

/// Parameters and buffers of a backend's network.
pub fn from_backend(graph: &Graph, backend: &dyn Backend) -> Result<Named, WeightsError> {
    let each = graph.params().into_iter().map(|p| {
        let t = backend.read(&p.name)?;
        Ok((p.name, t))
    });
    each.collect()
}

/// What PyTorch's wrappers put before the names of a whole network: `DataParallel`, `compile`, Lightning.
const WRAPPERS: [&str; 3] = ["module.", "_orig_mod.", "model."];

/// Names without what a wrapper has put before all of them.
fn unwrapped(all: Named) -> Named {
    let before = |w: &&&str| !all.is_empty() && all.keys().all(|n| n.starts_with(**w));
    match WRAPPERS.iter().find(before) {
        None => all,
        Some(w) => unwrapped(
            all.into_iter()
                .map(|(n, t)| (n[w.len()..].to_owned(), t))
                .collect(),
        ),
    }
}

/// Gives a network these weights. All that does not fit is named; nothing is changed then. Counters that a file leaves
/// out are taken as they are.
pub fn load(path: &Path, graph: &Graph, backend: &mut dyn Backend) -> Result<(), WeightsError> {
    let all = unwrapped(read(path)?);
    put(&path.display().to_string(), &all, graph, backend)
}

/// Likewise, from tensors; `from` is for messages.
pub fn put(
    from: &str,
    all: &Named,
    graph: &Graph,
    backend: &mut dyn Backend,
) -> Result<(), WeightsError> {
    const MOST: usize = 5;
    let specs = graph.params();
    let mut mismatch = Vec::new();
    for s in &specs {
        match all.get(&s.name) {
            None if s.name.ends_with("num_batches_tracked") => {}
            None => mismatch.push(format!("`{}` is missing", s.name)),
            Some(t) if t.shape != s.shape => {
                mismatch.push(format!(
                    "`{}` is {:?} instead of {:?}",
                    s.name, t.shape, s.shape
                ));
            }
            _ => {}
        }
    }
    let left = all.keys().filter(|n| specs.iter().all(|s| s.name != **n));
    mismatch.extend(left.map(|n| format!("`{n}` is not part of it")));
    if !mismatch.is_empty() {
        let more = mismatch.len().saturating_sub(MOST);
        mismatch.truncate(MOST);
        if more > 0 {
            mismatch.push(format!("and {more} more"));
        }
        return Err(WeightsError::Other {
            path: from.to_owned(),
            network: graph.name.clone(),
            mismatch,
        });
    }
    for s in &specs {
        if let Some(t) = all.get(&s.name) {
            backend.write(&s.name, t)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Optimizer;
    use crate::cpu::CpuBackend;
    use crate::graph::InputSpec;

    fn backend(name: &str, seed: u64) -> (Graph, CpuBackend) {
        let input = InputSpec::Reals(vec![1, 8, 8]);
        let g = crate::networks::by_name(name, &input, 10).unwrap();
        let sgd = Optimizer::Sgd {
            momentum: 0.9,
            nesterov: false,
            weight_decay: 0.0,
        };
        let b = CpuBackend::new(&g, &[], sgd, seed, 1).unwrap();
        (g, b)
    }

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.safetensors");
        let (g, a) = backend("small-cnn", 1);
        let all = from_backend(&g, &a).unwrap();
        write(&path, &all).unwrap();
        let (_, mut b) = backend("small-cnn", 2);
        assert_ne!(from_backend(&g, &b).unwrap(), all);
        load(&path, &g, &mut b).unwrap();
        assert_eq!(from_backend(&g, &b).unwrap(), all);
        let bytes = std::fs::read(&path).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(
            file.tensor("bn1.num_batches_tracked").unwrap().dtype(),
            Dtype::I64
        );
    }

    #[test]
    fn what_a_wrapper_puts_before_names_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.safetensors");
        let (g, a) = backend("small-cnn", 1);
        let all = from_backend(&g, &a).unwrap();
        for before in ["module.", "_orig_mod.module."] {
            let wrapped = all
                .iter()
                .map(|(n, t)| (format!("{before}{n}"), t.clone()))
                .collect();
            write(&path, &wrapped).unwrap();
            let (_, mut b) = backend("small-cnn", 2);
            load(&path, &g, &mut b).unwrap();
            assert_eq!(from_backend(&g, &b).unwrap(), all);
        }
        // One name of another network among them: nothing is guessed.
        let mut mixed = all.clone();
        mixed.insert("module.fc.bias".into(), Tensor::filled([10], 0.0));
        write(&path, &mixed).unwrap();
        let (_, mut b) = backend("small-cnn", 2);
        assert!(load(&path, &g, &mut b).is_err());
    }

    #[test]
    fn other_weights_are_named_and_nothing_changes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.safetensors");
        let (g, mut a) = backend("small-cnn", 1);
        let before = from_backend(&g, &a).unwrap();
        let mut other = before.clone();
        other.remove("fc.bias");
        other.insert("layer4.weight".into(), Tensor::filled([2], 0.0));
        other.insert("conv1.weight".into(), Tensor::filled([1, 1, 3, 3], 0.0));
        write(&path, &other).unwrap();
        let e = load(&path, &g, &mut a).unwrap_err().to_string();
        for part in [
            "`fc.bias` is missing",
            "`layer4.weight` is not part",
            "[1, 1, 3, 3]",
        ] {
            assert!(e.contains(part), "{e}");
        }
        assert_eq!(from_backend(&g, &a).unwrap(), before);
        std::fs::write(&path, b"not at all").unwrap();
        assert!(
            load(&path, &g, &mut a)
                .unwrap_err()
                .to_string()
                .contains("no safetensors")
        );
        assert!(load(&dir.path().join("none"), &g, &mut a).is_err());
    }

    #[test]
    fn halves() {
        for (bits, v) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x0001, 5.960_464_5e-8),
            (0x7bff, 65504.0),
        ] {
            assert_eq!(half(bits), v);
        }
        assert!(half(0x7e00).is_nan());
    }
}

//! Exported networks executed by ONNX Runtime on the CPU.
//!
//! The library is loaded at run time from a path that the caller gives; nothing is linked or downloaded.
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::Tensor;
use std::path::Path;

/// Why ONNX Runtime cannot do it.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The library.
    #[error("cannot load ONNX Runtime from {path}: {what}")]
    Library {
        /// Where it was looked for.
        path: String,
        /// What the loader says.
        what: String,
    },
    /// A network or its execution.
    #[error("ONNX Runtime: {0}")]
    Runtime(#[from] ort::Error),
}

/// Loads the library, once in a process.
pub fn load(library: &Path) -> Result<(), EngineError> {
    let failed = |what: String| EngineError::Library {
        path: library.display().to_string(),
        what,
    };
    if !library.is_file() {
        return Err(failed("there is no such file".into()));
    }
    let begun = ort::init_from(library.display().to_string())
        .with_name("kerf")
        .commit();
    begun.map(|_| ()).map_err(|e| failed(e.to_string()))
}

/// A network that is ready to run.
pub struct OnnxEngine {
    session: Session,
    shape: Vec<usize>,
}

impl OnnxEngine {
    /// From the bytes of a file; `shape` is that of one sample.
    pub fn new(file: &[u8], shape: &[usize], threads: usize) -> Result<OnnxEngine, EngineError> {
        let session = Session::builder()?
            .with_optimization_level(GraphOptimizationLevel::Level3)?
            .with_intra_threads(threads)?
            .commit_from_memory(file)?;
        Ok(OnnxEngine {
            session,
            shape: shape.to_vec(),
        })
    }

    /// The network's result for samples one after the other.
    pub fn run(&mut self, samples: &[f32]) -> Result<Vec<f32>, EngineError> {
        let each: usize = self.shape.iter().product();
        let mut shape = vec![(samples.len() / each.max(1)) as i64];
        shape.extend(self.shape.iter().map(|d| *d as i64));
        let input = Tensor::from_array((shape, samples.to_vec()))?;
        let outputs = self.session.run(ort::inputs!["input" => input])?;
        let (_, values) = outputs["output"].try_extract_tensor::<f32>()?;
        Ok(values.to_vec())
    }
}

//! Data, backends and trained networks, as the commands name them.
use crate::fail::Failure;
use kerf_quant::backend::{Backend, BackendError, Optimizer};
use kerf_quant::cpu::CpuBackend;
use kerf_quant::data::open::{Boxed, NAMED, open};
use kerf_quant::data::stripes::Stripes;
use kerf_quant::data::text::Text;
use kerf_quant::data::{DataError, Dataset};
use kerf_quant::experiment::{
    ExperimentError, QuantizedModel, RunResult, read_model, read_result, seed_folder,
};
use kerf_quant::graph::{Graph, InputSpec};
use kerf_quant::points::QuantizationPoint;
use kerf_quant::train::TrainError;
use kerf_quant::{bits::BitsError, weights};
use std::path::{Path, PathBuf};

/// Where data is kept.
#[derive(clap::Args)]
pub struct DataArgs {
    /// Folder that `kerf quantize data` fetches into.
    #[arg(long, value_name = "DIR", default_value = ".kerf/data")]
    pub data_dir: PathBuf,
    /// Threads; 0 for all cores. Results do not depend on it.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = crate::parse_threads)]
    pub threads: usize,
    /// Compute by libtorch on this device: cuda, cuda:N or cpu. Without it, Kerf's own CPU backend computes.
    #[cfg(feature = "libtorch")]
    #[arg(long)]
    pub device: Option<String>,
    /// Train in half precision (libtorch).
    #[cfg(feature = "libtorch")]
    #[arg(long, requires = "device")]
    pub half: bool,
}

impl DataArgs {
    /// Training and test data.
    pub fn open(&self, spec: &str) -> Result<(Boxed, Boxed), Failure> {
        self.open_cut(spec, 0)
    }
    /// Training and test data, a square of this side blanked in images of training.
    pub fn open_cut(&self, spec: &str, cutout: usize) -> Result<(Boxed, Boxed), Failure> {
        let (train, test) = self.open_any(spec, cutout)?;
        let side = match train.input() {
            InputSpec::Reals(s) if spec != "stripes" => s.iter().skip(1).copied().min(),
            _ => Some(0),
        };
        if cutout > side.unwrap_or(0) {
            let what = format!("--cutout {cutout}: {} is {}", train.name(), train.input());
            return Err(Failure::new(what)
                .help("it blanks a square of this side in images from files, smaller than these"));
        }
        Ok((train, test))
    }
    fn open_any(&self, spec: &str, cutout: usize) -> Result<(Boxed, Boxed), Failure> {
        if spec == "stripes" {
            let (a, b) = Stripes::pair(4096, 1000);
            return Ok((Box::new(a), Box::new(b)));
        }
        let path = Path::new(spec);
        let shakespeare = self.data_dir.join("shakespeare/shakespeare.txt");
        let text = match spec {
            "shakespeare" => Some(shakespeare.as_path()),
            _ => Some(path).filter(|p| p.is_file() && p.extension().is_some_and(|e| e == "txt")),
        };
        if let Some(path) = text {
            let (a, b) = Text::pair(path)?;
            return Ok((Box::new(a), Box::new(b)));
        }
        Ok(open(spec, &self.data_dir, cutout)?)
    }
    /// The backend: the CPU's, unless a device of libtorch was named.
    pub fn backend(
        &self,
        g: &Graph,
        p: &[QuantizationPoint],
        o: Optimizer,
        seed: u64,
    ) -> Result<Box<dyn Backend>, BackendError> {
        #[cfg(feature = "libtorch")]
        if let Some(name) = &self.device {
            use kerf_quant::torch::{Arithmetic, Torch, device};
            let arithmetic = if self.half {
                Arithmetic::F16
            } else {
                Arithmetic::F32
            };
            let torch = Torch::new(g.clone(), p.to_vec(), o, seed, device(name)?, arithmetic)?;
            return Ok(Box::new(torch));
        }
        Ok(Box::new(CpuBackend::new(g, p, o, seed, self.threads)?))
    }
}

/// A trained network.
pub struct Trained {
    pub result: RunResult,
    pub model: QuantizedModel,
    pub graph: Graph,
    pub backend: Box<dyn Backend>,
}

/// Opens a seed of a result folder; its first one by default.
pub fn trained(run: &Path, seed: Option<u64>, data: &DataArgs) -> Result<Trained, Failure> {
    let result = read_result(run).map_err(|e| {
        Failure::from(e).help("name a folder that kerf quantize train has finished")
    })?;
    let seeds: Vec<u64> = result.seeds.iter().map(|s| s.seed).collect();
    let seed = seed.or(seeds.first().copied()).unwrap_or(1);
    if !seeds.contains(&seed) {
        let list: Vec<String> = seeds.iter().map(u64::to_string).collect();
        return Err(
            Failure::new(format!("{} has no seed {seed}", run.display()))
                .help(format!("it has {}", list.join(", "))),
        );
    }
    let folder = seed_folder(run, seed);
    let model = read_model(&folder)?;
    let graph = model.graph()?;
    let mut backend = data.backend(&graph, &model.points, result.recipe.train.optimizer, seed)?;
    weights::load(
        &folder.join("weights.safetensors"),
        &graph,
        backend.as_mut(),
    )
    .map_err(ExperimentError::from)?;
    Ok(Trained {
        result,
        model,
        graph,
        backend,
    })
}

/// Whether a network can take data.
pub fn fits(model: &QuantizedModel, data: &dyn Dataset) -> Result<(), Failure> {
    if data.input() != model.input || data.classes() > model.classes {
        return Err(Failure::new(format!(
            "the data {} is {} with {} classes, and the network {} was trained on {} with {}",
            data.name(),
            data.input(),
            data.classes(),
            model.network,
            model.input,
            model.classes
        )));
    }
    Ok(())
}

impl From<DataError> for Failure {
    fn from(e: DataError) -> Failure {
        let f = Failure::new(e.to_string());
        match &e {
            DataError::Absent { name, .. } => {
                f.help(format!("kerf quantize data {name} fetches it"))
            }
            DataError::Unknown { .. } => f.help(format!(
                "--data takes {}, shakespeare, stripes, a folder or a .txt file",
                NAMED.join(", ")
            )),
            DataError::Mismatch { .. } => f.help("choose a network and data that go together"),
            _ => f,
        }
    }
}

impl From<TrainError> for Failure {
    fn from(e: TrainError) -> Failure {
        match e {
            TrainError::Data(e) => e.into(),
            TrainError::NotANumber { kept: None, .. } => {
                Failure::new(e.to_string()).help("lower --rate, or set --clip-norm 1")
            }
            TrainError::NotANumber { .. } => Failure::new(e.to_string())
                .help("lower --rate, or set --clip-norm 1; --resume goes on from the checkpoint"),
            TrainError::OtherRun { .. } => Failure::new(e.to_string())
                .help("give the same options as before, or another --out"),
            other => Failure::new(other.to_string()),
        }
    }
}

impl From<ExperimentError> for Failure {
    fn from(e: ExperimentError) -> Failure {
        match e {
            ExperimentError::Train(e) => e.into(),
            other => Failure::new(other.to_string()),
        }
    }
}

impl From<BackendError> for Failure {
    fn from(e: BackendError) -> Failure {
        Failure::new(e.to_string())
    }
}

impl From<BitsError> for Failure {
    fn from(e: BitsError) -> Failure {
        match e {
            BitsError::Train(e) => e.into(),
            other => Failure::new(other.to_string()),
        }
    }
}

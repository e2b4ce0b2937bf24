//! Everything a report shows, read from a result folder.
use crate::ReportError;
use crate::claims::Claims;
use crate::listing::{IrLine, listing};
use kerf_llvm::Module;
use kerf_tune::evidence::{self, Evidence};
use kerf_tune::result::{self, TuneResult};
use kerf_tune::store::{self, StoredRow};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// An evaluation as the page shows it.
#[derive(Debug, Clone, Serialize)]
pub struct ShownEvaluation {
    /// What it was for.
    pub phase: String,
    /// Levels of the groups.
    pub levels: Vec<u8>,
    /// Error; none if infinite.
    pub error: Option<f64>,
    /// Time over that of the program as it is.
    pub time: Option<f64>,
    /// Why it failed.
    pub failure: Option<String>,
    /// Seconds that it took.
    pub wall_s: f64,
    /// The output and the element that pay most.
    pub worst: Option<(String, u64)>,
}

impl From<StoredRow> for ShownEvaluation {
    fn from(r: StoredRow) -> ShownEvaluation {
        ShownEvaluation {
            phase: r.phase,
            levels: r.assignment,
            error: r.error,
            time: r.time_ratio,
            failure: r.failure,
            wall_s: r.wall_s,
            worst: r.worst,
        }
    }
}

/// A result with what belongs to it.
#[derive(Debug, Serialize)]
pub struct Gathered {
    /// The folder.
    pub folder: PathBuf,
    /// The result.
    pub result: TuneResult,
    /// What is seen beside it; none in folders of earlier versions.
    pub evidence: Option<Evidence>,
    /// Every evaluation on the tuning inputs, in order.
    pub evaluations: Vec<ShownEvaluation>,
    /// IR of the program and of the plan.
    pub ir: (Vec<IrLine>, Vec<IrLine>),
    /// PTX of the plan.
    pub ptx: String,
    /// Error of each group lowered to its last level alone, where that ran.
    pub alone: Vec<Option<f64>>,
    /// What the result lets the page say.
    pub claims: Claims,
}

fn ir(dir: &Path, name: &str, files: &[String]) -> Vec<IrLine> {
    let Ok(bytes) = std::fs::read(dir.join(name)) else {
        return Vec::new();
    };
    match Module::parse(&bytes, name) {
        Ok(m) => listing(&m, files),
        Err(_) => Vec::new(),
    }
}

/// The error of each group when it alone is below its own level.
fn alone(groups: usize, all: &[ShownEvaluation]) -> Vec<Option<f64>> {
    let lone = |e: &&ShownEvaluation, g: usize| {
        let below = |(i, l): (usize, &u8)| (*l > 0) == (i == g);
        e.phase != "baseline" && e.levels.len() == groups && e.levels.iter().enumerate().all(below)
    };
    (0..groups)
        .map(|g| {
            let mut found = all.iter().filter(|e| lone(e, g));
            found.find_map(|e| e.error)
        })
        .collect()
}

/// Reads a folder. What is missing beside the result itself is left out.
pub fn gather(dir: &Path) -> Result<Gathered, ReportError> {
    let (result, _) = result::read(dir)?;
    let evidence = evidence::read(dir);
    let rows = store::history(&dir.join(store::FILE))?;
    // Errors on other inputs are of another reference.
    let here = rows.into_iter().filter(|r| r.phase != "validation");
    let evaluations: Vec<ShownEvaluation> = here.map(ShownEvaluation::from).collect();
    let files: Vec<String> = evidence
        .iter()
        .flat_map(|e| e.sources.iter().map(|s| s.file.clone()))
        .collect();
    Ok(Gathered {
        alone: alone(result.groups.len(), &evaluations),
        claims: Claims::new(&result),
        folder: dir.to_owned(),
        ir: (ir(dir, "program.bc", &files), ir(dir, "tuned.bc", &files)),
        ptx: std::fs::read_to_string(dir.join("tuned.ptx")).unwrap_or_default(),
        result,
        evidence,
        evaluations,
    })
}

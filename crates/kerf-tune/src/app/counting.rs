//! Launches of an application that were recorded, counted: what times of its kernels are predicted from, and what ranges the
//! arguments of their math calls have.
use super::counted_launch::CountedLaunch;
use super::error::AppError;
use super::request::AppRequest;
use super::run::AppRunner;
use crate::counts::work;
use crate::result::write;
use kerf_pass::count::Detail;
use kerf_predict::cost::ProgramWork;
use kerf_run::job::{KernelCounts, ProgramCounts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Launches of each kernel that are recorded, from the first on.
pub(super) const RECORDED: usize = 2;

/// File in the result folder.
const FILE: &str = "counts.json";

/// What was counted of an application's kernels, by symbol.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct AppCounts {
    launches: BTreeMap<String, Vec<CountedLaunch>>,
}

impl AppCounts {
    /// Those of the folder where the search goes on, or else of a run of the program that records launches; they are kept
    /// there.
    pub fn obtain(request: &AppRequest, runner: &AppRunner) -> Result<AppCounts, AppError> {
        let path = request.out.join(FILE);
        let bad = |e: String| AppError::Module(format!("{}: {e}", path.display()));
        if let (true, Ok(text)) = (request.resume, std::fs::read_to_string(&path)) {
            return serde_json::from_str(&text).map_err(|e| bad(e.to_string()));
        }
        let recorder = AppRunner {
            scratch: runner.scratch.join("launches"),
            copies: false,
            records: RECORDED,
            ..runner.clone()
        };
        let detail = match request.makes_functions() {
            true => Detail::Values,
            false => Detail::Blocks,
        };
        // A program that does not run a second time is told so soon enough.
        let launches = match (&request.count, recorder.run(None, request.limit, true)) {
            (Some(count), Ok(_)) => count(&recorder.trace(), detail),
            _ => BTreeMap::new(),
        };
        let _ = std::fs::remove_dir_all(&recorder.scratch);
        let counts = AppCounts { launches };
        let text = serde_json::to_string(&counts).map_err(|e| bad(e.to_string()))?;
        write(&path, text.as_bytes())?;
        Ok(counts)
    }

    /// Seconds of one launch on the device that times are predicted for, the mean of those that were counted, by symbol.
    pub fn seconds(&self) -> BTreeMap<String, f64> {
        let mean = |all: &Vec<CountedLaunch>| {
            let known: Vec<f64> = all.iter().filter_map(|l| l.seconds).collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        let each = self.launches.iter();
        each.filter_map(|(symbol, all)| Some((symbol.clone(), mean(all)?)))
            .collect()
    }

    /// What the launches of a kernel did together; none where nothing of it was counted.
    pub fn work(&self, symbol: &str) -> Option<ProgramWork> {
        let mut all = self.launches.get(symbol)?.iter().map(|l| work(&l.counts));
        let mut sum = all.next()?;
        for w in all {
            sum.launches.extend(w.launches);
        }
        Some(sum)
    }

    /// The counts of all kernels as those of one program, with the ranges of arguments over all launches.
    pub fn program(&self) -> Option<ProgramCounts> {
        let mut all = self.launches.values().flatten().map(|l| &l.counts);
        let mut program = all.next()?.clone();
        for c in all {
            program.launches.extend(c.launches.iter().cloned());
            for k in &c.kernels {
                match program.kernels.iter_mut().find(|p| p.symbol == k.symbol) {
                    Some(p) => widen(p, k),
                    None => program.kernels.push(k.clone()),
                }
            }
        }
        Some(program)
    }
}

/// Arguments that another launch had, too.
fn widen(of: &mut KernelCounts, by: &KernelCounts) {
    for s in &mut of.sites {
        let other = by.sites.iter().find(|o| o.id == s.id);
        let Some(other) = other else { continue };
        let both = |one: Option<[f64; 2]>, other: Option<[f64; 2]>| match (one, other) {
            (Some([a, b]), Some([c, d])) => Some([a.min(c), b.max(d)]),
            (one, other) => one.or(other),
        };
        s.seen.arguments = both(s.seen.arguments, other.seen.arguments);
        s.seen.second_arguments = both(s.seen.second_arguments, other.seen.second_arguments);
    }
}

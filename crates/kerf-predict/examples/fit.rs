//! Fits the constants of `data/fitted.json` to recorded times:
//!
//!     cargo run --release -p kerf-predict --example fit -- program [OUT]
//!     cargo run --release -p kerf-predict --example fit -- machine-code CUDA [OUT]
//!
//! run in the root of the repository. CUDA is a folder with NVIDIA's assembler and libdevice (`.kerf/cuda`). OUT is written as
//! `data/fitted.json` is, with the section that was fitted replaced; without it nothing is written.
//!
//! The objective is the mean absolute relative error over the plans of the record. Each constant has a step; from the shipped
//! constants on, each is moved by a step wherever that lowers the error, all at once if that is better than the best single
//! move, until no move lowers it by more than [`GAIN`]. So the result is a local optimum in round numbers. The error with each
//! workload left out of the last choice among the evaluated constants is printed as well.
#[path = "../tests/replay/mod.rs"]
mod replay;

use kerf_predict::cost::FittedConstants;
use replay::{Record, Tools};
use serde_json::Value;
use std::path::Path;

/// Least gain of a move, in mean absolute relative error.
const GAIN: f64 = 0.0005;

/// Sweeps at most.
const SWEEPS: usize = 12;

/// Constants by their place in the file, each with its step. Values stay positive.
const PROGRAM: [(&str, f64); 17] = [
    ("/run/host_start_s", 2.5e-6),
    ("/program/overlap_exponent", 0.5),
    ("/program/unit_overlap_exponent", 1.0),
    ("/program/exposed_load_fraction", 0.05),
    ("/program/predicated_load_fraction", 0.1),
    ("/program/longest_warp_weight", 0.1),
    ("/program/weights/issue", 0.05),
    ("/program/weights/f64", 0.05),
    ("/program/weights/f32", 0.05),
    ("/program/weights/half", 0.05),
    ("/program/weights/special", 0.05),
    ("/program/weights/load_store", 0.05),
    ("/program/weights/l2", 0.05),
    ("/program/weights/dram", 0.05),
    ("/program/weights/latency", 0.05),
    ("/program/weights/memory_latency", 0.1),
    ("/program/weights/launch", 0.05),
];
const MACHINE_CODE: [(&str, f64); 14] = [
    ("/run/start_s", 0.25e-6),
    ("/run/launch_gap_s", 0.1e-6),
    ("/machine_code/overlap_exponent", 0.5),
    ("/machine_code/queueing_factor", 0.1),
    ("/machine_code/divergence_correlation", 0.05),
    ("/machine_code/sector_wait_exponent", 0.1),
    ("/machine_code/exposed_l2_fraction", 0.1),
    ("/machine_code/reconvergence_clocks", 5.0),
    ("/machine_code/branch_clocks", 1.0),
    ("/machine_code/result_visibility_clocks", 2.0),
    ("/machine_code/wide_shared_load_clocks", 5.0),
    ("/machine_code/operand_read_clocks", 5.0),
    ("/machine_code/load_queue_clocks", 8.0),
    ("/machine_code/special_queue_clocks", 8.0),
];

/// The record that a model is fitted to.
struct Training {
    folder: &'static str,
    counts: &'static str,
    /// Every n-th plan of each workload.
    every: usize,
    /// Do its times have the host's start in them?
    host: bool,
    only: &'static [&'static str],
    tools: Option<Tools>,
}

impl Training {
    fn records(&self) -> Vec<Record> {
        let mut all = replay::read_with(self.folder.as_ref(), self.counts.as_ref());
        all.retain(|r| self.only.is_empty() || self.only.contains(&r.name.as_str()));
        for r in &mut all {
            let mut number = 0;
            r.plans.retain(|_| {
                number += 1;
                number % self.every == 1 % self.every
            });
        }
        all
    }

    /// Errors by workload, constants and plan. Workloads are spread over the cores.
    fn errors(&self, constants: &[FittedConstants]) -> Vec<(String, Vec<Vec<f64>>)> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut all: Vec<_> = std::thread::scope(|s| {
            let threads = (0..cores).map(|core| {
                s.spawn(move || {
                    let own = self.records();
                    let own = own.iter().enumerate().filter(|(i, _)| i % cores == core);
                    own.map(|(_, r)| {
                        let tools = self.tools.as_ref();
                        let e = replay::errors_fitted(r, tools, constants, self.host);
                        (r.name.clone(), e)
                    })
                    .collect::<Vec<_>>()
                })
            });
            let threads: Vec<_> = threads.collect();
            let done = threads.into_iter();
            done.flat_map(|t| t.join().expect("a core finishes"))
                .collect()
        });
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }
}

fn parsed(v: &Value) -> FittedConstants {
    serde_json::from_value(v.clone()).expect("constants")
}

/// The constants with one moved by some steps, in as many digits as the step has; none where it would not stay positive.
fn moved(v: &Value, at: &str, step: f64) -> Option<Value> {
    let mut v = v.clone();
    let slot = v.pointer_mut(at).expect("a constant");
    let value = slot.as_f64().expect("a number") + step;
    let rounded: f64 = format!("{value:.3e}").parse().expect("a number");
    *slot = rounded.into();
    (rounded > 0.1 * step.abs()).then_some(v)
}

/// Mean absolute errors of each of the constants.
fn means(errors: &[(String, Vec<Vec<f64>>)], count: usize) -> Vec<f64> {
    let mean = |c: usize| {
        let all: Vec<f64> = errors.iter().flat_map(|(_, e)| e[c].clone()).collect();
        all.iter().map(|e| e.abs()).sum::<f64>() / all.len().max(1) as f64
    };
    (0..count).map(mean).collect()
}

/// The error where each workload is predicted with the constants that are best for the others.
fn left_out(errors: &[(String, Vec<Vec<f64>>)], count: usize) -> f64 {
    let sum = |w: usize, c: usize| errors[w].1[c].iter().map(|e| e.abs()).sum::<f64>();
    let others = |w: usize, c: usize| -> f64 {
        let all = (0..errors.len()).filter(|o| *o != w);
        all.map(|o| sum(o, c)).sum()
    };
    let best = |w: usize| (0..count).min_by(|a, b| others(w, *a).total_cmp(&others(w, *b)));
    let whole: f64 = (0..errors.len())
        .map(|w| sum(w, best(w).unwrap_or(0)))
        .sum();
    let plans: usize = errors.iter().map(|(_, e)| e[0].len()).sum();
    whole / plans.max(1) as f64
}

/// Moves constants until no step lowers the error.
fn descend(training: &Training, steps: &[(&str, f64)]) -> Value {
    let shipped = FittedConstants::shipped();
    let mut now = serde_json::to_value(shipped).expect("constants");
    for sweep in 0..SWEEPS {
        let mut candidates = vec![now.clone()];
        let mut of_step = vec![usize::MAX];
        for (n, (at, step)) in steps.iter().enumerate() {
            for signed in [-step, *step] {
                candidates.extend(moved(&now, at, signed));
                of_step.resize(candidates.len(), n);
            }
        }
        let constants: Vec<FittedConstants> = candidates.iter().map(parsed).collect();
        let errors = training.errors(&constants);
        let means = means(&errors, constants.len());
        println!(
            "sweep {sweep}: {:.2} %, {:.2} % with each workload left out",
            100.0 * means[0],
            100.0 * left_out(&errors, constants.len())
        );
        let mut best: Vec<(usize, f64)> = Vec::new();
        for n in 0..steps.len() {
            let own = (1..candidates.len()).filter(|c| of_step[*c] == n);
            let least = own.min_by(|a, b| means[*a].total_cmp(&means[*b]));
            best.extend(
                least
                    .map(|c| (c, means[0] - means[c]))
                    .filter(|b| b.1 > 0.0),
            );
        }
        best.sort_by(|a, b| b.1.total_cmp(&a.1));
        let Some((first, gain)) = best.first().copied() else {
            break;
        };
        let mut together = now.clone();
        for (c, _) in &best {
            let at = steps[of_step[*c]].0;
            let value = candidates[*c].pointer(at).cloned().expect("a constant");
            *together.pointer_mut(at).expect("a constant") = value;
        }
        let both = [parsed(&together)];
        let all = self::means(&training.errors(&both), 1)[0];
        let (next, gain) = match means[0] - all > gain {
            true => (together, means[0] - all),
            false => (candidates[first].clone(), gain),
        };
        if gain < GAIN {
            break;
        }
        for (at, _) in steps {
            let (old, new) = (now.pointer(at), next.pointer(at));
            if old != new {
                println!("  {at}: {} to {}", old.expect("it"), new.expect("it"));
            }
        }
        now = next;
    }
    now
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let texts: Vec<&str> = args.iter().map(String::as_str).collect();
    let (training, steps, out): (Training, &[(&str, f64)], Option<&str>) = match texts[..] {
        ["program", ref out @ ..] => (
            Training {
                folder: "bench/runs/2026-11-15-h200-prediction",
                counts: "bench/runs/2026-11-15-h200-prediction",
                every: 1,
                host: true,
                only: &replay::FITTED,
                tools: None,
            },
            &PROGRAM,
            out.first().copied(),
        ),
        ["machine-code", cuda, ref out @ ..] => (
            Training {
                folder: "bench/runs/2026-11-16-h200-prediction-10/view",
                counts: "bench/runs/2026-11-16-h200-prediction-8/counts",
                every: 4,
                host: false,
                only: &[],
                tools: Some(Tools::find(cuda.as_ref()).expect("ptxas and libdevice")),
            },
            &MACHINE_CODE,
            out.first().copied(),
        ),
        _ => {
            eprintln!("usage: fit program [OUT] | fit machine-code CUDA [OUT]");
            std::process::exit(2);
        }
    };
    let fitted = descend(&training, steps);
    for (at, _) in steps {
        println!("{at} {}", fitted.pointer(at).expect("a constant"));
    }
    if let Some(path) = out {
        let text = serde_json::to_string_pretty(&parsed(&fitted)).expect("constants");
        std::fs::write(Path::new(path), text + "\n").expect("written");
    }
}

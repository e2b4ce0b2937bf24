//! Strategies on launch spaces. `table` over whole files with their spread, for the record; else constants of the
//! strategy for listed spaces, compared on recorded spaces, parts of them (`parts=N`), and synthetic ones.
//!
//! `spaces table seeds=30 FILE... guided random local`
//! `spaces kernels=3 from=20 seeds=4 budget=100 guided annealing` is over made-up kernels of every family.
//! `spaces synthetic=12 from=20 most=5000 seeds=4 budget=100 v: v:opening=20 v:slow=0.3,fields=1`
use kerf_search::problem::{NoModels, Search};
use kerf_search::recorded::RecordedSpace;
use kerf_search::repeat::repeat;
use kerf_search::rng::Rng;
use kerf_search::strategies::{GuidedSettings, guided_points_with};
use kerf_search::synthetic_kernels::{FAMILIES, kernel_space};
use kerf_search::synthetic_launch::launch_space;
use kerf_search::{Evaluation, Problem, by_name, run};

fn load(path: &str) -> RecordedSpace {
    let bytes = std::fs::read(path).expect("a file");
    RecordedSpace::parse(&bytes).expect("a space")
}

/// One or two parameters fixed, parameters in another order.
fn part(r: &RecordedSpace, seed: u64) -> Option<RecordedSpace> {
    let mut rng = Rng::new(seed);
    let points = r.problem.points.as_ref()?;
    let several: Vec<usize> = (0..r.problem.variables.len())
        .filter(|i| r.problem.variables[*i].levels.len() > 1)
        .collect();
    let d = *rng.pick(&several)?;
    let mut order: Vec<usize> = (0..r.problem.variables.len()).collect();
    rng.shuffle(&mut order);
    let l = rng.below(r.problem.variables[d].levels.len()) as u8;
    // Two of the values go, if there are many; else one stays.
    let many = r.problem.variables[d].levels.len() > 4;
    let kept: Vec<_> = points
        .iter()
        .filter(|p| if many { p[d] % 2 == l % 2 } else { p[d] == l })
        .collect();
    let variables = order
        .iter()
        .map(|i| r.problem.variables[*i].clone())
        .collect();
    let outcomes = kept
        .iter()
        .map(|p| Evaluation {
            assignment: order.iter().map(|i| p[*i]).collect(),
            outcome: r.outcome(p),
        })
        .collect();
    let problem = Problem {
        points: None,
        ..Problem::categorical(variables, Vec::new())
    };
    RecordedSpace::new(format!("{} part {seed}", r.name), problem, outcomes).ok()
}

fn main() {
    let mut files = Vec::new();
    let (mut seeds, mut synthetic, mut parts, mut first) = (10u64, 0u64, 0u64, 1u64);
    let mut kernels = 0u64;
    let mut budget = 200;
    let mut table = false;
    let (mut most, mut from) = (30000, 0u64);
    let mut variants: Vec<(String, Option<GuidedSettings>)> = Vec::new();
    for a in std::env::args().skip(1) {
        if let Some((k, v)) = a.split_once('=').filter(|(k, _)| !k.contains(':')) {
            match k {
                "seeds" => seeds = v.parse().expect("n"),
                "first" => first = v.parse().expect("n"),
                "budget" => budget = v.parse().expect("n"),
                "synthetic" => synthetic = v.parse().expect("n"),
                "kernels" => kernels = v.parse().expect("n"),
                "parts" => parts = v.parse().expect("n"),
                "most" => most = v.parse().expect("n"),
                "from" => from = v.parse().expect("n"),
                _ => panic!("{k}"),
            }
        } else if let Some(list) = a.strip_prefix("v:") {
            let mut s = GuidedSettings::default();
            for kv in list.split(',').filter(|x| !x.is_empty()) {
                let (k, v) = kv.split_once('=').expect("k=v");
                let x: f64 = v.parse().expect("a number");
                match k {
                    "opening" => s.opening = x as usize,
                    "tune" => s.tune = x,
                    "slow" => s.slow = x,
                    "sweeps" => s.sweeps = x as usize,
                    "fields" => s.fields = x as usize,
                    "local" => s.local = x as usize,
                    "branch" => s.branch = x as usize,
                    "tired" => s.tired = x,
                    "extra" => s.prices.extra = x,
                    "product" => s.prices.product = x,
                    "middle" => s.prices.middle = x,
                    _ => panic!("{k}"),
                }
            }
            variants.push((a.clone(), Some(s)));
        } else if a == "table" {
            table = true;
        } else if a.ends_with(".gz") || a.ends_with(".json") {
            files.push(load(&a));
        } else {
            variants.push((a.clone(), None));
        }
    }
    if table {
        for r in &files {
            for (name, _) in &variants {
                let start = std::time::Instant::now();
                let all = repeat(
                    r,
                    name.parse().expect("a strategy"),
                    budget,
                    seeds as usize,
                    first,
                )
                .expect("a strategy");
                let n: usize = all.repetitions.iter().map(|x| x.executions).sum();
                let ask = 1e3 * start.elapsed().as_secs_f64() / n.max(1) as f64;
                for m in all.marks.iter().filter(|m| m.executions >= 50) {
                    println!(
                        "{:38} {name:13} {:4} mean {:.3} median {:.3} 10 % {:.3} 90 % {:.3} worst {:.3} none {} ({ask:.1} ms a run)",
                        r.name.replace("NVIDIA ", ""),
                        m.executions,
                        m.mean,
                        m.median,
                        m.low,
                        m.high,
                        m.worst,
                        m.nothing,
                    );
                }
            }
        }
        return;
    }
    let whole = files.clone();
    let mut spaces = files;
    for r in &whole {
        spaces.extend((0..parts).filter_map(|s| part(r, s)));
    }
    if parts > 0 {
        spaces.drain(..whole.len());
    }
    spaces.extend((from..from + synthetic).filter_map(|s| launch_space(s, most).ok()));
    for family in FAMILIES {
        let all = from..from + kernels;
        spaces.extend(all.filter_map(|s| kernel_space(family, s, most).ok()));
    }
    let marks = [25, 50, 100, 200];
    let mut totals = vec![[0.0; 4]; variants.len()];
    for r in &spaces {
        let best = r.optimum().expect("an optimum");
        for (vi, (name, s)) in variants.iter().enumerate() {
            let mut sums = [0.0; 4];
            let (mut time, mut n) = (0.0, 0usize);
            for seed in first..first + seeds {
                let search = Search {
                    problem: &r.problem,
                    models: &NoModels,
                    seed,
                    budget,
                };
                let points = r.problem.points.as_ref().expect("listed");
                let start = std::time::Instant::now();
                let mut strategy: Box<dyn kerf_search::Strategy> = match s {
                    Some(s) => Box::new(guided_points_with(search, points, *s)),
                    None => by_name(name, search).expect("a strategy"),
                };
                let t = run(&r.problem, &mut *strategy, budget, |a| r.outcome(a));
                time += start.elapsed().as_secs_f64();
                n += t.executed.len();
                let mut least = f64::INFINITY;
                let mut at = Vec::new();
                for e in &t.executed {
                    least = least.min(e.outcome.time().unwrap_or(f64::INFINITY));
                    at.push(least);
                }
                for (sum, m) in sums.iter_mut().zip(marks) {
                    let m = m.min(budget).min(at.len()) - 1;
                    *sum += (at[m] / best).min(10.0) / seeds as f64;
                }
            }
            for (t, s) in totals[vi].iter_mut().zip(sums) {
                *t += s.ln() / spaces.len() as f64;
            }
            println!(
                "{:40} {:6} {:40} {:.3} {:.3} {:.3} {:.3}  {:.1} ms",
                r.name.replace("NVIDIA ", ""),
                r.len(),
                name,
                sums[0],
                sums[1],
                sums[2],
                sums[3],
                1e3 * time / n as f64
            );
        }
    }
    println!("--- geometric mean over {} spaces", spaces.len());
    for (t, (name, _)) in totals.iter().zip(&variants) {
        println!(
            "{:40} {:.4} {:.4} {:.4} {:.4}",
            name,
            t[0].exp(),
            t[1].exp(),
            t[2].exp(),
            t[3].exp()
        );
    }
}

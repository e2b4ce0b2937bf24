//! Strategies side by side on synthetic problems.
use kerf_search::synthetic::{Errors, Recipe, Synthetic};
use kerf_search::{Search, by_name, run};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let names: Vec<&str> = args[1].split(',').collect();
    let budget: usize = args[2].parse().unwrap();
    let seeds: u64 = args[3].parse().unwrap();
    let mut tot: std::collections::BTreeMap<&str,(f64,usize,usize,f64)> = Default::default();
    for (label, r) in recipes() {
        for name in &names {
            let mut q = Vec::new();
            let mut ex = Vec::new();
            for seed in 0..seeds {
                let s = Synthetic::new(Recipe { quantile: [0.05, 0.25, 0.5, 0.75][seed as usize % 4], ..r }, seed);
                let (_, opt) = s.optimum();
                let search = Search { problem: &s.problem, models: &s, seed, budget };
                let mut st = by_name(name, search).unwrap();
                let t = run(&s.problem, &mut *st, budget, |a| s.evaluate(a));
                let best = t.best.unwrap();
                q.push(opt / s.true_time(&best.assignment));
                ex.push(t.executed.len());
                if std::env::var("V").is_ok() { println!("{label} seed {seed} q {:.4} ex {} opt {opt:.3} {:?}", q.last().unwrap(), t.executed.len(), t.reason); }
            }
            q.sort_by(f64::total_cmp);
            let n = q.len();
            let mean: f64 = q.iter().sum::<f64>() / n as f64;
            let ok = q.iter().filter(|x| **x >= 0.97).count();
            let t = tot.entry(name).or_default(); t.0 += q.iter().sum::<f64>(); t.1 += n; t.2 += ok; t.3 += ex.iter().map(|x| (*x as f64).ln()).sum::<f64>();
            let gm = (ex.iter().map(|x| (*x as f64).ln()).sum::<f64>() / n as f64).exp();
            println!("{label:<32} {name:<12} mean {mean:.4} min {:.4} p10 {:.4} med {:.4} >=.97 {ok}/{n} exec gm {gm:.1} max {}", q[0], q[n / 10], q[n / 2], ex.iter().max().unwrap());
        }
    }
    for (n, t) in tot { println!("TOTAL {n} mean {:.4} ok {}/{} exec gm {:.1}", t.0 / t.1 as f64, t.2, t.1, (t.3 / t.1 as f64).exp()); }
}

fn recipes() -> Vec<(String, Recipe)> {
    let mut out = Vec::new();
    for (v, l) in [(16, 2), (10, 3)] {
        for e in [Errors::Quadrature, Errors::Largest, Errors::Sum, Errors::Cancelling] {
            for s in [Some(0.5), None] {
                out.push((format!("{v}x{l} {e:?} {s:?}"), Recipe { variables: v, levels: l, errors: e, sensitivity: s, ..Recipe::default() }));
            }
        }
        out.push((format!("{v}x{l} mem"), Recipe { variables: v, levels: l, memory_bound: true, ..Recipe::default() }));
        out.push((format!("{v}x{l} casts"), Recipe { variables: v, levels: l, casts: 1.5, ..Recipe::default() }));
        out.push((format!("{v}x{l} no models"), Recipe { variables: v, levels: l, model: None, sensitivity: None, ..Recipe::default() }));
    }
    out
}

use kerf_search::synthetic::{Errors, Recipe, Synthetic};
use kerf_search::{Search, by_name, run};
use kerf_search::guided::{error_model::ErrorModel, time_model::TimeModel};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (v, l): (usize, usize) = (a[1].parse().unwrap(), a[2].parse().unwrap());
    let e = match a[3].as_str() { "Q" => Errors::Quadrature, "L" => Errors::Largest, "S" => Errors::Sum, _ => Errors::Cancelling };
    let sens = if a[4] == "n" { None } else { Some(0.5) };
    let seed: u64 = a[5].parse().unwrap();
    let s = Synthetic::new(Recipe { variables: v, levels: l, errors: e, sensitivity: sens, quantile: [0.05, 0.25, 0.5, 0.75][seed as usize % 4], ..Recipe::default() }, seed);
    let (oa, opt) = s.optimum();
    let tol = s.problem.tolerance.unwrap();
    println!("opt {opt:.4} err {:.3} {oa:?}", s.true_error(&oa) / tol);
    let search = Search { problem: &s.problem, models: &s, seed, budget: 25 };
    let mut st = by_name("guided", search).unwrap();
    let mut done = Vec::new();
    let t = run(&s.problem, &mut *st, 25, |a| {
        let o = s.evaluate(a);
        let mut em = ErrorModel::new(search).unwrap();
        let mut tm = TimeModel::new(search);
        em.learn(&done); tm.learn(&done);
        let (m, sd) = em.predict(a); let (tt, ts) = tm.predict(a);
        let (om, os) = em.predict(&oa); let (ot, ots) = tm.predict(&oa);
        println!("{:?} err {:.3} (pred {:.3} x{:.2}, pass {:.2}) time {:.4} (pred {tt:.4} {ts:.4}) | opt: err {:.3} x{:.2} pass {:.3} t {ot:.4} {ots:.4}", a.iter().map(|x| x.to_string()).collect::<String>(), o.error().unwrap() / tol, m.exp() / tol, sd.exp(), em.passes(a,1.0), o.time().unwrap(), om.exp() / tol, os.exp(), em.passes(&oa,1.0));
        done.push(kerf_search::Evaluation { assignment: a.to_vec(), outcome: o });
        o
    });
    println!("{:?} best {:?}", t.reason, t.best);
    for i in 0..v { println!("{i} {:?} {:?}", s.problem.variables[i].levels.iter().map(|l| l.error.unwrap_or(0.0) / tol).collect::<Vec<_>>(), (1..l).map(|k| { let mut a = s.problem.identity(); a[i] = k as u8; s.true_error(&a) / tol }).collect::<Vec<_>>()); }
}

//! Strategies side by side on recorded tables: `tables STRATEGY,... FILE...`; as `kerf search compare`, in short.
use kerf_search::compare::{compare, geometric_mean};
use kerf_search::recorded::RecordedSpace;

fn main() {
    let mut args = std::env::args().skip(1);
    let names = args.next().expect("usage: tables STRATEGY,... FILE...");
    let strategies: Vec<(String, usize)> = names
        .split(',')
        .map(|n| (n.to_owned(), if n == "guided" { 25 } else { 1000 }))
        .collect();
    let mut cases = Vec::new();
    for f in args {
        let bytes = std::fs::read(&f).expect("a file");
        let space = RecordedSpace::parse(&bytes).expect("a space");
        cases.extend(compare(&space, &[0.25, 0.5, 0.75], &strategies, 5, 1).expect("strategies"));
    }
    for (name, _) in &strategies {
        let of = || cases.iter().filter_map(|c| Some((c, c.score(name)?)));
        for (c, s) in of() {
            println!(
                "{name:12} {:36} {:.2e} optimum {:.3} found {:.3} worst {:.3} runs {:5.1} reach {:5.1} never {} cut {:?}",
                c.space,
                c.tolerance,
                c.optimum,
                s.speedup,
                s.worst,
                s.executions,
                s.reach,
                s.never,
                s.cut
                    .iter()
                    .map(|x| (1e3 * x.1 / c.optimum).round() / 1e3)
                    .collect::<Vec<_>>()
            );
        }
        let least = of().map(|(c, s)| s.worst / c.optimum).fold(1.0, f64::min);
        let good = of().filter(|(c, s)| s.worst >= 0.97 * c.optimum).count();
        println!(
            "{name:12} {} cases: {:.4} of the optimum, least {least:.3}, at least 97 %: {good}; runs {:.2}, reach {:.2}",
            of().count(),
            geometric_mean(of().map(|(c, s)| s.speedup / c.optimum)),
            geometric_mean(of().map(|(_, s)| s.executions)),
            geometric_mean(of().map(|(_, s)| s.reach)),
        );
    }
}

//! Strategies for launch shapes side by side on recorded timings: what each finds and what it costs.
//!
//! A kernel is one space: its shapes, each with the time of the whole launch. The cost of a strategy is the
//! time of what it ran, over that of running every shape once. The tuners' strategy runs samples where
//! launches are long enough to be sampled, and nothing where they are not.
use super::funnel::Funnel;
use super::record;
use super::ryoo::{metrics, pareto};
use super::sample::{STILL, quick, quick_waves};
use super::space::Look;

use super::table::ShapeTiming;
use super::tuners::{Candidate, Contention, Factor};
use kerf_device::occupancy::{Demand, Multiprocessor};
use kerf_predict::sampled::BlockSample;
use kerf_run::job::LaunchKind;
use kerf_search::{
    Level, NoModels, Outcome, Problem, Search, SearchSession, StrategyName, Variable,
};
use kerf_workload::ConcreteLaunch;
use serde::Serialize;

/// What one strategy did on one kernel.
#[derive(Debug, Clone, Serialize)]
pub struct Did {
    /// Time of its choice over that of the best shape.
    pub over: f64,
    /// Time of what it ran over that of all shapes once.
    pub cost: f64,
    /// Launches that it ran, whole or in samples.
    pub runs: f64,
    /// Its choice: threads along each axis; none where it is a mean over seeds.
    pub block: Option<[u32; 3]>,
}

/// One kernel.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// Workload and sizes.
    pub workload: String,
    /// Kernel.
    pub kernel: String,
    /// Shapes.
    pub shapes: usize,
    /// Waves of the file's own shape.
    pub waves: f64,
    /// Time of the file's own shape over the best.
    pub own: f64,
    /// Time of the slowest over the best.
    pub worst: f64,
    /// The best shape.
    pub best: [u32; 3],
    /// Its seconds.
    pub best_s: f64,
    /// The tuners.
    pub launch: Did,
    /// Ryoo's pruning.
    pub ryoo: Did,
    /// An evolutionary search with as many runs as the tuners had, mean over seeds.
    pub evolutionary: Did,
    /// Shapes at random, likewise.
    pub random: Did,
    /// Compiled for its block over not, for the same shape, at best; none where nobody tried.
    pub fixed: Option<f64>,
}

/// Seeds of the searches that have any.
const SEEDS: u64 = 20;

/// Kernels with fewer shapes leave nothing to choose.
const LEAST: usize = 3;

/// Counted work of a shape; none where nobody counted.
pub type CountedWork<'w> = &'w dyn Fn(&ShapeTiming) -> Option<f64>;

fn candidates(all: &[&ShapeTiming], machine: &Multiprocessor, work: CountedWork) -> Vec<Candidate> {
    let mut out = Vec::new();
    for (at, r) in all.iter().enumerate() {
        let threads: u32 = r.block.iter().product();
        let demand = Demand {
            registers: r.registers.max(1),
            shared: u64::from(r.shared + r.dynamic),
            carveout: None,
        };
        let Ok(occupancy) = machine.occupancy(demand, threads) else {
            continue;
        };
        let kind = LaunchKind {
            symbol: r.kernel.clone(),
            name: r.kernel.clone(),
            repeats: 1,
            varies: false,
            launch: ConcreteLaunch {
                kernel: r.kernel.clone(),
                grid: r.grid,
                block: r.block,
                shared: r.dynamic,
                args: Vec::new(),
                line: 0,
            },
        };
        out.push(Candidate {
            at,
            work: work(r),
            looks: vec![Look {
                symbol: r.kernel.clone(),
                name: r.kernel.clone(),
                kind,
                occupancy,
                sectors: r.sectors,
                segments: r.segments,
                told: r.told,
            }],
        });
    }
    out
}

struct Space<'r> {
    rows: Vec<&'r ShapeTiming>,
    whole: Vec<&'r ShapeTiming>,
    best: usize,
    sum: f64,
}

impl Space<'_> {
    fn over(&self, at: usize) -> f64 {
        self.whole[at].time.median_s / self.whole[self.best].time.median_s
    }

    /// The fastest of some by whole launches.
    fn by_runs(&self, of: &[usize]) -> Did {
        let time = |i: &usize| self.whole[*i].time.median_s;
        let at = of
            .iter()
            .copied()
            .min_by(|a, b| time(a).total_cmp(&time(b)))
            .unwrap_or(0);
        Did {
            over: self.over(at),
            cost: of.iter().map(time).sum::<f64>() / self.sum,
            runs: of.len() as f64,
            block: Some(self.whole[at].block),
        }
    }

    /// The fastest of what the tuners leave: by samples, by whole launches where a shape is too short for any,
    /// without a run where the launch is.
    fn tuned(&self, f: &Funnel) -> Did {
        match f.unseen.filter(|_| f.waves < STILL) {
            Some(at) => Did {
                over: self.over(at),
                cost: 0.0,
                runs: 0.0,
                block: Some(self.whole[at].block),
            },
            None => self.by_samples(&f.sampled()),
        }
    }

    /// The fastest of some by samples where there are, and by whole launches where not.
    fn by_samples(&self, of: &[usize]) -> Did {
        let (mut best, mut cost) = ((f64::INFINITY, 0), 0.0);
        for i in of {
            let r = self.whole[*i];
            let waves = r.count as f64 / f64::from((r.resident * r.sms).max(1));
            let s = quick_waves(waves).and_then(|n| record::part(&self.rows, r, n, true));
            let (time, spent) = match s {
                Some(p) => {
                    let fastest = BlockSample {
                        blocks: p.count,
                        seconds: p.time.least_s,
                    };
                    (quick(fastest, r.count), p.time.median_s)
                }
                None => (r.time.least_s, r.time.median_s),
            };
            cost += spent;
            if time < best.0 {
                best = (time, *i);
            }
        }
        Did {
            over: self.over(best.1),
            cost: cost / self.sum,
            runs: of.len() as f64,
            block: Some(self.whole[best.1].block),
        }
    }

    /// A strategy of `kerf-search` over the extents of the block, with so many runs, mean over seeds.
    fn searched(&self, strategy: StrategyName, runs: usize) -> Did {
        let mut values: Vec<Vec<u32>> = vec![Vec::new(); 3];
        for r in &self.whole {
            for (v, b) in values.iter_mut().zip(r.block) {
                v.push(b);
            }
        }
        values.iter_mut().for_each(|v| {
            v.sort_unstable();
            v.dedup();
        });
        let level = |n: &u32| Level {
            value: Some(f64::from(*n)),
            ..Level::named(n.to_string())
        };
        let axes = ["x", "y", "z"].iter().zip(&values);
        let variables = axes.map(|(n, v)| Variable::new(*n, v.iter().map(level).collect()));
        let place = |b: &[u32; 3]| -> Vec<u8> {
            let each = b.iter().zip(&values);
            each.map(|(x, v)| v.binary_search(x).unwrap_or(0) as u8)
                .collect()
        };
        let points: Vec<Vec<u8>> = self.whole.iter().map(|r| place(&r.block)).collect();
        let problem = Problem::categorical(variables.collect(), points.clone());
        let (mut over, mut cost) = (0.0, 0.0);
        for seed in 1..=SEEDS {
            let search = Search {
                problem: &problem,
                models: &NoModels,
                seed,
                budget: runs,
            };
            let Ok(mut s) = strategy.start(search) else {
                continue;
            };
            let mut session = SearchSession::new(&problem, s.as_mut(), runs);
            while let Some(a) = session.wanted() {
                let at = points.iter().position(|p| *p == a);
                session.tell(
                    &a,
                    at.map_or(Outcome::Failed, |i| {
                        Outcome::ran(0.0, self.whole[i].time.median_s)
                    }),
                );
            }
            let t = session.finish();
            let spent: f64 = t.executed.iter().filter_map(|e| e.outcome.time()).sum();
            cost += spent / self.sum;
            let found = t.best.and_then(|b| b.outcome.time());
            over += found.unwrap_or(f64::NAN) / self.whole[self.best].time.median_s;
        }
        Did {
            over: over / SEEDS as f64,
            cost: cost / SEEDS as f64,
            runs: runs as f64,
            block: None,
        }
    }
}

/// Lines that a warp holds for later turns, from recorded segments: those of accesses in loops dominate them.
fn scattered(l: &Look) -> f64 {
    let turns = super::space::LOOP;
    let lines = l.segments * 32.0 / turns;
    if lines >= 8.0 { lines } else { 0.0 }
}

/// Compares on every kernel of a record that has enough shapes.
pub fn compare(
    rows: &[ShapeTiming],
    machine: &Multiprocessor,
    contention: Contention,
    work: CountedWork,
) -> Vec<Compared> {
    let mut out = Vec::new();
    for rows in record::by_kernel(rows) {
        let whole: Vec<&ShapeTiming> = rows.iter().filter(|r| r.run == "whole").copied().collect();
        let mut blocks: Vec<[u32; 3]> = whole.iter().map(|r| r.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        if blocks.len() < LEAST {
            continue;
        }
        let time = |r: &&ShapeTiming| r.time.median_s;
        let best = (0..whole.len()).min_by(|a, b| time(&whole[*a]).total_cmp(&time(&whole[*b])));
        let Some(best) = best else { continue };
        let s = Space {
            sum: whole.iter().map(time).sum(),
            best,
            whole,
            rows,
        };
        let all = candidates(&s.whole, machine, work);
        let funnel = Funnel::new(all.clone(), contention, &Factor::ALL, &scattered);
        let launch = s.tuned(&funnel);
        let metric: Vec<(f64, f64)> = all.iter().map(metrics).collect();
        let ryoo: Vec<usize> = pareto(&metric).into_iter().map(|i| all[i].at).collect();
        // The others get as many runs as a sampled search has, also where this one needs none.
        let runs = funnel.levels.len().max(1);
        let fixed = s.rows.iter().filter(|r| r.run == "fixed").filter_map(|f| {
            let own = s.whole.iter().find(|w| record::same(w, f))?;
            Some(f.time.median_s / own.time.median_s)
        });
        let sizes: Vec<String> = s.whole[0]
            .sizes
            .iter()
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        let worst = s.whole.iter().map(time).fold(0.0, f64::max);
        let own = s.whole.iter().position(|r| r.own).unwrap_or(0);
        out.push(Compared {
            workload: format!("{} {}", s.whole[0].workload, sizes.join(" ")),
            kernel: s.whole[0].kernel.clone(),
            shapes: s.whole.len(),
            waves: {
                let r = s.whole[own];
                r.count as f64 / f64::from((r.resident * r.sms).max(1))
            },
            own: s.over(own),
            worst: worst / time(&s.whole[best]),
            best: s.whole[best].block,
            best_s: time(&s.whole[best]),
            ryoo: s.by_runs(&ryoo),
            evolutionary: s.searched(StrategyName::NaiveGa, runs),
            random: s.searched(StrategyName::Random, runs),
            fixed: fixed.min_by(f64::total_cmp),
            launch,
        });
    }
    out
}

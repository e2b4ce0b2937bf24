//! The Table Maker's Dilemma on a GPU: exhaustive search and Lefevre's algorithm, in one kernel and in three, with
//! the test in three forms, beside this processor.
use crate::finding::{Finding, FindingVerdict, short};
use crate::report::{OWN, StudyReport};
use crate::table::{Table, TableCell};
use crate::{Scale, Setup, StudyDevice, StudyError};
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::CudaExecutor;
use kerf_exec::{ExecError, Executor};
use kerf_hardround::format::{BINARY64, BinadeGrid};
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::leaf::{FoundCases, HardCase, LARGEST, Query, decide, search};
use kerf_hardround::poly::{BlockPolynomial, Poly, block};
use kerf_hardround::search::{Isa, Scratch};
use kerf_hardround::units::Units;
use kerf_hardround_gpu::dilemma::{self, DeploymentOutcome, Dilemma, FORMS, Rounds, SUB_BLOCK};
use kerf_hardround_gpu::{BatchSizes, GpuError, KERNELS, SearchWork};
use kerf_ir::finish::ptx;
use kerf_llvm::Module;
use std::ops::ControlFlow;
use std::time::Instant;

/// The publication.
pub const PUBLICATION: &str = "Fortin, Gouicem and Graillat 2011";
/// The study's name.
pub const NAME: &str = "table-makers-dilemma";
/// Identical bits after the round bit: as published, about 240 of 2^40 arguments have as many.
pub const BITS: u32 = 33;
/// Distances of a place from its sub-block's start.
const DISTANCE: u32 = 40;
/// Published seconds for 2^40 arguments: an X5650 core and a C2070.
const EXHAUSTIVE: [f64; 2] = [1079.41, 33.23];
const CPU: f64 = 4.52;
const ONE: f64 = 0.348;
const THREE: f64 = 0.265;
const SWAPPED: f64 = 0.249;
/// Published shares of intervals that reach the second and the third phase.
const SHARES: [f64; 2] = [3.25e-3, 0.07e-3];

fn failed(e: GpuError) -> StudyError {
    match e {
        GpuError::Exec(e) => e.into(),
        other => ExecError::Compile(other.to_string()).into(),
    }
}

fn query(isa: Option<Isa>) -> Query {
    Query {
        function: ElementaryFunction::Exp,
        format: BINARY64,
        bits: BITS,
        isa,
    }
}

/// Arguments of exp from 1 on.
fn grid(arguments: u64) -> BinadeGrid {
    BinadeGrid {
        negative: false,
        exponent: -52,
        first: 1 << 52,
        end: (1 << 52) + arguments,
    }
}

/// Sub-blocks from 1 on, with the polynomial of each.
struct Range {
    records: Vec<Vec<u64>>,
    polys: Vec<(BinadeGrid, Poly)>,
}

impl Range {
    fn new(sub_blocks: u64) -> Option<Range> {
        let whole = grid(sub_blocks * SUB_BLOCK);
        let (mut records, mut polys) = (Vec::new(), Vec::new());
        let mut at = whole.first;
        while at < whole.end {
            let part = whole.part(at, whole.end.min(at + LARGEST));
            let BlockPolynomial::Smooth(poly) = block(ElementaryFunction::Exp, BINARY64, &part)
            else {
                return None;
            };
            for start in (part.first..part.end).step_by(SUB_BLOCK as usize) {
                records.push(dilemma::record(&poly, start, query(None).eps())?);
            }
            polys.push((part, *poly));
            at = part.end;
        }
        Some(Range { records, polys })
    }

    /// The hard cases among candidates.
    fn cases(&self, o: &DeploymentOutcome) -> Vec<HardCase> {
        let q = query(None);
        let first = self.polys[0].0.first;
        let at = |p: &u64| first + (p >> DISTANCE) * SUB_BLOCK + (p & ((1 << DISTANCE) - 1));
        let mut found = FoundCases::default();
        for (grid, poly) in &self.polys {
            let inside = |m: &u64| (grid.first..grid.end).contains(m);
            let some = o.places.iter().map(at).filter(inside).collect();
            decide(&q, grid, poly, some, &mut found);
        }
        found.cases
    }
}

fn load(
    module: &Module,
    kernels: &[String],
    setup: &Setup,
) -> Result<Box<dyn Executor>, StudyError> {
    Ok(match setup.device {
        StudyDevice::Cpu => Box::new(CpuExecutor::new(module, CpuOptions::default())?),
        StudyDevice::Cuda(ordinal) => {
            let text = ptx(module, &setup.arch).map_err(|e| ExecError::Compile(e.to_string()))?;
            Box::new(CudaExecutor::new(&text, kernels, ordinal)?)
        }
    })
}

/// One deployment's row.
struct Deployed {
    name: String,
    form: &'static str,
    outcome: DeploymentOutcome,
    registers: Vec<Option<u32>>,
    cases: usize,
}

/// The best of some runs, kernel by kernel.
fn best(
    timed: bool,
    mut run: impl FnMut() -> Result<DeploymentOutcome, GpuError>,
) -> Result<DeploymentOutcome, StudyError> {
    let mut o = run().map_err(failed)?;
    for _ in 0..if timed { 4 } else { 0 } {
        let again = run().map_err(failed)?;
        for (a, b) in o.seconds.iter_mut().zip(again.seconds) {
            *a = a.min(b);
        }
    }
    Ok(o)
}

/// Seconds of one core, scaled to 2^40 arguments: exhaustive by differences, and the search by each kind of vector.
fn processor(setup: &Setup, range: &Range) -> Vec<(String, u64, f64)> {
    let bits: u32 = setup.pick(20, 24, 28, 28);
    let mut all = Vec::new();
    // As many runs of 2^21 arguments.
    let runs = 1usize << (bits - 20);
    if let Some((part, poly)) = range.polys.first() {
        let clock = Instant::now();
        std::hint::black_box(dilemma::exhaustive_here(
            poly,
            part.first,
            query(None).eps(),
            runs,
        ));
        let seconds = clock.elapsed().as_secs_f64();
        all.push(("exhaustive, one core".into(), (runs as u64) << 21, seconds));
    }
    let mut time = |name: String, bits: u32, isa: Option<Isa>| {
        let clock = Instant::now();
        let found = search(&query(isa), &grid(1 << bits), &mut Scratch::default());
        std::hint::black_box(found.cases.len());
        all.push((name, 1 << bits, clock.elapsed().as_secs_f64()));
    };
    for isa in Isa::all() {
        let more = if isa == Isa::Scalar { 7 } else { 9 };
        time(
            format!("Lefevre, one core, {}", isa.name()),
            bits + more,
            Some(isa),
        );
    }
    all
}

/// Seconds of Kerf's own search, end to end.
fn own(setup: &Setup, arguments: u64) -> Result<(usize, f64), StudyError> {
    let module = kerf_hardround_gpu::program(&setup.arch).map_err(failed)?;
    let mut exec = load(&module, &KERNELS.map(str::to_owned), setup)?;
    let q = query(Some(Isa::best()));
    let to = grid(arguments).value((1 << 52) + arguments);
    let Ok(units) = Units::new(&q, 1.0, to) else {
        return Ok((0, 0.0));
    };
    let work = SearchWork {
        query: &q,
        units: &units,
        range: 0..units.len(),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        room: BatchSizes::usual(setup.pick(2, 2, 1024, 1024)),
    };
    let clock = Instant::now();
    let mut cases = 0;
    kerf_hardround_gpu::search(
        exec.as_mut(),
        &work,
        |_| true,
        |_, _, found| {
            cases += found.cases.len();
            ControlFlow::Continue(())
        },
    )
    .map_err(failed)?;
    Ok((cases, clock.elapsed().as_secs_f64()))
}

/// Runs the study.
pub fn run(setup: &Setup) -> Result<StudyReport, StudyError> {
    let cuda = setup.timed();
    let sub_blocks = match (cuda, setup.scale) {
        (false, _) => setup.pick(1, 1, 2, 4),
        (true, _) => setup.pick(4, 256, 2048, 4096),
    };
    let arguments = sub_blocks * SUB_BLOCK;
    (setup.progress)(&format!("{arguments} arguments of exp"));
    let range = Range::new(sub_blocks)
        .ok_or_else(|| ExecError::Compile("exp is not smooth from 1 on".into()))?;
    let module = dilemma::program(&setup.arch).map_err(failed)?;
    let mut exec = load(&module, &dilemma::kernels(), setup)?;
    let mut report = StudyReport::new(NAME, PUBLICATION, exec.device(), setup);
    let mut d = Dilemma::new(exec.as_mut(), &range.records).map_err(failed)?;
    let mut all = Vec::new();
    let mut rounds = Vec::new();
    let mut add =
        |d: &Dilemma, name: &str, form, kernels: &[String], outcome: DeploymentOutcome| {
            all.push(Deployed {
                name: name.into(),
                form,
                registers: kernels.iter().map(|k| d.registers(k)).collect(),
                cases: range.cases(&outcome).len(),
                outcome,
            });
        };
    // The CPU executor visits every argument of the smallest size only.
    if cuda || setup.scale == Scale::Tiny {
        (setup.progress)("every argument");
        let o = best(cuda, || d.exhaustive())?;
        add(&d, "exhaustive", "", &["exhaustive".to_owned()], o);
    }
    for form in FORMS {
        (setup.progress)(&format!("the test, form {form}"));
        let o = best(cuda, || d.one(form))?;
        add(&d, "one kernel", form, &[format!("one_{form}")], o);
        let o = best(cuda, || d.three(form))?;
        let kernels = [
            format!("phase1_{form}"),
            format!("phase2_{form}"),
            "phase3".into(),
        ];
        add(&d, "three kernels", form, &kernels, o);
        rounds.push((form, d.rounds(form).map_err(failed)?));
    }
    (setup.progress)("Kerf's own search");
    let (found, seconds) = own(setup, arguments)?;
    (setup.progress)("this processor");
    let processor = processor(setup, &range);
    let searched = Searched {
        all: &all,
        rounds: &rounds,
        processor: &processor,
        arguments,
        cuda,
        found,
        seconds,
    };
    report.tables = searched.tables();
    report.findings = searched.findings();
    report.note_device(setup, &[]);
    report.notes.push(format!(
        "Published figures are of an Intel X5650 core and an NVIDIA C2070, for 2^40 arguments; here {arguments} were \
         searched, and times are scaled to 2^40. Lines come from difference tables on the device, whose generation is \
         part of the first phase; the publication made them on the processor and left that out. Times of the \
         processor are measured, with whatever else it did."
    ));
    Ok(report)
}

/// Seconds for 2^40 arguments.
fn scaled(seconds: f64, arguments: u64) -> f64 {
    seconds * 2f64.powi(40) / arguments as f64
}

/// What was searched, and how long it took.
struct Searched<'s> {
    all: &'s [Deployed],
    rounds: &'s [(&'static str, Rounds)],
    /// Searches on this processor: name, arguments, seconds.
    processor: &'s [(String, u64, f64)],
    arguments: u64,
    /// On a GPU, where times count.
    cuda: bool,
    /// Cases that Kerf's own search found, and its seconds.
    found: usize,
    seconds: f64,
}

impl Searched<'_> {
    fn tables(&self) -> Vec<Table> {
        vec![
            self.deployments(),
            self.phases(),
            self.rounds_of_test(),
            self.on_processor(),
        ]
    }

    fn deployments(&self) -> Table {
        let mut t = Table::new(
            "deployments",
            "Deployments: seconds for 2^40 arguments",
            &[
                "deployment",
                "test",
                "registers",
                "phase_1_s",
                "phase_2_s",
                "phase_3_s",
                "seconds",
                "published_s",
                "cases",
            ],
        );
        for d in self.all {
            let s = &d.outcome.seconds;
            let at = |i: usize| {
                TableCell::maybe((self.cuda && s.len() > 1).then(|| scaled(s[i], self.arguments)))
            };
            let published = match (d.name.as_str(), d.form) {
                ("exhaustive", _) => Some(EXHAUSTIVE[1]),
                ("one kernel", "branch") => Some(ONE),
                ("three kernels", "branch") => Some(THREE),
                ("three kernels", "swap") => Some(SWAPPED),
                _ => None,
            };
            let registers: Vec<String> = d.registers.iter().flatten().map(u32::to_string).collect();
            t.rows.push(vec![
                d.name.as_str().into(),
                d.form.into(),
                match registers.is_empty() {
                    true => TableCell::Missing,
                    false => TableCell::Text(registers.join(" ")),
                },
                at(0),
                at(1),
                at(2),
                TableCell::maybe(self.cuda.then(|| scaled(s.iter().sum(), self.arguments))),
                TableCell::maybe(published),
                TableCell::Integer(d.cases as u64),
            ]);
        }
        let whole = TableCell::maybe(self.cuda.then(|| scaled(self.seconds, self.arguments)));
        let mut row = vec![
            TableCell::from("Kerf's search, end to end"),
            "regular".into(),
        ];
        row.extend([
            TableCell::Missing,
            TableCell::Missing,
            TableCell::Missing,
            TableCell::Missing,
            whole,
            TableCell::Missing,
        ]);
        row.push(TableCell::Integer(self.found as u64));
        t.rows.push(row);
        t
    }

    fn phases(&self) -> Table {
        let mut t = Table::new(
            "phases",
            "Intervals by phase, intervals of 2^15 arguments, then eighths",
            &[
                "test",
                "phase_1",
                "phase_2",
                "per_mille",
                "published_per_mille",
                "phase_3",
                "per_mille_3",
                "published_3",
            ],
        );
        let intervals = self.arguments >> dilemma::BITS;
        for d in self.all.iter().filter(|d| d.name == "three kernels") {
            let share = |n: u64| TableCell::Real(1e3 * n as f64 / intervals as f64);
            let [second, third] = d.outcome.failed;
            t.rows.push(vec![
                d.form.into(),
                TableCell::Integer(intervals),
                TableCell::Integer(second),
                share(second),
                TableCell::Real(1e3 * SHARES[0]),
                TableCell::Integer(third),
                share(third),
                TableCell::Real(1e3 * SHARES[1]),
            ]);
        }
        t
    }

    fn rounds_of_test(&self) -> Table {
        let mut t = Table::new(
            "rounds",
            "Rounds of the test: of a thread, of a warp, and the share that threads wait (normalised mean deviation to the maximum)",
            &["test", "rounds", "rounds_of_warp", "deviation"],
        );
        for (form, n) in self.rounds {
            t.rows.push(vec![
                (*form).into(),
                TableCell::Real(n.mean),
                TableCell::Real(n.warp),
                TableCell::Real(n.deviation),
            ]);
        }
        t
    }

    fn on_processor(&self) -> Table {
        let mut t = Table::new(
            "processor",
            "This processor: seconds for 2^40 arguments",
            &["search", "arguments", "seconds", "published_s"],
        );
        for (name, n, s) in self.processor {
            let published = match name.starts_with("exhaustive") {
                true => EXHAUSTIVE[0],
                false => CPU,
            };
            t.rows.push(vec![
                TableCell::Text(name.clone()),
                TableCell::Integer(*n),
                TableCell::Real(scaled(*s, *n)),
                TableCell::Real(published),
            ]);
        }
        t
    }

    /// Seconds of a deployment for 2^40 arguments.
    fn time(&self, name: &str, form: &str) -> Option<f64> {
        let mut all = self.all.iter();
        let d = all.find(|d| d.name == name && d.form == form)?;
        self.cuda
            .then(|| scaled(d.outcome.seconds.iter().sum(), self.arguments))
    }

    /// The same of a core.
    fn core(&self, word: &str) -> Option<f64> {
        let (_, n, s) = self.processor.iter().rfind(|p| p.0.contains(word))?;
        Some(scaled(*s, *n))
    }

    fn findings(&self) -> Vec<Finding> {
        let mut all = self.speed();
        all.push(self.shares());
        all.push(self.divergence());
        all.push(
            faster(
                "both steps in each round, without any branch, are faster than the swap",
                0.0,
                self.time("three kernels", "swap"),
                self.time("three kernels", "regular"),
            )
            .own(),
        );
        let found = self.found;
        let agree = self.all.iter().all(|d| d.cases == found);
        all.push(Finding::new(
            "all deployments and Kerf's own search give the same number of cases",
            OWN,
            FindingVerdict::by_cases(usize::from(agree && found > 0), 1),
            format!("{found} cases with at least {BITS} bits, known are 239 among 2^40 arguments"),
        ));
        all
    }

    /// What is claimed of times.
    fn speed(&self) -> Vec<Finding> {
        vec![
            faster(
                "Lefevre's algorithm beats exhaustive search on a core",
                EXHAUSTIVE[0] / CPU,
                self.core("exhaustive"),
                self.core("scalar"),
            ),
            faster(
                "Lefevre's algorithm beats exhaustive search on a GPU",
                EXHAUSTIVE[1] / ONE,
                self.time("exhaustive", ""),
                self.time("one kernel", "branch"),
            ),
            faster(
                "exhaustive search is faster on a GPU than on a core",
                EXHAUSTIVE[0] / EXHAUSTIVE[1],
                self.core("exhaustive"),
                self.time("exhaustive", ""),
            ),
            faster(
                "Lefevre's algorithm in one kernel is faster than on a core",
                CPU / ONE,
                self.core("scalar"),
                self.time("one kernel", "branch"),
            ),
            faster(
                "three kernels are faster than one",
                ONE / THREE,
                self.time("one kernel", "branch"),
                self.time("three kernels", "branch"),
            ),
            faster(
                "the swap, which removes divergence within the loop, is faster",
                THREE / SWAPPED,
                self.time("three kernels", "branch"),
                self.time("three kernels", "swap"),
            ),
        ]
    }

    /// Intervals that reach the next phases.
    fn shares(&self) -> Finding {
        let three = self
            .all
            .iter()
            .find(|d| d.name == "three kernels" && d.form == "branch");
        let shares = three.map(|d| {
            let intervals = (self.arguments >> dilemma::BITS) as f64;
            d.outcome.failed.map(|n| n as f64 / intervals)
        });
        let near = |a: f64, b: f64| a < 3.0 * b && b < 3.0 * a;
        let held = shares.map_or(0, |s| {
            usize::from(near(s[0], SHARES[0])) + usize::from(near(s[1], SHARES[1]))
        });
        let evidence = shares.map_or(String::new(), |s| {
            format!(
                "{} and {} per mille, published {} and {}",
                short(1e3 * s[0]),
                short(1e3 * s[1]),
                1e3 * SHARES[0],
                short(1e3 * SHARES[1])
            )
        });
        Finding::new(
            "fewer and fewer intervals reach the next phase, in the published shares (within a factor of 3)",
            "table of phases",
            FindingVerdict::by_cases(held, if shares.is_some() { 2 } else { 0 }),
            evidence,
        )
    }

    /// How long threads of a warp wait for each other.
    fn divergence(&self) -> Finding {
        let branch = self.rounds.iter().find(|r| r.0 == "branch").map(|r| &r.1);
        Finding::new(
            "threads of a warp wait for the one with most rounds",
            "figure of the mean deviation to the maximum",
            branch.map_or(FindingVerdict::NotJudged, |r| {
                FindingVerdict::by_cases(usize::from(r.deviation > 0.05), 1)
            }),
            branch.map_or(String::new(), |r| {
                format!(
                    "{} of the rounds are waited for ({} of a thread, {} of a warp)",
                    short(r.deviation),
                    short(r.mean),
                    short(r.warp)
                )
            }),
        )
    }
}

/// A claim that one time is less than another's.
fn faster(claim: &str, published: f64, slow: Option<f64>, fast: Option<f64>) -> Finding {
    let (verdict, evidence) = match (slow, fast) {
        (Some(s), Some(f)) if f > 0.0 => (
            FindingVerdict::by_cases(usize::from(s > f), 1),
            format!(
                "{} times as fast here, published {}",
                short(s / f),
                short(published)
            ),
        ),
        _ => (FindingVerdict::NotJudged, "not measured here".into()),
    };
    Finding::new(claim, "tables of times", verdict, evidence)
}

impl Finding {
    /// As a claim of Kerf's own, which nobody published.
    fn own(mut self) -> Finding {
        self.place = OWN.into();
        self.evidence = self.evidence.replace(", published 0", "");
        self
    }
}

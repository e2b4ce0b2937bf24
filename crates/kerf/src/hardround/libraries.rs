//! `kerf hardround check-libm --library`: several libraries on the same hard cases, by function and rounding mode.
use super::libm::{Args, RequiredModes, executor, generate, parallel, read, ulps};
use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::progress;
use crate::table::Table;
use kerf_exec::Executor;
use kerf_hardround::format::hex;
use kerf_hardround::function::{ElementaryFunction, FUNCTIONS};
use kerf_hardround::libm::{RoundingMode, judge, rounded_in};
use kerf_hardround::list::List;
use kerf_hardround_gpu::libm;
use kerf_hardround_gpu::library::{LibraryError, MathLibrary};

/// The name of CUDA's library.
const LIBDEVICE: &str = "libdevice";
/// Misroundings shown of each function and library.
const SHOWN: usize = 2;
const MODES: usize = RoundingMode::ALL.len();

impl From<LibraryError> for Failure {
    fn from(e: LibraryError) -> Failure {
        let f = Failure::new(e.to_string());
        match e {
            LibraryError::Load { .. } => f.help(
                "name a shared object for this machine, such as libm.so.6 or ./libcore.so:cr_%, or libdevice",
            ),
            LibraryError::Pattern { .. } => f.help("write the pattern as in ./libcore.so:cr_%"),
            LibraryError::Symbol { .. } => {
                f.help("name other functions, or give the pattern of its symbols: LIBRARY:prefix_%")
            }
            LibraryError::Mode(_) => f.help("check libdevice alone, which rounds to nearest"),
        }
    }
}

/// A library that is checked.
enum CheckedLibrary {
    /// CUDA's, lowered for the CPU or on a GPU. Its functions round to nearest only.
    Libdevice(Box<dyn Executor>),
    /// A shared object.
    Shared(MathLibrary),
}

impl CheckedLibrary {
    fn name(&self) -> &str {
        match self {
            CheckedLibrary::Libdevice(_) => LIBDEVICE,
            CheckedLibrary::Shared(l) => &l.name,
        }
    }

    /// Whether it has a function; an error that names it otherwise.
    fn require(&self, f: ElementaryFunction) -> Result<(), LibraryError> {
        match self {
            CheckedLibrary::Shared(l) => l.require(f),
            CheckedLibrary::Libdevice(_) if libm::is_there(f) => Ok(()),
            CheckedLibrary::Libdevice(_) => Err(LibraryError::Symbol {
                library: LIBDEVICE.into(),
                symbol: f.name(),
            }),
        }
    }

    fn has(&self, f: ElementaryFunction) -> bool {
        self.require(f).is_ok()
    }

    /// Results in a mode; none where the library has no such mode.
    fn apply(
        &mut self,
        f: ElementaryFunction,
        mode: RoundingMode,
        x: &[f64],
    ) -> Result<Option<Vec<f64>>, Failure> {
        match self {
            CheckedLibrary::Libdevice(exec) => match mode {
                RoundingMode::Nearest => Ok(Some(libm::apply(exec.as_mut(), f, x)?)),
                _ => Ok(None),
            },
            CheckedLibrary::Shared(l) => Ok(Some(l.apply(f, mode, x)?)),
        }
    }
}

/// A result that is not the rounded value.
struct Misrounding {
    mode: RoundingMode,
    x: f64,
    got: f64,
    right: f64,
}

/// What became of a function of a library.
struct LibraryRow {
    function: ElementaryFunction,
    library: String,
    arguments: usize,
    /// By mode; none where the library has no such mode.
    misrounded: [Option<usize>; MODES],
    /// Largest distance from the exact value when rounding to nearest.
    worst_ulp: f64,
    cases: Vec<Misrounding>,
}

impl LibraryRow {
    fn correct(&self, modes: RequiredModes) -> bool {
        let right = |n: &Option<usize>| n.is_none_or(|n| n == 0);
        match modes {
            RequiredModes::Nearest => right(&self.misrounded[0]),
            RequiredModes::All => self.misrounded.iter().all(right),
        }
    }
}

/// Runs the command.
pub fn run(a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    let list = a.list.as_deref().map(read).transpose()?;
    let functions = functions(a, list.as_ref())?;
    let mut libraries = open(a, &functions)?;
    refuse_missing(a, &functions, &libraries)?;
    let mut rows = Vec::new();
    for &f in &functions {
        if !libraries.iter().any(|l| l.has(f)) {
            continue;
        }
        let arguments = match &list {
            Some(l) => l.arguments.clone(),
            None => {
                progress::status(&format!("{}: searching for hard cases", f.name()));
                generate(f)
            }
        };
        let right = parallel(&arguments, |x| {
            RoundingMode::ALL.map(|mode| rounded_in(f, *x, mode))
        });
        for library in libraries.iter_mut().filter(|l| l.has(f)) {
            rows.push(check(library, f, &arguments, &right)?);
        }
    }
    progress::clear();
    for l in &libraries {
        let missing: Vec<String> = functions
            .iter()
            .filter(|f| !l.has(**f))
            .map(|f| f.name())
            .collect();
        if !missing.is_empty() {
            note(&format!("{} has no {}", l.name(), missing.join(", ")));
        }
    }
    say(&match format {
        Format::Json => json(&rows, a),
        Format::Csv => csv(&rows),
        Format::Human => human(&rows, style),
    })?;
    let required = a.require_correct;
    let good = required.is_none_or(|modes| rows.iter().all(|r| r.correct(modes)));
    Ok(i32::from(!good))
}

/// The functions asked for: named, of the list, or all.
fn functions(a: &Args, list: Option<&List>) -> Result<Vec<ElementaryFunction>, Failure> {
    if !a.functions.is_empty() {
        return a.functions.iter().map(|f| super::find(f)).collect();
    }
    match list {
        None => Ok(FUNCTIONS.iter().map(|f| f.1).collect()),
        Some(List {
            function: Some(f), ..
        }) => Ok(vec![super::find(f)?]),
        Some(_) => Err(Failure::new("the list does not say whose arguments it has")
            .help("name the function: kerf hardround check-libm exp --list FILE")),
    }
}

fn open(a: &Args, functions: &[ElementaryFunction]) -> Result<Vec<CheckedLibrary>, Failure> {
    let cuda = || -> Vec<ElementaryFunction> {
        let there = functions.iter().filter(|f| libm::is_there(**f));
        there.copied().collect()
    };
    let each = |name: &String| -> Result<CheckedLibrary, Failure> {
        Ok(match name.as_str() {
            LIBDEVICE => CheckedLibrary::Libdevice(executor(a, &cuda())?),
            name => CheckedLibrary::Shared(MathLibrary::open(name)?),
        })
    };
    a.library.iter().map(each).collect()
}

/// Functions that were named have to be in each library; a library without any is not one.
fn refuse_missing(
    a: &Args,
    functions: &[ElementaryFunction],
    libraries: &[CheckedLibrary],
) -> Result<(), Failure> {
    for l in libraries {
        if !a.functions.is_empty() || a.list.is_some() {
            functions.iter().try_for_each(|f| l.require(*f))?;
        }
        if !functions.iter().any(|f| l.has(*f)) {
            return Err(
                Failure::new(format!("{} has none of the functions of math.h", l.name()))
                    .help("give the pattern of its symbols, such as ./libcore.so:cr_%"),
            );
        }
    }
    Ok(())
}

/// Whether a result is the rounded value. Zeros count as equal, and so do NaN.
fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

/// Runs a function in each mode and compares with the values rounded in that mode.
fn check(
    library: &mut CheckedLibrary,
    f: ElementaryFunction,
    arguments: &[f64],
    right: &[[f64; MODES]],
) -> Result<LibraryRow, Failure> {
    let mut row = LibraryRow {
        function: f,
        library: library.name().to_owned(),
        arguments: arguments.len(),
        misrounded: [None; MODES],
        worst_ulp: 0.0,
        cases: Vec::new(),
    };
    for (i, mode) in RoundingMode::ALL.into_iter().enumerate() {
        let Some(results) = library.apply(f, mode, arguments)? else {
            continue;
        };
        let pairs: Vec<(f64, f64)> = arguments.iter().copied().zip(results).collect();
        if mode == RoundingMode::Nearest {
            let ulps = parallel(&pairs, |(x, y)| judge(f, *x, *y).ulps);
            row.worst_ulp = ulps.into_iter().fold(0.0, f64::max);
        }
        let mut wrong = 0;
        for ((x, got), right) in pairs.into_iter().zip(right) {
            let right = right[i];
            if !same(got, right) {
                wrong += 1;
                row.cases.push(Misrounding {
                    mode,
                    x,
                    got,
                    right,
                });
            }
        }
        row.misrounded[i] = Some(wrong);
    }
    Ok(row)
}

fn human(rows: &[LibraryRow], style: Style) -> String {
    let modes = RoundingMode::ALL.map(|m| m.name());
    let head = [
        &["function", "library", "arguments"][..],
        &modes,
        &["worst ulp"],
    ]
    .concat();
    let mut t = Table::new(2, head);
    for r in rows {
        let counts = r
            .misrounded
            .map(|n| n.map_or("-".to_owned(), |n| n.to_string()));
        let first = [
            libm::called(r.function),
            r.library.clone(),
            r.arguments.to_string(),
        ];
        t.row([&first[..], &counts, &[ulps(r.worst_ulp)]].concat());
    }
    let mut out = format!(
        "results that are not the rounded value, by rounding mode, against MPFR\n{}",
        t.render(style)
    );
    for r in rows.iter().filter(|r| !r.cases.is_empty()) {
        let title = format!("{} of {}", libm::called(r.function), r.library);
        out += &format!("{}\n", style.bold(&title));
        for c in r.cases.iter().take(SHOWN) {
            out += &format!(
                "  {}, {}: {}, rounded {}\n",
                hex(c.x),
                c.mode.name(),
                hex(c.got),
                hex(c.right)
            );
        }
    }
    out
}

fn csv(rows: &[LibraryRow]) -> String {
    let mut out = "function,library,mode,x,result,rounded\n".to_owned();
    for r in rows {
        for c in &r.cases {
            out += &format!(
                "{},{},{},{},{},{}\n",
                r.function.name(),
                r.library,
                c.mode.name(),
                hex(c.x),
                hex(c.got),
                hex(c.right)
            );
        }
    }
    out
}

fn json(rows: &[LibraryRow], a: &Args) -> String {
    let case = |c: &Misrounding| {
        serde_json::json!({
            "mode": c.mode.name(), "x": hex(c.x), "result": hex(c.got), "rounded": hex(c.right),
        })
    };
    let functions: Vec<_> = rows
        .iter()
        .map(|r| {
            let modes = RoundingMode::ALL.into_iter().zip(r.misrounded);
            let misrounded: serde_json::Map<_, _> = modes
                .map(|(m, n)| (m.name().replace(' ', "_"), serde_json::json!(n)))
                .collect();
            serde_json::json!({
                "function": r.function.name(),
                "library": r.library,
                "arguments": r.arguments,
                "misrounded": misrounded,
                // JSON has no infinity.
                "worst_ulp": r.worst_ulp.is_finite().then_some(r.worst_ulp),
                "cases": r.cases.iter().map(case).collect::<Vec<_>>(),
            })
        })
        .collect();
    let document = serde_json::json!({
        "schema": "kerf.check-libraries/1",
        "list": a.list,
        "functions": functions,
    });
    format!("{document}\n")
}

//! `kerf function`: a math function made for a range and an error, as source text.
use crate::fail::Failure;
use crate::output::{Format, say};
use crate::parse::ArgumentError;
use kerf_function::core_fit::EvaluationScheme;
use kerf_function::emit::{EmittedLanguage, source_text};
use kerf_function::working_format::WorkingFormat;
use kerf_function::{ErrorMeasure, FunctionError, MadeRequest, MadeTarget, make};
use kerf_hardround::format::parse;
use kerf_num::made::MadeFunction;
use kerf_workload::suggest;
use std::ffi::OsString;

/// Arguments.
#[derive(clap::Args)]
pub struct Args {
    /// exp, exp2, exp10, expm1, log, log2, log10, log1p, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh,
    /// atanh, sinpi, cospi, tanpi, sqrt, rsqrt, cbrt, rcbrt, erf, erfc, normcdf, normcdfinv, j0, j1, y0, y1, tgamma, lgamma; sincos; and
    /// with two arguments pow, hypot, rhypot, atan2.
    function: String,
    /// The smallest argument, such as -7 or 0x1.8p-3; of two, the smallest first one.
    #[arg(long, allow_hyphen_values = true, value_parser = parse_number)]
    from: f64,
    /// The largest argument.
    #[arg(long, allow_hyphen_values = true, value_parser = parse_number)]
    to: f64,
    /// The smallest second argument, of pow(x, y), hypot(x, y), rhypot(x, y), atan2(x, y).
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, value_parser = parse_number, requires = "second_to")]
    second_from: Option<f64>,
    /// The largest second argument. The same as --second-from: pow with this exponent only.
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, value_parser = parse_number, requires = "second_from")]
    second_to: Option<f64>,
    /// The largest admissible error.
    #[arg(long, allow_hyphen_values = true, value_parser = parse_number)]
    error: f64,
    /// The error is relative to the function's value; that is the default.
    #[arg(long, conflicts_with = "absolute")]
    relative: bool,
    /// The error is absolute.
    #[arg(long)]
    absolute: bool,
    /// Format of argument, result and arithmetic: f64 or f32. `--format f64` means the same here.
    #[arg(long = "type", value_name = "FORMAT", default_value = "f64", value_parser = parse_format)]
    number: WorkingFormat,
    /// What to write: cuda (a device function), c, json, or plan (the function as `made` of a plan has it).
    #[arg(long, value_enum, default_value = "cuda")]
    emit: Emit,
    /// Order of the polynomial's operations: horner has the fewest, estrin the shortest chain.
    #[arg(long, value_enum, default_value = "horner")]
    scheme: Scheme,
    /// The name of the function that is written; by default such as exp_made.
    #[arg(long, value_parser = parse_identifier)]
    name: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Emit {
    Cuda,
    C,
    Json,
    Plan,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Scheme {
    Horner,
    Estrin,
}

fn parse_number(s: &str) -> Result<f64, ArgumentError> {
    parse(s)
        .ok_or_else(|| ArgumentError::expected("a number that f64 has, such as 1.5 or 0x1.8p+0"))
}

fn parse_format(s: &str) -> Result<WorkingFormat, ArgumentError> {
    WorkingFormat::find(s).ok_or_else(|| ArgumentError::expected("f64 or f32"))
}

fn parse_identifier(s: &str) -> Result<String, ArgumentError> {
    let start = s.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let rest = s.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match start && rest {
        true => Ok(s.to_owned()),
        false => Err(ArgumentError::expected("a name that C has for functions")),
    }
}

/// The words of a command line; those of `kerf function` with `--type` for a `--format` of numbers, which is the format of
/// the output in all other commands.
pub fn number_format_words(words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_none_or(|w| w != "function") {
        return words;
    }
    let is_number = |w: Option<&OsString>| w.is_some_and(|w| w == "f64" || w == "f32");
    let changed = words.iter().enumerate().map(|(i, w)| match w.to_str() {
        Some("--format") if is_number(words.get(i + 1)) => "--type".into(),
        Some("--format=f64") => "--type=f64".into(),
        Some("--format=f32") => "--type=f32".into(),
        _ => w.clone(),
    });
    changed.collect()
}

fn find(name: &str) -> Result<MadeTarget, Failure> {
    if let Some(f) = MadeTarget::find(name) {
        return Ok(f);
    }
    let names = MadeTarget::names();
    let f = Failure::new(format!("no implementation of {name} can be made"));
    let known = format!("functions that can be made are {}", names.join(", "));
    let near = suggest::did_you_mean(&name.to_lowercase(), names);
    Err(f.help(near.unwrap_or(known)))
}

fn refused(e: &FunctionError) -> Failure {
    let f = Failure::new(e.to_string());
    match e {
        FunctionError::Range { .. } => f.help("--from has to be below --to"),
        FunctionError::NotOfFormat { .. } => {
            f.help("give ends that the format has, in hexadecimal if need be: 0x1.99999ap-4")
        }
        FunctionError::Domain { .. } => f.help("keep the range inside the domain"),
        FunctionError::Error(_) => f.help("give an error such as 1e-9"),
        FunctionError::Overflow { .. } => f.help("choose a smaller --to"),
        FunctionError::Underflow { .. } => f.help("choose a larger --from, or smaller exponents"),
        FunctionError::SecondRangeMissing(_) => {
            f.help("give --second-from and --second-to too; both may be the same")
        }
        FunctionError::NoSecondArgument(_) => f.help("leave out --second-from and --second-to"),
        FunctionError::Zero { .. } => f.help("--absolute asks for an absolute error"),
        FunctionError::TooAccurate { .. } => f.help(
            "choose a larger error, a shorter range or f64; at that accuracy the library's function is the one to use",
        ),
    }
}

fn document(made: &MadeFunction, scheme: EvaluationScheme, name: &str) -> serde_json::Value {
    let code = &made.code;
    let mut document = serde_json::json!({
        "schema": "kerf.function/1",
        "function": made.function,
        "from": made.from,
        "to": made.to,
        "error": made.error,
        "measure": made.measure,
        "format": made.format(),
        "proven": made.bound,
        "reduction": made.reduction,
        "scheme": scheme,
        "degree": made.degree,
        "pieces": made.pieces,
        "operations": code.slots(),
        "table_bytes": code.table_bytes(),
        "guard": made.guard,
        "steps": code.steps,
        "result": code.result,
        "tables": code.tables,
        "cuda": source_text(made, EmittedLanguage::Cuda, name),
    });
    if let Some(second) = made.second {
        document["second"] = serde_json::json!(second);
    }
    if let Some(step) = code.second_result {
        document["second_result"] = serde_json::json!(step);
    }
    document
}

/// The function as plans hold it.
fn in_plan(made: &MadeFunction) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(made);
    let text = text.map_err(|e| Failure::new(e.to_string()))?;
    Ok(text + "\n")
}

/// Runs the command.
pub fn run(a: &Args, format: Format) -> Result<i32, Failure> {
    let target = find(&a.function)?;
    let request = MadeRequest {
        target,
        x: [a.from, a.to],
        y: a.second_from.zip(a.second_to).map(|(from, to)| [from, to]),
        error: a.error,
        measure: match a.absolute && !a.relative {
            true => ErrorMeasure::Absolute,
            false => ErrorMeasure::Relative,
        },
        format: a.number,
    };
    let scheme = match a.scheme {
        Scheme::Horner => EvaluationScheme::Horner,
        Scheme::Estrin => EvaluationScheme::Estrin,
    };
    let made = make(&request, scheme).map_err(|e| refused(&e))?;
    let default = format!("{}_made", made.library_name());
    let name = a.name.as_deref().unwrap_or(&default);
    let emit = if format == Format::Json {
        Emit::Json
    } else {
        a.emit
    };
    let text = |language| source_text(&made, language, name);
    say(&match emit {
        Emit::Cuda => text(EmittedLanguage::Cuda),
        Emit::C => text(EmittedLanguage::C),
        Emit::Json => format!("{:#}\n", document(&made, scheme, name)),
        Emit::Plan => in_plan(&made)?,
    })?;
    Ok(0)
}

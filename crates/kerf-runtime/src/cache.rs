//! What a program had to compile, kept in a folder for its next start: plans, and files that are linked with others.
//!
//! An entry's name is a digest of everything that the code depends on. Entries are written whole, and the oldest go when
//! there are too many bytes.
use crate::error::CallFailure;
use crate::process::this_library;
use crate::state::State;
use kerf_clang::sha256;
use kerf_ir::blob::CodeImage;
use kerf_pass::Plan;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Bytes that the folder may have.
const MOST: u64 = 256 << 20;

/// A file that may change under the same name.
fn file(path: &Path) -> String {
    let Ok(m) = std::fs::metadata(path) else {
        return String::new();
    };
    let time = m.modified().ok();
    let time = time.and_then(|t| t.duration_since(UNIX_EPOCH).ok());
    format!("{} {} {time:?}", path.display(), m.len())
}

/// A name for parts, which depends on where one ends and the next begins.
fn name(parts: &[&[u8]]) -> String {
    let each: Vec<String> = parts.iter().map(|p| sha256(p)).collect();
    sha256(each.join(" ").as_bytes())
}

/// Where the code of a unit with a plan is, or will be; none if nothing is to be kept.
pub fn entry(
    s: &mut State,
    unit: usize,
    plan: &Plan,
    kernels: &[String],
    libdevice: Option<&Path>,
) -> Result<Option<PathBuf>, CallFailure> {
    let config = s.config()?.clone();
    let (Some(dir), false, false) = (config.cache, config.memcheck.is_some(), config.compile)
    else {
        return Ok(None);
    };
    let device = s.device()?;
    let device = format!("{} {}", device.kind().name(), device.name());
    let u = &s.units[unit];
    let about = serde_json::to_vec(&(plan, &u.meta, kernels));
    let (Ok(about), Some(library)) = (about, this_library()) else {
        return Ok(None);
    };
    let libdevice = libdevice.map(file).unwrap_or_default();
    // The library is this code: another version of it may compile otherwise.
    let library = file(&library);
    let mut parts: Vec<&[u8]> = vec![
        device.as_bytes(),
        &about,
        libdevice.as_bytes(),
        library.as_bytes(),
    ];
    parts.extend(u.bitcode.iter().map(|b| b.as_ref()));
    Ok(Some(dir.join(name(&parts))))
}

/// What an entry holds.
pub fn get(entry: &Path) -> Option<(CodeImage, Vec<u8>)> {
    let all = std::fs::read(entry).ok()?;
    let n = u64::from_le_bytes(all.get(..8)?.try_into().ok()?) as usize;
    let end = n.checked_add(8)?;
    let image: CodeImage = serde_json::from_slice(all.get(8..end)?).ok()?;
    let bytes = all.get(end..)?;
    (bytes.len() == image.bytes).then(|| (image, bytes.to_vec()))
}

/// Fills an entry. A folder that cannot be written costs time, nothing else.
pub fn put(entry: &Path, image: &CodeImage, bytes: &[u8]) {
    let _ = written(entry, image, bytes);
    if let Some(dir) = entry.parent() {
        let _ = trim(dir, MOST);
    }
}

fn written(entry: &Path, image: &CodeImage, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(dir) = entry.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let head = serde_json::to_vec(image)?;
    let mut all = (head.len() as u64).to_le_bytes().to_vec();
    all.extend(head);
    all.extend(bytes);
    let part = entry.with_extension(std::process::id().to_string());
    std::fs::write(&part, all)?;
    std::fs::rename(&part, entry)
}

/// Removes the oldest files until the rest has at most half as many bytes as there may be.
fn trim(dir: &Path, most: u64) -> std::io::Result<()> {
    let mut all = Vec::new();
    for f in std::fs::read_dir(dir)? {
        let f = f?;
        if let Ok(m) = f.metadata() {
            all.push((m.modified().unwrap_or(UNIX_EPOCH), m.len(), f.path()));
        }
    }
    let mut bytes: u64 = all.iter().map(|f| f.1).sum();
    if bytes <= most {
        return Ok(());
    }
    all.sort();
    for (_, n, path) in all {
        if bytes <= most / 2 {
            break;
        }
        if std::fs::remove_file(&path).is_ok() {
            bytes -= n;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kerf_ir::blob::ImageKind;

    fn image(bytes: usize) -> CodeImage {
        CodeImage {
            kind: ImageKind::Ptx,
            target: "sm_90".into(),
            bytes,
            about: serde_json::Value::Null,
        }
    }

    fn folder(name: &str) -> PathBuf {
        let d = std::env::temp_dir().join(format!("kerf-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&d).expect("a folder");
        d
    }

    #[test]
    fn parts_are_told_apart() {
        assert_eq!(name(&[b"ab", b"c"]), name(&[b"ab", b"c"]));
        assert_ne!(name(&[b"ab", b"c"]), name(&[b"a", b"bc"]));
        assert_ne!(name(&[b"ab"]), name(&[b"ab", b""]));
    }

    #[test]
    fn entries_come_back_or_are_refused() {
        let d = folder("cache");
        let e = d.join("entry");
        assert!(get(&e).is_none());
        put(&e, &image(3), b"ptx");
        assert_eq!(get(&e), Some((image(3), b"ptx".to_vec())));
        let all = std::fs::read(&e).expect("it is there");
        std::fs::write(&e, &all[..all.len() - 1]).expect("cut off");
        assert!(get(&e).is_none());
        std::fs::remove_dir_all(d).expect("removed");
    }

    #[test]
    fn the_folder_does_not_grow_without_end() {
        let d = folder("trim");
        for i in 0..10 {
            std::fs::write(d.join(format!("{i}")), [0u8; 100]).expect("written");
        }
        trim(&d, 1000).expect("nothing to do");
        assert_eq!(std::fs::read_dir(&d).expect("there").count(), 10);
        trim(&d, 999).expect("trimmed");
        assert_eq!(std::fs::read_dir(&d).expect("there").count(), 4);
        std::fs::remove_dir_all(d).expect("removed");
    }
}

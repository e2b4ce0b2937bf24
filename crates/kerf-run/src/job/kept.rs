//! References in a folder: each is computed once for its program and inputs.
//!
//! A file is found by the digest of everything that decides the reference: the prepared program, its
//! inputs, the settings, the workload file, libdevice and this version. It carries the digest of its own
//! content, so that half a file is no file.
use super::report::ReferenceInfo;
use super::shadowed::{Reference, ReferenceCode, ReferenceOutput, by_host, reference};
use super::{Job, JobError};
use crate::run::WorkloadSession;
use kerf_clang::sha256;
use kerf_ir::program::Program;
use kerf_num::{Dd, Format};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;

/// What the bytes after the first line are.
#[derive(Serialize, Deserialize)]
struct Head {
    info: ReferenceInfo,
    /// For each output: bytes of the original, formats with their number of values.
    outputs: Vec<(usize, Vec<(Format, usize)>)>,
    content: String,
}

fn key(job: &Job, session: &WorkloadSession, program: &Program, inputs: &str) -> String {
    let mut h = Sha256::new();
    let file = std::fs::read(&job.workload).unwrap_or_default();
    let library = job.libdevice.as_ref().and_then(|p| std::fs::read(p).ok());
    for part in [
        env!("CARGO_PKG_VERSION"),
        &sha256(&program.bitcode),
        inputs,
        &format!("{:?} {:?}", session.workload.sizes, session.params),
        &sha256(&file),
        &sha256(&library.unwrap_or_default()),
        &job.arch,
    ] {
        h.update((part.len() as u64).to_le_bytes());
        h.update(part.as_bytes());
    }
    h.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

fn number(bytes: &[u8]) -> f64 {
    let mut b = [0; 8];
    b.copy_from_slice(&bytes[..8]);
    f64::from_le_bytes(b)
}

fn parse(file: &[u8]) -> Option<Reference> {
    let end = file.iter().position(|b| *b == b'\n')?;
    let head: Head = serde_json::from_slice(&file[..end]).ok()?;
    let mut rest = &file[end + 1..];
    if sha256(rest) != head.content {
        return None;
    }
    let mut outputs = Vec::new();
    for (bytes, formats) in head.outputs {
        let original = rest.split_off(..bytes)?.to_vec();
        let mut by = std::collections::BTreeMap::new();
        for (f, count) in formats {
            let values = rest.split_off(..count.checked_mul(16)?)?;
            let value = |c: &[u8]| Dd {
                hi: number(c),
                lo: number(&c[8..]),
            };
            by.insert(f, values.chunks_exact(16).map(value).collect());
        }
        outputs.push((original, by));
    }
    let info = ReferenceInfo {
        kept: true,
        ..head.info
    };
    Some(Reference { info, outputs })
}

fn write(path: &Path, r: &Reference) -> std::io::Result<()> {
    let mut content = Vec::new();
    let mut outputs = Vec::new();
    for (bytes, by) in &r.outputs as &[ReferenceOutput] {
        content.extend_from_slice(bytes);
        for d in by.values().flatten() {
            content.extend_from_slice(&d.hi.to_le_bytes());
            content.extend_from_slice(&d.lo.to_le_bytes());
        }
        outputs.push((bytes.len(), by.iter().map(|(f, v)| (*f, v.len())).collect()));
    }
    let head = Head {
        info: r.info.clone(),
        outputs,
        content: sha256(&content),
    };
    let dir = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir)?;
    kerf_files::write_whole_with(path, |f| {
        serde_json::to_writer(&mut *f, &head)?;
        f.write_all(b"\n")?;
        f.write_all(&content)
    })
}

/// The reference, out of the folder if it is there.
pub(super) fn kept(
    job: &Job,
    (session, program): (&WorkloadSession, &Program),
    inputs: Option<&str>,
    code: &mut ReferenceCode,
    refused: Option<Vec<String>>,
) -> Result<Reference, JobError> {
    let compute = || match refused {
        Some(why) => by_host(job, session, program, (code, why)),
        None => reference(job, session, program, code),
    };
    let (Some(dir), Some(inputs)) = (&job.references, inputs) else {
        return compute();
    };
    let path = dir.join(format!("{}.reference", key(job, session, program, inputs)));
    if let Some(r) = std::fs::read(&path).ok().and_then(|f| parse(&f)) {
        return Ok(r);
    }
    let r = compute()?;
    // A folder that cannot be written costs time, not correctness.
    let _ = write(&path, &r);
    Ok(r)
}

#[cfg(test)]
mod tests {
    use super::super::Device;
    use super::*;

    #[test]
    fn files_come_back_whole_or_not_at_all() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("x.reference");
        let third = Dd::ONE.div(Dd::from_f64(3.0));
        let r = Reference {
            info: ReferenceInfo {
                flips: Vec::new(),
                untracked: vec!["f".into()],
                time_s: 1.5,
                kept: false,
                device: Device::Cpu,
                needs_host: Vec::new(),
            },
            outputs: vec![
                (vec![1, 2, 3], [(Format::F32, vec![third, Dd::NAN])].into()),
                (Vec::new(), [].into()),
            ],
        };
        write(&path, &r).expect("written");
        let file = std::fs::read(&path).expect("read");
        let back = parse(&file).expect("parsed");
        assert!(back.info.kept);
        assert_eq!(back.info.untracked, ["f"]);
        assert_eq!(back.outputs[0].0, [1, 2, 3]);
        assert_eq!(back.outputs[0].1[&Format::F32][0], third);
        assert!(back.outputs[0].1[&Format::F32][1].hi.is_nan());
        assert!(back.outputs[1].1.is_empty());
        for cut in [0, 10, file.len() - 1] {
            assert!(parse(&file[..cut]).is_none(), "{cut}");
        }
    }
}

//! What tells inputs apart: two sessions with equal keys have buffers with the same first contents.
use crate::run::WorkloadSession;
use kerf_clang::FileVersion;
use kerf_workload::workload::{BufferSpec, Init};
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// All that the first contents of a session's buffers depend on. Where a workload file has them, and what it says of
/// outputs, does not count.
pub(super) fn inputs_key(s: &WorkloadSession) -> String {
    let w = s.workload;
    let changes = (s.perturb, s.change);
    let mut key = format!("{:?} {} {changes:?}", w.sizes, s.seed);
    for b in &w.buffers {
        add_buffer(&mut key, b);
    }
    key
}

fn add_buffer(key: &mut String, b: &BufferSpec) {
    let _ = write!(
        key,
        " {:?} {:?} {} {:?} {:?}",
        b.name, b.elem, b.len, b.seed, b.init
    );
    add_files(key, &b.init);
}

/// Adds which files an init reads, and which contents of them.
fn add_files(key: &mut String, init: &Init) {
    match init {
        Init::File(path) => *key += &file_version(path),
        Init::Fields(all) => all.iter().for_each(|i| add_files(key, i)),
        _ => {}
    }
}

/// Which file is at a path, and when it was last changed. Never twice the same for one that cannot be told from a later
/// version of it.
pub(super) fn file_version(path: &Path) -> String {
    static UNTOLD: AtomicU64 = AtomicU64::new(0);
    let version = std::fs::metadata(path).ok();
    match version.and_then(|m| FileVersion::new(&m)) {
        Some(version) => format!(" {version:?}"),
        None => format!(" untold {}", UNTOLD.fetch_add(1, Ordering::Relaxed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kerf_workload::Workload;
    use std::time::Duration;

    /// Longer than a file counts as changed just now.
    const SETTLED: Duration = Duration::from_millis(70);

    /// The key of a workload whose buffer is in a file.
    fn key(dir: &Path, before: &str) -> String {
        let path = dir.join("w.toml");
        let text = format!(
            r#"{before}
source = "k.cu"
[[buffer]]
name = "x"
type = "f32"
len = 2
init = {{ file = "x.npy" }}
[[launch]]
kernel = "k"
grid = [1]
block = [1]
args = ["x"]
"#
        );
        std::fs::write(&path, text).expect("written");
        std::fs::write(dir.join("k.cu"), "").expect("written");
        let w = Workload::read(&path, &[]).expect("a workload");
        inputs_key(&WorkloadSession::plain(&w, &[], &[]))
    }

    fn put(dir: &Path, x: [f32; 2]) {
        let bytes: Vec<u8> = x.iter().flat_map(|v| v.to_le_bytes()).collect();
        let elem = kerf_workload::elem::ElemType::Scalar(kerf_workload::scalar::Scalar::F32);
        kerf_workload::npy::write(&dir.join("x.npy"), &elem, &[2], &bytes).expect("written");
    }

    #[test]
    fn contents_count_and_places_do_not() {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = dir.path();
        put(dir, [1.0, 2.0]);
        assert_ne!(key(dir, ""), key(dir, ""), "a file that was just written");
        std::thread::sleep(SETTLED);
        let first = key(dir, "");
        assert_eq!(first, key(dir, "flags = [\"-DLONGER=1\"]\n"));
        put(dir, [3.0, 4.0]);
        std::thread::sleep(SETTLED);
        assert_ne!(first, key(dir, ""));
    }
}

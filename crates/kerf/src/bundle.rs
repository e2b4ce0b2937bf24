//! `kerf bundle`: a folder that runs on a GPU machine without Rust, clang or a network.
use crate::fail::Failure;
use crate::guard;
use crate::output::say;
use crate::progress::Work;
use crate::toolchain;
use kerf_clang::compile::Toolchain;
use kerf_run::bundle::pack;
use std::path::{Path, PathBuf};

const README: &str = "\
Made by kerf bundle. Needs NVIDIA's driver and x86-64 Linux with glibc 2.36 or later, libstdc++, zlib and zstd.

  ./kerf doctor                               what this machine has
  ./kerf run NAME.toml --device cuda          run a workload on the GPU
  ./run-all.sh                                run all of them, with the reference
  ./kerf selftest --device cuda               compare the CPU executor with this GPU, bit by bit
  ./kerf study NAME --device cuda             repeat a published experiment (./kerf study list)
";

/// Each workload of a bundle has a name of its own.
fn check_names(workloads: &[PathBuf]) -> Result<(), Failure> {
    for (i, w) in workloads.iter().enumerate() {
        let same = |o: &&PathBuf| o.file_stem() == w.file_stem();
        if let Some(o) = workloads[..i].iter().find(same) {
            let stem = w.file_stem().unwrap_or_default().to_string_lossy();
            return Err(Failure::new(format!(
                "two workloads are named {stem}: {} and {}",
                o.display(),
                w.display()
            ))
            .help("give each workload once; rename one of two that have the same name"));
        }
    }
    Ok(())
}

/// Packs workloads; gives the script that runs them, and what was done.
fn pack_all(
    tools: &Toolchain,
    workloads: &[PathBuf],
    dir: &Path,
) -> Result<(String, String), Failure> {
    let mut script = String::from(
        "#!/bin/sh\n# Runs every workload of this bundle on the GPU.\ncd \"$(dirname \"$0\")\" || exit 2\nstatus=0\n",
    );
    let mut told = String::new();
    let work = Work::in_parts(workloads.len(), "packing");
    for (i, w) in workloads.iter().enumerate() {
        work.now(format!("packing {}", w.display()));
        work.done(i);
        guard::survives(w)?;
        let name = pack(tools, w, dir)?;
        script.push_str(&format!(
            "./kerf run '{}' --device cuda --reference \"$@\" || status=$?\n",
            name.replace('\'', "'\\''")
        ));
        told.push_str(&format!("packed {}\n", w.display()));
    }
    drop(work);
    script.push_str("exit $status\n");
    Ok((script, told))
}

/// Makes the folder. It is built under a temporary name and renamed, so that it is whole or absent.
pub fn run(tools: &Toolchain, workloads: &[PathBuf], out: &Path) -> Result<i32, Failure> {
    let refused = |path: &Path, why: &dyn std::fmt::Display| {
        Failure::new(format!("cannot make {}: {why}", path.display()))
            .help("choose another folder with --out")
    };
    if out.symlink_metadata().is_ok() {
        return Err(Failure::new(format!("{} exists already", out.display()))
            .help("choose another folder with --out, or remove it"));
    }
    // Folders above are made last: a bundle that fails leaves nothing behind.
    let above = out.ancestors().skip(1).map(|a| {
        if a.as_os_str().is_empty() {
            Path::new(".")
        } else {
            a
        }
    });
    let base = above
        .clone()
        .find(|a| a.symlink_metadata().is_ok())
        .unwrap_or(Path::new("."));
    if !base.is_dir() {
        return Err(refused(out, &format!("{} is not a folder", base.display())));
    }
    check_names(workloads)?;
    let dir = tempfile::tempdir_in(base).map_err(|e| refused(out, &e))?;
    let lib = (tools.libdevice.as_ref())
        .ok_or_else(|| toolchain::no_libdevice("set KERF_LIBDEVICE to it"))?;
    let exe = std::env::current_exe().map_err(|e| Failure::new(e.to_string()))?;
    let copy = |from: &Path, name: &str| {
        std::fs::copy(from, dir.path().join(name)).map_err(|e| {
            let to = out.join(name);
            Failure::new(format!(
                "cannot copy {} to {}: {e}",
                from.display(),
                to.display()
            ))
            .help(
                "check the folder, its permissions and the room on its disk; --out chooses another",
            )
        })
    };
    let (script, told) = pack_all(tools, workloads, dir.path())?;
    copy(&exe, "kerf")?;
    copy(lib, "libdevice.10.bc")?;
    let write = |name: &str, text: &str| {
        std::fs::write(dir.path().join(name), text).map_err(|e| refused(out, &e))
    };
    write("run-all.sh", &script)?;
    write("README.txt", README)?;
    use std::os::unix::fs::PermissionsExt;
    for (name, mode) in [("run-all.sh", 0o755), ("kerf", 0o755), ("", 0o755)] {
        let p = dir.path().join(name);
        std::fs::set_permissions(&p, std::fs::Permissions::from_mode(mode))
            .map_err(|e| refused(out, &e))?;
    }
    if let Some(parent) = above.clone().next() {
        std::fs::create_dir_all(parent).map_err(|e| refused(parent, &e))?;
    }
    std::fs::rename(dir.path(), out).map_err(|e| refused(out, &e))?;
    // Renamed: there is nothing left to remove.
    let _ = dir.keep();
    say(&format!("{told}bundle in {}\n", out.display()))?;
    Ok(0)
}

//! `kerf bundle`: a folder that runs on a GPU machine without Rust, clang or a network.
use crate::fail::Failure;
use kerf_ir::compile::Toolchain;
use kerf_workload::bundle::pack;
use std::path::{Path, PathBuf};

const README: &str = "\
Made by kerf bundle. Needs only NVIDIA's driver.

  ./kerf doctor                               what this machine has
  ./kerf run NAME.toml --device cuda          run a workload on the GPU
  ./run-all.sh                                run all of them, with the reference
  ./kerf selftest --device cuda               compare the CPU executor with this GPU, bit by bit
";

/// Makes the folder. It is built under a temporary name and renamed, so that it is whole or absent.
pub fn run(tools: &Toolchain, workloads: &[PathBuf], out: &Path) -> Result<i32, Failure> {
    if out.exists() {
        return Err(Failure::new(format!("{} exists already", out.display())).help("choose another folder with --out, or remove it"));
    }
    let parent = out.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).map_err(|e| Failure::new(format!("{}: {e}", parent.display())))?;
    let dir = tempfile::tempdir_in(parent).map_err(|e| Failure::new(format!("{}: {e}", parent.display())))?;
    let lib = tools.libdevice.as_ref().ok_or_else(|| Failure::new("libdevice.10.bc was not found").help("run scripts/setup.sh (make setup)"))?;
    let exe = std::env::current_exe().map_err(|e| Failure::new(e.to_string()))?;
    let copy = |from: &Path, name: &str| std::fs::copy(from, dir.path().join(name)).map_err(|e| Failure::new(format!("{}: {e}", from.display())));
    copy(&exe, "kerf")?;
    copy(lib, "libdevice.10.bc")?;
    let mut script = String::from("#!/bin/sh\n# Runs every workload of this bundle on the GPU.\ncd \"$(dirname \"$0\")\" || exit 2\nstatus=0\n");
    for w in workloads {
        let name = pack(tools, w, dir.path()).map_err(|e| Failure::new(e.to_string()))?;
        script.push_str(&format!("./kerf run {name} --device cuda --reference \"$@\" || status=$?\n"));
        println!("packed {}", w.display());
    }
    script.push_str("exit $status\n");
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).map_err(|e| Failure::new(format!("{name}: {e}")));
    write("run-all.sh", &script)?;
    write("README.txt", README)?;
    use std::os::unix::fs::PermissionsExt;
    for (name, mode) in [("run-all.sh", 0o755), ("kerf", 0o755)] {
        let p = dir.path().join(name);
        std::fs::set_permissions(&p, std::fs::Permissions::from_mode(mode)).map_err(|e| Failure::new(e.to_string()))?;
    }
    let made = dir.keep();
    std::fs::set_permissions(&made, std::fs::Permissions::from_mode(0o755)).map_err(|e| Failure::new(e.to_string()))?;
    std::fs::rename(&made, out).map_err(|e| Failure::new(format!("{}: {e}", out.display())))?;
    println!("bundle in {}", out.display());
    Ok(0)
}

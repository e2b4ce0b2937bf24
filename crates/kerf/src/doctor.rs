//! `kerf doctor`: each part, found or missing, with the command that mends it.
use crate::fail::Failure;
use crate::installation;
use crate::output::{Format, Style, say};
use crate::toolchain::{find_tool, is_known_libdevice, version_of, version_of_clang};
use kerf_clang::clang_program::ClangProgram;
use kerf_clang::compile::Toolchain;
use serde::Serialize;

#[derive(Serialize)]
struct Part {
    name: &'static str,
    found: bool,
    /// Kerf can do nothing useful without it.
    required: bool,
    detail: String,
    for_what: &'static str,
    mend: Option<&'static str>,
}

/// Where a clang is.
fn described(clang: &ClangProgram) -> String {
    let path = clang.path.display();
    match clang.is_embedded() {
        true => format!("in {path}"),
        false => path.to_string(),
    }
}

/// Where libdevice is, and whether it is another than the one that Kerf's bits are those of.
fn libdevice_detail(path: &std::path::Path) -> String {
    let shown = path.display();
    match is_known_libdevice(path) {
        true => shown.to_string(),
        false => format!(
            "{shown}; not that of CUDA 12.9, so that math functions may differ in their last bits"
        ),
    }
}

fn parts(tools: &Toolchain) -> Vec<Part> {
    let setup = installation::cuda_remedy();
    let path = |p: Option<&std::path::PathBuf>| p.map(|p| p.display().to_string());
    let mut out = Vec::new();
    let mut put = |name, required, detail: Option<String>, for_what, mend| {
        out.push(Part {
            name,
            found: detail.is_some(),
            required,
            detail: detail.unwrap_or_else(|| "missing".into()),
            for_what,
            mend: Some(mend),
        });
    };
    let clang = tools
        .clang
        .as_ref()
        .and_then(|c| version_of_clang(c).map(|v| format!("{v} ({})", described(c))));
    put(
        "clang",
        true,
        clang,
        "compiling .cu and .cl files",
        "apt-get install clang-22",
    );
    put(
        "CUDA headers",
        true,
        path(tools.cuda.as_ref()),
        "compiling .cu files",
        setup,
    );
    put(
        "libdevice",
        true,
        tools.libdevice.as_ref().map(|p| libdevice_detail(p)),
        "math functions",
        setup,
    );
    put(
        "g++",
        false,
        find_tool("g++", tools).and_then(|p| version_of(&p, "--version")),
        "host code of applications (kerf cc)",
        "apt-get install g++",
    );
    let ptxas = find_tool("ptxas", tools);
    let ptxas = ptxas
        .as_ref()
        .and_then(|p| version_of(p, "--version").map(|v| format!("{v} ({})", p.display())));
    put("ptxas", false, ptxas, "checking PTX without a GPU", setup);
    let driver = kerf_exec::cuda::present().then(kerf_exec::cuda::driver_version);
    put(
        "NVIDIA driver",
        false,
        driver.map(|v| format!("CUDA {v}")),
        "running on a GPU",
        "install NVIDIA's driver (apt-get install nvidia-driver)",
    );
    let watch = kerf_exec::cuda::watch::Watch::new(0);
    put(
        "NVML",
        false,
        watch.ok().map(|w| format!("driver {}", w.driver())),
        "energy, clocks and throttling",
        "comes with NVIDIA's driver",
    );
    let gpu = kerf_exec::cuda::CudaExecutor::probe();
    put(
        "GPU",
        false,
        gpu.ok(),
        "measured times",
        "run on a machine with an NVIDIA GPU; kerf bundle packs what it needs",
    );
    let ncu = find_tool("ncu", tools).and_then(|p| version_of(&p, "--version"));
    put(
        "ncu",
        false,
        ncu,
        "hardware counters",
        "install NVIDIA Nsight Compute",
    );
    let mpi = find_tool("mpirun", tools).and_then(|p| version_of(&p, "--version"));
    put(
        "MPI",
        false,
        mpi,
        "running on several machines",
        "apt-get install openmpi-bin libopenmpi-dev",
    );
    for p in &mut out {
        if p.found {
            p.mend = None;
        }
    }
    out
}

/// Prints the list; 0 when all required parts are there, 2 otherwise.
pub fn run(tools: &Toolchain, format: Format, style: Style) -> Result<i32, Failure> {
    let parts = parts(tools);
    if format == Format::Json {
        say(&format!(
            "{}\n",
            serde_json::json!({ "schema": "kerf.doctor/1", "parts": parts })
        ))?;
    } else {
        for p in &parts {
            let mark = if p.found {
                style.good("found  ")
            } else if p.required {
                style.bad("missing")
            } else {
                style.dim("absent ")
            };
            say(&format!("{mark}  {:<14} {}\n", p.name, p.detail))?;
            if let Some(m) = p.mend {
                say(&format!(
                    "         {:<14} needed for {}; to mend: {m}\n",
                    "", p.for_what
                ))?;
            }
        }
    }
    Ok(if parts.iter().all(|p| p.found || !p.required) {
        0
    } else {
        2
    })
}
